"""A document with some passages left out or repeated, in its plainest form."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adhominem.paper.runtime import spliced

words = st.sampled_from(["a", "b", "c", "d"])
passages = st.lists(
    st.tuples(st.lists(words, min_size=1, max_size=4), st.lists(st.integers(0, 3), min_size=2)),
    min_size=1,
    max_size=6,
)


@given(passages)
def test_each_variant_has_each_passage_as_often_as_it_says(
    drawn: list[tuple[list[str], list[int]]],
) -> None:
    tokens = [token for passage, _ in drawn for token in passage]
    lengths = [len(passage) for passage, _ in drawn]
    starts = np.array([sum(lengths[:at]) for at in range(len(drawn))])
    times = np.array([row[:2] for _, row in drawn]).T  # two variants
    slow = []
    for variant in range(2):
        found: list[str] = []
        for at, (passage, _) in enumerate(drawn):
            found += passage * int(times[variant, at])
        slow.append(found)
    assert spliced(tokens, starts, times) == slow


@given(st.lists(words, min_size=1, max_size=9), st.sets(st.integers(1, 8)))
def test_all_ones_is_the_document_itself(tokens: list[str], cuts: set[int]) -> None:
    starts = np.array([0, *sorted(cut for cut in cuts if cut < len(tokens))])
    assert spliced(tokens, starts, np.ones((3, len(starts)), np.int64)) == [tokens] * 3
