"""Answers for a file of pairs: complete, right, each once, whatever happens on the way."""

from __future__ import annotations

import json
import lzma
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import WORDS, SmallRun

from adhominem import Document, Verifier, load, load_answers, load_truth
from adhominem.cli import main
from adhominem.errors import BrokenLineError, EmptyTextError, InputError, OptionError
from adhominem.jobs import predict as module
from adhominem.jobs.predict import predict
from adhominem.scoring.probability import probability_same_author
from adhominem.text.pan import Pair, pair_rows, problem_rows

Answer = dict[str, Any]


def made_up(seed: object) -> str:
    rng = random.Random(f"{seed}")
    liked = [*rng.choices(WORDS, k=4), rng.choice([",", ";", "!"])]
    return " ".join(rng.choices(WORDS + 8 * liked, k=rng.randint(20, 60)))


TEXTS = [made_up(number) for number in range(25)]


def made_up_pairs(count: int = 40) -> list[Answer]:
    """Rows in which most texts stand several times, some with a topic."""
    rng = random.Random(0)
    return [
        {
            "id": f"pair-{number}",
            "fandoms": [rng.choice(["", "ships"]), ""],
            "pair": rng.sample(TEXTS, 2),
        }
        for number in range(count)
    ]


def write(path: Path, rows: list[Any]) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def read(path: Path) -> list[Answer]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def assert_equal(found: list[Answer], expected: list[Answer]) -> None:
    """The same cases in the same order; sums in another order differ in the last bits."""
    assert [row["id"] for row in found] == [row["id"] for row in expected]
    for name in ("value", "log_bayes_factor"):
        np.testing.assert_allclose(
            [row[name] for row in found], [row[name] for row in expected], atol=1e-5
        )


@pytest.fixture(scope="module")
def model(small_run: SmallRun) -> Path:
    return small_run.folder


