"""Many scores to one: how the members of an ensemble are heard, and what the result is worth.

Besides the members' scores there is their *context*: how unlike the training texts a pair is. Where
it is high, texts of two authors look more alike; by how much the scores are then too high is
fitted, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError
from adhominem.records import from_json, to_json
from adhominem.scoring.calibration import Calibration
from adhominem.scoring.logistic import logistic
from adhominem.scoring.probability import ensemble_log_bayes_factor

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FUSIONS = ("mean", "logistic")
_LARGEST = 1e30  # weight: no fit comes near
_RIDGE = 1e-3  # keeps weights finite where the scores separate the classes without fault


@dataclass(frozen=True)
class Scores:
    """What is known of some pairs before it becomes one number each."""

    members: FloatArray  # (members, pairs): the log Bayes factor of each member
    context: FloatArray  # (contexts, pairs): see `scoring.styles`; or (0, pairs)

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

    def __post_init__(self) -> None:
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
        design = _design(scores)  # (1 + members + contexts, pairs)
        weights = np.array(self.weights)
        if weights.shape[1] != len(design):
            raise OptionError(
                f"weights for {weights.shape[1] - 1} scores; there are {len(design) - 1}"
            )
        found = weights @ design  # (rows, pairs)
        return ensemble_log_bayes_factor(list(found)) if self.method == "mean" else found[0]

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        written: dict[str, Any] = to_json(self)
        return written

    @classmethod
    def from_json(cls, data: Any) -> Fusion:
        """The fusion that `to_json` wrote; anything else raises a RecordError."""
        return from_json(cls, data, "fusion")


@dataclass(frozen=True)
class Scale:
    """From the members' scores to a log Bayes factor: their fusion, then the calibration."""

    fusion: Fusion = field(default_factory=Fusion)
    calibration: Calibration | None = None

    def raw(self, scores: Scores) -> FloatArray:
        """(pairs,): fused, not calibrated."""
        return self.fusion(scores)

    def __call__(self, scores: Scores) -> FloatArray:
        """(pairs,): fused, and calibrated if there is a calibration."""
        found = self.raw(scores)
        return found if self.calibration is None else self.calibration(found)


def fit_fusion(
    scores: Scores,
    same_author: BoolArray,
    method: str = "logistic",
    weight: FloatArray | None = None,
) -> Fusion:
    """Fit to pairs with known truth, each with a weight (pairs,).

    No member may count against its own evidence: one that would is left out.
    """
    if method not in FUSIONS:
        raise OptionError(f"the fusion is {method!r}; expected {' or '.join(FUSIONS)}")
    weight = np.ones(len(same_author)) if weight is None else weight
    members = range(len(scores.members))
    heard = [[member] for member in members] if method == "mean" else [list(members)]
    rows = tuple(tuple(_fit(scores, same_author, weight, some).tolist()) for some in heard)
    return Fusion(method=method, weights=rows)


def _fit(
    scores: Scores, same_author: BoolArray, weight: FloatArray, heard: list[int]
) -> FloatArray:
    """(1 + members + contexts,): the weights of a fusion that hears some members only."""
    design = _design(scores)
    last = 1 + len(scores.members)
    while True:
        columns = [0, *(1 + member for member in heard), *range(last, len(design))]
        beta = logistic(design[columns[1:]], same_author, weight, _RIDGE)
        of_members = beta[1 : 1 + len(heard)]
        if not len(of_members) or of_members.min() >= 0:
            break
        heard = [member for member, value in zip(heard, of_members, strict=True) if value >= 0]
    found = np.zeros(len(design))
    found[columns] = beta
    return found


def _design(scores: Scores) -> FloatArray:
    """(1 + members + contexts, pairs): a row of ones, the scores, the contexts."""
    return np.concatenate([np.ones((1, len(scores))), scores.members, scores.context])


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
