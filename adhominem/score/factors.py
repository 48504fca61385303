"""Log Bayes factors of pairs, and what is known of each beside the number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class LogBayesFactors:
    """What the scorer says of some pairs, (pairs,) each, in nats."""

    unbounded: FloatArray  # calibrated, if the model is
    log_bayes_factor: FloatArray  # the same within the bounds: what is reported
    lower_bound: FloatArray  # for these conditions; infinite if the model is not calibrated
    upper_bound: FloatArray
    strange: BoolArray  # whether the population is of another genre, and so was not used
    two_genres: BoolArray  # whether both sides seem to be of two: nothing is said then, it is 0
    calibrated: bool

    @staticmethod
    def joined(parts: Sequence[LogBayesFactors]) -> LogBayesFactors:
        """Those of several sets of pairs in a row."""
        rows = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in vars(parts[0])
            if name != "calibrated"
        }
        return LogBayesFactors(**rows, calibrated=parts[0].calibrated)

    def __getitem__(self, chosen: slice | IntArray) -> LogBayesFactors:
        rows = {name: value[chosen] for name, value in vars(self).items() if name != "calibrated"}
        return replace(self, **rows)

    def replaced(self, chosen: BoolArray, others: LogBayesFactors) -> LogBayesFactors:
        """These, with others in place of those chosen, whose population was strange."""
        values = {}
        for name in ("unbounded", "log_bayes_factor", "lower_bound", "upper_bound", "two_genres"):
            values[name] = getattr(self, name).copy()
            values[name][chosen] = getattr(others, name)
        return replace(self, **values, strange=chosen)

    @property
    def at_bound(self) -> BoolArray:
        """Whether a bound, and not the score, decides what is reported."""
        return np.asarray(
            (self.log_bayes_factor <= self.lower_bound)
            | (self.log_bayes_factor >= self.upper_bound)
        )
