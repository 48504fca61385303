"""Several n-gram encoders at once: the n-grams of a text are counted once for all of them.

What a text counts is a few thousand numbers of a hundred thousand. They stay sparse until they are
weighted; then a profile puts each to its dimension, of which most stay empty, and a projection adds
up their rows: in C, or in NumPy as a product of matrices for some texts together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, BoolArray, IntArray, SparseRows
from adhominem.ngrams.counter import NgramCounter, TypePlaces
from adhominem.text.tokenizer import Numbered

if TYPE_CHECKING:
    from adhominem.ngrams.encoder import NgramEncoder

Number = TypeVar("Number", bound=np.generic)

_PIECES_AT_ONCE = 64  # whose values are in memory as rows of a matrix: some 5 MB


def parts_of(length: int, longest: int) -> list[tuple[int, int]]:
    """Where the parts begin and end that a document of so many tokens is read in."""
    parts = max(1, -(-length // longest))
    return list(pairwise(np.linspace(0, length, parts + 1).astype(int).tolist()))


@dataclass(frozen=True)
class _Counts:
    """The n-grams that occur in a text, or in a part of it."""

    places: IntArray  # (n-grams,), rising
    levels: Array32  # (n-grams,): the log of each count and one
    firsts: IntArray  # (channels + 1,): where the n-grams of each channel begin, and the end


class NgramsTogether:
    """Encoders that read texts in the same parts, and count n-grams of the same lengths."""

    def __init__(self, encoders: Sequence[NgramEncoder]) -> None:
        self._counter = NgramCounter(*(encoder.table for encoder in encoders))
        self._longest = encoders[0].longest
        self._encoders = [
            (_Projected if encoder.projection is not None else _Profiled)(
                encoder, self._counter, at
            )
            for at, encoder in enumerate(encoders)
        ]

    def encode(self, texts: Numbered) -> list[Array32 | SparseRows]:
        """The LEVs of some texts: of each encoder (texts, lev_size), of a profile sparse rows."""
        sinks = [encoder.sink(len(texts.documents)) for encoder in self._encoders]
        if texts.documents:
            rows, tables = self._counter.look_up(texts)
            pieces = list(self._pieces(texts))
            for at in range(0, len(pieces), _PIECES_AT_ONCE):
                for piece in pieces[at : at + _PIECES_AT_ONCE]:
                    counts = self._counted(tables, rows[piece.begin : piece.end])
                    for sink in sinks:
                        sink.add(piece.text, piece.share, counts)
                for sink in sinks:
                    sink.flush()
        return [sink.levs() for sink in sinks]

    def _pieces(self, texts: Numbered) -> Iterator[_Piece]:
        first = 0
        for text, tokens in enumerate(texts.documents):
            parts = parts_of(len(tokens), self._longest)
            for begin, end in parts:
                yield _Piece(text, first + begin, first + end, 1 / len(parts))
            first += len(tokens)

    def _counted(self, tables: TypePlaces, rows: IntArray) -> _Counts:
        places, levels = tables.occurring(rows)
        np.log(levels, out=levels)
        levels += 1
        return _Counts(places, levels, np.searchsorted(places, self._counter.starts))


@dataclass(frozen=True)
class _Piece:
    """A text, or a part of it."""

    text: int
    begin: int  # of its tokens, in a row with those of all texts
    end: int
    share: float  # of the text's LEV


class _Sink(Protocol):
    """Takes the counts of pieces, text by text, and makes LEVs of them."""

    def add(self, text: int, share: float, counts: _Counts) -> None: ...

    def flush(self) -> None:
        """Some pieces have been added, as many as are treated together."""

    def levs(self) -> Array32 | SparseRows:
        """(texts, lev_size)"""


class _Weighted:
    """The weights of an encoder by place; zeros where others count."""

    def __init__(self, encoder: NgramEncoder, counter: NgramCounter, number: int) -> None:
        self.lev_size, self._places = encoder.lev_size, counter.places(number)
        self._size = int(counter.starts[-1])
        self._weights = self._by_place(encoder.weights, 0)

    def _by_place(self, values: npt.NDArray[Number], other: int) -> npt.NDArray[Number]:
        """(places,): values given by column, (columns,)."""
        by_place = np.full(self._size, other, values.dtype)
        by_place[self._places] = values
        return by_place

    def values(self, counts: _Counts) -> Array32:
        """(n-grams,): weighted, each channel of the same length, one in all."""
        values = counts.levels * self._weights[counts.places]
        # In double precision, for it not to matter in which order what is counted stands.
        squares = np.append(values, np.float32(0)).astype(np.float64)
        squares *= squares
        sums = np.add.reduceat(squares, counts.firsts[:-1])  # (channels,)
        sizes = np.diff(counts.firsts)
        sums[sizes == 0] = 0  # `reduceat` gives an empty one the next
        lengths = np.sqrt(np.maximum(sums, 1e-24) * len(sizes)).astype(np.float32)
        values /= np.repeat(lengths, sizes)
        return np.asarray(values)


class _Profiled(_Weighted):
    """An encoder in which each n-gram has a dimension."""

    def __init__(self, encoder: NgramEncoder, counter: NgramCounter, number: int) -> None:
        super().__init__(encoder, counter, number)
        # A sign changes no length.
        self._weights = self._by_place(encoder.weights * encoder.sign, 0)
        self._dimension = self._by_place(encoder.dimension, 0)

    def sink(self, texts: int) -> _Sink:
        return _ProfileSink(self, texts)

    def lev(self, counts: _Counts) -> AnyFloats:
        """(lev_size,)"""
        dimensions = self._dimension[counts.places]
        lev = np.bincount(dimensions, self.values(counts), self.lev_size)
        return lev.astype(np.float64, copy=False)  # whole numbers where there is no n-gram


class _ProfileSink:
    def __init__(self, encoder: _Profiled, texts: int) -> None:
        self._encoder = encoder
        self._places: list[npt.NDArray[np.uint32]] = []  # of the numbers of each text
        self._values: list[Array32] = []
        self._counts = np.zeros(texts, np.int64)
        self._text, self._sum = -1, np.zeros(encoder.lev_size, np.float32)  # of a text in parts

    def add(self, text: int, share: float, counts: _Counts) -> None:
        lev = self._encoder.lev(counts)
        if text != self._text:
            self._end_text()
        if share == 1:
            self._keep(text, lev.astype(np.float32))
        else:
            self._text = text
            self._sum += lev * share

    def _keep(self, text: int, lev: Array32) -> None:
        places = np.flatnonzero(lev != 0)  # of booleans, for which it is fast
        self._places.append(places.astype(np.uint32))
        self._values.append(lev[places])
        self._counts[text] = len(places)

    def _end_text(self) -> None:
        if self._text >= 0:
            self._keep(self._text, self._sum)
            self._text, self._sum = -1, np.zeros_like(self._sum)

    def flush(self) -> None:
        pass

    def levs(self) -> SparseRows:
        self._end_text()
        places = np.concatenate([np.zeros(0, np.uint32), *self._places])
        values = np.concatenate([np.zeros(0, np.float32), *self._values])
        return SparseRows.of_counts(self._counts, places, values, self._encoder.lev_size)


class _Projected(_Weighted):
    """An encoder whose n-grams have a row of a matrix each."""

    def __init__(self, encoder: NgramEncoder, counter: NgramCounter, number: int) -> None:
        super().__init__(encoder, counter, number)
        assert encoder.projection is not None
        self.projection = encoder.projection  # (columns, lev_size), eight bits
        self.scale = encoder.scale  # (columns,)
        # What others count goes to a column behind the last.
        self.column = self._by_place(np.arange(len(self._places)), len(self._places))
        self.in_order = bool((np.diff(self._places) > 0).all())  # its columns, by place
        self._compiled = counter.compiled

    def sink(self, texts: int) -> _Sink:
        if self._compiled is not None:
            return _SparseSink(self, self._compiled, texts)
        return _ProjectionSink(self, texts)


class _SparseSink:
    """For a projection in C: only what is counted is multiplied."""

    def __init__(self, encoder: _Projected, module: Any, texts: int) -> None:
        self._encoder, self._module = encoder, module
        self._levs = np.zeros((texts, encoder.lev_size), np.float32)
        self._begin()

    def _begin(self) -> None:
        self._texts: list[int] = []
        self._columns: list[IntArray] = []
        self._values: list[Array32] = []

    def add(self, text: int, share: float, counts: _Counts) -> None:
        encoder = self._encoder
        columns = encoder.column[counts.places]
        chosen = np.flatnonzero(columns < len(encoder.scale))
        if not encoder.in_order:
            chosen = chosen[np.argsort(columns[chosen])]
        columns, values = columns[chosen], encoder.values(counts)[chosen]
        values *= encoder.scale[columns]
        self._texts.append(text)
        self._columns.append(columns)
        self._values.append(values if share == 1 else values * np.float32(share))

    def flush(self) -> None:
        levs = np.zeros((len(self._texts), self._encoder.lev_size), np.float32)
        firsts = np.cumsum([0, *map(len, self._columns)])
        columns, values = np.concatenate(self._columns), np.concatenate(self._values)
        self._module.project(self._encoder.projection, firsts, columns, values, levs)
        np.add.at(self._levs, self._texts, levs)  # a text may have several pieces
        self._begin()

    def levs(self) -> Array32:
        return self._levs


# For each number of a product to be added up in the same order whatever stands beside it: so many
# columns are one sum of products, in their order, in which zeros change nothing; these sums are
# then added one after another. OpenBLAS treats so many rows, and so many numbers of a row, alike
# where it has AVX-512. Elsewhere a LEV may depend on its company by a rounding error.
_BLOCK = 256
_ALIKE = 16


def _filled_up(count: int) -> int:
    return -(-count // _ALIKE) * _ALIKE


class _ProjectionSink:
    def __init__(self, encoder: _Projected, texts: int) -> None:
        self._encoder = encoder
        self._levs = np.zeros((texts, encoder.lev_size), np.float32)
        self._pieces: list[tuple[int, float, _Counts]] = []  # texts, shares

    def add(self, text: int, share: float, counts: _Counts) -> None:
        self._pieces.append((text, share, counts))

    def flush(self) -> None:
        levs = self._product()
        for lev, (text, share, _) in zip(levs, self._pieces, strict=False):
            self._levs[text] += lev if share == 1 else lev * np.float32(share)
        self._pieces = []

    def levs(self) -> Array32:
        return self._levs

    def _values(self) -> tuple[Array32, BoolArray]:
        """(pieces, columns + 1), filled up: their values; (columns + 1,): which any piece has."""
        columns = len(self._encoder.projection)
        values = np.zeros((_filled_up(len(self._pieces)), columns + 1), np.float32)
        used = np.zeros(columns + 1, np.bool_)
        for row, (_, _, counts) in zip(values, self._pieces, strict=False):
            at = self._encoder.column[counts.places]
            row[at] = self._encoder.values(counts)
            used[at] = True
        return values, used

    def _product(self) -> Array32:
        """(pieces, lev_size), filled up in both: of columns that any piece has."""
        encoder, size = self._encoder, self._encoder.lev_size
        all_values, used = self._values()
        block = np.zeros((_BLOCK, _filled_up(size)), np.float32)
        levs = np.zeros((len(all_values), block.shape[1]), np.float32)
        part = np.empty_like(levs)
        for begin in range(0, len(encoder.projection), _BLOCK):
            end = min(begin + _BLOCK, len(encoder.projection))
            columns = begin + np.flatnonzero(used[begin:end])
            if not len(columns):
                continue
            block[: len(columns), :size] = encoder.projection[columns]
            values = all_values[:, columns] * encoder.scale[columns]
            levs += np.matmul(values, block[: len(columns)], out=part)
        return levs[:, :size]
