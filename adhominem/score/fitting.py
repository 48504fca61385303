"""Fitting to cases of known authors: the parameters of the three-level model, and its bounds.

What is minimised is the paper's loss: the binary cross entropy of the Bayes factor. Both classes,
cases by one author and cases by two, count half, so that log odds are log Bayes factors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, FloatArray
from adhominem.score.calibration import Conditions, Scores, Weights
from adhominem.score.decision import probability_same_author
from adhominem.score.genres import PairGeometry, PairRows
from adhominem.score.members import GenreMember, MemberScorer
from adhominem.score.three_level import (
    Evidence,
    PartVariances,
    ThreeLevelParameters,
    evidence,
    genre_posterior,
)
from adhominem.statistics import logistic

_STEP = 0.01  # of the search for the bounds, in decades
_PRIOR = 2e-4  # how strongly parameters are held to where they start
_DIFFERENCE = 1e-3  # by which a parameter is changed, to see what it does
_ROUNDS = 12
_ROUNDS_MORE = 3  # from parameters that were fitted to nearly the same cases
_CONVERGED = 2e-4  # of the loss
_LONGEST = 1.0  # step of a parameter in one round
_ONE_GENRE = 20.0  # prior odds that two sides that somebody compares are of one genre


@dataclass(frozen=True)
class Cases(PairRows):
    """Cases of known authors under one condition, with all that members need to score them."""

    pairs: tuple[PairGeometry | Evidence, ...]  # per member: see `MemberScorer.pairs`
    conditions: Conditions
    same_author: BoolArray  # (cases,)


@dataclass(frozen=True)
class Fitted:
    """The parameters of all members, and the weights of their evidence."""

    levels: tuple[ThreeLevelParameters | None, ...]
    layer_weights: tuple[float, ...]
    weights: Weights

    @classmethod
    def start(cls, members: Sequence[MemberScorer]) -> Fitted:
        """The parameters of uncalibrated members, where fitting begins."""
        levels = tuple(
            ThreeLevelParameters() if isinstance(one, GenreMember) else None for one in members
        )
        return cls(levels, (1.0,) * len(levels), Weights(factor=0.5, snorm=0.8))

    def scores(self, cases: Cases) -> Scores:
        """The members' evidence on some cases."""
        return Scores.of([one.evidence for one in _evidence(self, cases)], cases.conditions)

    def log_bayes_factor(self, cases: Cases) -> FloatArray:
        """The log Bayes factors (cases,), without bounds."""
        return self.weights(self.scores(cases))


def _evidence(fitted: Fitted, cases: Cases, like: list[_Known] | None = None) -> list[_Known]:
    """The evidence of each member; where nothing that it depends on has changed, as in `like`."""
    blocks = [
        (levels, pairs)
        for levels, pairs in zip(fitted.levels, cases.pairs, strict=True)
        if levels is not None and isinstance(pairs, PairGeometry)
    ]
    shares = genre_posterior(blocks, fitted.weights.unknown_log_odds) if blocks else None
    made = []
    for at, (levels, weight, pairs) in enumerate(
        zip(fitted.levels, fitted.layer_weights, cases.pairs, strict=True)
    ):
        if isinstance(pairs, Evidence):
            made.append(_Known(None, None, pairs.times(weight)))
            continue
        assert levels is not None
        assert shares is not None
        known = like[at] if like is not None else None
        if known is None or not known.rests_on(levels, shares):
            known = _Known(levels, shares, evidence(levels, pairs, shares))
        made.append(known)
    return made


@dataclass(frozen=True)
class _Known:
    """A member's evidence on some cases, and what it was computed from."""

    levels: ThreeLevelParameters | None
    shares: FloatArray | None
    evidence: Evidence

    def rests_on(self, levels: ThreeLevelParameters, shares: FloatArray) -> bool:
        """Whether it was computed from these parameters and probabilities of genres."""
        same = self.shares is not None and np.array_equal(self.shares, shares)
        return same and self.levels == levels


Derivatives = dict[bytes, tuple[FloatArray, FloatArray]]  # by the parameters they were taken at


