"""The n-gram encoder at inference: counts, weights, a projection; in NumPy.

The same computation as in `training.ngram_loop` (a test compares them). The projection is either a
matrix, kept as whole numbers of eight bits with a scale for each n-gram, or a *profile*: each
n-gram has one dimension, its own if it is important, or one that many rare ones share with random
signs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, BoolArray, FloatArray, IntArray
from adhominem.encoders.ngrams.counter import NgramCounter
from adhominem.encoders.ngrams.table import NgramTable
from adhominem.encoders.ngrams.together import NgramsTogether, parts_of
from adhominem.text.lexicon import Numbered

Weights = Mapping[str, npt.NDArray[np.generic]]

_STEPS = 127  # of eight bits, on each side of zero


class NgramEncoder:
    """The n-gram encoder of one model, ready to run."""

    def __init__(self, table: NgramTable, weights: Weights, lev_size: int, longest: int) -> None:
        """A text of more than `longest` tokens is read in parts, whose LEVs are averaged."""
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
        """Counts what this encoder is about."""
        return NgramCounter(self.table)

    @cached_property
    def _alone(self) -> NgramsTogether:
        return NgramsTogether([self])

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Array32:
        """(documents, lev_size): the LEVs of tokenized documents; topics are not used."""
        return self.encode_numbered(Numbered.of(documents), topics)

    def encode_numbered(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> Array32:
        """(documents, lev_size): the same of documents whose tokens are numbers."""
        levs = np.zeros((len(texts.documents), self.lev_size), dtype=np.float32)
        self._alone.encode(texts, [levs])
        return levs

    def vary(
        self, tokens: Sequence[str], topic: Sequence[str], starts: IntArray, times: IntArray
    ) -> Array32:
        """(variants, lev_size): the LEVs of a document with passages left out or repeated.

        The n-grams of each passage are counted once; a bigram belongs to where it begins.
        """
        levs = np.zeros((len(times), self.lev_size), dtype=np.float32)
        parts = np.zeros((len(times), 1), dtype=np.float32)  # that have anything left
        ends = np.append(starts[1:], len(tokens))
        for begin, end in self.parts(len(tokens)):
            occurring, places = self.counter.occurrences(tokens[begin:end])
            columns, column = np.unique(occurring, return_inverse=True)
            passage = np.searchsorted(starts, places + begin, side="right") - 1
            shape = (len(starts), len(columns))
            cells = np.bincount(passage * shape[1] + column, minlength=shape[0] * shape[1])
            # As floats, which are exact here: NumPy has no fast product of whole numbers.
            counts = times.astype(np.float64) @ cells.reshape(shape)  # (variants, columns)
            values = np.zeros(counts.shape, dtype=np.float32)
            for row, count in zip(values, counts, strict=True):
                left = count > 0
                row[left] = self._weighed(columns[left], count[left])
            levs += self._levs(columns, values)
            inside = (starts < end) & (ends > begin)
            parts += times[:, inside].any(axis=1, keepdims=True)
        return np.asarray(levs / np.maximum(parts, 1))

    @property
    def is_profile(self) -> bool:
        """Whether n-grams have dimensions, and not a projection."""
        return self.projection is None

    def has_own_dimension(self, columns: IntArray) -> BoolArray:
        """(columns,): whether each of these n-grams of a profile shares its dimension with none."""
        times = np.bincount(self.dimension, minlength=self.lev_size)
        return np.asarray(times[self.dimension[columns]] == 1)

    def values(self, tokens: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Twice (columns,): what a document's LEV has of each n-gram, and of one that occurs once.

        The LEV is the sum of the n-grams' rows, each times its value.
        """
        parts = self.parts(len(tokens))
        values, units = np.zeros(len(self.weights)), np.zeros(len(self.weights))
        for begin, end in parts:
            counts = self.counter.count(tokens[begin:end])
            columns = np.flatnonzero(counts)
            values[columns] += self._weighed(columns, counts[columns]) / len(parts)
            lengths = self._lengths(columns, self._sublinear(columns, counts[columns]))
            sizes = np.diff([*self._starts, len(self.weights)])
            there = np.diff([*np.searchsorted(columns, self._starts), len(columns)]) > 0
            alone = 1 / np.sqrt(len(self._starts))  # what the only one of its channel has
            unit = np.where(
                np.repeat(there, sizes),
                self.weights / np.repeat(lengths, sizes).astype(np.float64),
                alone,
            )
            units += unit / len(parts)
        return values, units

    def rows(self, columns: IntArray) -> Array32:
        """(columns, lev_size): what one unit of each of these n-grams adds to a LEV."""
        if self.projection is not None:
            rows = self.projection[columns].astype(np.float32)
            return np.asarray(rows * self.scale[columns, None])
        rows = np.zeros((len(columns), self.lev_size), dtype=np.float32)
        rows[np.arange(len(columns)), self.dimension[columns]] = self.sign[columns]
        return rows

    def project_back(self, columns: IntArray, lev: FloatArray) -> FloatArray:
        """(columns,): the products of the n-grams' rows with a LEV (lev_size,)."""
        if self.projection is not None:
            rows = self.projection[columns].astype(np.float64)
            return np.asarray(rows @ lev * self.scale[columns])
        return np.asarray(self.sign[columns] * lev[self.dimension[columns]])

    def parts(self, length: int) -> list[tuple[int, int]]:
        """Where the parts begin and end that a document of so many tokens is read in."""
        return parts_of(length, self.longest)

    def weigh(self, tokens: Sequence[str]) -> tuple[IntArray, Array32]:
        """The n-grams of a text, by their columns, and the weighted value of each."""
        counts = self.counter.count(tokens)
        columns = np.flatnonzero(counts)
        return columns, self._weighed(columns, counts[columns])

    def _weighed(self, columns: IntArray, counts: npt.NDArray[np.generic]) -> Array32:
        """(columns,): sublinear, weighted, each channel of the same length, one in all."""
        values = self._sublinear(columns, counts)
        sizes = np.diff([*np.searchsorted(columns, self._starts), len(columns)])
        return np.asarray(values / np.repeat(self._lengths(columns, values), sizes), np.float32)

    def _sublinear(self, columns: IntArray, counts: npt.NDArray[np.generic]) -> Array32:
        """(columns,): the log of each count and one, weighted."""
        return np.asarray((1 + np.log(counts.astype(np.float32))) * self.weights[columns])

    def _lengths(self, columns: IntArray, values: Array32) -> Array32:
        """(channels,): what the values of each channel are divided by."""
        firsts = np.searchsorted(columns, self._starts)
        squares = np.add.reduceat(np.append(values**2, 0), firsts)
        squares[np.diff([*firsts, len(columns)]) == 0] = 0  # `reduceat` gives an empty one the next
        return np.asarray(np.sqrt(np.maximum(squares, 1e-24) * len(self._starts)))

    def _levs(self, columns: IntArray, values: Array32) -> Array32:
        """(documents, lev_size): the LEVs of documents with these n-grams (documents, columns)."""
        if self.projection is not None:
            rows = self.projection[columns].astype(np.float32)  # (columns, lev_size)
            return np.asarray((values * self.scale[columns]) @ rows)
        signed = values * self.sign[columns]
        dimension = self.dimension[columns]
        levs = [np.bincount(dimension, row, self.lev_size) for row in signed]
        return np.array(levs, dtype=np.float32)


def eight_bits(projection: Array32) -> tuple[npt.NDArray[np.int8], Array32]:
    """A projection (columns, lev_size) as whole numbers, and the scale (columns,) of each row."""
    scale = np.maximum(np.abs(projection).max(axis=1) / _STEPS, 1e-30).astype(np.float32)
    return np.rint(projection / scale[:, None]).astype(np.int8), scale


def shared_dimensions(
    importance: AnyFloats, lev_size: int, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """The dimension and the sign of each n-gram: the most important ones have their own."""
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
