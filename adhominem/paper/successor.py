"""The paper's successor at inference: from LEVs to the answers of its four stages, in NumPy.

    DML    deep metric learning: exp(-gamma d^alpha) of the squared distance d of two LEVs
    BFS    Bayes factor scoring: the two-covariance layer, behind a dense layer of its own
    UAL    uncertainty adaptation: a confusion matrix of each pair corrects that probability
    O2D2   a detector of undecidable pairs, which are not answered

The formulas are those of Boenninghoff, Nickel and Kolossa (arXiv:2106.11196 and 2106.15825);
`losses.py` and `uncertainty.py` train them. A side of several texts enters UAL and O2D2 as their
mean. In all arrays of two, "same author" comes first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.paper.two_covariance import Side, TwoCovariance, squared_distance

STAGES = ("DML", "BFS", "UAL", "O2D2")


class Successor(TwoCovariance):
    """A two-covariance layer whose Bayes factors are adapted by UAL, and the other stages."""

    weights: Mapping[str, FloatArray]  # as trained, by the names of their modules

    def log_bayes_factor(self, first: Side, second: Side) -> FloatArray:
        """The log odds (pairs,) of UAL's probability under even priors."""
        return self._adapted(self._confusion(first, second), first, second)

    def stages(self, levs: tuple[Side, Side], vectors: tuple[Side, Side]) -> dict[str, FloatArray]:
        """The probability of each stage, and whether O2D2 finds a pair undecidable, 0 or 1.

        `vectors` are the projected LEVs, which the two-covariance layer receives.
        """
        confusion = self._confusion(*vectors)
        log_odds = super().log_bayes_factor(*vectors), self._adapted(confusion, *vectors)
        bfs, ual = (np.exp(-np.logaddexp(0, -values)) for values in log_odds)
        one, other = map(_means, vectors)
        parts = [(one - other) ** 2, (one + other) ** 2, np.exp(confusion).reshape(-1, 4)]
        hidden = np.tanh(self._dense("detector.first", np.concatenate(parts, axis=1)))
        hidden = np.tanh(self._dense("detector.second", hidden))
        undecidable = np.exp(-np.logaddexp(0, -self._dense("detector.output", hidden)[:, 0]))
        answers = bfs, ual, undecidable > self.weights["detector.threshold"]
        return dict(zip(STAGES, (self._similarity(*levs), *answers), strict=True))

    def _similarity(self, first: Side, second: Side) -> FloatArray:
        gamma, alpha = (np.exp(self.weights[f"kernel.log_{name}"]) for name in ("gamma", "alpha"))
        return np.exp(-gamma * squared_distance(_means(first), _means(second)) ** alpha)

    def _confusion(self, first: Side, second: Side) -> FloatArray:
        """The log probabilities (pairs, truth, answer)."""
        hidden = np.tanh(self._dense("adaptation.hidden", (_means(first) - _means(second)) ** 2))
        scores = self._dense("adaptation.answers", hidden).reshape(-1, 2, 2)
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=2, keepdims=True))

    def _adapted(self, confusion: FloatArray, first: Side, second: Side) -> FloatArray:
        log_odds = super().log_bayes_factor(first, second)  # (pairs,)
        truth = -np.logaddexp(0, np.stack([-log_odds, log_odds], axis=1))  # (pairs, 2)
        answers = np.logaddexp.reduce(truth[:, :, None] + confusion, axis=1)  # (pairs, 2)
        return np.asarray(answers[:, 0] - answers[:, 1])

    def _dense(self, name: str, values: FloatArray) -> FloatArray:
        return values @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]


def _means(side: Side) -> FloatArray:
    """The mean (pairs, size) of each side's vectors."""
    if isinstance(side, np.ndarray) and side.ndim == 2:
        return side
    return np.array([np.mean(np.atleast_2d(vectors), axis=0) for vectors in side])  # type: ignore[union-attr]
