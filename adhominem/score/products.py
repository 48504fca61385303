"""Scalar products of LEVs, all that the three-level model needs of them.

Of the many thousand numbers of a LEV, only its products with the other texts of its pair, with the
centres of the known genres, and with the texts of the population (the *cohort*) take part, so each
LEV is read once. All products are in double precision; a row that was chosen several times is
multiplied once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from adhominem.arrays import (
    AnyFloats,
    AnyLevs,
    BoolArray,
    FloatArray,
    IntArray,
    Levs,
    Rows,
    SparseRows,
    joined,
)
from adhominem.compiled import compiled
from adhominem.errors import OptionError

_COLUMNS_AT_ONCE = 4_096  # of plain rows, in double precision
_PLAIN_AT_ONCE = 512  # plain rows
_ROWS_AT_ONCE = 128  # sparse rows that are made plain for a product of matrices: some 30 MB
_NOT_WORTH_TURNING = 16  # sparse rows: with more, transposing plain rows pays off
_NOT_WORTH_TURNING_IN_C = 64  # likewise, where the products are computed in C
_FEW = 48  # rows: with fewer, sparse rows are multiplied number by number
_COMPILED = 256  # rows: with more, transposed tables would take much memory
_RARE = 0.05  # share of rows: rarer columns are multiplied number by number


Sides = AnyLevs | Rows | Sequence[AnyLevs | Rows]  # (pairs, size), one text a side; or sets


def numbered(first: Sides, second: Sides) -> tuple[Any, IntArray, IntArray]:
    """The texts of both sides of pairs, and the indices (pairs, texts) of each side's texts.

    The sides are either a table (pairs, size), one text per pair, or a sequence of tables
    (texts, size) and rows (size,), one per pair. Indices are padded with -1.
    """
    sets: list[list[Any]] = [
        [sides]
        if _is_table(sides)
        else [np.atleast_2d(x) if isinstance(x, np.ndarray) else x for x in sides]
        for sides in (first, second)
    ]
    tables, split = [*sets[0], *sets[1]], len(sets[0])
    texts = [len(levs) for levs in tables]
    levs = tables[0] if len(tables) == 1 else joined(tables)
    numbers, begin = [], 0
    for sides, of_side in ((first, texts[:split]), (second, texts[split:])):
        counts = np.ones(of_side[0], np.int64) if _is_table(sides) else np.array(of_side, np.int64)
        if counts.min(initial=1) == 0:
            raise OptionError("a side without documents; expected at least one")
        places = np.arange(counts.max(initial=1))
        ends = begin + np.cumsum(counts)
        rows = (ends - counts)[:, None] + places  # (pairs, texts)
        numbers.append(np.where(places < counts[:, None], rows, -1))
        begin = int(ends[-1]) if len(ends) else begin
    return levs, numbers[0], numbers[1]


def _is_table(sides: Sides) -> bool:
    """Whether there is one text per pair."""
    return isinstance(sides, np.ndarray | SparseRows | Levs) and sides.ndim == 2


@dataclass(frozen=True)
class MemberTexts:
    """The LEVs of some texts in the columns of one member; pairs refer to them by index."""

    levs: Rows  # (texts, size)
    log_tokens: FloatArray  # (texts,)
    between: FloatArray | None = None  # (texts, texts): all products, if many pairs are scored
    to_genres: FloatArray | None = None  # (texts, genres): products with the centres of genres

    def with_products(self, centres: FloatArray, like: MemberTexts | None = None) -> MemberTexts:
        """A copy with all products; those among the texts are taken from `like`, if given."""
        _check_finite(squares(self.levs))
        between = products(self.levs, self.levs) if like is None else like.between
        return replace(self, between=between, to_genres=products(self.levs, centres))


def _check_finite(lengths: FloatArray) -> None:
    """Raise an OptionError if LEVs with these squared lengths (texts,) are not finite."""
    if not np.isfinite(lengths).all():
        raise OptionError("a LEV is not finite; expected numbers: encode its text again")


@dataclass(frozen=True)
class Cohort:
    """The kept texts of a population, by their products."""

    texts: int  # in the population
    authors: float  # number of apparent authors
    log_tokens: FloatArray  # (cohort,)
    square: float  # of the population's mean
    squares: FloatArray  # (cohort,): of each text
    to_mean: FloatArray  # (cohort,)
    to_genres: FloatArray  # (cohort, genres)
    mean_to_genres: FloatArray  # (genres,)


@dataclass(frozen=True)
class PopulationPart:
    """A population in the columns of one member."""

    texts: int
    authors: float  # number of apparent authors
    source: Rows  # (cohort, size), or (texts, size) from which `numbers` select the cohort
    log_tokens: FloatArray  # (cohort,)
    lev_mean: FloatArray | None = None  # (size,): the mean over all texts, if only some are kept
    numbers: IntArray | None = None  # (cohort,): where its texts are in `source`
    memory: list[tuple[FloatArray, Cohort]] = field(
        default_factory=list, repr=False, compare=False
    )  # the cohort made last, and for which centres

    @classmethod
    def of(cls, levs: Rows, log_tokens: FloatArray) -> PopulationPart:
        """A population from the LEVs (texts, size) of all its texts."""
        return cls(len(levs), len(levs), levs, log_tokens)

    @classmethod
    def among(
        cls, texts: MemberTexts, numbers: IntArray, authors: float | None = None
    ) -> PopulationPart:
        """A population from the indices of texts whose products are known."""
        tokens = texts.log_tokens[numbers]
        count = len(numbers)
        return cls(count, authors or float(count), texts.levs, tokens, numbers=numbers)

    @property
    def levs(self) -> Rows:
        """The LEVs (cohort, size) of the kept texts."""
        return self.source if self.numbers is None else self.source[self.numbers]

    @cached_property
    def mean(self) -> FloatArray:
        """The mean LEV (size,) of all its texts."""
        return column_means(self.levs) if self.lev_mean is None else self.lev_mean

    def cohort(self, centres: FloatArray, texts: MemberTexts) -> Cohort:
        """The cohort: products of the kept texts with each other and with the centres of genres."""
        if self.numbers is not None and texts.between is not None and texts.to_genres is not None:
            between = texts.between[np.ix_(self.numbers, self.numbers)]
            return make_cohort(
                between, texts.to_genres[self.numbers], self.log_tokens, self.authors
            )
        if not self.memory or self.memory[0][0] is not centres:
            cohort = Cohort(
                texts=self.texts,
                authors=self.authors,
                log_tokens=self.log_tokens,
                square=float(self.mean @ self.mean),
                squares=squares(self.levs),
                to_mean=products(self.levs, self.mean[None])[:, 0],
                to_genres=products(self.levs, centres),
                mean_to_genres=centres @ self.mean,
            )
            self.memory[:] = [(centres, cohort)]
        return self.memory[0][1]


def make_cohort(
    between: FloatArray,
    to_genres: FloatArray,
    log_tokens: FloatArray,
    authors: float | None = None,
) -> Cohort:
    """A cohort of the whole population, from products (texts, texts) and (texts, genres)."""
    return Cohort(
        texts=len(between),
        authors=authors or float(len(between)),
        log_tokens=log_tokens,
        square=float(between.mean()),
        squares=np.diag(between),
        to_mean=between.mean(axis=1),
        to_genres=to_genres,
        mean_to_genres=to_genres.mean(axis=0),
    )


@dataclass(frozen=True)
class PairProducts:
    """The products that pairs need, padded to the same number of texts; padding is on no side."""

    in_side: tuple[BoolArray, BoolArray]  # (pairs, texts) each: which texts a side has
    between: FloatArray  # (pairs, texts, texts)
    to_genres: FloatArray  # (pairs, texts, genres)
    to_mean: FloatArray  # (pairs, texts): with the population's mean; or zeros
    to_cohort: FloatArray  # (pairs, texts, cohort)

    @classmethod
    def of(
        cls,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        centres: FloatArray,
        population: PopulationPart | None = None,
    ) -> PairProducts:
        """The products from the indices (pairs, texts) of each side's texts, padded with -1."""
        numbers = np.concatenate([first, second], axis=1)  # (pairs, texts)
        present = numbers >= 0
        in_first = present & (np.arange(numbers.shape[1]) < first.shape[1])
        in_side = in_first, present & ~in_first
        if texts.between is not None and texts.to_genres is not None:
            between = texts.between[numbers[:, :, None], numbers[:, None, :]]
            to_cohort = np.zeros((*numbers.shape, 0))
            to_mean = np.zeros(numbers.shape)
            if population is not None:
                to_cohort = texts.between[numbers[:, :, None], population.numbers]
                to_mean = to_cohort.mean(axis=2)
            return cls(in_side, between, texts.to_genres[numbers], to_mean, to_cohort)
        rows, used = texts.levs, np.unique(numbers[present])
        if len(used) < len(texts.log_tokens):
            rows = rows[used]
            numbers = np.where(present, np.searchsorted(used, numbers), -1)
        if isinstance(rows, SparseRows):  # each text is multiplied only once
            distinct, which = rows.distinct
            rows, numbers = distinct.packed, np.where(present, which[numbers], -1)
            lengths = rows.squares
        else:
            lengths = squares(rows)
        _check_finite(lengths)
        to_mean, to_cohort = np.zeros((len(lengths), 1)), np.zeros((len(lengths), 0))
        if population is not None:
            to_mean = products(rows, population.mean[None])
            to_cohort = products(rows, population.levs)
        return cls(
            in_side,
            _between(rows, lengths, numbers),
            _for_pairs(products(rows, centres), numbers),
            _for_pairs(to_mean, numbers)[:, :, 0],
            _for_pairs(to_cohort, numbers),
        )

    def __len__(self) -> int:
        return len(self.between)


