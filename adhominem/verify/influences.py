"""What the conditions of a comparison did to its number: genre, length, texts and population.

For each condition the log Bayes factor is worked out again as if it had been the usual one and all
else the same: the same likeness in texts of usual length, between single texts, without the genre
that the model took the texts for, without the population. Bounds are left out, since at a bound
nothing would change anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from adhominem.scoring.scale import USUAL_LOG_TOKENS, Conditions, Scale, Scores
from adhominem.scoring.scorer import Scorer
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
    scorer, used = comparison.scorer, comparison.used
    sides = [comparison.levs[0]], [comparison.levs[1]]
    scale, scores = scorer.scales.of(used), scorer.scores(*sides, used)
    here = _worth(scale, scores)
    conditions = scores.conditions

    def change(others: Conditions) -> float:
        return (here - _worth(scale, replace(scores, conditions=others))) / _LOG_10

    texts = [len(side) for side in comparison.sides]
    tokens = round(float(np.exp(conditions.log_tokens.min())))
    usual = np.full_like(conditions.log_tokens, USUAL_LOG_TOKENS)
    longer = conditions.longer + (usual - conditions.log_tokens if used else 0.0)
    weighs = bool(scale.fusion.weights)  # whether conditions count at all
    of_length = replace(conditions, log_tokens=usual, longer=longer)
    of_texts = replace(conditions, texts=np.ones_like(conditions.texts))
    return (
        _of_genre(comparison, scorer, likeness, here),
        Influence(
            name="Length",
            value=f"{tokens:,} words and marks a text",
            instead_of=f"texts of {np.exp(USUAL_LOG_TOKENS):,.0f}" if weighs else "",
            change=change(of_length) if weighs else None,
        ),
        Influence(
            name="Texts",
            value=f"{texts[0]:,} against {texts[1]:,}",
            instead_of="one against one" if weighs and max(texts) > 1 else "",
            change=change(of_texts) if weighs and max(texts) > 1 else None,
        ),
        _of_population(comparison, scorer, here),
    )


def _of_genre(
    comparison: Comparison, scorer: Scorer, likeness: Likeness | None, here: float
) -> Influence:
    if comparison.used is not None:
        value, known = "that of the population", False
    elif likeness is None or not likeness.genres:
        value, known = "not known to the model", False
    else:
        genre, share = next(iter(likeness.genres.items()))
        value, known = f"most like {likeness.name(genre)} ({share:.0%})", True
    if not known:
        return Influence(name="Genre", value=value, instead_of="", change=None)
    sides = [comparison.levs[0]], [comparison.levs[1]]
    without = _worth(scorer.scales.alone, scorer.without(genre).scores(*sides))
    return Influence(
        name="Genre",
        value=value,
        instead_of="a model that does not know this genre",
        change=(here - without) / _LOG_10,
    )


def _of_population(comparison: Comparison, scorer: Scorer, here: float) -> Influence:
    given, used = comparison.population, comparison.used
    if used is None:
        value = "none" if given is None else f"{given.texts:,} texts of another genre, not used"
        return Influence(name="Population", value=value, instead_of="", change=None)
    sides = [comparison.levs[0]], [comparison.levs[1]]
    without = _worth(scorer.scales.alone, scorer.scores(*sides))
    return Influence(
        name="Population",
        value=f"{used.texts:,} texts",
        instead_of="no population",
        change=(here - without) / _LOG_10,
    )


def _worth(scale: Scale, scores: Scores) -> float:
    """The log Bayes factor of one pair, without bounds."""
    raw = scale.fusion(scores)
    return float((raw if scale.calibration is None else scale.calibration.unbounded(raw))[0])
