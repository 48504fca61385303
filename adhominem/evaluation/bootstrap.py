"""How sure a measure is: how far it depends on which authors, or cases, happened to be there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lgamma

import numpy as np

from adhominem.arrays import IntArray

_TAIL = 0.025  # on either side of a 95% interval
_HALVINGS = 50  # of where an end of an exact interval lies


def resampled(
    order: IntArray, authors: Sequence[tuple[str, str]] | None, resamples: int, seed: int
) -> Iterator[IntArray]:
    """The pairs of each resample, in this order, each as often as it was drawn; at times none.

    `authors` names the two authors of each pair: authors are drawn, and a pair comes as often as
    its author was, or as its two authors meet. Without them, pairs are drawn.
    """
    rng = np.random.default_rng(seed)
    numbers: IntArray | None = None  # (pairs, 2)
    count = len(order)
    if authors is not None:
        names = sorted({name for pair in authors for name in pair})
        place = {name: at for at, name in enumerate(names)}
        numbers = np.array([[place[first], place[second]] for first, second in authors])
        count = len(names)
    for _ in range(resamples):
        times = rng.multinomial(count, np.full(count, 1 / count))
        if numbers is not None:
            first, second = times[numbers].T
            times = np.where(numbers[:, 0] == numbers[:, 1], first, first * second)
        yield np.repeat(order, times[order])


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The middle 95% of what the resamples gave; those without one of the classes tell nothing."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [_TAIL, 1 - _TAIL], method="nearest")
    return float(low), float(high)


def exact_interval(count: int, of: int) -> tuple[float, float]:
    """The exact 95% interval of the rate of something that was seen so often (Clopper, Pearson).

    Its ends are the rates by which as much, or as little, is seen in one of 40 such sets of cases.
    It holds for cases that are independent of each other.
    """
    low = 0.0 if count == 0 else _rate_of(count, of)
    high = 1.0 if count == of else 1 - _rate_of(of - count, of)
    return low, high


def _rate_of(count: int, of: int) -> float:
    """The rate by which something is seen so often, or oftener, with the chance of a tail."""
    seen = np.arange(count, of + 1)
    ways = np.array([lgamma(of + 1) - lgamma(k + 1) - lgamma(of - k + 1) for k in seen.tolist()])
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        rate = (low + high) / 2
        chance = np.exp(ways + seen * np.log(rate) + (of - seen) * np.log1p(-rate)).sum()
        low, high = (rate, high) if chance < _TAIL else (low, rate)
    return (low + high) / 2
