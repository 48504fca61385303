"""The dev scores of a model: each measure of what it is said to be of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.evaluation.pan import PairScores, summarise

FloatArray = npt.NDArray[np.float64]


def slow_auc(scores: FloatArray, same_author: npt.NDArray[np.bool_]) -> float:
    """How often a pair by one author scores higher than one by two; a tie is half."""
    wins = [
        1.0 if one > other else 0.5 if one == other else 0.0
        for one in scores[same_author]
        for other in scores[~same_author]
    ]
    return sum(wins) / len(wins)


def made_up(seed: int, pairs: int = 30) -> PairScores:
    rng = np.random.default_rng(seed)
    same = np.arange(pairs) % 2 == 0
    factor, distance, cosine = rng.normal(size=(3, pairs)).round(1)
    return PairScores(factor + same, np.abs(distance), same, cosine + 0.5 * same)


@given(st.integers(0, 1_000))
def test_each_auc_is_that_of_its_own_scores(seed: int) -> None:
    scores = made_up(seed)
    result = summarise(scores)
    assert scores.cosine is not None
    for name, values in (
        ("cosine_auc", scores.cosine),
        ("bayes_factor_auc", scores.log_bayes_factor),
        ("distance_auc", -scores.distance),
    ):
        assert result[name] == pytest.approx(slow_auc(values, scores.same_author))


def test_without_a_cosine_all_else_is_as_with_one() -> None:
    scores = made_up(0)
    without = PairScores(scores.log_bayes_factor, scores.distance, scores.same_author)
    expected = summarise(scores)
    del expected["cosine_auc"]
    assert summarise(without) == expected
