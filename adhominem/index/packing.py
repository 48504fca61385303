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
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, IntArray, Levs, Rows, SparseRows
from adhominem.errors import OptionError
from adhominem.index.engine import Shards, multiplied
from adhominem.index.files import Arrays, checked, checked_ends

_LARGEST = 127  # of a number in a byte
_LEVS_WORTH_THREADS = 512


@dataclass(frozen=True, eq=False)
class PackedDense:
    """Rows (documents, size) of integers from -127 to 127, each with a scale."""

    values: npt.NDArray[np.int8]  # (documents, size)
    scales: Array32  # (documents,)

    @property
    def size(self) -> int:
        """The length of a row."""
        return int(self.values.shape[1])

    def check(self, row: int, before: int) -> int:
        """The CRC-32 of a row, continued from that of what comes before it."""
        return crc32(self.values[row].data, before)

    @classmethod
    def of(cls, rows: AnyFloats) -> PackedDense:
        """Packed from plain rows (documents, size)."""
        scales = _scales(np.abs(rows).max(axis=1, initial=0))
        return cls(np.rint(rows / scales[:, None]).astype(np.int8), scales)

    def rows(self, numbers: IntArray) -> Array32:
        """(numbers, size): these rows, unpacked."""
        values: Array32 = self.values[numbers].astype(np.float32)
        return values * self.scales[numbers, None]

    def queries(self) -> npt.NDArray[np.int16]:
        """(documents, size): these rows as operands for products in C."""
        return self.values.astype(np.int16)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to write."""
        return {"values": self.values, "scales": self.scales}


@dataclass(frozen=True, eq=False)
class PackedSparse:
    """Rows (documents, size) of steps to the next nonzero number, and these numbers."""

    ends: npt.NDArray[np.int64]  # (documents,): where the steps of each row end
    steps: npt.NDArray[np.unsignedinteger]  # (entries,)
    values: npt.NDArray[np.int8]  # (entries,): zero where a step is not the last one
    scales: Array32  # (documents,)
    size: int

    def check(self, row: int, before: int) -> int:
        """The CRC-32 of a row, continued from that of what comes before it."""
        entries = slice(self.ends[row - 1] if row else 0, self.ends[row])
        return crc32(self.values[entries].data, crc32(self.steps[entries].data, before))

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

    def rows(self, numbers: IntArray) -> SparseRows:
        """(numbers, size): these rows, unpacked."""
        ends = self.ends[numbers]
        begins = np.where(numbers > 0, self.ends[numbers - 1], 0)
        counts = ends - begins
        starts = np.cumsum(counts) - counts  # (numbers,): of each in the entries that are taken
        if len(numbers) and np.array_equal(begins[1:], ends[:-1]):  # neighbours
            entries: slice | IntArray = slice(begins[0], ends[-1])
        else:
            entries = np.arange(counts.sum()) + np.repeat(begins - starts, counts)
        steps, values = self.steps[entries].astype(np.int64), self.values[entries]
        walked = np.cumsum(steps)
        before = np.where(starts > 0, walked[starts - 1], 0) if len(walked) else starts
        owners = np.repeat(np.arange(len(numbers)), counts)
        kept = np.flatnonzero(values)
        owners = owners[kept]
        places = walked[kept] - before[owners] - 1
        if len(places) and (places.max() >= self.size or not steps.all()):
            raise OptionError(
                f"a number in place {places.max()} of {self.size}, or two in one place; expected a "
                "place before that, and one number in each"
            )
        return SparseRows.of_counts(
            np.bincount(owners, minlength=len(numbers)),
            places,
            _squared(values[kept], self.scales[numbers][owners]),
            self.size,
        )

    def queries(self) -> npt.NDArray[np.int8]:
        """(documents, size): the roots of these rows as operands for products in C."""
        result = np.zeros((len(self.ends), self.size), np.int8)
        walked = np.cumsum(self.steps, dtype=np.int64)
        begins = np.concatenate([np.zeros(1, np.int64), self.ends[:-1]])[: len(self.ends)]
        counts = self.ends - begins
        before = np.where(begins > 0, np.append(walked, 0)[begins - 1], 0)  # (documents,)
        kept = np.flatnonzero(self.values)
        owners = np.repeat(np.arange(len(counts)), counts)[kept]
        result[owners, walked[kept] - before[owners] - 1] = self.values[kept]
        return result

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to write."""
        return {
            "ends": self.ends,
            "steps": self.steps,
            "values": self.values,
            "scales": self.scales,
            "size": np.array([self.size]),
        }


Packed = PackedDense | PackedSparse


