"""Engines that find candidates: the codes with the largest products with a query's.

An engine is given codes, whole numbers from -127 to 127, each with the number of its text, and
answers with the numbers of those that are nearest to a query. It may be approximate: whatever it
brings up is ranked again. The one here needs nothing but NumPy; FAISS was no faster (LOG.md).
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, IntArray

Codes = npt.NDArray[np.int8]  # (texts, numbers)
_BLOCK = 16_384  # codes that are multiplied at once
_MOST_PLAIN = 1 << 28  # numbers of codes that are held as floats: 1 GB


class Engine(Protocol):
    """What finds candidates."""

    most: int  # texts that it can answer with

    def add(self, numbers: IntArray, codes: Codes) -> None:
        """More texts: their numbers (texts,) and their codes (texts, HEAD)."""

    def remove(self, numbers: IntArray) -> None:
        """Never again answer with these texts."""

    def candidates(self, queries: Array32, k: int) -> tuple[IntArray, Array32]:
        """(queries, k) twice: the texts whose codes have the largest products, and these products.

        The largest is the first. Where there are fewer than k texts, the rest is -1.
        """


class ScanEngine:
    """Looks through all codes, a block at a time."""

    most = sys.maxsize

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
            chosen = np.argpartition(products, len(products) - self._k)[-self._k :]
            products, numbers = products[chosen], numbers[chosen]
            self._least = float(products.min())
        self._products, self._numbers, self._count = [products], [numbers], len(products)

    def result(self) -> tuple[IntArray, Array32]:
        if not self._products:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        self._cut()
        order = np.argsort(-self._products[0], kind="stable")
        return self._numbers[0][order], self._products[0][order]


def _table(
    rows: list[tuple[IntArray, Array32]], k: int, gone: set[int]
) -> tuple[IntArray, Array32]:
    """(queries, k) twice, without those that are gone; -1 where there are no more."""
    numbers = np.full((len(rows), k), -1, np.int64)
    products = np.full((len(rows), k), -np.inf, np.float32)
    left = np.array(sorted(gone), np.int64)
    for at, (texts, values) in enumerate(rows):
        kept = np.flatnonzero(~np.isin(texts, left))[:k] if len(left) else np.arange(len(texts))[:k]
        numbers[at, : len(kept)], products[at, : len(kept)] = texts[kept], values[kept]
    return numbers, products
