"""What if one text of a side were another? Each answer by itself, by the whole chain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import SmallRun, rich_rows

from adhominem import Population, Verifier, load
from adhominem.model.folder import read_models
from adhominem.model.member import make_members
from adhominem.verify import verification as module
from adhominem.verify.sensitivity import population_sensitivity
from adhominem.verify.verification import ComparedSides

TEXTS = [row["text"] for row in rich_rows("letters", 3, 3, "-comparison-")]
Levs = npt.NDArray[np.float32]


def compared(verifier: Verifier, population: Population | None = None) -> ComparedSides:
    return verifier.compare(TEXTS[:3], TEXTS[3:5], population, attention=True)


def slow_score(
    verifier: Verifier, first: Levs, second: Levs, population: Population | None = None
) -> float:
    """The members' evidence, weighed without bounds."""
    scorer = verifier.scorer
    return float(scorer.unbounded(scorer.scores([first], [second], population))[0])


@pytest.fixture(scope="module")
def mixed(mixed_folder: Path) -> Verifier:
    return load(mixed_folder)


@pytest.fixture(scope="module")
def population(mixed: Verifier) -> Population:
    return mixed.population([row["text"] for row in rich_rows("letters", 6, 1, "-others-")])


def test_the_levs_are_those_of_the_texts_of_each_side(mixed: Verifier) -> None:
    comparison = compared(mixed)
    for levs, texts in zip(comparison.levs, (TEXTS[:3], TEXTS[3:5]), strict=True):
        np.testing.assert_allclose(levs, mixed.encode(texts), atol=1e-6)
    assert [len(side) for side in comparison.sides] == [3, 2]


@pytest.mark.parametrize("known", [True, False])
def test_pairs_that_are_compared_together_come_to_what_each_comes_to_alone(
    known: bool, mixed: Verifier, population: Population
) -> None:
    chosen = population if known else None
    pairs = [(TEXTS[0], TEXTS[3]), (TEXTS[:2], TEXTS[4:7]), ([TEXTS[1], TEXTS[1]], TEXTS[8])]
    together = mixed.compare_all(pairs, chosen)
    for comparison, (first, second) in zip(together, pairs, strict=True):
        alone = mixed.compare(first, second, chosen)
        for levs, expected in zip(comparison.levs, alone.levs, strict=True):
            np.testing.assert_allclose(levs, expected, atol=1e-6)
        assert comparison.log_bayes_factor == pytest.approx(alone.log_bayes_factor, rel=1e-5)
        assert comparison.exhibits == alone.exhibits
        assert len(comparison.scored.unbounded) == 1
    assert mixed.compare_all([], chosen) == []


@pytest.mark.parametrize("known", [True, False])
def test_without_bounds_the_whole_is_what_the_verifier_says(
    known: bool, mixed: Verifier, population: Population
) -> None:
    chosen = population if known else None
    comparison = compared(mixed, chosen)
    assert mixed.calibration is not None
    sides = [[side] for side in comparison.levs]
    bounds = mixed.calibration.limits(comparison.scored.conditions)[:, 0]
    expected = mixed.score(*sides, chosen)[0]
    assert np.clip(comparison.log_bayes_factor, *bounds) == pytest.approx(expected, rel=1e-12)
    assert comparison.log_bayes_factor == pytest.approx(slow_score(mixed, *comparison.levs, chosen))


def test_at_a_bound_the_number_behind_it_is_told(mixed: Verifier, mixed_folder: Path) -> None:
    calibration = mixed.calibration
    assert calibration is not None
    tight = replace(calibration, lower_bound=-1e-6, upper_bound=1e-6, bounds=())
    bounded = Verifier(make_members(read_models(mixed_folder)), tight)
    comparison = compared(bounded)
    assert abs(bounded.score(*([side] for side in comparison.levs))[0]) <= 1e-6
    assert comparison.log_bayes_factor == pytest.approx(compared(mixed).log_bayes_factor)
    assert abs(comparison.log_bayes_factor) > 1e-3


@pytest.mark.parametrize("known", [True, False])
def test_other_texts_are_scored_as_these_are(
    known: bool, mixed: Verifier, population: Population
) -> None:
    chosen = population if known else None
    comparison = compared(mixed, chosen)
    variants = [mixed.encode(TEXTS[at : at + 2]) for at in (0, 3, 5)]
    values = comparison.log_bayes_factors(variants, [comparison.levs[1]] * 3)
    for value, levs in zip(values, variants, strict=True):
        assert value == pytest.approx(slow_score(mixed, levs, comparison.levs[1], chosen), rel=1e-6)
    assert comparison.log_bayes_factors([], []).shape == (0,)