def _for_pairs(of_rows: FloatArray, numbers: IntArray) -> FloatArray:
    """Products (pairs, texts, others) from those of rows (rows, others), with zeros for padding."""
    table = of_rows[numbers]
    if len(numbers) and numbers.min() < 0:
        table[numbers < 0] = 0
    return table


def _between(rows: Rows, lengths: FloatArray, numbers: IntArray) -> FloatArray:
    """The products (pairs, texts, texts) of each pair's texts, given by row numbers.

    `lengths` (rows,) are the squared lengths.
    """
    pairs, longest = numbers.shape
    between = np.zeros((pairs, longest, longest))
    if longest == 2:
        between[:, 0, 0], between[:, 1, 1] = lengths[numbers].T
        across = row_products(rows, numbers[:, 0], numbers[:, 1])
        between[:, 0, 1] = between[:, 1, 0] = across
        return between
    for table, texts in zip(between, numbers, strict=True):
        there = texts >= 0
        levs = rows[texts[there]]
        table[np.ix_(there, there)] = products(levs, levs)
    return between


# Products of rows in plain and sparse arrays


def columns_in_parts(count: int) -> Iterator[slice]:
    """Slices of a few columns at a time: LEVs may have many thousands."""
    for at in range(0, count, _COLUMNS_AT_ONCE):
        yield slice(at, at + _COLUMNS_AT_ONCE)


