"""What the members' evidence is worth: one honest log Bayes factor, within bounds.

The members' log Bayes factors are added up. With a population, the sum is also held against what
each side has with the texts of the population (score normalisation, S-norm): some texts are like
many. What is learnt from cases of known authors (`score.fitting`, `training.calibrate`) is the
parameters of each member and the few weights here, and the bounds: beyond them there are too few
cases of like conditions to support anything stronger, so nothing stronger is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, BoolArray, FloatArray, IntArray, PairRows
from adhominem.errors import ModelError
from adhominem.records import NotNegative, Within, from_json, to_json
from adhominem.score.three_level import Evidence, ThreeLevelParameters

_LARGEST = 1e30  # no log Bayes factor comes near; much larger numbers end as infinite
_FAR = 4.0  # deviations: an S-norm beyond grows as its logarithm
_USUAL_TEXTS = 10  # of a population, as which the usual deviation counts beside that of its texts
OTHERS = float(np.log(20))  # log odds, prior, that two texts of a population have two authors

# (pairs,) twice for each side: mean and deviation of what it has with texts by others
Usual = Sequence[tuple[AnyFloats, AnyFloats]]

_Bound = Annotated[float, Within(-_LARGEST, _LARGEST)]
_Weight = Annotated[float, Within(-_LARGEST, _LARGEST)]


@dataclass(frozen=True)
class Conditions(PairRows):
    """What the sides of pairs have, whoever wrote them."""

    texts: FloatArray  # (pairs, 2): of each side
    log_tokens: FloatArray  # (pairs, 2): the mean of its texts'
    population: FloatArray  # (pairs,): texts in it; 0 without one

    @classmethod
    def of(
        cls, log_tokens: FloatArray, first: IntArray, second: IntArray, population: int
    ) -> Conditions:
        """From the numbers (pairs, texts) of each side's texts, and the lengths (texts,) of all."""
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
    """What all members together say of some pairs, before it is weighed: (pairs,) each, in nats."""

    members: tuple[FloatArray, ...]  # the log Bayes factor of each
    against: tuple[FloatArray, FloatArray] | None  # (pairs, cohort): each side with each text
    kept: BoolArray | None  # (pairs, cohort): which texts of the population are not in the pair
    fit: FloatArray  # how much better than none the population fits the texts; 0 without one
    conditions: Conditions
    one_genre: FloatArray | None = None  # (pairs,): that both sides are of one, where it matters

    @classmethod
    def of(cls, evidence: Sequence[Evidence], conditions: Conditions, lead: int = 0) -> Scores:
        """The members' evidence together; that of the leading one says whether genres differ."""
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
    """What the scorer says of some pairs, (pairs,) each, in nats."""

    unbounded: FloatArray  # calibrated, if the model is
    log_bayes_factor: FloatArray  # the same within the bounds: what is reported
    lower_bound: FloatArray  # for these conditions; infinite if the model is not calibrated
    upper_bound: FloatArray
    population_misfit: BoolArray  # whether the population is of another genre, and so was not used
    two_genres: BoolArray  # whether both sides seem to be of two: nothing is said then, it is 0
    calibrated: bool

    def replaced(self, chosen: BoolArray, others: LogBayesFactors) -> LogBayesFactors:
        """These, with others in place of those chosen, whose population is of another genre."""
        values = {}
        for name in ("unbounded", "log_bayes_factor", "lower_bound", "upper_bound", "two_genres"):
            values[name] = getattr(self, name).copy()
            values[name][chosen] = getattr(others, name)
        return replace(self, **values, population_misfit=chosen)

    @property
    def at_bound(self) -> BoolArray:
        """Whether a bound, and not the score, decides what is reported."""
        return np.asarray(
            (self.log_bayes_factor <= self.lower_bound)
            | (self.log_bayes_factor >= self.upper_bound)
        )


