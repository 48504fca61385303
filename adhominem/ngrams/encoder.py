"""N-gram encoders at inference: counts, weights, a projection or a profile; in NumPy.

The computation equals that in `training.py` (a test compares them). The projection is either a
matrix, stored as eight-bit integers with a scale for each n-gram, or a *profile*: each n-gram has
one dimension, which important ones have to themselves and many rare ones share with random signs.

A text has a few thousand of a hundred thousand n-grams, which are counted once for several encoders
(`NgramsTogether`). The counts stay sparse until they are weighted; then a profile adds each to its
dimension (most stay empty), and a projection sums their rows: in C, or in NumPy as a product of
matrices for several texts together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from adhominem.arrays import (
    AnyFloats,
    Array32,
    BoolArray,
    FloatArray,
    IntArray,
    SparseRows,
    joined,
)
from adhominem.ngrams.counter import NgramCounter, TypePlaces
from adhominem.ngrams.table import NgramTable
from adhominem.text.lexicon import Numbered

Number = TypeVar("Number", bound=np.generic)
Weights = Mapping[str, npt.NDArray[np.generic]]

_STEPS = 127  # of eight-bit integers, on each side of zero
_PARTS_AT_ONCE = 64  # of texts, in memory as rows of a matrix: some 5 MB

# So that each number of a product is summed in the same order whatever is beside it: a block of
# columns is one sum of products, in their order, in which zeros change nothing; these sums are
# then added one after another. OpenBLAS treats 16 rows, and 16 numbers of a row, alike if it has
# AVX-512. Elsewhere a LEV may depend on the texts beside it by a rounding error.
_BLOCK = 256
_ALIKE = 16


class NgramEncoder:
    """The n-gram encoder of one model, ready to run."""

    def __init__(self, table: NgramTable, weights: Weights, lev_size: int, longest: int) -> None:
        """Make an encoder; texts of more than `longest` tokens are read in parts and averaged."""
        self.lev_size, self.longest, self.table = lev_size, longest, table
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
        return np.asarray(self.rows(texts))

    def rows(self, texts: Numbered) -> Array32 | SparseRows:
        """The same LEVs, sparse for a profile."""
        return self._alone.encode(texts)[0]

    @property
    def is_profile(self) -> bool:
        """Whether this is a profile, with dimensions instead of a projection."""
        return self.projection is None

    def has_own_dimension(self, columns: IntArray) -> BoolArray:
        """Whether each of these n-grams (columns,) of a profile has its dimension to itself."""
        times = np.bincount(self.dimension, minlength=self.lev_size)
        return np.asarray(times[self.dimension[columns]] == 1)

    def project_back(self, columns: IntArray, lev: FloatArray) -> FloatArray:
        """The products (columns,) of the n-grams' rows with a LEV (lev_size,)."""
        if self.projection is not None:
            rows = self.projection[columns].astype(np.float64)
            return np.asarray(rows @ lev * self.scale[columns])
        return np.asarray(self.sign[columns] * lev[self.dimension[columns]])

    def parts(self, length: int) -> list[tuple[int, int]]:
        """The ranges of tokens in which a document of this length is read."""
        parts = max(1, -(-length // self.longest))
        return list(pairwise(np.linspace(0, length, parts + 1).astype(int).tolist()))

    def weighed(self, columns: IntArray, counts: AnyFloats) -> tuple[Array32, Array32]:
        """Sublinear, weighted values (texts, columns) of length 1, equally divided among channels.

        `columns` are sorted; `counts` (texts, columns) are the n-grams' counts in each text. The
        values have been divided by the second array (texts, channels).
        """
        values = np.log(np.maximum(counts, 1), dtype=np.float32)
        values += 1
        values *= counts > 0
        values *= self.weights[columns]
        firsts = np.searchsorted(columns, [channel.start for channel in self.table.channels])
        channels = np.split(values, firsts[1:], axis=1)  # views of the values
        squares = np.stack([np.square(part).sum(axis=1) for part in channels], axis=1)
        lengths = np.sqrt(np.maximum(squares, 1e-24) * len(channels)).astype(np.float32)
        for part, length in zip(channels, lengths.T, strict=True):
            part /= length[:, None]
        return values, lengths

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


# Several encoders at once


@dataclass(frozen=True)
class _Occurring:
    """The n-grams that occur in a text, or in a part of it."""

    places: IntArray  # (n-grams,), sorted
    levels: Array32  # (n-grams,): 1 + log(count)
    firsts: IntArray  # (channels + 1,): the first n-gram of each channel, and the end


Texts = Sequence[Sequence[_Occurring]]  # for each text its parts


class NgramsTogether:
    """Encoders that read texts in the same parts, and count n-grams of the same lengths."""

    def __init__(self, encoders: Sequence[NgramEncoder]) -> None:
        self._counter = NgramCounter(*(encoder.table for encoder in encoders))
        self._parts_of = encoders[0].parts
        self._encoders = [
            (_ByProfile if encoder.is_profile else _ByProjection)(encoder, self._counter, at)
            for at, encoder in enumerate(encoders)
        ]

    def encode(self, texts: Numbered) -> list[Array32 | SparseRows]:
        """Each encoder's LEVs (texts, lev_size) of some texts, sparse for profiles."""
        levs: list[list[Array32 | SparseRows]] = [[] for _ in self._encoders]
        for batch in self._counted(texts) if texts.documents else [[]]:
            for rows, encoder in zip(levs, self._encoders, strict=True):
                rows.append(encoder.levs(batch))
        return [joined(rows) for rows in levs]

    def _counted(self, texts: Numbered) -> Iterator[Texts]:
        """The counts of all texts, in batches."""
        rows, tables = self._counter.look_up(texts)
        batch: list[list[_Occurring]] = []
        first = parts = 0
        for tokens in texts.documents:
            borders = self._parts_of(len(tokens))
            batch.append([self._part(tables, rows[first + a : first + b]) for a, b in borders])
            first += len(tokens)
            parts += len(borders)
            if parts >= _PARTS_AT_ONCE:
                yield batch
                batch, parts = [], 0
        if batch:
            yield batch

    def _part(self, tables: TypePlaces, rows: IntArray) -> _Occurring:
        places, levels = tables.occurring(rows)
        np.log(levels, out=levels)
        levels += 1
        return _Occurring(places, levels, np.searchsorted(places, self._counter.starts))


class _Weighted:
    """The weights of an encoder by place; zeros for n-grams of other encoders."""

    def __init__(self, encoder: NgramEncoder, counter: NgramCounter, number: int) -> None:
        self.lev_size, self._places = encoder.lev_size, counter.places(number)
        self._size = int(counter.starts[-1])
        self._weights = self._by_place(encoder.weights, 0)

    def _by_place(self, values: npt.NDArray[Number], other: int) -> npt.NDArray[Number]:
        """Values by column (columns,) as values by place (places,)."""
        by_place = np.full(self._size, other, values.dtype)
        by_place[self._places] = values
        return by_place

    def _values(self, counts: _Occurring) -> Array32:
        """The weighted values (n-grams,) of length 1, equally divided among channels."""
        values = counts.levels * self._weights[counts.places]
        # In double precision, so that the order of the n-grams does not matter.
        squares = np.append(values, np.float32(0)).astype(np.float64)
        squares *= squares
        sums = np.add.reduceat(squares, counts.firsts[:-1])  # (channels,)
        sizes = np.diff(counts.firsts)
        sums[sizes == 0] = 0  # `reduceat` gives an empty one the next
        lengths = np.sqrt(np.maximum(sums, 1e-24) * len(sizes)).astype(np.float32)
        values /= np.repeat(lengths, sizes)
        return np.asarray(values)


class _ByProfile(_Weighted):
    """The weights of a profile, in which each n-gram has a dimension."""

    def __init__(self, encoder: NgramEncoder, counter: NgramCounter, number: int) -> None:
        super().__init__(encoder, counter, number)
        # Signs do not change lengths.
        self._weights = self._by_place(encoder.weights * encoder.sign, 0)
        self._dimension = self._by_place(encoder.dimension, 0)

    def levs(self, texts: Texts) -> SparseRows:
        """The LEVs (texts, lev_size) of texts."""
        counts, places, values = [], [np.zeros(0, np.uint32)], [np.zeros(0, np.float32)]
        for parts in texts:
            if len(parts) == 1:
                lev = self._part_lev(parts[0]).astype(np.float32)
            else:
                lev = np.zeros(self.lev_size, np.float32)
                for part in parts:
                    lev += self._part_lev(part) * (1 / len(parts))
            at = np.flatnonzero(lev != 0)  # of booleans, for which it is fast
            counts.append(len(at))
            places.append(at.astype(np.uint32))
            values.append(lev[at])
        columns = np.concatenate(places)
        return SparseRows.of_counts(counts, columns, np.concatenate(values), self.lev_size)

    def _part_lev(self, counts: _Occurring) -> AnyFloats:
        """The LEV (lev_size,) of one part of a text."""
        dimensions = self._dimension[counts.places]
        lev = np.bincount(dimensions, self._values(counts), self.lev_size)
        return lev.astype(np.float64, copy=False)  # whole numbers where there is no n-gram


class _ByProjection(_Weighted):
    """The weights of a projection, in which each n-gram has a row of a matrix."""

    def __init__(self, encoder: NgramEncoder, counter: NgramCounter, number: int) -> None:
        super().__init__(encoder, counter, number)
        assert encoder.projection is not None
        self._projection = encoder.projection  # (columns, lev_size), eight bits
        self._scale = encoder.scale  # (columns,)
        # N-grams of other encoders go to a column after the last.
        self._column = self._by_place(np.arange(len(self._places)), len(self._places))
        self._in_order = bool((np.diff(self._places) > 0).all())  # its columns, by place
        self._compiled = counter.compiled

    def levs(self, texts: Texts) -> Array32:
        """The LEVs (texts, lev_size) of texts."""
        levs = np.zeros((len(texts), self.lev_size), np.float32)
        rows = [self._row(counts) for parts in texts for counts in parts]
        if rows:
            sizes = np.array([len(parts) for parts in texts])
            shares = np.repeat((1 / sizes).astype(np.float32), sizes)  # (parts,): of their texts
            of_parts = self._in_numpy if self._compiled is None else self._in_c
            np.add.at(levs, np.repeat(np.arange(len(texts)), sizes), of_parts(rows, shares))
        return levs

    def _row(self, counts: _Occurring) -> tuple[IntArray, Array32]:
        """The sorted columns of the n-grams that occur, and their scaled values."""
        column = self._column[counts.places]
        chosen = np.flatnonzero(column < len(self._scale))
        if not self._in_order:
            chosen = chosen[np.argsort(column[chosen])]
        columns = column[chosen]
        return columns, self._values(counts)[chosen] * self._scale[columns]

    def _in_c(self, rows: Sequence[tuple[IntArray, Array32]], shares: Array32) -> Array32:
        """The LEVs (parts, lev_size), multiplying only n-grams that occur."""
        firsts = np.cumsum([0, *(len(columns) for columns, _ in rows)])
        columns = np.concatenate([columns for columns, _ in rows])
        values = [values * share for (_, values), share in zip(rows, shares, strict=True)]
        levs = np.zeros((len(rows), self.lev_size), np.float32)
        assert self._compiled is not None
        self._compiled.project(self._projection, firsts, columns, np.concatenate(values), levs)
        return levs

    def _in_numpy(self, rows: Sequence[tuple[IntArray, Array32]], shares: Array32) -> Array32:
        """The LEVs (parts, lev_size), by products of matrices over the columns that occur."""
        columns, size = len(self._projection), self.lev_size
        all_values = np.zeros((_up_to_alike(len(rows)), columns), np.float32)
        for row, (here, values) in zip(all_values, rows, strict=False):
            row[here] = values
        used = np.asarray(all_values.any(axis=0))
        block = np.zeros((_BLOCK, _up_to_alike(size)), np.float32)
        levs = np.zeros((len(all_values), block.shape[1]), np.float32)
        part = np.empty_like(levs)
        for begin in range(0, columns, _BLOCK):
            here = begin + np.flatnonzero(used[begin : begin + _BLOCK])
            if len(here):
                block[: len(here), :size] = self._projection[here]
                levs += np.matmul(all_values[:, here], block[: len(here)], out=part)
        return np.asarray(levs[: len(rows), :size] * shares[:, None])


def _up_to_alike(count: int) -> int:
    return -(-count // _ALIKE) * _ALIKE


# Passages left out or repeated


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
        self.encoder = encoder
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

    def values(self) -> tuple[FloatArray, FloatArray]:
        """The values (columns,) of n-grams in the text's LEV, and those of single occurrences.

        The LEV is the sum of the n-grams' rows, each multiplied by its value.
        """
        weights, channels = self.encoder.weights, self.encoder.table.channels
        values, units = np.zeros(len(weights)), np.zeros(len(weights))
        for part in self._parts:
            weighed, lengths = self.encoder.weighed(part.columns, part.counts.sum(axis=0)[None])
            values[part.columns] += weighed[0] / self.parts
            firsts = np.searchsorted(part.columns, [channel.start for channel in channels])
            occurs = np.diff(firsts, append=len(part.columns)) > 0
            for channel, length, is_there in zip(
                channels, lengths[0].tolist(), occurs, strict=True
            ):
                if is_there:
                    unit = weights[channel].astype(np.float64) / length
                else:  # alone in its channel
                    unit = np.float64(1 / np.sqrt(len(channels)))
                units[channel] += unit / self.parts
        return values, units

    @property
    def parts(self) -> int:
        """The number of parts in which the text is read."""
        return len(self._parts)

    def levs(self, times: IntArray) -> Array32:
        """The LEVs (variants, lev_size); `times` (variants, passages) repeats the passages.

        Empty parts of a text do not count.
        """
        levs = np.zeros((len(times), self.encoder.lev_size), np.float32)
        for columns, values, which in self._values(times):
            levs += self.encoder.levs(columns, values)[which]
        return np.asarray(levs / self._nonempty_parts(times)[:, None].astype(np.float32))

    def along(self, times: IntArray, direction: FloatArray) -> FloatArray:
        """The products (variants,) of the LEVs with a direction (lev_size,).

        A LEV is a sum of n-grams' rows, so that the product of each row is enough.
        """
        total = np.zeros(len(times))
        for columns, values, which in self._values(times):
            total += (values @ self.encoder.project_back(columns, direction))[which]
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
            values, _ = self.encoder.weighed(part.columns, counts)
            yield part.columns, values, which.reshape(-1)


def _numbered(numbers: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """The distinct numbers below `limit`, sorted, and the index of each number among them.

    Like `np.unique`, but without sorting a text's n-grams.
    """
    occurs = np.zeros(limit, np.bool_)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


# What training stores


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
