"""Answers for a file of pairs: complete, right, and each once."""
# ruff: noqa: F401, F811 - fixtures are imported, and named by the tests

from __future__ import annotations

import json
import lzma
import os
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
from predict_cases import (
    TEXTS,
    assert_equal,
    encoded,
    made_up,
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

from adhominem import Document, Verifier, load_answers, load_truth
from adhominem.errors import NO_WORD, BrokenLineError, EmptyTextError, InputError, OptionError
from adhominem.jobs import workers as workers_module
from adhominem.questions.predict import files as module
from adhominem.questions.predict.files import predict
from adhominem.text.pan import Pair, pair_rows, problem_rows

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
    four = 4e-6 * (4 * verifier.lev_size + module._OBJECTS)  # LEVs
    kept: list[int] = []
    real = module._LevCache.of

    def watched(self: Any, *arguments: Any) -> Any:
        result = real(self, *arguments)
        kept.append(len(self._kept))
        return result

    monkeypatch.setattr(module._LevCache, "of", watched)
    done = predict(model, pair_rows(pairs), tmp_path / "answers.jsonl", max_memory=four)
    assert max(kept) == 4
    assert done.texts_encoded == encoded.total() > len(encoded)
    assert_equal(read(tmp_path / "answers.jsonl"), slow_answers(verifier, pairs))


def test_the_pairs_are_streamed(model: Path, tmp_path: Path, small_batches: None) -> None:
    """No more of them are read than the batch at hand, and the next."""
    partial = tmp_path / "answers.jsonl.partial"

    def cases() -> Iterator[Pair]:
        for number in range(20):
            answered = len(read(partial)) if partial.exists() else 0
            assert number - answered < 6
            first, second = (Document(text=made_up((number, side))) for side in (0, 1))
            yield Pair(id=f"{number}", first=first, second=second)

    assert predict(model, cases(), tmp_path / "answers.jsonl").answers == 20


def test_two_processes_give_the_answers_of_one(
    model: Path,
    verifier: Verifier,
    pairs: Path,
    tmp_path: Path,
    small_batches: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers_module, "_LONG_WORK", 0)
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
    from adhominem.model.writing import write_ensemble

    for name in ("one", "two"):
        copytree(model, tmp_path / "both" / name)
    write_ensemble(tmp_path / "both", ["one", "two"], {}, "")
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
    assert told[6] == f"{path}:6: blank/second: {NO_WORD}"
    assert told[12] == f"{path}:12: blank again/second: {NO_WORD}"


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


# the command


def test_the_command_writes_what_the_evaluation_reads_and_tells_how_much(
    model: Path, pairs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "answers.jsonl"
    told = json.loads(run("predict", pairs, "-o", output, "--model", model, "--json").stdout)
    assert (told["answers"], told["scored_now"], told["skipped"]) == (40, 40, [])
    assert told["output"] == str(output)
    ids = [row["id"] for row in read(pairs)]
    write(tmp_path / "truth.jsonl", [{"id": id, "same": at % 2 == 0} for at, id in enumerate(ids)])
    answers = load_answers(output, load_truth(tmp_path / "truth.jsonl"))
    assert answers.given
    assert answers.value.tolist() == [row["value"] for row in read(output)]
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
    answers = read(tmp_path / "out" / "answers.jsonl")
    assert [row["id"] for row in answers] == ["EN000", "EN001", "EN002"]
    (tmp_path / "pan15" / "truth.txt").write_text("EN000 Y\nEN001 N\nEN002 N\n", "utf-8")
    run("predict", tmp_path / "pan15", "-o", tmp_path / "again", *options)
    assert read(tmp_path / "again" / "answers.jsonl") == answers


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
    assert lines[at + 2] == f"  {path}:5: w/first: {NO_WORD}"
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

    rows = made_up_pairs(20_000)
    for number, row in enumerate(rows):  # no two texts alike: there is much to encode
        row["pair"] = [
            f"{text} {number}{side}" for text, side in zip(row["pair"], "ab", strict=True)
        ]
    write(tmp_path / "pairs.jsonl", rows)
    command = [sys.executable, "-m", "adhominem", "predict", "pairs.jsonl", "-o", "answers.jsonl"]
    process = subprocess.Popen([*command, "--model", str(model), "--jobs", "2"], cwd=tmp_path)
    workers: list[psutil.Process] = []  # there are none as long as there may be little to do
    while process.poll() is None and len(workers) < 3:  # two, and what multiprocessing needs
        time.sleep(0.001)
        workers = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=30)
    for worker in alive:
        worker.kill()
    assert not alive
