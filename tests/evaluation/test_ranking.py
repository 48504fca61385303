"""The AUC against its definition: all same-author pairs against all others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.evaluation.pan import auc

scores = st.one_of(
    st.integers(-3, 3),  # many ties
    st.floats(-1e9, 1e9),
    st.sampled_from([-math.inf, math.inf, 0.0, -0.0, 1e-300]),
)
pairs = st.lists(st.tuples(scores, st.booleans()), max_size=40)


def slow_auc(values: list[float], same_author: list[bool]) -> float:
    same = [value for value, is_same in zip(values, same_author, strict=True) if is_same]
    different = [value for value, is_same in zip(values, same_author, strict=True) if not is_same]
    wins = sum(1.0 if one > other else 0.5 * (one == other) for one in same for other in different)
    return wins / (len(same) * len(different))


@given(pairs)
def test_auc_is_how_often_a_same_author_pair_scores_higher_ties_counting_half(
    items: list[tuple[float, bool]],
) -> None:
    values, same_author = [value for value, _ in items], [same for _, same in items]
    if len(set(same_author)) == 2:
        assert auc(values, same_author) == pytest.approx(slow_auc(values, same_author), abs=1e-12)
    else:
        assert math.isnan(auc(values, same_author))


@given(pairs.filter(lambda items: len({same for _, same in items}) == 2))
def test_auc_turns_round_with_the_scores_and_with_the_labels(
    items: list[tuple[float, bool]],
) -> None:
    values = np.array([value for value, _ in items], dtype=float)
    same_author = np.array([same for _, same in items])
    assert auc(-values, same_author) == pytest.approx(1 - auc(values, same_author), abs=1e-12)
    assert auc(values, ~same_author) == pytest.approx(1 - auc(values, same_author), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "same_author", "expected"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1], 1.0),
        ([4, 3, 2, 1], [0, 0, 1, 1], 0.0),
        ([1, 1, 1, 1], [0, 0, 1, 1], 0.5),
        ([1, 3, 2, 4], [0, 0, 1, 1], 0.75),
        ([False, True, True, True], [0, 0, 1, 1], 0.75),
    ],
)
def test_auc_of_examples_worked_out_by_hand(
    values: list[float], same_author: list[int], expected: float
) -> None:
    assert auc(values, same_author) == expected


@pytest.mark.parametrize("same_author", [[], [True], [False] * 3, [True] * 3])
def test_auc_is_nan_where_a_class_is_empty(same_author: list[bool]) -> None:
    assert math.isnan(auc([0.5] * len(same_author), same_author))
