"""What each member of a model says of pairs of its own LEVs: one protocol, two ways.

    StyleScorer  by what is left of a LEV once it is moved to the centre of its genre (`Styles`)
    LayerScorer  by the two-covariance layer that a network was trained with

All pairs of a corpus come in the order of `np.triu_indices(documents, 1)`: (0, 1), (0, 2), ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from adhominem.arrays import FloatArray, IntArray, Rows, SparseRows
from adhominem.scoring.departures import Departures
from adhominem.scoring.likeness import CosineLikeness, FactorLikeness, Likeness
from adhominem.scoring.measures import Measures, measure_styles
from adhominem.scoring.products import Cohort, PairProducts, Table
from adhominem.scoring.rows import column_means, products, squares
from adhominem.scoring.styles import Styles, unit
from adhominem.scoring.two_covariance import IsotropicTwoCovariance, TwoCovariance

Sides = Rows | Sequence[Rows]  # (pairs, lev_size), one text a side; or sets of LEVs
OnPairs = Callable[[int], None]

_PAIRS_AT_ONCE = 8_192  # of a table of products


@dataclass(frozen=True)
class PopulationPart:
    """A member's columns of a population."""

    texts: int
    mean: FloatArray  # (size,)
    mean_square: float  # of the texts' squared lengths
    levs: Rows  # (cohort, size)
    memory: list[tuple[FloatArray, Cohort]] = field(
        default_factory=list, repr=False, compare=False
    )  # the cohort that was asked for last, and of which centres

    @classmethod
    def of(cls, levs: Rows) -> PopulationPart:
        """From the LEVs (texts, size) of all its texts."""
        return cls(len(levs), column_means(levs), float(squares(levs).mean()), levs)

    def cohort(self, centres: FloatArray) -> Cohort:
        """The products of its texts with each other and with the centres of genres."""
        if not self.memory or self.memory[0][0] is not centres:
            n, mean = self.texts, self.mean
            cohort = Cohort(
                texts=n,
                square=float(n * (mean @ mean) - self.mean_square) / (n - 1),
                squares=squares(self.levs),
                to_mean=products(self.levs, mean[None])[:, 0],
                to_genres=products(self.levs, centres),
                mean_to_genres=centres @ mean,
            )
            self.memory[:] = [(centres, cohort)]
        return self.memory[0][1]


class MemberScorer(Protocol):
    """What one member says of its own LEVs, with a population or without one."""

    @property
    def lev_size(self) -> int:
        """The size of the LEVs that it takes."""

    @property
    def is_sparse(self) -> bool:
        """Whether its LEVs are zeros for the most part, and so are kept as sparse rows."""

    def measures(
        self,
        first: Sides,
        second: Sides,
        population: PopulationPart | None,
    ) -> Measures:
        """Of pairs of sides."""

    def all_pairs(
        self,
        levs: Rows,
        population: PopulationPart | None,
        on_pairs: OnPairs,
    ) -> Measures:
        """Of all pairs of LEVs (documents, lev_size)."""

    def table(self, levs: Rows, like: Table | None) -> Table:
        """All products of LEVs, of which many pairs are made; from another scorer's table of them.

        That saves the products that do not depend on the scorer.
        """

    def measures_among(
        self, table: Table, first: IntArray, second: IntArray, population: IntArray | None
    ) -> Measures:
        """Of pairs of sides (pairs, texts) each, and a population (texts,), all by number."""

    def likeness(
        self,
        first: Rows,
        second: Rows,
        population: PopulationPart | None,
    ) -> Likeness:
        """Of one pair of sides (texts, lev_size), in parts."""

    def departures(self, levs: Rows, population: PopulationPart) -> Departures:
        """How texts (documents, lev_size) depart from a population of their genre."""

    def without(self, genre: str) -> MemberScorer:
        """This scorer as if a genre were unknown."""


