"""PAN's measures: of verification, as in the paper's Table 2, of attribution and of clustering.

Those of verification take the answers (pairs,), in [0, 1] with 0.5 for no answer, and the truth
(pairs,), as the official evaluator does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import OptionError
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
    """The share of pairs left open, whatever the truth."""
    return float((answers == 0.5).mean())


def overall_2020(answers: FloatArray, same_author: BoolArray) -> float:
    """PAN 2020's final score: the mean of AUC, c@1, F1 and F0.5u."""
    return float(np.mean([BY_NAME[name](answers, same_author) for name in OVERALL_2020]))


def overall_2021(answers: FloatArray, same_author: BoolArray) -> float:
    """PAN 2021's final score: the mean of AUC, c@1, F1, F0.5u and the complement of Brier."""
    return float(np.mean([BY_NAME[name](answers, same_author) for name in OVERALL_2021]))


def best_delta(
    sets: Iterable[tuple[FloatArray, BoolArray]], measure: str = "overall_2020"
) -> float:
    """The delta whose non-answers within 0.5 ± delta score best overall, by grid search.

    `sets` are the probabilities and the truth of one or more pair sets; their mean score counts.
    """
    grid = np.arange(0, 0.5, 0.005)
    scores = [
        [OVERALL[measure](without_weak_answers(value, delta), same) for delta in grid]
        for value, same in sets
    ]  # (sets, grid)
    return round(float(grid[int(np.argmax(np.mean(scores, axis=0)))]), 3)


def best_threshold(
    probability: FloatArray, undecidable: FloatArray, same_author: BoolArray
) -> float:
    """The probability of being undecidable beyond which leaving pairs open scores best in 2021.

    Of thresholds that are level, the one that leaves the fewest pairs open.
    """

    def score(threshold: float) -> float:
        answers = np.where(undecidable > threshold, 0.5, probability)
        return float(np.mean([BY_NAME[name](answers, same_author) for name in OVERALL_2021]))

    return float(max(np.linspace(1, 0, 201), key=score))


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
OVERALL: dict[str, Measure] = {"overall_2020": overall_2020, "overall_2021": overall_2021}


@dataclass(frozen=True)
class PairScores:
    """A model's scores for the pairs of a set."""

    log_bayes_factor: FloatArray  # (pairs,)
    distance: FloatArray  # (pairs,): the squared distance of the LEVs
    same_author: BoolArray  # (pairs,)
    cosine: FloatArray | None = None  # (pairs,): of LEVs moved to the mean of the set


def summarise(
    scores: PairScores,
    answers: FloatArray | None = None,
    delta: float | None = None,
    measure: str = "overall_2020",
) -> dict[str, float]:
    """The measures of one set, of probabilities or of other `answers`: see `table_row`.

    `distance_auc` is that of metric learning alone.

    `cosine_auc` is that of the cosine relative to the mean LEV of the set. `bayes_factor_auc` is
    that of all pairs; `auc` is computed after the non-answers, as PAN does.
    """
    if answers is None:
        answers = probability_same_author(scores.log_bayes_factor)
    cosine = {} if scores.cosine is None else {"cosine_auc": auc(scores.cosine, scores.same_author)}
    return {
        **cosine,
        "bayes_factor_auc": auc(scores.log_bayes_factor, scores.same_author),
        "distance_auc": auc(-scores.distance, scores.same_author),
        **table_row(answers, scores.same_author, delta, measure),
    }


def table_row(
    probability: FloatArray,
    same_author: BoolArray,
    delta: float | None = None,
    measure: str = "overall_2020",
) -> dict[str, float]:
    """PAN's measures of 2020 and 2021 without the answers within 0.5 ± delta.

    Without a delta, the one by which the `measure` of these very pairs is best.
    """
    if delta is None:
        delta = best_delta([(probability, same_author)], measure)
    answers = without_weak_answers(probability, delta)
    of_both_years = {name: BY_NAME[name] for name in (*OVERALL_2020, *OVERALL_2021)} | OVERALL
    return {
        **{name: measure_of(answers, same_author) for name, measure_of in of_both_years.items()},
        "delta": delta,
        "cross_entropy": _cross_entropy(probability, same_author),
    }


def _cross_entropy(probability: FloatArray, same_author: BoolArray) -> float:
    """The cross entropy in bits per pair, with each class counting half: 1 for even odds."""
    clipped = np.clip(probability, 1e-300, 1)
    complement = np.clip(1 - probability, 1e-300, 1)
    halves = [-np.log2(clipped[same_author]), -np.log2(complement[~same_author])]
    return float(np.mean([half.mean() for half in halves if len(half)]))


@dataclass(frozen=True, kw_only=True)
class ClusterMeasures:
    """How well clusters agree with the true authors; 1 is perfect everywhere."""

    texts: int  # whose authors are known
    authors: int
    clusters: int  # with such texts in them
    bcubed_precision: float  # how much of a text's cluster is by its author, on average
    bcubed_recall: float  # how much of its author's texts is in its cluster, on average
    bcubed_f: float  # the harmonic mean of both
    adjusted_rand_index: float  # of pairs; about 0 by chance


def measure_clusters(clusters: Sequence[Hashable], authors: Sequence[Hashable]) -> ClusterMeasures:
    """BCubed (Bagga and Baldwin 1998) and the adjusted Rand index (Hubert and Arabie 1985).

    Each sequence names the group of each text: by the clustering, and in truth.
    """
    if len(clusters) != len(authors) or not len(clusters):
        raise OptionError(
            f"clusters of {len(clusters)} texts, authors of {len(authors)}; expected as many, and "
            "at least one"
        )
    table = _cross_table(clusters, authors)  # (clusters, authors): texts in both
    of_cluster, of_author, texts = table.sum(axis=1), table.sum(axis=0), table.sum()
    precision = float((table**2 / of_cluster[:, None]).sum() / texts)
    recall = float((table**2 / of_author).sum() / texts)
    return ClusterMeasures(
        texts=int(texts),
        authors=len(of_author),
        clusters=len(of_cluster),
        bcubed_precision=precision,
        bcubed_recall=recall,
        bcubed_f=2 * precision * recall / (precision + recall),
        adjusted_rand_index=_adjusted_rand_index(table),
    )


def _cross_table(first: Sequence[Hashable], second: Sequence[Hashable]) -> FloatArray:
    rows, columns = (
        {name: at for at, name in enumerate(dict.fromkeys(s))} for s in (first, second)
    )
    table = np.zeros((len(rows), len(columns)))
    for row, column in zip(first, second, strict=True):
        table[rows[row], columns[column]] += 1
    return table


def _adjusted_rand_index(table: FloatArray) -> float:
    def pairs(counts: FloatArray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    together, in_rows, in_columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    texts = float(table.sum())
    expected = in_rows * in_columns / max(texts * (texts - 1) / 2, 1.0)
    most = (in_rows + in_columns) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)
