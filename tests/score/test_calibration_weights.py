"""From the members' evidence to a log Bayes factor: weights, S-norm, bounds; and its file form."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_two_covariance import seeds

from adhominem.errors import ModelError, OptionError
from adhominem.records import from_json, to_json
from adhominem.score.calibration import (
    POPULATION,
    TEXTS,
    TOKENS,
    Bounds,
    Calibration,
    Conditions,
    Scores,
    Weights,
    cells,
)
from adhominem.score.three_level import ThreeLevelParameters

FloatArray = npt.NDArray[np.float64]
WEIGHTS = Weights(
    constant=0.3,
    factor=0.4,
    snorm=0.9,
    snorm_constant=-0.2,
    snorm_small=1.1,
    usual_deviation=2.5,
)


def made_up(
    seed: int, pairs: int = 5, cohort: int = 7, *, left_out: bool = True, spread: float = 4.0
) -> Scores:
    """Of two members, with a population; some of its texts are the pairs' own."""
    rng = np.random.default_rng(seed)
    against = rng.normal(-2, spread, (2, pairs, cohort))
    against[:, :, 0] += 9  # perhaps by the author of the side
    kept = rng.random((pairs, cohort)) < 0.8
    kept[:, -1] = True
    return Scores(
        (rng.normal(0, 3, pairs), rng.normal(0, 3, pairs)),
        (against[0], against[1]),
        kept if left_out else None,
        rng.normal(size=pairs),
        Conditions(np.ones((pairs, 2)), np.full((pairs, 2), 6.5), np.full(pairs, float(cohort))),
    )


def alone(scores: Scores) -> Scores:
    conditions = replace(scores.conditions, population=np.zeros(len(scores)))
    return replace(scores, against=None, kept=None, conditions=conditions)


# The S-norm


def slow_snorm(scores: Scores, pair: int, usual_deviation: float) -> float:
    """One pair, text by text."""
    assert scores.against is not None
    total = sum(float(member[pair]) for member in scores.members)
    standings = []
    for side in scores.against:
        weights, values = [], []
        for at, value in enumerate(side[pair].tolist()):
            if scores.kept is None or scores.kept[pair, at]:
                weights.append(1 - 1 / (1 + 20 * math.exp(-value)))  # by another author: odds 20
                values.append(value)
        count = sum(weights)
        mean = sum(w * v for w, v in zip(weights, values, strict=True)) / count
        squares = sum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True))
        deviation = math.sqrt((squares + 10 * usual_deviation**2) / (count + 10))
        standings.append((total - mean) / deviation)
    return 4 * math.asinh(fmean(standings) / 4)


@given(seeds, st.integers(2, 30), st.booleans(), st.floats(0.1, 9))
def test_the_snorm_is_by_how_many_deviations_sides_are_more_alike_than_with_others(
    seed: int, cohort: int, left_out: bool, deviation: float
) -> None:
    scores = made_up(seed, cohort=cohort, left_out=left_out)
    found = Weights(factor=0.0, snorm=1.0, usual_deviation=deviation)(scores)
    expected = [slow_snorm(scores, pair, deviation) for pair in range(len(scores))]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_texts_by_the_author_of_a_side_hardly_count_as_others() -> None:
    scores = made_up(0, cohort=20)
    assert scores.against is not None
    first, second = (against.copy() for against in scores.against)
    first[:, 0] = second[:, 0] = 15.0
    there = replace(scores, against=(first, second))
    farther = replace(
        there, against=tuple(np.where(each == 15, 40.0, each) for each in (first, second))
    )
    np.testing.assert_allclose(WEIGHTS(there), WEIGHTS(farther), atol=0.01)


@given(seeds)
def test_texts_that_are_left_out_do_not_count_at_all(seed: int) -> None:
    scores = made_up(seed)
    assert scores.against is not None
    assert scores.kept is not None
    changed = tuple(np.where(scores.kept, against, -50.0) for against in scores.against)
    np.testing.assert_allclose(WEIGHTS(replace(scores, against=changed)), WEIGHTS(scores))


# Weights


@given(seeds)
def test_a_log_bayes_factor_is_a_weighted_sum(seed: int) -> None:
    scores = made_up(seed)
    for pair, found in enumerate(WEIGHTS(scores).tolist()):
        total = sum(float(member[pair]) for member in scores.members)
        snorm = slow_snorm(scores, pair, 2.5)
        expected = 0.3 + 0.4 * total + 0.9 * snorm - 0.2 + 1.1 / math.sqrt(7)
        assert found == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(WEIGHTS(alone(scores)), scores.members[0] + scores.members[1] + 0.3)


