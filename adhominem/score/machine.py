"""Whether a text looks as if a machine had written it.

A language model is not an author that known texts could reveal: on somebody's topic it passes for
them, and two of its texts pass for one person's. How a LEV would have to differ is learnt by a
logistic regression of texts by machines against texts by people of several genres; the limit is
so high that of each genre, seen or not, hardly a text by a person lies beyond it. So what lies
beyond looks machine-written; what does not may be so all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import AnyFloats, BoolArray, FloatArray
from adhominem.errors import OptionError

FALSE_ALARMS = 0.02  # of a genre's texts by people lie beyond the limit, at most
SHORTEST = 200  # tokens of a text that anything is said of
_RIDGE = 1.0  # squared weights count as so many texts, features being of unit deviation
_STEPS = 25  # of Newton's method, which ends where nothing changes
_ENOUGH = 1e-6
_FOLDS = 4  # of the genres


@dataclass(frozen=True, eq=False)
class MachineLook:
    """By how much a LEV looks machine-written: above 0, it lies beyond the limit."""

    weights: FloatArray  # (size,): of the numbers of a LEV that are dense
    constant: float  # less the limit

    def scores(self, levs: AnyFloats) -> FloatArray:
        """(documents,): of LEVs (documents, size)."""
        return np.asarray(levs.astype(np.float64) @ self.weights + self.constant)

    def beyond(self, levs: AnyFloats, log_tokens: AnyFloats) -> BoolArray:
        """(documents,): which look machine-written; of short texts nothing is said."""
        return np.asarray((self.scores(levs) > 0) & (log_tokens >= np.log(SHORTEST) - 1e-6))

    @classmethod
    def fit(
        cls,
        machines: Sequence[FloatArray],
        people: Mapping[str, FloatArray],
        false_alarms: float = FALSE_ALARMS,
    ) -> tuple[MachineLook, dict[str, float]]:
        """From LEVs (documents, size) by several machines, and by people, genre by genre.

        The limit is the greatest that any genre needs, for so many of its texts to lie beyond it
        at most, if the regression has not seen it; a quarter of the genres is left out at a time.
        Each machine counts for as much as the others, as does each genre. Beside it, the share of
        each genre's texts that then lies beyond the limit.
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
    # Half of all that counts is by machines, and each group has its share of its half.
    counts = np.concatenate(
        [
            np.full(len(group), len(rows) / 2 / len(side) / max(1, len(group)))
            for side in (machines, people)
            for group in side
        ]
    )
    deviation = np.sqrt(np.average(np.square(rows - np.average(rows, 0, counts)), 0, counts))
    scale = 1 / max(float(deviation.mean()), 1e-12)  # one for all: LEVs are made to be compared so
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
        solved += step * min(1.0, 5.0 / max(largest, 1e-12))  # no leap where classes part cleanly
        if largest < _ENOUGH:
            break
    return solved[:-1] * scale, float(solved[-1])
