"""The contribution of each member, text and part of a text to a log Bayes factor.

A log Bayes factor is a quadratic form of both sides. Its product term measures how similarly they
depart from c. Everything else, the squared lengths and the determinants, is what two sides without
any similarity get: the longer and more numerous their texts, the more it supports two authors. The
product is a sum over texts, directions and n-grams. The rest is shared out: to each text by its
weight, to each passage by its length. All shares start from zero, a Bayes factor of 1, and add up
to the log Bayes factor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from adhominem.arrays import AnyFloats, FloatArray
from adhominem.score.products import products
from adhominem.score.three_level import CentredPairs


@dataclass(frozen=True)
class ProductContribution:
    """A member's contribution by the three-level model: a constant plus a bilinear product."""

    value: float  # 0 until it is known
    centre: FloatArray  # (size,): c
    directions: tuple[FloatArray, FloatArray]  # (texts, size): half of what one unit of a LEV adds
    levs: tuple[FloatArray, FloatArray]  # (texts, size) of each side
    text_shares: tuple[FloatArray, FloatArray]  # (texts,): of the constant; they sum to 1

    @property
    def product(self) -> float:
        """The part of the contribution that is a product of both sides."""
        return float(sum(part.sum() for part in self.products))

    def with_value(self, value: float) -> ProductContribution:
        """A copy with another total; the product stays."""
        return replace(self, value=value)

    @property
    def products(self) -> tuple[FloatArray, FloatArray]:
        """Each text's part of half of the product, (texts,) for each side."""
        first, second = (
            np.einsum("ts,ts->t", levs - self.centre, directions)
            for levs, directions in zip(self.levs, self.directions, strict=True)
        )
        return first, second

    def shares(self, side: int) -> FloatArray:
        """Each text's part (texts,) of a side's half of the contribution."""
        product = self.products[side]
        constant = 0.5 * self.value - product.sum()
        return np.asarray(product + constant * self.text_shares[side])

    def losses(self, side: int, text: int, levs: AnyFloats) -> FloatArray:
        """What a side's half loses (variants,) if a text had each of these LEVs instead."""
        along = products(levs, self.directions[side][text][None])[:, 0]
        return self.losses_along(side, text, along)

    def losses_along(self, side: int, text: int, along: FloatArray) -> FloatArray:
        """The losses (variants,), from the LEVs' products with the direction of the text."""
        here = self.levs[side][text] @ self.directions[side][text]
        return np.asarray(here - along)


@dataclass(frozen=True)
class FactorContribution:
    """A member's contribution found by computing its log Bayes factor again with changed texts."""

    value: float  # 0 until it is known
    slope: float  # what one nat of it adds to the log Bayes factor of all members
    factors: Callable[[Sequence[FloatArray], Sequence[FloatArray]], FloatArray]  # of pairs
    levs: tuple[FloatArray, FloatArray]  # (texts, size) of each side

    @cached_property
    def _here(self) -> float:
        return float(self.factors([self.levs[0]], [self.levs[1]])[0])

    @property
    def product(self) -> float:
        """The whole contribution: how much of it is a product is unknown."""
        return self.slope * self._here

    def with_value(self, value: float) -> FactorContribution:
        """A copy with another total."""
        return replace(self, value=value)

    def shares(self, side: int) -> FloatArray:
        """Each text's part (texts,): an even share, plus how far its loss exceeds the mean loss."""
        count = len(self.levs[side])
        lost = np.zeros(count)
        if count > 1:
            left = [np.delete(self.levs[side], text, axis=0) for text in range(count)]
            lost = self._lost(side, left)
        return np.asarray(0.5 * self.value / count + lost - lost.mean())

    def losses(self, side: int, text: int, levs: AnyFloats) -> FloatArray:
        """What a side's half loses (variants,) if a text had each of these LEVs instead."""
        changed = np.repeat(self.levs[side][None], len(levs), axis=0)  # (variants, texts, size)
        changed[:, text] = levs
        return self._lost(side, list(changed))

    def _lost(self, side: int, sets: Sequence[FloatArray]) -> FloatArray:
        """Half of what is lost (variants,) with each of these sets of LEVs for a side."""
        other = [self.levs[1 - side]] * len(sets)
        sides = (sets, other) if side == 0 else (other, sets)
        return 0.5 * self.slope * (self._here - self.factors(*sides))


Contribution = ProductContribution | FactorContribution


def product_contribution(
    comparison: CentredPairs,
    levs: tuple[FloatArray, FloatArray],
    population_mean: FloatArray | None,
    slope: float,
) -> ProductContribution:
    """A member's contribution to the log Bayes factor of one pair, its total not yet set.

    `population_mean` (size,) is the mean of all population texts outside the pair; `slope` is what
    one nat of this member adds to the log Bayes factor of all members.
    """
    genres, centre, levels = comparison.genres, comparison.centre, comparison.levels
    basis, usual = genres.basis, genres.usual  # (directions, size)
    if not len(basis):  # a single known genre has no directions; one of zeros stands in
        basis = np.zeros((1, levs[0].shape[1]))
    genre_terms, rest_terms = comparison.pair_terms()
    here = genres.middle + usual * (centre.mean[0] @ basis)
    if population_mean is not None:
        apart = population_mean - genres.middle
        here = here + float(centre.pull[0]) * (apart - (apart @ basis.T) @ basis)
    sides = comparison.pairs.in_side[0][0], comparison.pairs.in_side[1][0]
    weights = [
        tuple(one[0][of] for one in both)
        for both, of in zip(comparison.weights, sides, strict=True)
    ]
    departures = [(side_levs - here) / usual for side_levs in levs]  # (texts, size)
    rests, places = [], []  # each side as the mean of its texts
    for apart, (rest_weights, genre_weights) in zip(departures, weights, strict=True):
        mean = rest_weights @ apart
        rests.append(mean - (mean @ basis.T) @ basis)
        places.append(genre_weights @ (apart @ basis.T))
    rest_worth = 0.5 * slope * levels.rest.directions * float(rest_terms.across[0])
    genre_worth = (
        0.5 * slope * levels.genre_part.directions / genres.directions * genre_terms.across[0]
    )
    directions = []
    for side in (0, 1):
        rest_weights, genre_weights = weights[side]
        along = np.outer(rest_weights, rest_worth * rests[1 - side])
        along += np.outer(genre_weights, (genre_worth * places[1 - side]) @ basis)
        directions.append(along / usual)
    text_shares = [
        rest_weights / comparison.scale[0][of]
        for (rest_weights, _), of in zip(weights, sides, strict=True)
    ]
    first, second = (shares / shares.sum() for shares in text_shares)
    return ProductContribution(0.0, here, (directions[0], directions[1]), levs, (first, second))