@dataclass(frozen=True)
class StyleScorer:
    """By what is left of a LEV once it is moved to the centre of its genre."""

    styles: Styles
    is_sparse: bool = False  # whether its LEVs are zeros for the most part

    @property
    def lev_size(self) -> int:
        """The size of the LEVs that it takes."""
        return int(self.styles.centres.shape[1])

    @cached_property
    def _centres(self) -> FloatArray:
        """(genres, lev_size): those of the genres; by column, if LEVs are read so."""
        centres = self.styles.centres
        return np.asfortranarray(centres) if self.is_sparse else centres

    def measures(
        self,
        first: Sides,
        second: Sides,
        population: PopulationPart | None,
    ) -> Measures:
        """Of pairs of sides; the full model knows its own log Bayes factors alone."""
        model = self.styles.two_covariance
        if not isinstance(model, IsotropicTwoCovariance):
            return Measures.of_factors(self._by_full_model(first, second, population))
        pairs = self._products(first, second, population)
        cohort, parts = self._cohort(population), [_NOTHING]
        at_once = _at_once(pairs.to_cohort.shape[2])
        for at in range(0, len(pairs), at_once):
            part = pairs[at : at + at_once]
            parts.append(measure_styles(self.styles, model, part, cohort))
        return Measures.joined(parts)

    def likeness(
        self,
        first: Rows,
        second: Rows,
        population: PopulationPart | None,
    ) -> Likeness:
        """Of one pair of sides (texts, lev_size), seen from the centre of both."""
        model, levs = self.styles.two_covariance, (first.astype(float), second.astype(float))
        mean, texts = (None, 0) if population is None else (population.mean, population.texts)
        if isinstance(model, IsotropicTwoCovariance):
            pair = self._products([first], [second], population)
            cohort = self._cohort(population)
            return CosineLikeness(self.styles, model, pair, cohort, mean, levs)
        centre = self.styles.centre(np.concatenate(levs), mean, texts)

        def factors(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> FloatArray:
            sides = [
                [unit(levs - centre, self.styles.usual) for levs in side]
                for side in (first, second)
            ]
            return model.log_bayes_factor(sides[0], sides[1])

        return FactorLikeness(factors, levs)

    def all_pairs(
        self,
        levs: Rows,
        population: PopulationPart | None,
        on_pairs: OnPairs,
    ) -> Measures:
        """Of all pairs, from one table of products."""
        model, parts = self.styles.two_covariance, [_NOTHING]
        if not isinstance(model, IsotropicTwoCovariance):
            for first, second in _pairs_in_parts(len(levs), _PAIRS_AT_ONCE):
                parts.append(self.measures(levs[first], levs[second], population))
                on_pairs(len(first))
            return Measures.joined(parts)
        table = Table.of(levs, self._centres)
        to_mean, to_cohort = np.zeros(len(levs)), np.zeros((len(levs), 0))
        if population is not None:
            to_mean = products(levs, population.mean[None])[:, 0]
            to_cohort = products(levs, population.levs)
        cohort = self._cohort(population)
        at_once = _at_once(to_cohort.shape[1])
        for first, second in _pairs_in_parts(len(levs), at_once):
            texts = np.stack([first, second], axis=1)  # (pairs, 2)
            side = np.zeros(texts.shape, dtype=bool)
            side[:, 0] = True
            pairs = PairProducts(
                (side, ~side),
                table.between[texts[:, :, None], texts[:, None, :]],
                table.to_genres[texts],
                to_mean[texts],
                to_cohort[texts],
            )
            parts.append(measure_styles(self.styles, model, pairs, cohort))
            on_pairs(len(first))
        return Measures.joined(parts)

    def table(self, levs: Rows, like: Table | None) -> Table:
        """All products of LEVs, of which many pairs are made."""
        return Table.of(levs, self._centres) if like is None else like.with_genres(self._centres)

    def measures_among(
        self, table: Table, first: IntArray, second: IntArray, population: IntArray | None
    ) -> Measures:
        """Of pairs of sides (pairs, texts) each, and a population (texts,), all by number."""
        model = self.styles.two_covariance
        if not isinstance(model, IsotropicTwoCovariance):
            return _by_levs(self, table.levs, first, second, population)
        cohort = None if population is None else table.cohort(population)
        return measure_styles(self.styles, model, table.pairs(first, second, population), cohort)

    def departures(self, levs: Rows, population: PopulationPart) -> Departures:
        """How texts (documents, lev_size) depart from a population of their genre."""
        mean = population.mean
        return Departures.of(levs, self.styles.centre(mean[None], mean, population.texts))

    def without(self, genre: str) -> StyleScorer:
        """This scorer as if a genre were unknown."""
        return replace(self, styles=self.styles.without(genre))

    def _cohort(self, population: PopulationPart | None) -> Cohort | None:
        return None if population is None else population.cohort(self._centres)

    def _products(
        self, first: Sides, second: Sides, population: PopulationPart | None
    ) -> PairProducts:
        mean, levs = (None, None) if population is None else (population.mean, population.levs)
        return PairProducts.of_levs(_sets(first), _sets(second), self._centres, mean, levs)

    def _by_full_model(
        self, first: Sides, second: Sides, population: PopulationPart | None
    ) -> FloatArray:
        """(pairs,): the log Bayes factors of styles, each pair seen from one centre."""
        mean, texts = (None, 0) if population is None else (population.mean, population.texts)
        sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        for pair in zip(first, second, strict=True):
            both = [np.atleast_2d(np.asarray(levs, np.float64)) for levs in pair]
            centre = self.styles.centre(np.concatenate(both), mean, texts)
            for side, levs in zip(sides, both, strict=True):
                side.append(unit(levs - centre, self.styles.usual))
        return self.styles.two_covariance.log_bayes_factor(*sides)


@dataclass(frozen=True)
class LayerScorer:
    """By the layer that a network was trained with; a population's mean is moved to its mean."""

    layer: TwoCovariance
    project: Callable[[FloatArray], FloatArray]  # what the layer sees of LEVs
    lev_size: int
    is_sparse: bool = False

    def measures(
        self,
        first: Sides,
        second: Sides,
        population: PopulationPart | None,
    ) -> Measures:
        """The log Bayes factors of pairs of sides."""
        sides = (_sets(side) for side in (first, second))
        moved = [
            self.moved(side, population)
            if isinstance(side, np.ndarray | SparseRows)
            else [self.moved(levs, population) for levs in side]
            for side in sides
        ]
        return Measures.of_factors(self.layer.log_bayes_factor(*moved))

    def all_pairs(
        self,
        levs: Rows,
        population: PopulationPart | None,
        on_pairs: OnPairs,
    ) -> Measures:
        """The log Bayes factors of all pairs."""
        seen, parts = self.moved(levs, population), [_NOTHING]
        for first, second in _pairs_in_parts(len(levs), _PAIRS_AT_ONCE):
            parts.append(
                Measures.of_factors(self.layer.log_bayes_factor(seen[first], seen[second]))
            )
            on_pairs(len(first))
        return Measures.joined(parts)

    def table(self, levs: Rows, like: Table | None) -> Table:
        """The LEVs alone: the layer makes nothing of their products."""
        nothing = np.zeros((len(levs), 0))
        return Table(levs, nothing, nothing)

    def measures_among(
        self, table: Table, first: IntArray, second: IntArray, population: IntArray | None
    ) -> Measures:
        """Of pairs of sides (pairs, texts) each, and a population (texts,), all by number."""
        return _by_levs(self, table.levs, first, second, population)

    def likeness(
        self,
        first: Rows,
        second: Rows,
        population: PopulationPart | None,
    ) -> Likeness:
        """Of one pair of sides (texts, lev_size)."""

        def factors(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> FloatArray:
            return self.measures(first, second, population).log_bayes_factor

        return FactorLikeness(factors, (first.astype(float), second.astype(float)))

    def departures(self, levs: Rows, population: PopulationPart) -> Departures:
        """How texts (documents, lev_size) depart from a population."""
        return Departures.of(self.moved(levs, population), self.layer.author_mean)

    def without(self, genre: str) -> LayerScorer:
        """This scorer itself: it knows no genres."""
        return self

    def moved(self, levs: Rows, population: PopulationPart | None) -> FloatArray:
        """(documents, size): what the layer sees of LEVs (documents, lev_size)."""
        seen = self.project(levs.astype(np.float64))
        if population is None:
            return seen
        return seen - self.project(population.mean[None]) + self.layer.author_mean


def _sets(side: Sides) -> Sides:
    """A table (pairs, lev_size), or tables (texts, lev_size): one text may be a plain row."""
    if isinstance(side, SparseRows) or (isinstance(side, np.ndarray) and side.ndim == 2):
        return side
    return [levs if isinstance(levs, SparseRows) else np.atleast_2d(levs) for levs in side]


def _by_levs(
    scorer: MemberScorer,
    levs: Rows,
    first: IntArray,
    second: IntArray,
    population: IntArray | None,
) -> Measures:
    part = None if population is None else PopulationPart.of(levs[population])
    sides = [[levs[texts] for texts in side] for side in (first, second)]
    return scorer.measures(sides[0], sides[1], part)


def _at_once(cohort: int) -> int:
    """How many pairs are measured together, with so many texts of a population."""
    return max(1, _PAIRS_AT_ONCE // (1 + cohort // 16))


_NOTHING = Measures.of_factors(np.zeros(0))


def _pairs_in_parts(documents: int, at_once: int) -> Iterator[tuple[IntArray, IntArray]]:
    first, second = np.triu_indices(documents, 1)
    for at in range(0, len(first), at_once):
        yield first[at : at + at_once], second[at : at + at_once]
