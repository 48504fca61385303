"""What the conditions of a comparison did to its number: genre, length, texts and population.

For each condition the log Bayes factor is worked out once more, as if that had been another and all
else the same: a genre that the model does not know, texts of usual length with the same LEVs, one
text against one, no population. Bounds are left out, since at a bound nothing would change
anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray, Levs
from adhominem.score.genres import USUAL_TOKENS
from adhominem.score.members import GenreMember
from adhominem.score.population import Population
from adhominem.score.products import Sides
from adhominem.score.scorer import Scorer
from adhominem.verify.comparison import Comparison
from adhominem.verify.verification import Likeness

_LOG_10 = float(np.log(10))


@dataclass(frozen=True, kw_only=True)
class Influence:
    """A condition of a comparison, and what it did to the number."""

    name: str
    value: str  # what it was, in words
    instead_of: str  # what the number is held against; empty where it did nothing
    change: float | None  # of the log10 Bayes factor; None where there is nothing to tell


def influences(comparison: Comparison, likeness: Likeness | None) -> tuple[Influence, ...]:
    """What each condition of a comparison did to its log10 Bayes factor, before the bounds.

    `likeness` is that of the texts to those of training, as a `Verification` has it. The changes
    need not add up: what one condition does depends on the others.
    """
    return (
        _of_genre(comparison, likeness),
        _of_length(comparison),
        _of_texts(comparison),
        _of_population(comparison),
    )


def _of_genre(comparison: Comparison, likeness: Likeness | None) -> Influence:
    if comparison.used is not None:
        return _without_effect("Genre", "that of the population")
    if likeness is None or not likeness.genres:
        return _without_effect("Genre", "not known to the model")
    genre, share = next(iter(likeness.genres.items()))
    first, second = comparison.levs
    without = _factors(comparison.scorer.without(genre), [first], [second])
    return Influence(
        name="Genre",
        value=f"most like {likeness.name(genre)} ({share:.0%})",
        instead_of="a model that does not know this genre",
        change=_change(comparison, without),
    )


def _of_length(comparison: Comparison) -> Influence:
    first, second = comparison.levs
    tokens = np.exp(min(float(levs[:, -1].mean()) for levs in comparison.levs))
    value = f"{tokens:,.0f} words and marks a text"
    if not any(isinstance(member, GenreMember) for member in comparison.scorer.members):
        return _without_effect("Length", value)
    usual = _factors(comparison.scorer, [_usual(first)], [_usual(second)], comparison.used)
    return Influence(
        name="Length",
        value=value,
        instead_of=f"texts of {USUAL_TOKENS:,.0f}",
        change=_change(comparison, usual),
    )


def _usual(levs: Levs) -> Levs:
    """The same LEVs (texts, lev_size), as if they were those of texts of usual length."""
    *parts, log_tokens = levs.parts
    return Levs((*parts, np.full_like(log_tokens, np.log(USUAL_TOKENS))))


def _of_texts(comparison: Comparison) -> Influence:
    first, second = comparison.levs
    value = f"{len(first):,} against {len(second):,}"
    if len(first) == len(second) == 1:
        return _without_effect("Texts", value)
    one, other = (places.ravel() for places in np.indices((len(first), len(second))))
    pairs = _factors(comparison.scorer, first[one], second[other], comparison.used)
    return Influence(
        name="Texts",
        value=value,
        instead_of="one against one, on average",
        change=_change(comparison, pairs),
    )


def _of_population(comparison: Comparison) -> Influence:
    given, used = comparison.population, comparison.used
    if used is None:
        value = "none" if given is None else f"{given.texts:,} texts of another genre, not used"
        return _without_effect("Population", value)
    first, second = comparison.levs
    return Influence(
        name="Population",
        value=f"{used.texts:,} texts",
        instead_of="no population",
        change=_change(comparison, _factors(comparison.scorer, [first], [second])),
    )


def _without_effect(name: str, value: str) -> Influence:
    return Influence(name=name, value=value, instead_of="", change=None)


def _factors(
    scorer: Scorer, first: Sides, second: Sides, population: Population | None = None
) -> FloatArray:
    """(pairs,): the log Bayes factors without bounds."""
    return scorer.unbounded(scorer.scores(first, second, population))


def _change(comparison: Comparison, others: FloatArray) -> float:
    """What the log10 Bayes factor is beyond the mean of those (pairs,) of other conditions."""
    return (comparison.log_bayes_factor - float(others.mean())) / _LOG_10
