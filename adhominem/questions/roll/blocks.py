"""A text cut into blocks of about as many words, which begin where sentences do; and windows.

A window is a run of blocks. Windows overlap, blocks do not: what windows say is shared out among
the blocks they are made of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray, IntArray
from adhominem.errors import OptionError
from adhominem.text.sentences import sentence_starts, word_spans


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
