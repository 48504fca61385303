"""The evidence of each member of a model on pairs of its LEVs, in nats: one protocol, two ways.

    GenreMember  by the three-level model: genre, author, text
    LayerMember  by the two-covariance layer that a network was trained with: as in the paper,
                 or, as SuccessorMember, as in its successor

A pair is two sides, each given by the indices of its texts, padded with -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from adhominem.arrays import FloatArray, IntArray, Rows
from adhominem.paper.successor import Successor
from adhominem.paper.two_covariance import TwoCovariance
from adhominem.score.contributions import Contribution, FactorContribution, product_contribution
from adhominem.score.genres import Genres, PairGeometry
from adhominem.score.products import MemberTexts, PairProducts, PopulationPart, numbered, products
from adhominem.score.three_level import (
    Block,
    CentredPairs,
    Evidence,
    ThreeLevelParameters,
    compare,
)


@dataclass(frozen=True)
class GenreMember:
    """A member that is scored by the three-level model of its LEVs."""

    genres: Genres
    levels: ThreeLevelParameters = field(default_factory=ThreeLevelParameters)
    is_sparse: bool = False  # whether its LEVs are mostly zeros

    @property
    def lev_size(self) -> int:
        """The size of this member's LEVs."""
        return int(self.genres.centres.shape[1])

    @cached_property
    def centres(self) -> FloatArray:
        """The centres (genres, lev_size) of the genres, in the memory order that products read."""
        centres = self.genres.centres
        return np.asfortranarray(centres) if self.is_sparse else centres

    def pairs(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
    ) -> PairGeometry:
        """The geometry of pairs of sides (pairs, texts), to which `levels` are applied."""
        made = PairProducts.of(texts, first, second, self.centres, population)
        numbers = np.concatenate([first, second], axis=1)
        log_tokens = np.where(numbers < 0, 0, texts.log_tokens[numbers])
        cohort = None if population is None else population.cohort(self.centres, texts)
        return PairGeometry.of(self.genres, made, log_tokens, cohort)

    def with_products(self, texts: MemberTexts, like: MemberTexts | None) -> MemberTexts:
        """The texts with all their products, for scoring many pairs among them.

        Products that do not depend on the genres are taken from another scorer's texts, `like`.
        """
        return texts.with_products(self.centres, like)

    def genre_of(self, texts: MemberTexts) -> PairGeometry:
        """The texts as one side, for inferring their genre."""
        return PairGeometry.of_side(
            self.genres, products(texts.levs, self.centres), texts.log_tokens
        )

    def contribution(
        self,
        texts: MemberTexts,
        pairs: PairGeometry,
        sides: tuple[IntArray, IntArray],
        population: PopulationPart | None,
        shares: FloatArray,
        slope: float,
    ) -> Contribution:
        """The contribution to the log Bayes factor of one pair, `slope` per nat of evidence.

        `pairs` is that pair, `sides` are the indices of its texts, and `shares` (1, genres + 1) the
        probabilities of its genre.
        """
        levs = texts.levs.astype(np.float64)
        mean = None
        if population is not None and pairs.population is not None:
            inside = pairs.population.inside[0] @ levs  # (size,): left out
            left = float(pairs.population.texts[0])
            mean = (population.texts * population.mean - inside) / left
        both = levs[sides[0]], levs[sides[1]]
        return product_contribution(CentredPairs(self.levels, pairs, shares), both, mean, slope)

    def without(self, genre: str) -> GenreMember:
        """A copy that does not know one genre."""
        return replace(self, genres=self.genres.without(genre))


@dataclass(frozen=True)
class LayerMember:
    """A network that is scored by the two-covariance layer that it was trained with.

    LEVs are shifted so that the population's mean falls on the layer's mean.
    """

    layer: TwoCovariance
    project: Callable[[FloatArray], FloatArray]  # from LEVs to the layer's input
    lev_size: int
    weight: float = 1.0  # of its log Bayes factor, once calibrated
    is_sparse: bool = False

    def pairs(
        self,
        texts: MemberTexts,
        first: IntArray,
        second: IntArray,
        population: PopulationPart | None,
    ) -> Evidence:
        """The layer's evidence on pairs of sides (pairs, texts), before `weight` is applied."""
        moved = self._moved(texts.levs, population)  # (texts, size)
        sides = [_vectors(moved, side) for side in (first, second)]
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
        """The evidence on pairs of sides (pairs, texts)."""
        return self.pairs(texts, first, second, population).times(self.weight)

    def with_products(self, texts: MemberTexts, like: MemberTexts | None) -> MemberTexts:
        """The texts unchanged: the layer uses no products."""
        return texts

    def contribution(
        self,
        texts: MemberTexts,
        sides: tuple[IntArray, IntArray],
        population: PopulationPart | None,
        slope: float,
    ) -> Contribution:
        """The contribution to the log Bayes factor of one pair, `slope` per nat of evidence."""

        def factors(first: Sequence[FloatArray], second: Sequence[FloatArray]) -> FloatArray:
            levs, one, other = numbered(first, second)
            changed = MemberTexts(levs, np.zeros(len(levs)))
            return self.evidence(changed, one, other, population).log_bayes_factor

        levs = texts.levs.astype(np.float64)
        return FactorContribution(0.0, slope, factors, (levs[sides[0]], levs[sides[1]]))

    def without(self, genre: str) -> LayerMember:
        """This member itself: it knows no genres."""
        return self

    def _moved(self, levs: Rows, population: PopulationPart | None) -> FloatArray:
        """The layer's input (documents, size) from LEVs (documents, lev_size)."""
        projected = self.project(np.atleast_2d(levs.astype(np.float64)))
        if population is None:
            return projected
        return projected - self.project(population.mean[None]) + self.layer.author_mean


@dataclass(frozen=True)
class SuccessorMember(LayerMember):
    """A network of the paper's successor, whose Bayes factors are adapted: see `Successor`."""

    layer: Successor

    def stages(
        self, texts: MemberTexts, first: IntArray, second: IntArray
    ) -> dict[str, FloatArray]:
        """The answers (pairs,) of each stage on pairs of sides (pairs, texts)."""
        levs = texts.levs.astype(np.float64)
        both = [
            (_vectors(rows, first), _vectors(rows, second)) for rows in (levs, self.project(levs))
        ]
        return self.layer.stages(*both)


def _vectors(rows: FloatArray, side: IntArray) -> FloatArray | list[FloatArray]:
    """The rows of the texts of one side of each pair (pairs, texts)."""
    return rows[side[:, 0]] if side.shape[1] == 1 else [rows[one[one >= 0]] for one in side]


MemberScorer = GenreMember | LayerMember


def blocks_of(
    members: Sequence[MemberScorer], pairs: Sequence[PairGeometry | Evidence]
) -> list[Block]:
    """The parts of LEVs that the three-level model scores."""
    return [
        (member.levels, one)
        for member, one in zip(members, pairs, strict=True)
        if isinstance(member, GenreMember) and isinstance(one, PairGeometry)
    ]


def evidence_of(
    members: Sequence[MemberScorer],
    pairs: Sequence[PairGeometry | Evidence],
    unknown_log_odds: float,
) -> list[Evidence]:
    """The evidence of each member on pairs as its `pairs` returns them."""
    by_genre = iter(compare(blocks_of(members, pairs), unknown_log_odds))
    return [
        one.times(member.weight)
        if isinstance(member, LayerMember) and isinstance(one, Evidence)
        else next(by_genre)
        for member, one in zip(members, pairs, strict=True)
    ]
