"""Texts compared against others of their kind, by commands: as by hand, and after a kill, too."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import NgramRun, rich_rows, write_rows

from adhominem import (
    load,
    predict,
)
from adhominem.cli import main, terminal
from adhominem.errors import InputError, OptionError
from adhominem.questions.predict import files as module
from adhominem.score.decision import probability_same_author
from adhominem.text.pan import pair_rows
from adhominem.web.service import Service

TEXTS = [row["text"] for row in rich_rows("notes", 9, 3, "-new-")]
OTHERS = [row["text"] for row in rich_rows("notes", 5, 2, "-others-")]


@pytest.fixture
def model(mixed_folder: Path) -> Path:
    return mixed_folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(0)
    rows = [
        {"id": f"pair-{at}", "fandoms": ["", ""], "pair": rng.sample(TEXTS, 2)} for at in range(30)
    ]
    return write_rows(tmp_path_factory.mktemp("pairs") / "pairs.jsonl", rows)  # type: ignore[arg-type]


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def assert_by_hand(answers: list[dict[str, Any]], model: Path, pairs: Path, texts: Any) -> None:
    """Pair by pair, in Python."""
    verifier = load(model)
    population = None if texts is None else verifier.population(texts)
    rows = read(pairs)
    assert [answer["id"] for answer in answers] == [row["id"] for row in rows]
    for answer, row in zip(answers, rows, strict=True):
        sides = [verifier.encode([text]) for text in row["pair"]]
        factor = verifier.score([sides[0]], [sides[1]], population)[0]
        assert answer["log_bayes_factor"] == pytest.approx(factor, abs=1e-4)
        assert answer["value"] == pytest.approx(float(probability_same_author(factor)), abs=1e-4)


def used(pairs: Path) -> list[str]:
    """The texts of pairs, each once."""
    return sorted({text for row in read(pairs) for text in row["pair"]})


def factors(path: Path) -> list[float]:
    return [row["log_bayes_factor"] for row in read(path)]


# verify


def test_verify_with_a_population_says_what_python_says(model: Path, tmp_path: Path) -> None:
    one, two = TEXTS[14:16]
    (tmp_path / "others").mkdir()
    for number, text in enumerate(OTHERS):
        (tmp_path / "others" / f"{number}.txt").write_text(text, "utf-8")
    for name, text in (("one", one), ("two", two)):
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    command = ["verify", tmp_path / "one.txt", tmp_path / "two.txt", "--model", model, "--json"]
    told = json.loads(run(*command, "--population", tmp_path / "others").stdout)
    verifier = load(model)
    population = verifier.population(OTHERS)
    expected = verifier.verify(one, two, population=population)
    without = verifier.verify(one, two)
    assert told["log_bayes_factor"] == pytest.approx(expected.log_bayes_factor, abs=1e-6)
    assert told["population"]["texts"] == 10
    assert told["population"]["log10_bayes_factor_without"] == pytest.approx(
        without.log10_bayes_factor, abs=1e-6
    )
    assert without.population is None
    levs = verifier.encode([one, two])
    totals = [
        float(verifier.scorer.scores(levs[:1], levs[1:], used).total[0])
        for used in (population, None)
    ]
    assert abs(totals[0] - totals[1]) > 1e-3  # the evidence changes, whether or not it fits
    by_hand = verifier.score(levs[:1], levs[1:], population)
    assert expected.log_bayes_factor == pytest.approx(by_hand[0], abs=1e-6)


def test_verify_and_serve_are_warned_of_a_population_of_several_kinds(
    ngram_run: NgramRun, tmp_path: Path
) -> None:
    kinds = [rich_rows(kind, 12, 1, "-both-") for kind in ("letters", "notes")]
    rows = [row for both in zip(*kinds, strict=True) for row in both]
    others = write_rows(tmp_path / "others.jsonl", rows)
    for name, text in (("one", TEXTS[0]), ("two", TEXTS[1])):
        (tmp_path / f"{name}.txt").write_text(text, "utf-8")
    model, known = ngram_run.folder, load(ngram_run.folder)
    by_hand = known.population([row["text"] for row in rows])
    assert {group.genre for group in by_hand.groups} == {"letters", "notes"}
    both = [tmp_path / "one.txt", tmp_path / "two.txt"]
    told = run("verify", *both, "--model", model, "--population", others, "--json").stdout
    assert "mixed_population" in [warning["code"] for warning in json.loads(told)["warnings"]]
    service = Service.open(model, others)
    try:
        assert service.population is not None
        assert service.population.groups == by_hand.groups
    finally:
        service.close()


def test_a_population_of_another_model_is_refused(model: Path, ngram_run: NgramRun) -> None:
    population = load(ngram_run.folder).population(OTHERS)
    with pytest.raises(OptionError, match="encoded by another model"):
        load(model).verify(TEXTS[0], TEXTS[1], population=population)


# predict


def test_the_population_has_a_bar_before_that_of_the_answers(
    model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    @contextmanager
    def bar(
        what: str, total: int | None = None, unit: str = "pieces"
    ) -> Iterator[Callable[..., None]]:
        counts: list[int] = []
        yield counts.append
        told.append(f"{what} {sum(counts)}")

    monkeypatch.setattr(terminal, "watch", bar)
    size, texts = pairs.stat().st_size, len(used(pairs))
    predicted = ["predict", pairs, "--model", model, "-o"]
    run(*predicted, tmp_path / "one.jsonl", "--population", "input")
    assert told == [f"population {texts}", f"answering {size}"]
    told.clear()
    run(*predicted, tmp_path / "two.jsonl")
    assert told == [f"answering {size}"]


def test_predict_with_the_input_as_population_says_what_python_says(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    command = ["predict", pairs, "--model", model, "--json", "-o"]
    texts = used(pairs)
    answers = []
    for name, more in (("own", ["--population", "input"]), ("none", [])):
        output = tmp_path / f"{name}.jsonl"
        told = json.loads(run(*command, output, *more).stdout)
        assert told["population_texts"] == (len(texts) if more else 0)
        assert told["calibrated"] is True
        assert_by_hand(read(output), model, pairs, texts if more else None)
        answers.append(factors(output))
    assert np.abs(np.subtract(*answers)).max() > 0.01


def test_a_pair_is_compared_with_the_other_texts_of_its_population(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    verifier = load(model)
    predict(model, pairs, tmp_path / "a.jsonl", population="input")
    for row, answer in zip(read(pairs)[:5], read(tmp_path / "a.jsonl"), strict=False):
        others = verifier.population([text for text in used(pairs) if text not in row["pair"]])
        levs = verifier.encode(row["pair"])
        factor = verifier.score(levs[:1], levs[1:], others)[0]
        assert answer["log_bayes_factor"] == pytest.approx(factor, abs=0.2)


def test_a_text_that_is_in_many_pairs_counts_once_in_the_population(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    lines = pairs.read_text("utf-8").splitlines()
    often = tmp_path / "often.jsonl"
    often.write_text("\n".join([*lines, *15 * lines[:1]]) + "\n", "utf-8")
    answers = []
    for name, population in (("once", pairs), ("often", often)):
        output = tmp_path / f"{name} answered.jsonl"
        done = predict(model, pair_rows(pairs), output, population=population)
        assert done.population_texts == len(used(pairs)) < 30
        answers.append(factors(output))
    assert answers[0] == pytest.approx(answers[1], abs=1e-4)


def test_the_same_texts_given_as_a_population_are_answered_as_the_input_is(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    same = write_rows(tmp_path / "same.jsonl", [{"text": text} for text in used(pairs)])
    command = ["predict", pairs, "--model", model, "--json", "-o"]
    answers = []
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, text in enumerate(used(pairs)):
        (folder / f"{number}.txt").write_text(f"{text}\n", "utf-8")
    given = {"input": "input", "file": same, "pairs": pairs, "folder": folder}
    for name, more in given.items():
        run(*command, tmp_path / f"{name}.jsonl", "--population", more)
        answers.append(factors(tmp_path / f"{name}.jsonl"))
    np.testing.assert_allclose(answers[1:], answers[:1] * 3, atol=1e-4)


def test_problems_with_several_known_texts_are_compared_in_their_population(
    model: Path, tmp_path: Path
) -> None:
    known = [TEXTS[at : at + 2] for at in range(0, 20, 2)]
    for number, texts in enumerate(known):
        folder = tmp_path / "problems" / f"EN{number:03}"
        folder.mkdir(parents=True)
        for name, text in zip(("known01", "known02", "unknown"), [*texts, TEXTS[-1]], strict=True):
            (folder / f"{name}.txt").write_text(text, "utf-8")
    command = ["predict", tmp_path / "problems", "--model", model, "--input-format", "pan15"]
    output = tmp_path / "a.jsonl"
    told = json.loads(run(*command, "--population", "input", "-o", output, "--json").stdout)
    assert told["population_texts"] == 21
    verifier = load(model)
    population = verifier.population([*TEXTS[:20], TEXTS[-1]])
    expected = [
        verifier.score([verifier.encode(texts)], [verifier.encode(TEXTS[-1:])], population)[0]
        for texts in known
    ]
    assert factors(output) == pytest.approx(expected, abs=1e-4)


def test_predict_with_other_texts_as_population_says_what_python_says(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    others = write_rows(tmp_path / "others.jsonl", [{"text": text} for text in OTHERS])
    run("predict", pairs, "--model", model, "-o", tmp_path / "a.jsonl", "--population", others)
    assert_by_hand(read(tmp_path / "a.jsonl"), model, pairs, OTHERS)


def test_what_cannot_be_read_is_listed_once_though_the_input_is_the_population(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    lines = pairs.read_text("utf-8").splitlines()
    empty = json.dumps({"id": "blank", "fandoms": ["", ""], "pair": ["\u200b", TEXTS[0]]})
    broken = tmp_path / "pairs.jsonl"
    broken.write_text("\n".join([*lines[:9], '{"id": 1', empty, *lines[9:]]) + "\n", "utf-8")
    skipped: list[InputError] = []
    output = tmp_path / "a.jsonl"
    done = predict(model, pair_rows(broken), output, population=broken, skipped=skipped)
    assert done.answers == 30
    assert len(skipped) == len({str(error) for error in skipped}) == 2
    assert_by_hand(read(tmp_path / "a.jsonl"), model, pairs, sorted({*used(pairs), TEXTS[0]}))
    others = tmp_path / "others.jsonl"
    rows = [*(json.dumps({"text": text}) for text in OTHERS), "not JSON"]
    others.write_text("\n".join(rows) + "\n", "utf-8")
    skipped = []
    predict(model, pair_rows(broken), tmp_path / "b.jsonl", population=others, skipped=skipped)
    assert len({str(error) for error in skipped}) == len(skipped) == 3


# Kills

KILLED = """
import os, signal, sys
from adhominem.cli import main, terminal
from adhominem.questions.predict import files as module
module._CASES_AT_ONCE = 4
batches = 0
add = module.PartialAnswers.add

