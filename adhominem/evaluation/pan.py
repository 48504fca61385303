"""PAN's measures for answers in [0, 1], where 0.5 is no answer; the rows of the paper's Table 2.

All measures take the answers (pairs,) and the truth (pairs,), as the official evaluator does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray
from adhominem.score.decision import probability_same_author, without_weak_answers

Measure = Callable[[FloatArray, BoolArray], float]


def auc(scores: npt.ArrayLike, same_author: npt.ArrayLike) -> float:
    """The area under the ROC curve: how often a same-author pair scores higher; ties count half.

    NaN where one of the classes is empty.
    """
    values = np.asarray(scores, dtype=np.float64)
    positive = np.asarray(same_author, dtype=bool)
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of each distinct value, from 1
    wins = rank[inverse][positive].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def c_at_1(answers: FloatArray, same_author: BoolArray) -> float:
    """Accuracy that rewards leaving hard cases open (Penas and Rodrigo 2011)."""
    correct = ((answers > 0.5) == same_author) & (answers != 0.5)
    share = correct.sum() / len(answers)
    return float(share + share * (answers == 0.5).sum() / len(answers))


def f1(answers: FloatArray, same_author: BoolArray) -> float:
    """F1 of "same author" over the pairs that were answered."""
    answered = answers != 0.5
    said, true = answers[answered] > 0.5, same_author[answered]
    return _ratio(2 * (said & true).sum(), said.sum() + true.sum())


def f05u_2020(answers: FloatArray, same_author: BoolArray) -> float:
    """F0.5u as the evaluator of 2020 computed it: 0.5 counts as "same author", too."""
    said = answers >= 0.5
    hits = 1.25 * (said & same_author).sum()
    misses = (~said & same_author).sum()
    return _ratio(hits, hits + 0.25 * misses + (said & ~same_author).sum())


def f05u(answers: FloatArray, same_author: BoolArray) -> float:
    """F0.5u as defined (Bevendorff et al. 2019) and as PAN computes it since 2021.

    Every non-answer counts among the misses, none as a hit.
    """
    hits = 1.25 * ((answers > 0.5) & same_author).sum()
    misses = ((answers < 0.5) & same_author).sum() + (answers == 0.5).sum()
    return _ratio(hits, hits + 0.25 * misses + ((answers > 0.5) & ~same_author).sum())


def brier(answers: FloatArray, same_author: BoolArray) -> float:
    """The complement of the Brier score: 1 less the mean squared error of the probabilities."""
    return float(1 - np.square(answers - same_author).mean())


def accuracy(answers: FloatArray, same_author: BoolArray) -> float:
    """The share of right answers among the pairs that were answered."""
    answered = answers != 0.5
    return _ratio(((answers > 0.5) == same_author)[answered].sum(), answered.sum())


def non_answers(answers: FloatArray, same_author: BoolArray) -> float:
    """The share of pairs left open; the truth does not matter."""
    return float((answers == 0.5).mean())


def overall_2021(answers: FloatArray, same_author: BoolArray) -> float:
    """PAN 2021's final score: the mean of AUC, c@1, F1, F0.5u and the Brier complement."""
    return _mean(OVERALL_2021, answers, same_author)


def overall_2020(answers: FloatArray, same_author: BoolArray) -> float:
    """PAN 2020's final score: the mean of AUC, c@1, F1 and F0.5u."""
    return _mean(OVERALL_2020, answers, same_author)


def best_delta(probability: FloatArray, same_author: BoolArray) -> float:
    """The delta of the non-answers within 0.5 +- delta that scores best overall, by grid search."""
    grid = np.arange(0, 0.5, 0.005)
    scores = [overall_2020(without_weak_answers(probability, delta), same_author) for delta in grid]
    return float(grid[int(np.argmax(scores))])


def _mean(names: Sequence[str], answers: FloatArray, same_author: BoolArray) -> float:
    return float(np.mean([BY_NAME[name](answers, same_author) for name in names]))


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


BY_NAME: dict[str, Measure] = {
    "auc": auc,
    "c@1": c_at_1,
    "f1": f1,
    "f05u": f05u,
    "f05u_2020": f05u_2020,
    "brier": brier,
    "accuracy": accuracy,
    "non_answers": non_answers,
}
# What the final scores of the two years are the means of.
OVERALL_2020 = ("auc", "c@1", "f1", "f05u_2020")
OVERALL_2021 = ("auc", "c@1", "f1", "f05u", "brier")


@dataclass(frozen=True)
class PairScores:
    """The scores that a model gives the pairs of a set."""

    log_bayes_factor: FloatArray  # (pairs,)
    distance: FloatArray  # (pairs,): the squared distance of the LEVs
    same_author: BoolArray  # (pairs,)
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


def table_row(probability: FloatArray, same_author: BoolArray) -> dict[str, float]:
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


def _cross_entropy(probability: FloatArray, same_author: BoolArray) -> float:
    """In bits a pair, each class counting half: 1 is what knowing nothing costs."""
    clipped = np.clip(probability, 1e-300, 1)
    other = np.clip(1 - probability, 1e-300, 1)
    halves = [-np.log2(clipped[same_author]), -np.log2(other[~same_author])]
    return float(np.mean([half.mean() for half in halves if len(half)]))
