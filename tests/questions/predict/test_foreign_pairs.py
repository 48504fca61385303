"""On pairs with a text that is not running prose, many at once, no statement is made either."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import write_rows

from adhominem import Document, Verifier, load, predict
from adhominem.questions.cluster.ask import cluster_texts
from adhominem.questions.predict import files as module
from adhominem.text.pan import pair_rows

ORCHARD = (
    "The old woman who lived above the orchard had kept bees since before the war, and she "
    "spoke to them each morning as if they were children who had stayed out too late. She told "
    "them who had died and who was to be married, because her mother had told her that bees "
    "leave a house in which they are not trusted. In the spring the whole hill was white, and "
    "you could hear the hum from the road. When I was a boy I would carry the smoker for her, "
    "and she would lift the frames with her bare hands and never once be stung, or so she said "
    "to anybody who asked."
)
HARBOUR = (
    "We reached the harbour a little after dark, and found that the last boat had already gone. "
    "There was nothing to be done about it, so we took a room over the chandler's shop and sat "
    "by the window until late, watching the lamps go out one after another along the quay. My "
    "brother wanted to write to our father at once, but I thought it wiser to wait until we "
    "knew whether the letter would reach him before we did. In the morning the wind had turned, "
    "and a man we had never seen before offered to take us across for less than the ferry would "
    "have cost."
)
MARKET = (
    "Nobody could say when the market had begun, only that it had always been held on the same "
    "day and in the same square, and that it had never been stopped by rain. The farmers came "
    "down with their carts before it was light. By noon the best of everything was sold, and "
    "what was left went to those of us who had waited for it to be cheap. I remember the noise "
    "more than anything else, and the way my aunt would walk past a stall three times before "
    "she asked for the price, and then shake her head as though she had been insulted, and walk "
    "on, and be called back."
)
GERMAN = (
    "Es war einmal ein Müller, der hatte drei Söhne und eine alte Mühle am Fluss, und als er "
    "starb, teilten sich die Söhne das Erbe. Der älteste bekam die Mühle, der zweite den Esel, "
    "und für den jüngsten blieb nichts übrig als der Kater. Da setzte er sich auf einen Stein "
    "und klagte, dass er nun betteln gehen müsse, denn was solle er mit einem Kater anfangen? "
    "Der Kater aber hatte alles verstanden und sprach, er solle ihm nur ein Paar Stiefel machen "
    "lassen, damit er unter die Leute gehen könne, dann werde ihm bald geholfen sein. Der Sohn "
    "wunderte sich sehr, aber weil gerade der Schuster vorbeiging, rief er ihn herein und ließ "
    "die Stiefel anmessen."
)
FIGURES = "\n".join(f"{at},{at * 7 % 13},{at * 31 % 101},{at % 5}.{at % 9}" for at in range(200))
STATED = ("prose", "more prose")


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return load()


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    sides = {
        "prose": [ORCHARD, HARBOUR],
        "german": [ORCHARD, GERMAN],
        "figures": [FIGURES, HARBOUR],
        "more prose": [HARBOUR, MARKET],
        "both": [GERMAN, FIGURES],
    }
    rows: Any = [{"id": id, "fandoms": ["", ""], "pair": pair} for id, pair in sides.items()]
    return write_rows(tmp_path / "pairs.jsonl", rows)


def read(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}


def named(done: module.Predicted) -> list[str]:
    return [caution.message for caution in done.warnings if caution.code == "foreign"]


# predict


@pytest.mark.parametrize("population", [None, "given"])
def test_such_pairs_are_left_open_and_the_others_answered_as_by_verify(
    verifier: Verifier, pairs: Path, tmp_path: Path, population: str | None
) -> None:
    output, given = tmp_path / "answers.jsonl", None
    if population is not None:
        parts = [text[at : at + 300] for text in (ORCHARD, HARBOUR, MARKET) for at in (0, 250)]
        given = write_rows(tmp_path / "others.jsonl", [{"text": f"Once, {text}"} for text in parts])
    done = predict("general-en", pairs, output, population=given, prior_same_author=0.3, skipped=[])
    answers = read(output)
    assert list(answers) == ["prose", "german", "figures", "more prose", "both"]
    for id in ("german", "figures", "both"):
        open_answer = {"id": id, "value": 0.5, "log_bayes_factor": 0.0, "states": False}
        assert answers[id] == open_answer
    for id in STATED:
        assert set(answers[id]) == {"id", "value", "log_bayes_factor"}
        assert answers[id]["log_bayes_factor"] != 0
        assert answers[id]["value"] != 0.5
    assert (done.answers, done.no_statement) == (5, 3)
    (message,) = named(done)
    assert "(3): german, figures, both." in message
    if given is None:
        for row in map(json.loads, pairs.read_text("utf-8").splitlines()):
            result = verifier.verify(*row["pair"], prior_same_author=0.3)
            foreign = not {"foreign", "unknown_language"}.isdisjoint(
                caution.code for caution in result.warnings
            )
            assert foreign == (row["id"] not in STATED)
            if not foreign:
                answer = answers[row["id"]]
                assert answer["log_bayes_factor"] == pytest.approx(result.log_bayes_factor)
                assert answer["value"] == pytest.approx(result.probability_same_author)


def test_where_all_is_prose_nothing_is_said(pairs: Path, tmp_path: Path) -> None:
    lines = pairs.read_text("utf-8").splitlines()
    pairs.write_text(lines[0] + "\n" + lines[3] + "\n", "utf-8")
    done = predict("general-en", pairs, tmp_path / "answers.jsonl")
    assert (done.answers, done.no_statement, named(done)) == (2, 0, [])


def test_a_problem_with_one_such_text_is_left_open(tmp_path: Path) -> None:
    for number, texts in enumerate([(ORCHARD, GERMAN, HARBOUR), (ORCHARD, MARKET, HARBOUR)]):
        folder = tmp_path / "problems" / f"EN{number:03}"
        folder.mkdir(parents=True)
        for name, text in zip(("known01", "known02", "unknown"), texts, strict=True):
            (folder / f"{name}.txt").write_text(text, "utf-8")
    output = tmp_path / "answers.jsonl"
    done = predict("general-en", tmp_path / "problems", output, input_format="pan15")
    answers = read(output)
    assert done.no_statement == 1
    assert answers["EN000"]["states"] is False
    assert "states" not in answers["EN001"]


def test_a_run_that_goes_on_names_those_of_the_run_before(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CASES_AT_ONCE", 1)
    whole = predict("general-en", pairs, tmp_path / "whole.jsonl")

    class StoppedError(Exception):
        pass

    def first_cases() -> Any:
        yield from islice(pair_rows(pairs), 4)
        raise StoppedError

    output = tmp_path / "answers.jsonl"
    with pytest.raises(StoppedError):
        predict("general-en", first_cases(), output)
    assert (tmp_path / "answers.jsonl.partial").read_bytes().count(b"\n") >= 3
    done = predict("general-en", pair_rows(pairs), output)
    assert done.scored_now < 5
    assert (done.no_statement, named(done)) == (3, named(whole))
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_each_text_is_looked_at_once(
    pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str] = []
    original = Verifier.no_statement_on

    def noted(self: Verifier, documents: Sequence[Document]) -> Any:
        looked_at.extend(document.text for document in documents)
        return original(self, documents)

    monkeypatch.setattr(Verifier, "no_statement_on", noted)
    monkeypatch.setattr(module, "_CASES_AT_ONCE", 2)
    predict("general-en", pairs, tmp_path / "answers.jsonl", population=pairs)
    assert len(looked_at) == len(set(looked_at)) == 5


def test_a_text_without_a_word_is_skipped_as_ever(pairs: Path, tmp_path: Path) -> None:
    rows: Any = [json.loads(line) for line in pairs.read_text("utf-8").splitlines()]
    rows[2]["pair"] = ["\u200b", GERMAN]
    write_rows(pairs, rows)
    skipped: list[Any] = []
    done = predict("general-en", pairs, tmp_path / "answers.jsonl", skipped=skipped)
    assert (done.answers, done.no_statement, len(skipped)) == (4, 2, 1)


def test_a_model_that_has_not_learnt_what_prose_is_goes_by_common_words(
    verifier: Verifier,
) -> None:
    unlearnt = copy(verifier)
    unlearnt.prose = None
    texts = [Document(text=text) for text in (ORCHARD, GERMAN, HARBOUR)]
    assert unlearnt.no_statement_on(texts).tolist() == [False, True, False]
    assert unlearnt.no_statement_on([]).shape == (0,)
    assert verifier.no_statement_on(texts).tolist() == [False, True, False]
    assert verifier.no_statement_on([]).shape == (0,)


# cluster


def test_no_text_is_put_beside_one_that_is_not_prose(verifier: Verifier) -> None:
    texts = [ORCHARD, GERMAN, HARBOUR, FIGURES, MARKET]
    names = ["orchard", "german", "harbour", "figures", "market"]
    documents = [Document(text=text, id=id) for text, id in zip(texts, names, strict=True)]
    done = cluster_texts(verifier, documents, alone=True)
    by_name = {text.name: text for text in done.texts}
    for name in ("german", "figures"):
        assert done.clusters[by_name[name].cluster - 1].texts == (names.index(name),)
        assert by_name[name].nearest_log10_bayes_factor == 0
        assert np.isclose(
            done.clusters[by_name[name].cluster - 1].nearest_log10_odds or 0, -np.log10(3)
        )
    (remark,) = [remark for remark in done.remarks if "not running prose" in remark]
    assert "german, figures;" in remark
    prose = cluster_texts(verifier, [documents[at] for at in (0, 2, 4)], alone=True)
    homes = [by_name[name].cluster for name in ("orchard", "harbour", "market")]
    alone = [text.cluster for text in prose.texts]
    assert [homes.index(home) for home in homes] == [alone.index(home) for home in alone]
    assert not any("not running prose" in remark for remark in prose.remarks)
