"""Sensitivity: how a log Bayes factor depends on the conditions and on the texts at hand.

Conditions (`influences`): for each condition the log Bayes factor is computed once more as if only
that condition were different: a genre that the model does not know, texts of usual length with the
same LEVs, one text against one, no population. Bounds are left out, since at a bound nothing would
change.

Passages (`bootstrap_interval`): the passages of each text are resampled with replacement, and
everything is computed again. A resampled text has fewer different passages than the real one and a
noisier LEV, so the resampled Bayes factors tend to lie on one side of the real one. Only their
spread is used: the interval lies around the real Bayes factor and reaches to each side in
proportion to how far the draws lie from their median.

The draws alone are too narrow. Neighbouring passages share a subject and a mood, which resampling
does not change, and an n-gram drawn twice counts for less than two. When both texts are halved, the
Bayes factors of the first and of the second halves differ about 1.6 times as much as the draws
suggest (`benchmarks/interval.py`). So the interval is widened by this factor. Drawing blocks of
neighbouring passages does not make up for it.

Population (`population_sensitivity`): everything is computed again with halves of it. Single texts
(`text_sensitivity`): each text of a side with several is left out in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import AnyLevs, FloatArray, Levs
from adhominem.score.calibration import Scores
from adhominem.score.decision import LOG_10
from adhominem.score.genres import USUAL_TOKENS
from adhominem.score.members import GenreMember
from adhominem.score.population import FEWEST, Population
from adhominem.verify.verification import ComparedSides, Likeness

DRAWS = 200
WIDENED = 1.6  # factor by which the interval is wider than the draws: see above
_LEVEL = 0.95
_FEWEST_PASSAGES = 4  # per text: fewer do not show their spread
_LEVS_AT_ONCE = 128  # resampled texts in memory
_HALVES = 10


@dataclass(frozen=True, kw_only=True)
class Influence:
    """A condition of a comparison and its effect on the log10 Bayes factor."""

    name: str
    value: str  # the condition, in words
    instead_of: str  # the condition compared with; empty without an effect
    change: float | None  # of the log10 Bayes factor; None without an effect


def influences(comparison: ComparedSides, likeness: Likeness | None) -> tuple[Influence, ...]:
    """The effect of each condition of a comparison on its log10 Bayes factor without bounds.

    `likeness` is that of the texts to the training texts, as a `Verification` has it. The changes
    need not add up: the effect of one condition depends on the others.
    """
    scorer, used, (first, second) = comparison.scorer, comparison.used, comparison.levs

    def influence(
        name: str, value: str, instead_of: str = "", others: Scores | None = None
    ) -> Influence:
        if others is None:  # no effect
            return Influence(name=name, value=value, instead_of="", change=None)
        change = comparison.log_bayes_factor - float(scorer.unbounded(others).mean())
        return Influence(name=name, value=value, instead_of=instead_of, change=change / LOG_10)

    if used is not None:
        genre = influence("Genre", "that of the population")
    elif likeness is None or not likeness.genres:
        genre = influence("Genre", "not known to the model")
    else:
        likest, share = likeness.likest
        genre = influence(
            "Genre",
            f"most like {likeness.name(likest)} ({share:.0%})",
            "a model that does not know this genre",
            scorer.without(likest).scores([first], [second]),
        )

    tokens = np.exp(min(float(levs[:, -1].mean()) for levs in comparison.levs))
    usual = None
    if any(isinstance(member, GenreMember) for member in scorer.members):
        usual = scorer.scores([_usual(first)], [_usual(second)], used)
    length = influence(
        "Length", f"{tokens:,.0f} words and marks a text", f"texts of {USUAL_TOKENS:,.0f}", usual
    )

    each_pair = None
    if len(first) > 1 or len(second) > 1:
        one, other = (places.ravel() for places in np.indices((len(first), len(second))))
        each_pair = scorer.scores(first[one], second[other], used)
    texts = influence(
        "Texts",
        f"{len(first):,} against {len(second):,}",
        "one against one, on average",
        each_pair,
    )

    if used is not None:
        alone = scorer.scores([first], [second])
        population = influence("Population", f"{used.texts:,} texts", "no population", alone)
    elif comparison.population is not None:
        unused = f"{comparison.population.texts:,} texts of another genre, not used"
        population = influence("Population", unused)
    else:
        population = influence("Population", "none")
    return genre, length, texts, population


def _usual(levs: Levs) -> Levs:
    """A copy of LEVs (texts, lev_size) in which all texts have the usual length."""
    *parts, log_tokens = levs.parts
    return Levs((*parts, np.full_like(log_tokens, np.log(USUAL_TOKENS))))


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval of the log Bayes factor, in nats, without bounds."""

    low: float
    high: float
    level: float  # share of the draws inside, before it is widened
    draws: int
    seed: int


