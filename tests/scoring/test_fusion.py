"""Many scores to one: fitted weights, the mean of probabilities, and who is not heard."""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from slow_two_covariance import seeds

from adhominem.errors import OptionError
from adhominem.records import from_json, to_json
from adhominem.scoring.decision import probability_same_author
from adhominem.scoring.fitting import fit_fusion, group_weights
from adhominem.scoring.scale import Fusion, Scale, Scales, Scores

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def made_up(
    seed: int, members: int = 2, contexts: int = 1, pairs: int = 120
) -> tuple[Scores, BoolArray, FloatArray]:
    """Scores of members of different worth, their truth, and weights of the pairs."""
    rng = np.random.default_rng(seed)
    same = rng.random(pairs) < 0.4
    same[:2] = True, False
    worth = np.linspace(1, 2, members)[:, None]
    scores = 5 * rng.random((members, 1)) * (rng.normal(size=(members, pairs)) + worth * same)
    context = rng.normal(3, 0.2, size=(contexts, pairs))
    return Scores(scores, context), same, rng.uniform(0.2, 3, pairs)


def slow_fit(scores: Scores, same: BoolArray, weight: FloatArray) -> FloatArray:
    """By scikit-learn: both classes count half, a little ridge on standardised scores."""
    rows = np.concatenate([scores.members, scores.context])
    centre, spread = rows.mean(axis=1), rows.std(axis=1)
    share = np.where(same, weight / weight[same].sum(), weight / weight[~same].sum()) / 2
    model = LogisticRegression(C=1 / 1e-3, tol=1e-10, max_iter=10_000)
    model.fit(((rows.T - centre) / spread), same, share)
    slopes = model.coef_[0] / spread
    return np.array([model.intercept_[0] - slopes @ centre, *slopes])


# Logistic


@settings(max_examples=30)
@given(seeds, st.integers(1, 3), st.integers(0, 2))
def test_logistic_weights_are_those_of_a_logistic_regression(
    seed: int, members: int, contexts: int
) -> None:
    scores, same, weight = made_up(seed, members, contexts)
    expected = slow_fit(scores, same, weight)
    if (expected[1 : 1 + members] < 1e-3).any():
        return  # a member that is not heard: see below
    fusion = fit_fusion(scores, same, "logistic", weight)
    (found,) = fusion.weights
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    design = np.concatenate([scores.members, scores.context])
    np.testing.assert_allclose(fusion(scores), found[0] + np.array(found[1:]) @ design, rtol=1e-9)


@pytest.mark.parametrize(("seed", "pairs"), [(634, 30), (743, 100), (1207, 30), (1337, 100)])
def test_the_best_weights_are_found_for_wild_scores_and_weights(seed: int, pairs: int) -> None:
    """Where a plain step of Newton's method would overshoot, for ever."""
    rng = np.random.default_rng(seed)
    wild = rng.standard_t(1.2, size=(4, pairs))
    same = rng.random(pairs) < 0.2
    same[:2] = True, False
    weight = rng.lognormal(0, 3, pairs)
    scores = Scores(np.zeros((0, pairs)), wild)  # contexts: of any sign
    found = np.array(fit_fusion(scores, same, "logistic", weight).weights[0])
    np.testing.assert_allclose(found, slow_fit(scores, same, weight), rtol=1e-2, atol=1e-3)


@given(seeds)
def test_both_classes_count_half_whatever_their_number(seed: int) -> None:
    scores, same, _ = made_up(seed)
    everything = np.arange(len(same))
    more = np.concatenate([everything, everything[~same], everything[~same]])
    # in the middle of standardised scores the ridge is another one: that much may differ
    once = fit_fusion(scores, same)(scores)
    assume(np.abs(once).max() < 15)  # else the classes are all but apart, and the ridge decides
    again = fit_fusion(Scores(scores.members[:, more], scores.context[:, more]), same[more])(scores)
    np.testing.assert_allclose(once, again, rtol=0.1, atol=0.1)
    weight = np.where(same, 0.5 / same.sum(), 0.5 / (~same).sum())
    assert weight @ probability_same_author(once) == pytest.approx(0.5, abs=1e-6)


@given(seeds)
def test_a_pair_of_weight_two_counts_as_two_pairs(seed: int) -> None:
    scores, same, _ = made_up(seed)
    twice = np.repeat(np.arange(len(same)), 2)
    double = fit_fusion(Scores(scores.members[:, twice], scores.context[:, twice]), same[twice])
    weighed = fit_fusion(scores, same, weight=np.full(len(same), 2.0))
    np.testing.assert_allclose(double.weights, weighed.weights, rtol=1e-6, atol=1e-6)
    some = made_up(seed)[2]
    assert not np.allclose(weighed.weights, fit_fusion(scores, same, weight=some).weights)


@pytest.mark.parametrize("method", ["logistic", "mean"])
def test_scores_that_separate_the_classes_get_finite_weights_and_rank_as_before(
    method: str,
) -> None:
    member = np.concatenate([np.linspace(-9, -1, 30), np.linspace(1, 9, 30)])
    scores, same = Scores(np.array([member, 1e6 * member]), np.zeros((0, 60))), member > 0
    found = fit_fusion(scores, same, method)(scores)
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()


