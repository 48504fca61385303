"""The command validate: each Bayes factor is that of the case, and nobody is on both sides."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import SmallRun, made_up_rows, write_rows

import adhominem
from adhominem import Verifier, answer, load, read_documents, read_study
from adhominem.cli import main
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.evaluation.study import StudyCase, ValidationStudy
from adhominem.jobs import workers
from adhominem.text.sentences import first_words
from adhominem.verify.cautions import UNCALIBRATED

ROWS = made_up_rows(6, 5, "v")
TEXTS = {row["id"]: row["text"] for row in ROWS}


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one folder an author."""
    folder = tmp_path_factory.mktemp("validate") / "letters"
    for row in ROWS:
        path = folder / f"{row['id']}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(row["text"], "utf-8")
    return folder


@pytest.fixture(scope="module")
def verifier(small_run: SmallRun) -> Verifier:
    return load(small_run.folder)


def tried(material: Path, small_run: SmallRun, **options: Any) -> ValidationStudy:
    return answer(
        "validate", material=material, model=small_run.folder, **{"resamples": 20, **options}
    )


def sides_of(study: ValidationStudy, case: StudyCase) -> tuple[str, list[str]]:
    """The texts as they were compared."""
    words = study.conditions.words
    texts = [
        TEXTS[text.id] if words is None else first_words(TEXTS[text.id], words)
        for text in study.texts
    ]
    return texts[case.questioned], [texts[at] for at in case.known]


def run(*arguments: object, status: int = 0) -> Result:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return done


@pytest.mark.parametrize("words", [None, 20])
def test_each_bayes_factor_is_that_of_its_texts_compared_by_themselves(
    material: Path, small_run: SmallRun, verifier: Verifier, words: int | None
) -> None:
    study = tried(material, small_run, known=3, words=words)
    assert (study.same_author, study.different_authors, study.authors) == (30, 30, 6)
    for case in study.cases[::7]:
        alone = verifier.verify(*sides_of(study, case)).log10_bayes_factor
        assert case.log10_bayes_factor == pytest.approx(alone, abs=1e-5)
        assert case.population_texts == 0
    for text in study.texts:
        assert text.sha256 == sha256(TEXTS[text.id].encode()).hexdigest()
        assert text.words == min(len(TEXTS[text.id].split()), words or 1_000)
        assert text.author == text.id.split("/")[0]
    assert study.material == "letters"
    assert study.model_sha256 == verifier.sha256
    assert study.version == adhominem.__version__
    assert UNCALIBRATED in study.remarks


def test_with_the_population_input_it_is_all_texts_by_neither_author(
    material: Path, small_run: SmallRun, verifier: Verifier
) -> None:
    study = tried(material, small_run, known=2, population="input")
    for case in study.cases[::7]:
        involved = {study.texts[at].author for at in (case.questioned, *case.known)}
        others = [row["text"] for row in ROWS if row["author"] not in involved]
        population = verifier.population(others)
        result = verifier.verify(*sides_of(study, case), population=population)
        assert case.log10_bayes_factor == pytest.approx(result.log10_bayes_factor, abs=1e-5)
        assert case.population_texts == len(others) == (25 if case.same_author else 20)
    assert study.population_texts == (20, 25)


