"""Each case by a map that has not seen it, nor its genre or its authors; and bounds that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from adhominem.jobs.calibrate import _Data, _widened
from adhominem.jobs.scored_cases import Part
from adhominem.models.calibration import Validation
from adhominem.scoring.measures import Measures
from adhominem.scoring.scale import Bounds, Conditions, Scores


def part_of(
    name: str,
    sets: tuple[str, ...],
    authors: npt.NDArray[np.str_],
    same: npt.NDArray[np.bool_],
    seed: int,
    skill: float = 1.0,
) -> Part:
    """Cases of a set under one condition, with scores of two members out of thin air."""
    rng, cases = np.random.default_rng(seed), len(same)
    members = tuple(
        Measures.of_factors(rng.normal(size=cases) + skill * (authors[:, 0] == authors[:, 1]))
        for _ in range(2)
    )
    lengths = rng.uniform(5, 7, (2, cases))
    condition = Validation(
        genres=sets,
        log_bayes_factor=np.zeros(cases, np.float32),
        same_author=same,
        genre=np.full(cases, sets.index(name), np.int32),
        words=np.full(cases, 100, np.int32),
        texts=np.ones(cases, np.int32),
        population=np.zeros(cases, np.int32),
        known=np.ones(cases, bool),
    )
    conditions_of_all = Conditions.of(np.ones((2, cases)), lengths, 0, 0.0)
    return Part(name, Scores(members, conditions_of_all), authors, condition)


def drawn_authors(seed: int, cases: int, name: str = "", count: int = 25) -> npt.NDArray[np.str_]:
    """(cases, 2): half of them by one author."""
    numbers = np.random.default_rng(seed).integers(0, count, (cases, 2))
    numbers[: cases // 2, 1] = numbers[: cases // 2, 0]
    return np.char.add(f"{name} ", numbers.astype(str))


@pytest.mark.parametrize("method", ["logistic", "isotonic"])
def test_a_case_of_few_sets_is_calibrated_by_cases_that_share_no_author_with_it(
    method: str,
) -> None:
    authors = drawn_authors(0, 300)
    same = authors[:, 0] == authors[:, 1]

    def data(labels: npt.NDArray[np.bool_]) -> _Data:
        return _Data([part_of("one", ("one",), authors, labels, 1)], method)

    factors = data(same).crossed
    # whatever is said of one author's cases, the maps for that author's cases stay the same
    touched = (authors == authors[0, 0]).any(axis=1)
    again = data(np.where(touched, ~same, same)).crossed
    np.testing.assert_allclose(factors[touched], again[touched], rtol=1e-9)
    assert not np.allclose(factors[~touched], again[~touched], rtol=1e-3)
    whole = data(same)
    fused, calibration = whole.fitted
    assert not np.allclose(factors, calibration.unbounded(fused(whole.scores)), rtol=1e-3)


@pytest.mark.parametrize("method", ["logistic", "isotonic"])
@pytest.mark.parametrize("shared", [False, True])
def test_a_case_of_three_sets_is_calibrated_by_those_of_other_sets_and_authors(
    method: str, shared: bool
) -> None:
    sets = ("one", "two", "three")
    authors = {name: drawn_authors(at, 200, name) for at, name in enumerate(sets)}
    if shared:  # some authors are in two sets
        authors["two"][:20] = authors["two"][100:120] = authors["one"][:20]
    rng = np.random.default_rng(9)

    def data(shuffled: bool) -> _Data:
        parts = []
        for at, name in enumerate(sets):
            same = authors[name][:, 0] == authors[name][:, 1]
            labels = rng.permutation(same) if shuffled and name == "one" else same
            parts.append(part_of(name, sets, authors[name], labels, at))
        return _Data(parts, method)

    honest, wrong = data(False), data(True)
    inside = honest.cases.genre == 0
    np.testing.assert_allclose(honest.crossed[inside], wrong.crossed[inside], rtol=1e-9)
    assert not np.allclose(honest.crossed[~inside], wrong.crossed[~inside], rtol=1e-3)
    # what is said of an author in one set does not touch that author's cases in another
    if shared:
        _, others = honest._set_and_others(1)
        assert not np.isin(honest.authors[others], authors["two"]).any()
        assert 0 < others.sum() < 400


def test_sets_by_the_same_authors_are_calibrated_by_other_authors() -> None:
    authors = drawn_authors(0, 300)
    same = authors[:, 0] == authors[:, 1]
    sets = ("one", "two", "three")
    data = _Data(
        [part_of(name, sets, authors, same, at) for at, name in enumerate(sets)], "logistic"
    )
    assert np.isfinite(data.crossed).all()
    assert data.crossed[data.same_author].mean() > data.crossed[~data.same_author].mean() + 0.5


# Bounds


def test_cases_stop_at_the_bounds_of_the_model_not_at_those_of_a_fold() -> None:
    authors = drawn_authors(1, 600, count=60)
    same = authors[:, 0] == authors[:, 1]
    data = _Data([part_of("one", ("one",), authors, same, 1, skill=3)], "logistic")
    _, calibration = data.fitted
    lower, upper = calibration.limits(data.scores.conditions).astype(np.float32)
    factors = data.validation().log_bayes_factor
    crossed = data.crossed.astype(np.float32)
    np.testing.assert_array_equal(factors, np.clip(crossed, lower, upper))
    inside = (crossed > lower) & (crossed < upper)
    assert 0 < inside.sum() < 600
    assert len(np.unique(factors[inside])) == inside.sum()  # none is piled up at another bound


def test_bounds_are_told_of_conditions_that_enough_cases_were_found_under() -> None:
    authors = drawn_authors(2, 900, count=80)
    same = authors[:, 0] == authors[:, 1]
    part = part_of("one", ("one",), authors, same, 2, skill=2)
    data = _Data([part], "logistic")
    bounds = data.fitted[1].bounds
    tokens = np.exp(part.scores.conditions.log_tokens.min(axis=0))
    for cell in bounds:
        low, high = {0: (0, 250), 250: (250, 600), 600: (600, 1_500)}[cell.tokens]
        inside = (tokens >= low) & (tokens < high)
        assert cell.same_author == (inside & same).sum() >= 100
        assert cell.different_authors == (inside & ~same).sum() >= 100
        assert (cell.texts, cell.population) == (1, 0)
    assert {cell.tokens for cell in bounds} == {0, 250}  # hardly any is longer


def test_better_conditions_support_no_less_than_worse_ones() -> None:
    rng = np.random.default_rng(3)
    cells = tuple(
        Bounds(
            texts=texts,
            tokens=tokens,
            population=population,
            lower=-float(rng.random()),
            upper=float(rng.random()),
            same_author=100,
            different_authors=100,
        )
        for texts in (1, 4)
        for tokens in (0, 600)
        for population in (0, 20)
    )
    for before, after in zip(cells, _widened(cells), strict=True):
        worse = [
            cell
            for cell in cells
            if cell.texts <= before.texts
            and cell.tokens <= before.tokens
            and cell.population <= before.population
        ]
        assert after.lower == min(cell.lower for cell in worse)
        assert after.upper == max(cell.upper for cell in worse)
        assert replace(after, lower=before.lower, upper=before.upper) == before