def test_a_score_that_never_changes_says_nothing() -> None:
    scores, same, _ = made_up(0, members=1, contexts=0)
    still = Scores(np.concatenate([scores.members, np.full((1, len(same)), 7.0)]), scores.context)
    np.testing.assert_allclose(
        fit_fusion(still, same)(still), fit_fusion(scores, same)(scores), rtol=1e-6
    )


# Who is not heard


@pytest.mark.parametrize("method", ["logistic", "mean"])
def test_a_member_that_ranks_backwards_is_not_heard_and_the_others_as_if_it_were_not_there(
    method: str,
) -> None:
    scores, same, weight = made_up(1, members=3)
    scores.members[1] *= -1
    fusion = fit_fusion(scores, same, method, weight)
    assert all(row[2] == 0 for row in fusion.weights)
    heard = Scores(scores.members[[0, 2]], scores.context)
    expected = fit_fusion(heard, same, method, weight).weights
    kept = [row for at, row in enumerate(fusion.weights) if method == "logistic" or at != 1]
    np.testing.assert_allclose(
        [[*row[:2], *row[3:]] for row in kept],
        [[row[0], row[1], row[2], row[3]] for row in expected],
    )
    assert min(expected[0][1], expected[-1][2]) > 0


def test_if_all_rank_backwards_none_is_heard() -> None:
    scores, same, weight = made_up(1)
    scores.members[:] *= -1
    (row,) = fit_fusion(scores, same, "logistic", weight).weights
    assert row[1:3] == (0, 0)
    only = Scores(scores.members, np.zeros((0, len(same))))
    np.testing.assert_allclose(fit_fusion(only, same)(only), 0, atol=1e-9)


def test_a_context_may_speak_against_one_author() -> None:
    scores, same, weight = made_up(1)
    for sign in (1, -1):
        context = scores.context + sign * same
        (row,) = fit_fusion(Scores(scores.members, context), same, "logistic", weight).weights
        assert sign * row[3] > 0


# Mean


@given(seeds, st.integers(1, 4))
def test_without_weights_it_is_the_mean_of_the_members_probabilities(
    seed: int, members: int
) -> None:
    scores = made_up(seed, members)[0]
    probability = np.mean(1 / (1 + np.exp(-scores.members)), axis=0)
    found = Fusion()(scores)
    np.testing.assert_allclose(found, np.log(probability / (1 - probability)), rtol=1e-6, atol=1e-6)


def test_a_fitted_mean_is_that_of_members_each_made_honest_by_itself() -> None:
    scores, same, weight = made_up(3, members=2)
    fusion = fit_fusion(scores, same, "mean", weight)
    found = []
    for member in range(2):
        alone = Scores(scores.members[[member]], scores.context)
        found.append(fit_fusion(alone, same, "logistic", weight)(alone))
    probability = np.mean(1 / (1 + np.exp(-np.array(found))), axis=0)
    np.testing.assert_allclose(fusion(scores), np.log(probability / (1 - probability)), rtol=1e-6)
    assert len(fusion.weights) == 2
    assert not np.allclose(fusion(scores), Fusion()(scores), atol=0.1)


# Groups


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=40))
def test_each_group_counts_by_the_root_of_its_pairs_in_both_classes(
    pairs: list[tuple[str, bool]],
) -> None:
    groups, same = [name for name, _ in pairs], np.array([label for _, label in pairs])
    weight = group_weights(groups, same)
    for pair in set(pairs):
        own = [weight[at] for at, each in enumerate(pairs) if each == pair]
        assert sum(own) == pytest.approx(len(own) ** 0.5)
        assert max(own) == min(own)


# Forms


def test_a_fusion_can_be_written_and_read_to_the_last_digit() -> None:
    scores, same, weight = made_up(0)
    for fusion in (
        Fusion(),
        *(fit_fusion(scores, same, method, weight) for method in ("mean", "logistic")),
    ):
        assert from_json(Fusion, json.loads(json.dumps(to_json(fusion)))) == fusion


def test_what_cannot_be_fused_is_refused() -> None:
    scores, same, _ = made_up(0)
    with pytest.raises(OptionError, match="'magic'; expected mean or logistic"):
        Scales(Scale(Fusion(method="magic")))
    with pytest.raises(OptionError, match="'magic'; expected mean or logistic"):
        fit_fusion(scores, same, "magic")
    with pytest.raises(OptionError, match="with 2 rows; expected 1"):
        Scales(Scale(Fusion(method="logistic", weights=((0.0, 1.0), (0.0, 1.0)))))
    fusion = fit_fusion(scores, same)
    with pytest.raises(OptionError, match="weights for 3 scores; there are 2"):
        fusion(Scores(scores.members, scores.context[:0]))


def test_scores_are_cut_and_joined_by_pairs() -> None:
    scores = made_up(0)[0]
    parts = [scores[:50], scores[slice(50, 70)], scores[np.arange(120) >= 70]]
    assert [len(part) for part in parts] == [50, 20, 50]
    joined = Scores.joined(parts)
    np.testing.assert_array_equal(joined.members, scores.members)
    np.testing.assert_array_equal(joined.context, scores.context)