@pytest.fixture(scope="module")
def verifier(model: Path) -> Verifier:
    return load(model)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write(tmp_path / "pairs.jsonl", made_up_pairs())


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CASES_AT_ONCE", 3)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """How often each text, with its topic, went through the network."""
    counts: Counter[tuple[str, str]] = Counter()
    real = Verifier.encode

    def counting(self: Verifier, documents: Any, **options: Any) -> Any:
        counts.update((each.topic, each.text) for each in documents)
        return real(self, documents, **options)

    monkeypatch.setattr(Verifier, "encode", counting)
    return counts


def slow_answers(verifier: Verifier, path: Path, prior: float = 0.5) -> list[Answer]:
    """Pair by pair."""
    found = []
    for pair in pair_rows(path):
        assert isinstance(pair, Pair)
        factor = verifier.score(verifier.encode([pair.first]), verifier.encode([pair.second]))[0]
        value = float(probability_same_author(factor, prior))
        found.append({"id": pair.id, "value": value, "log_bayes_factor": float(factor)})
    return found


# the answers


def test_an_answer_is_the_verifiers_score_of_its_pair(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path
) -> None:
    done = predict(model, pair_rows(pairs), tmp_path / "answers.jsonl")
    answers = read(tmp_path / "answers.jsonl")
    assert_equal(answers, slow_answers(verifier, pairs))
    assert all(list(row) == ["id", "value", "log_bayes_factor"] for row in answers)
    assert (done.answers, done.scored_now) == (40, 40)
    assert np.ptp([row["log_bayes_factor"] for row in answers]) > 0.01


def test_the_prior_moves_the_values_and_weak_ones_become_no_answer(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path
) -> None:
    predict(model, pair_rows(pairs), tmp_path / "low.jsonl", prior_same_author=0.2)
    assert_equal(read(tmp_path / "low.jsonl"), slow_answers(verifier, pairs, 0.2))
    plain = slow_answers(verifier, pairs)
    delta = float(np.median([abs(row["value"] - 0.5) for row in plain]))
    predict(model, pair_rows(pairs), tmp_path / "some.jsonl", delta=delta)
    values = [row["value"] for row in read(tmp_path / "some.jsonl")]
    assert 10 < values.count(0.5) < 30
    factors = [row["log_bayes_factor"] for row in read(tmp_path / "some.jsonl")]
    np.testing.assert_allclose(factors, [row["log_bayes_factor"] for row in plain], atol=1e-5)


def test_each_distinct_text_is_encoded_once(
    model: Path,
    pairs: Path,
    tmp_path: Path,
    small_batches: None,
    encoded: Counter[tuple[str, str]],
) -> None:
    rows = read(pairs)
    distinct = {(t, x) for row in rows for t, x in zip(row["fandoms"], row["pair"], strict=True)}
    assert len(TEXTS) < len(distinct) < 2 * len(rows)  # a text with another topic is another
    done = predict(model, pair_rows(pairs), tmp_path / "answers.jsonl")
    assert encoded == dict.fromkeys(distinct, 1)
    assert done.texts_encoded == len(distinct)


def test_with_little_memory_texts_are_encoded_again_and_the_answers_are_the_same(
    model: Path,
    verifier: Verifier,
    pairs: Path,
    tmp_path: Path,
    small_batches: None,
    encoded: Counter[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 4 * 4 * verifier.lev_size)  # 4 LEVs
    kept: list[int] = []
    real = module._Levs.of

    def watched(self: Any, *arguments: Any) -> Any:
        found = real(self, *arguments)
        kept.append(len(self._kept))
        return found

    monkeypatch.setattr(module._Levs, "of", watched)
    done = predict(model, pair_rows(pairs), tmp_path / "answers.jsonl")
    assert max(kept) == 4
    assert done.texts_encoded == encoded.total() > len(encoded)
    assert_equal(read(tmp_path / "answers.jsonl"), slow_answers(verifier, pairs))


def test_the_pairs_are_streamed(model: Path, tmp_path: Path, small_batches: None) -> None:
    """No more of them are read than the batch at hand."""
    partial = tmp_path / "answers.jsonl.partial"

    def cases() -> Iterator[Pair]:
        for number in range(20):
            answered = len(read(partial)) if partial.exists() else 0
            assert number - answered < 3
            first, second = (Document(text=made_up((number, side))) for side in (0, 1))
            yield Pair(id=f"{number}", first=first, second=second)

    assert predict(model, cases(), tmp_path / "answers.jsonl").answers == 20


def test_two_processes_give_the_answers_of_one(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path, small_batches: None
) -> None:
    done = predict(model, pair_rows(pairs), tmp_path / "answers.jsonl", jobs=2)
    assert_equal(read(tmp_path / "answers.jsonl"), slow_answers(verifier, pairs))
    once = predict(model, pair_rows(pairs), tmp_path / "again.jsonl")
    assert replace(done, output=once.output) == once


def test_problems_with_several_known_texts_are_scored_as_sets(
    model: Path, verifier: Verifier, tmp_path: Path
) -> None:
    folder = tmp_path / "pan15"
    for number, known in enumerate((1, 3, 2)):
        problem = folder / f"EN{number:03}"
        problem.mkdir(parents=True)
        for at in range(known):
            (problem / f"known{at + 1:02}.txt").write_text(TEXTS[5 * number + at], "utf-8")
        (problem / "unknown.txt").write_text(TEXTS[20 + number], "utf-8")
    done = predict(model, problem_rows(folder), tmp_path / "answers.jsonl")
    answers = read(tmp_path / "answers.jsonl")
    assert [row["id"] for row in answers] == ["EN000", "EN001", "EN002"]
    assert (done.answers, done.texts_encoded) == (3, 9)
    for number, (row, known) in enumerate(zip(answers, (1, 3, 2), strict=True)):
        expected = verifier.score(
            [verifier.encode(TEXTS[5 * number : 5 * number + known])],
            [verifier.encode([TEXTS[20 + number]])],
        )[0]
        assert row["log_bayes_factor"] == pytest.approx(expected, abs=1e-5)


def test_copies_of_a_known_text_count_once(model: Path, tmp_path: Path) -> None:
    for id, known in (("EN001", [0, 1]), ("EN002", [0, 1, 0, 0])):
        (problem := tmp_path / "pan15" / id).mkdir(parents=True)
        for at, text in enumerate(known, start=1):
            (problem / f"known{at:02}.txt").write_text(TEXTS[text], "utf-8")
        (problem / "unknown.txt").write_text(TEXTS[20], "utf-8")
    predict(model, problem_rows(tmp_path / "pan15"), tmp_path / "answers.jsonl")
    one, other = (row["log_bayes_factor"] for row in read(tmp_path / "answers.jsonl"))
    assert one == other


def test_an_ensemble_predicts(model: Path, tmp_path: Path, pairs: Path) -> None:
    from adhominem.models.folder import write_ensemble

    for name in ("one", "two"):
        copytree(model, tmp_path / "both" / name)
    write_ensemble(tmp_path / "both", ["one", "two"], {}, "", "0")
    predict(tmp_path / "both", pair_rows(pairs), tmp_path / "both.jsonl")
    predict(model, pair_rows(pairs), tmp_path / "one.jsonl")
    assert_equal(read(tmp_path / "both.jsonl"), read(tmp_path / "one.jsonl"))


# what is bad in the input


def test_what_cannot_be_read_is_skipped_and_the_rest_is_answered(
    model: Path, verifier: Verifier, tmp_path: Path, small_batches: None
) -> None:
    good = made_up_pairs(8)
    no_words = {"id": "blank", "fandoms": ["", ""], "pair": [TEXTS[0], "\u200b"]}
    again = {**no_words, "id": "blank again"}
    rows: list[Any] = ["{broken", *good[:3], {"id": "x"}, no_words, *good[3:], again, "[]"]
    path = write(tmp_path / "pairs.jsonl", rows)
    skipped: list[InputError] = []
    done = predict(model, pair_rows(path), tmp_path / "answers.jsonl", skipped=skipped)
    clean = write(tmp_path / "clean.jsonl", good)
    assert_equal(read(tmp_path / "answers.jsonl"), slow_answers(verifier, clean))
    assert done.answers == 8
    told = {error.line: str(error) for error in skipped}
    assert sorted(told) == [1, 5, 6, 12, 13]
    assert told[1].startswith(f"{path}:1: not a line of JSON")
    assert told[5].startswith(f"{path}:5: the field 'pair' is missing")
    assert told[13].startswith(f"{path}:13: a JSON list; expected an object")
    # Each by its own name, though the text is the same.
    assert told[6] == f"{path}:6: blank/second: the text has no word in it"
    assert told[12] == f"{path}:12: blank again/second: the text has no word in it"


def test_without_a_list_for_it_the_first_bad_thing_is_raised(
    model: Path, tmp_path: Path, pairs: Path
) -> None:
    broken = write(tmp_path / "broken.jsonl", [*made_up_pairs(2), "{"])
    with pytest.raises(BrokenLineError, match=r"broken\.jsonl:3"):
        predict(model, pair_rows(broken), tmp_path / "answers.jsonl")
    no_words = Pair(id="a", first=Document(text="."), second=Document(text="\u200b", id="a/second"))
    with pytest.raises(EmptyTextError, match="a/second: the text has no word in it"):
        predict(model, [no_words], tmp_path / "others.jsonl")


@pytest.mark.parametrize("rows", [[], ["{"], [{"id": "a", "pair": ["\u200b", "x"]}]], ids=str)
def test_where_nothing_can_be_answered_that_is_an_error_and_nothing_is_left(
    model: Path, tmp_path: Path, rows: list[Any]
) -> None:
    path = write(tmp_path / "pairs.jsonl", rows)
    skipped: list[InputError] = []
    with pytest.raises(InputError, match="there is no pair or problem that could be answered"):
        predict(model, pair_rows(path), tmp_path / "answers.jsonl", skipped=skipped)
    assert len(skipped) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_an_output_that_exists_is_refused_and_left_alone(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "answers.jsonl"
    output.write_text("the only copy", "utf-8")
    with pytest.raises(OptionError, match="exists already; remove it, or choose another name"):
        predict(model, pair_rows(pairs), output)
    assert output.read_text("utf-8") == "the only copy"
    assert {file.name for file in tmp_path.iterdir()} == {"pairs.jsonl", "answers.jsonl"}


def test_a_name_that_promises_a_packed_file_is_refused(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=r"expected a name like answers\.jsonl$"):
        predict(model, pair_rows(pairs), tmp_path / "answers.jsonl.gz")


# stopped and started again


class StoppedError(Exception):
    """Ends a run from outside."""


def stopped_after(cases: int, path: Path, model: Path, output: Path, **options: Any) -> None:
    """A run that ends when so many cases have been read."""

    def some() -> Iterator[Any]:
        for number, row in enumerate(pair_rows(path)):
            if number == cases:
                raise StoppedError
            yield row

    with pytest.raises(StoppedError):
        predict(model, some(), output, **options)


def test_a_run_goes_on_behind_the_answers_it_finds(
    model: Path,
    verifier: Verifier,
    pairs: Path,
    tmp_path: Path,
    small_batches: None,
    encoded: Counter[tuple[str, str]],
) -> None:
    output = tmp_path / "answers.jsonl"
    stopped_after(20, pairs, model, output)
    before = (tmp_path / "answers.jsonl.partial").read_bytes()
    assert before.count(b"\n") == 18
    assert not output.exists()
    encoded.clear()
    done = predict(model, pair_rows(pairs), output)
    rows = read(pairs)[18:]
    assert {text for _, text in encoded} == {text for row in rows for text in row["pair"]}
    assert set(encoded.values()) == {1}
    assert (done.answers, done.scored_now, done.texts_encoded) == (40, 22, len(encoded))
    assert output.read_bytes().startswith(before)
    assert_equal(read(output), slow_answers(verifier, pairs))
    assert {file.name for file in tmp_path.iterdir()} == {"pairs.jsonl", "answers.jsonl"}


@pytest.mark.parametrize("cut", [1, 30, -1])  # -1: all but the end of the line
def test_half_a_last_line_is_dropped(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path, small_batches: None, cut: int
) -> None:
    output, partial = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.partial"
    stopped_after(20, pairs, model, output)
    lines = partial.read_bytes().splitlines(keepends=True)
    partial.write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
    done = predict(model, pair_rows(pairs), output)
    assert done.scored_now == 40 - 17
    assert_equal(read(output), slow_answers(verifier, pairs))


def test_what_a_crash_of_the_machine_left_behind_is_dropped(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path, small_batches: None
) -> None:
    output, partial = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.partial"
    stopped_after(20, pairs, model, output)
    partial.write_bytes(partial.read_bytes() + b"\0" * 500 + b'\n{"id": "pair-39", "value": 1}\n')
    predict(model, pair_rows(pairs), output)
    assert_equal(read(output), slow_answers(verifier, pairs))


def test_cases_that_could_not_be_scored_are_named_again_and_not_answered_twice(
    model: Path, tmp_path: Path, small_batches: None
) -> None:
    rows: list[Any] = [*made_up_pairs(20)]
    for at in (0, 7, 8, 19):
        rows[at] = {"id": f"blank-{at}", "pair": ["\u200b", TEXTS[at]]}
    rows[4] = "{broken"
    path = write(tmp_path / "pairs.jsonl", rows)
    output = tmp_path / "answers.jsonl"
    stopped_after(14, path, model, output, skipped=[])
    skipped: list[InputError] = []
    done = predict(model, pair_rows(path), output, skipped=skipped)
    ids = [row["id"] for row in rows if isinstance(row, dict) and row["id"].startswith("pair")]
    assert [row["id"] for row in read(output)] == ids
    assert len(skipped) == 5
    assert done.answers == 15


def test_a_run_that_had_found_all_answers_only_moves_them(
    model: Path, pairs: Path, tmp_path: Path, encoded: Counter[tuple[str, str]]
) -> None:
    output = tmp_path / "answers.jsonl"

    def full_disk(self: Any) -> None:
        raise OSError("no room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.PartialAnswers, "finish", full_disk)
        with pytest.raises(OSError, match="no room"):
            predict(model, pair_rows(pairs), output)
    encoded.clear()
    done = predict(model, pair_rows(pairs), output)
    assert (done.answers, done.scored_now, done.texts_encoded) == (40, 0, 0)
    assert not encoded
    assert len(read(output)) == 40


@pytest.mark.parametrize("other", ["model", "prior", "delta", "calibration", "no settings"])
def test_another_model_or_other_settings_are_refused_and_the_answers_kept(
    other: str, model: Path, pairs: Path, tmp_path: Path, small_batches: None
) -> None:
    from safetensors.numpy import load_file, save_file

    mine = Path(copytree(model, tmp_path / "model"))
    output, partial = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.partial"
    stopped_after(20, pairs, mine, output)
    before = partial.read_bytes()
    options: dict[str, Any] = {}
    if other == "model":
        weights = load_file(mine / "model.safetensors")
        save_file(
            {name: 1.01 * value for name, value in weights.items()}, mine / "model.safetensors"
        )
    elif other == "calibration":
        line = {"scores": [-1, 1], "log_bayes_factors": [-2, 2], "lower_bound": -9, "pairs": 99}
        data = {"format": 1, "calibration": {**line, "kind": "logistic", "upper_bound": 9}}
        (mine / "calibration.json").write_text(json.dumps(data), "utf-8")
    elif other == "no settings":
        (tmp_path / "answers.jsonl.settings.json").unlink()
    else:
        options = {"prior": {"prior_same_author": 0.1}, "delta": {"delta": 0.1}}[other]
    with pytest.raises(OptionError, match="was begun with another model or other settings"):
        predict(mine, pair_rows(pairs), output, **options)
    assert partial.read_bytes() == before
    assert not output.exists()


def test_a_run_that_was_stopped_before_its_first_answer_binds_nobody(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "answers.jsonl"
    stopped_after(0, pairs, model, output)
    assert predict(model, pair_rows(pairs), output, prior_same_author=0.1).answers == 40


@pytest.mark.parametrize("other", ["other pairs", "none of the first"])
def test_another_input_is_refused_and_the_answers_kept(
    other: str, model: Path, pairs: Path, tmp_path: Path, small_batches: None
) -> None:
    output, partial = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.partial"
    stopped_after(20, pairs, model, output)
    before = partial.read_bytes()
    rows = made_up_pairs()
    changed = {
        "other pairs": [{**row, "id": f"x{row['id']}"} for row in rows],
        "none of the first": rows[::-1],
    }[other]
    blank = {"id": "blank", "pair": ["\u200b", "a"]}  # cannot be answered, so it tells nothing
    path = write(tmp_path / "changed.jsonl", [blank, blank | {"id": "b"}, {"id": 3}, *changed])
    with pytest.raises(OptionError, match=r"\.partial holds answers for another input"):
        predict(model, pair_rows(path), output, skipped=[])
    assert partial.read_bytes() == before
    assert predict(model, pair_rows(pairs), output).answers == 40


@pytest.mark.parametrize("rows", [[], ["{"], [{"id": "a", "pair": ["\u200b", "x"]}]], ids=str)
def test_an_input_of_which_nothing_is_left_costs_no_answer(
    model: Path, pairs: Path, tmp_path: Path, small_batches: None, rows: list[Any]
) -> None:
    output = tmp_path / "answers.jsonl"
    stopped_after(20, pairs, model, output)
    emptied = write(tmp_path / "emptied.jsonl", rows)
    with pytest.raises(InputError, match=r"answers\.jsonl\.partial, with the answers of a run"):
        predict(model, pair_rows(emptied), output, skipped=[])
    done = predict(model, pair_rows(pairs), output)
    assert (done.answers, done.scored_now < 40) == (40, True)


def edited(how: str) -> list[Answer]:
    """The 40 pairs as somebody left them when 18 had been answered."""
    rows = made_up_pairs()
    other = {"one text": {"pair": [rows[5]["pair"][0], TEXTS[3] + " More."]}}
    other["one topic"] = {"fandoms": ["trains", ""]}
    other["its sides"] = {"pair": rows[5]["pair"][::-1], "fandoms": rows[5]["fandoms"][::-1]}
    if how in other:
        return [*rows[:5], rows[5] | other[how], *rows[6:]]
    new = {**rows[0], "id": "new"}
    return {
        "an id": [*rows[:5], rows[5] | {"id": "new"}, *rows[6:]],
        "one more among them": [*rows[:5], new, *rows[5:]],
        "one more at the end": [*rows, new],
        "one less": [*rows[:5], *rows[6:]],
        "cut off": rows[:10],
        "two ids": [rows[0] | {"id": "pair-1"}, rows[1] | {"id": "pair-0"}, *rows[2:]],
        "another order": [*rows[10:18], *rows[:10], *rows[18:]],
        "nothing": rows,
    }[how]


@pytest.mark.parametrize(
    "how",
    [
        "one text",
        "one topic",
        "its sides",
        "an id",
        "one more among them",
        "one more at the end",
        "one less",
        "cut off",
        "two ids",
        "another order",
        "nothing",
    ],
)
def test_a_run_that_goes_on_answers_anew_just_what_was_changed(
    how: str, model: Path, pairs: Path, tmp_path: Path, small_batches: None
) -> None:
    output = tmp_path / "answers.jsonl"
    stopped_after(20, pairs, model, output)
    assert len(read(tmp_path / "answers.jsonl.partial")) == 18
    rows = edited(how)
    kept = sum(row in made_up_pairs()[:18] for row in rows)
    path = write(tmp_path / "edited.jsonl", rows)
    stopped_after(7, path, model, output)  # again, in the midst of what was changed
    again = len(read(tmp_path / "answers.jsonl.partial")) - 18
    done = predict(model, pair_rows(path), output)
    assert done.answers == len(rows)
    assert again + done.scored_now == len(rows) - kept
    predict(model, pair_rows(path), tmp_path / "whole.jsonl")
    assert output.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("answers.jsonl.")]


def test_with_the_input_as_population_an_edited_text_changes_every_answer(
    model: Path, pairs: Path, tmp_path: Path, small_batches: None
) -> None:
    output = tmp_path / "answers.jsonl"
    stopped_after(20, pairs, model, output, population=pairs)
    path = write(tmp_path / "edited.jsonl", edited("one text"))
    with pytest.raises(OptionError, match=r"other settings \(the texts of a population"):
        predict(model, pair_rows(path), output, population=path)
    assert predict(model, pair_rows(pairs), output, population=pairs).scored_now == 22


@pytest.mark.parametrize("far", [2, 30])  # in the same batch, and in a later one
def test_an_id_that_is_there_twice_is_answered_once_and_named_with_both_lines(
    far: int, model: Path, verifier: Verifier, tmp_path: Path, small_batches: None
) -> None:
    rows = made_up_pairs()
    double = rows[far] | {"id": "pair-1"}
    path = write(tmp_path / "pairs.jsonl", [*rows[:far], "", double, *rows[far + 1 :]])
    skipped: list[InputError] = []
    output = tmp_path / "answers.jsonl"
    stopped_after(35, path, model, output, skipped=[])
    done = predict(model, pair_rows(path), output, skipped=skipped)
    assert [str(error) for error in skipped] == [
        f"{path}:{far + 2}: the id 'pair-1' is that of line 2, too; expected another"
    ]
    assert done.answers == 39
    clean = write(tmp_path / "clean.jsonl", [*rows[:far], *rows[far + 1 :]])
    assert_equal(read(output), slow_answers(verifier, clean))
    with pytest.raises(BrokenLineError, match=rf"pairs\.jsonl:{far + 2}: the id 'pair-1'"):
        predict(model, pair_rows(path), tmp_path / "others.jsonl")


def test_problems_and_cases_of_ones_own_are_told_apart_by_their_ids_too(
    model: Path, tmp_path: Path
) -> None:
    case = Pair(id="a", first=Document(text="one"), second=Document(text="two"))
    skipped: list[InputError] = []
    done = predict(model, [case, case], tmp_path / "answers.jsonl", skipped=skipped)
    assert done.answers == 1
    assert [str(error) for error in skipped] == ["the id 'a' is there twice; expected it once"]


def test_a_second_run_with_the_same_output_is_told_who_is_at_work_and_changes_nothing(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "answers.jsonl"
    files: list[dict[str, bytes]] = []

    def cases() -> Iterator[Any]:
        for number, pair in enumerate(pair_rows(pairs)):
            if number == 20:
                for _ in range(2):
                    files.append({path.name: path.read_bytes() for path in tmp_path.iterdir()})
                    command = [sys.executable, "-m", "adhominem", "predict", pairs, "-o", output]
                    other = subprocess.run(
                        [*map(str, command), "--model", str(model)], capture_output=True, text=True
                    )
                    assert other.returncode == 1
                    told = f"error: {output} is being written by process {os.getpid()} on "
                    assert told in other.stderr.replace("\n", " ")
            yield pair

    predict(model, cases(), output)
    assert files[0] == files[1]
    assert len(read(output)) == 40
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.jsonl", "answers.jsonl"}


def test_what_a_run_killed_at_the_very_end_has_left_is_removed(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "answers.jsonl"
    predict(model, pair_rows(pairs), output)
    for end in ("digests", "settings.json"):
        (tmp_path / f"answers.jsonl.{end}").write_text("{}", "utf-8")
    (tmp_path / ".answers.jsonl.lock").touch()
    with pytest.raises(OptionError, match="exists already"):
        predict(model, pair_rows(pairs), output)
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.jsonl", "answers.jsonl"}


# Runs `predict` with batches of three and dies by SIGKILL at a moment; it logs what it encodes.
KILLED = """
import os, signal, sys
from pathlib import Path
from adhominem.jobs import predict as module
from adhominem.text.pan import pair_rows
from adhominem.verify.verifier import Verifier

