"""Answers beside the truth: read in any order and packing, and never guessed."""

from __future__ import annotations

import gzip
import json
import lzma
import math
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import AdHominemError, AnswersError, InputError, NotFoundError
from adhominem.evaluation.answers import (
    Truth,
    answers_from,
    load_answers,
    load_systems,
    load_truth,
    write_answers,
)

TRUTH = Truth(("a", "b", "c"), np.array([True, False, True]), None)
GOOD: list[dict[str, Any]] = [
    {"id": "a", "value": 0.75},
    {"id": "b", "value": 0},
    {"id": "c", "value": 0.5},
]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def with_change(at: int, **change: Any) -> list[dict[str, Any]]:
    """Good answers but for one."""
    return [{**row, **change} if number == at else row for number, row in enumerate(GOOD)]


# The truth


def test_truth_is_read_in_the_order_of_its_file(tmp_path: Path) -> None:
    rows = [
        {"id": "z", "same": True, "authors": ["x", "x"]},
        {"id": "a", "same": False, "authors": ["x", "y"]},
    ]
    path = write_lines(tmp_path / "truth.jsonl", rows)
    for place in (path, str(path), tmp_path):  # the file, or the folder it is in
        truth = load_truth(place)
        assert truth.ids == ("z", "a")
        assert truth.same_author.tolist() == [True, False]
        assert truth.authors == (("x", "x"), ("x", "y"))
        assert len(truth) == 2


