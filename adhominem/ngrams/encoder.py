"""The n-gram encoder at inference: counts, weights, a projection; in NumPy.

The computation equals that in `training.py` (a test compares them). The projection is either a
matrix, stored as eight-bit integers with a scale for each n-gram, or a *profile*: each n-gram has
one dimension, which important ones have to themselves and many rare ones share with random signs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, BoolArray, FloatArray, IntArray
from adhominem.ngrams.counter import NgramCounter
from adhominem.ngrams.table import NgramTable
from adhominem.ngrams.together import NgramsTogether, parts_of
from adhominem.text.tokenizer import Numbered

Weights = Mapping[str, npt.NDArray[np.generic]]

_STEPS = 127  # of eight-bit integers, on each side of zero


class NgramEncoder:
    """The n-gram encoder of one model, ready to run."""

    def __init__(self, table: NgramTable, weights: Weights, lev_size: int, longest: int) -> None:
        """Make an encoder; texts of more than `longest` tokens are read in parts and averaged."""
        self.lev_size, self.longest, self.table = lev_size, longest, table
        self._starts = [channel.start for channel in table.channels]
        self.weights = weights["weights"].astype(np.float32)  # (columns,)
        self.projection = weights.get("projection")  # (columns, lev_size), eight bits
        if self.projection is not None:
            self.scale = weights["projection_scale"].astype(np.float32)  # (columns,)
        else:
            self.dimension = weights["dimension"].astype(np.int64)  # (columns,)
            self.sign = weights["sign"].astype(np.float32)  # (columns,)

    @cached_property
    def counter(self) -> NgramCounter:
        """The counter for this encoder's n-grams."""
        return NgramCounter(self.table)

    @cached_property
    def _alone(self) -> NgramsTogether:
        return NgramsTogether([self])

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Array32:
        """The LEVs (documents, lev_size) of tokenized documents; topics are not used."""
        return self.encode_numbered(Numbered.of(documents), topics)

    def encode_numbered(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> Array32:
        """The LEVs (documents, lev_size) of documents whose tokens are numbers."""
        return np.asarray(self._alone.encode(texts)[0])

    def vary(self, tokens: Sequence[str], starts: IntArray, times: IntArray) -> Array32:
        """The LEVs (variants, lev_size) of a document with passages left out or repeated.

        See `NgramVariants`.
        """
        return NgramVariants(self, tokens, starts).levs(times)

    @property
    def is_profile(self) -> bool:
        """Whether this is a profile, with dimensions instead of a projection."""
        return self.projection is None

    def has_own_dimension(self, columns: IntArray) -> BoolArray:
        """Whether each of these n-grams (columns,) of a profile has its dimension to itself."""
        times = np.bincount(self.dimension, minlength=self.lev_size)
        return np.asarray(times[self.dimension[columns]] == 1)

    def values(self, tokens: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """The values (columns,) of n-grams in a document's LEV, and those of single occurrences.

        The LEV is the sum of the n-grams' rows, each multiplied by its value.
        """
        parts = self.parts(len(tokens))
        values, units = np.zeros(len(self.weights)), np.zeros(len(self.weights))
        for begin, end in parts:
            counts = self.counter.count(tokens[begin:end])
            columns = np.flatnonzero(counts > 0)  # of booleans, for which it is fast
            levels = self._sublinear(columns, counts[None, columns])
            firsts = np.searchsorted(columns, self._starts)
            lengths = self._lengths(firsts, levels)[0]
            sizes = np.diff([*self._starts, len(self.weights)])
            occurring = np.diff([*firsts, len(columns)])
            values[columns] += levels[0] / np.repeat(lengths, occurring) / len(parts)
            alone = 1 / np.sqrt(len(self._starts))  # if alone in its channel
            unit = np.where(
                np.repeat(occurring > 0, sizes),
                self.weights / np.repeat(lengths, sizes).astype(np.float64),
                alone,
            )
            units += unit / len(parts)
        return values, units

    def project_back(self, columns: IntArray, lev: FloatArray) -> FloatArray:
        """The products (columns,) of the n-grams' rows with a LEV (lev_size,)."""
        if self.projection is not None:
            rows = self.projection[columns].astype(np.float64)
            return np.asarray(rows @ lev * self.scale[columns])
        return np.asarray(self.sign[columns] * lev[self.dimension[columns]])

    def parts(self, length: int) -> list[tuple[int, int]]:
        """The ranges of tokens in which a document of this length is read."""
        return parts_of(length, self.longest)

    def weighed(self, columns: IntArray, counts: AnyFloats) -> Array32:
        """Sublinear, weighted values (texts, columns) of length 1, equally divided among channels.

        `columns` are sorted; `counts` (texts, columns) are the n-grams' counts in each text.
        """
        values = self._sublinear(columns, counts)
        firsts = np.searchsorted(columns, self._starts)
        lengths = self._lengths(firsts, values)  # (texts, channels)
        for channel, (begin, end) in enumerate(pairwise([*firsts, len(columns)])):
            values[:, begin:end] /= lengths[:, channel, None]
        return values

    def _sublinear(self, columns: IntArray, counts: AnyFloats) -> Array32:
        """The weighted values (texts, columns): 1 + log(count), or 0 without occurrences."""
        values = np.log(np.maximum(counts, 1), dtype=np.float32)
        values += 1
        values *= counts > 0
        values *= self.weights[columns]
        return np.asarray(values)

    def _lengths(self, firsts: IntArray, values: Array32) -> Array32:
        """The divisors (texts, channels) of the values; channels begin at `firsts`."""
        ends = [*firsts[1:], values.shape[1]]
        squares = [
            np.square(values[:, begin:end]).sum(axis=1)
            for begin, end in zip(firsts, ends, strict=True)
        ]
        return np.asarray(np.sqrt(np.maximum(squares, 1e-24).T * len(firsts)), np.float32)

    def levs(self, columns: IntArray, values: Array32) -> Array32:
        """The LEVs (texts, lev_size) of texts with these values of n-grams (texts, columns)."""
        if self.projection is not None:
            rows = self.projection[columns].astype(np.float32)  # (columns, lev_size)
            return np.asarray((values * self.scale[columns]) @ rows)
        levs = np.zeros((len(values), self.lev_size), np.float32)
        if len(columns):
            order = np.argsort(self.dimension[columns], kind="stable")
            dimension = self.dimension[columns[order]]
            firsts = np.flatnonzero(np.diff(dimension, prepend=-1))
            signed = values[:, order] * self.sign[columns[order]]
            levs[:, dimension[firsts]] = np.add.reduceat(signed, firsts, axis=1)
        return levs


@dataclass(frozen=True)
class _PassageCounts:
    """The n-gram counts of one part of a text, by passage."""

    inside: BoolArray  # (all passages,): which overlap the part
    columns: IntArray  # of the n-grams that occur, sorted
    counts: Array32  # (passages inside, columns)


class NgramVariants:
    """The variants of one text for one encoder. A bigram belongs to its first token's passage."""

    def __init__(self, encoder: NgramEncoder, tokens: Sequence[str], starts: IntArray) -> None:
        """Count the n-grams of passages that begin at the tokens `starts` (passages,)."""
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
            # Floats are exact here, and NumPy's products of integers are slow.
            counts = cells.reshape(shape).astype(np.float32)
            self._parts.append(_PassageCounts(inside, columns, counts))

    def levs(self, times: IntArray) -> Array32:
        """The LEVs (variants, lev_size); `times` (variants, passages) repeats the passages.

        Empty parts of a text do not count.
        """
        levs = np.zeros((len(times), self._encoder.lev_size), np.float32)
        for columns, values, which in self._values(times):
            levs += self._encoder.levs(columns, values)[which]
        return np.asarray(levs / self._nonempty_parts(times)[:, None].astype(np.float32))

    def along(self, times: IntArray, direction: FloatArray) -> FloatArray:
        """The products (variants,) of the LEVs with a direction (lev_size,).

        A LEV is a sum of n-grams' rows, so that the product of each row is enough.
        """
        total = np.zeros(len(times))
        for columns, values, which in self._values(times):
            total += (values @ self._encoder.project_back(columns, direction))[which]
        return np.asarray(total / self._nonempty_parts(times))

    def _nonempty_parts(self, times: IntArray) -> AnyFloats:
        """The number of parts (variants,) that are not empty; at least 1."""
        left = np.zeros(len(times))
        for part in self._parts:
            left += times[:, part.inside].any(axis=1)
        return np.maximum(left, 1)

    def _values(self, times: IntArray) -> Iterator[tuple[IntArray, Array32, npt.NDArray[np.intp]]]:
        """For each part: columns, values (distinct variants, columns), and each variant's index.

        Variants that differ only outside the part are equal here: if single passages of a long text
        are left out, nearly all of them.
        """
        for part in self._parts:
            here, which = np.unique(times[:, part.inside], axis=0, return_inverse=True)
            counts = here.astype(np.float32) @ part.counts
            yield part.columns, self._encoder.weighed(part.columns, counts), which.reshape(-1)


def _numbered(numbers: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """The distinct numbers below `limit`, sorted, and the index of each number among them.

    Like `np.unique`, but without sorting a text's n-grams.
    """
    occurs = np.zeros(limit, np.bool_)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


def eight_bits(projection: Array32) -> tuple[npt.NDArray[np.int8], Array32]:
    """A projection (columns, lev_size) as integers, and the scale (columns,) of each row."""
    scale = np.maximum(np.abs(projection).max(axis=1) / _STEPS, 1e-30).astype(np.float32)
    return np.rint(projection / scale[:, None]).astype(np.int8), scale


def shared_dimensions(
    importance: AnyFloats, lev_size: int, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """The dimension and sign of each n-gram; the most important ones have separate dimensions."""
    rng = np.random.default_rng(seed)
    alone = len(importance) if len(importance) <= lev_size else lev_size * 3 // 4
    order = np.argsort(-importance, kind="stable")
    dimension = np.empty(len(importance), dtype=np.int32)
    sign = np.ones(len(importance), dtype=np.int8)
    dimension[order[:alone]] = np.arange(alone)
    rest = len(importance) - alone
    if rest:
        dimension[order[alone:]] = rng.integers(alone, lev_size, rest)
        sign[order[alone:]] = rng.choice(np.array([-1, 1], np.int8), rest)
    return dimension, sign