def test_without_an_snorm_a_population_changes_nothing_but_the_members_evidence() -> None:
    scores = made_up(1)
    np.testing.assert_allclose(Weights(constant=0.7)(scores), scores.total + 0.7)
    assert Weights().slope(scores).tolist() == [1.0] * 5


@given(seeds, st.floats(0, 2), st.floats(-1, 2))
@settings(max_examples=50)
def test_the_slope_is_what_a_little_more_evidence_of_a_member_adds(
    seed: int, factor: float, snorm: float
) -> None:
    weights = replace(WEIGHTS, factor=factor, snorm=snorm)
    for scores in (made_up(seed), alone(made_up(seed))):

        def moved(by: float, scores: Scores = scores) -> FloatArray:
            first, second = scores.members
            return weights(replace(scores, members=(first, second + by)))

        slopes = (moved(1e-4) - moved(-1e-4)) / 2e-4
        np.testing.assert_allclose(weights.slope(scores), slopes, rtol=1e-5, atol=1e-7)


@given(seeds, st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from([0.0, 1e-9, 1.0]))
def test_it_is_finite_however_far_apart_texts_are(
    seed: int, spread: float, deviation: float
) -> None:
    weights = replace(WEIGHTS, usual_deviation=deviation)
    for scores in (made_up(seed, spread=spread), made_up(seed, cohort=1)):
        assert scores.against is not None
        own = tuple(each + 1e3 for each in scores.against)  # all by the author of the side
        for each in (scores, replace(scores, against=own)):
            with np.errstate(all="raise", under="ignore"):
                assert np.isfinite(weights(each)).all()
                assert np.isfinite(weights.slope(each)).all()


# Conditions


def conditions_of(*cases: tuple[int, int, float, float, int]) -> Conditions:
    """Of texts and tokens a text on both sides, and texts of the population."""
    first, second, *tokens, population = (
        np.array(row, np.float64) for row in zip(*cases, strict=True)
    )
    return Conditions(np.stack([first, second], axis=1), np.log(tokens).T, population)


def test_conditions_are_cut_and_joined() -> None:
    cases = [(1, 2, 100, 900, 0), (3, 1, 200, 800, 5), (5, 4, 300, 700, 50)]
    whole = conditions_of(*cases)
    assert len(whole) == 3
    parts = [whole[:1], whole[np.array([False, True, True])]]
    joined = Conditions.joined(parts)
    assert [len(part) for part in parts] == [1, 2]
    for name in ("texts", "log_tokens", "population"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))


# How far a Bayes factor may go depends on how many cases of like conditions there were


def bounds_of(texts: int, tokens: int, population: int, reach: float) -> Bounds:
    return Bounds(
        texts=texts,
        tokens=tokens,
        population=population,
        lower=-reach,
        upper=2 * reach,
        same_author=100,
        different_authors=200,
    )


CALIBRATION = Calibration(
    members=(
        ThreeLevelParameters(),
        None,
        ThreeLevelParameters(genre_spread=0.5, length_power=0.25),
    ),
    layer_weights=(1.0, 0.3, 1.0),
    weights=WEIGHTS,
    lower_bound=-9.0,
    upper_bound=8.0,
    bounds=(bounds_of(1, 0, 0, 1.0), bounds_of(4, 600, 20, 3.0), bounds_of(1, 600, 20, 2.0)),
    tokens=(120.0, 4_500.5),
)
counts, lengths = st.integers(1, 30), st.floats(1, 1e5)


@given(counts, counts, lengths, lengths, st.integers(0, 500))
def test_a_cell_is_of_the_side_with_more_texts_and_of_the_one_with_shorter_ones(
    known: int, questioned: int, first: float, second: float, population: int
) -> None:
    asked = max(known, questioned), min(first, second) * (1 + 1e-9), population
    expected = [
        max(start for start in starts if start <= value)
        for starts, value in zip((TEXTS, TOKENS, POPULATION), asked, strict=True)
    ]
    made = cells(
        conditions_of((known, questioned, first * (1 + 1e-9), second * (1 + 1e-9), population))
    )
    assert made[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("case", "limits"),
    [
        ((1, 1, 100, 5_000, 0), (-1, 2)),
        ((1, 1, 5_000, 249, 4), (-1, 2)),
        ((4, 1, 1_000, 700, 20), (-3, 6)),
        ((1, 9, 1_000, 700, 500), (-3, 6)),
        ((1, 1, 1_000, 700, 500), (-2, 4)),
        ((2, 1, 1_000, 700, 500), (-9, 8)),  # no bounds of such conditions
        ((1, 1, 1_600, 1_700, 20), (-9, 8)),
        ((1, 1, 300, 100, 5), (-9, 8)),
    ],
)
def test_the_bounds_are_those_of_the_cell_or_else_those_of_all_cases(
    case: tuple[int, int, float, float, int], limits: tuple[float, float]
) -> None:
    assert CALIBRATION.limits(conditions_of(case))[:, 0].tolist() == list(limits)


