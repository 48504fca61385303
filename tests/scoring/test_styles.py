"""Texts are compared by how they depart from others of their kind, known, given or guessed."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_two_covariance import seeds

from adhominem.arrays import SparseRows
from adhominem.scoring import styles as module
from adhominem.scoring.members import PopulationPart, StyleScorer
from adhominem.scoring.styles import Styles, unit
from adhominem.scoring.two_covariance import IsotropicTwoCovariance, TwoCovariance

FloatArray = npt.NDArray[np.float64]
SIZE = 6
NAMES = ["blogs", "none of these", "sermons", "letters"]


def training_texts(size: int = SIZE, seed: int = 0) -> tuple[FloatArray, ...]:
    """LEVs, authors, and corpora: three kinds that lie apart, each author in one of them."""
    rng = np.random.default_rng(seed)
    authors = np.repeat(np.arange(45), 4)
    corpora = np.array([0, 2, 3])[authors % 3]
    kinds = 3 * rng.normal(size=(4, size))
    own = rng.normal(size=(45, size))
    return kinds[corpora] + own[authors] + 0.5 * rng.normal(size=(180, size)), authors, corpora


def fitted(size: int = SIZE, seed: int = 0) -> Styles:
    return Styles.fit(*training_texts(size, seed), NAMES)


STYLES = fitted()


def some_levs(rng: np.random.Generator, *counts: int) -> list[FloatArray]:
    """Sets of LEVs, those of each around a place of its own."""
    return [2 * rng.normal(size=SIZE) + rng.normal(size=(count, SIZE)) for count in counts]


# What is learnt


def test_the_centre_of_a_kind_is_the_mean_of_its_corpus() -> None:
    levs, _, corpora = training_texts()
    assert STYLES.genres == ("blogs", "sermons", "letters")
    for kind, centre in zip((0, 2, 3), STYLES.centres, strict=True):
        mean = sum(lev for lev, of in zip(levs, corpora, strict=True) if of == kind) / 60
        np.testing.assert_allclose(centre, mean, rtol=1e-9)


def slow_unit(lev: FloatArray) -> FloatArray:
    """Of length 1; or shorter, if it was shorter than is usual."""
    return np.asarray(lev / max(np.linalg.norm(lev), slow_usual()))


@cache
def departures() -> FloatArray:
    """(documents, lev_size): of the training texts, from the centre of their kind."""
    levs, _, corpora = training_texts()
    return levs - STYLES.centres[np.searchsorted([0, 2, 3], corpora)]


@cache
def slow_usual() -> float:
    lengths = sorted(float(np.sqrt(lev @ lev)) for lev in departures())
    place = module._USUAL * (len(lengths) - 1)
    below = int(place)
    return lengths[below] + (place - below) * (lengths[below + 1] - lengths[below])


def test_what_is_usual_is_a_quantile_of_how_far_training_texts_depart() -> None:
    assert STYLES.usual == pytest.approx(slow_usual(), rel=1e-9)
    shorter = np.mean([np.linalg.norm(lev) < STYLES.usual for lev in departures()])
    assert shorter == pytest.approx(module._USUAL, abs=0.01)


def test_the_two_covariance_model_is_that_of_what_is_left_without_the_kind() -> None:
    _, authors, _ = training_texts()
    left = np.array([slow_unit(lev) for lev in departures()])
    expected = TwoCovariance(max_iterations=30).fit(left, authors)
    pairs = left[:90], left[90:]
    np.testing.assert_allclose(
        STYLES.two_covariance.log_bayes_factor(*pairs), expected.log_bayes_factor(*pairs)
    )


def test_authors_of_one_text_do_not_count_for_the_covariances() -> None:
    levs, authors, corpora = training_texts()
    alone = authors.copy()
    alone[:3] = 45, 46, 47
    with_them = Styles.fit(levs, alone, corpora, NAMES).two_covariance
    rest = np.array([slow_unit(lev) for lev in departures()])
    without = TwoCovariance(max_iterations=30).fit(rest[4:], authors[4:])
    np.testing.assert_allclose(
        with_them.log_bayes_factor(rest[:90], rest[90:]),
        without.log_bayes_factor(rest[:90], rest[90:]),
    )


def test_in_many_dimensions_covariances_become_simpler() -> None:
    assert type(fitted(100).two_covariance) is TwoCovariance
    assert isinstance(fitted(101).two_covariance, IsotropicTwoCovariance)


# Unit length


@given(st.integers(1, 5), st.integers(1, 5), st.floats(-8, 8), seeds)
def test_unit_levs_have_length_one_and_their_direction(
    texts: int, size: int, decades: float, seed: int
) -> None:
    levs = 10**decades * np.random.default_rng(seed).normal(size=(texts, size))
    found = unit(levs)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(found * np.linalg.norm(levs, axis=1, keepdims=True), levs, rtol=1e-9)
    assert not unit(np.zeros((2, size))).any()


@given(st.integers(1, 5), st.floats(0.1, 5), seeds)
def test_what_is_shorter_than_usual_is_not_stretched(texts: int, usual: float, seed: int) -> None:
    levs = np.random.default_rng(seed).normal(size=(texts, 4))
    lengths = [float(np.linalg.norm(lev)) for lev in levs]
    expected = [min(1.0, length / usual) for length in lengths]
    found = unit(levs, usual)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), expected, rtol=1e-9)
    np.testing.assert_allclose(unit(found), unit(levs), rtol=1e-9)


# The kind: guessed, or of a population


@given(seeds, st.integers(1, 4), st.floats(-2, 3))
def test_the_guess_is_made_of_shares_and_the_nearest_kind_has_the_largest(
    seed: int, texts: int, decades: float
) -> None:
    levs = 10**decades * some_levs(np.random.default_rng(seed), texts)[0]
    shares = STYLES.guess(levs)
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert (shares >= 0).all()
    distances = [np.linalg.norm(levs.mean(axis=0) - centre) for centre in STYLES.centres]
    assert int(np.argmax(shares)) == int(np.argmin(distances))
    np.testing.assert_allclose(STYLES.guess(levs[::-1]), shares, rtol=1e-6, atol=1e-12)


def test_texts_at_a_centre_are_guessed_to_be_of_its_kind_and_one_kind_is_no_guess() -> None:
    for at, centre in enumerate(STYLES.centres):
        assert STYLES.guess(centre[None])[at] > 0.9
    only = STYLES.without("blogs").without("letters")
    assert only.genres == ("sermons",)
    assert only.guess(np.ones((1, SIZE))).tolist() == [1]


@given(seeds, st.integers(5, 40))
def test_a_population_counts_by_its_texts_and_the_guess_as_five_more(seed: int, texts: int) -> None:
    rng = np.random.default_rng(seed)
    (levs,) = some_levs(rng, 3)
    mean = rng.normal(size=SIZE)
    guess = sum(
        share * each for share, each in zip(STYLES.guess(levs), STYLES.centres, strict=True)
    )
    np.testing.assert_allclose(STYLES.centre(levs, None), guess, rtol=1e-9, atol=1e-9)
    slow = np.mean([mean] * texts + [guess] * 5, axis=0)
    np.testing.assert_allclose(STYLES.centre(levs, mean, texts), slow, rtol=1e-9, atol=1e-9)


@given(seeds)
def test_with_a_large_population_it_does_not_matter_where_a_kind_lies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = some_levs(rng, 2, 1)
    mean, shift = rng.normal(size=(2, SIZE))
    here = factors([first], [second], (mean, 10**12))
    there = factors([first + shift], [second + shift], (mean + shift, 10**12))
    np.testing.assert_allclose(here, there, rtol=1e-6, atol=1e-6)


def test_without_a_kind_it_is_as_if_it_had_never_been_known() -> None:
    fewer = STYLES.without("sermons")
    assert fewer.genres == ("blogs", "letters")
    np.testing.assert_array_equal(fewer.centres, STYLES.centres[[0, 2]])
    assert fewer.guess(STYLES.centres[1][None]).shape == (2,)
    assert STYLES.without("novels") is STYLES
    only = fewer.without("blogs")
    assert only.genres == only.without("letters").genres == ("letters",)


def test_further_kinds_come_last_and_those_of_the_same_name_are_replaced() -> None:
    novels, blogs = np.random.default_rng(6).normal(size=(2, SIZE))
    more = STYLES.with_genres({"novels": novels, "blogs": blogs})
    assert more.genres == ("sermons", "letters", "novels", "blogs")
    np.testing.assert_array_equal(more.centres, [*STYLES.centres[1:], novels, blogs])
    np.testing.assert_allclose(more.products, more.centres @ more.centres.T)
    assert more.guess(blogs[None]).argmax() == 3
    assert (more.two_covariance, more.usual) == (STYLES.two_covariance, STYLES.usual)
    assert STYLES.genres == ("blogs", "sermons", "letters")


# Scores of the full model; of the isotropic one see test_measures.py


def factors(
    first: list[FloatArray], second: list[FloatArray], population: tuple[FloatArray, int] | None
) -> FloatArray:
    """Of texts with a population that has this mean and so many texts."""
    part = None
    if population is not None:
        mean, texts = population
        part = PopulationPart(texts, mean, float(mean @ mean), mean[None])
    scorer = StyleScorer(STYLES)
    return scorer.measures(first, second, part).log_bayes_factor


@given(seeds, st.sampled_from([None, 5, 50]))
def test_a_score_is_that_of_departures_from_the_centre_of_all_texts_of_the_pair(
    seed: int, texts: int | None
) -> None:
    rng = np.random.default_rng(seed)
    first, second = some_levs(rng, 1, 3), some_levs(rng, 1, 2)
    population = None if texts is None else (rng.normal(size=SIZE), texts)
    found = factors(first, second, population)
    for at, (one, other) in enumerate(zip(first, second, strict=True)):
        centre = STYLES.centre(np.concatenate([one, other]), *(population or (None, 0)))
        sides = [np.array([slow_unit(lev - centre) for lev in side]) for side in (one, other)]
        expected = STYLES.two_covariance.log_bayes_factor([sides[0]], [sides[1]])[0]
        assert found[at] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(seeds, st.booleans())
def test_the_order_of_a_pair_does_not_matter(seed: int, given_population: bool) -> None:
    rng = np.random.default_rng(seed)
    first, second = some_levs(rng, 1, 3, 1), some_levs(rng, 1, 2, 4)
    population = (rng.normal(size=SIZE), 20) if given_population else None
    one, other = factors(first, second, population), factors(second, first, population)
    np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def test_a_style_is_the_departure_from_a_population_and_the_kind_that_it_is_like() -> None:
    levs, population = some_levs(np.random.default_rng(7), 4, 9)
    part = PopulationPart.of(population)
    mean = population.mean(axis=0)
    guess = STYLES.guess(mean[None]) @ STYLES.centres
    centre = (9 * mean + 5 * guess) / 14
    expected = np.array([slow_unit(lev - centre) for lev in levs])
    for rows in (levs, SparseRows.of(levs)):
        departures = StyleScorer(STYLES).departures(rows, part)
        np.testing.assert_allclose(departures.cosines(departures), expected @ expected.T, rtol=1e-5)
