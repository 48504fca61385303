"""Calibration: a monotone map from a model's score to an honest log Bayes factor, with bounds.

It is fitted to pairs of authors that the model has never seen. Beyond the bounds there are too
few pairs to support anything stronger, so nothing stronger is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError
from adhominem.records import Within, from_json, to_json
from adhominem.scoring.logistic import logistic
from adhominem.scoring.pooling import pool

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

METHODS = ("logistic", "isotonic")
_STEP = 0.01  # of the search for the bounds, in decades
_LARGEST = 1e30  # number in a map: no fit comes near
_Bound = Annotated[float, Within(-_LARGEST, _LARGEST)]  # in a file; infinite while one is fitted
_RIDGE = 1e-3  # keeps the slope finite where the scores separate the classes without fault


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

    def __post_init__(self) -> None:
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
        """The same as if there were no bounds."""
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
        return from_json(cls, data, "calibration")


def calibrate(
    scores: npt.ArrayLike,
    same_author: npt.ArrayLike,
    method: str = "logistic",
    weight: FloatArray | None = None,
) -> Calibration:
    """Fit the map and find its bounds. Both classes must occur.

    A logistic map may weigh pairs (pairs,): within each class, only their ratios matter.
    """
    values, same = np.asarray(scores, dtype=np.float64), np.asarray(same_author, dtype=bool)
    if method not in METHODS:
        raise OptionError(f"the calibration is {method!r}; expected {' or '.join(METHODS)}")
    if values.shape != same.shape or values.ndim != 1:
        raise OptionError(
            f"{values.size} scores and {same.size} labels; expected as many, in one row each"
        )
    if same.all() or not same.any():
        raise OptionError(
            "there are only one class of pairs; expected some by the same author and some by "
            "different authors"
        )
    if not np.isfinite(values).all():
        raise OptionError("some scores are no finite numbers; expected log Bayes factors")
    weight = np.ones(len(values)) if weight is None else weight
    knots, factors = _line(values, same, weight) if method == "logistic" else _steps(values, same)
    free = Calibration(
        method=method,
        scores=tuple(knots.tolist()),
        log_bayes_factors=tuple(factors.tolist()),
        lower_bound=-np.inf,
        upper_bound=np.inf,
        pairs=len(values),
    )
    lower, upper = empirical_bounds(free(values), same)
    return replace(free, lower_bound=lower, upper_bound=upper)


def _line(
    scores: FloatArray, same_author: BoolArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Two points of the line that logistic regression finds."""
    constant, slope = logistic(scores[None], same_author, weight, _RIDGE / len(scores))
    if slope < 0:  # a score that ranks backwards tells nothing: a map may not turn it round
        constant = slope = 0.0
    spread = scores.std() if slope else 1.0
    knots = (scores.mean() if slope else 0.0) + spread * np.array([-1.0, 1.0])
    return knots, constant + slope * knots


def _steps(scores: FloatArray, same_author: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Isotonic regression: level within a block of pooled pairs, linear between two blocks."""
    blocks = pool(scores, same_author)
    # The outermost blocks may hold one class alone, evidence without bounds. So many pairs can
    # support no more than their number; the empirical bounds are narrower still.
    same, different = blocks.same.sum() + 1, blocks.different.sum() + 1
    factors = np.clip(blocks.log_bayes_factor, -np.log(same), np.log(different))
    knots = np.stack([blocks.lowest, blocks.highest], axis=1).ravel()
    apart = np.concatenate([[True], np.diff(knots) > 0])  # a block of one score is one knot
    return knots[apart], np.repeat(factors, 2)[apart]


def empirical_bounds(log_bayes_factor: FloatArray, same_author: BoolArray) -> tuple[float, float]:
    """The empirical lower and upper bound (Vergeer et al. 2016), in nats.

    For a decision that needs a Bayes factor above some threshold, a system must do better than
    no system at all, even if one more same-author pair had gone wrong, and one more of the others.
    The bounds are the thresholds up to which it does.
    """
    factors = np.clip(log_bayes_factor / np.log(10), -9, 9)  # decades
    same, different = np.sort(factors[same_author]), np.sort(factors[~same_author])
    lowest = max(float(factors.min()), -float(np.log10(len(same) + 1)))
    highest = min(float(factors.max()), float(np.log10(len(different) + 1)))
    first = min(0, int(lowest // _STEP))
    last = max(0, int(highest // _STEP) + 1)
    thresholds = np.arange(first, last + 1) * _STEP
    misses = (np.searchsorted(same, thresholds, side="right") + 1) / (len(same) + 1)
    accepted = len(different) - np.searchsorted(different, thresholds, side="right")
    alarms = (accepted + 1) / (len(different) + 1)
    cost = misses + 10**thresholds * alarms
    without = np.where(thresholds < 0, 10**thresholds, 1.0)  # accept all, or nothing
    worse = cost > without
    below = thresholds[(thresholds <= 0) & worse]
    above = thresholds[(thresholds >= 0) & worse]
    lower = min(0.0, float(np.max(below + _STEP, initial=thresholds[0])))
    upper = max(0.0, float(np.min(above - _STEP, initial=thresholds[-1])))
    return lower * float(np.log(10)), upper * float(np.log(10))
