"""Calibration: from the members' evidence to one log Bayes factor within bounds.

The members' log Bayes factors are added up. With a population, the sum is also held against what
each side has with the texts of the population (score normalisation, S-norm): some texts are like
many. The parameters of each member, the few weights here and the bounds are learnt from cases of
known authors (`score.fitting`, `training.calibrate`). Beyond the bounds there are too few cases
under similar conditions to support stronger evidence, so none is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, BoolArray, FloatArray, IntArray
from adhominem.errors import ModelError
from adhominem.records import NotNegative, Within
from adhominem.score.genres import PairRows
from adhominem.score.three_level import Evidence, ThreeLevelParameters

_LARGEST = 1e30  # no log Bayes factor comes near; much larger numbers end as infinite
_FAR = 4.0  # deviations: an S-norm beyond grows as its logarithm
_USUAL_TEXTS = 10  # the usual deviation counts as much as that of this many population texts
OTHERS = float(np.log(20))  # log odds, prior, that two texts of a population have two authors

# (pairs,) twice per side: mean and deviation of its log Bayes factors with texts by others
Usual = Sequence[tuple[AnyFloats, AnyFloats]]

_Bound = Annotated[float, Within(-_LARGEST, _LARGEST)]
_Weight = Annotated[float, Within(-_LARGEST, _LARGEST)]


@dataclass(frozen=True)
class Conditions(PairRows):
    """The conditions of pairs: texts and tokens of each side, and the size of the population."""

    texts: FloatArray  # (pairs, 2): number of texts of each side
    log_tokens: FloatArray  # (pairs, 2): mean over the texts of each side
    population: FloatArray  # (pairs,): number of texts; 0 without a population

    @classmethod
    def of(
        cls, log_tokens: FloatArray, first: IntArray, second: IntArray, population: int
    ) -> Conditions:
        """Conditions from indices (pairs, texts) of each side's texts and all lengths (texts,)."""
        texts, means = [], []
        for side in (first, second):
            present = side >= 0  # (pairs, texts)
            texts.append(present.sum(axis=1).astype(np.float64))
            sums = (log_tokens[side] * present).sum(axis=1) if len(side) else np.zeros(0)
            means.append(sums / np.maximum(texts[-1], 1))
        both = np.stack(texts, axis=1), np.stack(means, axis=1)
        return cls(*both, np.full(len(first), float(population)))

    def __len__(self) -> int:
        return len(self.population)


@dataclass(frozen=True)
class Scores(PairRows):
    """The evidence of all members on some pairs before it is weighted: (pairs,) each, in nats."""

    members: tuple[FloatArray, ...]  # each member's log Bayes factors
    against: tuple[FloatArray, FloatArray] | None  # (pairs, cohort): each side, each text
    kept: BoolArray | None  # (pairs, cohort): which texts of the population are not in the pair
    fit: FloatArray  # how much better the population fits the texts than none does; 0 without one
    conditions: Conditions
    one_genre: FloatArray | None = None  # (pairs,): evidence of one genre, where it matters

    @classmethod
    def of(cls, evidence: Sequence[Evidence], conditions: Conditions, lead: int = 0) -> Scores:
        """The members' evidence combined; the leading member's decides whether genres differ."""
        against = [one.against for one in evidence if one.against is not None]
        both = None
        if len(against) == len(evidence):
            first, second = (np.sum(side, axis=0) for side in zip(*against, strict=True))
            both = first, second
        fits = [one.fit for one in evidence if one.fit is not None]
        return cls(
            tuple(one.log_bayes_factor for one in evidence),
            both,
            next((one.kept for one in evidence if one.kept is not None), None),
            np.asarray(np.sum(fits, axis=0)) if fits else np.zeros(len(conditions)),
            conditions,
            evidence[lead].one_genre,
        )

    @property
    def total(self) -> FloatArray:
        """(pairs,): the sum of the members' log Bayes factors."""
        return np.asarray(np.sum(self.members, axis=0))

    def __len__(self) -> int:
        return len(self.conditions)


