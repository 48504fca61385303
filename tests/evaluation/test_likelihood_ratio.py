"""The measures of evidence: in a loop, by hand, and as `lir` and `llreval` have them."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adhominem.evaluation.measures import (
    calibration_errors,
    cllr,
    cllr_min,
    empirical_cross_entropy,
    equal_error_rate,
    measure_evidence,
    reliability,
)
from adhominem.score.decision import probability_same_author
from adhominem.statistics import pool

Items = list[tuple[float, bool]]

factors = st.one_of(st.integers(-3, 3).map(float), st.floats(-30, 30))  # many ties
infinite = st.one_of(factors, st.sampled_from([-math.inf, math.inf]))


def of_both_classes(values: st.SearchStrategy[float], most: int = 30) -> st.SearchStrategy[Items]:
    pairs = st.lists(st.tuples(values, st.booleans()), min_size=2, max_size=most)
    return pairs.filter(lambda items: len({same for _, same in items}) == 2)


def cllr_cal(values: np.ndarray, same: np.ndarray) -> float:
    return measure_evidence(values, same)["cllr_cal"]


def arrays(items: Items) -> tuple[np.ndarray, np.ndarray]:
    return np.array([factor for factor, _ in items]), np.array([same for _, same in items])


PERFECT: Items = [(5.0, True), (2.0, True), (-1.0, False)]
CONSTANT: Items = [(1.5, True), (1.5, False), (1.5, False)]
BACKWARDS: Items = [(-2.0, True), (3.0, False)]

# The cost


def slow_cost(items: Items, prior: float) -> float:
    """Bits, one pair at a time: what the truth was given, weighed by its prior."""
    same = [factor for factor, is_same in items if is_same]
    different = [factor for factor, is_same in items if not is_same]
    odds = prior / (1 - prior)
    misses = sum(math.log2(1 + 1 / (math.exp(factor) * odds)) for factor in same) / len(same)
    alarms = sum(math.log2(1 + math.exp(factor) * odds) for factor in different) / len(different)
    return prior * misses + (1 - prior) * alarms


@given(of_both_classes(factors))
@example(PERFECT)
@example(CONSTANT)
def test_cllr_is_the_cost_of_a_loop_over_the_pairs(items: Items) -> None:
    assert cllr(*arrays(items)) == pytest.approx(slow_cost(items, 0.5), rel=1e-9)


@given(of_both_classes(factors), st.floats(-7, 7))
def test_the_cost_at_any_prior_is_that_of_a_loop_over_the_pairs(items: Items, odds: float) -> None:
    (result,) = empirical_cross_entropy(*arrays(items), np.array([odds]))
    assert result == pytest.approx(slow_cost(items, 1 / (1 + math.exp(-odds))), rel=1e-9)


@given(of_both_classes(factors))
def test_the_cost_at_even_priors_is_cllr(items: Items) -> None:
    values, same = arrays(items)
    costs = empirical_cross_entropy(values, same, np.array([-1.0, 0.0, 1.0]))
    assert costs.shape == (3,)
    assert costs[1] == cllr(values, same)


@given(of_both_classes(st.just(0.0)), st.floats(-7, 7))
def test_saying_nothing_costs_the_entropy_of_the_prior(items: Items, odds: float) -> None:
    prior = 1 / (1 + math.exp(-odds))
    entropy = -prior * math.log2(prior) - (1 - prior) * math.log2(1 - prior)
    (result,) = empirical_cross_entropy(*arrays(items), np.array([odds]))
    assert result == pytest.approx(entropy, rel=1e-9)
    assert cllr(*arrays(items)) == pytest.approx(1, rel=1e-12)


@given(of_both_classes(factors))
def test_cllr_and_the_rest_do_not_change_if_the_classes_change_sides(items: Items) -> None:
    values, same = arrays(items)
    for measure in (cllr, cllr_min, equal_error_rate):
        assert measure(-values, ~same) == pytest.approx(measure(values, same), abs=1e-12)


@given(of_both_classes(factors), st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_does_not_matter(items: Items, rng: random.Random) -> None:
    shuffled = rng.sample(items, len(items))
    for measure in (cllr, cllr_min, equal_error_rate):
        assert measure(*arrays(shuffled)) == pytest.approx(measure(*arrays(items)), abs=1e-12)


@given(of_both_classes(infinite))
def test_cllr_is_infinite_only_if_a_wrong_factor_is(items: Items) -> None:
    values, same = arrays(items)
    wrong = (same & (values == -math.inf)) | (~same & (values == math.inf))
    assert math.isinf(cllr(values, same)) == wrong.any()
    assert math.isinf(cllr_cal(values, same)) == wrong.any()
    assert 0 <= cllr_min(values, same) <= 1 + 1e-12  # whatever is infinite
    assert 0 <= equal_error_rate(values, same) <= 0.5 + 1e-12


# What calibration cannot take away


@given(of_both_classes(infinite))
@example(PERFECT)
@example(CONSTANT)
@example(BACKWARDS)
def test_cllr_min_is_at_most_cllr_and_at_most_one(items: Items) -> None:
    values, same = arrays(items)
    assert cllr_min(values, same) <= cllr(values, same) + 1e-12
    assert cllr_min(values, same) <= 1 + 1e-12
    assert cllr_cal(values, same) == cllr(values, same) - cllr_min(values, same)


@given(of_both_classes(factors))
def test_cllr_min_is_the_cost_of_what_pooling_makes_of_the_scores(items: Items) -> None:
    values, same = arrays(items)
    blocks = pool(values, same)
    at = np.searchsorted(blocks.highest, values)
    assert cllr_min(values, same) == pytest.approx(
        cllr(blocks.log_bayes_factor[at], same), abs=1e-12
    )


@given(of_both_classes(st.integers(0, 9).map(float)), st.lists(factors, min_size=10, max_size=10))
def test_no_rising_map_of_the_scores_costs_less_than_cllr_min(
    items: Items, levels: list[float]
) -> None:
    values, same = arrays(items)
    mapped = np.sort(levels)[values.astype(int)]
    assert cllr(mapped, same) >= cllr_min(values, same) - 1e-12


@given(
    of_both_classes(st.integers(0, 9).map(float)),
    st.lists(st.floats(allow_nan=False), min_size=10, max_size=10, unique=True),
)
def test_a_strictly_rising_map_changes_neither_cllr_min_nor_the_equal_error_rate(
    items: Items, levels: list[float]
) -> None:
    values, same = arrays(items)
    mapped = np.sort(levels)[values.astype(int)]
    assert cllr_min(mapped, same) == cllr_min(values, same)
    assert equal_error_rate(mapped, same) == equal_error_rate(values, same)


@pytest.mark.parametrize(
    ("items", "least", "equal"),
    [(PERFECT, 0, 0), (CONSTANT, 1, 0.5), (BACKWARDS, 1, 0.5)],
    ids=["perfect", "constant", "backwards"],
)
def test_what_is_left_of_easy_cases(items: Items, least: float, equal: float) -> None:
    assert cllr_min(*arrays(items)) == pytest.approx(least, abs=1e-12)
    assert equal_error_rate(*arrays(items)) == pytest.approx(equal, abs=1e-12)


def slow_equal_error_rate(items: Items) -> float:
    """The lowest point with equal rates on any line between two thresholds, drawn by lot."""
    points = {(0.0, 1.0), (1.0, 0.0)}  # misses, false alarms
    same = [factor for factor, is_same in items if is_same]
    different = [factor for factor, is_same in items if not is_same]
    for threshold, _ in items:
        misses = sum(factor <= threshold for factor in same) / len(same)
        points.add((misses, sum(factor > threshold for factor in different) / len(different)))
    best = 1.0
    for misses, alarms in points:
        for other_misses, other_alarms in points:
            gap, other_gap = alarms - misses, other_alarms - other_misses
            if gap >= 0 >= other_gap:
                along = 0.0 if gap == other_gap else gap / (gap - other_gap)
                best = min(best, misses + along * (other_misses - misses))
    return best


@given(of_both_classes(infinite))
def test_the_equal_error_rate_is_the_best_of_drawing_lots_between_two_thresholds(
    items: Items,
) -> None:
    result = equal_error_rate(*arrays(items))
    assert result == pytest.approx(slow_equal_error_rate(items), abs=1e-12)


# The same from others


def check_against_others(values: np.ndarray, same: np.ndarray) -> None:
    lir_metrics = pytest.importorskip("lir.metrics")
    lir_data = pytest.importorskip("lir.data.models")
    llreval_cllr = pytest.importorskip("llreval.cllr")
    llreval_pav = pytest.importorskip("llreval.pav_rocch")
    labels = same.astype(int)
    decades = lir_data.LLRData(features=values / np.log(10), labels=labels)
    pav = llreval_pav.PAV(values, labels)
    assert cllr(values, same) == pytest.approx(lir_metrics.cllr(decades), abs=1e-6)
    assert cllr(values, same) == pytest.approx(
        llreval_cllr.cllr(values[same], values[~same]), abs=1e-6
    )
    assert cllr_min(values, same) == pytest.approx(lir_metrics.cllr_min(decades), abs=1e-6)
    assert cllr_min(values, same) == pytest.approx(llreval_cllr.min_cllr(pav), abs=1e-6)
    assert cllr_cal(values, same) == pytest.approx(lir_metrics.cllr_cal(decades), abs=1e-6)
    rate = llreval_pav.ROCCH(pav).EER()
    assert equal_error_rate(values, same) == pytest.approx(rate, abs=1e-6)
    for prior in (0.01, 0.3, 0.5, 0.9):
        (result,) = empirical_cross_entropy(values, same, np.array([np.log(prior / (1 - prior))]))
        expected = llreval_cllr.cross_entropy(values[same], values[~same], prior)
        assert result == pytest.approx(expected, abs=1e-6)


# Apart by a 64th: scikit-learn, which lir asks, takes scores for equal that are next to it.
@given(
    of_both_classes(
        st.integers(-2000, 2000).map(lambda part: part / 64) | st.integers(-3, 3).map(float), 8
    )
)
@example(PERFECT)
@example(CONSTANT)
@example(BACKWARDS)
def test_few_pairs_and_ties_measure_as_in_lir_and_llreval(items: Items) -> None:
    check_against_others(*arrays(items))


@pytest.mark.parametrize("skill", [-1.0, 0.0, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("coarse", [None, 1.0])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_many_pairs_measure_as_in_lir_and_llreval(
    skill: float, coarse: float | None, share: float
) -> None:
    rng = np.random.default_rng(0)
    same = rng.random(1500) < share
    values = skill * np.where(same, 1, -1) + 2 * rng.normal(size=1500)
    check_against_others(np.round(values / coarse) * coarse if coarse else values, same)


def test_true_likelihood_ratios_cost_next_to_nothing_but_what_cannot_be_taken_away() -> None:
    rng = np.random.default_rng(0)
    same = np.arange(20_000) % 2 == 0
    values = 2 * rng.normal(size=20_000) + np.where(same, 2, -2)  # N(2, 4) and N(-2, 4)
    assert 0 <= cllr_cal(values, same) < 0.01
    for worse in (2 * values, values / 2, values + 1):
        assert cllr(worse, same) > cllr(values, same) + 0.03


# Misleading evidence, and probabilities beside shares


@given(of_both_classes(st.one_of(infinite, st.sampled_from([math.log(100), -math.log(100)]))))
def test_misleading_evidence_is_counted_pair_by_pair(items: Items) -> None:
    same = [factor for factor, is_same in items if is_same]
    different = [factor for factor, is_same in items if not is_same]
    measured = measure_evidence(*arrays(items))
    for ending, factor in (("", 1), ("_10", 10), ("_100", 100)):
        wrong = sum(value < -math.log(factor) for value in same) / len(same)
        assert measured[f"misleading_same{ending}"] == pytest.approx(wrong)
        wrong = sum(value > math.log(factor) for value in different) / len(different)
        assert measured[f"misleading_different{ending}"] == pytest.approx(wrong)


def test_evidence_that_says_nothing_misleads_nobody_and_costs_all() -> None:
    result = measure_evidence(np.zeros(4), np.array([True, True, False, False]))
    assert {value for name, value in result.items() if "misleading" in name} == {0}
    assert (result["cllr"], result["eer"]) == (pytest.approx(1), 0.5)


probabilities = st.one_of(st.floats(0, 1), st.integers(0, 10).map(lambda tenth: tenth / 10))


def slow_bins(items: Items) -> list[Items]:
    """A tenth belongs to the bin above it, as it is written; 1 to the last."""
    bins: list[Items] = [[] for _ in range(10)]
    for probability, same in items:
        bins[min(int(Decimal(repr(probability)) * 10), 9)].append((probability, same))
    return [bin_ for bin_ in bins if bin_]


@given(st.lists(st.tuples(probabilities, st.booleans()), min_size=1, max_size=40))
def test_reliability_is_that_of_sorting_the_pairs_into_bins(items: Items) -> None:
    means, shares, counts = reliability(*arrays(items))
    bins = slow_bins(items)
    assert counts.tolist() == [len(bin_) for bin_ in bins]
    np.testing.assert_allclose(means, [np.mean([p for p, _ in bin_]) for bin_ in bins])
    np.testing.assert_allclose(shares, [np.mean([same for _, same in bin_]) for bin_ in bins])
    gaps = [abs(mean - share) for mean, share in zip(means, shares, strict=True)]
    expected, largest = calibration_errors(*arrays(items))
    weighed = sum(gap * len(bin_) for gap, bin_ in zip(gaps, bins, strict=True)) / len(items)
    assert expected == pytest.approx(weighed, abs=1e-12)
    assert largest == pytest.approx(max(gaps), abs=1e-12)
    assert 0 <= expected <= largest + 1e-12


def test_calibration_errors_worked_out_by_hand() -> None:
    # 0.1 and 0.1: nobody; 0.75 (of 0.7 and 0.8: two bins), 1.0: all
    probability = np.array([0.1, 0.1, 0.7, 0.8, 1.0])
    same = np.array([False, False, True, False, True])
    expected, largest = calibration_errors(probability, same)
    assert expected == pytest.approx((0.1 * 2 + 0.3 + 0.8 + 0) / 5)
    assert largest == pytest.approx(0.8)
    assert calibration_errors(np.array([0.0, 1.0]), np.array([False, True])) == (0, 0)


def test_probabilities_that_mean_what_they_say_are_near_the_shares() -> None:
    rng = np.random.default_rng(0)
    probability = rng.random(100_000)
    same = rng.random(100_000) < probability
    expected, largest = calibration_errors(probability, same)
    assert expected < 0.01
    assert largest < 0.02
    surer = probability_same_author(3 * np.log(probability / (1 - probability)))
    assert calibration_errors(surer, same)[0] > 0.1
