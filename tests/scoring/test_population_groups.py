"""Whether texts fall apart into two groups, as texts of two genres do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adhominem.scoring.styles import Group, Styles
from adhominem.scoring.two_covariance import TwoCovariance

GROUPED = Styles(
    ("blogs", "letters", "sermons"),
    np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]),
    TwoCovariance.from_precisions(np.zeros(4), np.eye(4), np.eye(4)),
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
    alone = replace(GROUPED, genres=("blogs",), centres=np.zeros((1, 4)))
    assert alone.groups(np.repeat(np.eye(4), 20, axis=0)) == ()
