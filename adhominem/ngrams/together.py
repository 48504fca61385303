"""Several n-gram encoders at once: the n-grams of a text are counted once for all of them.

A text has a few thousand of a hundred thousand n-grams. The counts stay sparse until they are
weighted; then a profile adds each to its dimension (most stay empty), and a projection sums their
rows: in C, or in NumPy as a product of matrices for several texts together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, IntArray, SparseRows, joined
from adhominem.ngrams.counter import NgramCounter, TypePlaces
from adhominem.text.tokenizer import Numbered

if TYPE_CHECKING:
    from adhominem.ngrams.encoder import NgramEncoder

Number = TypeVar("Number", bound=np.generic)

_PARTS_AT_ONCE = 64  # of texts, in memory as rows of a matrix: some 5 MB

# So that each number of a product is summed in the same order whatever is beside it: a block of
# columns is one sum of products, in their order, in which zeros change nothing; these sums are
# then added one after another. OpenBLAS treats 16 rows, and 16 numbers of a row, alike if it has
# AVX-512. Elsewhere a LEV may depend on the texts beside it by a rounding error.
_BLOCK = 256
_ALIKE = 16


def parts_of(length: int, longest: int) -> list[tuple[int, int]]:
    """Where the parts begin and end that a document of this length is read in."""
    parts = max(1, -(-length // longest))
    return list(pairwise(np.linspace(0, length, parts + 1).astype(int).tolist()))


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
        self._longest = encoders[0].longest
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
            borders = parts_of(len(tokens), self._longest)
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
        all_values = np.zeros((_filled_up(len(rows)), columns), np.float32)
        for row, (here, values) in zip(all_values, rows, strict=False):
            row[here] = values
        used = all_values.any(axis=0)
        block = np.zeros((_BLOCK, _filled_up(size)), np.float32)
        levs = np.zeros((len(all_values), block.shape[1]), np.float32)
        part = np.empty_like(levs)
        for begin in range(0, columns, _BLOCK):
            here = begin + np.flatnonzero(used[begin : begin + _BLOCK])
            if len(here):
                block[: len(here), :size] = self._projection[here]
                levs += np.matmul(all_values[:, here], block[: len(here)], out=part)
        return np.asarray(levs[: len(rows), :size] * shares[:, None])


def _filled_up(count: int) -> int:
    return -(-count // _ALIKE) * _ALIKE
