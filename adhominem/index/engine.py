"""Finding candidates: the texts whose codes have the largest products with a query's.

`Engine` is the protocol: `Scan` scans all codes on this machine, in C or in NumPy, and
`milvus.MilvusEngine` asks a server. An engine gets the first numbers of each code, as many as it
scans, from -127 to 127; the products of the other numbers are added to those that it returns
(`row_products`). It may miss some texts, since its candidates are ranked again anyway.

This module also contains what else runs over many texts in threads: products of chosen texts, by
their numbers, all over the index. In C the arrays of all shards are passed at once; in NumPy the
chosen rows of each shard are copied.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import compiled
from adhominem.processes import cores

Codes = npt.NDArray[np.int8]  # (texts, numbers)
Shards = tuple[npt.NDArray[Any], ...]  # the arrays of a kind, one for each shard
SCANNED = 256  # numbers of a code that are scanned here
_BLOCK = 16_384  # codes that NumPy multiplies at once
_LANES = 16  # codes that lie side by side for the part in C
_TOGETHER = 8  # queries that it multiplies at once
_WORTH_THREADS = 1 << 22  # numbers that are multiplied
_CODES_WORTH_THREADS = 4_096
_Shard = TypeVar("_Shard", bound=Sized)
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Engine(Protocol):
    """Finds candidates for queries."""

    most: int  # texts that it can answer with
    scanned: int  # numbers of a code that it scans: it holds no more

    def candidates(self, queries: Array32, k: int) -> tuple[IntArray, Array32]:
        """(queries, k) twice: the texts whose codes have the largest products, and these products.

        They come in any order. If there are fewer than k texts, the remaining entries are -1.
        """


class Scan:
    """Scans all codes, in C or in NumPy; in C, queries are rounded to 16-bit integers."""

    most = sys.maxsize
    scanned = SCANNED

    def __init__(self, numbers: Sequence[IntArray], codes: Sequence[Codes]) -> None:
        """The texts of some shards: their numbers (texts,) and their codes (texts, numbers)."""
        self._numbers = np.concatenate(numbers).astype(np.int64)
        self._module = compiled("adhominem.index._looking")
        self._codes = np.concatenate(codes) if self._module is None else _in_blocks(codes)

    def candidates(self, queries: Array32, k: int) -> tuple[IntArray, Array32]:
        """(queries, k) twice: the numbers of texts, and their products."""
        numbers = np.full((len(queries), k), -1, np.int64)
        products = np.full((len(queries), k), -np.inf, np.float32)
        rows = self._in_numpy(queries) if self._module is None else self._in_c(queries, k)
        for at, (places, values) in enumerate(rows):
            kept = largest(values, k)
            numbers[at, : len(kept)] = self._numbers[places[kept]]
            products[at, : len(kept)] = values[kept]
        return numbers, products

    def _in_numpy(self, queries: Array32) -> Iterator[tuple[IntArray, Array32]]:
        """For each query the indices of all texts, and their products."""
        blocks = np.split(self._codes, range(_BLOCK, len(self._codes), _BLOCK))
        table = np.concatenate([queries @ block.astype(np.float32).T for block in blocks], axis=1)
        return ((np.arange(len(row)), row) for row in table)

    def _in_c(self, queries: Array32, k: int) -> Iterator[tuple[IntArray, Array32]]:
        """For each query the indices of at least k texts, with the best, and their products."""
        codes, module = self._codes, self._module
        assert module is not None
        whole, scales = whole_numbers(queries)
        pairs = np.zeros((len(queries), 2 * codes.shape[1]), np.int16)
        pairs[:, : whole.shape[1]] = whole
        plain = pairs.reshape(len(queries), -1, 2)  # (queries, pairs, 2)

        def scan(part: tuple[slice, slice]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
            mine, blocks = plain[part[0]], part[1]
            wanted = min(k, (blocks.stop - blocks.start) * _LANES)
            products = np.empty((len(mine), wanted), np.int32)
            places = np.empty((len(mine), wanted), np.int32)
            texts = len(self._numbers)
            module.scan(codes, texts, mine, blocks.start, blocks.stop, products, places)
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
        products, places = (np.concatenate(arrays, axis) for arrays in zip(*results, strict=True))
        for row, there, scale in zip(products, places, scales, strict=True):
            kept = np.flatnonzero(there >= 0)
            yield there[kept], row[kept].astype(np.float32) * scale


def _in_blocks(codes: Sequence[Codes]) -> npt.NDArray[np.int8]:
    """(blocks, pairs, lanes, 2): codes (texts, numbers), padded with zeros."""
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


# Products of chosen texts


def module_in_c() -> Any | None:
    """The C extension that multiplies chosen texts; None if not built or turned off."""
    return compiled("adhominem.index._chosen")


def row_products(shards: Shards, numbers: IntArray, query: Array32) -> Array32:
    """(numbers,): the products of chosen rows (texts, size) of bytes with a query.

    A shorter query is multiplied with the last numbers of each row.
    """
    module = module_in_c()
    if module is None:
        result = np.empty(len(numbers), np.float32)
        for shard, places, rows in by_shard(shards, numbers):
            last = shard[rows, shard.shape[1] - len(query) :]
            result[places] = last.astype(np.float32) @ query
        return result
    whole, scales = whole_numbers(query[None])
    least = _CODES_WORTH_THREADS
    products = multiplied(module.byte_products, (shards,), numbers, whole[0], np.int32, least)
    return np.asarray(products * scales[0], np.float32)


def multiplied(
    multiply: Callable[..., None],
    arrays: Sequence[Shards],
    numbers: IntArray,
    query: npt.NDArray[Any],
    kind: type[Any],
    least: int,
) -> npt.NDArray[Any]:
    """(numbers,): a C function's results for chosen texts, in threads if more than `least`."""
    result = np.empty(len(numbers), kind)
    chosen = np.ascontiguousarray(numbers, np.int64)
    worth_it = len(numbers) > least
    in_threads(
        lambda part: multiply(*arrays, chosen[part], query, result[part]),
        even_parts(len(numbers), worth_it),
        worth_it=worth_it,
    )
    return result