@cache
def _module_in_c() -> Any:
    return compiled("adhominem.score._rows")


def products(first: Rows, second: Rows) -> FloatArray:
    """The scalar products (first rows, second rows) of all pairs of rows."""
    if isinstance(first, SparseRows):
        rows, which = first.distinct
        module = _module_in_c()
        if module is not None and second is not first and len(second) <= _COMPILED:
            table = _compiled_products(module, rows, second)
        elif not isinstance(second, SparseRows):
            few = len(second) < _FEW
            table = _with_few(rows, second) if few else _in_blocks(rows, second)
        else:
            others, which_others = (rows, which) if second is first else second.distinct
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


def row_products(rows: Rows, first: IntArray, second: IntArray) -> FloatArray:
    """The scalar products (pairs,) of pairs of rows, given by their indices (pairs,)."""
    if isinstance(rows, SparseRows):
        return _sparse_row_products(rows, first, second)
    total = np.zeros(len(first))
    for at in range(0, len(first), _ROWS_AT_ONCE):
        pairs = slice(at, at + _ROWS_AT_ONCE)
        both = (rows[side[pairs]].astype(np.float64) for side in (first, second))
        total[pairs] = np.einsum("ij,ij->i", *both)
    return total


def squares(rows: Rows) -> FloatArray:
    """The squared lengths (rows,)."""
    if isinstance(rows, SparseRows):
        return rows.squares
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


