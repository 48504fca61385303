"""A text with some of its passages left out or repeated: its n-grams are counted once for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from adhominem.ngrams.encoder import NgramEncoder


@dataclass(frozen=True)
class _Part:
    """What is read at once of a text, by its passages."""

    inside: BoolArray  # (all passages,): which of them it has a piece of
    columns: IntArray  # of the n-grams that occur, rising
    counts: Array32  # (passages inside, columns)


class NgramVariants:
    """The variants of one text for one encoder. A bigram belongs to where it begins."""

    def __init__(self, encoder: NgramEncoder, tokens: Sequence[str], starts: IntArray) -> None:
        """Passages begin at the tokens `starts` (passages,)."""
        self._encoder = encoder
        self._parts = []
        ends = np.append(starts[1:], len(tokens))
        for begin, end in encoder.parts(len(tokens)):
            inside = (starts < end) & (ends > begin)
            occurring, places = encoder.counter.occurrences(tokens[begin:end])
            columns, column = _numbered(occurring, len(encoder.weights))
            passage = np.searchsorted(starts[inside], places + begin, side="right") - 1
            shape = (int(inside.sum()), len(columns))
            cells = np.bincount(passage * shape[1] + column, minlength=shape[0] * shape[1])
            # Floats are exact here, and NumPy has no fast product of whole numbers.
            counts = cells.reshape(shape).astype(np.float32)
            self._parts.append(_Part(inside, columns, counts))

    def levs(self, times: IntArray) -> Array32:
        """(variants, lev_size): the LEVs; `times` (variants, passages) are how often each is there.

        The parts of a text of which nothing is left do not count.
        """
        levs = np.zeros((len(times), self._encoder.lev_size), np.float32)
        for columns, values, which in self._values(times):
            levs += self._encoder.levs(columns, values)[which]
        return np.asarray(levs / self._left(times)[:, None].astype(np.float32))

    def along(self, times: IntArray, direction: FloatArray) -> FloatArray:
        """(variants,): the products of the LEVs with a direction (lev_size,).

        A LEV is a sum of n-grams' rows, so that the product of each row is enough.
        """
        total = np.zeros(len(times))
        for columns, values, which in self._values(times):
            total += (values @ self._encoder.project_back(columns, direction))[which]
        return np.asarray(total / self._left(times))

    def _left(self, times: IntArray) -> AnyFloats:
        """(variants,): of how many parts anything is left; at least 1."""
        left = np.zeros(len(times))
        for part in self._parts:
            left += times[:, part.inside].any(axis=1)
        return np.maximum(left, 1)

    def _values(self, times: IntArray) -> Iterator[tuple[IntArray, Array32, npt.NDArray[np.intp]]]:
        """Of each part: columns, their values (different variants, columns), and which is whose.

        Variants that differ in passages elsewhere are the same here: of a long text without one
        passage, that is nearly all of them.
        """
        for part in self._parts:
            here, which = np.unique(times[:, part.inside], axis=0, return_inverse=True)
            counts = here.astype(np.float32) @ part.counts
            yield part.columns, self._encoder.weighed(part.columns, counts), which.reshape(-1)


def _numbered(numbers: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """The different ones of numbers below `limit`, rising, and which of these each is.

    As `np.unique` has it, but without sorting a text's n-grams.
    """
    occurs = np.zeros(limit, np.bool_)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]
