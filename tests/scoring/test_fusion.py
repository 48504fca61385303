"""The measures of all members to one number: fitted weights that know the conditions."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from slow_two_covariance import seeds

from adhominem.errors import ModelError, OptionError
from adhominem.records import from_json, to_json
from adhominem.scoring.decision import probability_same_author
from adhominem.scoring.fitting import Ridges, fit_fusion, group_weights, logistic
from adhominem.scoring.measures import Measures
from adhominem.scoring.scale import (
    Conditions,
    Fusion,
    Scale,
    Scales,
    Scores,
    design,
    plain_rows,
    weights_for,
)

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
WIDE = (0.0, 20.0)  # of the logarithm of tokens: nothing is beyond


def made_up(seed: int, members: int = 2, pairs: int = 150) -> tuple[Scores, BoolArray, FloatArray]:
    """Scores of members of different worth under all kinds of conditions, truth, and weights."""
    rng = np.random.default_rng(seed)
    same = rng.random(pairs) < 0.4
    same[:2] = True, False
    measures = tuple(
        Measures(*rng.normal(size=(7, pairs)) + np.outer([worth, worth, 0, 0, 0, 0, 0], same))
        for worth in np.linspace(1, 2, members)
    )
    conditions = Conditions(
        rng.integers(1, 6, (2, pairs)).astype(np.float64),
        rng.uniform(4, 9, (2, pairs)),
        rng.choice([0.0, 5, 50], pairs),
        rng.uniform(-4, 4, (2, pairs)),
    )
    return Scores(measures, conditions), same, rng.uniform(0.2, 3, pairs)


# The design


def slow_column(scores: Scores, pair: int, least: float, most: float) -> list[float]:
    """What is weighed for one pair, in words of the conditions."""
    texts = [float(side[pair]) for side in scores.conditions.texts]
    tokens = [min(max(float(side[pair]), least), most) for side in scores.conditions.log_tokens]
    few = 1 / texts[0] + 1 / texts[1] - 1
    length = (tokens[0] + tokens[1]) / 2 - 6.5
    small = 1 / (1 + float(scores.conditions.population[pair]))
    longer = [min(max(float(side[pair]), -2.5), 2.5) for side in scores.conditions.longer]
    column = [1, few, length, small, few * length, few**2, length**2, small**2]
    column += [sum(longer), longer[0] * longer[1], longer[0] ** 2 + longer[1] ** 2]
    for member in scores.members:
        standing, agreement = float(member.standing[pair]), float(member.agreement[pair])
        column += [standing, standing * few, standing * length, standing * small]
        column += [standing * sum(longer)]
        column += [agreement, agreement * standing, agreement**2]
        column += [float(member.remoteness[pair]), float(member.kinship[pair])]
        column += [float(member.spread[pair])]
    return column


@given(seeds, st.integers(1, 3), st.floats(3, 6), st.floats(6, 10))
@settings(max_examples=30)
def test_the_design_has_what_members_say_and_how_conditions_change_its_weight(
    seed: int, members: int, least: float, most: float
) -> None:
    scores = made_up(seed, members, pairs=12)[0]
    rows = design(scores, (least, most))
    slow = np.array([slow_column(scores, pair, least, most) for pair in range(12)]).T
    np.testing.assert_allclose(rows, slow, rtol=1e-12, atol=1e-12)
    assert len(rows) == weights_for(members)


@given(seeds)
def test_nothing_depends_on_which_side_is_the_first(seed: int) -> None:
    scores = made_up(seed)[0]
    swapped = replace(
        scores,
        conditions=replace(
            scores.conditions,
            texts=scores.conditions.texts[::-1],
            log_tokens=scores.conditions.log_tokens[::-1],
            longer=scores.conditions.longer[::-1],
        ),
    )
    np.testing.assert_allclose(design(swapped, (5, 8)), design(scores, (5, 8)), rtol=1e-12)


def test_beyond_the_lengths_that_weights_were_fitted_to_a_length_counts_as_these() -> None:
    scores, same, weight = made_up(0)
    fusion = fit_fusion(scores, same, weight)
    lengths = scores.conditions.log_tokens
    shortest, longest = fusion.log_tokens
    assert np.mean(lengths < shortest) == pytest.approx(0.005, abs=0.003)  # hardly any are beyond
    assert np.mean(lengths > longest) == pytest.approx(0.002, abs=0.003)
    at_ends = np.where(lengths > 6.5, longest, shortest)
    beyond = np.where(lengths > 6.5, 30.0, 0.0)
    said = [
        fusion(replace(scores, conditions=replace(scores.conditions, log_tokens=tokens)))
        for tokens in (at_ends, beyond)
    ]
    np.testing.assert_array_equal(*said)
    assert not np.allclose(said[0], fusion(scores))


# Fitted weights


def slow_fit(rows: FloatArray, same: BoolArray, weight: FloatArray) -> FloatArray:
    """By scikit-learn: both classes count half, a little ridge on standardised scores."""
    centre, spread = rows.mean(axis=1), rows.std(axis=1)
    share = np.where(same, weight / weight[same].sum(), weight / weight[~same].sum()) / 2
    model = LogisticRegression(C=1 / 1e-3, tol=1e-10, max_iter=100_000)
    model.fit(((rows.T - centre) / spread), same, share)
    slopes = model.coef_[0] / spread
    return np.array([model.intercept_[0] - slopes @ centre, *slopes])


@settings(max_examples=15)
@given(seeds, st.integers(1, 3))
def test_weights_are_those_of_a_logistic_regression(seed: int, members: int) -> None:
    scores, same, weight = made_up(seed, members, pairs=400)
    fusion = fit_fusion(scores, same, weight)
    rows = design(scores, fusion.log_tokens)
    expected = slow_fit(rows[1:], same, weight) @ rows
    np.testing.assert_allclose(fusion(scores), expected, rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(fusion(scores), np.array(fusion.weights) @ rows, rtol=1e-9)


@settings(max_examples=15)
@given(seeds, st.integers(1, 3))
def test_a_larger_ridge_says_less(seed: int, members: int) -> None:
    scores, same, weight = made_up(seed, members, pairs=200)
    rows = design(scores, fit_fusion(scores, same, weight).log_tokens)[1:]
    said = []
    for ridge in (1e-3, 1e-1, 1e3):
        weights = np.array(fit_fusion(scores, same, weight, Ridges(ridge, ridge)).weights[1:])
        said.append(float(np.square(weights * rows.std(axis=1)).sum()))
    assert said[0] > said[1] > said[2]
    assert said[2] < 1e-4
    plain = plain_rows(members)[1:]
    weights = np.array(fit_fusion(scores, same, weight, Ridges(measures=1e9)).weights[1:])
    assert np.abs(weights * rows.std(axis=1))[plain].max() < 1e-6
    assert np.abs(weights * rows.std(axis=1))[~plain].max() > 1e-3


def test_measures_without_conditions_are_four_of_each_member() -> None:
    nothing, one = Measures.of_factors(np.zeros(1)), np.ones(1)
    conditions = Conditions(np.full((2, 1), 2.0), np.full((2, 1), 7.0), one, np.ones((2, 1)))
    changes = np.zeros(weights_for(2), dtype=bool)
    base = design(Scores((nothing, nothing), conditions), WIDE)
    for name in ("standing", "remoteness", "kinship", "spread"):
        for at in range(2):
            moved = Scores((nothing, nothing), conditions).with_member(
                at, replace(nothing, **{name: one})
            )
            changed = np.flatnonzero((design(moved, WIDE) != base)[:, 0])
            changes[changed[0]] = True  # a standing changes others that depend on it, after it
    np.testing.assert_array_equal(changes, plain_rows(2))


@pytest.mark.parametrize(("seed", "pairs"), [(634, 30), (743, 100), (1207, 30), (1337, 100)])
def test_the_best_weights_are_found_for_wild_scores_and_weights(seed: int, pairs: int) -> None:
    """Where a plain step of Newton's method would overshoot, for ever."""
    rng = np.random.default_rng(seed)
    wild = rng.standard_t(1.2, size=(4, pairs))
    same = rng.random(pairs) < 0.2
    same[:2] = True, False
    weight = rng.lognormal(0, 3, pairs)
    made = logistic(wild, same, weight, 1e-3)
    np.testing.assert_allclose(made, slow_fit(wild, same, weight), rtol=1e-2, atol=1e-3)