def column_means(rows: Rows) -> FloatArray:
    """The means (size,) of the columns."""
    if isinstance(rows, SparseRows):
        packed = rows.packed
        total = np.bincount(packed.places, packed.values.astype(np.float64), rows.size)
        return np.asarray(total / len(rows))
    return np.asarray(np.mean(rows, axis=0, dtype=np.float64))


def _compiled_products(module: Any, rows: SparseRows, others: Rows) -> FloatArray:
    """The products (rows, others), computed number by number in C."""
    packed = rows.packed
    result = np.empty((len(packed.begins), len(others)))
    if isinstance(others, SparseRows):
        turned, table = True, others.by_column
    else:
        kept_by_column = others.flags.f_contiguous  # as centres of genres are: no copy is made
        turned = kept_by_column or len(result) > _NOT_WORTH_TURNING_IN_C
        table = np.ascontiguousarray(others.T if turned else others)
        if table.dtype not in (np.float32, np.float64):
            table = table.astype(np.float64)
    places, values = packed.places.astype(np.uint32), packed.values.astype(np.float64, copy=False)
    module.products(packed.begins, packed.ends, places, values, table, turned, result)
    return result


def _with_few(rows: SparseRows, others: AnyFloats) -> FloatArray:
    """The products (rows, others), reading only the nonzero columns of each row."""
    table = np.empty((len(rows), len(others)))
    if len(rows) < _NOT_WORTH_TURNING and not others.flags.f_contiguous:
        for at, result in enumerate(table):
            places, values = rows.row(at)
            columns = others.take(places, axis=1).astype(np.float64, copy=False)
            np.dot(columns, values.astype(np.float64), out=result)
        return table
    by_column = np.ascontiguousarray(others.T, dtype=np.float64)  # (size, others); maybe a view
    for at, result in enumerate(table):
        places, values = rows.row(at)
        np.dot(values.astype(np.float64), by_column.take(places, axis=0), out=result)
    return table


def _sparse_products(rows: SparseRows, others: SparseRows) -> FloatArray:
    """The products (rows, others): common columns by matrices, rare ones number by number."""
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
    """Add the products of sparse rows to a table (rows, others), pair by pair in each column."""
    by_column = np.argsort(others.places, kind="stable")
    owners, values = others.owners[by_column], others.values[by_column].astype(np.float64)
    ends = np.cumsum(np.bincount(others.places, minlength=others.size))  # (size,)
    begins = np.append(0, ends[:-1])[: others.size]
    at_once = max(1, _ROWS_AT_ONCE * _FEW // len(others))
    for at in range(0, len(rows), at_once):
        block = rows[at : at + at_once].packed
        counts = (ends - begins)[block.places]  # (numbers,): how many factors each one has
        steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        items = np.repeat(begins[block.places], counts) + steps
        target = np.repeat(block.owners * len(others), counts) + owners[items]
        product = np.repeat(block.values, counts) * values[items]
        sums = np.bincount(target, product, len(block) * len(others))
        table[at : at + at_once] += sums.reshape(len(block), len(others))


def _in_blocks(rows: Rows, others: Rows) -> FloatArray:
    """The products (rows, others) of matrices, making some rows plain at a time."""
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
    """The rows as a plain array (rows, size), in a buffer that may be larger."""
    block = space[: len(rows)]
    if isinstance(rows, SparseRows):
        block[:] = 0
        rows.fill(block)
    else:
        block[:] = rows
    return block


def _sparse_row_products(rows: SparseRows, first: IntArray, second: IntArray) -> FloatArray:
    """The products (pairs,) of pairs of rows, looking up second rows in plain first rows."""
    total = np.zeros(len(first))
    plain = np.zeros(rows.size)
    here, made = rows.places[:0], -1
    # In this order, equal first rows follow each other.
    for at in np.argsort(first, kind="stable").tolist():
        if made != first[at]:
            plain[here] = 0
            here, values = rows.row(first[at])
            plain[here] = values
            made = first[at]
        places, values = rows.row(second[at])
        total[at] = plain.take(places).dot(values.astype(np.float64))
    return total