@dataclass(frozen=True, kw_only=True)
class Weights:
    """From the members' evidence to a log Bayes factor."""

    constant: _Weight = 0.0
    factor: _Weight = 1.0  # of the sum of the members' log Bayes factors, with a population
    snorm: _Weight = 0.0
    snorm_constant: _Weight = 0.0
    snorm_small: _Weight = 0.0  # times one over the root of the number of its texts
    usual_deviation: NotNegative = 1.0  # of what a side has with texts by others
    genre_slope: NotNegative = 0.0  # of the evidence that both sides are of one genre, in log odds
    genre_constant: _Weight = 0.0

    def __call__(self, scores: Scores) -> FloatArray:
        """(pairs,): the log Bayes factors."""
        return self.weigh(scores.total, self._usual_of(scores), scores.conditions.population)

    def weigh(
        self, total: FloatArray, usual: Usual | None, population: FloatArray | float
    ) -> FloatArray:
        """(pairs,): the same by the members' sum, what is usual, and the number of texts."""
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
        """(pairs,): the same with large S-norms as they are: then the tail of chance is short."""
        usual = self._usual_of(scores)
        if usual is None:
            return self(scores)
        linear = raw_snorms(scores.total, usual) - snorms(scores.total, usual)
        return np.asarray(self(scores) + self.snorm * linear)

    def one_genre(self, scores: Scores) -> FloatArray | None:
        """(pairs,): the log odds that both sides are of one genre; None where it is taken for so.

        With a population it is, and where the model has not learnt to tell genres apart.
        """
        if scores.one_genre is None or not self.genre_slope:
            return None
        return self.genre_constant + self.genre_slope * scores.one_genre

    def slope(self, scores: Scores) -> FloatArray:
        """(pairs,): what a nat more of the members' evidence adds, all else as it is."""
        usual = self._usual_of(scores)
        if usual is None:
            return np.ones(len(scores))
        raw = raw_snorms(scores.total, usual)
        inverse = np.mean([1 / d for _, d in usual], axis=0)
        return np.asarray(self.factor + self.snorm * inverse / np.sqrt(1 + (raw / _FAR) ** 2))

    def usual(self, against: FloatArray, kept: BoolArray | None) -> tuple[FloatArray, FloatArray]:
        """(sides,) twice: mean and deviation of what each side has with texts by others.

        `against` (sides, cohort) are its log Bayes factors with texts of the population, of which
        it is measured by those `kept`. Texts that seem to be by its author count less.
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
        """`usual` for both sides; None without a population, or if it has no weight."""
        if scores.against is None or not self.snorm:
            return None
        return [self.usual(against, scores.kept) for against in scores.against]


def raw_snorms(total: FloatArray, usual: Usual) -> FloatArray:
    """(pairs,): the S-norm of each pair, the mean over its sides.

    That is by how many deviations the sides are more like each other than each is like texts of the
    population.
    """
    return np.asarray(np.mean([(total - m) / d for m, d in usual], axis=0))


def snorms(total: FloatArray, usual: Usual) -> FloatArray:
    """(pairs,): the same, where large ones grow as their logarithm."""
    return np.asarray(_FAR * np.arcsinh(raw_snorms(total, usual) / _FAR))


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The least and the greatest log Bayes factor that cases of like conditions support.

    The conditions are at least so many texts on the larger side, at least so many tokens a text on
    the side of shorter ones, at least so many texts in the population; and fewer than in the next
    bounds.
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
    """(3, pairs): the texts, tokens and population of the cell that each pair is in."""
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
    """All that was learnt from cases of known authors: the members' parameters, weights, bounds."""

    members: tuple[ThreeLevelParameters | None, ...]  # None for one that goes by its layer
    layer_weights: tuple[NotNegative, ...]  # of the log Bayes factors of such members; else 1
    weights: Weights
    lower_bound: _Bound  # of the log Bayes factor, where no bounds of its conditions are known
    upper_bound: _Bound
    bounds: tuple[Bounds, ...]  # by conditions
    tokens: tuple[NotNegative, NotNegative]  # nearly all texts that it was fitted to lie between

    def check(self, name: str, members: int) -> None:
        """A ModelError unless it is for so many members, and its bounds are bounds."""
        problem = ""
        if not len(self.members) == len(self.layer_weights) == members:
            problem = f"it is for {len(self.members)} members; there are {members}"
        for lower, upper in [(self.lower_bound, self.upper_bound), *self._cells]:
            if not lower <= upper:
                problem = f"the bounds are {lower} and {upper}; expected lower <= upper"
        if problem:
            raise ModelError(
                f"the calibration of {name} is damaged, or that of another model ({problem}); "
                "calibrate the model again"
            )

    @property
    def _cells(self) -> list[tuple[float, float]]:
        return [(cell.lower, cell.upper) for cell in self.bounds]

    def widest(self, *, population: bool) -> tuple[float, float]:
        """The least and the greatest log Bayes factor, with a population or without one."""
        cells_of = [cell for cell in self.bounds if bool(cell.population) == population]
        lower = min([cell.lower for cell in cells_of], default=self.lower_bound)
        return lower, max([cell.upper for cell in cells_of], default=self.upper_bound)

    def limits(self, conditions: Conditions) -> FloatArray:
        """(2, pairs): the bounds of each pair, by its conditions."""
        limits = np.repeat([[self.lower_bound], [self.upper_bound]], len(conditions), axis=1)
        places = cells(conditions)
        for cell in self.bounds:
            place = np.array([[cell.texts], [cell.tokens], [cell.population]])
            inside = (places == place).all(axis=0)
            limits[:, inside] = [[cell.lower], [cell.upper]]
        return limits

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        written: dict[str, Any] = to_json(self)
        return written

    @classmethod
    def from_json(cls, data: Any) -> Calibration:
        """The calibration that `to_json` wrote; anything else raises a RecordError."""
        return from_json(cls, data, "calibration")
