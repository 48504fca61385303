"""Runs of predict that were stopped, killed or disturbed go on and lose nothing."""
# ruff: noqa: F401, F811 - fixtures are imported, and named by the tests

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from predict_cases import (
    TEXTS,
    Answer,
    assert_equal,
    encoded,
    made_up_pairs,
    model,
    pairs,
    read,
    run,
    slow_answers,
    small_batches,
    verifier,
    write,
)

from adhominem import Calibration, Document, Verifier
from adhominem.errors import BrokenLineError, InputError, OptionError
from adhominem.model.calibration import CalibrationReport, Validation, write_calibration
from adhominem.questions.predict import files as module
from adhominem.questions.predict.files import predict
from adhominem.score.calibration import Weights
from adhominem.text.pan import Pair, pair_rows

# stopped and started again


class StoppedError(Exception):
    """Ends a run from outside."""


def stopped_after(cases: int, path: Path, model: Path, output: Path, **options: Any) -> None:
    """A run that ends when so many cases have been read."""

    def first_cases() -> Iterator[Any]:
        for number, row in enumerate(pair_rows(path)):
            if number == cases:
                raise StoppedError
            yield row

    with pytest.raises(StoppedError):
        predict(model, first_cases(), output, **options)


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
        calibration = Calibration(
            members=(None,),
            layer_weights=(0.9,),
            weights=Weights(),
            lower_bound=-9.0,
            upper_bound=9.0,
            bounds=(),
            tokens=(0.0, 1e6),
        )
        report = CalibrationReport(
            cases=99, sets=(), same_author=50, authors=50, before={}, after={}
        )
        none, numbers = np.zeros(0, bool), np.zeros(0, np.int32)
        cases = Validation((), none.astype("f4"), none, numbers, numbers, numbers, numbers, none)
        write_calibration(mine, calibration, report, None, "1.0", cases)
    elif other == "no settings":
        (tmp_path / "answers.jsonl.digests").unlink()
    else:
        options = {"prior": {"prior_same_author": 0.1}, "delta": {"delta": 0.1}}[other]
    with pytest.raises(OptionError, match="was started with another model or other settings"):
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
    with pytest.raises(
        InputError, match=r"answers\.jsonl\.partial, with the answers of an earlier run"
    ):
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
    with pytest.raises(
        OptionError, match=r"other settings \(which include the texts of a population"
    ):
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
    (tmp_path / "answers.jsonl.digests").write_text("{}", "utf-8")
    (tmp_path / ".answers.jsonl.lock").touch()
    with pytest.raises(OptionError, match="exists already"):
        predict(model, pair_rows(pairs), output)
    assert {path.name for path in tmp_path.iterdir()} == {"pairs.jsonl", "answers.jsonl"}


# Runs `predict` with batches of three and dies by SIGKILL at a moment; it logs what it encodes.
KILLED = """
import os, signal, sys
from pathlib import Path
from adhominem.questions.predict import files as module
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
