"""Packed LEVs: one byte per number, and only the nonzero numbers of sparse rows.

dense   (documents, size) integers from -127 to 127, and a scale for each row
sparse  for each nonzero number its distance from the one before it, usually a byte, and the root
        of the number, a byte: so small numbers, which are many, lose no more than large ones; a
        step too far for a byte is made in several, with zeros

A text that is searched for is packed, too, and so is treated exactly as if it were in the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, IntArray, Levs, Rows, SparseRows
from adhominem.errors import OptionError
from adhominem.index.engine import by_shard, module_in_c, multiplied, row_products
from adhominem.index.files import Arrays, InFile, Stored, check_ends, checked

_LARGEST = 127  # of a number in a byte
_LEVS_WORTH_THREADS = 512


@dataclass(frozen=True, eq=False)
class PackedDense(Stored):
    """Rows (documents, size) of integers from -127 to 127, each with a scale."""

    values: Annotated[npt.NDArray[np.int8], InFile("i1", "texts size")]
    scales: Annotated[Array32, InFile("f4", "texts")]

    @property
    def size(self) -> int:
        """The length of a row."""
        return int(self.values.shape[1])

    @classmethod
    def of(cls, rows: AnyFloats) -> PackedDense:
        """Packed from plain rows (documents, size)."""
        scales = _scales(np.abs(rows).max(axis=1, initial=0))
        return cls(np.rint(rows / scales[:, None]).astype(np.int8), scales)

    def __len__(self) -> int:
        return len(self.scales)

    def chosen(self, numbers: IntArray) -> PackedDense:
        """Some of the rows, still packed."""
        return PackedDense(self.values[numbers], self.scales[numbers])

    @staticmethod
    def joined(parts: Sequence[PackedDense]) -> PackedDense:
        """All rows of several."""
        values = np.concatenate([part.values for part in parts])
        return PackedDense(values, np.concatenate([part.scales for part in parts]))

    def rows(self) -> Array32:
        """(documents, size): the rows, unpacked."""
        return np.asarray(self.values.astype(np.float32) * self.scales[:, None])

    def check(self, row: int, before: int) -> int:
        """The CRC-32 of a row, continued from that of what comes before it."""
        return crc32(self.values[row].data, before)


@dataclass(frozen=True, eq=False)
class PackedSparse(Stored):
    """Rows (documents, size) of steps to the next nonzero number, and these numbers."""

    ends: Annotated[npt.NDArray[np.int64], InFile("i8", "texts")]  # where the steps of each row end
    steps: Annotated[npt.NDArray[np.unsignedinteger], InFile("u1 u2", "entries")]
    values: Annotated[npt.NDArray[np.int8], InFile("i1", "entries")]  # zero: another step follows
    scales: Annotated[Array32, InFile("f4", "texts")]
    size: Annotated[int, InFile("i8")]

    def __post_init__(self) -> None:
        check_ends(self.ends, len(self.values))

    @classmethod
    def of(cls, rows: SparseRows) -> PackedSparse:
        """Packed from sparse rows (documents, size)."""
        rows = rows.packed
        owners = rows.owners  # (numbers,)
        sizes = np.sqrt(np.abs(rows.values, dtype=np.float32))  # see above: of small ones more
        largest = np.zeros(len(rows), np.float32)
        filled = np.flatnonzero(rows.counts)
        if len(filled):
            largest[filled] = np.maximum.reduceat(sizes, rows.begins[filled])
        scales = _scales(largest)
        values = (np.rint(sizes / scales[owners]) * np.sign(rows.values)).astype(np.int8)
        kept = values != 0  # the rest is nearer to zero than to the least number there is
        owners, places, values = owners[kept], rows.places[kept].astype(np.int64), values[kept]
        steps = np.diff(places, prepend=-1)
        first = np.flatnonzero(np.diff(owners, prepend=-1))  # of each row that has any
        steps[first] = places[first] + 1
        kind, farthest = _step_kind(steps)
        extra = (steps - 1) // farthest  # (numbers,): steps before the last one
        at = np.cumsum(extra + 1) - 1
        count = int(at[-1]) + 1 if len(at) else 0
        all_steps, all_values = np.full(count, farthest, kind), np.zeros(count, np.int8)
        all_steps[at] = steps - extra * farthest
        all_values[at] = values
        counts = np.bincount(owners, extra + 1, len(rows)).astype(np.int64)
        return cls(np.cumsum(counts), all_steps, all_values, scales, rows.size)

    def __len__(self) -> int:
        return len(self.scales)

    @property
    def counts(self) -> IntArray:
        """(documents,): how many entries each row has."""
        return np.diff(self.ends, prepend=0)

    def chosen(self, numbers: IntArray) -> PackedSparse:
        """Some of the rows, still packed."""
        counts = self.counts[numbers]
        ends = np.cumsum(counts)
        entries = np.arange(counts.sum()) + np.repeat(self.ends[numbers] - ends, counts)
        return PackedSparse(
            ends, self.steps[entries], self.values[entries], self.scales[numbers], self.size
        )

    @staticmethod
    def joined(parts: Sequence[PackedSparse]) -> PackedSparse:
        """All rows of several."""
        ends = np.cumsum(np.concatenate([part.counts for part in parts]))
        steps, values, scales = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("steps", "values", "scales")
        )
        return PackedSparse(ends, steps, values, scales, parts[0].size)

    def places(self) -> IntArray:
        """(entries,): the place of each entry in its row."""
        walked = np.cumsum(self.steps, dtype=np.int64)
        before = np.append(0, walked)[self.ends - self.counts]  # (documents,)
        walked -= np.repeat(before + 1, self.counts)
        if len(walked) and (walked.max() >= self.size or not self.steps.all()):
            raise OptionError(
                f"a number in place {walked.max()} of {self.size}, or two in one place; expected a "
                "place before that, and one number in each"
            )
        return walked

    def rows(self) -> SparseRows:
        """(documents, size): the rows, unpacked."""
        kept = np.flatnonzero(self.values)
        owners = np.repeat(np.arange(len(self.ends)), self.counts)[kept]
        roots = self.values[kept] * self.scales[owners]
        counts = np.bincount(owners, minlength=len(self.ends))
        return SparseRows.of_counts(counts, self.places()[kept], roots * np.abs(roots), self.size)

    def roots(self) -> npt.NDArray[np.int8]:
        """(size,): the numbers of the first row, each standing for its square, with its sign."""
        result = np.zeros(self.size, np.int8)
        first = slice(self.ends[0])
        kept = np.flatnonzero(self.values[first])
        result[self.places()[first][kept]] = self.values[first][kept]
        return result

    def products(self, squares: Array32) -> Array32:
        """(documents,): products of each row with a plain one (size,), both without scales."""
        terms, values = squares.take(self.places()), self.values.astype(np.float32)
        terms *= values
        terms *= np.abs(values)
        counts = self.counts
        sums = np.add.reduceat(np.append(terms, np.float32(0)), self.ends - counts)
        return np.where(counts > 0, sums, np.float32(0))

    def check(self, row: int, before: int) -> int:
        """The CRC-32 of a row, continued from that of what comes before it."""
        entries = slice(self.ends[row - 1] if row else 0, self.ends[row])
        return crc32(self.values[entries].data, crc32(self.steps[entries].data, before))


Packed = PackedDense | PackedSparse


@dataclass(frozen=True, eq=False)
class PackedLevs(Stored):
    """LEVs (documents, lev_size): the part of each member, and the logarithms of lengths."""

    parts: tuple[Packed, ...]
    log_tokens: Annotated[Array32, InFile("f4", "texts")]
    checks: npt.NDArray[np.uint32] | None = None  # (documents,): as they were written

    @classmethod
    def of(cls, levs: Levs) -> PackedLevs:
        """Packed from LEVs as they were encoded."""
        parts = [
            PackedSparse.of(part) if isinstance(part, SparseRows) else PackedDense.of(part)
            for part in levs.parts[:-1]
        ]
        return cls(tuple(parts), np.asarray(levs.log_tokens, np.float32))

    def __len__(self) -> int:
        return len(self.log_tokens)

    def chosen(self, numbers: IntArray) -> PackedLevs:
        """Some of the documents, still packed; a ValueError if one is damaged."""
        if self.checks is not None:
            for row in numbers.tolist():
                if self.check(row) != self.checks[row]:
                    raise ValueError(f"the LEV of its text {row + 1} is not as it was written")
        return PackedLevs(
            tuple(part.chosen(numbers) for part in self.parts), self.log_tokens[numbers]
        )

    @classmethod
    def joined(cls, several: Sequence[PackedLevs]) -> PackedLevs:
        """The documents of several packed arrays in one."""
        parts = zip(*(levs.parts for levs in several), strict=True)
        tokens = np.concatenate([levs.log_tokens for levs in several])
        return cls(tuple(shards[0].joined(shards) for shards in parts), tokens)

    def levs(self, numbers: Sequence[int] | IntArray) -> Levs:
        """(numbers, lev_size): the LEVs of these documents, as packing has rounded them."""
        chosen = self.chosen(np.asarray(numbers, np.int64))
        parts: list[Rows] = [part.rows() for part in chosen.parts]
        return Levs((*parts, chosen.log_tokens[:, None]))

    def check(self, row: int) -> int:
        """The CRC-32 of a document's LEV, without the parts checked when an index is opened."""
        total = 0
        for part in self.parts:
            total = part.check(row, total)
        return total

    def arrays(self, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
        """The arrays to write."""
        named = super().arrays(prefix)
        named["checks"] = np.array([self.check(row) for row in range(len(self))], np.uint32)
        for at, part in enumerate(self.parts):
            named |= part.arrays(f"part{at}.")
        return named

    @classmethod
    def of_arrays(cls, arrays: Arrays, count: int) -> PackedLevs:
        """Read what `arrays` returned; a ValueError if anything is missing or does not fit."""
        parts, sizes = list[Packed](), {"texts": count}
        while f"part{len(parts)}.values" in arrays:
            prefix = f"part{len(parts)}."
            kind = PackedSparse if f"{prefix}steps" in arrays else PackedDense
            parts.append(kind.from_arrays(arrays, prefix, sizes=sizes))
        checks = checked(arrays, "checks", "u4", count)
        return cls.from_arrays(arrays, sizes=sizes, parts=tuple(parts), checks=checks)


class LevTable:
    """A member's part of all packed LEVs of an index, to be multiplied where it lies."""

    def __init__(self, shards: Sequence[Packed]) -> None:
        self._scales = np.concatenate([part.scales for part in shards])  # (texts,)
        self._dense = [part.values for part in shards if isinstance(part, PackedDense)]
        self._sparse = [part for part in shards if isinstance(part, PackedSparse)]
        names = ("steps", "values", "ends")
        self._arrays = [tuple(getattr(part, name) for part in self._sparse) for name in names]

    def products(self, numbers: IntArray, query: Packed) -> Array32:
        """(numbers,): the products of chosen texts with one that is packed, too."""
        scales = self._scales[numbers]
        if isinstance(query, PackedDense):
            return np.asarray(row_products(tuple(self._dense), numbers, query.rows()[0]) * scales)
        module, roots = module_in_c(), query.roots()
        if module is not None:
            multiply, least = module.sparse_products, _LEVS_WORTH_THREADS
            sums = multiplied(multiply, self._arrays, numbers, roots, np.float32, least)
        else:
            sums = np.empty(len(numbers), np.float32)
            squares = np.square(roots, dtype=np.float32) * np.sign(roots)
            for part, places, rows in by_shard(self._sparse, numbers):
                sums[places] = part.chosen(rows).products(squares)
        return np.asarray(sums * np.square(scales * query.scales[0]))


def packed_and_back(levs: Levs) -> Levs:
    """LEVs as they would be read back from an index."""
    return PackedLevs.of(levs).levs(np.arange(len(levs)))


def _scales(largest: AnyFloats) -> Array32:
    """(documents,): the unit of the integers, such that the largest of a row is 127."""
    return np.maximum(largest / _LARGEST, np.finfo(np.float32).tiny).astype(np.float32)


def _step_kind(steps: IntArray) -> tuple[type[np.unsignedinteger[Any]], int]:
    """The integer type for steps, whichever takes less space; and the farthest step."""
    as_bytes = 2 * int(((steps - 1) // 255 + 1).sum())
    as_pairs = 3 * int(((steps - 1) // 65535 + 1).sum())
    return (np.uint8, 255) if as_bytes <= as_pairs else (np.uint16, 65535)
