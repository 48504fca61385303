"""Whether a text looks as if a machine had written it.

A language model is not an author that known texts could reveal: on somebody's topic it passes for
them, and two of its texts pass for one person's. A logistic regression learns to separate LEVs of
texts by machines from those of texts by people in several genres. Its limit is so high that in each
genre, even one absent from training, hardly any text by a person lies beyond it. So a text beyond
the limit looks machine-written, but a text within it may be machine-written, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import AnyFloats, BoolArray, FloatArray
from adhominem.errors import OptionError

FALSE_ALARMS = 0.02  # largest share of a genre's texts by people that lie beyond the limit
SHORTEST = 200  # tokens: shorter texts are not judged
_RIDGE = 1.0  # how many texts a squared weight counts as, for features of unit deviation
_STEPS = 25  # of Newton's method, which stops at convergence
_ENOUGH = 1e-6
_FOLDS = 4  # of the genres


@dataclass(frozen=True, eq=False)
class MachineLook:
    """A linear score of how machine-written a LEV looks; above 0, it lies beyond the limit."""

    weights: FloatArray  # (size,): of the dense part of a LEV
    constant: float  # less the limit

    def scores(self, levs: AnyFloats) -> FloatArray:
        """The scores (documents,) of LEVs (documents, size)."""
        return np.asarray(levs.astype(np.float64) @ self.weights + self.constant)

    def beyond(self, levs: AnyFloats, log_tokens: AnyFloats) -> BoolArray:
        """Which documents (documents,) look machine-written; short texts never do."""
        return np.asarray((self.scores(levs) > 0) & (log_tokens >= np.log(SHORTEST) - 1e-6))

    @classmethod
    def fit(
        cls,
        machines: Sequence[FloatArray],
        people: Mapping[str, FloatArray],
        false_alarms: float = FALSE_ALARMS,
    ) -> tuple[MachineLook, dict[str, float]]:
        """The fitted detector, and the share of each genre's texts by people that it flags.

        LEVs are (documents, size), one array per machine and per genre. All machines have equal
        weight, as have all genres. The limit is the largest that any genre needs to stay below
        `FALSE_ALARMS` when it is left out of the regression; a quarter is left out at a time.
        """
        if not people or not machines:
            raise OptionError("expected texts by machines and by people, at least one of each")
        names = list(people)
        unseen: dict[str, FloatArray] = {}
        for fold in range(min(_FOLDS, len(names))):
            chosen = names[fold::_FOLDS]
            rest = [people[name] for name in names if name not in chosen]
            weights, constant = _regression(machines, rest or list(people.values()))
            unseen |= {name: people[name] @ weights + constant for name in chosen}
        limit = max(
            float(np.quantile(scores, 1 - false_alarms, method="higher"))
            for scores in unseen.values()
        )
        weights, constant = _regression(machines, list(people.values()))
        shares = {name: float(np.mean(unseen[name] > limit)) for name in names}
        return cls(weights, constant - limit), shares


def _regression(
    machines: Sequence[FloatArray], people: Sequence[FloatArray]
) -> tuple[FloatArray, float]:
    """The weights (size,) and the constant of a logistic regression, by Newton's method."""
    groups = [*machines, *people]
    rows = np.concatenate(groups).astype(np.float64)  # (documents, size)
    is_machine = np.concatenate(
        [np.full(len(group), at < len(machines), float) for at, group in enumerate(groups)]
    )
    # Machines and people have half of the weight each, shared equally among their groups.
    counts = np.concatenate(
        [
            np.full(len(group), len(rows) / 2 / len(side) / max(1, len(group)))
            for side in (machines, people)
            for group in side
        ]
    )
    deviation = np.sqrt(np.average(np.square(rows - np.average(rows, 0, counts)), 0, counts))
    scale = 1 / max(float(deviation.mean()), 1e-12)  # one scale for all numbers
    inputs = np.concatenate(
        [rows * scale, np.ones((len(rows), 1))], axis=1
    )  # (documents, size + 1)
    ridge = np.append(np.full(rows.shape[1], _RIDGE), 0.0)
    solved = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        probability = 1 / (1 + np.exp(-np.clip(inputs @ solved, -30, 30)))
        gradient = inputs.T @ (counts * (is_machine - probability)) - ridge * solved
        curvature = counts * np.maximum(probability * (1 - probability), 1e-6)
        step = np.linalg.solve((inputs * curvature[:, None]).T @ inputs + np.diag(ridge), gradient)
        largest = float(np.abs(step).max())
        solved += step * min(1.0, 5.0 / max(largest, 1e-12))  # short steps if separable
        if largest < _ENOUGH:
            break
    return solved[:-1] * scale, float(solved[-1])
