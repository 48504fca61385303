"""The windows of a text, and the evidence of each on candidates, or on styles of the text itself.

A text is cut into blocks of about as many words, which begin where sentences do; a window is a run
of blocks. Windows overlap, blocks do not: what windows say is shared out among the blocks that they
are made of.

Without candidates, the text is cut into windows that do not overlap, and each is compared with each
other one. Then

1. neighbours are put together, the two stretches first whose union is the most probable, as long
   as a change between them is less probable than none. Beforehand its probability is the stated
   rate of change.
2. stretches are put together that seem to be by one person, wherever they stand, as `cluster` does
   with texts, with even prior odds.

What is left are styles: each window of the text is compared with each style's windows, but not with
those that it overlaps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.errors import OptionError
from adhominem.questions.cluster.cluster import membership, merge_texts, pooled, without_diagonal
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer, square
from adhominem.text.sentences import sentence_starts, word_spans

_EVEN = 0.5  # prior: two stretches of one text are by one person


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A part of a text."""

    start: int  # in characters
    end: int
    word: int  # its first one, from 0
    words: int


@dataclass(frozen=True, kw_only=True)
class Window(Stretch):
    """A stretch of the text that was compared as one."""

    log10_bayes_factors: tuple[float, ...]  # one for each candidate


@dataclass(frozen=True)
class Blocks:
    """Where the blocks of a text begin and end."""

    spans: IntArray  # (blocks, 2): in characters of the text, without the white space around
    words: IntArray  # (blocks,): how many each has
    in_window: int  # blocks that a window has

    @property
    def windows(self) -> int:
        """How many windows there are: one begins at each block that is followed by enough."""
        return len(self.words) - self.in_window + 1

    @property
    def word_starts(self) -> IntArray:
        """(blocks + 1,): the words before each block; last, all of them."""
        return np.append(0, np.cumsum(self.words))

    def window_span(self, window: int) -> tuple[int, int]:
        """Where a window begins and ends, in characters."""
        return int(self.spans[window, 0]), int(self.spans[window + self.in_window - 1, 1])

    def shared_out(self, values: FloatArray) -> FloatArray:
        """(blocks, columns): what windows (windows, columns) say, each of it counted once.

        A window's value is that of all its blocks together, so one block has a part of it; and of
        the windows that hold a block, the mean counts.
        """
        total = np.zeros((len(self.words), values.shape[1]))
        held = np.zeros((len(self.words), 1))
        for at, row in enumerate(values):
            total[at : at + self.in_window] += row
            held[at : at + self.in_window] += 1
        return np.asarray(total / held / self.in_window)


def cut_blocks(text: str, words: int, step: int) -> Blocks:
    """Blocks of about `step` words; a window has about `words` of them, rounded to whole blocks."""
    if not 1 <= step <= words:
        raise OptionError(f"step {step}, words {words}; expected a step from 1 to words")
    spans = word_spans(text)
    in_window = round(words / step)
    if len(spans) < in_window * step:
        raise OptionError(
            f"the text has {len(spans):,} words, fewer than one window of {in_window * step:,}; "
            "expected a longer text, or a smaller number of words a window"
        )
    starts = _block_starts(sentence_starts(text, spans), len(spans), step)
    ends = np.append(starts[1:], len(spans))
    return Blocks(
        spans=np.stack([spans[starts, 0], spans[ends - 1, 1]], axis=1),
        words=ends - starts,
        in_window=in_window,
    )


def _block_starts(sentences: IntArray, words: int, step: int) -> IntArray:
    """(blocks,): the word that each begins with: the sentence nearest to where it is due."""
    starts = [0]
    for due in range(step, words - step // 2 if words > step else 0, step):
        at = int(np.searchsorted(sentences, due))
        near = sentences[max(0, at - 1) : at + 1]
        best = int(near[np.argmin(np.abs(near - due))]) if len(near) else due
        # Half a step at most, or two blocks could begin at the same word.
        starts.append(best if 2 * abs(best - due) < step else due)
    return np.array(starts, dtype=np.int64)


# Evidence


def window_factors(
    scorer: Scorer,
    windows: Levs,
    sides: Sequence[Levs],
    population: Population | None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> tuple[FloatArray, BoolArray]:
    """(windows, candidates): log Bayes factors, and whether the population was of another genre.

    `windows` is (windows, lev_size), and each of `sides` a candidate's LEVs (texts, lev_size).
    """
    scored = []
    for number, side in enumerate(sides, start=1):
        scored.append(
            scorer([window[None] for window in windows], [side] * len(windows), population)
        )
        on_progress(number / len(sides))
    return (
        np.stack([one.log_bayes_factor for one in scored], axis=1),
        np.stack([one.population_misfit for one in scored], axis=1),
    )


def apart(blocks: Blocks) -> IntArray:
    """(windows,): the numbers of windows that do not overlap; the last one ends the text."""
    count = len(blocks.words) // blocks.in_window
    return np.linspace(0, len(blocks.words) - blocks.in_window, count).round().astype(np.int64)


def find_styles(
    scorer: Scorer, levs: Levs, passage: int, words: float, population: Population | None
) -> list[tuple[int, ...]]:
    """The windows (windows, lev_size), which do not overlap, by style; the first style first.

    A window has about as many `words`; a style changes every `passage` words on average.
    """
    if len(levs) < 2:
        return [tuple(range(len(levs)))]
    factors = square(scorer.all_pairs(levs, population).log_bayes_factor)
    stretches = merge_neighbours(factors, float(np.exp(-words / passage)))
    styles = merge_texts(factors, _EVEN, stretches).clusters
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
