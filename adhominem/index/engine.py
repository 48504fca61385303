"""Engines that find candidates: the codes with the largest products with a query's.

An engine is given codes, whole numbers from -127 to 127, each with the number of its text; of a
code it is given as many numbers as it looks through, the first ones. It answers with the texts
whose codes have the largest products with a query's, and with these products, to which those of the
other numbers are added. It may miss some, since whatever it brings up is ranked again. Of the two
here one is in C, and the other needs nothing but NumPy.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import compiled
from adhominem.index.chosen import largest, whole_numbers
from adhominem.index.threads import even_parts, in_threads
from adhominem.processes import cores

Codes = npt.NDArray[np.int8]  # (texts, numbers)
SCANNED = 256  # numbers of a code that the engines here look through
_BLOCK = 16_384  # codes that are multiplied at once
_LANES = 16  # codes that lie side by side for the part in C
_TOGETHER = 8  # queries that it multiplies at once
_WORTH_THREADS = 1 << 22  # numbers that are multiplied
_MOST_PLAIN = 1 << 28  # numbers of codes that are held as floats: 1 GB


class Engine(Protocol):
    """What finds candidates."""

    most: int  # texts that it can answer with
    scanned: int  # numbers of a code that it looks through: it is given no more of them

    def add(self, numbers: IntArray, codes: Codes) -> None:
        """More texts: their numbers (texts,) and their codes (texts, numbers)."""

    def remove(self, numbers: IntArray) -> None:
        """Never again answer with these texts."""

    def candidates(self, queries: Array32, k: int) -> tuple[IntArray, Array32]:
        """(queries, k) twice: the texts whose codes have the largest products, and these products.

        They come in any order. Where there are fewer than k texts, the rest is -1.
        """


def make_engine() -> Engine:
    """The faster one of those that run here."""
    module = compiled("adhominem.index._looking")
    return ScanEngine() if module is None else CompiledEngine(module)


class ScanEngine:
    """Looks through all codes, a block at a time."""

    most = sys.maxsize
    scanned = SCANNED

    def __init__(self) -> None:
        self._blocks: list[npt.NDArray[Any]] = []  # (texts, numbers) each
        self._numbers: list[IntArray] = []
        self._held = 0  # numbers of codes as floats
        self._gone: set[int] = set()

    def add(self, numbers: IntArray, codes: Codes) -> None:
        """More texts: their numbers (texts,) and their codes (texts, numbers)."""
        self._held += codes.size
        # As floats if there is room: then nothing is converted in a search.
        kind = np.float32 if self._held <= _MOST_PLAIN else np.int8
        self._blocks.append(np.ascontiguousarray(codes, kind))
        self._numbers.append(np.asarray(numbers, np.int64))

    def remove(self, numbers: IntArray) -> None:
        """Never again answer with these texts."""
        self._gone |= set(numbers.tolist())

    def candidates(self, queries: Array32, k: int) -> tuple[IntArray, Array32]:
        """(queries, k) twice: the numbers of texts, and their products."""
        spare = k + len(self._gone)
        best = [_Best(spare) for _ in queries]
        by_number = np.ascontiguousarray(queries.T)  # (numbers, queries)
        for texts, codes in zip(self._numbers, self._blocks, strict=True):
            for at in range(0, len(codes), _BLOCK):
                block = codes[at : at + _BLOCK].astype(np.float32, copy=False)
                table = (block @ by_number).T  # (queries, texts)
                for row, kept in zip(table, best, strict=True):
                    kept.add(row, texts[at : at + _BLOCK])
        return _table([kept.result() for kept in best], k, self._gone)


class CompiledEngine:
    """Looks through all codes in C, in threads; queries are whole numbers of two bytes."""

    most = sys.maxsize
    scanned = SCANNED

    def __init__(self, module: Any) -> None:
        self._module = module
        self._waiting: list[Codes] = []
        self._arranged: npt.NDArray[np.int8] | None = None
        self._numbers: list[IntArray] = []
        self._gone: set[int] = set()

    def add(self, numbers: IntArray, codes: Codes) -> None:
        """More texts: their numbers (texts,) and their codes (texts, numbers)."""
        if self._arranged is not None:
            before = _in_rows(self._arranged)[: self._count, : codes.shape[1]]
            self._waiting, self._arranged = [before], None
        self._waiting.append(np.ascontiguousarray(codes))
        self._numbers.append(np.asarray(numbers, np.int64))

    def remove(self, numbers: IntArray) -> None:
        """Never again answer with these texts."""
        self._gone |= set(numbers.tolist())

    @property
    def _count(self) -> int:
        return sum(map(len, self._numbers))

    def candidates(self, queries: Array32, k: int) -> tuple[IntArray, Array32]:
        """(queries, k) twice: the numbers of texts, and their products."""
        if self._arranged is None:
            self._arranged = _in_blocks(self._waiting)
            self._waiting, self._numbers = [], [np.concatenate(self._numbers)]
        codes, texts, numbers = self._arranged, self._count, self._numbers[0]
        spare = k + len(self._gone)
        whole, scales = whole_numbers(queries)
        pairs = np.zeros((len(queries), 2 * codes.shape[1]), np.int16)
        pairs[:, : whole.shape[1]] = whole
        asked = pairs.reshape(len(queries), -1, 2)  # (queries, pairs, 2)

        def scan(part: tuple[slice, slice]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
            mine, blocks = asked[part[0]], part[1]
            wanted = min(spare, (blocks.stop - blocks.start) * _LANES)
            products = np.empty((len(mine), wanted), np.int32)
            places = np.empty((len(mine), wanted), np.int32)
            self._module.scan(codes, texts, mine, blocks.start, blocks.stop, products, places)
            return products, places

        # Each thread has a share of the queries; of the codes, if there are too few queries.
        worth_it = codes.size * len(queries) > _WORTH_THREADS
        by_query = len(queries) >= cores() * _TOGETHER
        parts = [
            (of_queries, of_blocks)
            for of_queries in even_parts(len(queries), by_query and worth_it)
            for of_blocks in even_parts(len(codes), not by_query and worth_it)
        ]
        results = in_threads(scan, parts, worth_it=len(parts) > 1)
        axis = 0 if by_query else 1
        products, places = (np.concatenate(both, axis) for both in zip(*results, strict=True))
        rows = []
        for row, there, scale in zip(products, places, scales, strict=True):
            kept = np.flatnonzero(there >= 0)
            rows.append((numbers[there[kept]], row[kept].astype(np.float32) * scale))
        return _table(rows, k, self._gone)


def _in_blocks(codes: list[Codes]) -> npt.NDArray[np.int8]:
    """(blocks, pairs, lanes, 2): codes (texts, numbers), zeros at the end where there are none."""
    texts, size = sum(map(len, codes)), codes[0].shape[1]
    pairs = (size + 1) // 2
    result = np.zeros((-(-texts // _LANES), pairs, _LANES, 2), np.int8)
    plain = result.transpose(0, 2, 1, 3)  # (blocks, lanes, pairs, 2): the same memory
    begin = 0
    for part in codes:
        padded = np.pad(part, ((0, 0), (0, 2 * pairs - size))).reshape(-1, pairs, 2)
        places = np.arange(begin, begin + len(part))
        plain[places // _LANES, places % _LANES] = padded
        begin += len(part)
    return result


def _in_rows(blocks: npt.NDArray[np.int8]) -> Codes:
    """(texts, numbers): what `_in_blocks` was given, with zeros at the end of both."""
    return blocks.transpose(0, 2, 1, 3).reshape(len(blocks) * _LANES, -1)


class _Best:
    """The largest of many products."""

    def __init__(self, k: int) -> None:
        self._k, self._least = k, -np.inf
        self._products: list[Array32] = []
        self._numbers: list[IntArray] = []
        self._count = 0

    def add(self, products: Array32, numbers: IntArray) -> None:
        kept = np.flatnonzero(products > self._least)
        self._products.append(products[kept])
        self._numbers.append(numbers[kept])
        self._count += len(kept)
        if self._count > 4 * self._k + _BLOCK:
            self._cut()

    def _cut(self) -> None:
        products, numbers = np.concatenate(self._products), np.concatenate(self._numbers)
        if len(products) > self._k:
            chosen = largest(products, self._k)
            products, numbers = products[chosen], numbers[chosen]
            self._least = float(products.min())
        self._products, self._numbers, self._count = [products], [numbers], len(products)

    def result(self) -> tuple[IntArray, Array32]:
        if not self._products:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        self._cut()
        return self._numbers[0], self._products[0]


def _table(
    rows: list[tuple[IntArray, Array32]], k: int, gone: set[int]
) -> tuple[IntArray, Array32]:
    """(queries, k) twice, without those that are gone; -1 where there are no more."""
    numbers = np.full((len(rows), k), -1, np.int64)
    products = np.full((len(rows), k), -np.inf, np.float32)
    left = np.array(sorted(gone), np.int64)
    for at, (texts, values) in enumerate(rows):
        kept = np.flatnonzero(~np.isin(texts, left)) if len(left) else np.arange(len(texts))
        kept = kept[largest(values[kept], k)]
        numbers[at, : len(kept)], products[at, : len(kept)] = texts[kept], values[kept]
    return numbers, products