def fit(
    batches: Sequence[Cases],
    weights: Sequence[FloatArray],
    start: Fitted,
    begin: Fitted | None = None,
    on_round: Callable[[float], None] = lambda loss: None,
    memory: Derivatives | None = None,
) -> Fitted:
    """The parameters with the smallest cross entropy on weighted cases; weights are (cases,) each.

    Fisher scoring: each round treats the log Bayes factors as linear in the parameters, with
    derivatives from finite differences, which makes it a step of logistic regression. A weak
    penalty holds the parameters near `start`. The search may `begin` at parameters that were fitted
    to the same cases with nearly the same weights: then a few steps do, and the derivatives of the
    first are kept in `memory` for other weights.
    """
    fitting = _Objective(batches, weights, start, {} if memory is None else memory)
    origin = fitting.pack(start)
    here = origin if begin is None else fitting.pack(begin)
    loss = fitting.loss(fitting.factors(here), here, origin)
    damping = 1e-4
    for _ in range(_ROUNDS if begin is None else _ROUNDS_MORE):
        factors, slopes = fitting.derivatives(here)
        gradient, hessian = fitting.normal_equations(factors, slopes)
        gradient = gradient + _PRIOR * (here - origin)
        hessian = hessian + _PRIOR * np.eye(len(here))
        before = loss
        while damping < 1e4:
            step = np.linalg.solve(hessian + damping * np.diag(np.diag(hessian)), gradient)
            step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), 1e-300))
            there = here - step
            less = fitting.loss(fitting.factors(there), there, origin)
            if less < loss:
                here, loss, damping = there, less, damping / 5
                break
            damping *= 5
        on_round(loss)
        if before - loss < _CONVERGED:
            break
    return fitting.unpack(here)


