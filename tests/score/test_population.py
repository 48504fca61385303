"""A relevant population is a mean, and how many texts it is of."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem import Document, Population
from adhominem.errors import OptionError
from adhominem.score.population import distinct_levs


def test_the_mean_is_that_of_all_texts_with_all_digits() -> None:
    levs = (1e4 + np.random.default_rng(0).normal(size=(3000, 4))).astype(np.float32)
    population = Population.of(levs)
    assert population.texts == 3000
    assert population.lev_mean.dtype == np.float64
    expected = [sum(column.tolist()) / 3000 for column in levs.T]
    np.testing.assert_allclose(population.lev_mean, expected, rtol=1e-12)


@pytest.mark.parametrize("texts", [7, 200, 900])
def test_texts_are_kept_up_to_some_hundred_from_all_over_the_population(texts: int) -> None:
    levs = np.random.default_rng(texts).normal(size=(texts, 4)).astype(np.float32)
    population = Population.of(levs)
    assert len(population.cohort) == min(texts, 200)
    places = [int(np.flatnonzero((levs == lev).all(axis=1))[0]) for lev in population.cohort]
    assert places == sorted(set(places))
    assert (places[0], places[-1]) == (0, texts - 1)
    assert max(np.diff(places)) <= 1 + texts // 200


def test_fewer_than_five_texts_are_refused() -> None:
    assert Population.of(np.eye(5)).texts == 5
    for few in (np.eye(4), np.zeros((0, 4)), np.array([])):
        with pytest.raises(OptionError, match=f"has {len(few)} different texts; expected 5"):
            Population.of(few)


def test_a_lev_that_occurs_twice_counts_once() -> None:
    levs = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)
    once, twice = Population.of(levs), Population.of(levs[[0, 3, 1, 2, 3, 3, 4, 5, 0, 6, 7]])
    assert twice.texts == once.texts == 8
    np.testing.assert_allclose(twice.lev_mean, once.lev_mean, rtol=1e-12)
    assert not np.allclose(once.lev_mean, levs[[*range(8), 0, 0]].mean(axis=0))
    with pytest.raises(OptionError, match="has 4 different texts"):
        Population.of(levs[[0, 1, 2, 3, 3, 2, 1]])
    with pytest.raises(OptionError, match="has 1 different text;"):
        Population.of(levs[[5] * 10])


@given(st.lists(st.integers(0, 6)))
def test_of_several_levs_that_are_the_same_the_first_stays_where_it_was(numbers: list[int]) -> None:
    levs = np.array([[number, -number] for number in numbers], np.float32).reshape(-1, 2)
    assert distinct_levs(levs).tolist() == [[each, -each] for each in dict.fromkeys(numbers)]


def test_a_lev_that_is_almost_the_same_is_another_text() -> None:
    levs = np.ones((2, 3), np.float32)
    levs[1, 2] = np.nextafter(np.float32(1), np.float32(2))
    assert len(distinct_levs(levs)) == 2


def test_each_text_is_by_somebody_else_unless_it_is_known_better() -> None:
    population = Population.of(np.random.default_rng(2).normal(size=(50, 4)))
    assert population.authors == 50
    assert replace(population, seeming_authors=12.5).authors == 12.5


def test_texts_are_listed_as_often_as_they_count() -> None:
    levs = np.random.default_rng(3).normal(size=(7, 4)).astype(np.float32)
    texts = ["Call me Ishmael.", Document(text="It was he.", id="he"), *"abcde"]
    population = Population.of(levs[[0, 1, 2, 1, 3, 4, 5, 6]], [*texts[:3], texts[1], *texts[3:]])
    assert [text.name for text in population.material[:3]] == ["population-1", "he", "population-3"]
    assert [text.words for text in population.material[:3]] == [3, 3, 1]
    assert population.material[0].sha256 == sha256(b"Call me Ishmael.").hexdigest()
    assert len(population.material) == len(population.prints) == population.texts == 7
    with pytest.raises(OptionError, match="7 LEVs of 2 texts"):
        Population.of(levs, texts[:2])