@given(seeds)
@settings(max_examples=20)
def test_both_classes_count_half_whatever_their_number(seed: int) -> None:
    scores, same, _ = made_up(seed)
    once = fit_fusion(scores, same)(scores)
    weight = np.where(same, 0.5 / same.sum(), 0.5 / (~same).sum())
    assert weight @ probability_same_author(once) == pytest.approx(0.5, abs=1e-6)


@given(seeds)
@settings(max_examples=20)
def test_a_pair_of_weight_two_counts_as_two_pairs(seed: int) -> None:
    scores, same, weight = made_up(seed, members=1, pairs=400)
    chosen = weight > 1.5
    twice = [design(part, WIDE)[1:] for part in (scores, scores[chosen])]
    labels = np.concatenate([same, same[chosen]])
    double = logistic(np.concatenate(twice, axis=1), labels, np.ones(len(labels)), 1e-9)
    weighed = logistic(twice[0], same, np.where(chosen, 2.0, 1.0), 1e-9)
    np.testing.assert_allclose(double, weighed, rtol=1e-2, atol=1e-2)


def test_scores_that_separate_the_classes_get_finite_weights_and_rank_as_before() -> None:
    standing = np.concatenate([np.linspace(-9, -1, 75), np.linspace(1, 9, 75)])
    same = standing > 0
    alone = Scores(
        (Measures.of_factors(standing),),
        Conditions.of(np.ones((2, 150)), np.full((2, 150), 6.5), 0, 0.0),
    )
    fusion = fit_fusion(alone, same)
    assert np.isfinite(fusion.weights).all()
    assert (np.diff(fusion(alone)) > 0).all()
    assert (fusion(alone) > 0).tolist() == same.tolist()


