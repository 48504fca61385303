"""What chance brings up: counted where it was seen, extrapolated beyond."""

from __future__ import annotations

import numpy as np
import pytest

from adhominem.index.searcher import Chance, tail


def made(pairs: np.ndarray, trials: np.ndarray, texts: int = 1_000) -> Chance:
    nothing = np.zeros(len(trials), np.int64)
    return Chance(texts, True, pairs, trials, nothing, nothing)


def test_strong_false_hits_are_counted_in_searches_and_weak_ones_by_pairs() -> None:
    trials = np.array([[3.0, 2.0, 1.0], [2.5, 1.5, 1.2]])  # three hits a search
    chance = made(np.array([0.0, 0.0, 1.1, 2.1]), trials)
    assert chance.expected(2.0, 1_000) == (1.5, "searches")
    assert chance.expected(2.0, 2_000) == (3.0, "searches")
    # More than three may have 1.1 or more: the lists end above it.
    assert chance.expected(1.1, 1_000) == (500.0, "pairs")


def test_the_tail_is_what_was_seen_and_falls_on_beyond() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.exponential(size=20_000)
    points = np.array([0.5, 2.0, 5.0, 8.0])
    assert tail(drawn, points) == pytest.approx(np.exp(-points), rel=0.4)
    assert (np.diff(tail(drawn, np.linspace(0, 12, 200))) <= 1e-12).all()


def test_a_few_pairs_by_one_person_do_not_make_chance_look_stronger() -> None:
    drawn = np.random.default_rng(0).exponential(size=4_000)
    mixed = np.append(drawn, np.linspace(8, 20, 20))  # 1 in 200
    points = np.array([5.0, 8.0])
    assert (tail(mixed, points) < 5 * tail(drawn, points)).all()


def test_what_is_written_is_read_again() -> None:
    chance = made(np.array([1.0, 2.0]), np.array([[3.0]]))
    again = Chance.from_arrays(chance.arrays())
    assert again.texts == 1_000
    assert again.known_authors
    assert again.trials.tolist() == [[3.0]]
