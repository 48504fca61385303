"""The types of arrays, named by their contents; shapes are given where they are used.

LEVs have a special type, `Levs`. A profile has a number for each of many thousands of n-grams; for
one text most are zero, and only the others are stored, sent and multiplied.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from adhominem.errors import OptionError

FloatArray = npt.NDArray[np.float64]
Array32 = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
AnyFloats = npt.NDArray[np.floating]


class _ArrayLike(NDArrayOperatorsMixin):
    """A table (rows, size) that NumPy treats as an array, and converts to one to compute."""

    ndim = 2

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of rows and their size."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of its numbers."""

    @abstractmethod
    def chosen(self, rows: Any) -> Self:
        """Some of the rows, by a slice, a mask or indices."""

    @abstractmethod
    def fill(self, zeros: npt.NDArray[Any]) -> None:
        """Write the numbers into an array (rows, size) of zeros."""

    def __len__(self) -> int:
        return self.shape[0]

    def astype(self, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The table as a plain array (rows, size)."""
        array = np.zeros(self.shape, dtype)
        self.fill(array)
        return array

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("a plain array of these rows is always a copy")
        return self.astype(self.dtype if dtype is None else dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = [np.asarray(given) if isinstance(given, _ArrayLike) else given for given in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getitem__(self, key: Any) -> Any:
        """Rows of the same type for a slice or array; otherwise a plain array."""
        if isinstance(key, int | np.integer):
            at = range(len(self))[key]
            return np.asarray(self.chosen(slice(at, at + 1)))[0]
        if isinstance(key, tuple) or (not isinstance(key, slice) and np.ndim(key) > 1):
            return np.asarray(self)[key]
        return self.chosen(key)

    def __iter__(self) -> Iterator[AnyFloats]:
        return (self[at] for at in range(len(self)))


@dataclass(frozen=True, eq=False, repr=False)
class SparseRows(_ArrayLike):
    """Sparse rows (rows, size), in compressed form: only nonzero numbers are stored.

    Rows chosen from others share their numbers: only `begins` and `ends` are new.
    """

    begins: IntArray  # (rows,): index of each row's first number
    ends: IntArray  # (rows,)
    places: npt.NDArray[np.unsignedinteger]  # (numbers,): their columns, sorted in each row
    values: AnyFloats  # (numbers,)
    size: int  # of a row

    @classmethod
    def of(cls, array: AnyFloats) -> SparseRows:
        """Sparse rows from a plain array (rows, size)."""
        rows, places = np.nonzero(array)
        counts = np.bincount(rows, minlength=len(array))
        return cls.of_counts(counts, places, array[rows, places], array.shape[1])

    @classmethod
    def of_counts(
        cls, counts: npt.ArrayLike, places: npt.NDArray[Any], values: AnyFloats, size: int
    ) -> SparseRows:
        """Sparse rows from the counts of numbers in each row (rows,), and all their numbers."""
        ends = np.cumsum(counts, dtype=np.int64)
        kind = np.uint16 if size <= 1 << 16 else np.uint32
        begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)]
        return cls(begins, ends, places.astype(kind, copy=False), values, size)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.begins), self.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def counts(self) -> IntArray:
        """The number (rows,) of stored numbers in each row."""
        return self.ends - self.begins

    @property
    def nbytes(self) -> int:
        """The bytes that these rows take, without those that they were chosen from."""
        of_a_number = self.places.itemsize + self.values.itemsize
        return 16 * len(self) + of_a_number * int(self.counts.sum())

    def row(self, at: int) -> tuple[npt.NDArray[np.unsignedinteger], AnyFloats]:
        """The places and the values of one row."""
        numbers = slice(self.begins[at], self.ends[at])
        return self.places[numbers], self.values[numbers]

    def chosen(self, rows: Any) -> SparseRows:
        """Some of the rows, which share their numbers."""
        return SparseRows(self.begins[rows], self.ends[rows], self.places, self.values, self.size)

    def columns(self, chosen: BoolArray) -> SparseRows:
        """All rows with only the chosen columns (size,)."""
        rows = self.packed
        kept = chosen[rows.places]  # (numbers,)
        places = (np.cumsum(chosen) - 1)[rows.places[kept]]
        before = np.append(0, np.cumsum(kept))  # (numbers + 1,): number of kept ones before each
        counts = before[rows.ends] - before[rows.begins]
        return SparseRows.of_counts(counts, places, rows.values[kept], int(chosen.sum()))

    def fill(self, zeros: npt.NDArray[Any]) -> None:
        for at, row in enumerate(zeros):
            places, values = self.row(at)
            row[places] = values

    @cached_property
    def packed(self) -> SparseRows:
        """These rows with numbers that follow each other without gaps."""
        follows = np.array_equal(self.begins[1:], self.ends[:-1])
        whole = len(self) and not self.begins[0] and self.ends[-1] == len(self.values)
        return self if whole and follows else _copied([self])

    @cached_property
    def by_column(self) -> npt.NDArray[Any]:
        """The transpose (size, rows) as a plain array, for products with many others."""
        rows, kind = self.packed, np.float32 if self.dtype.itemsize <= 4 else np.float64
        plain = np.zeros((self.size, len(self)), kind)
        plain[rows.places, rows.owners] = rows.values
        return plain

    @cached_property
    def distinct(self) -> tuple[SparseRows, IntArray]:
        """The distinct rows, and the index (rows,) of each row among them."""
        _, firsts, which = np.unique(
            self.begins * 2 + (self.counts == 0), return_index=True, return_inverse=True
        )
        if len(firsts) == len(self):
            return self, np.arange(len(self))
        return self.chosen(firsts), which

    @property
    def owners(self) -> IntArray:
        """The row (numbers,) of each number, if rows are packed."""
        return np.repeat(np.arange(len(self)), self.counts)

    @cached_property
    def squares(self) -> FloatArray:
        """The squared lengths (rows,)."""
        distinct, which = self.distinct
        packed = distinct.packed
        if not len(packed.values):
            return np.zeros(len(self))
        # An empty row at the end begins at the zero.
        of_numbers = np.append(np.square(packed.values, dtype=np.float64), 0.0)
        sums = np.where(packed.counts > 0, np.add.reduceat(of_numbers, packed.begins), 0)
        return np.asarray(sums[which])

    def __reduce__(self) -> tuple[Any, ...]:
        rows = self.packed
        return SparseRows, (rows.begins, rows.ends, rows.places, rows.values, rows.size)


Rows = AnyFloats | SparseRows  # (rows, size)


@dataclass(frozen=True, eq=False, repr=False)
class Levs(_ArrayLike):
    """The LEVs of documents (documents, lev_size), which NumPy treats as an array.

    There is one part for each member of the model and, as the last part, a column that belongs to
    no member: the natural logarithm of the number of tokens (`log_tokens`). It counts in
    `lev_size`, and is the last column of plain arrays of LEVs, too: `levs[:, -1]`. The members'
    parts are `parts[:-1]`.

    `levs[2:5]` and `levs[[3, 1]]` are LEVs again, `levs[3]` is a plain row, and `np.asarray(levs)`
    a plain array of all.
    """

    parts: tuple[Rows, ...]  # (documents, size) each; () for no documents

    @property
    def shape(self) -> tuple[int, int]:
        documents = len(self.parts[0]) if self.parts else 0
        return documents, sum(part.shape[1] for part in self.parts)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(np.float32, *(part.dtype for part in self.parts))

    @property
    def nbytes(self) -> int:
        """The bytes that these LEVs take."""
        return sum(part.nbytes for part in self.parts)

    @property
    def log_tokens(self) -> AnyFloats:
        """The logarithm (documents,) of each document's number of tokens."""
        last = self.parts[-1]  # of LEVs from a file, the only part
        if isinstance(last, SparseRows):
            last = np.asarray(last.columns(np.arange(last.size) == last.size - 1))
        return last[:, -1]

    def chosen(self, rows: Any) -> Levs:
        return Levs(tuple(cast(Rows, part[rows]) for part in self.parts))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and isinstance(key[1], int) and key[1] == -1:
            return self.log_tokens[key[0]]  # without an array of all
        return super().__getitem__(key)

    def fill(self, zeros: npt.NDArray[Any]) -> None:
        at = 0
        for part in self.parts:
            columns = zeros[:, at : at + part.shape[1]]
            if isinstance(part, SparseRows):
                part.fill(columns)
            else:
                columns[:] = part
            at += part.shape[1]

    def one_by_one(self) -> list[Levs]:
        """One LEV (1, lev_size) for each document."""
        return [self.chosen(slice(at, at + 1)) for at in range(len(self))]

    def copy(self) -> Levs:
        """A copy that does not keep the LEVs in memory that it was chosen from."""
        return Levs(
            tuple(
                _copied([part]) if isinstance(part, SparseRows) else part.copy()
                for part in self.parts
            )
        )

    def __repr__(self) -> str:
        return f"Levs of {len(self)} documents, {self.shape[1]} numbers each"


AnyLevs = Levs | AnyFloats  # (documents, lev_size)
_Joined = TypeVar("_Joined", bound=Any)


def joined(tables: Sequence[_Joined]) -> _Joined:
    """The concatenated rows of tables: arrays, sparse rows or LEVs.

    If some of the LEVs are plain arrays, the result is one, too.
    """
    tables = [table for table in tables if table.shape != (0, 0)] or tables[:1]
    first = tables[0]
    if all(isinstance(table, Levs) for table in tables):
        sides = zip(*(table.parts for table in tables), strict=True)
        return cast(_Joined, Levs(tuple(joined(parts) for parts in sides)))
    if not all(isinstance(table, SparseRows) for table in tables):
        return cast(_Joined, np.concatenate([np.asarray(table) for table in tables]))
    if len(tables) == 1 or any(table.values is not first.values for table in tables):
        return cast(_Joined, _copied(tables))
    begins = np.concatenate([table.begins for table in tables])
    ends = np.concatenate([table.ends for table in tables])
    return cast(_Joined, SparseRows(begins, ends, first.places, first.values, first.size))


def _copied(tables: Sequence[SparseRows]) -> SparseRows:
    """The rows of tables, with numbers of their own."""
    numbers = [table.row(at) for table in tables for at in range(len(table))]
    numbers = numbers or [(tables[0].places[:0], tables[0].values[:0])]
    counts = np.concatenate([table.counts for table in tables])
    places, values = (np.concatenate(column) for column in zip(*numbers, strict=True))
    return SparseRows.of_counts(counts, places, values, tables[0].size)


def in_columns(levs: AnyLevs, members: Sequence[tuple[int, bool]]) -> tuple[list[Rows], FloatArray]:
    """LEVs in the columns (documents, size) of each member, and their `log_tokens`.

    The members are given by the size of their LEVs, and whether these are sparse.
    """
    sizes = [size for size, _ in members]
    if levs.ndim != 2 or levs.shape[1] != sum(sizes) + 1:
        raise OptionError(f"LEVs of shape {levs.shape}; expected (pairs, {sum(sizes) + 1})")
    parts = levs.parts if isinstance(levs, Levs) else (levs,)
    if [part.shape[1] for part in parts] == [*sizes, 1]:
        return list(parts[:-1]), np.asarray(levs[:, -1], np.float64)
    if len(parts) == 1 and isinstance(parts[0], SparseRows):  # from a file
        owners = np.repeat(np.arange(len(sizes) + 1), [*sizes, 1])  # (lev_size,)
        split: Sequence[Rows] = [parts[0].columns(owners == at) for at in range(len(sizes))]
    else:
        split = np.split(np.asarray(levs), np.cumsum(sizes), axis=1)[:-1]
    columns: list[Rows] = []
    for (_, is_sparse), part in zip(members, split, strict=True):
        if is_sparse:
            columns.append(part if isinstance(part, SparseRows) else SparseRows.of(part))
        else:
            columns.append(np.asarray(part))
    return columns, np.asarray(levs[:, -1], np.float64)


def is_finite(rows: Rows) -> bool:
    """Whether all numbers of some rows are finite."""
    return bool(np.isfinite(rows.packed.values if isinstance(rows, SparseRows) else rows).all())