def test_authors_are_known_only_if_all_of_them_are(tmp_path: Path) -> None:
    named = {"id": "a", "same": True, "authors": ["x", "x"]}
    for other in ({"id": "b", "same": False}, {"id": "b", "same": False, "authors": ["", "y"]}):
        assert load_truth(write_lines(tmp_path / "truth.jsonl", [named, other])).authors is None


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{"id": "a", "same": true}\n\n{"id": "b", "same"\n', 3, "not a line of JSON"),
        ('{"id": "a", "same": 1}\n', 1, "'same' is int, expected bool"),
        ('{"id": "a"}\n{"id": "b"}\n', 1, r"'same' is missing.*\(and 1 more broken lines\)"),
        ('{"id": "a", "same": true}\n{"id": "a", "same": true}\n', 2, "second line .* 'a'"),
        ('{"id": "a", "same": true, "authors": ["x", "y"]}\n', 1, "the authors are"),
        ("[1, 2]\n", 1, "a JSON list; expected an object"),
    ],
)
def test_a_bad_line_of_the_truth_is_named(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = tmp_path / "truth.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(AnswersError, match=problem) as caught:
        load_truth(path)
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_a_folder_without_truth_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no truth\.jsonl in this folder") as caught:
        load_truth(tmp_path)
    assert caught.value.path == str(tmp_path)


# Good answers


@given(st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
def test_answers_come_in_the_order_of_the_truth_whatever_theirs(
    pairs: int, with_factors: bool, rng: random.Random
) -> None:
    ids = [f"pair {number}" for number in range(pairs)]
    truth = Truth(tuple(ids), np.array([rng.random() < 0.5 for _ in ids]), None)
    rows = []
    for key in ids:
        rows.append({"id": key, "value": rng.random(), "comment": "passed over"})
        if with_factors:
            rows[-1]["log_bayes_factor"] = rng.gauss(0, 9)
    with tempfile.TemporaryDirectory() as folder:
        path = write_lines(Path(folder) / "mine.jsonl", rng.sample(rows, len(rows)))
        result = load_answers(path, truth)
    assert result.name == "mine"
    assert result.value.tolist() == [row["value"] for row in rows]
    assert result.given == with_factors
    if with_factors:
        assert result.log_bayes_factor.tolist() == [row["log_bayes_factor"] for row in rows]
    np.testing.assert_array_equal(result.same_author, truth.same_author)
    assert len(result) == pairs


def test_without_bayes_factors_the_odds_of_the_values_stand_for_them(tmp_path: Path) -> None:
    result = load_answers(write_lines(tmp_path / "answers.jsonl", GOOD), TRUTH)
    assert not result.given
    assert result.log_bayes_factor.tolist() == [pytest.approx(math.log(3)), -math.inf, 0]
    given = [{**row, "log_bayes_factor": 1} for row in GOOD]
    result = load_answers(write_lines(tmp_path / "answers.jsonl", given), TRUTH)
    assert result.given
    assert result.log_bayes_factor.tolist() == [1, 1, 1]
    assert result.log_bayes_factor.dtype == np.float64


@given(st.lists(st.floats(0, 1), max_size=20))
def test_the_odds_of_values_are_theirs_without_a_warning(values: list[float]) -> None:
    same = np.ones(len(values), dtype=bool)
    result = answers_from("", np.array(values), None, same).log_bayes_factor
    for value, factor in zip(values, result, strict=True):
        if 0 < value < 1:
            assert factor == pytest.approx(math.log(value / (1 - value)), rel=1e-9, abs=1e-9)
        else:
            assert factor == (math.inf if value else -math.inf)
    # no answer is no evidence, wherever it stands in an array
    none = answers_from("", np.full(len(values), 0.5), None, same)
    assert none.log_bayes_factor.tolist() == [0] * len(values)


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    lines = "\n\n".join(json.dumps(row) for row in GOOD)
    path.write_text(f"\n{lines}\n\n", "utf-8-sig")
    assert load_answers(path, TRUTH).value.tolist() == [0.75, 0, 0.5]


def zstandard_of(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress), (".zst", zstandard_of)]
)
def test_packed_answers_are_read(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    lines = write_lines(tmp_path / "plain.jsonl", GOOD).read_bytes()
    path = tmp_path / f"mine.jsonl{suffix}"
    path.write_bytes(pack(lines))
    result = load_answers(path, TRUTH)
    assert result.name == "mine"
    assert result.value.tolist() == [0.75, 0, 0.5]
    path.write_bytes(pack(lines)[:-6])  # cut off
    with pytest.raises(AnswersError, match="damaged"):
        load_answers(path, TRUTH)


def test_numbers_in_lists_of_one_are_read_as_they_are(tmp_path: Path) -> None:
    """As one official answer of PAN 2020 has them."""
    wrapped = [{**row, "value": [row["value"]]} for row in GOOD]
    result = load_answers(write_lines(tmp_path / "answers.jsonl", wrapped), TRUTH)
    assert result.value.tolist() == [0.75, 0, 0.5]
    factors = [{**row, "log_bayes_factor": [1.5]} for row in wrapped]
    result = load_answers(write_lines(tmp_path / "answers.jsonl", factors), TRUTH)
    assert result.log_bayes_factor.tolist() == [1.5, 1.5, 1.5]


# Bad answers

HUGE = int("1" + "0" * 400)  # that no float can hold

BAD_VALUES = [-0.001, 1.001, math.nan, math.inf, -math.inf, "0.5", "", None, True, False, [], {}]
BAD_VALUES += [[0.5, 0.5], [[0.5]], [2], ["0.5"]]


@pytest.mark.parametrize("value", [*BAD_VALUES, pytest.param(HUGE, id="huge")])
def test_a_value_that_is_no_probability_is_named(tmp_path: Path, value: Any) -> None:
    path = write_lines(tmp_path / "answers.jsonl", with_change(1, value=value))
    with pytest.raises(AnswersError, match="not a number from 0 to 1") as caught:
        load_answers(path, TRUTH)
    assert caught.value.path == str(path)
    bare = value[0] if isinstance(value, list) and len(value) == 1 else value
    assert f"b: {bare!r}"[:40] in caught.value.problem
    assert not any(f"{good}: " in caught.value.problem for good in "ac")


def test_a_missing_value_is_named(tmp_path: Path) -> None:
    rows = [GOOD[0], {"id": "b"}, GOOD[2]]
    with pytest.raises(AnswersError, match="1 values that are not a number from 0 to 1: b: None"):
        load_answers(write_lines(tmp_path / "answers.jsonl", rows), TRUTH)


@pytest.mark.parametrize(
    "factor", [math.nan, math.inf, -math.inf, "1", None, True, [], pytest.param(HUGE, id="huge")]
)
def test_a_bayes_factor_that_is_no_finite_number_is_named(tmp_path: Path, factor: Any) -> None:
    rows = [{**row, "log_bayes_factor": 0.5} for row in GOOD]
    rows[2]["log_bayes_factor"] = factor
    with pytest.raises(AnswersError, match="1 log Bayes factors that are no") as caught:
        load_answers(write_lines(tmp_path / "answers.jsonl", rows), TRUTH)
    assert f"c: {factor!r}"[:40] in caught.value.problem


def test_bayes_factors_in_only_some_answers_are_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "answers.jsonl", with_change(0, log_bayes_factor=1.5))
    with pytest.raises(AnswersError, match="1 of 3 answers have a log_bayes_factor; expected all"):
        load_answers(path, TRUTH)


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        (GOOD[:1], ["2 pairs without an answer: b, c", "--missing-as-unanswered"]),
        ([*GOOD, GOOD[1]], ["1 ids that occur twice: b"]),
        ([*GOOD, GOOD[1], GOOD[1]], ["1 ids that occur twice: b"]),
        ([*GOOD, {"id": "d", "value": 0.1}], ["1 ids that the truth does not have: d"]),
        (with_change(2, id="C"), ["without an answer: c", "truth does not have: C"]),
    ],
    ids=["missing", "double", "three times", "unknown", "another case"],
)
def test_ids_that_do_not_fit_the_truth_are_named(
    tmp_path: Path, rows: list[dict[str, Any]], problems: list[str]
) -> None:
    path = write_lines(tmp_path / "answers.jsonl", rows)
    with pytest.raises(AnswersError) as caught:
        load_answers(path, TRUTH)
    assert caught.value.path == str(path)
    for problem in problems:
        assert problem in str(caught.value)
    if "without" not in problems[0]:  # an option that would not help is not offered
        assert "--missing-as-unanswered" not in str(caught.value)