def dying(self, *arguments):
    global batches
    batches += 1
    if batches == 3:
        self._file.write('{"id": "pair-')
        self._file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, *arguments)

module.PartialAnswers.add = dying
main(sys.argv[1:])
"""


def test_a_run_that_was_killed_goes_on_and_ends_with_the_same_bytes(
    model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, partial = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.partial"
    command = ["predict", pairs, "--model", model, "--population", "input", "-o"]
    run(*command, tmp_path / "whole.jsonl")
    arguments = [str(argument) for argument in (*command, output)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    before = partial.read_bytes()
    assert before.count(b"\n") == 8
    others = write_rows(tmp_path / "others.jsonl", [{"text": text} for text in OTHERS])
    for population in (others, None):
        with pytest.raises(OptionError, match="started with another model or other settings"):
            predict(model, pair_rows(pairs), output, population=population)
    assert partial.read_bytes() == before
    monkeypatch.setattr(module, "_CASES_AT_ONCE", 5)
    told = json.loads(run(*command, output, "--json").stdout)
    assert (told["answers"], told["scored_now"]) == (30, 22)
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not partial.exists()


def test_answers_in_a_population_depend_on_the_batch_by_rounding_alone(
    mixed_folder: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    for at_once in (256, 1, 3, 7):
        monkeypatch.setattr(module, "_CASES_AT_ONCE", at_once)
        output = tmp_path / f"{at_once}.jsonl"
        predict(mixed_folder, pair_rows(pairs), output, population=pairs)
        answers.append([row["log_bayes_factor"] for row in read(output)])
    for other in answers[1:]:
        assert other == pytest.approx(answers[0], abs=1e-4)


def test_evaluate_measures_a_models_own_answers_with_and_without_a_population(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    truth = tmp_path / "truth.jsonl"
    rows = [
        {"id": f"pair-{at}", "same": at % 3 == 0, "authors": [str(at), str(at + at % 3)]}
        for at in range(30)
    ]
    write_rows(truth, rows)  # type: ignore[arg-type]
    measured = []
    for population in ((), ("--population", "input")):
        answers = tmp_path / f"answers{len(population)}.jsonl"
        run("predict", pairs, "-o", answers, "--model", model, *population)
        common = ("--bootstrap", 0, "--json")
        by_file = json.loads(run("evaluate", truth, answers, *common).stdout)["systems"]
        by_model = json.loads(
            run("evaluate", truth, "--pairs", pairs, "--model", model, *population, *common).stdout
        )["systems"]
        assert len(by_model) == 1
        assert by_model[0]["measures"] == by_file[0]["measures"]
        measured.append(by_model[0]["measures"])
    assert measured[0]["cllr"] != measured[1]["cllr"]
    run("evaluate", truth, "--model", model, status=2)  # no texts to answer
    run("evaluate", truth, status=2)  # nothing to measure
    run("evaluate", truth, answers, "--population", "input", status=2)  # of which model?
