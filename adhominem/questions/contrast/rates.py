"""How often something occurs on two sides, how sure that is, and what sets the sides apart.

A rate is that of all texts of a side together. How far it would be another in other texts by the
same person is seen from how much it varies between the texts at hand; it is never taken to vary
less than words that fall at random would. So what a single text is full of counts for little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError
from adhominem.statistics import NORMAL, student_quantile


@dataclass(frozen=True)
class SideRates:
    """Rates of a side, (features,) each."""

    counts: FloatArray
    rate: FloatArray  # for every token
    deviation: FloatArray  # of the rate
    tokens: float
    texts: int

    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Twice (features,): the ends of the 95% interval of the rate."""
        reach = quantile_of(self.texts - 1) * self.deviation
        return np.maximum(self.rate - reach, 0), self.rate + reach


@dataclass(frozen=True)
class Rates:
    """Two sides beside each other, (features,) each."""

    first: SideRates
    second: SideRates
    deviation: FloatArray  # of the difference, if both sides had one rate and it varied as seen

    @property
    def difference(self) -> FloatArray:
        """By how much the first side's rate is the greater."""
        return np.asarray(self.first.rate - self.second.rate)

    @property
    def z(self) -> FloatArray:
        """The difference in deviations: what features are ranked by."""
        return np.asarray(self.difference / self.deviation)

    @property
    def ratio(self) -> FloatArray:
        """Of both rates, with half an occurrence added to each, so that it is finite."""
        first, second = ((side.counts + 0.5) / side.tokens for side in (self.first, self.second))
        return np.asarray(first / second)

    @property
    def quantile(self) -> float:
        """Deviations within which 95% of the differences lie."""
        return quantile_of(self.first.texts + self.second.texts - 2)


def compare_rates(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> Rates:
    """The rates of both sides; each is counts (texts, features) and tokens (texts,)."""
    if not len(first[1]) or not len(second[1]):
        raise OptionError("a side without texts; expected at least one")
    counts = first[0].sum(axis=0) + second[0].sum(axis=0)
    pooled = counts / (first[1].sum() + second[1].sum())  # (features,)
    sides = [_side(*side) for side in (first, second)]
    # The variance of a Poisson count at the rate of both: a side without a feature has one, too.
    variances = [np.maximum(side.deviation**2, pooled / side.tokens) for side in sides]
    return Rates(sides[0], sides[1], np.sqrt(np.maximum(sum(variances), 1e-300)))


def _side(counts: FloatArray, tokens: FloatArray) -> SideRates:
    total, size, texts = counts.sum(axis=0), float(tokens.sum()), len(tokens)
    variance = np.maximum(total, 1) / size**2  # at random; of what is not there, as of one
    if texts > 1:
        departures = counts - tokens[:, None] * total / size  # (texts, features)
        between = (departures**2).sum(axis=0) * texts / (texts - 1) / size**2
        variance = np.maximum(between, variance)
    return SideRates(total, total / size, np.asarray(np.sqrt(variance)), size, texts)


def quantile_of(freedom: int) -> float:
    """Deviations within which 95% lie: as many as Student says, or of a normal distribution."""
    return student_quantile(freedom) if freedom > 0 else NORMAL
