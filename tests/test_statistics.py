"""Intervals and logistic regression, against their definitions and other libraries."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression

from adhominem.errors import OptionError
from adhominem.statistics import exact_interval, logistic, student_quantile


def chance(counts: range, of: int, rate: float) -> float:
    """The chance that what has this rate occurs in so many of the cases."""
    return sum(comb(of, count) * rate**count * (1 - rate) ** (of - count) for count in counts)


@given(st.integers(1, 60).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_at_its_ends_what_was_seen_is_seen_in_one_of_forty_sets(counts: tuple[int, int]) -> None:
    count, of = counts
    low, high = exact_interval(count, of)
    assert 0 <= low <= count / of <= high <= 1
    if count:
        assert chance(range(count, of + 1), of, low) == pytest.approx(0.025)
    if count < of:
        assert chance(range(count + 1), of, high) == pytest.approx(0.025)


@pytest.mark.parametrize(("count", "of"), [(0, 113), (3, 113), (50, 5_000), (4_999, 5_000)])
def test_it_is_that_of_clopper_and_pearson(count: int, of: int) -> None:
    low = stats.beta.ppf(0.025, count, of - count + 1) if count else 0.0
    assert exact_interval(count, of) == pytest.approx(
        (low, stats.beta.ppf(0.975, count + 1, of - count))
    )


def test_the_quantiles_are_students() -> None:
    for freedom in (1, 2, 3, 4, 7, 30, 1_000):
        assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.01)
    with pytest.raises(OptionError):
        student_quantile(0)


def test_logistic_regression_is_scikit_learns_with_both_classes_counting_half() -> None:
    rng = np.random.default_rng(0)
    same = rng.random(300) < 0.2
    scores = rng.normal(size=(2, 300)) * [[1], [9]] + same * [[1.0], [-6]]
    weight = rng.uniform(0.5, 2, 300)
    shares = np.where(same, weight / weight[same].sum(), weight / weight[~same].sum()) / 2
    scale = scores.std(axis=1)
    model = LogisticRegression(C=1 / 0.01, tol=1e-10)
    model.fit((scores / scale[:, None]).T, same, sample_weight=shares)
    expected = [*model.intercept_, *(model.coef_[0] / scale)]
    assert logistic(scores, same, weight, 0.01) == pytest.approx(expected, rel=1e-4)
    flat = logistic(np.stack([scores[0], np.full(300, 7.0)]), same, weight, 0.01)
    assert flat[2] == 0
