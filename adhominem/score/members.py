"""What each member of a model says of pairs of its LEVs, in nats: one protocol, two ways.

    GenreMember  by the three-level model: genre, author, text
    LayerMember  by the two-covariance layer that a network was trained with: as in the paper

A pair is two sides, each given by the numbers of its texts; -1 where it has fewer than others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from adhominem.arrays import FloatArray, IntArray, Rows
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.score.contributions import Contribution, FactorContribution, product_of
from adhominem.score.genres import Genres, PairGeometry
from adhominem.score.products import MemberTexts, PairProducts, PopulationPart, numbered, products
from adhominem.score.three_level import (
    CentredPairs,
    Evidence,
    ThreeLevelParameters,
    compare,
    genre_shares,
)


@dataclass(frozen=True)
class GenreMember:
    """A member that is scored by the three-level model of its LEVs."""

    genres: Genres
    levels: ThreeLevelParameters = field(default_factory=ThreeLevelParameters)
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

    def pairs(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
    ) -> PairGeometry:
        """Where the texts of pairs of sides (pairs, texts) lie: what `levels` are applied to."""
        made = PairProducts.of(texts, first, second, self.centres, population)
        numbers = np.concatenate([first, second], axis=1)
        log_tokens = np.where(numbers < 0, 0, texts.log_tokens[numbers])
        cohort = None if population is None else population.cohort(self.centres, texts)
        return PairGeometry.of(self.genres, made, log_tokens, cohort)

    def evidence(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
    ) -> Evidence:
        """What it says of pairs of sides (pairs, texts)."""
        return compare(self.levels, self.pairs(texts, first, second, population))

    def with_products(self, texts: MemberTexts, like: MemberTexts | None) -> MemberTexts:
        """Texts of which many pairs are made, with their products.

        Those that do not depend on the genres are taken from another scorer's texts, `like`.
        """
        return texts.with_products(self.centres, like)

    def genre_shares(self, levs: Rows, log_tokens: FloatArray) -> FloatArray:
        """(genres + 1,): of which genre texts (texts, lev_size) are; last, of none known."""
        return genre_shares(self.levels, self.genres, products(levs, self.centres), log_tokens)

    def contribution(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
        slope: float,
    ) -> Contribution:
        """Its share of the log Bayes factor of one pair; a nat of it adds `slope` to that."""
        pairs = self.pairs(texts, first, second, population)
        levs = texts.levs.astype(np.float64)
        mean = None
        if population is not None and pairs.population is not None:
            inside = pairs.population.inside[0] @ levs  # (size,): left out
            left = float(pairs.population.texts[0])
            mean = (population.texts * population.mean - inside) / left
        sides = levs[first[0]], levs[second[0]]
        return product_of(CentredPairs(self.levels, pairs), sides, mean, slope)

    def without(self, genre: str) -> GenreMember:
        """This scorer as if a genre were unknown."""
        return replace(self, genres=self.genres.without(genre))


@dataclass(frozen=True)
class LayerMember:
    """A network that is scored by the layer that it was trained with.

    The mean of a population is moved to the mean of the layer.
    """

    layer: TwoCovariance
    project: Callable[[FloatArray], FloatArray]  # what the layer sees of LEVs
    lev_size: int
    weight: float = 1.0  # of its log Bayes factor, once it is calibrated
    is_sparse: bool = False

    def pairs(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
    ) -> Evidence:
        """What the layer says of pairs of sides (pairs, texts): all that `weight` is applied to."""
        moved = self._moved(texts.levs, population)  # (texts, size)
        sides = [
            moved[side[:, 0]] if side.shape[1] == 1 else [moved[one[one >= 0]] for one in side]
            for side in (first, second)
        ]
        factors = self.layer.log_bayes_factor(sides[0], sides[1])
        if population is None:
            return Evidence(factors)
        cohort = self._moved(population.levs, population)[:, None]  # (cohort, 1, size)
        against = [
            np.array(
                [
                    self.layer.log_bayes_factor([np.atleast_2d(one)] * len(cohort), cohort)
                    for one in side
                ]
            ).reshape(len(side), len(cohort))
            for side in sides
        ]
        return Evidence(factors, (against[0], against[1]))

    def evidence(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
    ) -> Evidence:
        """What it says of pairs of sides (pairs, texts)."""
        return self.pairs(texts, first, second, population).times(self.weight)

    def with_products(self, texts: MemberTexts, like: MemberTexts | None) -> MemberTexts:
        """The texts themselves: the layer makes nothing of their products."""
        return texts

    def contribution(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
        slope: float,
    ) -> Contribution:
        """Its share of the log Bayes factor of one pair; a nat of it adds `slope` to that."""

        def factors(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> FloatArray:
            levs, one, other = numbered(first, second)
            changed = MemberTexts(levs, np.zeros(len(levs)))
            return self.evidence(changed, one, other, population).log_bayes_factor

        levs = texts.levs.astype(np.float64)
        return FactorContribution(0.0, slope, factors, (levs[first[0]], levs[second[0]]))

    def without(self, genre: str) -> LayerMember:
        """This scorer itself: it knows no genres."""
        return self

    def _moved(self, levs: Rows, population: PopulationPart | None) -> FloatArray:
        """(documents, size): what the layer sees of LEVs (documents, lev_size)."""
        projected = self.project(np.atleast_2d(levs.astype(np.float64)))
        if population is None:
            return projected
        return projected - self.project(population.mean[None]) + self.layer.author_mean


MemberScorer = GenreMember | LayerMember
