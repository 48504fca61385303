"""The model is chosen by the language of the texts, where nobody names one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import OF_LANGUAGE, language_rows, write_rows
from fastapi.testclient import TestClient

from adhominem import answer, load
from adhominem.cli import main
from adhominem.model import folder as module
from adhominem.questions.cluster.ask import HowManyWriters
from adhominem.questions.predict.files import predict
from adhominem.questions.question import Side, Texts
from adhominem.questions.search.index_files import index_files
from adhominem.questions.verify.ask import SameWriter
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verification import Verification
from adhominem.web.server import create_app
from adhominem.web.service import Service

TEXTS = {
    language: [
        row["text"] for genre in words_of for row in language_rows(language, genre, 2, 1, "-new-")
    ]
    for language, (_, words_of) in OF_LANGUAGE.items()
}
GERMAN, FRENCH = TEXTS["de"], TEXTS["fr"]
ENGLISH = [
    "I walked down to the harbour before it was light, because my brother had asked me to look "
    "at the boat, and there was nobody about but the man who sells bread from his cart. " * 6,
    "When we came back from the market the door was open, and the letter that they had left for "
    "you was lying on the table under a cup. I did not read it, whatever she told you. " * 6,
]
HUNGARIAN = (
    "Egész délelőtt esett az eső, mi pedig nyitott ajtó mellett ültünk a konyhában. Dél felé "
    "bejött a bátyám az udvarról, és azt mondta, hogy holnap biztosan szebb idő lesz. " * 6
)


@pytest.fixture(scope="module")
def both_models(languages_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shipped")
    copytree(module.model_folder("general-en"), folder / "general-en")
    copytree(languages_folder, folder / "general-any")
    return folder


@pytest.fixture
def shipped(both_models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package with a model of German and French beside the English one."""
    monkeypatch.setattr(module, "_SHIPPED", both_models)
    return both_models


def files(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"{number}.txt" for number, _ in enumerate(texts)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, "utf-8")
    return paths


def of_texts(*texts: str, **settings: Any) -> SameWriter:
    first, *second = [Exhibit.of(text, f"{number}") for number, text in enumerate(texts)]
    return SameWriter(first=Side((first,)), second=Side(tuple(second)), **settings)


def verify_files(first: Path, second: Path, **options: Any) -> Verification:
    result: Verification = answer("verify", first=first, second=second, **options)
    return result


def test_without_another_model_all_texts_are_for_the_english_one(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "general-en").symlink_to(shipped / "general-en")
    monkeypatch.setattr(module, "_SHIPPED", tmp_path)
    assert of_texts(*GERMAN[:2]).model == of_texts(*ENGLISH).model == "general-en"


def test_the_language_decides_which_model_answers(shipped: Path) -> None:
    assert of_texts(*ENGLISH).model == "general-en"
    assert of_texts(*GERMAN[:2]).model == of_texts(*FRENCH[:2]).model == "general-any"
    assert of_texts(HUNGARIAN, HUNGARIAN[9:]).model == "general-en"
    assert of_texts(*ENGLISH, language="fr").model == "general-any"


def test_a_population_does_not_decide_it(shipped: Path) -> None:
    population = Texts(tuple(Document(text=text) for text in GERMAN * 3))
    assert of_texts(*ENGLISH, population=population).model == "general-en"


def test_a_corpus_is_for_the_model_of_most_of_its_texts(shipped: Path) -> None:
    corpus = Texts(tuple(Document(text=text) for text in [ENGLISH[0], *GERMAN]))
    assert HowManyWriters(texts=corpus).model == "general-any"


def test_nothing_new_need_be_typed(shipped: Path, tmp_path: Path) -> None:
    result = verify_files(*files(tmp_path, *GERMAN[:2]))
    assert (result.model, result.language, result.language_given) == ("general-any", "de", False)
    named = verify_files(*files(tmp_path, *GERMAN[:2]), model="general-en")
    assert named.model == "general-en"
    assert "unknown_language" in [caution.code for caution in named.warnings]
    run = CliRunner().invoke(main, ["verify", *map(str, files(tmp_path, *GERMAN[:2]))])
    assert "Language  German, found from the texts" in run.stdout


