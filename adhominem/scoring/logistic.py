"""Logistic regression in which both classes count half: its log odds are a log Bayes factor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adhominem.scoring.probability import probability_same_author

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_FLAT = 1e-12  # of the largest value: scores that vary by less are all the same but for rounding


def logistic(
    scores: FloatArray, same_author: BoolArray, weight: FloatArray, ridge: float
) -> FloatArray:
    """(1 + scores,): the constant and the slopes for scores (scores, pairs), each pair weighed.

    `ridge` keeps slopes finite where the scores separate the classes without fault. Scores that
    are all the same tell nothing: their slope is 0.
    """
    centre, scale = scores.mean(axis=1), scores.std(axis=1)
    told = scale > _FLAT * np.abs(scores).max(axis=1, initial=0)
    scale = np.where(told, scale, np.inf)
    rows = np.concatenate(
        [np.ones((1, scores.shape[1])), (scores - centre[:, None]) / scale[:, None]]
    )
    w = np.where(
        same_author,
        0.5 * weight / weight[same_author].sum(),
        0.5 * weight / weight[~same_author].sum(),
    )
    penalty = np.diag([0.0, *np.full(len(scores), ridge)])

    def cost(beta: FloatArray) -> float:
        odds = np.where(same_author, -1, 1) * (beta @ rows)
        return float(w @ np.logaddexp(0, odds) + 0.5 * beta @ penalty @ beta)

    beta = np.zeros(len(rows))
    for _ in range(100):  # Newton's method; a step that would overshoot is made shorter
        p = probability_same_author(beta @ rows)
        gradient = rows @ (w * (p - same_author)) + penalty @ beta
        hessian = (rows * (w * p * (1 - p))) @ rows.T + penalty
        step = np.linalg.solve(hessian + 1e-12 * np.eye(len(beta)), gradient)
        longest = float(np.abs(step).max())
        size = min(1.0, 5.0 / max(longest, 1e-300))
        while size > 1e-6 and cost(beta - size * step) > cost(beta) + 1e-12:
            size /= 2
        beta -= size * step
        if longest < 1e-10:
            break
    slopes = beta[1:] / scale
    return np.concatenate([[beta[0] - slopes @ centre], slopes])
