"""Calibration: the maps of scikit-learn, the bounds of `lir`, never falling, never beyond."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from adhominem.errors import OptionError
from adhominem.evaluation.likelihood_ratio import cllr, cllr_min
from adhominem.scoring.fitting import calibrate, empirical_bounds
from adhominem.scoring.scale import METHODS, Calibration

FloatArray = npt.NDArray[np.float64]
Items = list[tuple[float, bool]]

scores = st.integers(-3, 3).map(float) | st.floats(-60, 60)  # many ties
methods = st.sampled_from(METHODS)
seeds = st.integers(0, 2**32 - 1)


def of_both_classes(values: st.SearchStrategy[float], most: int = 30) -> st.SearchStrategy[Items]:
    pairs = st.lists(st.tuples(values, st.booleans()), min_size=2, max_size=most)
    return pairs.filter(lambda items: len({same for _, same in items}) == 2)


def arrays(items: Items) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in items]), np.array([same for _, same in items])


def two_bells(
    pairs: int, seed: int = 0, skill: float = 2.0, share: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Scores that are true log likelihood ratios: N(skill, 2 skill) and N(-skill, 2 skill)."""
    rng = np.random.default_rng(seed)
    same = rng.random(pairs) < share
    same[:2] = True, False
    values = np.where(same, skill, -skill) + math.sqrt(2 * skill) * rng.normal(size=pairs)
    return values, same


def line_of(calibration: Calibration) -> tuple[float, float]:
    """Slope and intercept."""
    at_zero, at_one = calibration.unbounded([0.0, 1.0]).tolist()
    return at_one - at_zero, at_zero


def bounded(calibration: Calibration, values: npt.ArrayLike) -> FloatArray:
    """What is reported where no bounds of the conditions are known."""
    limits = calibration.lower_bound, calibration.upper_bound
    return np.clip(calibration.unbounded(values), *limits)


PERFECT: Items = [(5.0, True), (2.0, True), (-1.0, False)]
CONSTANT: Items = [(1.5, True), (1.5, False), (1.5, False)]
BACKWARDS: Items = [(-2.0, True), (3.0, False), (4.0, False)]

# The line


