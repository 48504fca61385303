"""Agglomerative clustering by likeness: the tree of a dendrogram.

The two groups that are most alike are joined, again and again, until one is left. The
likeness of two groups is

    average   the mean over all pairs with a text in each (UPGMA)
    complete  the least
    single    the greatest

Joins can be labelled with the number that they were made by, here a log10 Bayes factor: the mean,
least or greatest one of pairs of texts, and not the Bayes factor of one author having written both
groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError

LINKAGES = ("average", "complete", "single")


@dataclass(frozen=True)
class Join:
    """Two groups that become one. Indices below `documents` are documents, the others joins."""

    first: int
    second: int
    likeness: float
    size: int  # documents in both


def join_all(likeness: npt.ArrayLike, linkage: str = "average") -> tuple[Join, ...]:
    """The joins, the most alike first, from a symmetric (documents, documents) table.

    The algorithm follows chains of nearest neighbours: n^2 steps and one copy of the table. These
    linkages never make a join that is more alike than one inside it, so the order in which joins
    are found does not matter.
    """
    if linkage not in LINKAGES:
        raise OptionError(f"the linkage is {linkage!r}; expected {', '.join(LINKAGES)}")
    table = np.array(likeness, dtype=np.float64)
    n = len(table)
    if table.shape != (n, n) or not np.array_equal(table, table.T, equal_nan=True):
        raise OptionError(f"likeness of shape {table.shape}; expected a symmetric table")
    np.fill_diagonal(table, -np.inf)
    if np.isnan(table).any():
        raise OptionError("a likeness is not a number; expected finite ones")
    sizes = np.ones(n)
    inside = np.full(n, np.inf)  # the least likeness within each group
    pairs: list[tuple[float, int, int]] = []  # the likeness, and a document of each group
    chain: list[int] = []
    left = np.ones(n, dtype=bool)
    while len(pairs) < n - 1:
        if not chain:
            chain = [int(np.argmax(left))]
        last = chain[-1]
        nearest = int(np.argmax(table[last]))
        # Of several that are as near, the one we came from, or the chain would not end.
        if len(chain) > 1 and table[last, chain[-2]] >= table[last, nearest]:
            nearest = chain[-2]
        if len(chain) < 2 or nearest != chain[-2]:
            chain.append(nearest)
            continue
        del chain[-2:]
        kept, gone = sorted((last, nearest))
        # By rounding, a mean of equal numbers may be greater than they are.
        inside[kept] = min(table[kept, gone], inside[kept], inside[gone])
        pairs.append((float(inside[kept]), kept, gone))
        row = _joined(table, sizes, kept, gone, linkage)
        row[~left] = row[kept] = row[gone] = -np.inf
        table[kept], table[:, kept] = row, row
        table[gone] = table[:, gone] = -np.inf
        sizes[kept] += sizes[gone]
        left[gone] = False
    return _numbered(sorted(pairs, key=lambda pair: -pair[0]), n)


def _joined(
    table: FloatArray, sizes: FloatArray, first: int, second: int, linkage: str
) -> FloatArray:
    """(documents,): the likeness of the union of two groups to each other group."""
    if linkage == "complete":
        return np.asarray(np.minimum(table[first], table[second]))
    if linkage == "single":
        return np.asarray(np.maximum(table[first], table[second]))
    total = sizes[first] * table[first] + sizes[second] * table[second]
    return np.asarray(total / (sizes[first] + sizes[second]))


def _numbered(pairs: Sequence[tuple[float, int, int]], documents: int) -> tuple[Join, ...]:
    """Joins with the groups numbered; each pair names a document of either group."""
    group = np.arange(documents)
    joins: list[Join] = []
    for likeness, one, other in pairs:
        first, second = sorted((int(group[one]), int(group[other])))
        inside = (group == first) | (group == second)
        group[inside] = documents + len(joins)
        joins.append(Join(first, second, likeness, int(inside.sum())))
    return tuple(joins)


def leaf_order(joins: Sequence[Join], likeness: npt.ArrayLike) -> list[int]:
    """The documents from the top of the drawing to its bottom, without crossing branches.

    Each join can be drawn either way up. It is turned so that the documents that meet in its middle
    are alike.
    """
    table = np.asarray(likeness, dtype=np.float64)
    orders: list[list[int]] = [[at] for at in range(len(joins) + 1)]
    for join in joins:
        first, second = orders[join.first], orders[join.second]
        ways = [
            (table[upper[-1], lower[0]], upper, lower)
            for upper in (first, first[::-1])
            for lower in (second, second[::-1])
        ]
        _, upper, lower = max(ways, key=lambda way: way[0])  # the first of equals
        orders.append(upper + lower)
        orders[join.first] = orders[join.second] = []
    return orders[-1]
