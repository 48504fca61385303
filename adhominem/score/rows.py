"""The few products of rows that scoring needs, of plain arrays and of sparse rows.

All are in double precision. A row that was chosen several times is multiplied once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adhominem.arrays import AnyFloats, FloatArray, Rows, SparseRows
from adhominem.compiled import compiled

_COLUMNS_AT_ONCE = 4_096  # of plain rows, in double precision
_PLAIN_AT_ONCE = 512  # plain rows
_ROWS_AT_ONCE = 128  # sparse rows that are made plain for a product of matrices: some 30 MB
_NOT_WORTH_TURNING = 16  # sparse rows: by columns, plain rows are read faster, once turned
_NOT_WORTH_TURNING_IN_C = 64  # the same, where the products are in C
_FEW = 48  # rows: by fewer, sparse rows are multiplied number by number
_COMPILED = 256  # rows: by more, tables by column would take much memory
_RARE = 0.05  # share of rows: in columns that fewer of them have, numbers are multiplied one by one


def columns_in_parts(count: int) -> Iterator[slice]:
    """A few columns at a time: LEVs may have many thousand."""
    for at in range(0, count, _COLUMNS_AT_ONCE):
        yield slice(at, at + _COLUMNS_AT_ONCE)


def products(first: Rows, second: Rows) -> FloatArray:
    """(first rows, second rows): the scalar product of each row with each."""
    if isinstance(first, SparseRows):
        rows, which = first.distinct()
        module = compiled("adhominem.score._rows")
        if module is not None and second is not first and len(second) <= _COMPILED:
            table = _compiled_products(module, rows, second)
        elif not isinstance(second, SparseRows):
            few = len(second) < _FEW
            table = _with_few(rows, second) if few else _in_blocks(rows, second)
        else:
            others, which_others = (rows, which) if second is first else second.distinct()
            table = _sparse_products(rows, others)
            if others is not second:
                table = table[:, which_others]
        return table if rows is first else table[which]
    if isinstance(second, SparseRows):
        return products(second, first).T
    total = np.zeros((len(first), len(second)))
    for columns in columns_in_parts(first.shape[1]):
        transposed = second[:, columns].astype(np.float64).T
        for at in range(0, len(first), _PLAIN_AT_ONCE):
            part = slice(at, at + _PLAIN_AT_ONCE)
            total[part] += first[part, columns].astype(np.float64) @ transposed
    return total


def row_products(first: Rows, second: Rows) -> FloatArray:
    """(rows,): the scalar product of each row with that beside it."""
    if isinstance(first, SparseRows) and isinstance(second, SparseRows):
        return _sparse_row_products(first, second)
    total = np.zeros(len(first))
    for at in range(0, len(first), _ROWS_AT_ONCE):
        rows = slice(at, at + _ROWS_AT_ONCE)
        pair = (np.asarray(side[rows], np.float64) for side in (first, second))
        total[rows] = np.einsum("ij,ij->i", *pair)
    return total


def squares(rows: Rows) -> FloatArray:
    """(rows,): the squared length of each."""
    if not isinstance(rows, SparseRows):
        return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    distinct, which = rows.distinct()
    packed = distinct.packed
    sums = packed.sums(np.square(packed.values, dtype=np.float64))
    return sums if distinct is rows else sums[which]


def column_means(rows: Rows) -> FloatArray:
    """(size,): the mean of each number."""
    if isinstance(rows, SparseRows):
        packed = rows.packed
        total = np.bincount(packed.places, packed.values.astype(np.float64), rows.size)
        return np.asarray(total / len(rows))
    return np.asarray(np.mean(rows, axis=0, dtype=np.float64))


def _compiled_products(module: Any, rows: SparseRows, others: Rows) -> FloatArray:
    """(rows, others): number by number, in C."""
    packed = rows.packed
    result = np.empty((len(rows), len(others)))
    if isinstance(others, SparseRows):
        turned, table = True, others.by_column
    else:
        kept_by_column = others.flags.f_contiguous  # as centres of genres are: nothing is copied
        turned = kept_by_column or len(rows) > _NOT_WORTH_TURNING_IN_C
        table = np.ascontiguousarray(others.T if turned else others)
        if table.dtype not in (np.float32, np.float64):
            table = table.astype(np.float64)
    places, values = packed.places.astype(np.uint32), packed.values.astype(np.float64, copy=False)
    module.products(packed.begins, packed.ends, places, values, table, turned, result)
    return result


def _with_few(rows: SparseRows, others: AnyFloats) -> FloatArray:
    """(rows, others): only the columns that a row has are looked at."""
    table = np.empty((len(rows), len(others)))
    if len(rows) < _NOT_WORTH_TURNING and not others.flags.f_contiguous:
        for at, result in enumerate(table):
            places, values = rows.row(at)
            columns = others.take(places, axis=1).astype(np.float64, copy=False)
            np.dot(columns, values.astype(np.float64), out=result)
        return table
    by_column = np.ascontiguousarray(others.T, dtype=np.float64)  # (size, others); maybe as it is
    for at, result in enumerate(table):
        places, values = rows.row(at)
        np.dot(values.astype(np.float64), by_column.take(places, axis=0), out=result)
    return table


def _sparse_products(rows: SparseRows, others: SparseRows) -> FloatArray:
    """(rows, others): in common columns by products of matrices, in rare ones number by number."""
    if len(rows) < min(_FEW, len(others)):
        return _with_few(others, rows.astype(np.float64)).T
    if len(others) < _FEW:
        return _with_few(rows, others.astype(np.float64))
    often = np.bincount(others.packed.places, minlength=others.size)  # (size,)
    common = often > _RARE * len(others)
    parts = [
        (rows.columns(chosen), others.columns(chosen) if others is not rows else None)
        for chosen in (common, ~common & (often > 0))
    ]
    (here, there), (here_rare, there_rare) = parts
    table = _in_blocks(here, here if there is None else there)
    _add_rare(table, here_rare, here_rare if there_rare is None else there_rare)
    return table


def _add_rare(table: FloatArray, rows: SparseRows, others: SparseRows) -> None:
    """Add the products of packed rows to a table (rows, others), each two numbers of a column."""
    by_column = np.argsort(others.places, kind="stable")
    owners, values = others.owners[by_column], others.values[by_column].astype(np.float64)
    ends = np.cumsum(np.bincount(others.places, minlength=others.size))  # (size,)
    begins = np.append(0, ends[:-1])[: others.size]
    at_once = max(1, _ROWS_AT_ONCE * _FEW // len(others))
    for at in range(0, len(rows), at_once):
        block = rows[at : at + at_once].packed
        counts = (ends - begins)[block.places]  # (numbers,): how many others each is multiplied by
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        items = np.repeat(begins[block.places], counts) + steps
        target = np.repeat(block.owners * len(others), counts) + owners[items]
        product = np.repeat(block.values, counts) * values[items]
        sums = np.bincount(target, product, len(block) * len(others))
        table[at : at + at_once] += sums.reshape(len(block), len(others))


def _in_blocks(rows: Rows, others: Rows) -> FloatArray:
    """(rows, others): as products of matrices, of which some rows are made plain at a time."""
    alike = rows is others
    table = np.zeros((len(rows), len(others)))
    here, there = (np.zeros((_ROWS_AT_ONCE, rows.shape[1])) for _ in range(2))
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        chosen = slice(begin, begin + _ROWS_AT_ONCE)
        block = _plain(rows[chosen], here)
        for at in range(begin if alike else 0, len(others), _ROWS_AT_ONCE):
            beside = slice(at, at + _ROWS_AT_ONCE)
            table[chosen, beside] = block @ _plain(others[beside], there).T
            if alike and at > begin:
                table[beside, chosen] = table[chosen, beside].T
    return table


def _plain(rows: Rows, space: FloatArray) -> FloatArray:
    """(rows, size): the rows as a plain array, in a space for more of them."""
    block = space[: len(rows)]
    if isinstance(rows, SparseRows):
        block[:] = 0
        rows.fill(block)
    else:
        block[:] = rows
    return block


def _sparse_row_products(first: SparseRows, second: SparseRows) -> FloatArray:
    """(rows,): a first row is made plain, and looked up at the places of the second ones."""
    total = np.zeros(len(first))
    plain = np.zeros(first.size)
    here, made = first.places[:0], (0, 0)
    for at in np.argsort(first.begins, kind="stable").tolist():  # so that it is the same for long
        if made != (first.begins[at], first.ends[at]):
            plain[here] = 0
            here, values = first.row(at)
            plain[here] = values
            made = first.begins[at], first.ends[at]
        places, values = second.row(at)
        total[at] = plain.take(places).dot(values.astype(np.float64))
    return total
