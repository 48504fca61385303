"""Parts of a pair set: by topic, and by the words of the shorter text."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import AnswersError, InputError
from adhominem.evaluation.answers import Truth, read_groups

LENGTHS = {  # words of the shorter text, from and to
    "shorter text: 0 to 149 words": (0, 149),
    "shorter text: 150 to 299 words": (150, 299),
    "shorter text: 300 to 599 words": (300, 599),
    "shorter text: 600 to 1,199 words": (600, 1199),
    "shorter text: 1,200 words or more": (1200, 10**9),
}


def text_of(words: int) -> str:
    """So many words, between white space of several kinds."""
    return "  \n".join(["word"] * words)


def pair(id: str, words: tuple[int, int], topics: tuple[str, str] | None) -> dict[str, Any]:
    row = {"id": id, "pair": [text_of(count) for count in words]}
    return row if topics is None else {**row, "fandoms": list(topics)}


def write_pairs(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def truth_of(*ids: str) -> Truth:
    return Truth(ids, np.zeros(len(ids), dtype=bool), None)


def slow_groups(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The ids in each group, one pair at a time."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        first, second = row.get("fandoms", ["", ""])
        if first and second:
            topic = "same topic" if first == second else "cross topic"
            groups.setdefault(topic, []).append(row["id"])
        shorter = min(len(text.split()) for text in row["pair"])
        for name, (low, high) in LENGTHS.items():
            if low <= shorter <= high:
                groups.setdefault(name, []).append(row["id"])
    return groups


lengths = st.sampled_from([1, 149, 150, 151, 299, 300, 599, 600, 1199, 1200, 2000])
topics = st.none() | st.tuples(*[st.sampled_from(["", "cats", "ships", "Cats"])] * 2)


@given(
    st.lists(st.tuples(st.tuples(lengths, lengths), topics), min_size=1, max_size=10),
    st.randoms(use_true_random=False),
)
def test_groups_are_those_of_a_loop_over_the_pairs_in_the_order_of_the_truth(
    pairs: list[tuple[tuple[int, int], tuple[str, str] | None]], rng: random.Random
) -> None:
    rows = [pair(f"p{at}", *item) for at, item in enumerate(pairs)]
    ids = rng.sample([row["id"] for row in rows], len(rows))
    with tempfile.TemporaryDirectory() as folder:
        result = read_groups(write_pairs(Path(folder) / "pairs.jsonl", rows), truth_of(*ids))
    in_groups = {
        name: sorted(np.array(ids)[mask].tolist()) for name, mask in result.items() if mask.any()
    }
    assert in_groups == {name: sorted(item) for name, item in slow_groups(rows).items()}
    assert len(in_groups) == len(result)  # none without a pair
    for mask in result.values():
        assert mask.shape == (len(ids),)
        assert mask.dtype == bool
    by_length = [mask for name, mask in result.items() if "words" in name]
    assert np.sum(by_length, axis=0).tolist() == [1] * len(ids)  # each pair in one bin


def test_groups_come_topics_first_then_from_short_to_long(tmp_path: Path) -> None:
    rows = [
        pair("a", (2000, 1500), ("x", "y")),
        pair("b", (10, 1500), ("x", "x")),
        pair("c", (400, 300), None),
    ]
    path = write_pairs(tmp_path / "pairs.jsonl", rows)
    names = ["same topic", "cross topic", *LENGTHS]
    result = read_groups(path, truth_of("a", "b", "c"))
    assert list(result) == [name for name in names if name in result]
    assert result["same topic"].tolist() == [False, True, False]
    assert result["cross topic"].tolist() == [True, False, False]
    assert result["shorter text: 300 to 599 words"].tolist() == [False, False, True]
    assert list(read_groups(str(tmp_path), truth_of("a", "b", "c"))) == list(result)  # the folder


def test_a_pair_that_the_truth_does_not_have_is_named(tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.jsonl", [pair("a", (1, 1), None), pair("x", (1, 1), None)])
    with pytest.raises(AnswersError, match="no line for the pair 'x'") as caught:
        read_groups(path, truth_of("a"))
    assert caught.value.path == str(path)


def test_pairs_without_texts_are_counted_and_one_is_named(tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.jsonl", [pair("a", (1, 1), None)])
    with pytest.raises(AnswersError, match=r"2 pairs of the truth .* such as 'b'") as caught:
        read_groups(path, truth_of("a", "b", "c"))
    assert caught.value.path == str(path)


def test_a_pair_that_comes_twice_is_named(tmp_path: Path) -> None:
    rows = [pair("a", (10, 10), None), pair("b", (10, 10), None), pair("a", (2000, 2000), None)]
    path = write_pairs(tmp_path / "pairs.jsonl", rows)
    with pytest.raises(AnswersError, match="'a'"):
        read_groups(path, truth_of("a", "b"))


@pytest.mark.parametrize(
    ("line", "problem"),
    [('{"id": "b"}', "'pair' is missing"), ('{"id"', "not a line of JSON")],
)
def test_a_broken_line_stops_it_with_its_number(tmp_path: Path, line: str, problem: str) -> None:
    path = write_pairs(tmp_path / "pairs.jsonl", [pair("a", (1, 1), None)])
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")
    with pytest.raises(InputError, match=problem) as caught:
        read_groups(path, truth_of("a", "b"))
    assert (caught.value.path, caught.value.line) == (str(path), 2)