@pytest.mark.parametrize("share", [0.03, 0.5, 0.9])
@pytest.mark.parametrize("skill", [0.1, 1.0, 3.0])
def test_the_line_is_scikit_learns_logistic_regression_with_balanced_classes(
    skill: float, share: float
) -> None:
    values, same = two_bells(6000, skill=skill, share=share)
    values = 7 * values - 20
    rival = LogisticRegression(C=1e12, class_weight="balanced", tol=1e-10, max_iter=1000)
    rival.fit(values[:, None], same)
    found = calibrate(values, same).unbounded(values)
    expected = rival.decision_function(values[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@given(st.lists(scores, min_size=1, max_size=9), st.integers(0, 9))
def test_the_identity_leaves_log_bayes_factors_as_they_are(values: list[float], pairs: int) -> None:
    calibration = Calibration.identity(pairs)
    calibration.check()
    assert calibration.pairs == pairs
    assert calibration.unbounded(values).tolist() == pytest.approx(values)


@given(of_both_classes(scores.map(lambda score: round(score, 3))))
@example(PERFECT)
@settings(max_examples=60)
@pytest.mark.filterwarnings("ignore:Line search of Newton")  # it then goes on otherwise
def test_for_few_pairs_it_is_that_with_a_little_ridge(items: Items) -> None:
    values, same = arrays(items)
    if values.std() == 0:
        return
    standard = ((values - values.mean()) / values.std())[:, None]
    rival = LogisticRegression(C=1000, class_weight="balanced", tol=1e-9, solver="newton-cholesky")
    rival.fit(standard, same)
    expected = rival.decision_function(standard) * (rival.coef_.item() >= 0)
    found = calibrate(values, same).unbounded(values)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_true_log_likelihood_ratios_stay_nearly_as_they_are() -> None:
    values, same = two_bells(30_000)
    slope, intercept = line_of(calibrate(values, same))
    assert slope == pytest.approx(1, abs=0.03)
    assert intercept == pytest.approx(0, abs=0.03)
    inner = values[np.abs(values) < 3]
    np.testing.assert_allclose(bounded(calibrate(values, same), inner), inner, atol=0.1)
    np.testing.assert_allclose(bounded(calibrate(values, same, "isotonic"), inner), inner, atol=0.5)


def test_scores_that_are_too_sure_and_off_are_brought_back() -> None:
    values, same = two_bells(30_000)
    found = calibrate(3 * values + 5, same)
    expected = bounded(calibrate(values, same), values)
    np.testing.assert_allclose(bounded(found, 3 * values + 5), expected, atol=1e-6)
    slope, intercept = line_of(found)
    assert slope == pytest.approx(1 / 3, abs=0.01)
    assert intercept == pytest.approx(-5 / 3, abs=0.05)


def test_it_is_evidence_and_not_the_odds_of_the_set_that_comes_out() -> None:
    """Twenty times as many pairs of one class change the prior, not the evidence."""
    values, same = two_bells(3000)
    often = np.concatenate([np.arange(3000), np.tile(np.flatnonzero(same), 19)])
    for method in METHODS:
        np.testing.assert_allclose(
            calibrate(values[often], same[often], method).unbounded(values[~same]).clip(-5, 5),
            calibrate(values, same, method).unbounded(values[~same]).clip(-5, 5),
            atol=1e-4,
        )


@given(of_both_classes(scores))
@example(PERFECT)
@example(CONSTANT)
@example(BACKWARDS)
def test_the_line_never_costs_more_than_the_scores_did(items: Items) -> None:
    values, same = arrays(items)
    after = calibrate(values, same).unbounded(values)
    ridge = 0.5e-3 / len(values) * values.var() / math.log(2)  # of a slope of 1
    assert cllr(after, same) <= cllr(values, same) + ridge + 1e-9
    assert cllr(after, same) <= 1 + 1e-9  # and never more than saying nothing
    assert cllr(after, same) >= cllr_min(values, same) - 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_the_bounds_cost_little_on_the_pairs_it_was_fitted_to(method: str, seed: int) -> None:
    values, same = two_bells(500, seed)
    wrong = 2 * values - 3
    after = cllr(bounded(calibrate(wrong, same, method), wrong), same)
    assert after < cllr(wrong, same)
    assert after < cllr_min(wrong, same) + 0.05


@pytest.mark.parametrize("outlier", [-300.0, -3000.0, -1e5])
def test_one_pair_that_is_far_away_but_right_gives_no_warning(outlier: float) -> None:
    values, same = two_bells(400)
    values[1] = outlier
    assert not same[1]
    found = calibrate(values, same)
    assert np.isfinite(bounded(found, values)).all()
    assert bounded(found, outlier) == found.lower_bound


# The steps


@given(of_both_classes(scores))
def test_the_steps_say_of_each_score_what_its_block_says(items: Items) -> None:
    """By the closed form of isotonic regression, and finite where a block has one class."""
    values, same = arrays(items)
    found = calibrate(values, same, "isotonic").unbounded(values)
    levels = np.unique(values)
    total = same.sum(), (~same).sum()
    for value, factor in zip(values, found, strict=True):
        share = max(
            min(same[(begin <= values) & (values <= end)].mean() for end in levels[levels >= value])
            for begin in levels[levels <= value]
        )
        if share == 0:
            expected = -math.log(total[0] + 1)
        elif share == 1:
            expected = math.log(total[1] + 1)
        else:
            expected = math.log(share / (1 - share)) - math.log(total[0] / total[1])
        assert factor == pytest.approx(expected, abs=1e-9)


@given(of_both_classes(st.integers(0, 9).map(float)), seeds)
def test_the_steps_depend_on_the_order_of_the_scores_alone(items: Items, seed: int) -> None:
    values, same = arrays(items)
    levels = np.sort(np.random.default_rng(seed).normal(size=10))
    mapped = levels[values.astype(int)]
    found, other = calibrate(values, same, "isotonic"), calibrate(mapped, same, "isotonic")
    np.testing.assert_array_equal(bounded(found, values), bounded(other, mapped))


# Both


@given(of_both_classes(scores), methods, st.lists(st.floats(-1e6, 1e6), max_size=20))
@example(PERFECT, "logistic", [])
@example(CONSTANT, "isotonic", [0.0])
def test_the_map_never_falls_and_its_bounds_are_on_both_sides_of_nothing(
    items: Items, method: str, others: list[float]
) -> None:
    values, same = arrays(items)
    found = calibrate(values, same, method)
    asked = np.sort([*values, *others])
    for mapped in (bounded(found, asked), found.unbounded(asked)):
        assert np.isfinite(mapped).all()
        assert (np.diff(mapped) >= -1e-9).all()
    assert found.lower_bound <= 0 <= found.upper_bound
    assert (found.method, found.pairs) == (method, len(values))


@given(of_both_classes(scores), methods)
@settings(max_examples=50)
def test_scores_that_rank_backwards_are_mapped_to_nothing(items: Items, method: str) -> None:
    values, _ = arrays(items)
    same = values < np.median(values)  # the lower half
    if same.all() or not same.any():
        return
    found = calibrate(values, same, method)
    np.testing.assert_allclose(bounded(found, values), 0, atol=1e-12)
    assert found.lower_bound == found.upper_bound == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("score", [0.0, 0.1, -1 / 3, 1e9])
def test_equal_scores_are_mapped_to_nothing(method: str, score: float) -> None:
    same = np.arange(7) % 3 == 0
    found = calibrate(np.full(7, score), same, method)
    np.testing.assert_allclose(bounded(found, [score - 1, score, score + 1]), 0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("score", [0.1, -1 / 3, 4786.3])
def test_scores_that_differ_in_their_last_bit_alone_break_nothing(
    method: str, score: float
) -> None:
    for pairs in (4, 18, 40):
        values = np.full(pairs, score)
        values[0] = np.nextafter(score, np.inf)
        found = calibrate(values, np.arange(pairs) % 2 == 0, method)
        assert np.isfinite(bounded(found, values)).all()


@pytest.mark.parametrize("method", METHODS)
def test_scores_without_fault_get_a_finite_map(method: str) -> None:
    same = np.arange(200) % 2 == 0
    values = np.where(same, 10.0, -10.0) + np.random.default_rng(0).normal(size=200)
    found = calibrate(values, same, method)
    assert np.isfinite(found.unbounded([-1e3, 0, 1e3])).all()
    # a hundred pairs without an error support a Bayes factor of about a hundred
    assert bounded(found, values)[same].min() == pytest.approx(math.log(101), abs=0.05)
    assert bounded(found, values)[~same].max() == pytest.approx(-math.log(101), abs=0.05)


@given(of_both_classes(scores), methods, seeds)
@settings(max_examples=50)
def test_the_order_of_the_pairs_does_not_matter(items: Items, method: str, seed: int) -> None:
    values, same = arrays(items)
    order = np.random.default_rng(seed).permutation(len(values))
    found = calibrate(values[order], same[order], method).unbounded(values)
    expected = calibrate(values, same, method).unbounded(values)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


# The bounds


def slow_bounds(decades: np.ndarray, same: np.ndarray) -> tuple[float, float]:
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
    few, many = (calibrate(*two_bells(pairs)) for pairs in (100, 10_000))
    assert many.lower_bound < few.lower_bound < 0 < few.upper_bound < many.upper_bound


# JSON, and what is refused


@given(of_both_classes(scores), methods)
def test_a_calibration_survives_json_bit_for_bit(items: Items, method: str) -> None:
    values, same = arrays(items)
    calibration = calibrate(values, same, method)
    found = Calibration.from_json(json.loads(json.dumps(calibration.to_json(), allow_nan=False)))
    assert found == calibration
    asked = np.concatenate([values, np.linspace(-99, 99, 50)])
    assert found.unbounded(asked).tobytes() == calibration.unbounded(asked).tobytes()


@pytest.mark.parametrize(
    ("values", "same", "method", "message"),
    [
        ([1, 2], [True, False], "linear", "'linear'; expected logistic or isotonic"),
        ([1, 2], [True, True], "logistic", "only one class of pairs"),
        ([1, 2], [False, False], "isotonic", "only one class of pairs"),
        ([], [], "logistic", "only one class of pairs"),
        ([1, math.nan], [True, False], "logistic", "no finite numbers"),
        ([1, -math.inf], [True, False], "isotonic", "no finite numbers"),
        ([1, 2, 3], [True, False], "logistic", "3 scores"),
        ([1, 2], [True, False, True], "isotonic", "2 scores"),
    ],
)
def test_pairs_that_fix_no_map_are_refused(
    values: list[float], same: list[bool], method: str, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        calibrate(values, same, method)


GOOD: dict[str, Any] = {
    "method": "logistic",
    "scores": [-1.0, 1.0],
    "log_bayes_factors": [-2.0, 2.0],
    "lower_bound": -3.0,
    "upper_bound": 3.0,
    "pairs": 10,
}


@pytest.mark.parametrize(
    "change",
    [
        {"method": "linear"},
        {"scores": [-1.0, 0.0, 1.0]},  # three to two
        {"scores": [-1.0, 0.0, 1.0], "log_bayes_factors": [-2.0, 0.0, 2.0]},  # no line
        {"scores": [1.0, 1.0]},  # upright
        {"scores": [1.0, -1.0]},  # falling
        {"log_bayes_factors": [2.0, -2.0]},
        {"method": "isotonic", "scores": [], "log_bayes_factors": []},
        {"method": "isotonic", "scores": [2.0, 1.0]},
        {"scores": [-1.0, math.nan]},
        {"lower_bound": 4.0},
        {"upper_bound": math.nan},
    ],
    ids=lambda change: json.dumps(change),
)
def test_a_calibration_that_is_none_is_refused_when_it_is_read(change: dict[str, Any]) -> None:
    assert bounded(Calibration.from_json(GOOD), [0.5, 9]).tolist() == [1, 3]
    with pytest.raises(OptionError):
        Calibration.from_json({**GOOD, **change})
