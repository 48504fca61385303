"""What makes up a log Bayes factor: the share of each member, each text, each part of a text.

A log Bayes factor is a quadratic form of both sides. Its product term says how alike they depart
from c; all else, the squared lengths and the determinants, says what two sides come to that are
not alike at all: the longer and the more numerous their texts, the more that speaks for two
authors. The product is a sum over texts, directions and n-grams. The rest belongs to all of them
alike, so each text has a part of it by its weight, and each passage by its length. All shares
start from zero, a Bayes factor of 1, and add up to the number.
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
    """A share by the three-level model: a constant and a product of both sides, linear in each."""

    value: float  # 0 until it is known
    centre: FloatArray  # (size,): c
    directions: tuple[FloatArray, FloatArray]  # (texts, size): half of what a unit of a LEV adds
    levs: tuple[FloatArray, FloatArray]  # (texts, size) of each side
    text_shares: tuple[FloatArray, FloatArray]  # (texts,): of the constant; they sum to 1

    @property
    def product(self) -> float:
        """The part of it that is a product of both sides."""
        return float(sum(part.sum() for part in self.products))

    def of_value(self, value: float) -> ProductContribution:
        """This contribution with another whole share; the product stays."""
        return replace(self, value=value)

    @property
    def products(self) -> tuple[FloatArray, FloatArray]:
        """(texts,) for each side: the part of each text in half of the product."""
        first, second = (
            np.einsum("ts,ts->t", levs - self.centre, directions)
            for levs, directions in zip(self.levs, self.directions, strict=True)
        )
        return first, second

    def shares(self, side: int) -> FloatArray:
        """(texts,): what each text of a side has of its half."""
        product = self.products[side]
        constant = 0.5 * self.value - product.sum()
        return np.asarray(product + constant * self.text_shares[side])

    def losses(self, side: int, text: int, levs: AnyFloats) -> FloatArray:
        """(variants,): what a side's half loses with each of these LEVs in place of a text's."""
        along = products(levs, self.directions[side][text][None])[:, 0]
        return self.losses_along(side, text, along)

    def losses_along(self, side: int, text: int, along: FloatArray) -> FloatArray:
        """(variants,): what is lost, by the LEVs' products with the direction of the text."""
        here = self.levs[side][text] @ self.directions[side][text]
        return np.asarray(here - along)


@dataclass(frozen=True)
class FactorContribution:
    """A share by a log Bayes factor that is computed again without a text, or with another one."""

    value: float  # 0 until it is known
    slope: float  # what a nat of it adds to the log Bayes factor of all members
    factors: Callable[[Sequence[FloatArray], Sequence[FloatArray]], FloatArray]  # of pairs
    levs: tuple[FloatArray, FloatArray]  # (texts, size) of each side

    @cached_property
    def _here(self) -> float:
        return float(self.factors([self.levs[0]], [self.levs[1]])[0])

    @property
    def product(self) -> float:
        """All of it: what of it is a product is not known."""
        return self.slope * self._here

    def of_value(self, value: float) -> FactorContribution:
        """This contribution with another whole share."""
        return replace(self, value=value)

    def shares(self, side: int) -> FloatArray:
        """(texts,): an even share of each text, and by how much more its loss is than others'."""
        count = len(self.levs[side])
        lost = np.zeros(count)
        if count > 1:
            left = [np.delete(self.levs[side], text, axis=0) for text in range(count)]
            lost = self._lost(side, left)
        return np.asarray(0.5 * self.value / count + lost - lost.mean())

    def losses(self, side: int, text: int, levs: AnyFloats) -> FloatArray:
        """(variants,): what a side's half loses with each of these LEVs in place of a text's."""
        changed = np.repeat(self.levs[side][None], len(levs), axis=0)  # (variants, texts, size)
        changed[:, text] = levs
        return self._lost(side, list(changed))

    def _lost(self, side: int, sets: Sequence[FloatArray]) -> FloatArray:
        """(variants,): half of what is lost with each of these sets of LEVs for a side."""
        other = [self.levs[1 - side]] * len(sets)
        sides = (sets, other) if side == 0 else (other, sets)
        return 0.5 * self.slope * (self._here - self.factors(*sides))


Contribution = ProductContribution | FactorContribution


def product_of(
    comparison: CentredPairs,
    levs: tuple[FloatArray, FloatArray],
    population_mean: FloatArray | None,
    slope: float,
) -> ProductContribution:
    """The share of a member whose log Bayes factor of one pair this is.

    `population_mean` (size,) is that of all its texts but those of the pair; `slope` says what a
    nat of this member adds to the log Bayes factor of all. The whole share is not yet known.
    """
    genres, centre, levels = comparison.genres, comparison.centre, comparison.levels
    basis, usual = genres.basis, genres.usual  # (directions, size)
    if not len(basis):  # the one genre that is known has a direction in which nothing lies
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
    departures = [(of_side - here) / usual for of_side in levs]  # (texts, size)
    rests, places = [], []  # each side as the mean of its texts
    for apart, (of_rest, of_genre) in zip(departures, weights, strict=True):
        mean = of_rest @ apart
        rests.append(mean - (mean @ basis.T) @ basis)
        places.append(of_genre @ (apart @ basis.T))
    rest_worth = 0.5 * slope * levels.rest.directions * float(rest_terms.across[0])
    genre_worth = (
        0.5 * slope * levels.genre_part.directions / genres.directions * genre_terms.across[0]
    )
    directions = []
    for side in (0, 1):
        of_rest, of_genre = weights[side]
        along = np.outer(of_rest, rest_worth * rests[1 - side])
        along += np.outer(of_genre, (genre_worth * places[1 - side]) @ basis)
        directions.append(along / usual)
    text_shares = [
        of_rest / comparison.scale[0][of] for (of_rest, _), of in zip(weights, sides, strict=True)
    ]
    first, second = (shares / shares.sum() for shares in text_shares)
    return ProductContribution(0.0, here, (directions[0], directions[1]), levs, (first, second))