def by_shard(
    shards: Sequence[_Shard], numbers: IntArray
) -> Iterator[tuple[_Shard, IntArray, IntArray]]:
    """The shards that hold some texts, with the indices of these in `numbers`, and their rows."""
    begins = np.concatenate([[0], np.cumsum([len(shard) for shard in shards], dtype=np.int64)])
    shard_of = np.searchsorted(begins, numbers, side="right") - 1  # (numbers,)
    for at in np.unique(shard_of).tolist():
        places = np.flatnonzero(shard_of == at)
        yield shards[at], places, numbers[places] - begins[at]


def largest(values: Array32, count: int) -> IntArray:
    """(count,): the indices of the largest values, ties by index; all if there are fewer."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    chosen = np.flatnonzero(values >= least)
    equal = np.flatnonzero(values[chosen] == least)  # some of these may be too many
    return np.delete(chosen, equal[len(equal) - (len(chosen) - count) :])


def whole_numbers(queries: Array32) -> tuple[npt.NDArray[np.int16], Array32]:
    """Queries (queries, numbers) as 16-bit integers, and the value that 1 stands for, (queries,).

    The sum of their products with bytes always fits in 32 bits.
    """
    sizes = np.abs(queries)
    largest, total = sizes.max(axis=1, initial=0), sizes.sum(axis=1)
    scales = np.maximum(largest / 32_767, total * 127 / (1 << 30)).astype(np.float32)
    scales = np.maximum(scales, np.finfo(np.float32).tiny)
    return np.rint(queries / scales[:, None]).astype(np.int16), scales


# Threads, as many as there are cores: for parts in C, which let others run meanwhile

_thread = threading.local()


def _begin() -> None:
    _thread.is_ours = True


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), "index", _begin)


if hasattr(os, "register_at_fork"):  # a forked process does not inherit threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


def in_threads(
    work: Callable[[_Item], _Result], items: Iterable[_Item], *, worth_it: bool = True
) -> list[_Result]:
    """The results of some work on each item, in order; in threads only if that pays.

    Work that already runs in one of these threads is not split again.
    """
    if worth_it and cores() > 1 and not getattr(_thread, "is_ours", False):
        return list(_pool().map(work, items))
    return [work(item) for item in items]


def even_parts(count: int, worth_it: bool = True) -> list[slice]:
    """The numbers below a count in as many parts as there are cores; one if more do not pay."""
    parts = max(1, min(cores(), count)) if worth_it else 1
    cuts = np.linspace(0, count, parts + 1).astype(int).tolist()
    return [slice(*ends) for ends in pairwise(cuts)]
