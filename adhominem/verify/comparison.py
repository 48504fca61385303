"""Two sides that are compared: each text read, hashed, tokenized and encoded once.

A comparison says what it comes to, how alike each member finds both sides, and what it would come
to if texts were others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from adhominem.text.tokenizer import Tokenizer, Tokens
from adhominem.text.vocabulary import WindowOptions, spread_starts

_AT_ONCE = 64  # variants scored together: a LEV may have many thousand numbers


@dataclass(frozen=True, eq=False)
class ComparedText:
    """A text of a side."""

    exhibit: Exhibit
    tokens_by: Mapping[Tokenizer, Tokens]  # members mostly share one tokenizer
    attention: tuple[NetworkOutput | None, ...]  # where each member looked; None if it was not kept
    copies: tuple[Exhibit, ...] = ()  # of the same side, with the same tokens: all count once

    @property
    def document(self) -> Document:
        """The text itself."""
        return self.exhibit.document

    def tokens(self, member: Member) -> Tokens:
        """The tokens that a member sees, and where they stand in the text."""
        return self.tokens_by[member.tokenizer]


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The texts of both sides, each once, and the population that they are compared with."""

    members: Sequence[Member]
    lead: Member  # whose tokens are shown, and by which texts are judged to be usual or not
    scorer: Scorer
    population: Population | None  # if one was given
    first: tuple[ComparedText, ...]
    second: tuple[ComparedText, ...]
    levs: tuple[Levs, Levs]  # of each side, (texts, lev_size)
    scored: LogBayesFactors  # what it comes to
    taken_out: TakenOut = ()  # of the texts: passages that stand elsewhere, too

    @property
    def sides(self) -> tuple[tuple[ComparedText, ...], tuple[ComparedText, ...]]:
        """The texts of both sides."""
        return self.first, self.second

    @property
    def exhibits(self) -> tuple[list[Exhibit], list[Exhibit]]:
        """All texts that were given of each side, copies after what they are copies of."""
        first, second = (
            [exhibit for text in side for exhibit in (text.exhibit, *text.copies)]
            for side in self.sides
        )
        return first, second

    @property
    def texts(self) -> tuple[ComparedText, ...]:
        """The texts of both sides in a row."""
        return (*self.first, *self.second)

    @property
    def log_bayes_factor(self) -> float:
        """What both sides come to, without bounds: at a bound nothing would contribute."""
        return float(self.scored.unbounded[0])

    @property
    def used(self) -> Population | None:
        """The population, unless it is of another genre: then it was not used."""
        return None if self.scored.population_misfit[0] else self.population

    @cached_property
    def contributions(self) -> list[Contribution]:
        """Each member's share of the log Bayes factor: see `Scorer`."""
        return self.scorer.contributions(*self.levs, self.used)

    def passages(self, text: ComparedText) -> IntArray:
        """(passages,): the tokens at which the passages of a text begin, as the lead has them.

        A passage is what a window adds to those before it. The windows are those of the first
        network among the members.
        """
        if text not in self._passages:
            networks = [member.windows for member in self.members if member.windows is not None]
            windows = networks[0] if networks else WindowOptions()
            self._passages[text] = spread_starts(len(text.tokens(self.lead).tokens), windows)
        return self._passages[text]

    def vary(self, text: ComparedText, times: IntArray) -> Array32:
        """(variants, lev_size): the LEVs of a text with some passages left out or repeated.

        `times` (variants, passages) says how often each passage is there. All ones is the text
        itself.
        """
        starts = self.passages(text)
        parts = []
        for member, attention in zip(self.members, text.attention, strict=True):
            if (counted := self._counted(text, member)) is not None:
                parts.append(counted.levs(times))
            else:
                read = text.tokens(member).tokens
                parts.append(member.vary(text.document, read, starts, times, attention))
        # A passage that a text has twice counts twice.
        ends = np.append(starts[1:], len(text.tokens(self.lead).tokens))
        tokens = np.maximum(times @ (ends - starts), 1)  # (variants,)
        parts.append(np.log(tokens)[:, None].astype(np.float32))
        return np.concatenate(parts, axis=1)

    def losses(self, side: int, number: int, times: IntArray) -> Iterator[FloatArray]:
        """For each member, (variants,): what a side's half of its share loses.

        Each variant of a text, as in `vary`, takes its place. Where the loss is linear in the LEV,
        and the LEV a sum over n-grams, no LEV is made.
        """
        text = self.sides[side][number]
        starts = self.passages(text)
        for member, attention, contribution in zip(
            self.members, text.attention, self.contributions, strict=True
        ):
            counted = self._counted(text, member)
            if isinstance(contribution, ProductContribution) and counted is not None:
                along = counted.along(times, contribution.directions[side][number])
                yield contribution.losses_along(side, number, along)
            else:
                tokens = text.tokens(member).tokens
                levs = member.vary(text.document, tokens, starts, times, attention)
                yield contribution.losses(side, number, levs)

    def _counted(self, text: ComparedText, member: Member) -> NgramVariants | None:
        """The variants of a text for a member that counts n-grams; they are counted once."""
        if not isinstance(encoder := member.encoder, NgramEncoder):
            return None
        key = text, member
        if key not in self._variants:
            tokens, starts = text.tokens(member).tokens, self.passages(text)
            self._variants[key] = NgramVariants(encoder, tokens, starts)
        return self._variants[key]

    @cached_property
    def _passages(self) -> dict[ComparedText, IntArray]:
        return {}

    @cached_property
    def _variants(self) -> dict[tuple[ComparedText, Member], NgramVariants]:
        return {}

    def of_pairs(self, first: Sequence[AnyLevs], second: Sequence[AnyLevs]) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of sets of LEVs, without bounds."""
        parts = [np.zeros(0)]
        for at in range(0, len(first), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            parts.append(self.scorer(first[part], second[part], self.population).unbounded)
        return np.concatenate(parts)
