"""Fitting to pairs of known authors: the fusion of members' scores, the calibration, its bounds.

Both classes, pairs by one author and pairs by two, count half, so that log odds are log Bayes
factors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import OptionError
from adhominem.scoring.decision import probability_same_author
from adhominem.scoring.scale import METHODS, Calibration, Fusion, Scores, design, plain_rows

_STEP = 0.01  # of the search for the bounds, in decades
_LENGTHS = (0.005, 0.998)  # shares of texts between which lengths are told apart
RIDGE = 1e-3  # keeps weights finite where the scores separate the classes without fault
_FLAT = 1e-12  # of the largest value: scores that vary by less are all the same but for rounding


@dataclass(frozen=True)
class Ridges:
    """How near to 0 the weights of a fusion are kept.

    The larger it is, the less is made of what holds for the genres of the pairs that a fusion is
    fitted to, and may not for others.
    """

    measures: float = RIDGE  # of what members measure
    conditions: float = RIDGE  # of conditions, and of how these change what a measure is worth


def calibrate(
    scores: npt.ArrayLike,
    same_author: npt.ArrayLike,
    method: str = "logistic",
    weight: FloatArray | None = None,
) -> Calibration:
    """Fit the map and find its bounds. Both classes must occur.

    A logistic map may weigh pairs (pairs,): within each class, only their ratios matter.
    """
    values, same = np.asarray(scores, dtype=np.float64), np.asarray(same_author, dtype=bool)
    if method not in METHODS:
        raise OptionError(f"the calibration is {method!r}; expected {' or '.join(METHODS)}")
    if values.shape != same.shape or values.ndim != 1:
        raise OptionError(
            f"{values.size} scores and {same.size} labels; expected as many, in one row each"
        )
    if same.all() or not same.any():
        raise OptionError(
            "there is only one class of pairs; expected some by the same author and some by "
            "different authors"
        )
    if not np.isfinite(values).all():
        raise OptionError("some scores are no finite numbers; expected log Bayes factors")
    weight = np.ones(len(values)) if weight is None else weight
    knots, factors = _line(values, same, weight) if method == "logistic" else _steps(values, same)
    free = Calibration(
        method=method,
        scores=tuple(knots.tolist()),
        log_bayes_factors=tuple(factors.tolist()),
        lower_bound=-np.inf,
        upper_bound=np.inf,
        pairs=len(values),
    )
    lower, upper = empirical_bounds(free.unbounded(values), same)
    return replace(free, lower_bound=lower, upper_bound=upper)


def _line(
    scores: FloatArray, same_author: BoolArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Two points of the line that logistic regression finds."""
    constant, slope = logistic(scores[None], same_author, weight, RIDGE / len(scores))
    if slope < 0:  # a score that ranks backwards tells nothing: a map may not turn it round
        constant = slope = 0.0
    spread = scores.std() if slope else 1.0
    knots = (scores.mean() if slope else 0.0) + spread * np.array([-1.0, 1.0])
    return knots, constant + slope * knots