@dataclass(frozen=True)
class LogBayesFactors(PairRows):
    """The log Bayes factors of some pairs, (pairs,) each, in nats."""

    unbounded: FloatArray  # calibrated, if the model is
    log_bayes_factor: FloatArray  # within the bounds: what is reported
    lower_bound: FloatArray  # for these conditions; infinite if the model is not calibrated
    upper_bound: FloatArray
    population_misfit: BoolArray  # whether the population is of another genre, and so was not used
    two_genres: BoolArray  # whether the sides seem to be of two genres: then it is 0
    calibrated: bool
    conditions: Conditions

    def replaced(self, chosen: BoolArray, others: LogBayesFactors) -> LogBayesFactors:
        """A copy with `others` in place of the chosen pairs, whose population does not fit."""
        values = {}
        for name in ("unbounded", "log_bayes_factor", "lower_bound", "upper_bound", "two_genres"):
            values[name] = getattr(self, name).copy()
            values[name][chosen] = getattr(others, name)
        population = np.where(chosen, 0, self.conditions.population)
        conditions = replace(self.conditions, population=population)
        return replace(self, **values, population_misfit=chosen, conditions=conditions)

    @property
    def at_bound(self) -> BoolArray:
        """(pairs,): whether a bound, rather than the score, decides what is reported."""
        return np.asarray(
            (self.log_bayes_factor <= self.lower_bound)
            | (self.log_bayes_factor >= self.upper_bound)
        )


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights that turn the members' evidence into a log Bayes factor."""

    constant: _Weight = 0.0
    factor: _Weight = 1.0  # of the sum of the members' log Bayes factors, with a population
    snorm: _Weight = 0.0
    snorm_constant: _Weight = 0.0
    snorm_small: _Weight = 0.0  # times one over the square root of the population's number of texts
    usual_deviation: NotNegative = 1.0  # of a side's log Bayes factors with texts by others
    unknown_log_odds: _Weight = 1.0  # prior log odds of a genre that the model does not know
    genre_slope: NotNegative = 0.0  # of the evidence that both sides are of one genre, in log odds
    genre_constant: _Weight = 0.0

    def __call__(self, scores: Scores) -> FloatArray:
        """The log Bayes factors (pairs,) of scores, without bounds."""
        return self.weigh(scores.total, self._usual_of(scores), scores.conditions.population)

    def weigh(
        self, total: FloatArray, usual: Usual | None, population: FloatArray | float
    ) -> FloatArray:
        """The log Bayes factors (pairs,) from the members' sum, usual values and text counts."""
        if usual is None or not self.snorm:
            return total + self.constant
        return np.asarray(
            self.constant
            + self.factor * total
            + self.snorm * snorms(total, usual)
            + self.snorm_constant
            + self.snorm_small / np.sqrt(np.maximum(population, 1))
        )

    def uncompressed(self, scores: Scores) -> FloatArray:
        """The log Bayes factors (pairs,) with large S-norms uncompressed, for a short tail."""
        usual = self._usual_of(scores)
        if usual is None:
            return self(scores)
        linear = raw_snorms(scores.total, usual) - snorms(scores.total, usual)
        return np.asarray(self(scores) + self.snorm * linear)

    def one_genre(self, scores: Scores) -> FloatArray | None:
        """The log odds (pairs,) that both sides are of one genre; None where that is assumed.

        It is assumed with a population, and where the model has not learnt to separate genres.
        """
        if scores.one_genre is None or not self.genre_slope:
            return None
        return self.genre_constant + self.genre_slope * scores.one_genre

    def slope(self, scores: Scores) -> FloatArray:
        """The derivative (pairs,) of the log Bayes factor by the members' sum."""
        usual = self._usual_of(scores)
        if usual is None:
            return np.ones(len(scores))
        raw = raw_snorms(scores.total, usual)
        inverse = np.mean([1 / d for _, d in usual], axis=0)
        return np.asarray(self.factor + self.snorm * inverse / np.sqrt(1 + (raw / _FAR) ** 2))

    def usual(self, against: FloatArray, kept: BoolArray | None) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation, (sides,) each, of each side's log Bayes factors with texts by others.

        `against` (sides, cohort) are its log Bayes factors with the population's texts; only those
        in `kept` count, and texts that seem to be by the side's author count less.
        """
        weights = 1 / (1 + np.exp(np.clip(against - OTHERS, -50, 50)))
        if kept is not None:
            weights = weights * kept
        count = np.maximum(weights.sum(axis=1), 1e-9)  # (sides,)
        mean = (weights * against).sum(axis=1) / count
        variance = (weights * np.square(against - mean[:, None])).sum(axis=1) / count
        shrunk = count * variance + _USUAL_TEXTS * self.usual_deviation**2
        deviation = np.sqrt(np.maximum(shrunk / (count + _USUAL_TEXTS), 1e-12))
        return mean, deviation

    def _usual_of(self, scores: Scores) -> Usual | None:
        """`usual` for both sides; None without a population, or if the S-norm has no weight."""
        if scores.against is None or not self.snorm:
            return None
        return [self.usual(against, scores.kept) for against in scores.against]


def raw_snorms(total: FloatArray, usual: Usual) -> FloatArray:
    """The S-norm (pairs,) of each pair, averaged over its two sides.

    The S-norm is how many standard deviations the score of the pair lies above the scores of a side
    with the population's texts.
    """
    return np.asarray(np.mean([(total - m) / d for m, d in usual], axis=0))


def snorms(total: FloatArray, usual: Usual) -> FloatArray:
    """The S-norm (pairs,) of each pair, compressed: beyond `_FAR` it grows as its logarithm."""
    return np.asarray(_FAR * np.arcsinh(raw_snorms(total, usual) / _FAR))


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The smallest and largest log Bayes factor that cases under similar conditions support.

    The conditions are the minimum number of texts on the larger side, of tokens per text on the
    side with the shorter texts, and of texts in the population, up to those of the next bounds.
    """

    texts: Annotated[int, Within(1)]
    tokens: Annotated[int, Within(0)]
    population: Annotated[int, Within(0)]
    lower: _Bound
    upper: _Bound
    same_author: Annotated[int, Within(0)]  # cases
    different_authors: Annotated[int, Within(0)]


