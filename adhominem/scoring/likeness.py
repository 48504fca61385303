"""What makes up a member's likeness of two sides, with all else held as it is.

A log Bayes factor depends on how alike two sides are, and on the context: how far they are from
the usual, how sure the guess of their genre is, how many texts there are. To say what a part of a
text contributes, only the likeness may change. So the centre, the lengths, and what the population
says stay those of the real comparison.

Seen from their centre, both sides are vectors u and v of length 1, and their likeness is u . v. Two
sides by one author are expected to have a likeness of e, by the two-covariance model. Of

    u . v - e = sum over dimensions of (u_i v_i - e/2 (u_i^2 + v_i^2))

each term is the evidence of its dimension, as in the log Bayes factor of that model: above zero
where both sides depart from the usual alike, below where only one of them does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from adhominem.arrays import AnyFloats, FloatArray
from adhominem.scoring.measures import Measures, Seen, measure_styles
from adhominem.scoring.products import Cohort, PairProducts
from adhominem.scoring.rows import products
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import IsotropicTwoCovariance


class Likeness(Protocol):
    """How alike a member finds two sides."""

    @property
    def excess(self) -> float:
        """How much more alike the sides are than is to be expected of one author."""

    @property
    def step(self) -> float:
        """A small change of it."""

    def shares(self, side: int) -> FloatArray:
        """(texts,): the part of the excess in each text of a side; each side has half of it."""

    def losses(self, side: int, text: int, levs: AnyFloats) -> FloatArray:
        """(variants,): what a side's half loses with each of these LEVs in place of a text's."""

    def moved(self, by: float) -> Measures:
        """The member's measures of this pair if the sides were so much more alike."""


@dataclass(frozen=True)
class CosineLikeness:
    """By the cosine of both sides' styles."""

    styles: Styles
    model: IsotropicTwoCovariance
    pair: PairProducts  # a single one
    cohort: Cohort | None
    population_mean: FloatArray | None  # (size,)
    levs: tuple[FloatArray, FloatArray]  # (texts, size) of each side

    @cached_property
    def _seen(self) -> Seen:
        return Seen.of(self.styles, self.pair, self.cohort)

    @cached_property
    def centre(self) -> FloatArray:
        """(size,): where both sides are seen from."""
        centres = self._seen.centres
        guess = np.asarray(centres.guess[0] @ self.styles.centres)
        if self.population_mean is None or self.cohort is None or centres.others is None:
            return guess
        share, left = float(centres.guess_share[0]), float(centres.others.texts[0])
        inside = centres.others.inside[0] @ np.concatenate(self.levs)  # (size,): left out
        mean = (self.cohort.texts * self.population_mean - inside) / left
        return np.asarray(share * guess + (1 - share) * mean)

    @cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """(texts,) for each side: by which its texts add up to a vector of length 1."""
        first, second = (
            self._seen.scale[0][of_side[0]] / np.sqrt(length[0])
            for of_side, length in zip(self.pair.of_side, self._seen.lengths, strict=True)
        )
        return first, second

    @property
    def expected(self) -> float:
        """The likeness that is to be expected of so many texts by one author."""
        first, second = (len(levs) for levs in self.levs)
        share = self.model.between_share
        variances = (1 + (first - 1) * share) * (1 + (second - 1) * share)
        return float(share * np.sqrt(first * second / variances))

    @property
    def excess(self) -> float:
        """How much more alike the sides are than is to be expected of one author."""
        return float(self._seen.likeness[0]) - self.expected

    @property
    def step(self) -> float:
        """A small part of the deviation of likenesses."""
        return float(1e-4 * self.model.independent**-0.5)

    @cached_property
    def directions(self) -> tuple[FloatArray, FloatArray]:
        """(size,) for each side: the product with it is the side's half of the excess."""
        first, second = (
            weights @ (levs - self.centre)
            for weights, levs in zip(self.weights, self.levs, strict=True)
        )
        return 0.5 * (second - self.expected * first), 0.5 * (first - self.expected * second)

    def shares(self, side: int) -> FloatArray:
        """(texts,): the part of the excess in each text of a side; each side has half of it."""
        parts = self.weights[side] * ((self.levs[side] - self.centre) @ self.directions[side])
        # A population's mean is known with noise, of which the likeness is rid, but not these.
        return np.asarray(parts + (0.5 * self.excess - parts.sum()) / len(parts))

    def losses(self, side: int, text: int, levs: AnyFloats) -> FloatArray:
        """(variants,): what a side's half loses with each of these LEVs in place of a text's.

        The lengths stay what they are, too. A text without one of its passages is no worse known.
        """
        along = products(levs, self.directions[side][None])[:, 0]
        return self.losses_along(side, text, along)

    def losses_along(self, side: int, text: int, along: FloatArray) -> FloatArray:
        """(variants,): the same, of the LEVs' products with the side's direction."""
        here = self.levs[side][text] @ self.directions[side]
        return np.asarray(self.weights[side][text] * (here - along))

    def moved(self, by: float) -> Measures:
        """The member's measures of this pair if the sides were so much more alike."""
        first, second = (side[0] for side in self.pair.of_side)
        scale, (one, other) = self._seen.scale[0], self._seen.lengths
        product = (self._seen.likeness[0] + by) * np.sqrt(one[0] * other[0])
        added = (product - self._seen.product[0]) / (scale[first].sum() * scale[second].sum())
        across = np.outer(first, second)
        between = self.pair.between + added * (across | across.T)
        pair = replace(self.pair, between=between)
        return measure_styles(self.styles, self.model, pair, self.cohort)


@dataclass(frozen=True)
class FactorLikeness:
    """By a log Bayes factor that knows nothing but the two sides; none is expected."""

    factors: Callable[[Sequence[FloatArray], Sequence[FloatArray]], FloatArray]  # of pairs
    levs: tuple[FloatArray, FloatArray]  # (texts, size) of each side

    @cached_property
    def excess(self) -> float:
        """The log Bayes factor."""
        return float(self.factors([self.levs[0]], [self.levs[1]])[0])

    @property
    def step(self) -> float:
        """In nats."""
        return 1e-4

    def shares(self, side: int) -> FloatArray:
        """(texts,): an even share of each text, and by how much more its loss is than others'."""
        count = len(self.levs[side])
        lost = np.zeros(count)
        if count > 1:
            left = [np.delete(self.levs[side], text, axis=0) for text in range(count)]
            lost = self._lost(side, left)
        return np.asarray(0.5 * self.excess / count + lost - lost.mean())

    def losses(self, side: int, text: int, levs: AnyFloats) -> FloatArray:
        """(variants,): what a side's half loses with each of these LEVs in place of a text's."""
        changed = np.repeat(self.levs[side][None], len(levs), axis=0)  # (variants, texts, size)
        changed[:, text] = levs
        return self._lost(side, list(changed))

    def moved(self, by: float) -> Measures:
        """The member's measures of this pair if its log Bayes factor were so much greater."""
        return Measures.of_factors(np.array([self.excess + by]))

    def _lost(self, side: int, sets: Sequence[FloatArray]) -> FloatArray:
        """(variants,): half of what is lost with each of these sets of LEVs for a side."""
        other = [self.levs[1 - side]] * len(sets)
        sides = (sets, other) if side == 0 else (other, sets)
        return 0.5 * (self.excess - self.factors(*sides))