def test_a_population_size_draws_anew_for_each_case_and_never_from_its_authors(
    material: Path, small_run: SmallRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[set[bytes]] = []
    of = Verifier.population_of

    def noted(self: Verifier, levs: Any, *more: Any, **options: Any) -> Any:
        drawn.append({lev.tobytes() for lev in levs})
        return of(self, levs, *more, **options)

    monkeypatch.setattr(Verifier, "population_of", noted)
    study = tried(material, small_run, known=2, population="input", population_size=8)
    verifier = load(small_run.folder)
    levs = {
        text.id: lev.tobytes()
        for text, lev in zip(
            study.texts, verifier.encode([TEXTS[text.id] for text in study.texts]), strict=True
        )
    }
    assert len(drawn) == len(study.cases)
    assert len({frozenset(members) for members in drawn}) > 50
    for case, members in zip(study.cases, drawn, strict=True):
        involved = {study.texts[at].author for at in (case.questioned, *case.known)}
        assert len(members) == case.population_texts == 8
        assert not members & {lev for id, lev in levs.items() if id.split("/")[0] in involved}


def test_a_given_population_is_the_one_that_a_report_would_have(
    material: Path, small_run: SmallRun, verifier: Verifier, tmp_path: Path
) -> None:
    others = write_rows(tmp_path / "others.jsonl", made_up_rows(7, 1, "p"))
    study = tried(material, small_run, population=others)
    population = verifier.population(list(read_documents(others)))
    assert study.conditions.population_sha256 == population.sha256
    assert study.conditions.population_source == str(others)
    case = study.cases[3]
    result = verifier.verify(*sides_of(study, case), population=population)
    assert case.log10_bayes_factor == pytest.approx(result.log10_bayes_factor, abs=1e-5)
    assert study.population_texts == (7, 7)


def test_a_population_by_authors_of_the_material_is_refused(
    material: Path, small_run: SmallRun, tmp_path: Path
) -> None:
    rows = made_up_rows(9, 1, "p")
    named = write_rows(
        tmp_path / "named.jsonl", [*rows, {**rows[0], "author": "v3", "text": "x y"}]
    )
    with pytest.raises(InputError, match=r"texts by authors of the material: v3; expected .*input"):
        tried(material, small_run, population=named)
    copied = write_rows(tmp_path / "copied.jsonl", [*rows, {**rows[0], "text": ROWS[7]["text"]}])
    with pytest.raises(InputError, match=rf"copies of the material: {ROWS[7]['id']}; expected"):
        tried(material, small_run, population=copied)


def test_the_same_seed_gives_the_same_study_and_another_another(
    material: Path, small_run: SmallRun
) -> None:
    options = {"known": 2, "population": "input", "population_size": 9, "cases": 12}
    first = tried(material, small_run, **options)
    assert len(first.cases) == 24
    assert first == tried(material, small_run, **options)
    assert first.cases != tried(material, small_run, seed=1, **options).cases


def test_copies_are_left_out_and_so_is_a_text_under_two_names(
    material: Path, small_run: SmallRun, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(material, tmp_path / "letters"))
    shutil.copy(folder / "v0" / "1.txt", folder / "v0" / "again.txt")
    shutil.copy(folder / "v1" / "1.txt", folder / "v2" / "also.txt")
    study = tried(folder, small_run)
    ids = {text.id for text in study.texts}
    assert ids == set(TEXTS) - {"v1/1"}
    told = [remark for remark in study.remarks if remark.startswith("left out")]
    assert "v0/again" in told[0]
    assert "v1/1, v2/also" in told[1]


def test_what_cannot_be_read_or_has_no_word_is_skipped_and_the_rest_goes_on(
    small_run: SmallRun, tmp_path: Path
) -> None:
    bad = [{"author": "v1", "text": "", "id": "x"}, {"text": "nobody wrote this", "id": "y"}]
    mute = {"author": "v1", "text": "\u200b \u00ad", "id": "mute"}
    path = write_rows(tmp_path / "rows.jsonl", [*ROWS, *bad, mute])
    done = run("validate", path, "--model", small_run.folder, "--bootstrap", 5, "--json", status=3)
    told = json.loads(done.stdout)
    assert len(told["skipped"]) == 3
    assert {text["id"] for text in told["texts"]} == set(TEXTS)
    with pytest.raises(InputError):
        tried(path, small_run)


def test_texts_of_one_work_are_not_on_both_sides(small_run: SmallRun, tmp_path: Path) -> None:
    rows = [{**row, "work": f"work {at % 5 // 2}"} for at, row in enumerate(ROWS)]
    study = tried(write_rows(tmp_path / "rows.jsonl", rows), small_run, known=2)
    works = {row["id"]: row["work"] for row in rows}
    for case in study.cases:
        if case.same_author:
            known = {works[study.texts[at].id] for at in case.known}
            assert works[study.texts[case.questioned].id] not in known


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"known": 5}, r"6 authors, and the one with most texts, v0, has 5; .*must have 6 or more"),
        ({"population": "input", "population_size": 21}, "as few as 20 texts are left"),
    ],
)
def test_material_that_does_not_suffice_is_an_error_before_the_work(
    material: Path,
    small_run: SmallRun,
    options: dict[str, Any],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Verifier, "encode", None)
    with pytest.raises(InputError, match=problem) as raised:
        tried(material, small_run, **options)
    assert str(material) in str(raised.value)


