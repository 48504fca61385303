"""Each case by parameters that have not seen its genre or its authors; and bounds that hold."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from adhominem.errors import OptionError
from adhominem.model.calibration import Validation
from adhominem.score.calibration import Bounds, Conditions
from adhominem.score.fitting import Cases
from adhominem.score.genres import Genres, PairGeometry
from adhominem.score.members import GenreMember
from adhominem.score.products import MemberTexts
from adhominem.score.three_level import Evidence
from adhominem.training.calibrate import _CalibrationFit, _widened
from adhominem.training.simulate import CasePart, merged

Authors = npt.NDArray[np.str_]  # (cases, 2)
Labels = npt.NDArray[np.bool_]  # (cases,)
MEMBERS = 2


def by_one(authors: Authors) -> Labels:
    return np.asarray(authors[:, 0] == authors[:, 1])


def part_of(
    name: str,
    sets: tuple[str, ...],
    authors: Authors,
    seed: int,
    *,
    labels: Labels | None = None,
    skill: float = 1.0,
) -> CasePart:
    """Cases of a set under one condition, with evidence of members out of thin air.

    What is said of a case depends on its authors, not on its label.
    """
    rng, cases = np.random.default_rng(seed), len(authors)
    same = by_one(authors) if labels is None else labels
    evidence = tuple(
        Evidence(rng.normal(size=cases) + skill * by_one(authors)) for _ in range(MEMBERS)
    )
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
    conditions = Conditions(np.ones((cases, 2)), rng.uniform(5, 7, (2, cases)).T, np.zeros(cases))
    return CasePart(Cases(evidence, conditions, same), authors, condition)


def fitting(*parts: CasePart) -> _CalibrationFit:
    members: Any = (None,) * MEMBERS
    return _CalibrationFit(members, parts)


def drawn_authors(seed: int, cases: int, name: str = "", count: int = 25) -> Authors:
    """(cases, 2): half of them by one author."""
    numbers = np.random.default_rng(seed).integers(0, count, (cases, 2))
    numbers[: cases // 2, 1] = numbers[: cases // 2, 0]
    return np.char.add(f"{name} ", numbers.astype(str))


def of_sets(count: int, *, share: bool = False, cases: int = 200, of: int = 25) -> list[CasePart]:
    """Parts of so many sets, two of which may share some authors."""
    names = tuple(f"set {at}" for at in range(count))
    authors = [drawn_authors(at, cases, name, of) for at, name in enumerate(names)]
    if share:
        authors[1][:20] = authors[1][cases // 2 :][:20] = authors[0][:20]
    return [part_of(name, names, authors[at], at) for at, name in enumerate(names)]


# Folds


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("sets", [1, 2, 3, 7])
def test_a_case_is_judged_once_and_by_cases_without_its_authors_and_of_other_sets(
    sets: int, share: bool
) -> None:
    made = fitting(*of_sets(sets, share=share and sets > 1))
    judged = np.zeros(len(made.cases), dtype=int)
    for inside, others in made._folds():
        judged += inside
        assert not np.isin(made.authors[others], made.authors[inside]).any()
        assert others.any() or not inside.any()
        if sets >= 3:
            assert not np.isin(made.cases.genre[others], made.cases.genre[inside]).any()
    assert (judged == 1).all()


def test_sets_by_the_same_authors_are_judged_by_other_authors() -> None:
    authors, sets = drawn_authors(0, 300), ("one", "two", "three")
    made = fitting(*(part_of(name, sets, authors, at) for at, name in enumerate(sets)))
    for inside, others in made._folds():
        assert not np.isin(made.authors[others], made.authors[inside]).any()
    same = made.same_author
    assert made.crossed[same].mean() > made.crossed[~same].mean() + 0.5


@pytest.mark.parametrize("sets", [1, 3])
def test_what_is_said_of_a_case_does_not_depend_on_its_label(sets: int) -> None:
    """Nor on those of other cases of its set or its authors."""
    parts = of_sets(sets)
    honest = fitting(*parts)
    if sets == 1:
        touched = np.asarray((honest.authors == honest.authors[0, 0]).any(axis=1))
    else:
        touched = honest.cases.genre == 0
    rng = np.random.default_rng(9)
    labels = honest.same_author.copy()
    labels[touched] = ~labels[touched] if sets == 1 else rng.permutation(labels[touched])
    wrong = fitting(
        *(
            part_of(part.condition.genres[at], part.condition.genres, part.authors, at, labels=one)
            for at, (part, one) in enumerate(zip(parts, np.split(labels, sets), strict=True))
        )
    )
    moved = np.abs(honest.crossed - wrong.crossed)
    assert moved[touched].max() < 0.01  # they begin with what was fitted to all cases
    assert np.median(moved[~touched]) > 0.05


def test_authors_too_few_to_judge_each_other_are_refused() -> None:
    authors = drawn_authors(0, 200, count=8)
    authors[100:, 0] = authors[0, 0]  # all cases by two authors have one in common
    with pytest.raises(OptionError, match=r"by 8 authors, too few for cross-validation"):
        _ = fitting(part_of("one", ("one",), authors, 0)).crossed


# Cases that are fitted together


def where_they_lie(genres: Genres, cases: int) -> PairGeometry:
    """Of cases of one text a side."""
    texts = MemberTexts(
        np.random.default_rng(cases).normal(size=(2 * cases, 2)), np.full(2 * cases, 6.0)
    )
    numbers = np.arange(2 * cases).reshape(2, cases, 1)
    return GenreMember(genres).pairs(texts, numbers[0], numbers[1], None)


def test_cases_with_the_same_genres_and_populations_as_large_are_fitted_together() -> None:
    parts = of_sets(4, cases=20)
    two, one = Genres(("letters", "notes"), np.eye(2), 1.0), Genres(("notes",), np.eye(2)[1:], 1.0)
    populations = (0, 0, 0, 5)
    parts = [
        replace(
            part,
            cases=replace(
                part.cases,
                pairs=(where_they_lie(genres, 20), part.cases.pairs[1]),
                conditions=replace(part.cases.conditions, population=np.full(20, float(texts))),
            ),
        )
        for part, genres, texts in zip(parts, (two, one, two, two), populations, strict=True)
    ]
    together = merged(parts)
    assert [np.unique(of).tolist() for _, of in together] == [[0, 2], [1], [3]]
    for joined, of in together:
        for number in np.unique(of):
            rows, part = of == number, parts[number]
            np.testing.assert_array_equal(joined.authors[rows], part.authors)
            geometry, evidence = joined.cases.pairs
            before, said = part.cases.pairs
            assert isinstance(geometry, PairGeometry)
            assert isinstance(before, PairGeometry)
            assert isinstance(evidence, Evidence)
            assert isinstance(said, Evidence)
            np.testing.assert_array_equal(geometry.rest[rows], before.rest)
            np.testing.assert_array_equal(evidence.log_bayes_factor[rows], said.log_bayes_factor)


def test_a_set_counts_by_the_root_of_its_cases() -> None:
    names = ("few", "many")
    made = fitting(
        part_of("few", names, drawn_authors(0, 100, "few"), 0),
        part_of("many", names, drawn_authors(1, 900, "many"), 1),
    )
    few, many = (made.weight[made.cases.genre == at].sum() for at in (0, 1))
    assert many == pytest.approx(3 * few, rel=0.05)  # a few of two authors are of one


# Bounds


def test_cases_stop_at_the_bounds_of_the_model_not_at_those_of_a_fold() -> None:
    made = fitting(part_of("one", ("one",), drawn_authors(1, 600, count=60), 1, skill=3))
    lower, upper = made.calibration.limits(made.conditions).astype(np.float32)
    factors = made.validation().log_bayes_factor
    crossed = made.crossed.astype(np.float32)
    np.testing.assert_array_equal(factors, np.clip(crossed, lower, upper))
    inside = (crossed > lower) & (crossed < upper)
    assert 0 < inside.sum() < 600
    assert len(np.unique(factors[inside])) == inside.sum()  # none is piled up at another bound


def test_bounds_are_told_of_conditions_that_enough_cases_were_found_under() -> None:
    authors = drawn_authors(2, 900, count=80)
    part, same = part_of("one", ("one",), authors, 2, skill=2), by_one(authors)
    made = fitting(part)
    bounds = made.calibration.bounds
    tokens = np.exp(part.cases.conditions.log_tokens.min(axis=1))
    for cell in bounds:
        low, high = {0: (0, 250), 250: (250, 600), 600: (600, 1_500)}[cell.tokens]
        inside = (tokens >= low) & (tokens < high)
        assert cell.same_author == (inside & same).sum() >= 100
        assert cell.different_authors == (inside & ~same).sum() >= 100
        assert (cell.texts, cell.population) == (1, 0)
    assert {cell.tokens for cell in bounds} == {0, 250}  # hardly any is longer


def test_the_calibration_tells_between_which_lengths_nearly_all_texts_lie() -> None:
    made = fitting(*of_sets(3))
    shortest, longest = made.calibration.tokens
    tokens = np.exp(made.conditions.log_tokens)
    assert tokens.min() < shortest < longest < tokens.max()
    assert 0.98 < ((tokens >= shortest) & (tokens <= longest)).mean() < 1


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