def test_each_pair_has_its_own_bounds() -> None:
    cases = [(1, 1, 100, 100, 0), (4, 1, 700, 700, 50), (3, 3, 90, 90, 9)]
    limits = CALIBRATION.limits(conditions_of(*cases))
    assert limits.shape == (2, 3)
    assert limits.tolist() == [[-1, -3, -9], [2, 6, 8]]
    nobody = conditions_of(*cases)[:0]
    assert CALIBRATION.limits(nobody).shape == (2, 0)
    everywhere = replace(CALIBRATION, bounds=()).limits(conditions_of(*cases))
    assert everywhere.tolist() == [[-9] * 3, [8] * 3]


def test_the_widest_bounds_are_those_of_any_conditions_with_a_population_or_without() -> None:
    assert CALIBRATION.widest(population=False) == (-1, 2)
    assert CALIBRATION.widest(population=True) == (-3, 6)
    bare = replace(CALIBRATION, bounds=CALIBRATION.bounds[:1])
    assert bare.widest(population=True) == (-9, 8)


# What is written and read


def test_a_calibration_comes_back_from_json_to_the_last_digit() -> None:
    odd = replace(CALIBRATION, weights=replace(WEIGHTS, factor=0.1 + 0.2, constant=1 / 3))
    for calibration in (CALIBRATION, odd, replace(CALIBRATION, bounds=())):
        written = json.loads(json.dumps(to_json(calibration), allow_nan=False))
        assert from_json(Calibration, written, "calibration") == calibration


def changed(path: str, value: object) -> Any:
    """The JSON of a calibration with another value at a path."""
    data = to_json(CALIBRATION)
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    place: Any = data
    for name in parents:
        place = place[name]
    place[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("bounds.1.upper", math.nan),
        ("bounds.1.texts", 0),
        ("bounds.1.tokens", -1),
        ("bounds.1.same_author", "many"),
        ("lower_bound", math.inf),
        ("lower_bound", 1e31),
        ("upper_bound", None),
        ("tokens", [1.0]),
        ("tokens", [-1.0, 5.0]),
        ("layer_weights.1", -0.5),
        ("members.0", "heavy"),
        ("members.0.rest.author", 0.0),
        ("members.0.rest.author", -1.0),
        ("members.0.genre_part.directions", -1.0),
        ("members.0.genre_part.text", math.nan),
        ("members.2.genre_spread", math.nan),
        ("members.2.length_power", math.inf),
        ("weights.factor", math.nan),
        ("weights.snorm", 1e31),
        ("weights.usual_deviation", -1.0),
        ("weights.unheard_of", 1.0),
    ],
)
def test_what_is_no_calibration_is_refused_when_it_is_read(path: str, value: object) -> None:
    assert from_json(Calibration, to_json(CALIBRATION), "calibration") == CALIBRATION
    with pytest.raises(OptionError, match="calibration"):
        from_json(Calibration, changed(path, value), "calibration")


@pytest.mark.parametrize("name", ["members", "weights", "bounds", "tokens", "lower_bound"])
def test_a_calibration_lacks_nothing(name: str) -> None:
    data = to_json(CALIBRATION)
    del data[name]
    with pytest.raises(OptionError, match=name):
        from_json(Calibration, data, "calibration")


def test_a_calibration_is_checked_against_the_model() -> None:
    CALIBRATION.check("small", 3)
    for members in (2, 4):
        with pytest.raises(ModelError, match=rf"small is damaged.* 3 members; there are {members}"):
            CALIBRATION.check("small", members)
    with pytest.raises(ModelError, match="3 members; there are 3"):
        replace(CALIBRATION, layer_weights=(1.0,)).check("small", 3)
    upside_down = replace(CALIBRATION.bounds[1], lower=7.0)
    for broken in (
        replace(CALIBRATION, lower_bound=8.5),
        replace(CALIBRATION, bounds=(CALIBRATION.bounds[0], upside_down)),
    ):
        with pytest.raises(ModelError, match=r"expected lower <= upper.*calibrate the model again"):
            broken.check("small", 3)
