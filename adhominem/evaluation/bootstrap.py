"""The bootstrap over authors: how far a measure depends on who happened to be in the set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adhominem.arrays import IntArray


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
    low, high = np.quantile(known, [0.025, 0.975], method="nearest")
    return float(low), float(high)
