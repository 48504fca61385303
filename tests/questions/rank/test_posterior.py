"""From Bayes factors to posteriors: Bayes' rule, also where numbers are extreme."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.questions.rank.evidence import answers, posteriors

PRIORS = st.floats(0, 0.99)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=8), PRIORS)
def test_a_posterior_is_prior_times_bayes_factor_over_the_sum(
    factors: list[float], prior_none: float
) -> None:
    shares, none = posteriors(np.array([factors]), prior_none)
    prior = (1 - prior_none) / len(factors)
    joint = [prior * np.exp(factor) for factor in factors]
    total = sum(joint) + prior_none
    assert shares[0] == pytest.approx([value / total for value in joint], rel=1e-9, abs=1e-12)
    assert none[0] == pytest.approx(prior_none / total, rel=1e-9, abs=1e-12)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8), PRIORS)
def test_posteriors_are_probabilities_however_strong_the_evidence(
    factors: list[float], prior_none: float
) -> None:
    shares, none = posteriors(np.array([factors]), prior_none)
    assert np.isfinite(shares).all()
    assert shares.sum() + none.sum() == pytest.approx(1)


def test_evidence_that_says_nothing_leaves_the_priors() -> None:
    shares, none = posteriors(np.zeros((2, 4)), 0.2)
    assert shares == pytest.approx(np.full((2, 4), 0.2))
    assert none == pytest.approx([0.2, 0.2])


def test_the_answer_is_none_unless_the_candidates_together_are_more_probable() -> None:
    factors = np.log(np.array([[1.9, 0.2, 0.2], [3.0, 1.0, 0.1], [0.5, 0.4, 0.3]]))
    assert answers(factors, factors, 0.5).tolist() == [-1, 0, -1]
    assert answers(factors, factors, 0.0).tolist() == [0, 0, 0]


def test_of_candidates_at_a_bound_the_one_beyond_it_is_named() -> None:
    bounded, unbounded = np.array([[4.0, 4.0, 3.9]]), np.array([[4.5, 7.0, 3.9]])
    assert answers(bounded, unbounded, 0.5).tolist() == [1]


def test_what_is_no_prior_is_refused() -> None:
    for wrong in (-0.1, 1.0, float("nan")):
        with pytest.raises(OptionError, match="the prior of none is"):
            posteriors(np.zeros((1, 2)), wrong)
