"""What a member says of a pair, against one pair at a time with vectors written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_measures import (
    NAMES,
    FloatArray,
    assert_same,
    made_up_styles,
    slow_measures,
    texts_of,
)
from slow_two_covariance import seeds

from adhominem.scoring import members as members_module
from adhominem.scoring import rows as rows_module
from adhominem.scoring.measures import Measures
from adhominem.scoring.members import PopulationPart, StyleScorer

SIZE = 24
STYLES = made_up_styles(SIZE)
SCORER = StyleScorer(STYLES)
counts = st.integers(1, 4)
sizes = st.sampled_from([None, 5, 6, 12])  # of a population


def population_of(rng: np.random.Generator, texts: int | None) -> FloatArray | None:
    if texts is None:
        return None
    return np.concatenate([texts_of(rng, STYLES, 1, int(rng.integers(2))) for _ in range(texts)])


def measured(
    first: list[FloatArray],
    second: list[FloatArray],
    population: FloatArray | None,
    scorer: StyleScorer = SCORER,
) -> Measures:
    part = None if population is None else PopulationPart.of(population)
    return scorer.measures(first, second, part)


def sides_of(rng: np.random.Generator, *sizes_of_sides: int) -> list[FloatArray]:
    return [texts_of(rng, STYLES, count, int(rng.integers(3))) for count in sizes_of_sides]


# Each measure


@given(counts, counts, sizes, seeds)
def test_the_measures_are_those_of_vectors_written_out(
    known: int, questioned: int, texts: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first, second = sides_of(rng, known, questioned)
    population = population_of(rng, texts)
    made = measured([first], [second], population)
    expected = slow_measures(STYLES, first, second, population)
    for name in NAMES:
        assert getattr(made, name)[0] == pytest.approx(expected[name], rel=1e-7, abs=1e-7), name


@given(counts, counts, st.integers(1, 4), seeds)
def test_a_text_in_its_own_population_is_measured_as_if_it_were_not(
    known: int, questioned: int, inside: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first, second = sides_of(rng, known, questioned)
    population = population_of(rng, 6)
    assert population is not None
    texts = np.concatenate([first, second])[:inside]
    made = measured([first], [second], np.concatenate([texts, population]))
    expected = slow_measures(STYLES, first, second, population)
    for name in NAMES:
        assert getattr(made, name)[0] == pytest.approx(expected[name], rel=1e-6, abs=1e-6), name


@given(seeds)
def test_a_cohort_that_is_a_part_of_the_population_stands_for_all_of_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    population = population_of(rng, 12)
    assert population is not None
    whole = PopulationPart.of(population)
    part = PopulationPart(whole.texts, whole.mean, whole.mean_square, population[::2])
    first, second = sides_of(rng, 2, 1)
    made = SCORER.measures([first], [second], part)
    expected = measured([first], [second], population)
    for name in set(NAMES) - {"standing", "spread"}:  # which have the deviation of fewer texts
        np.testing.assert_allclose(getattr(made, name), getattr(expected, name), rtol=1e-9)
    assert made.standing != pytest.approx(expected.standing, rel=1e-6)
    assert made.spread != pytest.approx(expected.spread, rel=1e-6)


@given(seeds)
def test_one_text_a_side_has_no_agreement_and_no_population_no_misfit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = sides_of(rng, 1, 1)
    assert measured([first], [second], population_of(rng, 5)).agreement.tolist() == [0]
    assert measured([first], [second], None).misfit.tolist() == [0]


def test_texts_of_one_side_that_are_alike_agree() -> None:
    rng = np.random.default_rng(0)
    known, questioned = sides_of(rng, 4, 1)
    alike = known[:1] + 0.05 * rng.normal(size=known.shape)
    made = measured([alike, known], [questioned, questioned], None)
    assert made.agreement[0] > made.agreement[1] + 0.5


def test_a_population_of_another_genre_is_strange_and_one_of_the_same_is_not() -> None:
    rng = np.random.default_rng(1)
    first = [texts_of(rng, STYLES, 1, 0) for _ in range(50)]
    second = [texts_of(rng, STYLES, 1, 0) for _ in range(50)]
    same, other = (
        np.concatenate([texts_of(rng, STYLES, 1, genre) for _ in range(30)]) for genre in (0, 1)
    )
    strange, usual = (measured(first, second, texts).misfit for texts in (other, same))
    assert strange.min() > usual.max()
    assert strange.min() > 0


@pytest.mark.parametrize("texts", [5, 20, 100])
def test_unrelated_texts_stand_at_zero_whatever_the_size_of_the_population(texts: int) -> None:
    rng = np.random.default_rng(texts)
    styles = replace(made_up_styles(40), usual=0.1)
    standing = []
    for _ in range(400):
        # the genre lies elsewhere than the model thinks: what is learnt is the population's
        place = 0.3 * rng.normal(size=40) + styles.centres[0]
        population, pair = (place + 0.4 * rng.normal(size=(n, 40)) for n in (texts, 2))
        made = measured([pair[:1]], [pair[1:]], population, StyleScorer(styles))
        standing.append(float(made.standing[0]))
    assert np.mean(standing) == pytest.approx(0, abs=0.2)


@pytest.mark.parametrize("texts", [5, 20, 100])
def test_texts_at_the_very_centre_stand_nowhere_that_no_cosine_can(texts: int) -> None:
    rng = np.random.default_rng(texts)
    for _ in range(50):
        population = STYLES.centres[0] + rng.normal(size=(texts, SIZE))
        centre = STYLES.centre(population, population.mean(axis=0), texts)
        pair = centre + 0.01 * rng.normal(size=(2, SIZE))
        made = measured([pair[:1]], [pair[1:]], population)
        usual = 17.0**-0.5 * (10 / (texts + 10)) ** 0.5  # the least that a deviation can be
        assert abs(made.standing[0]) <= 2 / usual
        assert made.remoteness[0] >= 4 * np.log(0.05 * STYLES.usual) - 1e-9


# What does not matter


@given(counts, counts, sizes, seeds)
def test_the_order_of_a_pair_and_that_of_its_texts_do_not_matter(
    known: int, questioned: int, texts: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first, second = sides_of(rng, known, questioned)
    population = population_of(rng, texts)
    made = measured([first], [second], population)
    assert_same(measured([second], [first], population), made)
    assert_same(measured([first[::-1]], [second[::-1]], population), made)
    if population is not None:
        assert_same(measured([first], [second], population[::-1]), made)


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=5), sizes, seeds)
def test_pairs_with_different_numbers_of_texts_get_what_each_gets_alone(
    numbers: list[tuple[int, int]], texts: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    first = sides_of(rng, *(known for known, _ in numbers))
    second = sides_of(rng, *(questioned for _, questioned in numbers))
    population = population_of(rng, texts)
    alone = [measured([one], [other], population) for one, other in zip(first, second, strict=True)]
    assert_same(measured(first, second, population), Measures.joined(alone))


@given(st.integers(2, 7), sizes, seeds)
@settings(max_examples=50)
def test_all_pairs_and_pairs_by_number_get_what_given_pairs_get(
    texts: int, size: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    levs = np.concatenate(sides_of(rng, *[1] * texts))
    population = population_of(rng, size)
    first, second = np.triu_indices(texts, 1)
    expected = measured(list(levs[first]), list(levs[second]), population)
    part = None if population is None else PopulationPart.of(population)
    assert_same(SCORER.all_pairs(levs, part, lambda count: None), expected)
    everything = levs if population is None else np.concatenate([levs, population])
    table = SCORER.table(everything, None)
    chosen = None if population is None else np.arange(texts, len(everything))
    by_number = SCORER.measures_among(table, first[:, None], second[:, None], chosen)
    assert_same(by_number, expected)


@given(counts, counts, sizes, seeds)
@settings(max_examples=50)
def test_sides_of_several_texts_by_number_get_what_the_same_levs_get(
    known: int, questioned: int, size: int | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    levs = np.concatenate([*sides_of(rng, 6, 6), *sides_of(rng, *[1] * 12)])
    first = np.array([rng.permutation(6)[:known] for _ in range(3)])
    second = np.array([6 + rng.permutation(6)[:questioned] for _ in range(3)])
    chosen = None if size is None else np.arange(12, 12 + size)
    made = SCORER.measures_among(SCORER.table(levs, None), first, second, chosen)
    population = None if chosen is None else levs[chosen]
    assert_same(made, measured(list(levs[first]), list(levs[second]), population))


@pytest.mark.parametrize("texts", [None, 20])
def test_how_many_columns_and_pairs_are_taken_at_once_does_not_matter(
    texts: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    levs, population = np.concatenate(sides_of(rng, *[1] * 8)), population_of(rng, texts)
    part = None if population is None else PopulationPart.of(population)
    expected = SCORER.all_pairs(levs, part, lambda count: None)
    monkeypatch.setattr(members_module, "_PAIRS_AT_ONCE", 6)
    monkeypatch.setattr(rows_module, "_COLUMNS_AT_ONCE", 3)
    told: list[int] = []
    assert_same(SCORER.all_pairs(levs, part, told.append), expected)
    assert sum(told) == len(expected) == 28
    assert max(told) == (6 if texts is None else 3)  # fewer beside a cohort


# Forms


def test_measures_are_cut_and_joined_by_pairs() -> None:
    rng = np.random.default_rng(3)
    made = measured(sides_of(rng, *[2] * 9), sides_of(rng, *[1] * 9), population_of(rng, 6))
    parts = [made[:4], made[slice(4, 5)], made[np.arange(9) >= 5]]
    assert [len(part) for part in parts] == [4, 1, 4]
    assert_same(Measures.joined(parts), made, 0)


def test_a_member_that_knows_nothing_else_stands_by_its_log_bayes_factors() -> None:
    made = Measures.of_factors(np.array([1.0, -2.0]))
    assert made.standing.tolist() == made.log_bayes_factor.tolist() == [1, -2]
    for name in ("agreement", "remoteness", "kinship", "misfit", "spread"):
        assert getattr(made, name).tolist() == [0, 0]
