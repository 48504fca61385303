"""The scores of a model on dev pairs: the rows of the paper's Table 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.evaluation.pan import best_delta, c_at_1, f05u_2020, f1, overall_2020
from adhominem.evaluation.ranking import auc
from adhominem.scoring.decision import probability_same_author, without_weak_answers

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairScores:
    """The scores that a model gives the pairs of a set."""

    log_bayes_factor: FloatArray  # (pairs,)
    distance: FloatArray  # (pairs,): the squared distance of the LEVs
    same_author: npt.NDArray[np.bool_]  # (pairs,)
    cosine: FloatArray | None = None  # (pairs,): of LEVs moved to the mean of the set


def summarise(scores: PairScores) -> dict[str, float]:
    """The measures of one set; `distance_auc` is metric learning alone.

    `cosine_auc` is that of a relevant population's: the set's own LEVs give the mean.
    `bayes_factor_auc` is that of all pairs; `auc`, as PAN takes it, that after the non-answers.
    """
    probability = probability_same_author(scores.log_bayes_factor)
    cosine = {} if scores.cosine is None else {"cosine_auc": auc(scores.cosine, scores.same_author)}
    return {
        **cosine,
        "bayes_factor_auc": auc(scores.log_bayes_factor, scores.same_author),
        "distance_auc": auc(-scores.distance, scores.same_author),
        **table_row(probability, scores.same_author),
    }


def table_row(probability: FloatArray, same_author: npt.NDArray[np.bool_]) -> dict[str, float]:
    """AUC, c@1, F0.5u, F1 and overall as in 2020, with the best delta for the non-answers."""
    delta = best_delta(probability, same_author)
    answers = without_weak_answers(probability, delta)
    return {
        "auc": auc(answers, same_author),
        "c@1": c_at_1(answers, same_author),
        "f05u_2020": f05u_2020(answers, same_author),
        "f1": f1(answers, same_author),
        "overall_2020": overall_2020(answers, same_author),
        "delta": delta,
        "cross_entropy": _cross_entropy(probability, same_author),
    }


def _cross_entropy(probability: FloatArray, same_author: npt.NDArray[np.bool_]) -> float:
    """In bits a pair, each class counting half: 1 is what knowing nothing costs."""
    clipped = np.clip(probability, 1e-300, 1)
    other = np.clip(1 - probability, 1e-300, 1)
    halves = [-np.log2(clipped[same_author]), -np.log2(other[~same_author])]
    return float(np.mean([half.mean() for half in halves if len(half)]))
