"""Probabilities need a prior, never overflow, and those near 0.5 may become no answer."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.score.decision import (
    ensemble_log_bayes_factor,
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
    for ensemble in (ensemble_probability, ensemble_log_bayes_factor):
        with pytest.raises(OptionError, match="without members"):
            ensemble([])


@given(st.integers(1, 5), st.integers(0, 4), st.data())
def test_an_ensembles_log_bayes_factor_is_the_log_odds_of_its_probability(
    members: int, pairs: int, data: st.DataObject
) -> None:
    row = st.lists(scores, min_size=pairs, max_size=pairs)
    factors = data.draw(st.lists(row, min_size=members, max_size=members))
    found = ensemble_log_bayes_factor(factors)
    assert found.shape == (pairs,)
    # The odds of the mean: both sides summed, since 1 - p loses the digits of a small rest.
    for_one = ensemble_probability([probability_same_author(each) for each in factors])
    for_two = ensemble_probability([probability_same_author(np.negative(each)) for each in factors])
    np.testing.assert_allclose(found, np.log(for_one / for_two), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(probability_same_author(found), for_one, rtol=1e-9)


@given(st.lists(scores, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_the_members_does_not_matter_and_two_sides_are_alike(
    members: list[float], rng: random.Random
) -> None:
    found = ensemble_log_bayes_factor([[each] for each in members])
    shuffled = rng.sample(members, len(members))
    np.testing.assert_allclose(
        ensemble_log_bayes_factor([[each] for each in shuffled]), found, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        ensemble_log_bayes_factor([[-each] for each in members]), -found, rtol=1e-9, atol=1e-12
    )
    assert min(members) - 1e-12 <= found[0] <= max(members) + 1e-12


@given(st.lists(st.floats(allow_nan=False), max_size=6))
def test_an_ensemble_of_one_is_its_member_bit_for_bit(factors: list[float]) -> None:
    np.testing.assert_array_equal(ensemble_log_bayes_factor([factors]), factors)


def test_members_who_are_very_sure_leave_a_finite_log_bayes_factor() -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = ensemble_log_bayes_factor([[800.0, -800, 800, 800], [800.0, -800, -800, 0]])
    # The last: probabilities of 1 and 0.5, whose mean is 0.75.
    np.testing.assert_allclose(found, [800, -800, 0, math.log(3)], rtol=1e-12, atol=1e-12)


def test_certain_members_leave_no_room_for_doubt_only_if_they_agree() -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = ensemble_log_bayes_factor(
            [[math.inf, -math.inf, math.inf], [math.inf, -math.inf, -math.inf]]
        )
    assert found.tolist() == [math.inf, -math.inf, 0]


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
