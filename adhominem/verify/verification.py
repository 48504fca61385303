"""Two sides compared, each text tokenized and encoded once, and what the comparison says.

A comparison has its log Bayes factor, each member's contribution to it, and what it would be with
other texts. A verification says it in numbers and words, with all cautions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import adhominem
from adhominem.arrays import AnyLevs, Array32, FloatArray, IntArray, Levs, joined
from adhominem.model.member import Member
from adhominem.ngrams.encoder import NgramVariants
from adhominem.pairs.passages import TakenOut
from adhominem.paper.runtime import NetworkOutput, NetworkVariants, Runtime
from adhominem.records import with_schema
from adhominem.score.calibration import Conditions, LogBayesFactors
from adhominem.score.contributions import Contribution, ProductContribution
from adhominem.score.decision import LOG_10, Decision, VerbalScale, decide, probability_same_author
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.text.language import InLanguage, main_language
from adhominem.text.tokenizer import Tokens
from adhominem.text.vocabulary import WindowOptions, spread_starts
from adhominem.verify.cautions import Caution, ExaminedText, cautions_of
from adhominem.verify.encoding import TokensBy

if TYPE_CHECKING:
    from adhominem.verify.verifier import Verifier


_MOSTLY = 0.5  # smallest share of a genre for the texts to count as of it
_ANY_GENRE = "*"  # the texts resemble the training texts, but no single genre
_AT_ONCE = 64  # variants scored together: a LEV may have many thousands of numbers


@dataclass(eq=False)
class ComparedText:
    """A text of a side, with its tokens."""

    exhibit: Exhibit
    tokens_by: TokensBy  # members mostly share one tokenizer
    copies: list[Exhibit] = field(default_factory=list)  # of this side, with the same tokens
    attention: dict[Member, NetworkOutput] = field(default_factory=dict)  # if it was kept

    @property
    def document(self) -> Document:
        """The document that was compared."""
        return self.exhibit.document

    def tokens(self, member: Member) -> Tokens:
        """The tokens that a member reads, with their spans in the text."""
        return self.tokens_by[member.tokenizer]


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparedSides:
    """The distinct texts of both sides, the population, and the log Bayes factor."""

    members: Sequence[Member]
    lead: Member  # its tokens are shown, and its LEVs show the genre
    scorer: Scorer
    population: Population | None  # as given, even if not used
    sides: tuple[Sequence[ComparedText], Sequence[ComparedText]]
    levs: tuple[Levs, Levs]  # (texts, lev_size) of each side
    scored: LogBayesFactors  # of this one pair
    taken_out: TakenOut = ()  # passages that were removed because they recur elsewhere

    @property
    def exhibits(self) -> tuple[list[Exhibit], list[Exhibit]]:
        """All exhibits of each side, copies directly after their original."""
        first, second = (
            [exhibit for text in side for exhibit in (text.exhibit, *text.copies)]
            for side in self.sides
        )
        return first, second

    @property
    def texts(self) -> list[ComparedText]:
        """The texts of both sides in one list, the first side's first."""
        return [*self.sides[0], *self.sides[1]]

    @property
    def log_bayes_factor(self) -> float:
        """The log Bayes factor without bounds: at a bound, nothing would contribute."""
        return float(self.scored.unbounded[0])

    @property
    def used(self) -> Population | None:
        """The population, or None if it was not used because it is of another genre."""
        return None if self.scored.population_misfit[0] else self.population

    @cached_property
    def contributions(self) -> list[Contribution]:
        """Each member's contribution to the log Bayes factor: see `Scorer.contributions`."""
        return self.scorer.contributions(*self.levs, self.used)

    def passages(self, text: ComparedText) -> IntArray:
        """The first token (passages,) of each passage of a text, in the leading member's tokens.

        A passage is what a window adds to those before it. The windows are those of the first
        network among the members.
        """
        return self._passages[text]

    @cached_property
    def _passages(self) -> dict[ComparedText, IntArray]:
        networks = [member.windows for member in self.members if member.windows is not None]
        windows = networks[0] if networks else WindowOptions()
        lengths = {text: len(text.tokens(self.lead).numbers) for text in self.texts}
        return {text: spread_starts(length, windows) for text, length in lengths.items()}

    def vary(self, text: ComparedText, times: IntArray) -> Array32:
        """The LEVs (variants, lev_size) of a text with some passages left out or repeated.

        `times` (variants, passages) is how often each passage occurs; all ones is the text itself.
        """
        parts = [variants.levs(times) for variants in self.variants_of(text)]
        # A passage that a text has twice counts twice.
        lengths = np.diff(self.passages(text), append=len(text.tokens(self.lead).numbers))
        tokens = np.maximum(times @ lengths, 1)  # (variants,)
        return np.concatenate([*parts, np.log(tokens)[:, None].astype(np.float32)], axis=1)

    def losses(self, side: int, number: int, times: IntArray) -> Iterator[FloatArray]:
        """For each member, what a side's half of its contribution loses (variants,).

        Each variant, as in `vary`, replaces the text. Where the loss is linear in the LEV and the
        LEV is a sum over n-grams, no LEV is made.
        """
        made = self.variants_of(self.sides[side][number])
        for variants, contribution in zip(made, self.contributions, strict=True):
            if isinstance(variants, NgramVariants) and isinstance(
                contribution, ProductContribution
            ):
                along = variants.along(times, contribution.directions[side][number])
                yield contribution.losses_along(side, number, along)
            else:
                yield contribution.losses(side, number, variants.levs(times))

    def variants_of(self, text: ComparedText) -> list[NgramVariants | NetworkVariants]:
        """What makes the variants of a text for each member: it is counted and read only once."""
        if text not in self._variants:
            starts = self.passages(text)
            self._variants[text] = [
                NetworkVariants(
                    member.encoder,
                    text.tokens(member).tokens,
                    member.topic(text.document),
                    starts,
                    text.attention.get(member),
                )
                if isinstance(member.encoder, Runtime)
                else NgramVariants(member.ngrams(text.document), text.tokens(member).tokens, starts)
                for member in self.members
            ]
        return self._variants[text]

    @cached_property
    def _variants(self) -> dict[ComparedText, list[NgramVariants | NetworkVariants]]:
        return {}

    def log_bayes_factors(self, first: Sequence[AnyLevs], second: Sequence[AnyLevs]) -> FloatArray:
        """The log Bayes factors (pairs,) of pairs of sets of LEVs, without bounds."""
        parts = [np.zeros(0)]
        for at in range(0, len(first), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            parts.append(self.scorer(first[part], second[part], self.population).unbounded)
        return np.concatenate(parts)


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
    atypicality: float  # of the text farthest from prose; 99% of the training texts are below 1
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
class Verification(InLanguage):
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
    scale = scale or VerbalScale()
    bounds = float(scored.lower_bound[0]) / LOG_10, float(scored.upper_bound[0]) / LOG_10
    sentence = scale.sentence(factor / LOG_10)
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
    departures = [text.departure.atypicality for text in examined if text.departure is not None]
    if departures and verifier.lead.genres is not None:
        likeness = Likeness(scorer.genre_shares(whole), max(departures), verifier.genre_names)
    cautions = tuple(
        cautions_of(
            verifier,
            sides,
            population=population,
            scored=scored,
            genres=list(map(scorer.genre_shares, comparison.levs)) if scored.two_genres[0] else (),
            misleading=verifier.misleading(likeness) if population is None else (),
            taken_out=comparison.taken_out,
            undecidable=bool(scorer.undecidable([first], [second])[0]),
        )
    )
    use = None
    if population is not None:
        without = float(verifier.score([first], [second])[0])
        use = PopulationUse(population.texts, without / LOG_10)
    obstacles = tuple(caution.message for caution in cautions if caution.blocks_decision)
    decided = decide(probability, delta, obstacles)
    reason = decided.reason
    if prior_same_author != 0.5 and not obstacles:
        reason += f", with the prior {prior_same_author:g}"
    if not scored.calibrated and decided.decision is not Decision.UNDECIDED:
        reason += ", by a model that is not calibrated"
    return Verification(
        log_bayes_factor=factor,
        log10_bayes_factor=factor / LOG_10,
        verbal=f"No statement is made: {reason}." if obstacles else sentence,
        lower_bound=bounds[0] if scored.calibrated else None,
        upper_bound=bounds[1] if scored.calibrated else None,
        conditions=in_words(scored.conditions),
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
        language=verifier.main_language or main_language(text.document for text in texts),
        language_given=verifier.language_given or any(text.document.language for text in texts),
    )


def _side(texts: Sequence[ExaminedText]) -> Side:
    documents = tuple(
        ComparedDocument(exhibit.document.id, len(text.tokens), exhibit.sha256)
        for text in texts
        for exhibit in (text.exhibit, *text.copies)
    )
    return Side(documents, sum(len(text.tokens) for text in texts))
