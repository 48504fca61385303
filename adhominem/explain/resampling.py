"""How much a log Bayes factor depends on the passages that happened to be at hand.

A bootstrap: the passages of each text are drawn anew with replacement, and all is computed again.
A text drawn so has fewer different passages than the real one, and its LEV is noisier, so the drawn
Bayes factors tend to lie on one side of the real one. Their spread is what is asked for: the
interval lies around the real one, and reaches to each side in proportion to how far the draws lie
from their median.

The draws alone are too sure. Passages of one stretch of text have a subject and a mood in common,
which drawing them anew does not change, and an n-gram drawn twice counts for less than two. When
both texts are halved, the Bayes factors of the first and of the second halves differ about 1.6
times as much as the draws let expect (`benchmarks/interval.py`). So the interval is that many times
as wide. Drawing blocks of neighbouring passages does not make up for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.verify.comparison import Comparison

DRAWS = 200
WIDENED = 1.6  # times as far as the draws: see above
_LEVEL = 0.95
_FEWEST_PASSAGES = 4  # of each text: fewer tell nothing of their spread
_LEVS_AT_ONCE = 128  # of drawn texts, in memory


@dataclass(frozen=True)
class Interval:
    """Where the log Bayes factor may well lie, in nats, without bounds."""

    low: float
    high: float
    level: float  # share of the draws that it holds before it is widened
    draws: int
    seed: int


def bootstrap_interval(
    comparison: Comparison,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Interval | None:
    """The interval over passages; None where a text has too few of them."""
    passages = [[len(comparison.passages(text)) for text in side] for side in comparison.sides]
    if min(map(min, passages)) < _FEWEST_PASSAGES:
        return None
    rng = np.random.default_rng(seed)
    at_once = max(1, _LEVS_AT_ONCE // len(comparison.texts))
    batches: list[FloatArray] = []
    for at in range(0, draws, at_once):
        count = min(at_once, draws - at)
        drawn = []  # of each side: (draws, texts, lev_size)
        for side, counts in zip(comparison.sides, passages, strict=True):
            of_side = []
            for text, number in zip(side, counts, strict=True):
                even = np.full(number, 1 / number)
                times = rng.multinomial(number, even, size=count)  # (draws, passages)
                of_side.append(comparison.vary(text, times))
            drawn.append(np.stack(of_side, axis=1))
        batches.append(comparison.of_pairs(list(drawn[0]), list(drawn[1])))
        on_progress((at + count) / draws)
    values = np.concatenate(batches)
    tails = (1 - _LEVEL) / 2
    low, high = WIDENED * np.quantile(values - np.median(values), [tails, 1 - tails])
    whole = comparison.log_bayes_factor
    return Interval(float(whole + low), float(whole + high), _LEVEL, draws, seed)