def _steps(scores: FloatArray, same_author: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Isotonic regression: level within a block of pooled pairs, linear between two blocks."""
    blocks = pool(scores, same_author)
    # The outermost blocks may hold one class alone, evidence without bounds. So many pairs can
    # support no more than their number; the empirical bounds are narrower still.
    same, different = blocks.same.sum() + 1, blocks.different.sum() + 1
    factors = np.clip(blocks.log_bayes_factor, -np.log(same), np.log(different))
    knots = np.stack([blocks.lowest, blocks.highest], axis=1).ravel()
    apart = np.concatenate([[True], np.diff(knots) > 0])  # a block of one score is one knot
    return knots[apart], np.repeat(factors, 2)[apart]


def empirical_bounds(log_bayes_factor: FloatArray, same_author: BoolArray) -> tuple[float, float]:
    """The empirical lower and upper bound (Vergeer et al. 2016), in nats.

    For a decision that needs a Bayes factor above some threshold, a system must do better than
    no system at all, even if one more same-author pair had gone wrong, and one more of the others.
    The bounds are the thresholds up to which it does.
    """
    factors = np.clip(log_bayes_factor / np.log(10), -9, 9)  # decades
    same, different = np.sort(factors[same_author]), np.sort(factors[~same_author])
    lowest = max(float(factors.min()), -float(np.log10(len(same) + 1)))
    highest = min(float(factors.max()), float(np.log10(len(different) + 1)))
    first = min(0, int(lowest // _STEP))
    last = max(0, int(highest // _STEP) + 1)
    thresholds = np.arange(first, last + 1) * _STEP
    misses = (np.searchsorted(same, thresholds, side="right") + 1) / (len(same) + 1)
    accepted = len(different) - np.searchsorted(different, thresholds, side="right")
    alarms = (accepted + 1) / (len(different) + 1)
    cost = misses + 10**thresholds * alarms
    without = np.where(thresholds < 0, 10**thresholds, 1.0)  # accept all, or nothing
    worse = cost > without
    below = thresholds[(thresholds <= 0) & worse]
    above = thresholds[(thresholds >= 0) & worse]
    lower = min(0.0, float(np.max(below + _STEP, initial=thresholds[0])))
    upper = max(0.0, float(np.min(above - _STEP, initial=thresholds[-1])))
    return lower * float(np.log(10)), upper * float(np.log(10))


def fit_fusion(
    scores: Scores,
    same_author: BoolArray,
    weight: FloatArray | None = None,
    ridges: Ridges | None = None,
) -> Fusion:
    """Fit to pairs with known truth, each with a weight (pairs,)."""
    ridges = ridges or Ridges()
    weight = np.ones(len(same_author)) if weight is None else weight
    shortest, longest = np.quantile(scores.conditions.log_tokens, _LENGTHS)
    log_tokens = (float(shortest), float(longest))  # the few beyond fix no slope
    rows = design(scores, log_tokens)
    plain = plain_rows(len(scores.members))[1:]
    ridge = np.where(plain, ridges.measures, ridges.conditions)  # (columns,)
    weights = logistic(rows[1:], same_author, weight, ridge)
    return Fusion(weights=tuple(weights.tolist()), log_tokens=log_tokens)


def group_weights(groups: npt.ArrayLike, same_author: BoolArray) -> FloatArray:
    """(pairs,): weights by which each group counts by the root of its pairs, in both classes.

    So the largest group does not decide alone, and the smallest counts less than the others.
    """
    index = np.asarray(groups)
    weight = np.zeros(len(index))
    for group in np.unique(index):
        for label in (True, False):
            chosen = (index == group) & (same_author == label)
            if chosen.any():
                weight[chosen] = chosen.sum() ** -0.5
    return weight


def logistic(
    scores: FloatArray, same_author: BoolArray, weight: FloatArray, ridge: float | FloatArray
) -> FloatArray:
    """(1 + scores,): the constant and the slopes for scores (scores, pairs), each pair weighed.

    `ridge`, of all or of each (scores,), keeps slopes finite where the scores separate the classes
    without fault. Scores that are all the same tell nothing: their slope is 0.
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
    penalty = np.diag([0.0, *np.broadcast_to(ridge, len(scores))])

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


@dataclass(frozen=True)
class Blocks:
    """Pairs in the order of their scores, pooled so that the share of same-author pairs rises.

    This is what the pool-adjacent-violators algorithm (PAV) makes of a score. Equal scores are
    always in one block.
    """

    same: FloatArray  # (blocks,): same-author pairs
    different: FloatArray  # (blocks,)
    lowest: FloatArray  # (blocks,): the lowest score
    highest: FloatArray  # (blocks,)

    @property
    def log_bayes_factor(self) -> FloatArray:
        """(blocks,): what the score should have said of its own pairs; the ends may be infinite."""
        with np.errstate(divide="ignore"):
            factors = np.log(self.same / self.same.sum()) - np.log(
                self.different / self.different.sum()
            )
        return np.asarray(factors)

    @property
    def misses(self) -> FloatArray:
        """(blocks + 1,): same-author pairs rejected where all up to a block are; rises."""
        return np.asarray(np.append(0.0, np.cumsum(self.same)) / self.same.sum())

    @property
    def false_alarms(self) -> FloatArray:
        """(blocks + 1,): different-author pairs accepted where all from a block on are; falls."""
        return np.asarray(1 - np.append(0.0, np.cumsum(self.different)) / self.different.sum())


def pool(scores: FloatArray, same_author: BoolArray) -> Blocks:
    """The PAV algorithm. Both classes must occur."""
    order = np.argsort(scores, kind="stable")
    ranked, labels = scores[order], same_author[order]
    begins = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    same = np.add.reduceat(labels.astype(np.float64), begins)
    counts = np.diff(np.append(begins, len(ranked)))
    # Runs of one label alone need no thought: they are joined before the loop.
    pure = np.where(same == 0, -1, np.where(same == counts, 1, 0))
    runs = np.flatnonzero(np.concatenate([[True], (pure[1:] != pure[:-1]) | (pure[1:] == 0)]))
    same_runs, count_runs = np.add.reduceat(same, runs), np.add.reduceat(counts, runs)
    stack: list[list[float]] = []  # same-author pairs, pairs, first run
    for at, (hits, size) in enumerate(zip(same_runs.tolist(), count_runs.tolist(), strict=True)):
        block = [hits, size, at]
        while stack and stack[-1][0] * block[1] >= block[0] * stack[-1][1]:
            before = stack.pop()
            block = [before[0] + block[0], before[1] + block[1], before[2]]
        stack.append(block)
    hits_, sizes, first = np.array(stack).T
    starts = begins[runs[first.astype(np.int64)]]
    ends = np.append(starts[1:], len(ranked)) - 1
    return Blocks(hits_, sizes - hits_, ranked[starts], ranked[ends])