moment, number, model, pairs, output, log = sys.argv[1:]
calls = 0

def counts(what):
    global calls
    calls += what == moment
    return what == moment and calls == int(number)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

encode, add, finish, truncate = (
    Verifier.encode, module.PartialAnswers.add, module.PartialAnswers.finish, os.truncate
)

def my_encode(self, documents, **options):
    if counts("encode"):
        die()
    with open(log, "a", encoding="utf-8") as file:
        file.writelines(f"{document.text}\\n" for document in documents)
    return encode(self, documents, **options)

def my_add(self, *arguments):
    if counts("half a line"):
        self._file.write('{"id": "pair-')
        self._file.flush()
        die()
    add(self, *arguments)
    if counts("answers"):
        die()

def my_finish(self):
    if counts("finish"):
        die()
    finish(self)

def my_truncate(*arguments):
    if counts("truncate"):
        die()
    truncate(*arguments)

module._CASES_AT_ONCE = 3
Verifier.encode = my_encode
module.PartialAnswers.add, module.PartialAnswers.finish = my_add, my_finish
os.truncate = my_truncate
print(module.predict(model, pair_rows(Path(pairs)), output).scored_now)
"""
MOMENTS = [
    ("encode", 1),  # before there is an answer
    ("answers", 2),  # between two batches
    ("half a line", 2),
    ("truncate", 1),  # while half a line is being dropped
    ("encode", 3),
    ("finish", 1),  # all is found, and the file has not got its name yet
]


def test_a_run_that_is_killed_again_and_again_ends_as_if_nothing_had_happened(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path
) -> None:
    output, partial = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.partial"
    log = tmp_path / "encoded.txt"
    answered = 0
    for moment, number in [*MOMENTS, ("never", 0)]:
        log.write_text("", "utf-8")
        arguments = [moment, str(number), *map(str, (model, pairs, output, log))]
        done = subprocess.run(
            [sys.executable, "-c", KILLED, *arguments], capture_output=True, text=True, timeout=60
        )
        todo = {text for row in read(pairs)[answered:] for text in row["pair"]}
        texts = log.read_text("utf-8").splitlines()
        assert set(texts) <= todo  # nothing is encoded for the sake of what has an answer
        if moment == "never":
            assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        lines = partial.read_bytes().split(b"\n")[:-1]  # the last one is empty, or half a line
        assert len(lines) >= answered
        answered = len(lines)
    assert answered == 40
    assert_equal(read(output), slow_answers(verifier, pairs))
    assert not partial.exists()
    assert {file.name for file in tmp_path.iterdir()} == {
        "answers.jsonl",
        "encoded.txt",
        "pairs.jsonl",
    }


def test_a_command_that_is_killed_from_outside_loses_nothing(
    model: Path, verifier: Verifier, tmp_path: Path
) -> None:
    pairs = write(tmp_path / "pairs.jsonl", made_up_pairs(600))
    output, partial = tmp_path / "answers.jsonl", tmp_path / "answers.jsonl.partial"
    command = [sys.executable, "-m", "adhominem", "predict", "pairs.jsonl", "-o", "answers.jsonl"]
    process = subprocess.Popen([*command, "--model", str(model)], cwd=tmp_path)
    while process.poll() is None and not (partial.exists() and partial.stat().st_size):
        time.sleep(0.001)
    process.kill()
    process.wait()
    if not output.exists():  # a fast machine may have been done
        run("predict", pairs, "-o", output, "--model", model)
    assert_equal(read(output), slow_answers(verifier, pairs))


# the command


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


def test_the_command_writes_what_the_evaluation_reads_and_tells_how_much(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "answers.jsonl"
    told = json.loads(run("predict", pairs, "-o", output, "--model", model, "--json").stdout)
    assert (told["answers"], told["scored_now"], told["skipped"]) == (40, 40, [])
    assert told["output"] == str(output)
    ids = [row["id"] for row in read(pairs)]
    write(tmp_path / "truth.jsonl", [{"id": id, "same": at % 2 == 0} for at, id in enumerate(ids)])
    found = load_answers(output, load_truth(tmp_path / "truth.jsonl"))
    assert found.given
    assert found.value.tolist() == [row["value"] for row in read(output)]
    again = run("predict", pairs, "-o", output, "--model", model, status=1)
    assert f"error: {output} exists already" in again.stderr


def test_tiras_form_reads_a_folder_and_writes_a_folder(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path
) -> None:
    given = tmp_path / "in"
    given.mkdir()
    (given / "pairs.jsonl.xz").write_bytes(lzma.compress(pairs.read_bytes()))
    for output in ("new", "there"):
        (tmp_path / "there").mkdir(exist_ok=True)
        result = run("predict", "-i", given, "-o", tmp_path / output, "--model", model)
        assert "40" in result.stdout
        assert [file.name for file in (tmp_path / output).iterdir()] == ["answers.jsonl"]
        assert_equal(read(tmp_path / output / "answers.jsonl"), slow_answers(verifier, pairs))


def test_the_command_passes_its_options_on(
    model: Path, verifier: Verifier, pairs: Path, tmp_path: Path
) -> None:
    options = ("--model", model, "--prior", 0.2, "--delta", 0.4999, "--jobs", 2)
    run("predict", pairs, "-o", tmp_path / "answers.jsonl", *options)
    assert {row["value"] for row in read(tmp_path / "answers.jsonl")} == {0.5}
    run("predict", pairs, "-o", tmp_path / "prior.jsonl", "--model", model, "--prior", 0.2)
    assert_equal(read(tmp_path / "prior.jsonl"), slow_answers(verifier, pairs, 0.2))


def test_the_command_reads_problem_folders_with_and_without_their_truth(
    model: Path, tmp_path: Path
) -> None:
    for number in range(3):
        problem = tmp_path / "pan15" / f"EN{number:03}"
        problem.mkdir(parents=True)
        for name, text in (("known01", 0), ("known02", 5), ("unknown", 10)):
            (problem / f"{name}.txt").write_text(TEXTS[number + text], "utf-8")
    options = ("--model", model, "--input-format", "pan15")
    run("predict", tmp_path / "pan15", "-o", tmp_path / "out", *options)
    found = read(tmp_path / "out" / "answers.jsonl")
    assert [row["id"] for row in found] == ["EN000", "EN001", "EN002"]
    (tmp_path / "pan15" / "truth.txt").write_text("EN000 Y\nEN001 N\nEN002 N\n", "utf-8")
    run("predict", tmp_path / "pan15", "-o", tmp_path / "again", *options)
    assert read(tmp_path / "again" / "answers.jsonl") == found


@pytest.mark.parametrize("as_json", [False, True])
def test_bad_lines_are_listed_with_file_and_line_and_end_with_3(
    model: Path, tmp_path: Path, as_json: bool
) -> None:
    rows: list[Any] = [*made_up_pairs(3), "{broken", {"id": "w", "pair": ["\u200b", "a"]}]
    path = write(tmp_path / "pairs.jsonl", rows)
    more = ["--json"] if as_json else []
    output = tmp_path / "answers.jsonl"
    result = run("predict", path, "-o", output, "--model", model, *more, status=3)
    assert len(read(output)) == 3
    lines = result.stderr.splitlines()
    at = lines.index("skipped 2 of the inputs:")
    assert lines[at + 1].startswith(f"  {path}:4: not a line of JSON")
    assert lines[at + 2] == f"  {path}:5: w/first: the text has no word in it"
    if as_json:
        assert json.loads(result.stdout)["skipped"] == [line.strip() for line in lines[at + 1 :]]


def test_an_input_that_is_empty_or_not_there_is_a_clear_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("", "utf-8")
    (tmp_path / "folder").mkdir()
    for name, message in (
        ("nowhere.jsonl", "there is no such file or folder"),
        ("folder", "nothing to read in this folder"),
        ("empty.jsonl", "the file is empty; expected one JSON object a line"),
    ):
        result = run(
            "predict", tmp_path / name, "-o", tmp_path / "out.jsonl", "--model", model, status=1
        )
        assert result.stdout == ""
        assert f"{tmp_path / name}: {message}" in result.stderr
        assert "error: " in result.stderr
        assert not list(tmp_path.glob("out.jsonl*"))


def test_a_model_that_is_not_there_leaves_nothing_behind(pairs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out" / "answers.jsonl"
    result = run("predict", pairs, "-o", output, "--model", tmp_path / "nowhere", status=1)
    assert str(tmp_path / "nowhere") in result.stderr
    assert not output.parent.exists()


def test_an_environment_variable_names_the_model(
    model: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADHOMINEM_MODEL", os.fspath(model))
    run("predict", pairs, "-o", tmp_path / "answers.jsonl")
    assert len(read(tmp_path / "answers.jsonl")) == 40


def test_the_workers_of_a_process_that_is_killed_end_with_it(model: Path, tmp_path: Path) -> None:
    import psutil

    write(tmp_path / "pairs.jsonl", made_up_pairs(20_000))
    command = [sys.executable, "-m", "adhominem", "predict", "pairs.jsonl", "-o", "answers.jsonl"]
    process = subprocess.Popen([*command, "--model", str(model), "--jobs", "2"], cwd=tmp_path)
    partial = tmp_path / "answers.jsonl.partial"
    while process.poll() is None and not (partial.exists() and partial.stat().st_size):
        time.sleep(0.001)
    workers = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=30)
    for worker in alive:
        worker.kill()
    assert not alive
