"""The sides of pairs, in the forms that they come in: one text each, or sets of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import numpy as np

from adhominem.arrays import AnyLevs, FloatArray, IntArray, Levs, joined

Sides = AnyLevs | Sequence[AnyLevs]  # (pairs, lev_size), one text a side; or sets of LEVs


def _is_table(sides: Sides) -> bool:
    """Whether each side has one text, and all are one table."""
    return isinstance(sides, np.ndarray | Levs) and sides.ndim == 2


def set_of(levs: AnyLevs) -> AnyLevs:
    """(texts, lev_size): of several texts, or of one."""
    return levs if isinstance(levs, Levs) else np.atleast_2d(levs)


def table_of(sides: Sides) -> AnyLevs | None:
    """(pairs, lev_size), if each side has one text."""
    if _is_table(sides):
        return cast(AnyLevs, sides)
    sets = [set_of(levs) for levs in _one_by_one(sides)]
    if not sets or any(len(levs) != 1 for levs in sets):
        return None
    return sets[0] if len(sets) == 1 else joined(sets)


def pairs_of(first: Sides, second: Sides) -> Iterator[tuple[AnyLevs, AnyLevs]]:
    """Both sides of each pair."""
    return zip(_one_by_one(first), _one_by_one(second), strict=True)


def _one_by_one(sides: Sides) -> Iterable[AnyLevs]:
    """(texts, lev_size) of each pair, or (lev_size,)."""
    if isinstance(sides, Levs):
        return (sides.chosen(slice(at, at + 1)) for at in range(len(sides)))
    return sides


def some_of(sides: Sides, chosen: IntArray) -> Sides:
    """Those of some pairs, by their numbers (chosen,)."""
    if isinstance(sides, np.ndarray | Levs):
        return cast(Sides, sides[chosen])
    return [sides[at] for at in chosen.tolist()]


def texts_and_lengths(sides: Sides) -> tuple[FloatArray, FloatArray]:
    """Twice (pairs,): how many texts a side has, and the mean of their log tokens."""
    if _is_table(sides):
        return np.ones(len(sides)), log_tokens_of(cast(AnyLevs, sides))
    sets = [set_of(levs) for levs in sides]
    means = [float(levs[:, -1].mean()) if len(levs) else 0.0 for levs in sets]
    return np.array([float(len(levs)) for levs in sets]), np.array(means)


def log_tokens_of(levs: AnyLevs) -> FloatArray:
    """(documents,): the last number of LEVs, the logarithm of how many tokens there are."""
    return np.asarray(levs[:, -1], np.float64)
