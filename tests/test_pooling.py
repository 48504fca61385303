"""Pooled blocks are isotonic regression, and the lower hull of the error curve."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from adhominem.statistics import PooledBlocks, pool

scores = st.one_of(
    st.integers(-3, 3).map(float),  # many ties
    st.floats(-1e9, 1e9),
    st.sampled_from([0.0, -0.0, 1e-300]),
)
infinite = st.one_of(scores, st.sampled_from([-math.inf, math.inf]))


def of_both_classes(values: st.SearchStrategy[float]) -> st.SearchStrategy[list]:
    pairs = st.lists(st.tuples(values, st.booleans()), min_size=2, max_size=30)
    return pairs.filter(lambda items: len({same for _, same in items}) == 2)


def arrays(items: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in items]), np.array([same for _, same in items])


def share_of_each(blocks: PooledBlocks, values: np.ndarray) -> np.ndarray:
    """(pairs,): the share of same-author pairs in the block that a score lies in."""
    at = [
        int(np.flatnonzero((blocks.lowest <= value) & (value <= blocks.highest)).item())
        for value in values
    ]
    return (blocks.same / (blocks.same + blocks.different))[at]


def slow_shares(items: list[tuple[float, bool]]) -> list[float]:
    """Isotonic regression by its closed form: the best mean up to here of the worst from here."""
    levels = sorted({score for score, _ in items})
    same = [sum(s for score, s in items if score == level) for level in levels]
    count = [sum(score == level for score, _ in items) for level in levels]
    fitted = {}
    for at, level in enumerate(levels):
        fitted[level] = max(
            min(
                sum(same[begin : end + 1]) / sum(count[begin : end + 1])
                for end in range(at, len(levels))
            )
            for begin in range(at + 1)
        )
    return [fitted[score] for score, _ in items]


@given(of_both_classes(infinite))
def test_the_share_of_each_block_is_that_of_the_closed_form(
    items: list[tuple[float, bool]],
) -> None:
    values, same = arrays(items)
    np.testing.assert_allclose(share_of_each(pool(values, same), values), slow_shares(items))


@given(st.integers(0, 2**32 - 1), st.integers(2, 400), st.sampled_from([0.3, 2, 50]))
def test_the_share_of_each_block_is_scikit_learns(seed: int, pairs: int, coarse: float) -> None:
    rng = np.random.default_rng(seed)
    same = rng.random(pairs) < 0.5
    same[:2] = True, False
    values = np.round((rng.normal(size=pairs) + same) * coarse) / coarse
    expected = IsotonicRegression().fit_transform(values, same.astype(float))
    np.testing.assert_allclose(share_of_each(pool(values, same), values), expected, atol=1e-12)


@given(of_both_classes(infinite))
def test_blocks_hold_every_pair_once_and_rise(items: list[tuple[float, bool]]) -> None:
    values, same = arrays(items)
    blocks = pool(values, same)
    for at, (low, high) in enumerate(zip(blocks.lowest, blocks.highest, strict=True)):
        inside = (low <= values) & (values <= high)
        assert {low, high} <= set(values[inside].tolist())
        assert blocks.same[at] == same[inside].sum()
        assert blocks.different[at] == (~same)[inside].sum()
    assert blocks.same.sum() == same.sum()
    assert blocks.different.sum() == (~same).sum()
    assert (blocks.lowest <= blocks.highest).all()
    assert (blocks.highest[:-1] < blocks.lowest[1:]).all()  # so equal scores are in one block
    assert (np.diff(blocks.same / (blocks.same + blocks.different)) > 0).all()


@given(of_both_classes(scores), st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(
    items: list[tuple[float, bool]], rng: random.Random
) -> None:
    blocks = pool(*arrays(items))
    shuffled = pool(*arrays(rng.sample(items, len(items))))
    for name in ("same", "different", "lowest", "highest"):
        np.testing.assert_array_equal(getattr(blocks, name), getattr(shuffled, name))


@given(of_both_classes(infinite))
def test_the_corners_are_the_lower_hull_of_the_error_rates_of_all_thresholds(
    items: list[tuple[float, bool]],
) -> None:
    values, same = arrays(items)
    blocks = pool(values, same)
    misses, alarms = blocks.misses, blocks.false_alarms
    assert (misses[0], alarms[0], misses[-1], alarms[-1]) == (0, 1, 1, 0)
    assert (np.diff(misses) >= 0).all()
    assert (np.diff(alarms) <= 0).all()
    curve = {(0.0, 1.0)}  # all thresholds, one by one
    for threshold in values:
        rejected = values <= threshold
        curve.add((rejected[same].mean(), (~rejected)[~same].mean()))
    for corner in zip(misses, alarms, strict=True):  # every corner is on the curve,
        assert min(math.dist(corner, point) for point in curve) < 1e-12
    for weight in np.linspace(0, 1, 21):  # and no threshold is better than the best corner
        best = min(weight * one + (1 - weight) * other for one, other in curve)
        assert (weight * misses + (1 - weight) * alarms).min() == pytest.approx(best, abs=1e-12)


@given(of_both_classes(scores))
def test_a_blocks_bayes_factor_is_the_ratio_of_its_shares_of_both_classes(
    items: list[tuple[float, bool]],
) -> None:
    values, same = arrays(items)
    blocks = pool(values, same)
    for same_here, different_here, found in zip(
        blocks.same, blocks.different, blocks.log_bayes_factor, strict=True
    ):
        if same_here and different_here:
            ratio = (same_here / same.sum()) / (different_here / (~same).sum())
            assert found == pytest.approx(math.log(ratio), abs=1e-12)
        else:
            assert found == (math.inf if same_here else -math.inf)
    assert (np.diff(blocks.log_bayes_factor) > 0).all()


def test_scores_that_separate_the_classes_make_two_blocks() -> None:
    blocks = pool(np.array([3.0, 1, 4, 0, 2]), np.array([True, False, True, False, False]))
    assert blocks.same.tolist() == [0, 2]
    assert blocks.different.tolist() == [3, 0]
    assert blocks.lowest.tolist() == [0, 3]
    assert blocks.highest.tolist() == [2, 4]
    assert blocks.log_bayes_factor.tolist() == [-math.inf, math.inf]


@pytest.mark.parametrize("values", [[1.0, 1, 1, 1], [4.0, 1, 3, 2]], ids=["equal", "backwards"])
def test_scores_that_tell_nothing_make_one_block(values: list[float]) -> None:
    blocks = pool(np.array(values), np.array([False, True, False, True]))
    assert blocks.same.tolist() == [2]
    assert blocks.different.tolist() == [2]
    assert blocks.log_bayes_factor.tolist() == [0]
