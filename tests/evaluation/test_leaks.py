"""The leak check: it flags sets that give their labels away, and no others."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from adhominem.evaluation.measures import Leak, check_leaks

Flags = npt.NDArray[np.bool_]


def check(
    same_author: Flags,
    same_topic: Flags | None = None,
    first_length: npt.NDArray[np.int64] | None = None,
    second_length: npt.NDArray[np.int64] | None = None,
    seed: int = 0,
) -> dict[str, Leak]:
    """The leaks by name; what is not given has nothing to do with the label."""
    rng = np.random.default_rng(seed)
    count = len(same_author)
    leaks = check_leaks(
        same_author=same_author,
        same_topic=rng.random(count) < 0.3 if same_topic is None else same_topic,
        first_length=rng.integers(50, 3000, count) if first_length is None else first_length,
        second_length=rng.integers(50, 3000, count) if second_length is None else second_length,
    )
    return {leak.name: leak for leak in leaks}


def flagged(leaks: dict[str, Leak]) -> set[str]:
    return {name for name, leak in leaks.items() if leak.leaks}


def half(count: int) -> Flags:
    return np.arange(count) % 2 == 0


def test_the_fandom_leak_of_pan_2020_is_flagged() -> None:
    # No same-author pair shares its fandom, and 18 in 100 of the different-author pairs do.
    same_author = half(4000)
    rng = np.random.default_rng(0)
    same_topic = ~same_author & (rng.random(4000) < 0.18)
    leaks = check(same_author, same_topic)
    assert flagged(leaks) == {"same topic"}
    assert leaks["same topic"].auc == pytest.approx(0.5 - 0.18 / 2, abs=0.01)


def test_the_leak_is_flagged_the_other_way_round_too() -> None:
    same_author = half(4000)
    same_topic = same_author & (np.random.default_rng(0).random(4000) < 0.18)
    leaks = check(same_author, same_topic)
    assert flagged(leaks) == {"same topic"}
    assert leaks["same topic"].auc > 0.5


@pytest.mark.parametrize("count", [40, 400, 4000])
def test_clean_sets_are_seldom_flagged_however_small(count: int) -> None:
    flags = [name for seed in range(100) for name in flagged(check(half(count), seed=seed))]
    assert len(flags) <= 24  # three properties, two standard errors: 14 by chance at the most


def test_large_clean_sets_are_never_flagged() -> None:
    assert not any(flagged(check(half(4000), seed=seed)) for seed in range(20))


def test_lengths_that_are_alike_in_same_author_pairs_are_flagged() -> None:
    rng = np.random.default_rng(1)
    same_author = half(1000)
    first = rng.integers(100, 3000, 1000)
    alike = (first * rng.uniform(0.7, 1.4, 1000)).astype(np.int64)
    second = np.where(same_author, alike, rng.permutation(first))
    leaks = check(same_author, None, first, second)
    assert leaks["like lengths"].leaks
    assert leaks["like lengths"].auc > 0.7


def test_short_texts_in_one_class_are_flagged() -> None:
    rng = np.random.default_rng(2)
    same_author = half(1000)
    longest = np.where(same_author, 1000, 3000)
    first, second = rng.integers(100, longest), rng.integers(100, longest)
    leaks = check(same_author, None, first, second)
    assert flagged(leaks) == {"shorter text's length"}
    assert leaks["shorter text's length"].auc < 0.4


def test_which_text_comes_first_makes_no_difference() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.integers(1, 100, 50), rng.integers(1, 100, 50)
    topics = rng.random(50) < 0.5
    assert check(half(50), topics, first, second) == check(half(50), topics, second, first)


def test_a_set_without_topics_has_no_topic_leak() -> None:
    assert check(half(100), np.zeros(100, bool))["same topic"].auc == 0.5


@pytest.mark.parametrize("same_author", [np.ones(5, bool), np.zeros(5, bool), np.ones(0, bool)])
def test_one_class_alone_gives_nothing_away(same_author: Flags) -> None:
    leaks = check(same_author)
    assert all(math.isnan(leak.auc) for leak in leaks.values())
    assert not flagged(leaks)
