"""Styles in one text of unknown authors: where does it change, and what belongs together?

The text is cut into windows that do not overlap, and each is compared with each other one. Then

1. neighbours are put together, the two stretches first whose union is the most probable, as long
   as a change between them is less probable than none. Beforehand its probability is the stated
   rate of change.
2. stretches are put together that seem to be by one person, wherever they stand, as `cluster` does
   with texts (`attribute.cluster`), with even prior odds.

If more than one style is left, each window of the text is compared with each style's windows, but
not with those that it overlaps, and the hidden Markov model finds where the changes are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adhominem.arrays import FloatArray, IntArray, Levs
from adhominem.questions.cluster.cluster import membership, merge_texts, pooled, without_diagonal
from adhominem.questions.roll.blocks import Blocks
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer, square

EVEN = 0.5  # prior: two stretches of one text are by one person


def apart(blocks: Blocks) -> IntArray:
    """(windows,): the numbers of windows that do not overlap; the last one ends the text."""
    count = len(blocks.words) // blocks.in_window
    return np.linspace(0, len(blocks.words) - blocks.in_window, count).round().astype(np.int64)


def find_styles(
    scorer: Scorer, levs: Levs, passage: int, words: float, population: Population | None
) -> list[tuple[int, ...]]:
    """The windows (windows, lev_size), which do not overlap, by style; the first style first.

    A window has so many `words`, and from one change to the next it is `passage` words on average.
    """
    if len(levs) < 2:
        return [tuple(range(len(levs)))]
    factors = square(scorer.all_pairs(levs, population).log_bayes_factor)
    stretches = merge_neighbours(factors, float(np.exp(-words / passage)))
    styles = merge_texts(factors, EVEN, stretches).clusters
    return sorted(styles, key=min)


def merge_neighbours(log_bayes_factors: FloatArray, stay: float) -> list[tuple[int, ...]]:
    """Windows in a row (windows, windows), put together as long as `stay` and evidence say so."""
    groups: list[tuple[int, ...]] = [(at,) for at in range(len(log_bayes_factors))]
    table = without_diagonal(log_bayes_factors)
    prior = float(np.log(stay) - np.log1p(-stay))
    while len(groups) > 1:
        inside = membership(groups, len(table))
        odds = np.diag(pooled(inside @ table @ inside.T, inside.sum(axis=1)), 1) + prior
        at = int(np.argmax(odds))
        if odds[at] <= 0:
            break
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return groups


def style_factors(
    scorer: Scorer,
    blocks: Blocks,
    levs: Levs,
    styles: Sequence[IntArray],
    population: Population | None,
) -> FloatArray:
    """(windows, styles): log Bayes factors of windows with those of a style they do not overlap.

    `levs` (windows, lev_size) are of all windows; a style is the numbers of windows. Where a style
    has no other window, nothing is known of it: it is as good as anybody's, and the Bayes factor 1.
    """
    factors = np.zeros((blocks.windows, len(styles)))
    for at, style in enumerate(styles):
        others = [
            style[np.abs(style - window) >= blocks.in_window] for window in range(blocks.windows)
        ]
        known = [window for window, side in enumerate(others) if len(side)]
        if known:
            scored = scorer(
                [levs[[window]] for window in known],
                [levs[others[window]] for window in known],
                population,
            )
            factors[known, at] = scored.log_bayes_factor
    return factors
