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
import numpy.typing as npt

from adhominem.explain.sides import Sides

FloatArray = npt.NDArray[np.float64]

DRAWS = 200
WIDENED = 1.6  # times as far as the draws: see above
_LEVEL = 0.95
_FEWEST_PASSAGES = 4  # of each text: fewer tell nothing of their spread
_AT_ONCE = 32


@dataclass(frozen=True)
class Interval:
    """Where the log Bayes factor may well lie, in nats, without bounds."""

    low: float
    high: float
    level: float  # share of the draws that it holds before it is widened
    draws: int
    seed: int


def bootstrap_interval(
    sides: Sides,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Interval | None:
    """The interval over passages; None where a text has too few of them."""
    verifier = sides.verifier
    tokenizer = verifier.members[0].tokenizer
    lengths = [
        [len(tokenizer.tokens(exhibit.document.text)) for exhibit in side]
        for side in sides.exhibits
    ]
    starts = [[verifier.passages(length) for length in side] for side in lengths]
    if min(len(each) for side in starts for each in side) < _FEWEST_PASSAGES:
        return None
    rng = np.random.default_rng(seed)
    found: list[FloatArray] = []
    for at in range(0, draws, _AT_ONCE):
        count = min(_AT_ONCE, draws - at)
        drawn = []  # of each side: (texts, draws, lev_size)
        for side, exhibits in enumerate(sides.exhibits):
            of_side = []
            for exhibit, begins in zip(exhibits, starts[side], strict=True):
                even = np.full(len(begins), 1 / len(begins))
                times = rng.multinomial(len(begins), even, size=count)  # (draws, passages)
                of_side.append(verifier.vary(exhibit.document, begins, times))
            drawn.append(np.stack(of_side, axis=1))  # (draws, texts, lev_size)
        found.append(sides.of_pairs(list(drawn[0]), list(drawn[1])))
        on_progress((at + count) / draws)
    values = np.concatenate(found)
    tails = (1 - _LEVEL) / 2
    low, high = WIDENED * np.quantile(values - np.median(values), [tails, 1 - tails])
    whole = sides.log_bayes_factor
    return Interval(float(whole + low), float(whole + high), _LEVEL, draws, seed)