def test_a_language_that_is_given_is_that_of_all_texts(shipped: Path, tmp_path: Path) -> None:
    result = verify_files(*files(tmp_path, GERMAN[0], FRENCH[0]), language="fr")
    assert (result.model, result.language, result.language_given) == ("general-any", "fr", True)
    assert "two_languages" not in [caution.code for caution in result.warnings]
    both = verify_files(*files(tmp_path, GERMAN[0], FRENCH[0]))
    assert not both.states
    assert "two_languages" in [caution.code for caution in both.warnings]


def test_english_answers_say_nothing_of_their_language(tmp_path: Path) -> None:
    run = CliRunner().invoke(main, ["verify", *map(str, files(tmp_path, *ENGLISH))])
    assert run.exit_code == 0
    assert "Language" not in run.stdout


def test_a_code_that_is_none_is_a_wrong_call(tmp_path: Path) -> None:
    paths = map(str, files(tmp_path, *ENGLISH))
    run = CliRunner().invoke(main, ["verify", *paths, "--language", "german"])
    assert run.exit_code == 2
    assert "'german' is not the code of a language" in run.stderr


def test_pairs_are_for_the_model_of_most_and_the_others_are_listed(
    shipped: Path, tmp_path: Path
) -> None:
    sides = {"one": GERMAN[:2], "two": GERMAN[2:4], "french": FRENCH[:2], "both": MIXED}
    rows: Any = [{"id": id, "fandoms": ["", ""], "pair": pair} for id, pair in sides.items()]
    pairs = write_rows(tmp_path / "pairs.jsonl", rows)
    done = predict(None, pairs, tmp_path / "answers.jsonl", skipped=[])
    answers = {row["id"]: row for row in map(json.loads, done.output.read_text().splitlines())}
    assert [id for id, row in answers.items() if row.get("states", True)] == ["one", "two"]
    (told,) = [caution.message for caution in done.warnings if caution.code == "foreign"]
    assert "(2): french, both." in told


MIXED = [GERMAN[0], FRENCH[0]]


def test_an_index_keeps_the_model_that_it_was_made_with(shipped: Path, tmp_path: Path) -> None:
    rows = language_rows("de", "briefe", 4, 2, "-new-")
    corpus = write_rows(tmp_path / "corpus.jsonl", rows)
    index = tmp_path / "index"
    assert index_files([corpus], index, trials=0).model == "general-any"
    english = write_rows(tmp_path / "english.jsonl", [{"text": text} for text in ENGLISH])
    assert index_files([english], index, trials=0).model == "general-any"
    (query,) = files(tmp_path, GERMAN[0])
    run = CliRunner().invoke(main, ["search", str(query), "--index", str(index), "--json"])
    assert json.loads(run.stdout)["model"] == "general-any"


@pytest.fixture
def client(shipped: Path) -> Iterator[TestClient]:
    opened = Service.open()
    yield TestClient(create_app(opened), raise_server_exceptions=False)
    opened.close()


def test_a_server_answers_each_request_by_the_model_of_its_language(client: TestClient) -> None:
    def asked(first: str, second: str, **settings: str) -> Any:
        body = {"first": first, "second": second, **settings}
        return client.post("/api/verify", json=body).json()

    assert asked(*ENGLISH)["model"] == "general-en"
    for _ in range(2):
        german = asked(*GERMAN[:2])
        assert (german["model"], german["language"]) == ("general-any", "de")
        alone = load("general-any").verify(*GERMAN[:2])
        assert german["log_bayes_factor"] == pytest.approx(alone.log_bayes_factor, abs=1e-6)
    assert asked(*GERMAN[:2], language="fr")["language_given"]
    refused = client.post("/api/verify", json={"first": "a", "second": "b", "language": "xx"})
    assert refused.status_code == 422


def test_the_page_offers_languages_and_a_german_example(client: TestClient) -> None:
    page = client.get("/?example=german").text
    assert '<option value="de">German</option>' in page
    assert "Liebe Charlotte" not in page
    assert "Meine liebe Charlotte" in page
    assert "German letters by two writers" in page
    sent = {"first_text": GERMAN[0], "second_text": GERMAN[1], "prior": "0.5", "language": ""}
    answer = client.post("/", files={name: (None, text) for name, text in sent.items()})
    assert "Language: German, found from the texts" in answer.text
    assert "general-any" in answer.text
