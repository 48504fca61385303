"""The genres that a model knows: centres, the directions they differ in, groups of texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_three_level import made_up_genres
from slow_two_covariance import seeds

from adhominem.score.genres import Genres, Group

FloatArray = npt.NDArray[np.float64]
SIZE = 6
NAMES = ["blogs", "none of these", "sermons", "letters"]


def training_texts() -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """LEVs and corpora: three genres that lie apart."""
    rng = np.random.default_rng(0)
    corpora = np.array([0, 2, 3])[np.arange(180) % 3]
    return 3 * rng.normal(size=(4, SIZE))[corpora] + rng.normal(size=(180, SIZE)), corpora


LEVS, CORPORA = training_texts()
FITTED = Genres.fit(LEVS, CORPORA, NAMES)

# What is learnt


def test_the_centre_of_a_genre_is_the_mean_of_its_corpus() -> None:
    assert FITTED.names == ("blogs", "sermons", "letters")
    assert len(FITTED) == 3
    for corpus, centre in zip((0, 2, 3), FITTED.centres, strict=True):
        mean = sum(lev for lev, of in zip(LEVS, CORPORA, strict=True) if of == corpus) / 60
        np.testing.assert_allclose(centre, mean, rtol=1e-9)


def test_half_of_the_training_texts_are_nearer_to_their_centre_than_is_usual() -> None:
    place = {0: 0, 2: 1, 3: 2}
    lengths = [
        np.linalg.norm(lev - FITTED.centres[place[corpus]])
        for lev, corpus in zip(LEVS, CORPORA.tolist(), strict=True)
    ]
    assert pytest.approx(np.median(lengths)) == FITTED.usual
    assert np.mean(np.array(lengths) < FITTED.usual) == 0.5


# Directions


@given(st.integers(1, 5), seeds)
def test_genres_differ_in_one_direction_less_than_there_are(number: int, seed: int) -> None:
    genres = made_up_genres(SIZE, number, seed)
    assert genres.directions == max(1, number - 1)
    assert genres.variances.shape == (genres.directions,)
    assert genres.places.shape == (number, genres.directions)


def test_genres_on_a_line_differ_in_one_direction() -> None:
    centres = np.outer([0.0, 1, 3, 10], np.arange(1.0, SIZE + 1)) + 5
    genres = Genres(("a", "b", "c", "d"), centres, 2.0)
    assert genres.directions == 1
    np.testing.assert_allclose(np.ptp(genres.places), 10 * np.linalg.norm(np.arange(7)) / 2)
    same = Genres(("a", "b"), np.ones((2, SIZE)), 1.0)
    assert same.directions == 1
    assert not same.places.any()


@given(st.integers(2, 5), seeds)
def test_coordinates_are_projections_on_the_main_axes_of_the_centres(
    number: int, seed: int
) -> None:
    genres = made_up_genres(SIZE, number, seed)
    basis, size = genres.basis, number - 1
    np.testing.assert_allclose(basis @ basis.T, np.eye(size), atol=1e-8)
    levs = np.random.default_rng(seed).normal(size=(7, SIZE)) + 2
    expected = (levs - genres.middle) @ basis.T / genres.usual
    found = genres.coordinates(levs @ genres.centres.T)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(genres.to_middle(levs @ genres.centres.T), levs @ genres.middle)
    assert genres.middle_square == pytest.approx(float(genres.middle @ genres.middle))
    # All that the centres differ in is there, the direction of the largest variance first.
    apart = genres.centres - genres.middle
    np.testing.assert_allclose(genres.places @ basis * genres.usual, apart, atol=1e-8)
    covariance = genres.places.T @ genres.places / number
    np.testing.assert_allclose(covariance, np.diag(genres.variances), atol=1e-8)
    assert (np.diff(genres.variances) <= 1e-12).all()


def test_who_knows_one_genre_has_one_direction_in_which_nothing_lies() -> None:
    genres = made_up_genres(SIZE, 1)
    assert genres.directions == 1
    levs = np.random.default_rng(0).normal(size=(3, SIZE))
    assert genres.coordinates(levs @ genres.centres.T).tolist() == [[0]] * 3
    assert genres.variances.tolist() == [0]


# Other genres


def test_without_a_genre_it_is_as_if_it_had_never_been_known() -> None:
    fewer = FITTED.without("sermons")
    assert fewer.names == ("blogs", "letters")
    np.testing.assert_array_equal(fewer.centres, FITTED.centres[[0, 2]])
    np.testing.assert_array_equal(fewer.middle, FITTED.centres[[0, 2]].mean(axis=0))
    assert fewer.usual == FITTED.usual
    assert FITTED.without("novels") is FITTED
    only = fewer.without("blogs")
    assert only.names == only.without("letters").names == ("letters",)


def test_further_genres_come_last_and_those_of_the_same_name_are_replaced() -> None:
    novels, blogs = np.random.default_rng(6).normal(size=(2, SIZE))
    more = FITTED.with_centres({"novels": novels, "blogs": blogs})
    assert more.names == ("sermons", "letters", "novels", "blogs")
    np.testing.assert_array_equal(more.centres, [*FITTED.centres[1:], novels, blogs])
    assert more.usual == FITTED.usual
    assert more.directions == 3
    assert more.nearest(blogs[None]) == "blogs"
    assert FITTED.names == ("blogs", "sermons", "letters")


@given(seeds, st.integers(1, 6))
def test_the_nearest_genre_is_that_of_the_centre_nearest_to_the_mean(seed: int, texts: int) -> None:
    levs = 3 * np.random.default_rng(seed).normal(size=(texts, SIZE))
    mean = sum(levs) / texts
    distances = {
        name: float(np.linalg.norm(mean - centre))
        for name, centre in zip(FITTED.names, FITTED.centres, strict=True)
    }
    assert FITTED.nearest(levs) == min(distances, key=distances.__getitem__)


# Texts that fall apart into two groups, as texts of two genres do

GROUPED = Genres(
    ("blogs", "letters", "sermons"),
    np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]),
    1.0,
)


def test_texts_around_one_centre_are_one_group() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert GROUPED.groups(rng.normal(size=(60, 4)) * [0.3, 0.3, 3, 3]) == ()


def test_texts_around_two_centres_far_apart_are_two_groups_the_larger_one_first() -> None:
    levs = np.random.default_rng(0).normal(size=(40, 4)) * [0.1, 0.1, 1, 1]
    levs[:10] += GROUPED.centres[1]
    levs[10:] += GROUPED.centres[2]
    groups = (Group(share=0.75, genre="sermons"), Group(share=0.25, genre="letters"))
    assert GROUPED.groups(levs) == GROUPED.groups(levs[::-1]) == groups
    # Too near for two genres, too few, and apart in what genres do not differ in.
    assert GROUPED.groups(levs * [0.4, 0.4, 1, 1]) == ()
    assert GROUPED.groups(levs[::3]) == ()
    assert GROUPED.groups(levs[:, [2, 3, 0, 1]] * 0.1) == ()


def test_texts_that_are_spread_evenly_are_one_group() -> None:
    levs = np.zeros((50, 4))
    levs[:, 0] = np.linspace(0, 9, 50)  # as over two centuries
    assert GROUPED.groups(levs) == ()


def test_who_knows_one_genre_sees_no_groups() -> None:
    alone = replace(GROUPED, names=("blogs",), centres=np.zeros((1, 4)))
    assert alone.groups(np.repeat(np.eye(4), 20, axis=0)) == ()