def test_what_is_the_same_in_all_pairs_tells_nothing_and_has_no_weight() -> None:
    scores, same, weight = made_up(2)
    still = replace(
        scores,
        conditions=Conditions.of(np.ones((2, 150)), np.full((2, 150), 7.0), 20, 6.0),
    )
    weights = fit_fusion(still, same, weight).weights
    assert weights[1:11] == (0.0,) * 10
    assert np.count_nonzero(weights) > 8


def test_the_same_standing_says_more_of_long_texts_if_it_does_in_the_cases() -> None:
    rng = np.random.default_rng(3)
    scores, same, _ = made_up(3, members=1, pairs=4_000)
    long = scores.conditions.log_tokens.mean(axis=0) > 6.5
    standing = np.where(same & long, 2.0, 0.0) + rng.normal(size=4_000)
    told = replace(scores, members=(replace(scores.members[0], standing=standing),))
    fusion = fit_fusion(told, same)
    factors = fusion(told)
    slope = {
        which: np.polyfit(standing[long == which], factors[long == which], 1)[0]
        for which in (True, False)
    }
    assert slope[True] > slope[False] + 0.5


# Without weights


@given(seeds, st.integers(1, 4))
def test_without_weights_it_is_the_mean_of_the_members_probabilities(
    seed: int, members: int
) -> None:
    scores = made_up(seed, members)[0]
    factors = np.array([member.log_bayes_factor for member in scores.members])
    probability = np.mean(1 / (1 + np.exp(-factors)), axis=0)
    expected = np.log(probability / (1 - probability))
    np.testing.assert_allclose(Fusion()(scores), expected, rtol=1e-6, atol=1e-6)


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


# Forms


def test_a_fusion_can_be_written_and_read_to_the_last_digit() -> None:
    scores, same, weight = made_up(0)
    fitted = fit_fusion(scores, same, weight)
    for fusion in (Fusion(), fitted):
        read = from_json(Fusion, json.loads(json.dumps(to_json(fusion))))
        assert read == fusion
        np.testing.assert_array_equal(read(scores), fusion(scores))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"weights": (float("nan"),) * 17}, "no numbers"),
        ({"weights": (1e31,) * 17}, "beyond all bounds"),
        ({"log_tokens": (float("inf"), 3.0)}, "no numbers"),
        ({"log_tokens": (8.0, 3.0)}, "the least, then the most"),
    ],
)
def test_what_cannot_be_weights_is_refused(
    changes: dict[str, tuple[float, ...]], problem: str
) -> None:
    with pytest.raises(OptionError, match=problem):
        Scales(Scale(Fusion(**changes)))  # type: ignore[arg-type]


def test_weights_for_another_number_of_members_are_refused() -> None:
    scores, same, _ = made_up(0)
    fusion = fit_fusion(scores, same)
    alone = replace(scores, members=scores.members[:1])
    with pytest.raises(OptionError, match=r"33 weights; there are 22 measures"):
        fusion(alone)
    Scales(Scale(fusion)).check("model", 2)
    for scales in (Scales(Scale(fusion)), Scales(misfit=(0.0, 1.0, 1.0))):
        with pytest.raises(ModelError, match=r"model is damaged.* there are 3\)"):
            scales.check("model", 3)


def test_scores_are_cut_joined_and_weighted_by_members() -> None:
    scores = made_up(0)[0]
    parts = [scores[:50], scores[slice(50, 70)], scores[np.arange(150) >= 70]]
    assert [len(part) for part in parts] == [50, 20, 80]
    joined = Scores.joined(parts)
    np.testing.assert_array_equal(design(joined, WIDE), design(scores, WIDE))
    np.testing.assert_array_equal(joined.conditions.population, scores.conditions.population)
    weighted = scores.weighted(np.array([2.0, 0.5]))
    for member, before, times in zip(weighted.members, scores.members, (2, 0.5), strict=True):
        np.testing.assert_array_equal(member.standing, times * before.standing)
        np.testing.assert_array_equal(member.agreement, before.agreement)