@pytest.mark.parametrize("id", [None, 7, ["a"], True])
def test_an_answer_without_an_id_is_named_by_its_line(tmp_path: Path, id: Any) -> None:
    path = write_lines(tmp_path / "answers.jsonl", with_change(1, id=id))
    with pytest.raises(AnswersError, match=r"1 answers without an id \(a string\): line 2"):
        load_answers(path, TRUTH)


def test_all_that_is_wrong_is_told_at_once_and_long_lists_are_cut(tmp_path: Path) -> None:
    ids = [f"pair {number:02}" for number in range(14)]
    truth = Truth(tuple(ids), np.ones(14, dtype=bool), None)
    rows = [{"id": "pair 00", "value": 2}, {"id": "x", "value": 0.5}]
    with pytest.raises(AnswersError) as caught:
        load_answers(write_lines(tmp_path / "answers.jsonl", rows), truth)
    told = str(caught.value)
    assert f"13 pairs without an answer: {', '.join(ids[1:11])}, ...;" in told
    assert "ids that the truth does not have: x;" in told
    assert "not a number from 0 to 1: pair 00: 2" in told


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{"id": "a", "value": 0.5}\n\n{"id": "b", "va\n', 3, "not a line of JSON"),
        ('[]\nnothing\n{"id"\n', 1, r"a JSON list.*\(and 2 more broken lines\)"),
        ('"a"\n', 1, "a JSON str; expected an object"),
    ],
)
def test_a_broken_line_is_named_by_its_number(
    tmp_path: Path, text: str, line: int, problem: str
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(AnswersError, match=problem) as caught:
        load_answers(path, TRUTH)
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert str(caught.value).startswith(f"{path}:{line}: ")


@pytest.mark.parametrize("text", ["", "\n \n"])
@pytest.mark.parametrize("missing_as_unanswered", [True, False])
def test_an_empty_file_is_no_set_of_non_answers(
    tmp_path: Path, text: str, missing_as_unanswered: bool
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(AnswersError, match="the file is empty"):
        load_answers(path, TRUTH, missing_as_unanswered=missing_as_unanswered)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError) as caught:
            load_answers(path, TRUTH)
        assert caught.value.path == str(path)


# Missing answers


def test_missing_answers_may_count_as_non_answers(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "answers.jsonl", GOOD[:1])
    result = load_answers(path, TRUTH, missing_as_unanswered=True)
    assert result.value.tolist() == [0.75, 0.5, 0.5]
    assert result.log_bayes_factor[1:].tolist() == [0, 0]
    assert not result.given
    path = write_lines(path, [{**GOOD[0], "log_bayes_factor": -2.5}])
    result = load_answers(path, TRUTH, missing_as_unanswered=True)
    assert result.value.tolist() == [0.75, 0.5, 0.5]
    assert result.log_bayes_factor.tolist() == [-2.5, 0, 0]
    assert result.given


@pytest.mark.parametrize(
    "row", [{"id": "d", "value": 0.5}, {"id": "b", "value": 7}, {"id": "a", "value": 0.75}]
)
def test_other_faults_stay_faults_where_answers_may_be_missing(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    path = write_lines(tmp_path / "answers.jsonl", [GOOD[0], row])
    with pytest.raises(AnswersError) as caught:
        load_answers(path, TRUTH, missing_as_unanswered=True)
    assert "without an answer" not in str(caught.value)
    assert "--missing-as-unanswered" not in str(caught.value)


# Writing


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"])),
            st.floats(0, 1),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
        max_size=12,
        unique_by=lambda row: row[0],
    ),
    st.booleans(),
    st.sampled_from(["", ".gz", ".xz", ".zst"]),
)
def test_what_is_written_is_read_bit_for_bit(
    rows: list[tuple[str, float, float]], with_factors: bool, suffix: str
) -> None:
    ids = [key for key, _, _ in rows]
    value = np.array([value for _, value, _ in rows])
    factors = np.array([factor for _, _, factor in rows]) if with_factors else None
    truth = Truth(tuple(ids), np.ones(len(ids), dtype=bool), None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new" / f"answers.jsonl{suffix}"
        write_answers(path, ids, value, factors)
        assert list(path.parent.iterdir()) == [path]
        result = load_answers(path, truth)
    assert result.value.tobytes() == value.tobytes()
    assert result.given == with_factors
    if factors is not None:
        assert result.log_bayes_factor.tobytes() == factors.tobytes()


def test_answers_that_cannot_be_written_leave_those_that_were_there(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    write_answers(path, ["a", "b", "c"], np.array([0.1, 0.2, 0.3]))
    before = path.read_bytes()
    with pytest.raises((IndexError, AdHominemError)):
        write_answers(path, ["a", "b", "c"], np.array([0.1]))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("value", "factor"),
    [
        ([0.1, 0.2, 0.3], None),  # one too many
        ([0.1, 0.2], [1.0, 2.0, 3.0]),
        ([0.1, math.nan], None),
        ([0.1, 1.5], None),
        ([0.0, 1.0], [-math.inf, math.inf]),  # what the odds of such values are
    ],
    ids=["values", "factors", "not a number", "no probability", "infinite"],
)
def test_what_could_not_be_read_again_is_not_written(
    tmp_path: Path, value: list[float], factor: list[float] | None
) -> None:
    path = tmp_path / "answers.jsonl"
    with pytest.raises(AdHominemError):
        write_answers(
            path, ["a", "b"], np.array(value), None if factor is None else np.array(factor)
        )
    assert not path.exists()


# Some of the pairs, and several systems


def test_some_of_the_pairs_are_chosen_by_a_mask_or_by_their_numbers() -> None:
    answers = answers_from(
        "x", np.array([0.1, 0.2, 0.3]), np.array([1.0, 2, 3]), np.array([True, False, True])
    )
    for chosen in (np.array([False, True, True]), np.array([1, 2])):
        part = answers.of(chosen)
        assert part.value.tolist() == [0.2, 0.3]
        assert part.log_bayes_factor.tolist() == [2, 3]
        assert part.same_author.tolist() == [False, True]
        assert (part.name, part.given, len(part)) == ("x", True, 2)
    assert answers.of(np.array([2, 2, 0])).value.tolist() == [0.3, 0.3, 0.1]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["one.jsonl"], ["one"]),
        (["one.jsonl", "two.jsonl.xz"], ["one", "two"]),
        (["first/answers.jsonl"], ["first"]),
        (["first/answers.jsonl", "second/answers.jsonl.gz"], ["first", "second"]),
        (["first", "second"], ["first", "second"]),  # folders
        (["first/answers.jsonl", "second/run.jsonl"], ["answers", "run"]),
        (["a/x.jsonl", "a/y.jsonl", "b/x.jsonl"], ["a/x.jsonl", "a/y.jsonl", "b/x.jsonl"]),
        (["one.jsonl", "one.jsonl.gz"], ["one.jsonl", "one.jsonl.gz"]),
    ],
)
def test_systems_are_named_by_what_tells_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], names: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, given_path in enumerate(given):
        path = Path(given_path) if ".jsonl" in given_path else Path(given_path) / "answers.jsonl"
        write_answers(path, TRUTH.ids, np.full(3, number / 10))
    result = load_systems([Path(given_path) for given_path in given], TRUTH)
    assert [system.name for system in result] == names
    for number, system in enumerate(result):  # in the order they were given
        assert set(system.value.tolist()) == {number / 10}


def test_missing_answers_may_count_as_non_answers_in_all_systems(tmp_path: Path) -> None:
    paths = [write_lines(tmp_path / f"{name}.jsonl", GOOD[:1]) for name in "xy"]
    with pytest.raises(AnswersError, match="without an answer"):
        load_systems(paths, TRUTH)
    for system in load_systems(paths, TRUTH, missing_as_unanswered=True):
        assert system.value.tolist() == [0.75, 0.5, 0.5]


def test_a_folder_without_answers_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no answers\.jsonl in this folder") as caught:
        load_systems([tmp_path], TRUTH)
    assert caught.value.path == str(tmp_path)
