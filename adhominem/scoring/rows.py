"""The few products of rows that scoring needs, of plain arrays and of sparse rows.

All are in double precision. A row that was chosen several times is multiplied once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adhominem.arrays import AnyFloats, BoolArray, FloatArray, IntArray, Rows, SparseRows

_COLUMNS_AT_ONCE = 4_096  # of plain rows, in double precision
_ROWS_AT_ONCE = 128  # sparse rows that are made plain for a product of matrices: some 30 MB
_SPARSE = 0.04  # share of the columns: of rows that have fewer, most are multiplied one by one
_OFTEN = 0.05  # share of the rows that have a column for it to be one of a product of matrices
_FEW = 48  # rows: by fewer, sparse rows are multiplied number by number


def columns_in_parts(count: int) -> Iterator[slice]:
    """A few columns at a time: LEVs may have many thousand."""
    for at in range(0, count, _COLUMNS_AT_ONCE):
        yield slice(at, at + _COLUMNS_AT_ONCE)


def products(first: Rows, second: Rows) -> FloatArray:
    """(first rows, second rows): the scalar product of each row with each."""
    if isinstance(first, SparseRows):
        rows, which = first.distinct()
        if not isinstance(second, SparseRows):
            few = len(second) < _FEW
            table = _with_few(rows, second) if few else _in_blocks(rows, second)
        else:
            others, which_others = (rows, which) if second is first else second.distinct()
            numbers = rows.counts.sum() + others.counts.sum()
            very = numbers < _SPARSE * rows.size * (len(rows) + len(others))
            table = _by_columns(rows, others) if very else _in_blocks(rows, others)
            if others is not second:
                table = table[:, which_others]
        return table if rows is first else table[which]
    if isinstance(second, SparseRows):
        return products(second, first).T
    total = np.zeros((len(first), len(second)))
    for columns in columns_in_parts(first.shape[1]):
        total += first[:, columns].astype(np.float64) @ second[:, columns].astype(np.float64).T
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


def column_means(rows: Rows, power: int = 1) -> FloatArray:
    """(size,): the mean of each number, or of its square."""
    if isinstance(rows, SparseRows):
        packed = rows.packed
        values = packed.values.astype(np.float64)
        total = np.bincount(packed.places, values if power == 1 else values**2, rows.size)
        return np.asarray(total / len(rows))
    if power == 1:
        return np.asarray(np.mean(rows, axis=0, dtype=np.float64))
    return np.asarray(np.einsum("ij,ij->j", rows, rows, dtype=np.float64) / len(rows))


def _with_few(rows: SparseRows, others: AnyFloats) -> FloatArray:
    """(rows, others): only the columns that a row has are looked at."""
    by_column = np.ascontiguousarray(others.T, dtype=np.float64)  # (size, others)
    table = np.empty((len(rows), len(others)))
    for at, result in enumerate(table):
        places, values = rows.row(at)
        np.dot(values.astype(np.float64), by_column.take(places, axis=0), out=result)
    return table


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


def _by_columns(rows: SparseRows, others: SparseRows) -> FloatArray:
    """(rows, others): by a product of matrices in the columns that many of the others have.

    In each of the many more columns that few have, a row is multiplied with these few alone.
    """
    columns = others.transposed  # (size, others)
    counts = columns.counts
    often = counts > _OFTEN * len(others)
    number = np.cumsum(often) - 1  # of the columns that many have
    there = _chosen(others.packed, often, number)
    table = np.zeros((len(rows), len(others)))
    for begin in range(0, len(rows), _ROWS_AT_ONCE):
        block = slice(begin, begin + _ROWS_AT_ONCE)
        table[block] = _chosen(rows[block].packed, often, number) @ there.T
    for at, result in enumerate(table):
        places, values = rows.row(at)
        seldom = ~often[places]
        places, values = places[seldom], values[seldom]
        sizes = counts[places]
        # Where in the columns' numbers those of each column stand, one column after another.
        shift = columns.begins[places] - (np.cumsum(sizes) - sizes)
        numbers = np.repeat(shift, sizes) + np.arange(int(sizes.sum()))
        terms = np.repeat(values.astype(np.float64), sizes) * columns.values[numbers]
        result += np.bincount(columns.places[numbers], terms, len(others))
    return table


def _chosen(rows: SparseRows, chosen: BoolArray, number: IntArray) -> FloatArray:
    """(rows, chosen columns): some columns of packed rows as a plain array."""
    kept = chosen[rows.places]
    plain = np.zeros((len(rows), int(chosen.sum())))
    plain[rows.owners[kept], number[rows.places[kept]]] = rows.values[kept]
    return plain


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
    here, begin = first.places[:0], -1
    for at in np.argsort(first.begins, kind="stable").tolist():  # so that it is the same for long
        if first.begins[at] != begin:
            plain[here] = 0
            here, values = first.row(at)
            plain[here] = values
            begin = first.begins[at]
        places, values = second.row(at)
        total[at] = plain.take(places).dot(values.astype(np.float64))
    return total
