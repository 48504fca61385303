"""Statistics for the whole package: intervals, resamples, pooling, logistic regression.

SciPy has most of these, but scoring must not need it; the tests compare them with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lgamma, pi, sqrt, tan

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import OptionError

_TAIL = 0.025  # on either side of a 95% interval
_HALVINGS = 50  # bisections for an end of an exact interval
NORMAL = 1.959964  # deviations that include 95% of a normal distribution
_FLAT = 1e-12  # of the largest value: scores that vary by less only differ by rounding


def resampled(
    order: IntArray, authors: Sequence[tuple[str, str]] | None, resamples: int, seed: int
) -> Iterator[IntArray]:
    """The pairs of each bootstrap resample, in order, repeated as often as they were drawn.

    `authors` are the two authors of each pair: authors are drawn, and a pair occurs as often as its
    author, or as the product for two authors; a resample may be empty. Without `authors`, pairs are
    drawn.
    """
    rng = np.random.default_rng(seed)
    numbers: IntArray | None = None  # (pairs, 2)
    count = len(order)
    if authors is not None:
        names = sorted({name for pair in authors for name in pair})
        place = {name: at for at, name in enumerate(names)}
        numbers = np.array([[place[first], place[second]] for first, second in authors])
        count = len(names)
    for _ in range(resamples):
        times = rng.multinomial(count, np.full(count, 1 / count))
        if numbers is not None:
            first, second = times[numbers].T
            times = np.where(numbers[:, 0] == numbers[:, 1], first, first * second)
        yield np.repeat(order, times[order])


def bootstrap(
    measure: Callable[[IntArray], Mapping[str, float]],
    order: IntArray,
    authors: Sequence[tuple[str, str]] | None,
    resamples: int,
    seed: int,
    on_resample: Callable[[], None] = lambda: None,
) -> dict[str, tuple[float, float]]:
    """The 95% interval of each measure of the pairs, over resamples as `resampled` draws them."""
    values: dict[str, list[float]] = {name: [] for name in measure(order)}
    for chosen in resampled(order, authors, resamples, seed):
        on_resample()
        if len(chosen):
            for name, value in measure(chosen).items():
                values[name].append(value)
    return {name: interval(of_one) for name, of_one in values.items()}


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The middle 95% of a measure of the resamples, without those in which it is NaN."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [_TAIL, 1 - _TAIL], method="nearest")
    return float(low), float(high)


def exact_interval(count: int, of: int) -> tuple[float, float]:
    """The exact 95% interval (Clopper-Pearson) of a rate, given `count` events in `of` cases.

    It is valid for independent cases. At its ends, a result as extreme has a probability of 1 / 40.
    """
    low = 0.0 if count == 0 else _rate_of(count, of)
    high = 1.0 if count == of else 1 - _rate_of(of - count, of)
    return low, high


def _rate_of(count: int, of: int) -> float:
    """The rate at which `count` or more events have the probability of a tail."""
    counts = np.arange(count, of + 1)
    ways = np.array([lgamma(of + 1) - lgamma(k + 1) - lgamma(of - k + 1) for k in counts.tolist()])
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        rate = (low + high) / 2
        chance = np.exp(ways + counts * np.log(rate) + (of - counts) * np.log1p(-rate)).sum()
        low, high = (rate, high) if chance < _TAIL else (low, rate)
    return (low + high) / 2


def student_quantile(freedom: int) -> float:
    """The number of deviations that include 95% of Student's t distribution.

    One and two degrees of freedom have closed forms; for others it is the Cornish-Fisher expansion,
    with an error below a hundredth.
    """
    if freedom < 1:
        raise OptionError(f"{freedom} degrees of freedom; expected 1 or more")
    if freedom == 1:
        return tan(pi * 0.475)
    if freedom == 2:
        return sqrt(2 / (0.05 * 1.95) - 2)
    z = NORMAL
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, start=1))


def logistic(
    scores: FloatArray, same_author: BoolArray, weight: FloatArray, ridge: float | FloatArray
) -> FloatArray:
    """The constant and slopes (1 + scores,) of a logistic regression on (scores, pairs).

    The pairs have weights (pairs,), and both classes the same total weight. `ridge`, for all slopes
    or each one (scores,), keeps them finite if the scores separate the classes perfectly. A score
    that is equal for all pairs has slope 0.
    """
    centre, scale = scores.mean(axis=1), scores.std(axis=1)
    varies = scale > _FLAT * np.abs(scores).max(axis=1, initial=0)
    scale = np.where(varies, scale, np.inf)
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
    for _ in range(100):  # Newton's method, with shorter steps where it would overshoot
        p = _sigmoid(beta @ rows)
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


def _sigmoid(log_odds: FloatArray) -> FloatArray:
    # exp never sees a positive number, so it cannot overflow
    small = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0, 1 / (1 + small), small / (1 + small)))


@dataclass(frozen=True)
class PooledBlocks:
    """Blocks of pairs, sorted by score, with rising shares of same-author pairs.

    They are the result of the pool-adjacent-violators algorithm (PAV). Equal scores are always in
    the same block.
    """

    same: FloatArray  # (blocks,): same-author pairs
    different: FloatArray  # (blocks,)
    lowest: FloatArray  # (blocks,): the lowest score
    highest: FloatArray  # (blocks,)

    @property
    def log_bayes_factor(self) -> FloatArray:
        """The optimally calibrated log Bayes factor (blocks,) of each block; may be infinite."""
        with np.errstate(divide="ignore"):
            factors = np.log(self.same / self.same.sum()) - np.log(
                self.different / self.different.sum()
            )
        return np.asarray(factors)

    @property
    def misses(self) -> FloatArray:
        """The rates (blocks + 1,) of rejected same-author pairs, with the first n rejected."""
        return np.asarray(np.append(0.0, np.cumsum(self.same)) / self.same.sum())

    @property
    def false_alarms(self) -> FloatArray:
        """The rates (blocks + 1,) of accepted different-author pairs, with the others accepted."""
        return np.asarray(1 - np.append(0.0, np.cumsum(self.different)) / self.different.sum())


def pool(scores: FloatArray, same_author: BoolArray) -> PooledBlocks:
    """The blocks of the PAV algorithm. Both classes must occur."""
    order = np.argsort(scores, kind="stable")
    ranked, labels = scores[order], same_author[order]
    begins = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    same = np.add.reduceat(labels.astype(np.float64), begins)
    counts = np.diff(np.append(begins, len(ranked)))
    # Runs of one label are joined before the loop, for speed.
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
    return PooledBlocks(hits_, sizes - hits_, ranked[starts], ranked[ends])
