"""The exact interval of a rate, against its definition and against another library."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from adhominem.evaluation.bootstrap import exact_interval


def chance(counts: range, of: int, rate: float) -> float:
    """That something of this rate is seen so often."""
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
    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    assert exact_interval(count, of) == pytest.approx((low, beta.ppf(0.975, count + 1, of - count)))