class _Objective:
    """The weighted cross entropy as a function of one vector: each member's parameters, weights."""

    def __init__(
        self,
        batches: Sequence[Cases],
        weights: Sequence[FloatArray],
        start: Fitted,
        memory: Derivatives,
    ) -> None:
        self.batches, self.start, self._memory = batches, start, memory
        self.same = np.concatenate([batch.same_author for batch in batches])
        weight = np.concatenate(list(weights))
        self.weight = np.where(
            self.same,
            0.5 * weight / weight[self.same].sum(),
            0.5 * weight / weight[~self.same].sum(),
        )
        self.sizes = [1 if one is None else len(unrestricted(one)) for one in start.levels]
        self.with_population = any(
            len(batch.conditions) and batch.conditions.population[0] for batch in batches
        )

    def pack(self, fitted: Fitted) -> FloatArray:
        """The vector (parameters,) of fitted parameters."""
        rows = [
            np.log([max(weight, 1e-6)]) if one is None else unrestricted(one)
            for one, weight in zip(fitted.levels, fitted.layer_weights, strict=True)
        ]
        weights = fitted.weights
        row = [weights.constant, weights.unknown_log_odds]
        if self.with_population:
            row += [weights.factor, weights.snorm, weights.snorm_constant, weights.snorm_small]
            row += [float(np.log(weights.usual_deviation))]
        return np.concatenate([*rows, row])

    def unpack(self, values: FloatArray) -> Fitted:
        """The parameters from the vector that `pack` made."""
        *rows, last = np.split(values, np.cumsum(self.sizes))
        levels = tuple(
            None if old is None else restricted(row)
            for row, old in zip(rows, self.start.levels, strict=True)
        )
        layers = tuple(
            float(np.exp(row[0])) if old is None else 1.0
            for row, old in zip(rows, self.start.levels, strict=True)
        )
        return Fitted(levels, layers, self._weights(last))

    def _weights(self, values: FloatArray) -> Weights:
        names = ("constant", "unknown_log_odds", "factor", "snorm", "snorm_constant", "snorm_small")
        named: dict[str, float] = dict(zip(names, values.tolist(), strict=False))
        if self.with_population:
            named["usual_deviation"] = float(np.exp(values[-1]))
        return replace(self.start.weights, **named)

    def factors(self, values: FloatArray) -> FloatArray:
        """The log Bayes factors (cases,) with these parameters."""
        return self._factors(self.unpack(values), [None] * len(self.batches))[0]

    def _factors(
        self, fitted: Fitted, like: Sequence[list[_Known] | None]
    ) -> tuple[FloatArray, list[list[_Known]]]:
        """The log Bayes factors (cases,), and the evidence behind them by batch."""
        known = [
            _evidence(fitted, batch, before)
            for batch, before in zip(self.batches, like, strict=True)
        ]
        scores = (
            Scores.of([one.evidence for one in of_batch], batch.conditions)
            for batch, of_batch in zip(self.batches, known, strict=True)
        )
        return np.concatenate([fitted.weights(one) for one in scores]), known

    def derivatives(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log Bayes factors (cases,) and their derivatives (parameters, cases)."""
        if (key := values.tobytes()) not in self._memory:
            self._memory.clear()
            self._memory[key] = self._derivatives(values)
        return self._memory[key]

    def _derivatives(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        here, known = self._factors(self.unpack(values), [None] * len(self.batches))

        def slope(at: int) -> FloatArray:
            moved = values.copy()
            moved[at] += _DIFFERENCE
            return (self._factors(self.unpack(moved), known)[0] - here) / _DIFFERENCE

        with ThreadPoolExecutor(os.cpu_count()) as pool_of_threads:
            return here, np.array(list(pool_of_threads.map(slope, range(len(values)))))

    def loss(self, factors: FloatArray, values: FloatArray, origin: FloatArray) -> float:
        """The cross entropy in nats plus the penalty for leaving the origin."""
        wrong = np.where(self.same, -factors, factors)
        cost = float(self.weight @ np.logaddexp(0, wrong))
        return cost + 0.5 * _PRIOR * float(np.square(values - origin).sum())

    def normal_equations(
        self, factors: FloatArray, slopes: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The gradient (parameters,) of the loss, and the Fisher information."""
        p = probability_same_author(factors)
        information = (slopes * (self.weight * p * (1 - p))) @ slopes.T
        return slopes @ (self.weight * (p - self.same)), information


def empirical_bounds(log_bayes_factor: FloatArray, same_author: BoolArray) -> tuple[float, float]:
    """The empirical lower and upper bound (ELUB, Vergeer et al. 2016), in nats.

    For a decision that needs a Bayes factor above some threshold, a system must do better than
    no system at all, even with one more misleading pair of each class. The bounds are the
    thresholds up to which it does.
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


def group_weights(groups: npt.ArrayLike, same_author: BoolArray) -> FloatArray:
    """Weights (pairs,) that make each group count by the square root of its pairs in each class.

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


def fit_one_genre(evidence: FloatArray, is_one: BoolArray) -> tuple[float, float]:
    """Slope and constant of the log odds that both sides are of one genre, given evidence (pairs,).

    A logistic regression in which both classes, pairs of one genre and of two, have equal weight;
    the log of the prior odds `_ONE_GENRE` is added to its constant. Both are 0 where the evidence
    is uninformative, or all pairs are of one class.
    """
    if is_one.all() or not is_one.any():
        return 0.0, 0.0
    constant, slope = logistic(evidence[None], is_one, np.ones(len(evidence)), 1e-4).tolist()
    constant += float(np.log(_ONE_GENRE))
    return (slope, constant) if slope > 0 else (0.0, 0.0)


# Parameters as an unconstrained vector, as they are fitted

_POSITIVE = (
    "known_genre",
    "unknown_genre",
    "known_genre_rest",
    "unknown_genre_rest",
    "genre_spread",
    "genre_sharpness",
)


def unrestricted(levels: ThreeLevelParameters) -> FloatArray:
    """The parameters as an unconstrained vector: variances and exponents as logarithms."""
    values = [
        getattr(p, f.name) for p in (levels.genre_part, levels.rest) for f in fields(PartVariances)
    ]
    values += [getattr(levels, name) for name in _POSITIVE]
    logs = [np.log(max(value, 1e-12)) for value in values]
    return np.array([*logs, levels.length_power])


def restricted(values: FloatArray) -> ThreeLevelParameters:
    """The parameters from the vector that `unrestricted` made."""
    *logs, power = values.tolist()
    positive = [float(np.exp(value)) for value in logs]
    size = len(fields(PartVariances))
    names = [field.name for field in fields(PartVariances)]
    genre_part, rest = (
        PartVariances(**dict(zip(names, positive[at : at + size], strict=True))) for at in (0, size)
    )
    singles = dict(zip(_POSITIVE, positive[2 * size :], strict=True))
    return ThreeLevelParameters(genre_part=genre_part, rest=rest, length_power=power, **singles)