TEXTS = (1, 2, 4)  # least numbers of a cell of conditions
TOKENS = (0, 250, 600, 1_500)
POPULATION = (0, 5, 20)


def cells(conditions: Conditions) -> npt.NDArray[np.int64]:
    """The cell (3, pairs) of conditions that each pair is in: texts, tokens, population."""
    values = (
        conditions.texts.max(axis=1),
        np.exp(conditions.log_tokens.min(axis=1)),
        conditions.population,
    )
    return np.array(
        [
            np.array(starts)[np.searchsorted(starts, value, side="right") - 1]
            for starts, value in zip((TEXTS, TOKENS, POPULATION), values, strict=True)
        ]
    )


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The members' parameters, weights and bounds, learnt from cases of known authors."""

    members: tuple[ThreeLevelParameters | None, ...]  # None for a member scored by its layer
    layer_weights: tuple[NotNegative, ...]  # of members scored by their layer; 1 for the others
    weights: Weights
    lower_bound: _Bound  # where no bounds are known for the conditions
    upper_bound: _Bound
    bounds: tuple[Bounds, ...]  # by conditions
    tokens: tuple[NotNegative, NotNegative]  # nearly all texts it was fitted to lie between these

    def check(self, name: str, members: int) -> None:
        """Raise a ModelError unless it fits this number of members and its bounds are in order."""
        problem = ""
        if not len(self.members) == len(self.layer_weights) == members:
            problem = f"it is for {len(self.members)} members; there are {members}"
        cells = [(cell.lower, cell.upper) for cell in self.bounds]
        for lower, upper in [(self.lower_bound, self.upper_bound), *cells]:
            if not lower <= upper:
                problem = f"the bounds are {lower} and {upper}; expected lower <= upper"
        if problem:
            raise ModelError(
                f"the calibration of {name} is damaged, or that of another model ({problem}); "
                "calibrate the model again"
            )

    def widest(self, *, population: bool) -> tuple[float, float]:
        """The smallest and largest possible log Bayes factor, with or without a population."""
        cells_of = [cell for cell in self.bounds if bool(cell.population) == population]
        lower = min([cell.lower for cell in cells_of], default=self.lower_bound)
        return lower, max([cell.upper for cell in cells_of], default=self.upper_bound)

    def limits(self, conditions: Conditions) -> FloatArray:
        """The lower and upper bounds (2, pairs), by the conditions of each pair."""
        limits = np.repeat([[self.lower_bound], [self.upper_bound]], len(conditions), axis=1)
        places = cells(conditions)
        for cell in self.bounds:
            place = np.array([[cell.texts], [cell.tokens], [cell.population]])
            inside = (places == place).all(axis=0)
            limits[:, inside] = [[cell.lower], [cell.upper]]
        return limits
