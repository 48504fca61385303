"""The result of a comparison of two sides, and the material that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import adhominem
from adhominem.arrays import joined
from adhominem.records import with_schema
from adhominem.score.calibration import Conditions
from adhominem.score.decision import Decision, VerbalScale, decide, probability_same_author
from adhominem.verify.cautions import Caution, ExaminedText, cautions_of
from adhominem.verify.comparison import ComparedSides

if TYPE_CHECKING:
    from adhominem.verify.verifier import Verifier

_LOG_10 = float(np.log(10))

_MOSTLY = 0.5  # smallest share of a genre for the texts to count as of it
_ANY_GENRE = "*"  # the texts resemble the training texts, but no single genre


@dataclass(frozen=True)
class ComparedDocument:
    """The name, length and SHA-256 of a text that was compared."""

    name: str
    tokens: int
    sha256: str


@dataclass(frozen=True)
class Side:
    """All texts of one side, by one author."""

    documents: tuple[ComparedDocument, ...]  # including copies of others
    tokens: int  # in the distinct texts


@dataclass(frozen=True)
class PopulationUse:
    """The size of the population, and the log10 Bayes factor without it."""

    texts: int
    log10_bayes_factor_without: float


@dataclass(frozen=True)
class Likeness:
    """The similarity of the compared texts to the training texts."""

    genres: dict[str, float]  # probability of each genre
    atypicality: float  # of the least typical text; 99% of the training texts are below 1
    described: dict[str, str] = field(
        default_factory=dict
    )  # the genres in words, if the model says

    @property
    def likest(self) -> tuple[str, float]:
        """The most probable genre and its probability; an empty name if no genre is known."""
        return max(self.genres.items(), key=lambda row: row[1], default=("", 0.0))

    def name(self, genre: str) -> str:
        """The everyday name of a genre."""
        return self.described.get(genre, genre)

    @property
    def how_far(self) -> str:
        """How far the texts are from the training texts, in words."""
        if self.atypicality > 1:
            return f"{self.atypicality:.1f} times as far from them as nearly all training texts"
        share = f"{self.atypicality:.1f} of the limit"
        return f"not farther from them than nearly all training texts ({share})"

    @property
    def sentence(self) -> str:
        """What a comparison without a population rests on, as a sentence without a full stop."""
        genre, share = self.likest
        return (
            "No population was given: of the genres that the model knows, these are most like "
            f"{self.name(genre)} ({share:.0%}), and {self.how_far}"
        )


def guessed_genre(likeness: Likeness | None) -> str:
    """The genre that the model takes the texts for, as in `Validation.like`.

    Empty if the texts are unlike all known genres.
    """
    if likeness is None or not likeness.genres:  # without genres, all cases are alike
        return _ANY_GENRE
    if likeness.atypicality > 1:
        return ""
    genre, share = likeness.likest
    return genre if share >= _MOSTLY else _ANY_GENRE


def in_words(conditions: Conditions) -> str:
    """The conditions of one comparison, in words."""
    first, second = conditions.texts[0].astype(int).tolist()
    tokens = float(np.exp(conditions.log_tokens[0].min()))
    population = int(conditions.population[0])
    return (
        f"{first:,} text{'' if first == 1 else 's'} against {second:,}, about {tokens:,.0f} words "
        f"and marks in the shorter texts, "
        f"{f'a population of {population:,} texts' if population else 'no population'}"
    )


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The strength of the evidence that one person wrote both sides, with all cautions."""

    log_bayes_factor: float  # in nats
    log10_bayes_factor: float
    verbal: str
    lower_bound: float | None  # of the log10 Bayes factor under these conditions; None: no bounds,
    upper_bound: float | None  # since the model is not calibrated
    conditions: str  # in words
    reach: str  # the bounds in words; empty without bounds
    probability_same_author: float  # under the prior below only
    prior_same_author: float
    decision: str
    reason: str
    population: PopulationUse | None  # its effect on the Bayes factor
    likeness: Likeness | None  # of the texts to the training texts
    warnings: tuple[Caution, ...]
    model: str
    model_sha256: str  # of all files that the result depends on
    version: str  # of AdHominem
    first: Side
    second: Side

    @property
    def states(self) -> bool:
        """Whether a statement is made: no caution blocks a decision."""
        return not any(caution.blocks_decision for caution in self.warnings)

    def to_json(self) -> dict[str, Any]:
        """The result as plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)


def verification_of(
    verifier: Verifier,
    comparison: ComparedSides,
    prior_same_author: float = 0.5,
    delta: float = 0.125,
    scale: VerbalScale | None = None,
) -> Verification:
    """The verification of a comparison, in numbers and in words: see `Verifier.verify`."""
    population, scored, scorer = comparison.population, comparison.scored, verifier.scorer
    first, second = comparison.levs
    factor = float(scored.log_bayes_factor[0])
    probability = float(probability_same_author(factor, prior_same_author))
    conditions = scorer.conditions([first], [second], comparison.used)
    scale = scale or VerbalScale()
    bounds = float(scored.lower_bound[0]) / _LOG_10, float(scored.upper_bound[0]) / _LOG_10
    sentence = scale.sentence(factor / _LOG_10)
    reach = scale.reach(*bounds) if scored.calibrated else ""
    whole = joined(comparison.levs)
    texts, count = comparison.texts, len(comparison.sides[0])
    tokens = [text.tokens(verifier.lead) for text in texts]
    examined = verifier.examine(
        [text.exhibit for text in texts],
        [words.tokens for words in tokens],
        whole,
        [text.copies for text in texts],
    )
    sides = examined[:count], examined[count:]
    likeness = None  # where the model cannot say
    if verifier.lead.typicality is not None and verifier.lead.genres is not None:
        most = max(text.atypicality for text in examined)
        likeness = Likeness(scorer.genre_shares(whole), most, verifier.genre_names)
    cautions = tuple(
        cautions_of(
            verifier,
            sides,
            population=population,
            scored=scored,
            genres=list(map(scorer.genre_shares, comparison.levs)) if scored.two_genres[0] else (),
            misleading=verifier.misleading(likeness) if population is None else (),
            taken_out=comparison.taken_out,
        )
    )
    use = None
    if population is not None:
        without = float(verifier.score([first], [second])[0])
        use = PopulationUse(population.texts, without / _LOG_10)
    obstacles = tuple(caution.message for caution in cautions if caution.blocks_decision)
    decided = decide(probability, delta, obstacles)
    reason = decided.reason
    if prior_same_author != 0.5 and not obstacles:
        reason += f", with the prior {prior_same_author:g}"
    if not scored.calibrated and decided.decision is not Decision.UNDECIDED:
        reason += ", by a model that is not calibrated"
    return Verification(
        log_bayes_factor=factor,
        log10_bayes_factor=factor / _LOG_10,
        verbal=f"No statement is made: {reason}." if obstacles else sentence,
        lower_bound=bounds[0] if scored.calibrated else None,
        upper_bound=bounds[1] if scored.calibrated else None,
        conditions=in_words(conditions),
        reach=reach,
        probability_same_author=probability,
        prior_same_author=prior_same_author,
        decision=decided.decision.value,
        reason=reason,
        population=use,
        likeness=likeness,
        warnings=cautions,
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
        first=_side(sides[0]),
        second=_side(sides[1]),
    )


def _side(texts: Sequence[ExaminedText]) -> Side:
    documents = tuple(
        ComparedDocument(exhibit.document.id, len(text.tokens), exhibit.sha256)
        for text in texts
        for exhibit in (text.exhibit, *text.copies)
    )
    return Side(documents, sum(len(text.tokens) for text in texts))