@pytest.mark.parametrize("at_once", [1, 4, 1_000])
def test_how_many_are_scored_together_does_not_matter(
    at_once: int, mixed: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compared(mixed)
    rng = np.random.default_rng(0)
    variants = comparison.levs[0][:1] * rng.uniform(0.5, 1.5, (150, 1, 1)).astype(np.float32)
    others = [comparison.levs[1]] * len(variants)
    expected = comparison.log_bayes_factors(list(variants), others)
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    np.testing.assert_allclose(
        comparison.log_bayes_factors(list(variants), others), expected, rtol=1e-6
    )


def test_the_contributions_are_those_with_the_population_if_it_was_used(
    mixed: Verifier, population: Population
) -> None:
    comparison = compared(mixed, population)
    strange = replace(comparison.scored, population_misfit=np.array([True]))
    for used, result in (
        (population, comparison),
        (None, compared(mixed)),
        (None, replace(comparison, scored=strange)),
    ):
        expected = mixed.scorer.contributions(*comparison.levs, used)
        for one, other in zip(result.contributions, expected, strict=True):
            assert one.value == pytest.approx(other.value)
            assert one.product == pytest.approx(other.product)


def test_a_model_that_is_not_calibrated_gives_its_score(small_run: SmallRun) -> None:
    verifier = load(small_run.folder)
    comparison = compared(verifier)
    assert verifier.calibration is None
    assert comparison.log_bayes_factor == pytest.approx(
        verifier.score(*([side] for side in comparison.levs))[0], rel=1e-12
    )
    assert comparison.used is None


def test_a_population_of_another_genre_is_not_used(mixed: Verifier, population: Population) -> None:
    comparison = compared(mixed, population)
    strange = replace(comparison.scored, population_misfit=np.array([True]))
    comparison = replace(comparison, scored=strange)
    assert comparison.used is None
    assert population_sensitivity(comparison) is None


# Parts of the population


@pytest.mark.parametrize(
    ("texts", "parts", "size"), [(10, 10, 5), (25, 10, 12), (9, 9, 8), (6, 6, 5)]
)
def test_the_number_with_each_part_of_the_population_is_that_of_a_population_of_its_own(
    texts: int, parts: int, size: int, mixed: Verifier
) -> None:
    rows = rich_rows("letters", texts, 1, "-parts-")
    levs = mixed.encode([row["text"] for row in rows])
    comparison = compared(mixed, mixed.population_of(levs))
    sensitivity = population_sensitivity(comparison, seed=4)
    assert sensitivity is not None
    assert (sensitivity.texts, sensitivity.left_out) == (size, texts - size)
    factors = sensitivity.log_bayes_factors
    assert len(factors) == parts
    assert list(factors) == sorted(factors)
    assert sensitivity.median == np.median(factors)
    if size == texts - 1:
        slow = [
            float(
                mixed.score(*([s] for s in comparison.levs), Population.of(np.delete(levs, at, 0)))[
                    0
                ]
            )
            for at in range(texts)
        ]
        np.testing.assert_allclose(factors, sorted(slow), atol=1e-6)


def test_parts_do_not_depend_on_the_order_of_the_texts_but_on_the_seed(mixed: Verifier) -> None:
    levs = mixed.encode([row["text"] for row in rich_rows("letters", 16, 1, "-parts-")])
    one, other = (compared(mixed, mixed.population_of(rows)) for rows in (levs, levs[::-1]))
    first, second = (population_sensitivity(comparison) for comparison in (one, other))
    assert first is not None
    assert second is not None
    np.testing.assert_allclose(first.log_bayes_factors, second.log_bayes_factors, atol=1e-6)
    third = population_sensitivity(one, seed=1)
    assert third is not None


def test_of_five_texts_none_can_be_left_out(mixed: Verifier) -> None:
    population = mixed.population([row["text"] for row in rich_rows("letters", 5, 1, "-parts-")])
    assert population_sensitivity(compared(mixed, population)) is None
    assert population_sensitivity(compared(mixed)) is None
