"""A comparison of two sides: each text is read, hashed, tokenized and encoded once.

A comparison has its log Bayes factor, each member's contribution to it, and what it would be with
other texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from adhominem.arrays import AnyLevs, Array32, FloatArray, IntArray, Levs
from adhominem.model.member import Member
from adhominem.ngrams.encoder import NgramEncoder, NgramVariants
from adhominem.pairs.passages import TakenOut
from adhominem.paper.runtime import NetworkOutput
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.contributions import Contribution, ProductContribution
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.text.tokenizer import Tokens
from adhominem.text.vocabulary import WindowOptions, spread_starts
from adhominem.verify.encoding import TokensBy

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
    lead: Member  # its tokens are shown, and its LEVs decide what is typical
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
        networks = [member.windows for member in self.members if member.windows is not None]
        windows = networks[0] if networks else WindowOptions()
        return spread_starts(len(text.tokens(self.lead).numbers), windows)

    def vary(self, text: ComparedText, times: IntArray) -> Array32:
        """The LEVs (variants, lev_size) of a text with some passages left out or repeated.

        `times` (variants, passages) is how often each passage occurs; all ones is the text itself.
        """
        parts = [self._varied(text, member, times) for member in self.members]
        # A passage that a text has twice counts twice.
        lengths = np.diff(self.passages(text), append=len(text.tokens(self.lead).numbers))
        tokens = np.maximum(times @ lengths, 1)  # (variants,)
        return np.concatenate([*parts, np.log(tokens)[:, None].astype(np.float32)], axis=1)

    def losses(self, side: int, number: int, times: IntArray) -> Iterator[FloatArray]:
        """For each member, what a side's half of its contribution loses (variants,).

        Each variant, as in `vary`, replaces the text. Where the loss is linear in the LEV and the
        LEV is a sum over n-grams, no LEV is made.
        """
        text = self.sides[side][number]
        for member, contribution in zip(self.members, self.contributions, strict=True):
            counted = self._counted(text, member)
            if counted is not None and isinstance(contribution, ProductContribution):
                along = counted.along(times, contribution.directions[side][number])
                yield contribution.losses_along(side, number, along)
            else:
                yield contribution.losses(side, number, self._varied(text, member, times))

    def _varied(self, text: ComparedText, member: Member, times: IntArray) -> Array32:
        """A member's LEVs (variants, size) of a text."""
        if (counted := self._counted(text, member)) is not None:
            return counted.levs(times)
        tokens, starts = text.tokens(member).tokens, self.passages(text)
        return member.vary(text.document, tokens, starts, times, text.attention.get(member))

    def _counted(self, text: ComparedText, member: Member) -> NgramVariants | None:
        """The variants of a text for a member that counts n-grams, counted once; else None."""
        if not isinstance(encoder := member.encoder, NgramEncoder):
            return None
        key = text, member
        if key not in self._variants:
            tokens, starts = text.tokens(member).tokens, self.passages(text)
            self._variants[key] = NgramVariants(encoder, tokens, starts)
        return self._variants[key]

    @cached_property
    def _variants(self) -> dict[tuple[ComparedText, Member], NgramVariants]:
        return {}

    def log_bayes_factors(self, first: Sequence[AnyLevs], second: Sequence[AnyLevs]) -> FloatArray:
        """The log Bayes factors (pairs,) of pairs of sets of LEVs, without bounds."""
        parts = [np.zeros(0)]
        for at in range(0, len(first), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            parts.append(self.scorer(first[part], second[part], self.population).unbounded)
        return np.concatenate(parts)
