"""Fitting to cases of known authors: parameters that carry over, weights of groups, and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_three_level import SlowModel, made_up_genres, pairs_of

from adhominem.evaluation.measures import cllr, cllr_min
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.score import fitting as module
from adhominem.score.calibration import Conditions, Weights
from adhominem.score.fitting import (
    Cases,
    Fitted,
    empirical_bounds,
    fit,
    fit_one_genre,
    group_weights,
)
from adhominem.score.fitting import unrestricted as in_a_row
from adhominem.score.genres import PairGeometry
from adhominem.score.members import GenreMember, LayerMember
from adhominem.score.products import PopulationPart
from adhominem.score.three_level import Evidence, PartVariances, ThreeLevelParameters

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Items = list[tuple[float, bool]]
SIZE, TOKENS = 12, 650.0
GENRES = made_up_genres(SIZE, 4)
TRUE = ThreeLevelParameters(  # as texts are drawn
    genre_part=PartVariances(author=0.3, text=0.2, length=0.1, directions=3.0),
    rest=PartVariances(author=0.4, text=0.5, length=0.3, directions=9.0),
    known_genre=0.1,
    known_genre_rest=0.05,
    genre_sharpness=1.0,
    length_power=0.0,
)
WRONG = replace(
    TRUE,
    genre_part=PartVariances(author=0.1, text=0.6, length=0.3, directions=8.0),
    rest=PartVariances(author=0.9, text=0.2, length=0.1, directions=30.0),
    length_power=0.5,
)


@dataclass(frozen=True)
class Draw:
    """Texts as the model says that they come about."""

    rng: np.random.Generator

    def of(self, covariance: FloatArray, count: int = 1) -> FloatArray:
        root = np.linalg.cholesky(covariance + 1e-12 * np.eye(SIZE))
        return GENRES.usual * self.rng.normal(size=(count, SIZE)) @ root.T

    def centre(self) -> FloatArray:
        slow = SlowModel(GENRES, TRUE)
        spread = slow._spread(TRUE.known_genre, TRUE.known_genre_rest)
        return GENRES.centres[self.rng.integers(4)] + self.of(spread)[0]

    def texts(self, centre: FloatArray, count: int) -> FloatArray:
        """By one author, all of the usual length."""
        slow = SlowModel(GENRES, TRUE)
        spread = slow.of_parts("text") + slow.of_parts("length")
        return centre + self.of(slow.of_parts("author")) + self.of(spread, count)


@cache
def drawn(seed: int, cases: int, population: int = 0) -> Cases:
    """Cases of one text or two against one; with a population, twenty cases share it."""
    draw, member = Draw(np.random.default_rng(seed)), GenreMember(GENRES)
    same = np.arange(cases) % 2 == 0
    sights, texts = [], []
    for begin in range(0, cases, 20 if population else 1):
        centre, part = draw.centre(), None
        if population:
            others = np.concatenate([draw.texts(centre, 1) for _ in range(population)])
            part = PopulationPart.of(others, np.full(population, np.log(TOKENS)))
        first, second = [], []
        for at in range(begin, min(cases, begin + (20 if population else 1))):
            count = 1 + at // 2 % 2
            levs = draw.texts(centre, count + 1)
            first.append(levs[:count])
            second.append(levs[count:] if same[at] else draw.texts(centre, 1))
            texts.append([count, 1])
        sights.append(
            member.pairs(*pairs_of(first, second, np.full((len(first), 3), np.log(TOKENS))), part)
        )
    conditions = Conditions(
        np.array(texts, np.float64),
        np.full((cases, 2), np.log(TOKENS)),
        np.full(cases, float(population)),
    )
    return Cases((PairGeometry.joined(sights),), conditions, same)


def even(*batches: Cases) -> list[FloatArray]:
    return [np.ones(len(batch.same_author)) for batch in batches]


def fitted_to(levels: ThreeLevelParameters, weights: Weights | None = None) -> Fitted:
    return Fitted((levels,), (1.0,), weights or Weights())


# Parameters


@cache
def alone() -> tuple[Fitted, list[float]]:
    """From wrong parameters, with the loss after each round."""
    told: list[float] = []
    cases = drawn(0, 3_000)
    return fit([cases], even(cases), fitted_to(WRONG), on_round=told.append), told


def test_the_loss_falls_until_it_is_nearly_that_of_the_parameters_behind_the_cases() -> None:
    made, told = alone()
    cases = drawn(0, 3_000)
    losses = {
        name: math.log(2) * cllr(one.log_bayes_factor(cases), cases.same_author)
        for name, one in (
            ("wrong", fitted_to(WRONG)),
            ("true", fitted_to(TRUE)),
            ("made", made),
        )
    }
    assert (np.diff([losses["wrong"] + 1, *told]) <= 0).all()
    assert losses["made"] < losses["true"] + 0.002 < losses["wrong"] - 0.05
    assert told[-1] == pytest.approx(losses["made"], abs=0.03)  # and what holds them


def test_on_new_cases_it_says_what_the_parameters_behind_them_say() -> None:
    made, cases = alone()[0], drawn(1, 3_000)
    factors, expected, before = (
        one.log_bayes_factor(cases) for one in (made, fitted_to(TRUE), fitted_to(WRONG))
    )
    same = cases.same_author
    assert cllr(factors, same) < cllr(expected, same) + 0.01
    assert cllr(factors, same) < cllr_min(factors, same) + 0.03  # it is calibrated,
    assert cllr(before, same) > cllr_min(before, same) + 0.1  # as it was not
    assert np.corrcoef(factors, expected)[0, 1] > 0.98
    assert np.polyfit(expected, factors, 1)[0] == pytest.approx(1, abs=0.1)


def test_true_parameters_hardly_change() -> None:
    cases = drawn(0, 3_000)
    made = fit([cases], even(cases), fitted_to(TRUE))
    before, after = (one.log_bayes_factor(cases) for one in (fitted_to(TRUE), made))
    assert np.corrcoef(before, after)[0, 1] > 0.98
    assert np.polyfit(before, after, 1)[0] == pytest.approx(1, abs=0.1)


def test_with_a_population_the_weights_of_its_snorm_are_fitted_too() -> None:
    cases, new = drawn(2, 1_500, 20), drawn(3, 1_500, 20)
    told: list[float] = []
    start = fitted_to(WRONG, Weights(factor=0.5, snorm=0.8))
    made = fit([cases], even(cases), start, on_round=told.append)
    assert (np.diff(told) <= 0).all()
    factors, expected, before = (
        one.log_bayes_factor(new) for one in (made, fitted_to(TRUE), start)
    )
    same = new.same_author
    assert cllr(factors, same) < cllr(expected, same) + 0.02
    assert cllr(factors, same) < cllr_min(factors, same) + 0.04
    assert cllr(factors, same) < cllr(before, same) - 0.05
    for name in ("factor", "snorm", "snorm_constant", "snorm_small", "usual_deviation"):
        assert getattr(made.weights, name) != getattr(start.weights, name)


def test_one_set_of_parameters_is_fitted_to_cases_with_a_population_and_without() -> None:
    batches = [drawn(0, 1_000), drawn(2, 1_000, 20)]
    start = fitted_to(WRONG, Weights(factor=0.5, snorm=0.8))
    made, turned = (fit(order, even(*order), start) for order in (batches, batches[::-1]))
    for cases in batches:
        factors, before = made.log_bayes_factor(cases), start.log_bayes_factor(cases)
        assert cllr(factors, cases.same_author) < cllr(before, cases.same_author) - 0.05
        np.testing.assert_allclose(turned.log_bayes_factor(cases), factors, rtol=0.01, atol=0.01)


def test_without_a_population_no_weights_of_one_are_fitted() -> None:
    start = fitted_to(WRONG, Weights(factor=0.123, snorm=0.456, usual_deviation=3.0))
    cases = drawn(0, 200)
    weights = fit([cases], even(cases), start).weights
    odds = start.weights.unknown_log_odds
    assert replace(weights, constant=0.0, unknown_log_odds=odds) == start.weights
    assert weights.constant != 0


def test_fitting_may_begin_elsewhere_and_ends_at_the_same_cost() -> None:
    cases = drawn(0, 3_000)
    near = fit([cases], even(cases), fitted_to(WRONG), begin=fitted_to(TRUE))
    far = alone()[0]
    costs = [cllr(one.log_bayes_factor(cases), cases.same_author) for one in (near, far)]
    assert costs[0] == pytest.approx(costs[1], abs=0.02)


def test_few_cases_without_fault_give_finite_parameters() -> None:
    cases = drawn(0, 4)
    factors = fit([cases], even(cases), fitted_to(TRUE)).log_bayes_factor(drawn(1, 100))
    assert np.isfinite(factors).all()
    assert np.abs(factors).max() < 1e3


def test_parameters_are_held_to_the_start_and_not_to_where_fitting_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PRIOR", 1e6)
    monkeypatch.setattr(module, "_ROUNDS_MORE", 20)
    cases, begin = drawn(0, 100), fitted_to(replace(WRONG, genre_spread=0.3))
    made = fit([cases], even(cases), fitted_to(TRUE), begin=begin)
    assert made.levels[0] is not None
    np.testing.assert_allclose(in_a_row(made.levels[0]), in_a_row(TRUE), atol=1e-3)


def test_both_classes_count_half_and_weights_are_numbers_of_cases() -> None:
    cases, start = drawn(0, 400), fitted_to(WRONG)
    base = fit([cases], even(cases), start).log_bayes_factor(cases)
    thrice = np.where(cases.same_author, 3.0, 1.0)
    np.testing.assert_allclose(
        fit([cases], [thrice], start).log_bayes_factor(cases), base, rtol=1e-6, atol=1e-6
    )
    double = np.arange(400) < 100
    weighed = fit([cases], [np.where(double, 2.0, 1.0)], start).log_bayes_factor(cases)
    again = drawn(0, 100)  # the first of the same cases
    twice = fit([cases, again], even(cases, again), start).log_bayes_factor(cases)
    np.testing.assert_allclose(weighed, twice, rtol=1e-6, atol=1e-6)
    assert not np.allclose(weighed, base, atol=1e-3)


@pytest.mark.parametrize("population", [0, 20])
def test_the_gradient_is_that_of_the_loss(population: int) -> None:
    cases = drawn(4, 200, population)
    start = fitted_to(WRONG, Weights(factor=0.5, snorm=0.8))
    fitting = module._Objective([cases], even(cases), start, {})
    here = fitting.pack(start)
    assert fitting.unpack(here).weights == start.weights
    gradient, information = fitting.normal_equations(*fitting.derivatives(here))
    assert gradient.shape == (17 + (5 if population else 0),) == here.shape
    slow = []
    for at in range(len(here)):
        step = 1e-4 * np.eye(len(here))[at]
        costs = [fitting.loss(fitting.factors(here + sign * step), here, here) for sign in (1, -1)]
        slow.append((costs[0] - costs[1]) / 2e-4)
    np.testing.assert_allclose(gradient, slow, rtol=0.02, atol=1e-3)
    np.testing.assert_allclose(information, information.T, atol=1e-12)
    assert (np.linalg.eigvalsh(information) > -1e-9).all()


# Members with a layer of their own


def bells(pairs: int, seed: int, skill: float = 2.0) -> tuple[FloatArray, BoolArray]:
    """Scores that are true log likelihood ratios: N(skill, 2 skill) and N(-skill, 2 skill)."""
    rng, same = np.random.default_rng(seed), np.arange(pairs) % 2 == 0
    return np.where(same, skill, -skill) + math.sqrt(2 * skill) * rng.normal(size=pairs), same


@pytest.mark.parametrize("times", [0.2, 1.0, 5.0])
def test_a_layer_that_is_too_sure_or_not_sure_enough_gets_its_weight(times: float) -> None:
    factors, same = bells(6_000, 0)
    conditions = Conditions(np.ones((6_000, 2)), np.full((6_000, 2), 6.5), np.zeros(6_000))
    cases = Cases((Evidence(times * factors + 0.3),), conditions, same)
    made = fit([cases], even(cases), Fitted((None,), (1.0,), Weights()))
    assert made.levels == (None,)
    assert made.layer_weights[0] == pytest.approx(1 / times, rel=0.06)
    np.testing.assert_allclose(made.log_bayes_factor(cases), factors, rtol=0.1, atol=0.2)


def test_a_layer_beside_another_member_adds_what_it_knows() -> None:
    cases, new = drawn(0, 2_000), drawn(1, 2_000)

    def with_layer(of: Cases, seed: int) -> Cases:
        factors = Evidence(3 * bells(2_000, seed, 1.0)[0])
        return replace(of, pairs=(*of.pairs, factors))

    both, fresh = with_layer(cases, 5), with_layer(new, 6)
    made = fit([both], even(both), Fitted((TRUE, None), (1.0, 1.0), Weights()))
    assert made.layer_weights[1] == pytest.approx(1 / 3, rel=0.15)
    assert made.layer_weights[0] == 1
    factors, same = made.log_bayes_factor(fresh), new.same_author
    scores = made.scores(fresh)
    assert len(scores.members) == 2
    np.testing.assert_allclose(scores.total + made.weights.constant, factors)
    assert cllr(factors, same) < cllr(fitted_to(TRUE).log_bayes_factor(new), same) - 0.1
    assert cllr(factors, same) < cllr_min(factors, same) + 0.03


def test_a_layers_evidence_against_a_population_has_its_weight_too() -> None:
    rng = np.random.default_rng(7)
    against = rng.normal(size=(5, 6)), rng.normal(size=(5, 6))
    conditions = Conditions(np.ones((5, 2)), np.full((5, 2), 6.5), np.full(5, 6.0))
    evidence = Evidence(rng.normal(size=5), against)
    cases = Cases((evidence,), conditions, np.arange(5) % 2 == 0)
    scores = Fitted((None,), (0.25,), Weights()).scores(cases)
    np.testing.assert_allclose(scores.total, 0.25 * evidence.log_bayes_factor)
    np.testing.assert_allclose(scores.against, 0.25 * np.array(against))


def test_members_begin_with_what_they_have_before_calibration() -> None:
    layer = TwoCovariance.from_precisions(np.zeros(2), np.eye(2), np.eye(2))
    members = GenreMember(GENRES, TRUE), LayerMember(layer, lambda seen: seen, 2, weight=9.0)
    made = Fitted.start(members)
    assert made.levels == (ThreeLevelParameters(), None)
    assert made.layer_weights == (1.0, 1.0)


# Groups


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=40))
def test_each_group_counts_by_the_root_of_its_pairs_in_both_classes(
    pairs: list[tuple[str, bool]],
) -> None:
    groups, same = [name for name, _ in pairs], np.array([label for _, label in pairs])
    weight = group_weights(groups, same)
    for pair in set(pairs):
        of_pair = [weight[at] for at, one in enumerate(pairs) if one == pair]
        assert sum(of_pair) == pytest.approx(len(of_pair) ** 0.5)
        assert max(of_pair) == min(of_pair)


# The bounds


def of_both_classes(values: st.SearchStrategy[float], most: int = 30) -> st.SearchStrategy[Items]:
    pairs = st.lists(st.tuples(values, st.booleans()), min_size=2, max_size=most)
    return pairs.filter(lambda items: len({same for _, same in items}) == 2)


def arrays(items: Items) -> tuple[FloatArray, BoolArray]:
    return np.array([score for score, _ in items]), np.array([same for _, same in items])


def slow_bounds(decades: FloatArray, same: BoolArray) -> tuple[float, float]:
    """Hundredths of a decade, one by one outwards from 0, until no system at all does better."""
    targets = [*decades[same], -math.inf]  # and one more that is misleading
    others = [*decades[~same], math.inf]

    def loses(step: int) -> bool:
        threshold = step / 100
        missed = sum(each <= threshold for each in targets) / len(targets)
        alarms = sum(each > threshold for each in others) / len(others)
        return missed + 10**threshold * alarms > min(1.0, 10**threshold)

    least = max(decades.min(), -math.log10(len(targets)))
    most = min(decades.max(), math.log10(len(others)))
    lower = upper = 0
    if not loses(0):
        while lower / 100 > least and not loses(lower - 1):
            lower -= 1
        while upper / 100 <= most and not loses(upper + 1):
            upper += 1
    return lower / 100, upper / 100


between_steps = st.floats(-8, 8).map(lambda each: round(each, 4) + 0.00003)
on_a_step = st.sampled_from([-1.0, 0.0, 1.0])  # as exact in nats as in decades


@given(of_both_classes(between_steps, 40) | of_both_classes(on_a_step, 40))
@settings(max_examples=100)
def test_the_bounds_are_those_of_walking_outwards_until_the_system_loses(items: Items) -> None:
    decades, same = arrays(items)
    found = np.array(empirical_bounds(decades * np.log(10), same)) / np.log(10)
    np.testing.assert_allclose(found, slow_bounds(decades, same), atol=1e-6)


def test_the_bounds_are_those_of_lir() -> None:
    bayeserror = pytest.importorskip("lir.algorithms.bayeserror")
    for seed in range(300):
        rng = np.random.default_rng(seed)
        pairs = int(rng.integers(2, 300))
        same = rng.random(pairs) < rng.choice([0.1, 0.5, 0.9])
        same[:2] = True, False
        factors = rng.normal(size=pairs) * rng.choice([0.1, 1, 5, 30])
        factors += np.where(same, 1, -1) * rng.choice([-1, 0, 0.5, 2, 10])
        expected = bayeserror.elub(factors / np.log(10), same.astype(int))
        found = np.array(empirical_bounds(factors, same)) / np.log(10)
        np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=f"seed {seed}")


def test_infinite_factors_have_finite_bounds() -> None:
    same = np.arange(60) % 2 == 0
    lower, upper = empirical_bounds(np.where(same, np.inf, -np.inf), same)
    assert -math.log(31) - 0.03 <= lower < -3
    assert 3 < upper <= math.log(31) + 0.03


def test_more_pairs_support_more() -> None:
    few, many = (empirical_bounds(*bells(pairs, 0)) for pairs in (100, 10_000))
    assert many[0] < few[0] < 0 < few[1] < many[1]


def test_scores_without_fault_support_as_much_as_there_are_cases() -> None:
    same = np.arange(200) % 2 == 0
    values = np.where(same, 30.0, -30.0) + np.random.default_rng(0).normal(size=200)
    found = empirical_bounds(values, same)
    np.testing.assert_allclose(found, [-math.log(101), math.log(101)], atol=0.05)


@given(of_both_classes(between_steps))
@settings(max_examples=50)
def test_scores_that_mislead_support_nothing(items: Items) -> None:
    values, _ = arrays(items)
    same = values < 0
    if same.all() or not same.any():
        return
    assert empirical_bounds(values, same) == (0.0, 0.0)


def test_the_odds_of_one_genre_are_those_of_a_logistic_regression_and_the_prior() -> None:
    rng = np.random.default_rng(0)
    is_one = np.arange(9_000) < 6_000
    evidence = rng.normal(np.where(is_one, 1.2, 0.2), 0.4)  # log odds: a line of slope 1 / 0.16
    slope, constant = fit_one_genre(evidence, is_one)
    assert slope == pytest.approx(1 / 0.16, rel=0.1)
    assert (np.log(20) - constant) / slope == pytest.approx(0.7, abs=0.05)
    assert fit_one_genre(evidence, ~is_one) == (0, 0)  # points the wrong way
    assert fit_one_genre(evidence, np.ones(9_000, dtype=bool)) == (0, 0)