@dataclass(frozen=True, eq=False)
class PackedLevs:
    """LEVs (documents, lev_size): the part of each member, and the logarithms of lengths."""

    parts: tuple[Packed, ...]
    log_tokens: Array32  # (documents,)
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

    def levs(self, numbers: Sequence[int] | IntArray) -> Levs:
        """(numbers, lev_size): the LEVs of these documents, as packing has rounded them."""
        rows = np.asarray(numbers, np.int64)
        parts: list[Rows] = [part.rows(rows) for part in self.parts]
        return Levs((*parts, self.log_tokens[rows, None]))

    @classmethod
    def gathered(cls, places: Sequence[tuple[PackedLevs, int]]) -> PackedLevs:
        """Documents of several packed arrays, still packed; a ValueError if one is damaged."""
        parts: list[Packed] = []
        for levs, row in places:
            if levs.checks is not None and levs.check(row) != levs.checks[row]:
                raise ValueError(f"the LEV of its text {row + 1} is not as it was written")
        for at, first in enumerate(places[0][0].parts):
            rows = [(levs.parts[at], row) for levs, row in places]
            scales = np.array([part.scales[row] for part, row in rows], np.float32)
            if isinstance(first, PackedSparse):
                parts.append(_gathered_sparse(rows, scales, first.size))
            else:
                parts.append(PackedDense(np.stack([p.values[row] for p, row in rows]), scales))
        tokens = [levs.log_tokens[row] for levs, row in places]
        return cls(tuple(parts), np.array(tokens, np.float32))

    def check(self, row: int) -> int:
        """The CRC-32 of a document's LEV, without the parts checked when an index is opened."""
        total = 0
        for part in self.parts:
            total = part.check(row, total)
        return total

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays to write."""
        checks = np.array([self.check(row) for row in range(len(self))], np.uint32)
        named: dict[str, npt.NDArray[Any]] = {"log_tokens": self.log_tokens, "checks": checks}
        for at, part in enumerate(self.parts):
            named |= {f"part{at}.{name}": array for name, array in part.arrays().items()}
        return named

    @classmethod
    def from_arrays(cls, arrays: Arrays, count: int) -> PackedLevs:
        """Read what `arrays` returned; a ValueError if anything is missing or does not fit."""
        parts: list[Packed] = []
        while f"part{len(parts)}.values" in arrays:
            begin = f"part{len(parts)}."
            scales = checked(arrays, f"{begin}scales", "f4", count)
            if f"{begin}steps" in arrays:
                values = checked(arrays, f"{begin}values", "i1", None)
                steps = checked(arrays, f"{begin}steps", "u1 u2", len(values))
                ends = checked_ends(arrays, f"{begin}ends", count, len(values))
                size = int(checked(arrays, f"{begin}size", "i8", 1)[0])
                parts.append(PackedSparse(ends, steps, values, scales, size))
            else:
                parts.append(
                    PackedDense(checked(arrays, f"{begin}values", "i1", count, None), scales)
                )
        checks = checked(arrays, "checks", "u4", count)
        return cls(tuple(parts), checked(arrays, "log_tokens", "f4", count), checks)


def _gathered_sparse(
    rows: Sequence[tuple[Packed, int]], scales: Array32, size: int
) -> PackedSparse:
    steps, values, counts = [], [], []
    for part, row in rows:
        assert isinstance(part, PackedSparse)
        entries = slice(part.ends[row - 1] if row else 0, part.ends[row])
        steps.append(part.steps[entries])
        values.append(part.values[entries])
        counts.append(len(steps[-1]))
    ends = np.cumsum(counts, dtype=np.int64)
    return PackedSparse(ends, np.concatenate(steps), np.concatenate(values), scales, size)


@dataclass(frozen=True, eq=False)
class LevTable:
    """A member's part of all packed LEVs of an index, for products in C."""

    arrays: tuple[Shards, ...]  # values; or steps, values and ends
    scales: Array32  # (texts,)

    @classmethod
    def of(cls, shards: Sequence[Packed]) -> LevTable:
        """A table built from the packed parts of each shard."""
        names = ("steps", "values", "ends") if isinstance(shards[0], PackedSparse) else ("values",)
        arrays = tuple(tuple(getattr(part, name) for part in shards) for name in names)
        return cls(arrays, np.concatenate([part.scales for part in shards]))

    def products(self, numbers: IntArray, query: Packed, module: Any) -> Array32:
        """(numbers,): the products of chosen texts with one that is packed, too."""
        operand, scales = query.queries()[0], self.scales[numbers] * query.scales[0]
        least = _LEVS_WORTH_THREADS
        if isinstance(query, PackedSparse):
            multiply = module.sparse_products
            roots = multiplied(multiply, self.arrays, numbers, operand, np.float32, least)
            return np.asarray(roots * np.square(scales))
        multiply = module.byte_products
        whole = multiplied(multiply, self.arrays, numbers, operand, np.int32, least)
        return np.asarray(whole * scales, np.float32)


def packed_and_back(levs: Levs) -> Levs:
    """LEVs as they would be read back from an index."""
    return PackedLevs.of(levs).levs(np.arange(len(levs)))


def _scales(largest: AnyFloats) -> Array32:
    """(documents,): the unit of the integers, such that the largest of a row is 127."""
    return np.maximum(largest / _LARGEST, np.finfo(np.float32).tiny).astype(np.float32)


def _squared(roots: npt.NDArray[np.int8], scales: Array32) -> Array32:
    """(numbers,): the numbers, with their signs, whose roots a byte and a scale give."""
    sizes: Array32 = roots * scales
    return sizes * np.abs(sizes)


def _step_kind(steps: IntArray) -> tuple[type[np.unsignedinteger[Any]], int]:
    """The integer type for steps, whichever takes less space; and the farthest step."""
    as_bytes = 2 * int(((steps - 1) // 255 + 1).sum())
    as_pairs = 3 * int(((steps - 1) // 65535 + 1).sum())
    return (np.uint8, 255) if as_bytes <= as_pairs else (np.uint16, 65535)