def test_wrong_options_and_empty_material_are_errors(
    material: Path, small_run: SmallRun, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=r"study\.txt is not a \.json or an \.html file"):
        answer("validate", material=material, output=[tmp_path / "study.txt"])
    with pytest.raises(OptionError, match="population size without the population `input`"):
        answer("validate", material=material, population_size=9)
    with pytest.raises(OptionError, match="known is 0"):
        answer("validate", material=material, known=0)
    with pytest.raises(NotFoundError):
        answer("validate", material=tmp_path)
    nobody = write_rows(tmp_path / "rows.jsonl", [{"text": "nobody wrote this"}])
    done = run("validate", nobody, status=1)
    assert "no text of a known author can be read here" in done.stderr
    for wrong in (("-o", "x.txt"), ("--population-size", 9), ("--known", 0)):
        run("validate", material, *wrong, status=2)


def test_names_of_training_authors_and_short_texts_are_remarked_upon(
    small_run: SmallRun, tmp_path: Path
) -> None:
    rows = [{**row, "author": row["author"].replace("v", "t")} for row in ROWS]
    study = tried(write_rows(tmp_path / "rows.jsonl", rows), small_run, words=60)
    (trained,) = [remark for remark in study.remarks if "was trained on" in remark]
    assert "t0, t1, t2, t3, t4 and 1 more" in trained
    short = sum(len(row["text"].split()) < 60 for row in ROWS)
    assert any(remark.startswith(f"{short} of 30 texts have fewer") for remark in study.remarks)


def test_the_command_prints_a_table_and_writes_both_files(
    material: Path, small_run: SmallRun, tmp_path: Path
) -> None:
    call = ("validate", material, "--model", small_run.folder, "--known", 2, "--bootstrap", 20)
    outputs = ("-o", tmp_path / "study.json", "-o", tmp_path / "study.html")
    done = run(*call, *outputs)
    assert "30 same-author and 30 different-author cases" in done.stdout
    assert "1 questioned text against 2 known texts" in done.stdout
    assert "warning: only 6 authors" in done.stderr
    study = read_study(tmp_path / "study.json")
    assert sha256((tmp_path / "study.json").read_bytes()).hexdigest() == study.sha256
    assert study.sha256 in (tmp_path / "study.html").read_text("utf-8")
    (tmp_path / "printed.json").write_text(run(*call, "--json").stdout, "utf-8")
    assert read_study(tmp_path / "printed.json") == study


def test_jobs_make_no_difference(
    material: Path, small_run: SmallRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_LONG_WORK", 0)
    assert tried(material, small_run, jobs=2, cases=5) == tried(material, small_run, cases=5)


def test_no_output_is_written_onto_an_input(
    material: Path, small_run: SmallRun, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(material, tmp_path / "letters"))
    (tmp_path / "link.json").symlink_to(folder / "v0" / "1.txt")
    with pytest.raises(OptionError):
        tried(folder, small_run, output=[tmp_path / "link.json"])
    assert (folder / "v0" / "1.txt").read_text("utf-8") == TEXTS["v0/1"]
