"""What members' scores are worth: fused to one, calibrated to an honest log Bayes factor, bounded.

Besides the members' scores there is their *context*: how unlike the training texts a pair is. Where
it is high, texts of two authors look more alike; the fusion corrects for it. The calibration is a
monotone map, fitted to pairs of authors that the model has never seen (`scoring.fitting`). Beyond
its bounds there are too few pairs to support anything stronger, so nothing stronger is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import ModelError, OptionError
from adhominem.records import Positive, Within, from_json, to_json
from adhominem.scoring.decision import ensemble_log_bayes_factor
from adhominem.scoring.population import Population

FUSIONS = ("mean", "logistic")
METHODS = ("logistic", "isotonic")
_LARGEST = 1e30  # weight of a fusion, or number in a calibration: no fit comes near
_Bound = Annotated[float, Within(-_LARGEST, _LARGEST)]  # in a file; infinite while one is fitted


@dataclass(frozen=True)
class Scores:
    """What is known of some pairs before it becomes one number each."""

    members: FloatArray  # (members, pairs): the log Bayes factor of each member
    context: FloatArray  # (contexts, pairs): see `Styles.genre_atypicality`; or (0, pairs)

    def __getitem__(self, chosen: slice | BoolArray) -> Scores:
        return Scores(self.members[:, chosen], self.context[:, chosen])

    def __len__(self) -> int:
        return int(self.members.shape[1])

    @staticmethod
    def joined(parts: list[Scores]) -> Scores:
        """Those of several sets of pairs in a row."""
        return Scores(
            np.concatenate([part.members for part in parts], axis=1),
            np.concatenate([part.context for part in parts], axis=1),
        )


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """The members' log Bayes factors as one.

    mean      the mean of the members' probabilities (the paper's), each made honest by itself
    logistic  their weighted sum

    Each row of weights has a constant, a weight for each member and one for each context. For
    `mean` there is a row for each member, for `logistic` there is one; without any, members
    are taken as they are.
    """

    method: str = "mean"
    weights: tuple[tuple[float, ...], ...] = ()

    def check(self) -> None:
        """An OptionError if these are no weights."""
        if self.method not in FUSIONS:
            raise OptionError(f"the fusion is {self.method!r}; expected {' or '.join(FUSIONS)}")
        if self.method == "logistic" and len(self.weights) != 1:
            raise OptionError(f"a logistic fusion with {len(self.weights)} rows; expected 1")
        if len(set(map(len, self.weights))) > 1:
            raise OptionError("the fusion has rows of different lengths")
        if not all(abs(weight) < _LARGEST for row in self.weights for weight in row):
            raise OptionError("the fusion has weights that are no numbers, or beyond all bounds")

    def __call__(self, scores: Scores) -> FloatArray:
        """(pairs,): one log Bayes factor for each pair."""
        if not self.weights:
            return ensemble_log_bayes_factor(list(scores.members))
        rows = design(scores)  # (1 + members + contexts, pairs)
        weights = np.array(self.weights)
        if weights.shape[1] != len(rows):
            raise OptionError(
                f"weights for {weights.shape[1] - 1} scores; there are {len(rows) - 1}"
            )
        fused = weights @ rows  # (rows, pairs)
        return ensemble_log_bayes_factor(list(fused)) if self.method == "mean" else fused[0]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The map: `log_bayes_factors[i]` at `scores[i]`, linear in between and, if logistic, beyond.

    All are in nats. A logistic map is a line, two points; an isotonic one is a flight of steps.
    """

    method: str
    scores: tuple[float, ...]
    log_bayes_factors: tuple[float, ...]
    lower_bound: _Bound  # of the log Bayes factor
    upper_bound: _Bound
    pairs: Annotated[int, Within(0)]  # that it was fitted to

    def check(self) -> None:
        """An OptionError if this is no map."""
        knots, factors = np.array(self.scores), np.array(self.log_bayes_factors)
        if self.method not in METHODS:
            raise OptionError(
                f"the calibration is {self.method!r}; expected {' or '.join(METHODS)}"
            )
        if len(knots) != len(factors) or not len(knots):
            raise OptionError(
                f"{len(knots)} scores and {len(factors)} log Bayes factors; expected as many"
            )
        if self.method == "logistic" and len(knots) != 2:
            raise OptionError(f"a logistic calibration with {len(knots)} scores; expected 2 points")
        if not (np.abs([knots, factors]) < _LARGEST).all():
            raise OptionError("a point of the calibration is not finite, or beyond all bounds")
        if (np.diff(knots) <= 0).any() or (np.diff(factors) < 0).any():
            raise OptionError("the calibration is not monotone; expected rising scores and factors")
        if self.method == "logistic" and not np.isfinite(self._slope):
            raise OptionError("the slope of the calibration is not finite")
        if not self.lower_bound <= self.upper_bound:
            raise OptionError(
                f"the bounds are {self.lower_bound} and {self.upper_bound}; expected lower <= upper"
            )

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """The log Bayes factor for each score of the model, within the bounds."""
        return np.clip(self.unbounded(scores), self.lower_bound, self.upper_bound)

    def unbounded(self, scores: npt.ArrayLike) -> FloatArray:
        """The log Bayes factor for each score of the model, without bounds."""
        values = np.asarray(scores, dtype=np.float64)
        if self.method == "logistic":
            start, origin = self.log_bayes_factors[0], self.scores[0]
            return np.asarray(start + self._slope * (values - origin))
        return np.interp(values, self.scores, self.log_bayes_factors)

    @property
    def _slope(self) -> float:
        """Of a logistic map; infinite where its two points are too near to each other."""
        (x0, x1), (y0, y1) = self.scores, self.log_bayes_factors
        with np.errstate(over="ignore"):
            return float(np.float64(y1 - y0) / (x1 - x0))

    def at_bound(self, scores: npt.ArrayLike) -> BoolArray:
        """Whether a bound, and not the score, decides what is reported, for each score."""
        factors = self.unbounded(scores)
        return np.asarray((factors <= self.lower_bound) | (factors >= self.upper_bound))

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        written: dict[str, Any] = to_json(self)
        return written

    @classmethod
    def from_json(cls, data: Any) -> Calibration:
        """The calibration that `to_json` wrote; anything else raises a RecordError."""
        calibration = from_json(cls, data, "calibration")
        calibration.check()
        return calibration


