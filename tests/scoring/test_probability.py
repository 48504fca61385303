"""Probabilities need a prior, never overflow, and those near 0.5 may become no answer."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.scoring.probability import (
    ensemble_probability,
    probability_same_author,
    without_weak_answers,
)

scores = st.floats(-30, 30)
priors = st.floats(1e-6, 1 - 1e-6)
probabilities = st.floats(0, 1)


@given(st.lists(scores, max_size=6), priors)
def test_it_is_bayes_rule(log_bayes_factors: list[float], prior: float) -> None:
    slow = [
        prior * math.exp(score) / (prior * math.exp(score) + (1 - prior))
        for score in log_bayes_factors
    ]
    found = probability_same_author(log_bayes_factors, prior)
    np.testing.assert_allclose(found, slow, rtol=1e-9)


@given(st.lists(scores, max_size=6))
def test_without_a_stated_prior_half_of_the_pairs_are_by_one_author(
    log_bayes_factors: list[float],
) -> None:
    np.testing.assert_array_equal(
        probability_same_author(log_bayes_factors), probability_same_author(log_bayes_factors, 0.5)
    )
    assert probability_same_author(0.0) == 0.5


@given(priors)
def test_without_evidence_the_prior_stays(prior: float) -> None:
    assert probability_same_author(0.0, prior) == pytest.approx(prior, rel=1e-9)


@given(scores, priors)
def test_one_author_and_two_authors_add_up_to_one(log_bayes_factor: float, prior: float) -> None:
    same = probability_same_author(log_bayes_factor, prior)
    different = probability_same_author(-log_bayes_factor, 1 - prior)
    assert same + different == pytest.approx(1, abs=1e-9)


@given(scores, st.floats(1e-3, 10), priors)
def test_more_evidence_is_a_higher_probability(score: float, more: float, prior: float) -> None:
    low, high = probability_same_author([score, score + more], prior)
    assert low < high or low > 1 - 1e-12  # where float64 has no room left below 1


@pytest.mark.parametrize("prior", [1e-9, 0.5, 1 - 1e-9])
def test_extreme_evidence_gives_a_finite_answer_without_a_warning(prior: float) -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = probability_same_author([-1e4, -800, 800, 1e4], prior)
    np.testing.assert_allclose(found, [0, 0, 1, 1], atol=1e-300)
    assert probability_same_author(-700.0) > 0  # as long as float64 can hold it


@pytest.mark.parametrize("prior", [0, 1, -0.1, 1.1, math.nan, math.inf])
def test_a_prior_that_decides_by_itself_is_refused(prior: float) -> None:
    with pytest.raises(OptionError, match="prior_same_author is"):
        probability_same_author(0.0, prior)


@given(st.integers(1, 5), st.integers(0, 4), st.data())
def test_an_ensemble_answers_with_the_mean(members: int, pairs: int, data: st.DataObject) -> None:
    row = st.lists(probabilities, min_size=pairs, max_size=pairs)
    answers = data.draw(st.lists(row, min_size=members, max_size=members))
    slow = [
        float(sum((Fraction(answer[pair]) for answer in answers), Fraction(0)) / members)
        for pair in range(pairs)
    ]
    found = ensemble_probability(answers)
    assert found.shape == (pairs,)
    np.testing.assert_allclose(found, slow, rtol=1e-12)


def test_an_ensemble_without_members_is_refused() -> None:
    with pytest.raises(OptionError, match="without members"):
        ensemble_probability([])


@given(st.lists(probabilities, max_size=8), st.floats(0, 0.5))
def test_answers_near_a_half_become_none_and_others_stay(
    answers: list[float], delta: float
) -> None:
    slow = [0.5 if abs(answer - 0.5) < delta else answer for answer in answers]
    assert without_weak_answers(answers, delta).tolist() == slow


def test_no_delta_keeps_all_answers_and_the_largest_only_certain_ones() -> None:
    answers = [0.0, 0.25, 0.5, 0.75, 1.0]
    assert without_weak_answers(answers, 0).tolist() == answers
    assert without_weak_answers(answers, 0.25).tolist() == answers  # the border is an answer
    assert without_weak_answers(answers, 0.26).tolist() == [0.0, 0.5, 0.5, 0.5, 1.0]
    assert without_weak_answers(answers, 0.5).tolist() == [0.0, 0.5, 0.5, 0.5, 1.0]


@pytest.mark.parametrize("delta", [-0.01, 0.51, math.nan])
def test_a_delta_that_cannot_work_is_refused(delta: float) -> None:
    with pytest.raises(OptionError, match="delta is"):
        without_weak_answers([0.5], delta)
