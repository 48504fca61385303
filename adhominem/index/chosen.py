"""Products of chosen texts of an index with one that is searched for.

Texts are chosen by their numbers, all over the index. In C the arrays of all shards are handed over
at once; in NumPy the chosen rows of each shard are taken out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import compiled
from adhominem.index.packing import Packed, PackedSparse
from adhominem.index.threads import even_parts, in_threads

Shards = tuple[npt.NDArray[Any], ...]  # the arrays of a kind, one for each shard
_WORTH_THREADS = 4_096  # codes that are multiplied, and the like
_LEVS_WORTH_THREADS = 512


def module_in_c() -> Any | None:
    """What multiplies in C; none where it was not built, or is not wanted."""
    return compiled("adhominem.index._chosen")


def row_products(shards: Shards, numbers: IntArray, query: Array32) -> Array32:
    """(numbers,): of chosen rows (texts, size) of bytes with a query.

    A query of fewer numbers is multiplied with the last ones of each row.
    """
    module = module_in_c()
    if module is None:
        result = np.empty(len(numbers), np.float32)
        for at, places, rows in by_shard([len(shard) for shard in shards], numbers):
            last = shards[at][rows, shards[at].shape[1] - len(query) :]
            result[places] = last.astype(np.float32) @ query
        return result
    whole, scales = whole_numbers(query[None])
    products = _multiplied(module.byte_products, (shards,), numbers, whole[0], np.int32)
    return np.asarray(products * scales[0], np.float32)


@dataclass(frozen=True, eq=False)
class LevTable:
    """A member's part of all packed LEVs of an index."""

    arrays: tuple[Shards, ...]  # values; or steps, values and ends
    scales: Array32  # (texts,)

    @classmethod
    def of(cls, shards: Sequence[Packed]) -> LevTable:
        """From those of each shard."""
        names = ("steps", "values", "ends") if isinstance(shards[0], PackedSparse) else ("values",)
        arrays = tuple(tuple(getattr(part, name) for part in shards) for name in names)
        return cls(arrays, np.concatenate([part.scales for part in shards]))

    def products(self, numbers: IntArray, query: Packed, module: Any) -> Array32:
        """(numbers,): of chosen texts with one that is packed, too."""
        other, scales = query.queries()[0], self.scales[numbers] * query.scales[0]
        least = _LEVS_WORTH_THREADS
        if isinstance(query, PackedSparse):
            multiply = module.sparse_products
            roots = _multiplied(multiply, self.arrays, numbers, other, np.float32, least)
            return np.asarray(roots * np.square(scales))
        multiply = module.byte_products
        whole = _multiplied(multiply, self.arrays, numbers, other, np.int32, least)
        return np.asarray(whole * scales, np.float32)


def _multiplied(
    multiply: Callable[..., None],
    arrays: tuple[Shards, ...],
    numbers: IntArray,
    query: npt.NDArray[Any],
    kind: type[Any],
    worth_threads: int | None = None,
) -> npt.NDArray[Any]:
    """(numbers,): what a function in C makes of them, in threads if they are many."""
    result = np.empty(len(numbers), kind)
    chosen = np.ascontiguousarray(numbers, np.int64)
    worth_it = len(numbers) > (_WORTH_THREADS if worth_threads is None else worth_threads)
    in_threads(
        lambda part: multiply(*arrays, chosen[part], query, result[part]),
        even_parts(len(numbers), worth_it),
        worth_it=worth_it,
    )
    return result


def by_shard(texts: Sequence[int], numbers: IntArray) -> list[tuple[int, IntArray, IntArray]]:
    """The shards, of so many texts each, that some texts lie in.

    With each come the places of its texts among these, and their rows in it.
    """
    if not len(numbers):
        return []
    begins = np.concatenate([[0], np.cumsum(texts, dtype=np.int64)])
    at = np.searchsorted(begins, numbers, side="right") - 1  # (numbers,)
    order = np.argsort(at, kind="stable")
    shards, counts = np.unique(at, return_counts=True)
    places = np.split(order, np.cumsum(counts)[:-1])
    return [
        (shard, chosen, numbers[chosen] - begins[shard])
        for shard, chosen in zip(shards.tolist(), places, strict=True)
    ]


def largest(values: Array32, count: int) -> IntArray:
    """(count,): where the largest values are, the first place first; or all, if there are fewer."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    chosen = np.flatnonzero(values >= least)
    equal = np.flatnonzero(values[chosen] == least)  # of these, some may be too many
    return np.delete(chosen, equal[len(equal) - (len(chosen) - count) :])


def whole_numbers(queries: Array32) -> tuple[npt.NDArray[np.int16], Array32]:
    """Queries (queries, numbers) as whole numbers of two bytes, and what 1 stands for, (queries,).

    No sum of products with bytes is beyond four bytes.
    """
    sizes = np.abs(queries)
    largest, total = sizes.max(axis=1, initial=0), sizes.sum(axis=1)
    scales = np.maximum(largest / 32_767, total * 127 / (1 << 30)).astype(np.float32)
    scales = np.maximum(scales, np.finfo(np.float32).tiny)
    return np.rint(queries / scales[:, None]).astype(np.int16), scales