def bootstrap_interval(
    comparison: ComparedSides,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Interval | None:
    """The bootstrap interval over passages; None if a text has too few of them."""
    passages = [[len(comparison.passages(text)) for text in side] for side in comparison.sides]
    if min(map(min, passages)) < _FEWEST_PASSAGES:
        return None
    rng = np.random.default_rng(seed)
    at_once = max(1, _LEVS_AT_ONCE // len(comparison.texts))
    batches: list[FloatArray] = []
    for at in range(0, draws, at_once):
        count = min(at_once, draws - at)
        drawn = []  # per side: (draws, texts, lev_size)
        for side, counts in zip(comparison.sides, passages, strict=True):
            variants = []
            for text, number in zip(side, counts, strict=True):
                even = np.full(number, 1 / number)
                times = rng.multinomial(number, even, size=count)  # (draws, passages)
                variants.append(comparison.vary(text, times))
            drawn.append(np.stack(variants, axis=1))
        batches.append(comparison.log_bayes_factors(list(drawn[0]), list(drawn[1])))
        on_progress((at + count) / draws)
    values = np.concatenate(batches)
    tails = (1 - _LEVEL) / 2
    low, high = WIDENED * np.quantile(values - np.median(values), [tails, 1 - tails])
    whole = comparison.log_bayes_factor
    return Interval(float(whole + low), float(whole + high), _LEVEL, draws, seed)


@dataclass(frozen=True)
class Sensitivity:
    """The log Bayes factors with parts of the population, in nats, within the bounds."""

    texts: int  # in each part
    left_out: int  # number of texts; 1 if each was left out in turn
    log_bayes_factors: tuple[float, ...]  # sorted

    @property
    def median(self) -> float:
        """The median of the log Bayes factors."""
        return float(np.median(self.log_bayes_factors))


def text_sensitivity(comparison: ComparedSides) -> tuple[float, ...]:
    """The log Bayes factors, sorted and within bounds, with each text of a side left out in turn.

    A side with one text stays as it is; the result is empty if both sides have one text.
    """
    first, second = comparison.levs
    pairs: list[tuple[AnyLevs, AnyLevs]]
    pairs = [(rest, second) for rest in _without_each(first)]
    pairs += [(first, rest) for rest in _without_each(second)]
    return _sorted_factors(comparison, [(*pair, comparison.population) for pair in pairs])


def population_sensitivity(comparison: ComparedSides, *, seed: int = 0) -> Sensitivity | None:
    """The log Bayes factors of a comparison with random halves of the population's texts.

    In a small population, each text is left out in turn. None without a population, or with one too
    small for that. A very large population is represented by the texts kept in it.
    """
    if comparison.used is None or len(comparison.used.cohort) <= FEWEST:
        return None
    levs = np.asarray(comparison.used.cohort)
    # In a canonical order, so that the parts do not depend on file names.
    levs = levs[sorted(range(len(levs)), key=lambda at: levs[at].tobytes())]
    parts = _without_each(levs)
    if len(levs) >= 2 * FEWEST:
        rng = np.random.default_rng(seed)
        halves = [np.sort(rng.permutation(len(levs))[: len(levs) // 2]) for _ in range(_HALVES)]
        parts = [levs[half] for half in halves]
    factors = _sorted_factors(
        comparison, [(*comparison.levs, Population.of(part)) for part in parts]
    )
    return Sensitivity(len(parts[0]), len(levs) - len(parts[0]), factors)


def _without_each(levs: AnyLevs) -> list[AnyLevs]:
    """LEVs without each text in turn; a single text is not left out."""
    places = np.arange(len(levs))
    return [levs[places != at] for at in places] if len(levs) > 1 else []


def _sorted_factors(
    comparison: ComparedSides, cases: Sequence[tuple[AnyLevs, AnyLevs, Population | None]]
) -> tuple[float, ...]:
    scorer = comparison.scorer
    scored = [scorer([one], [other], population) for one, other, population in cases]
    return tuple(sorted(float(factors.log_bayes_factor[0]) for factors in scored))
