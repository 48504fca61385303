"""Scalar products of pairs and of populations, of which the pairs' own texts are left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_three_level import made_up_genres, pairs_of
from slow_two_covariance import seeds

from adhominem.errors import OptionError
from adhominem.score import products as module
from adhominem.score.genres import Others
from adhominem.score.products import (
    Cohort,
    MemberTexts,
    PairProducts,
    PopulationPart,
    Sides,
    make_cohort,
    products,
)

SIZE = 6
GENRES = made_up_genres(SIZE)


def cohort_of(levs: np.ndarray) -> Cohort:
    return make_cohort(levs @ levs.T, levs @ GENRES.centres.T, np.zeros(len(levs)))


def products_of(first: Sides, second: Sides, population: np.ndarray | None = None) -> PairProducts:
    lengths = np.zeros((len(first), sum(max(map(len, side)) for side in (first, second))))
    part = None
    if population is not None:
        part = PopulationPart.of(population, np.zeros(len(population)))
    return PairProducts.of(*pairs_of(first, second, lengths), GENRES.centres, part)


def test_products_are_those_of_rows_however_many_columns_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_COLUMNS_AT_ONCE", 3)
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(4, 7)).astype(np.float32), rng.normal(size=(2, 7))
    slow = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in other] for x in one]
    np.testing.assert_allclose(products(one, other), slow, rtol=1e-12)


# A population


@given(st.integers(5, 12), st.integers(1, 12), seeds)
def test_a_cohort_is_known_from_means_too_and_may_be_a_part_of_the_population(
    texts: int, kept: int, seed: int
) -> None:
    levs = np.random.default_rng(seed).normal(size=(texts, SIZE)) + 1
    whole, part = cohort_of(levs), PopulationPart.of(levs, np.zeros(texts))
    mean = levs.mean(axis=0)
    few = replace(
        part,
        source=levs[:kept],
        log_tokens=part.log_tokens[:kept],
        lev_mean=mean,
        memory=[],
    )
    made = few.cohort(GENRES.centres, MemberTexts(levs, np.zeros(texts)))
    assert whole.square == pytest.approx(float(mean @ mean))
    np.testing.assert_allclose(whole.to_mean, levs @ mean)
    assert made.texts == texts
    assert made.square == pytest.approx(whole.square, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(made.mean_to_genres, whole.mean_to_genres, rtol=1e-9)
    for name in ("squares", "to_mean", "to_genres"):
        np.testing.assert_allclose(getattr(made, name), getattr(whole, name)[:kept], atol=1e-8)


@given(st.integers(5, 12), st.integers(1, 3), st.integers(1, 3), seeds)
def test_texts_of_a_pair_that_stand_in_the_population_are_left_out_of_it(
    texts: int, inside: int, outside: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    levs = rng.normal(size=(texts + inside, SIZE)) + 1
    pair = np.concatenate([levs[:inside], rng.normal(size=(outside, SIZE))])
    pair = pair[rng.permutation(len(pair))]

    def others(population: np.ndarray) -> Others:
        return Others.of(products_of([pair[:1]], [pair[1:]], population), cohort_of(population))

    made, expected = others(levs[rng.permutation(len(levs))]), others(levs[inside:])
    assert made.texts == expected.texts == texts
    assert made.inside.sum() == inside
    assert not expected.inside.any()
    assert expected.kept.all()
    for name in ("square", "to_mean", "mean_to_genres"):
        np.testing.assert_allclose(getattr(made, name), getattr(expected, name), atol=1e-8)
    np.testing.assert_allclose(
        np.sort(made.cohort_to_mean[made.kept]), np.sort(expected.cohort_to_mean[0]), atol=1e-8
    )


def test_a_text_counts_as_often_as_the_pair_and_the_population_both_have_it() -> None:
    rng = np.random.default_rng(5)
    text, others = rng.normal(size=(1, SIZE)), rng.normal(size=(6, SIZE))
    population = np.concatenate([text, others[:3], text, others[3:]])
    for first, second in ((text, others[:1]), (text, text)):
        made = Others.of(products_of([first], [second], population), cohort_of(population))
        gone = np.isclose(population[:, None], np.concatenate([first, second])).all(2).any(1)
        left = population[~gone]
        assert made.texts == len(left)
        np.testing.assert_array_equal(made.kept[0], ~gone)
        np.testing.assert_allclose(made.square, float(np.square(left.mean(axis=0)).sum()))
        assert made.inside.sum() == gone.sum()


def test_a_population_of_which_too_little_would_be_left_stays_whole() -> None:
    levs = np.random.default_rng(0).normal(size=(5, SIZE))
    made = Others.of(products_of([levs[:2]], [levs[2:4]], levs), cohort_of(levs))
    assert made.texts == 5
    assert made.kept.all()
    assert made.square == pytest.approx(cohort_of(levs).square)


# Products of pairs


def test_pairs_of_a_table_have_the_products_of_the_same_levs() -> None:
    rng = np.random.default_rng(1)
    levs = rng.normal(size=(15, SIZE))
    first, second = np.array([[0, 1], [4, 2]]), np.array([[3, 5, 6], [7, 8, 9]])
    chosen = np.arange(10, 15)
    texts = MemberTexts(levs, np.zeros(15)).with_products(GENRES.centres)
    for population in (None, chosen):
        part = None if population is None else PopulationPart.among(texts, population)
        made = PairProducts.of(texts, first, second, GENRES.centres, part)
        slow = products_of(
            list(levs[first]), list(levs[second]), None if population is None else levs[population]
        )
        np.testing.assert_array_equal(made.in_side, slow.in_side)
        for name in ("between", "to_genres", "to_mean", "to_cohort"):
            np.testing.assert_allclose(getattr(made, name), getattr(slow, name), atol=1e-12)


def test_of_pairs_with_fewer_texts_what_is_missing_is_in_neither_side() -> None:
    rng = np.random.default_rng(2)
    first = [rng.normal(size=(count, SIZE)) for count in (1, 3)]
    second = [rng.normal(size=(count, SIZE)) for count in (2, 1)]
    made = products_of(first, second)
    one, other = ([[bool(x) for x in row] for row in side] for side in made.in_side)
    assert one == [[True, False, False, False, False], [True, True, True, False, False]]
    assert other == [[False, False, False, True, True], [False, False, False, True, False]]
    assert not made.between[0, 1:3].any()
    assert made.to_mean.shape == (2, 5)
    assert made.to_cohort.shape == (2, 5, 0)


def test_a_table_with_other_genres_is_as_if_it_were_made_of_them() -> None:
    texts = MemberTexts(np.random.default_rng(3).normal(size=(4, SIZE)), np.zeros(4))
    fewer = GENRES.centres[1:]
    made = texts.with_products(fewer, texts.with_products(GENRES.centres))
    expected = texts.with_products(fewer)
    np.testing.assert_array_equal(made.to_genres, expected.to_genres)
    np.testing.assert_array_equal(made.between, expected.between)


def test_what_is_no_number_and_sides_without_texts_are_refused() -> None:
    levs = np.random.default_rng(4).normal(size=(4, SIZE))
    with pytest.raises(OptionError, match="a side without documents"):
        products_of([levs[:0]], [levs[:1]])
    levs[1, 2] = np.nan
    with pytest.raises(OptionError, match="a LEV is not finite"):
        products_of([levs], [levs])
    with pytest.raises(OptionError, match="a LEV is not finite"):
        MemberTexts(levs, np.zeros(4)).with_products(GENRES.centres)
