"""Many scores to one: how the members of an ensemble are heard, and what the result is worth."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError
from adhominem.scoring.calibration import Calibration
from adhominem.scoring.probability import ensemble_log_bayes_factor, probability_same_author

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FUSIONS = ("mean", "logistic")
_RIDGE = 1e-3  # keeps weights finite where the scores separate the classes without fault


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """The members' log Bayes factors as one.

    mean      the mean of the members' probabilities (the paper's), each first scaled by its weight
              and moved by its constant
    logistic  their weighted sum and a constant
    """

    kind: str = "mean"
    weights: tuple[float, ...] = ()  # of the members; none: all are 1
    constants: tuple[float, ...] = ()  # of the members (mean), or one (logistic); none: 0

    def __post_init__(self) -> None:
        if self.kind not in FUSIONS:
            raise OptionError(f"the fusion is {self.kind!r}; expected {' or '.join(FUSIONS)}")

    def __call__(self, members: npt.ArrayLike) -> FloatArray:
        """(pairs,): one score from those of the members, (members, pairs)."""
        scores = np.asarray(members, dtype=np.float64)
        if self.weights and len(self.weights) != len(scores):
            raise OptionError(f"{len(self.weights)} weights for {len(scores)} members")
        weighted = scores * np.array(self.weights)[:, None] if self.weights else scores
        constants = np.array(self.constants)[:, None] if self.constants else 0.0
        if self.kind == "mean":
            return ensemble_log_bayes_factor(list(weighted + constants))
        return np.asarray((weighted.sum(axis=0, keepdims=True) + constants)[0])

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Fusion:
        """The fusion that `to_json` wrote."""
        numbers = {name: tuple(map(float, data[name])) for name in ("weights", "constants")}
        return cls(kind=str(data["kind"]), **numbers)


@dataclass(frozen=True)
class Scale:
    """From the members' scores to a log Bayes factor: their fusion, then the calibration."""

    fusion: Fusion = field(default_factory=Fusion)
    calibration: Calibration | None = None

    def raw(self, members: npt.ArrayLike) -> FloatArray:
        """(pairs,): fused, not calibrated."""
        return self.fusion(members)

    def __call__(self, members: npt.ArrayLike) -> FloatArray:
        """(pairs,): fused, and calibrated if there is a calibration."""
        found = self.raw(members)
        return found if self.calibration is None else self.calibration(found)


def fit_fusion(
    members: npt.ArrayLike,
    same_author: BoolArray,
    kind: str = "logistic",
    weight: FloatArray | None = None,
) -> Fusion:
    """Fit to the scores (members, pairs) of pairs with known truth, each with a weight.

    No member may count against its own evidence: one that would is left out.
    """
    scores = np.asarray(members, dtype=np.float64)
    weight = np.ones(len(same_author)) if weight is None else weight
    if kind == "mean":  # each member is made honest by itself
        singles = [_logistic(row[None], same_author, weight) for row in scores]
        return Fusion(
            kind="mean",
            weights=tuple(float(beta[1]) for beta in singles),
            constants=tuple(float(beta[0]) for beta in singles),
        )
    if kind not in FUSIONS:
        raise OptionError(f"the fusion is {kind!r}; expected {' or '.join(FUSIONS)}")
    used = list(range(len(scores)))
    while True:
        beta = _logistic(scores[used], same_author, weight)
        worst = int(np.argmin(beta[1:]))
        if beta[1 + worst] >= 0:
            break
        if len(used) == 1:
            beta[1:] = 0
            break
        del used[worst]
    weights = np.zeros(len(scores))
    weights[used] = beta[1:]
    return Fusion(kind="logistic", weights=tuple(weights.tolist()), constants=(float(beta[0]),))


def _logistic(scores: FloatArray, same_author: BoolArray, weight: FloatArray) -> FloatArray:
    """(1 + members,): logistic regression in which both classes count half; the constant first."""
    centre = scores.mean(axis=1, keepdims=True)
    scale = np.maximum(scores.std(axis=1, keepdims=True), 1e-12)
    design = np.concatenate([np.ones((1, scores.shape[1])), (scores - centre) / scale]).T
    w = np.where(
        same_author,
        0.5 * weight / weight[same_author].sum(),
        0.5 * weight / weight[~same_author].sum(),
    )
    ridge = _RIDGE * np.eye(design.shape[1])
    ridge[0, 0] = 0
    beta = np.zeros(design.shape[1])
    for _ in range(100):  # Newton's method
        p = probability_same_author(design @ beta)
        gradient = design.T @ (w * (p - same_author)) + ridge @ beta
        hessian = (design.T * (w * p * (1 - p))) @ design + ridge
        step = np.linalg.solve(hessian + 1e-12 * np.eye(len(beta)), gradient)
        longest = float(np.abs(step).max())
        beta -= step * min(1.0, 5.0 / max(longest, 1e-300))
        if longest < 1e-10:
            break
    slopes = beta[1:] / scale[:, 0]
    return np.concatenate([[beta[0] - slopes @ centre[:, 0]], slopes])


def group_weights(groups: npt.ArrayLike, same_author: BoolArray) -> FloatArray:
    """(pairs,): weights by which each group counts by the root of its pairs, in both classes.

    So the largest group does not decide alone, and the smallest not as loudly as the others.
    """
    index = np.asarray(groups)
    weight = np.zeros(len(index))
    for each in np.unique(index):
        for label in (True, False):
            chosen = (index == each) & (same_author == label)
            if chosen.any():
                weight[chosen] = chosen.sum() ** -0.5
    return weight
