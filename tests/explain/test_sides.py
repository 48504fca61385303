"""What if one text of a side were another? Each answer by itself, by the whole chain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import SmallRun, rich_rows

from adhominem import Population, Verifier, load
from adhominem.explain import sides as module
from adhominem.explain.sides import Sides
from adhominem.models.folder import read_models
from adhominem.scoring.fusion import Scale
from adhominem.scoring.scales import Scales
from adhominem.verifier import exhibits_of

TEXTS = [row["text"] for row in rich_rows("letters", 3, 3, "-sides-")]
Levs = npt.NDArray[np.float32]


def sides_of(verifier: Verifier, population: Population | None = None) -> Sides:
    first, second = exhibits_of(TEXTS[:3], "first"), exhibits_of(TEXTS[3:5], "second")
    return Sides.of(verifier, first, second, population=population)


def slow_score(
    verifier: Verifier, first: Levs, second: Levs, population: Population | None = None
) -> float:
    """The members' scores, fused, then calibrated without bounds."""
    scale = verifier.scales.of(population)
    raw = verifier.scorer([first], [second], population).raw[0]
    return raw if scale.calibration is None else float(scale.calibration.unbounded(raw))


@pytest.fixture(scope="module")
def mixed(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


@pytest.fixture(scope="module")
def population(mixed: Verifier) -> Population:
    return mixed.population([row["text"] for row in rich_rows("letters", 6, 1, "-others-")])


def test_the_levs_are_those_of_the_texts_of_each_side(mixed: Verifier) -> None:
    sides = sides_of(mixed)
    for levs, texts in zip(sides.levs, (TEXTS[:3], TEXTS[3:5]), strict=True):
        np.testing.assert_array_equal(levs, mixed.encode(texts))
    assert [len(side) for side in sides.exhibits] == [3, 2]


@pytest.mark.parametrize("known", [True, False])
def test_without_bounds_the_whole_is_what_the_verifier_says(
    known: bool, mixed: Verifier, population: Population
) -> None:
    chosen = population if known else None
    sides = sides_of(mixed, chosen)
    scale = mixed.scales.of(chosen)
    assert scale.calibration is not None
    bounds = scale.calibration.lower_bound, scale.calibration.upper_bound
    expected = mixed.score(*([side] for side in sides.levs), chosen)[0]
    assert np.clip(sides.log_bayes_factor, *bounds) == pytest.approx(expected, rel=1e-12)
    assert sides.log_bayes_factor == pytest.approx(slow_score(mixed, *sides.levs, chosen))


def test_at_a_bound_the_number_behind_it_is_told(mixed: Verifier, mixed_folder: Path) -> None:
    calibration = mixed.calibration
    assert calibration is not None
    tight = replace(calibration, lower_bound=-1e-6, upper_bound=1e-6)
    scales = Scales(Scale(mixed.scales.alone.fusion, tight))
    bounded = Verifier(read_models(mixed_folder), scales)
    sides = sides_of(bounded)
    assert abs(bounded.score(*([side] for side in sides.levs))[0]) <= 1e-6
    assert sides.log_bayes_factor == pytest.approx(sides_of(mixed).log_bayes_factor)
    assert abs(sides.log_bayes_factor) > 1e-3


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("known", [True, False])
def test_each_variant_takes_the_place_of_one_text(
    side: int, known: bool, mixed: Verifier, population: Population
) -> None:
    chosen = population if known else None
    sides = sides_of(mixed, chosen)
    variants = mixed.encode(TEXTS[5:])
    found = sides.with_text(side, 1, variants)
    for value, lev in zip(found, variants, strict=True):
        both = [levs.copy() for levs in sides.levs]
        both[side][1] = lev
        assert value == pytest.approx(slow_score(mixed, *both, chosen), rel=1e-9)
    own = sides.with_text(side, 0, sides.levs[side][:1])
    assert own[0] == pytest.approx(sides.log_bayes_factor, rel=1e-12)
    np.testing.assert_array_equal(sides.levs[side], sides_of(mixed).levs[side])  # left alone
    assert sides.with_text(side, 0, variants[:0]).shape == (0,)


@pytest.mark.parametrize("side", [0, 1])
def test_without_a_text_the_others_of_its_side_are_left(side: int, mixed: Verifier) -> None:
    sides = sides_of(mixed)
    for number in range(len(sides.levs[side])):
        both = list(sides.levs)
        both[side] = np.array([lev for at, lev in enumerate(both[side]) if at != number])
        expected = slow_score(mixed, both[0], both[1])
        assert sides.without_text(side, number) == pytest.approx(expected, rel=1e-9)


def test_without_its_only_text_nothing_is_known(mixed: Verifier) -> None:
    first, second = exhibits_of(TEXTS[0], "first"), exhibits_of(TEXTS[1:3], "second")
    sides = Sides.of(mixed, first, second, population=None)
    assert sides.without_text(0, 0) == 0
    assert sides.without_text(1, 0) != 0


@pytest.mark.parametrize("at_once", [1, 4, 1_000])
def test_how_many_are_scored_together_does_not_matter(
    at_once: int, mixed: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = sides_of(mixed)
    rng = np.random.default_rng(0)
    variants = sides.levs[0][0] * rng.uniform(0.5, 1.5, (150, 1)).astype(np.float32)
    expected = sides.with_text(0, 2, variants)
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    np.testing.assert_allclose(sides.with_text(0, 2, variants), expected, rtol=1e-9)


def test_a_model_that_is_not_calibrated_gives_its_score(small_run: SmallRun) -> None:
    verifier = load(small_run.folder)
    sides = sides_of(verifier)
    assert verifier.calibration is None
    assert sides.log_bayes_factor == pytest.approx(
        verifier.score(*([side] for side in sides.levs))[0], rel=1e-12
    )
    assert sides.centre(0) is None


def test_each_member_has_its_part_of_the_population(
    mixed: Verifier, population: Population
) -> None:
    sides = sides_of(mixed, population)
    parts = []
    for number in range(len(mixed.members)):
        centre = sides.centre(number)
        assert centre is not None
        parts.append(centre[0])
        assert centre[1] == population.texts
    np.testing.assert_array_equal(np.concatenate(parts), population.lev_mean)
