"""Scalar products of LEVs, all that the three-level model needs of them.

Of the many thousand numbers of a LEV, only its products with the other texts of its pair, with the
centres of the known genres, and with the texts of the population (the *cohort*) take part, so each
LEV is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    Rows,
    SparseRows,
    is_finite,
    joined,
)
from adhominem.errors import OptionError
from adhominem.score.rows import products, row_products, squares

_SAME = 1e-8  # of the squared lengths of two texts: nearer to each other, they are one
_FEWEST = 3  # texts that must be left of a population, for it to be measured without one of them


@dataclass(frozen=True)
class Cohort:
    """The texts of a population, as far as they are kept, in products."""

    texts: int  # of the population
    square: float  # of the population's mean
    squares: FloatArray  # (cohort,): of each text
    to_mean: FloatArray  # (cohort,)
    to_genres: FloatArray  # (cohort, genres)
    mean_to_genres: FloatArray  # (genres,)


@dataclass(frozen=True)
class PairProducts:
    """Of some pairs, each with as many texts: what is missing of them is in neither side."""

    of_side: tuple[BoolArray, BoolArray]  # (pairs, texts) each: which texts a side has
    between: FloatArray  # (pairs, texts, texts)
    to_genres: FloatArray  # (pairs, texts, genres)
    to_mean: FloatArray  # (pairs, texts): with the population's mean; or zeros
    to_cohort: FloatArray  # (pairs, texts, cohort)

    @classmethod
    def of_levs(
        cls,
        first: Sequence[Rows] | Rows,
        second: Sequence[Rows] | Rows,
        genres: FloatArray,
        mean: FloatArray | None,
        cohort: Rows | None,
    ) -> PairProducts:
        """From the LEVs (texts, size) of both sides of each pair; or (pairs, size), a text each."""
        counts = [_counts(side) for side in (first, second)]
        if min(side.min(initial=1) for side in counts) == 0:
            raise OptionError("a side without documents; expected at least one")
        longest, pairs = int((counts[0] + counts[1]).max(initial=0)), len(first)
        place = np.arange(longest)
        in_first = place < counts[0][:, None]  # (pairs, texts)
        in_second = ~in_first & (place < (counts[0] + counts[1])[:, None])
        rows = joined([_texts(side, genres.shape[1]) for side in (first, second)])
        numbers = np.full((pairs, longest), -1)  # of the rows
        numbers[in_first] = np.arange(counts[0].sum())
        numbers[in_second] = counts[0].sum() + np.arange(counts[1].sum())
        if isinstance(rows, SparseRows):  # each text is multiplied once, however often it is there
            distinct, which = rows.distinct()
            rows, numbers = distinct.packed, np.where(numbers < 0, -1, which[numbers])
        if not is_finite(rows):
            raise OptionError("a LEV is not finite; expected numbers: encode its text again")
        to_mean = np.zeros((len(rows), 1)) if mean is None else products(rows, mean[None])
        kept = np.zeros((len(rows), 0)) if cohort is None else products(rows, cohort)
        return cls(
            (in_first, in_second),
            _between(rows, numbers),
            _for_pairs(products(rows, genres), numbers),
            _for_pairs(to_mean, numbers)[:, :, 0],
            _for_pairs(kept, numbers),
        )

    def __len__(self) -> int:
        return len(self.between)

    def __getitem__(self, chosen: slice) -> PairProducts:
        first, second = self.of_side
        return PairProducts(
            (first[chosen], second[chosen]),
            self.between[chosen],
            self.to_genres[chosen],
            self.to_mean[chosen],
            self.to_cohort[chosen],
        )


def _texts(side: Sequence[Rows] | Rows, size: int) -> Rows:
    """(texts, size): those of a side of all pairs in a row."""
    if isinstance(side, SparseRows) or (isinstance(side, np.ndarray) and side.ndim == 2):
        return side
    return joined(list(side)) if len(side) else np.zeros((0, size))


def _counts(side: Sequence[Rows] | Rows) -> IntArray:
    """(pairs,): how many texts a side of each pair has."""
    if isinstance(side, np.ndarray | SparseRows) and side.ndim == 2:
        return np.ones(len(side), dtype=np.int64)
    return np.array([len(levs) for levs in side], dtype=np.int64)


def _for_pairs(of_rows: FloatArray, numbers: IntArray) -> FloatArray:
    """(pairs, texts, others): products (rows, others), with zeros where a pair has no text."""
    table = of_rows[numbers]
    if len(numbers) and numbers.min() < 0:
        table[numbers < 0] = 0
    return table


def _between(rows: Rows, numbers: IntArray) -> FloatArray:
    """(pairs, texts, texts): the products of the texts of each pair, by the numbers of rows."""
    pairs, longest = numbers.shape
    between = np.zeros((pairs, longest, longest))
    if longest == 2:
        lengths = squares(rows)[numbers]  # (pairs, texts)
        between[:, 0, 0], between[:, 1, 1] = lengths[:, 0], lengths[:, 1]
        across = row_products(rows[numbers[:, 0]], rows[numbers[:, 1]])
        between[:, 0, 1] = between[:, 1, 0] = across
        return between
    for table, texts in zip(between, numbers, strict=True):
        there = texts >= 0
        levs = rows[texts[there]]
        table[np.ix_(there, there)] = products(levs, levs)
    return between


@dataclass(frozen=True)
class Others:
    """The population of each pair: all of its texts but those of the pair itself.

    Where texts are compared that stand in their own population, each would be measured by itself.
    """

    texts: FloatArray  # (pairs,): how many
    square: FloatArray  # (pairs,): of their mean
    to_mean: FloatArray  # (pairs, texts): of the pair's texts with it
    mean_to_genres: FloatArray  # (pairs, genres)
    kept: BoolArray  # (pairs, cohort): which texts of the cohort are others
    cohort_to_mean: FloatArray  # (pairs, cohort)
    inside: FloatArray  # (pairs, texts): how many copies of each text stand in the population

    @classmethod
    def of(cls, pairs: PairProducts, cohort: Cohort) -> Others:
        """Texts of a pair are known in the population by their distance, which is none."""
        n, present = cohort.texts, pairs.of_side[0] | pairs.of_side[1]
        squares = np.einsum("ptt->pt", pairs.between)[:, :, None] + cohort.squares
        copies = squares - 2 * pairs.to_cohort <= _SAME * squares  # (pairs, texts, cohort)
        copies &= present[:, :, None]
        taken = np.zeros_like(copies[:, 0])  # (pairs, cohort)
        for of_text in copies.transpose(1, 0, 2):  # each text of the cohort is a copy of one
            of_text &= ~taken
            taken |= of_text
        copies &= (n - copies.sum(axis=(1, 2)) >= _FEWEST)[:, None, None]
        inside = copies.sum(axis=2).astype(np.float64)  # (pairs, texts)
        copied = copies.any(axis=1)  # (pairs, cohort)
        left = n - copied.sum(axis=1).astype(np.float64)  # (pairs,)
        # The mean of the others is the sum of all less that of the copies.
        with_all = copied @ cohort.to_mean  # (pairs,)
        among = np.einsum("ps,pst,pt->p", inside, pairs.between, inside)
        to_copied = np.einsum("ps,pst->pt", inside, pairs.between)  # (pairs, texts)
        cohort_to_copied = np.einsum("pt,ptc->pc", inside, pairs.to_cohort)  # (pairs, cohort)
        return cls(
            texts=left,
            square=(n**2 * cohort.square - 2 * n * with_all + among) / left**2,
            to_mean=(n * pairs.to_mean - to_copied) / left[:, None],
            mean_to_genres=(n * cohort.mean_to_genres - copied @ cohort.to_genres) / left[:, None],
            kept=~copied,
            cohort_to_mean=(n * cohort.to_mean - cohort_to_copied) / left[:, None],
            inside=inside,
        )


@dataclass(frozen=True)
class Table:
    """All products of some LEVs with each other and with the genres: many pairs among few texts."""

    levs: Rows  # (texts, size)
    between: FloatArray  # (texts, texts)
    to_genres: FloatArray  # (texts, genres)

    @classmethod
    def of(cls, levs: Rows, genres: FloatArray) -> Table:
        """From LEVs (texts, size), and the centres of genres (genres, size)."""
        if not is_finite(levs):
            raise OptionError("a LEV is not finite; expected numbers: encode its text again")
        return cls(levs, products(levs, levs), products(levs, genres))

    def with_genres(self, genres: FloatArray) -> Table:
        """The same texts, and other genres."""
        return Table(self.levs, self.between, products(self.levs, genres))

    def cohort(self, chosen: IntArray) -> Cohort:
        """Some of the texts as a population."""
        return make_cohort(self.between[np.ix_(chosen, chosen)], self.to_genres[chosen])

    def pairs(
        self, first: IntArray, second: IntArray, population: IntArray | None = None
    ) -> PairProducts:
        """Pairs of sides (pairs, texts of a side) each, and the texts of their population."""
        texts = np.concatenate([first, second], axis=1)  # (pairs, texts)
        in_first = np.broadcast_to(np.arange(texts.shape[1]) < first.shape[1], texts.shape)
        between = self.between[texts[:, :, None], texts[:, None, :]]
        to_cohort = np.zeros((*texts.shape, 0))
        if population is not None:
            to_cohort = self.between[texts[:, :, None], population]
        to_mean = to_cohort.mean(axis=2) if population is not None else np.zeros(texts.shape)
        return PairProducts(
            (in_first, ~in_first), between, self.to_genres[texts], to_mean, to_cohort
        )


def make_cohort(between: FloatArray, to_genres: FloatArray) -> Cohort:
    """The cohort that is the whole population: its products (texts, texts), (texts, genres)."""
    count, squares = len(between), np.diag(between)
    return Cohort(
        texts=count,
        square=float(between.mean()),
        squares=squares,
        to_mean=between.mean(axis=1),
        to_genres=to_genres,
        mean_to_genres=to_genres.mean(axis=0),
    )
