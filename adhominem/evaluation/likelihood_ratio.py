"""How good a log Bayes factor is as evidence: the measures of forensic science.

All take log Bayes factors in nats (pairs,) and the truth (pairs,). Costs are in bits per pair, with
each class counting half: 0 is perfect, and 1 is the cost of always answering "the evidence says
nothing".
"""

from __future__ import annotations

from math import log

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.score.decision import probability_same_author
from adhominem.statistics import PooledBlocks, pool

_BINS = 10  # of probabilities, for the calibration errors


def cllr(log_bayes_factor: FloatArray, same_author: BoolArray) -> float:
    """The cost of the log likelihood ratio (Brummer and du Preez 2006)."""
    return float(empirical_cross_entropy(log_bayes_factor, same_author, np.zeros(1))[0])


def cllr_min(log_bayes_factor: FloatArray, same_author: BoolArray) -> float:
    """The cost that remains when the scores are calibrated as well as possible."""
    return _pooled_cost(pool(log_bayes_factor, same_author))


def _pooled_cost(blocks: PooledBlocks) -> float:
    best = blocks.log_bayes_factor
    some_same, some_different = blocks.same > 0, blocks.different > 0  # no 0 times infinity
    misses = np.logaddexp(0, -best[some_same]) @ blocks.same[some_same]
    alarms = np.logaddexp(0, best[some_different]) @ blocks.different[some_different]
    cost = misses / blocks.same.sum() + alarms / blocks.different.sum()
    return float(0.5 * cost / np.log(2))


def equal_error_rate(log_bayes_factor: FloatArray, same_author: BoolArray) -> float:
    """The rate at which misses and false alarms are equal, on the convex hull of the ROC curve."""
    return _pooled_error_rate(pool(log_bayes_factor, same_author))


def _pooled_error_rate(blocks: PooledBlocks) -> float:
    misses, alarms = blocks.misses, blocks.false_alarms
    at = int(np.argmax(misses >= alarms))  # the first corner beyond the diagonal, never (0, 1)
    rise, fall = misses[at] - misses[at - 1], alarms[at - 1] - alarms[at]
    along = (alarms[at - 1] - misses[at - 1]) / (rise + fall)
    return float(misses[at - 1] + along * rise)


def empirical_cross_entropy(
    log_bayes_factor: FloatArray, same_author: BoolArray, prior_log_odds: FloatArray
) -> FloatArray:
    """(priors,): the cost at each prior, for the ECE plot (Ramos and Gonzalez-Rodriguez 2013)."""
    same, different = log_bayes_factor[same_author], log_bayes_factor[~same_author]
    costs = []
    for odds in np.asarray(prior_log_odds, dtype=np.float64).tolist():
        prior = float(probability_same_author(odds))
        misses = np.logaddexp(0, -same - odds).mean()
        alarms = np.logaddexp(0, different + odds).mean()
        costs.append((prior * misses + (1 - prior) * alarms) / np.log(2))
    return np.array(costs)


def measure_evidence(log_bayes_factor: FloatArray, same_author: BoolArray) -> dict[str, float]:
    """The costs, the equal error rate, and how often the evidence misleads, also by 10 and by 100.

    NaN for what a class without pairs leaves open.
    """
    values = dict.fromkeys(("cllr", "cllr_min", "cllr_cal", "eer"), float("nan"))
    if same_author.any() and not same_author.all():
        blocks = pool(log_bayes_factor, same_author)
        cost, least = cllr(log_bayes_factor, same_author), _pooled_cost(blocks)
        values |= {"cllr": cost, "cllr_min": least, "cllr_cal": max(0.0, cost - least)}
        values["eer"] = _pooled_error_rate(blocks)
    for ending, factor in (("", 1), ("_10", 10), ("_100", 100)):
        shares = misleading_shares(log_bayes_factor, same_author, log(factor))
        values[f"misleading_same{ending}"], values[f"misleading_different{ending}"] = shares
    return values


def misleading_shares(
    log_bayes_factor: FloatArray, same_author: BoolArray, beyond: float = 0.0
) -> tuple[float, float]:
    """The shares of same-author and different-author pairs that mislead by more than `beyond`.

    `beyond` is an absolute log Bayes factor. NaN for a class without pairs.
    """
    wrong = (-log_bayes_factor[same_author], log_bayes_factor[~same_author])
    same, different = (
        float((values > beyond).mean()) if len(values) else float("nan") for values in wrong
    )
    return same, different


def reliability(
    probability: FloatArray, same_author: BoolArray, bins: int = _BINS
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The mean probability, share of same-author pairs and size of each bin that is not empty."""
    at = np.minimum((probability * bins).astype(np.int64), bins - 1)
    counts = np.bincount(at, minlength=bins)
    filled = counts > 0
    means = np.bincount(at, probability, bins)[filled] / counts[filled]
    shares = np.bincount(at, same_author, bins)[filled] / counts[filled]
    return means, shares, counts[filled]


def calibration_errors(probability: FloatArray, same_author: BoolArray) -> tuple[float, float]:
    """The expected and the largest difference of probabilities and shares, in ten bins."""
    means, shares, counts = reliability(probability, same_author)
    gaps = np.abs(means - shares)
    return float(gaps @ counts / counts.sum()), float(gaps.max())
