"""Sliding windows: sentence-like units without a sentence boundary detector.

A window is `contextual prefix + hop + overlap` tokens; each begins `hop` tokens
after the one before, so that neighbouring tokens stand together in one of them.
Positions here count document tokens; the prefix (see `prefix.py`) comes in front.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from adhominem.records import Options, Share, Within

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class WindowOptions(Options):
    """Sizes in tokens and windows. `random_crop` is the share of long documents cut at random."""

    hop: Annotated[int, Within(1, 1_000)] = 25
    overlap: Annotated[int, Within(0, 1_000)] = 4
    max_windows: Annotated[int, Within(1, 10_000)] = 210
    random_crop: Share = 0.5

    @property
    def width(self) -> int:
        """Document tokens in a window, without the contextual prefix."""
        return self.hop + self.overlap

    @property
    def max_tokens(self) -> int:
        """Document tokens that `max_windows` neighbouring windows hold."""
        return self.max_windows * self.hop + self.overlap


def count_windows(tokens: npt.ArrayLike, options: WindowOptions) -> IntArray:
    """How many windows cover documents of so many tokens, each adding at least one token.

    The last window begins before `tokens - overlap`: from there on, all that is
    left lies inside the window before it.
    """
    lengths = np.asarray(tokens, dtype=np.int64)
    return np.maximum(1, -((options.overlap - lengths) // options.hop))


def spread_starts(tokens: int, options: WindowOptions) -> IntArray:
    """(windows,): where the windows begin; of too many, `max_windows` evenly spread ones."""
    count = int(count_windows(tokens, options))
    chosen = np.arange(count)
    if count > options.max_windows:
        chosen = np.linspace(0, count - 1, options.max_windows).round().astype(np.int64)
    return chosen * options.hop


def crop_starts(
    tokens: npt.ArrayLike, options: WindowOptions, rng: np.random.Generator
) -> IntArray:
    """(documents,): where training begins to read each document.

    A document that fits into `max_windows` is read from its beginning. Of a longer
    one a stretch of full length is read: a random one, or by chance the first.
    """
    lengths = np.asarray(tokens, dtype=np.int64)
    room = np.maximum(0, lengths - options.max_tokens)
    cropped = rng.random(lengths.shape) < options.random_crop
    return np.where(cropped, rng.integers(0, room + 1), 0)


@dataclass(frozen=True)
class WindowTable:
    """Where the windows of some documents lie, all in a row."""

    documents: IntArray  # (windows,): the document, counted within the batch
    positions: IntArray  # (windows,): which window of its document
    starts: IntArray  # (windows,): the first token, counted within the document
    counts: IntArray  # (windows,): tokens

    def token_places(self, lengths: IntArray, width: int) -> IntArray:
        """(windows, width): each token's place among those of all documents in a row.

        `lengths` are the documents'. Behind the end of a window stands its last token once more.
        """
        begins = (np.cumsum(lengths) - lengths)[self.documents] + self.starts  # (windows,)
        return begins[:, None] + np.minimum(np.arange(width), self.counts[:, None] - 1)


def consecutive_windows(lengths: IntArray, starts: IntArray, options: WindowOptions) -> WindowTable:
    """For training: up to `max_windows` windows of each document from token `starts` on."""
    remaining = lengths - starts
    per_document = np.minimum(count_windows(remaining, options), options.max_windows)
    documents = np.repeat(np.arange(len(lengths)), per_document)
    begins = np.cumsum(per_document) - per_document
    positions = np.arange(len(documents)) - begins[documents]
    first = starts[documents] + positions * options.hop
    counts = np.minimum(options.width, lengths[documents] - first)
    return WindowTable(documents, positions, first, counts)


def spread_windows(lengths: IntArray, options: WindowOptions) -> WindowTable:
    """For inference: the whole document, or `max_windows` windows spread over it."""
    each = [spread_starts(int(length), options) for length in lengths]
    documents = np.repeat(np.arange(len(lengths)), [len(starts) for starts in each])
    positions = np.concatenate([np.arange(len(starts)) for starts in each])
    first = np.concatenate(each)
    return WindowTable(
        documents, positions, first, np.minimum(options.width, lengths[documents] - first)
    )


def cut_windows(
    ids: npt.NDArray[np.generic], starts: IntArray, options: WindowOptions, padding: int = 0
) -> npt.NDArray[np.generic]:
    """(windows, width): the tokens of each window, padded behind the document's end."""
    positions = starts[:, None] + np.arange(options.width)  # (windows, width)
    inside = positions < len(ids)
    return np.where(inside, ids[np.where(inside, positions, 0)], padding)
