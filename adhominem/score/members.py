"""What each member of a model says of pairs of its LEVs, in nats: one protocol, two ways.

    GenreMember  by the three-level model: genre, author, text
    LayerMember  by the two-covariance layer that a network was trained with: the paper's own

All pairs of a corpus come in the order of `np.triu_indices(documents, 1)`: (0, 1), (0, 2), ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from adhominem.arrays import FloatArray, IntArray, Rows, SparseRows
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.score.contributions import Contribution, FactorContribution, product_of
from adhominem.score.genres import Genres
from adhominem.score.products import Cohort, PairProducts, Table
from adhominem.score.rows import column_means, products, squares
from adhominem.score.three_level import (
    Comparison,
    Evidence,
    Levels,
    Sight,
    compare,
    genre_shares,
)

Sides = Rows | Sequence[Rows]  # (pairs, lev_size), one text a side; or sets of LEVs


@dataclass(frozen=True)
class PopulationPart:
    """A member's columns of a population."""

    texts: int
    authors: float  # by how many people they seem to be
    mean: FloatArray  # (size,)
    levs: Rows  # (cohort, size)
    log_tokens: FloatArray  # (cohort,)
    memory: list[tuple[FloatArray, Cohort]] = field(
        default_factory=list, repr=False, compare=False
    )  # the cohort that was asked for last, and of which centres

    @classmethod
    def of(cls, levs: Rows, log_tokens: FloatArray) -> PopulationPart:
        """From the LEVs (texts, size) of all its texts."""
        return cls(len(levs), len(levs), column_means(levs), levs, log_tokens)

    def cohort(self, centres: FloatArray) -> Cohort:
        """The products of its texts with each other and with the centres of genres."""
        if not self.memory or self.memory[0][0] is not centres:
            cohort = Cohort(
                texts=self.texts,
                square=float(self.mean @ self.mean),
                squares=squares(self.levs),
                to_mean=products(self.levs, self.mean[None])[:, 0],
                to_genres=products(self.levs, centres),
                mean_to_genres=centres @ self.mean,
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

    def evidence(
        self, first: Sides, second: Sides, log_tokens: FloatArray, population: PopulationPart | None
    ) -> Evidence:
        """Of pairs of sides, whose texts have lengths (pairs, texts of both sides)."""

    def table(self, levs: Rows, like: Table | None) -> Table:
        """All products of LEVs, of which many pairs are made; from another scorer's table of them.

        That saves the products that do not depend on the scorer.
        """

    def evidence_among(
        self,
        table: Table,
        log_tokens: FloatArray,
        first: IntArray,
        second: IntArray,
        population: IntArray | None,
        authors: float | None = None,
    ) -> Evidence:
        """Of pairs of sides (pairs, texts) each, and a population (texts,), all by number.

        `log_tokens` (texts,) are those of the whole table; `authors`, how many people the
        population seems to be by, if not as many as it has texts.
        """

    def contribution(
        self,
        first: Rows,
        second: Rows,
        log_tokens: FloatArray,
        population: PopulationPart | None,
        slope: float,
    ) -> Contribution:
        """Its share of the log Bayes factor of one pair; a nat of it adds `slope` to that."""

    def without(self, genre: str) -> MemberScorer:
        """This scorer as if a genre were unknown."""


@dataclass(frozen=True)
class GenreMember:
    """By the three-level model of its LEVs."""

    genres: Genres
    levels: Levels = field(default_factory=Levels)
    is_sparse: bool = False  # whether its LEVs are zeros for the most part

    @property
    def lev_size(self) -> int:
        """The size of the LEVs that it takes."""
        return int(self.genres.centres.shape[1])

    @cached_property
    def centres(self) -> FloatArray:
        """(genres, lev_size): those of the genres; by column, if LEVs are read so."""
        centres = self.genres.centres
        return np.asfortranarray(centres) if self.is_sparse else centres

    def evidence(
        self, first: Sides, second: Sides, log_tokens: FloatArray, population: PopulationPart | None
    ) -> Evidence:
        """Of pairs of sides."""
        return compare(self.levels, self.genres, self.sight(first, second, log_tokens, population))

    def sight(
        self, first: Sides, second: Sides, log_tokens: FloatArray, population: PopulationPart | None
    ) -> Sight:
        """Pairs of sides as the model sees them."""
        mean, levs = (None, None) if population is None else (population.mean, population.levs)
        pairs = PairProducts.of_levs(_sets(first), _sets(second), self.centres, mean, levs)
        if population is None:
            return Sight.of(self.genres, pairs, log_tokens, None, None, None)
        cohort = population.cohort(self.centres)
        return Sight.of(
            self.genres, pairs, log_tokens, cohort, population.log_tokens, population.authors
        )

    def genre_shares(self, levs: Rows, log_tokens: FloatArray) -> FloatArray:
        """(genres + 1,): of which genre texts (texts, lev_size) are; last, of none known."""
        return genre_shares(self.levels, self.genres, products(levs, self.centres), log_tokens)

    def table(self, levs: Rows, like: Table | None) -> Table:
        """All products of LEVs, of which many pairs are made."""
        return Table.of(levs, self.centres) if like is None else like.with_genres(self.centres)

    def evidence_among(
        self,
        table: Table,
        log_tokens: FloatArray,
        first: IntArray,
        second: IntArray,
        population: IntArray | None,
        authors: float | None = None,
    ) -> Evidence:
        """Of pairs of sides (pairs, texts) each, and a population (texts,), all by number."""
        sight = self.sight_among(table, log_tokens, first, second, population, authors)
        return compare(self.levels, self.genres, sight)

    def sight_among(
        self,
        table: Table,
        log_tokens: FloatArray,
        first: IntArray,
        second: IntArray,
        population: IntArray | None,
        authors: float | None = None,
    ) -> Sight:
        """The same pairs as the model sees them."""
        pairs = table.pairs(first, second, population)
        lengths = log_tokens[np.concatenate([first, second], axis=1)]
        if population is None:
            return Sight.of(self.genres, pairs, lengths, None, None, None)
        return Sight.of(
            self.genres,
            pairs,
            lengths,
            table.cohort(population),
            log_tokens[population],
            authors or float(len(population)),
        )

    def contribution(
        self,
        first: Rows,
        second: Rows,
        log_tokens: FloatArray,
        population: PopulationPart | None,
        slope: float,
    ) -> Contribution:
        """Its share of the log Bayes factor of one pair; a nat of it adds `slope` to that."""
        sight = self.sight([first], [second], log_tokens, population)
        levs = first.astype(np.float64), second.astype(np.float64)
        mean = None
        if population is not None and sight.population is not None:
            inside = sight.population.inside[0] @ np.concatenate(levs)  # (size,): left out
            left = float(sight.population.texts[0])
            mean = (population.texts * population.mean - inside) / left
        return product_of(Comparison(self.levels, self.genres, sight), levs, mean, slope)

    def without(self, genre: str) -> GenreMember:
        """This scorer as if a genre were unknown."""
        return replace(self, genres=self.genres.without(genre))


@dataclass(frozen=True)
class LayerMember:
    """By the layer that a network was trained with; a population's mean is moved to its mean."""

    layer: TwoCovariance
    project: Callable[[FloatArray], FloatArray]  # what the layer sees of LEVs
    lev_size: int
    weight: float = 1.0  # of its log Bayes factor, once it is calibrated
    is_sparse: bool = False

    def evidence(
        self, first: Sides, second: Sides, log_tokens: FloatArray, population: PopulationPart | None
    ) -> Evidence:
        """Of pairs of sides."""
        moved = [
            self._moved(side, population)
            if isinstance(side, np.ndarray | SparseRows)
            else [self._moved(levs, population) for levs in side]
            for side in (_sets(first), _sets(second))
        ]
        factors = self.weight * self.layer.log_bayes_factor(moved[0], moved[1])
        if population is None:
            return Evidence(factors)
        texts = self._moved(population.levs, population)  # (cohort, size)
        against = [
            np.array(
                [
                    self.weight
                    * self.layer.log_bayes_factor([np.atleast_2d(one)] * len(texts), texts[:, None])
                    for one in side
                ]
            ).reshape(len(side), len(texts))
            for side in moved
        ]
        return Evidence(factors, (against[0], against[1]))

    def table(self, levs: Rows, like: Table | None) -> Table:
        """The LEVs alone: the layer makes nothing of their products."""
        nothing = np.zeros((len(levs), 0))
        return Table(levs, nothing, nothing)

    def evidence_among(
        self,
        table: Table,
        log_tokens: FloatArray,
        first: IntArray,
        second: IntArray,
        population: IntArray | None,
        authors: float | None = None,
    ) -> Evidence:
        """Of pairs of sides (pairs, texts) each, and a population (texts,), all by number."""
        part = None
        if population is not None:
            part = PopulationPart.of(table.levs[population], log_tokens[population])
        sides = [[table.levs[texts] for texts in side] for side in (first, second)]
        lengths = log_tokens[np.concatenate([first, second], axis=1)]
        return self.evidence(sides[0], sides[1], lengths, part)

    def contribution(
        self,
        first: Rows,
        second: Rows,
        log_tokens: FloatArray,
        population: PopulationPart | None,
        slope: float,
    ) -> Contribution:
        """Its share of the log Bayes factor of one pair; a nat of it adds `slope` to that."""

        def factors(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> FloatArray:
            return self.evidence(first, second, log_tokens, population).log_bayes_factor

        levs = first.astype(np.float64), second.astype(np.float64)
        return FactorContribution(0.0, slope, factors, levs)

    def without(self, genre: str) -> LayerMember:
        """This scorer itself: it knows no genres."""
        return self

    def _moved(self, levs: Rows, population: PopulationPart | None) -> FloatArray:
        """(documents, size): what the layer sees of LEVs (documents, lev_size)."""
        seen = self.project(np.atleast_2d(levs.astype(np.float64)))
        if population is None:
            return seen
        return seen - self.project(population.mean[None]) + self.layer.author_mean


def _sets(side: Sides) -> Sides:
    """A table (pairs, lev_size), or tables (texts, lev_size): one text may be a plain row."""
    if isinstance(side, SparseRows) or (isinstance(side, np.ndarray) and side.ndim == 2):
        return side
    return [levs if isinstance(levs, SparseRows) else np.atleast_2d(levs) for levs in side]