@dataclass(frozen=True)
class Scale:
    """From the members' scores to a log Bayes factor: their fusion, then the calibration."""

    fusion: Fusion = field(default_factory=Fusion)
    calibration: Calibration | None = None


@dataclass(frozen=True)
class Scales:
    """What scores are worth: without a relevant population, with one, with companions in it."""

    alone: Scale = field(default_factory=Scale)
    population: Scale | None = None
    companions: Scale | None = None
    usual_separation: tuple[Positive, ...] = ()  # of each member: see `scoring.companions`

    def __post_init__(self) -> None:
        for scale in (self.alone, self.population, self.companions):
            if scale is not None:
                scale.fusion.check()
                if scale.calibration is not None:
                    scale.calibration.check()

    def of(self, population: Population | None) -> Scale:
        """The scale for a comparison with this population, or without one.

        A model that was not calibrated with populations is not calibrated then.
        """
        if population is None:
            return self.alone
        if population.companions is not None:
            return self.companions or Scale()
        return self.population or Scale(self.alone.fusion)

    def check(self, name: str, members: int, contexts: int) -> None:
        """A ModelError unless they are for so many members, and contexts of their scores."""
        problem = ""
        if len(self.usual_separation) not in (0, members):
            problem = f"usual_separation is for {len(self.usual_separation)} members"
        for scale in (self.alone, self.population, self.companions):
            if scale is None or not scale.fusion.weights:
                continue
            rows, columns = len(scale.fusion.weights), len(scale.fusion.weights[0])
            if columns != 1 + members + contexts:
                problem = f"weights for {columns - 1} scores"
            elif scale.fusion.method == "mean" and rows != members:
                problem = f"{rows} rows of weights"
        if problem:
            raise ModelError(
                f"the calibration of {name} is damaged, or that of another model ({problem}; there "
                f"are {members}); calibrate the model again"
            )


def design(scores: Scores) -> FloatArray:
    """(1 + members + contexts, pairs): a row of ones, the scores, the contexts."""
    return np.concatenate([np.ones((1, len(scores))), scores.members, scores.context])
