"""The texts of a comparison as its n-gram members see them: which n-grams occur, and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adhominem.arrays import FloatArray, IntArray
from adhominem.model.member import Member
from adhominem.ngrams.encoder import NgramEncoder
from adhominem.ngrams.table import END, MASK, START, Ngram, NgramTable
from adhominem.score.contributions import ProductContribution
from adhominem.verify.comparison import ComparedText, Comparison


@dataclass(frozen=True)
class NgramText:
    """A text as an n-gram member sees it."""

    side: int
    place: int  # among the texts of its side
    text: str  # as it was given
    tokens: list[str]
    spans: IntArray  # (tokens, 2)
    parts: int  # that it is read in, if it is long
    values: FloatArray  # (columns,): what the LEV has of each n-gram
    unit_values: FloatArray  # (columns,): what it would have of one that occurs once
    # Of all occurrences; none are kept for a member that is no profile: nobody asks where they are.
    columns: IntArray  # sorted
    places: IntArray  # the token that each is in, or begins with

    def tokens_with(self, column: int) -> IntArray:
        """The tokens that an n-gram is in, or begins with; twice if it is in one twice."""
        begin, end = np.searchsorted(self.columns, [column, column + 1])
        return self.places[begin:end]

    def usual_counts(self, columns: IntArray, usual: FloatArray) -> FloatArray:
        """(columns,): how often n-grams would be here if the LEV had so much of them as is usual.

        One that half of the texts have once is there half a time.
        """
        levels = np.maximum(usual, 0) / np.maximum(self.unit_values[columns], 1e-12)
        # A value grows with the logarithm of a count, and a text of one part has one of each.
        return self.parts * np.where(levels < 1, levels, np.exp(np.minimum(levels, 20) - 1))


class NgramMember:
    """An n-gram encoder among the members, the texts of both sides, and what it contributes."""

    def __init__(
        self, comparison: Comparison, member: Member, contribution: ProductContribution
    ) -> None:
        assert isinstance(member.encoder, NgramEncoder)
        self.member, self.encoder = member, member.encoder
        self.contribution = contribution
        self.table = self.encoder.counter.table
        self.texts = [
            self._text(side, place, text)
            for side, texts in enumerate(comparison.sides)
            for place, text in enumerate(texts)
        ]

    def _text(self, side: int, place: int, text: ComparedText) -> NgramText:
        tokenized = text.tokens(self.member)
        values, unit_values = self.encoder.values(tokenized.tokens)
        columns = places = np.zeros(0, np.int64)
        if self.encoder.is_profile:
            columns, places = self.encoder.counter.occurrences(tokenized.tokens)
        order = np.argsort(columns, kind="stable")
        return NgramText(
            side=side,
            place=place,
            text=text.document.text,
            tokens=tokenized.tokens,
            spans=tokenized.spans,
            parts=len(self.encoder.parts(len(tokenized.tokens))),
            values=values,
            unit_values=unit_values,
            columns=columns[order],
            places=places[order],
        )

    @cached_property
    def columns(self) -> IntArray:
        """Those of the n-grams that occur in any text, each once."""
        return np.unique(np.concatenate([text.columns for text in self.texts]))

    def columns_of(self, table: NgramTable, columns: IntArray) -> IntArray:
        """(columns,): for those of another table, rising, or -1 where none occurs here."""
        here = table.columns_in(self.table, columns)
        occurs = np.any([text.values[here] != 0 for text in self.texts], axis=0)
        return np.where((here >= 0) & occurs, here, -1)


def ngram_members(comparison: Comparison) -> Iterator[NgramMember]:
    """Those whose product of both sides is a sum over n-grams."""
    for member, part in zip(comparison.members, comparison.contributions, strict=True):
        if isinstance(member.encoder, NgramEncoder) and isinstance(part, ProductContribution):
            yield NgramMember(comparison, member, part)


def shown(ngram: Ngram) -> str:
    """An n-gram as people can read it: a dot for the edge of a word, ... for any other word."""
    if ngram.channel == 0:
        return ngram.parts[0].replace(START, "·").replace(END, "·")
    return " ".join(_shown_symbol(part) for part in ngram.parts)


def _shown_symbol(symbol: str) -> str:
    if symbol == MASK:
        return "…"
    if not symbol.startswith("~") or len(symbol) == 1:
        return symbol
    if symbol == "~#":
        return "‹number›"
    if not symbol[1].isalpha():
        return f"‹{symbol[1:]}›"
    case = {"C": "Aa", "U": "AA"}.get(symbol[1], "")
    return f"‹{case}…{symbol[2:]}›"


def letters(ngram: Ngram) -> int:
    """How many characters an n-gram shows: none of a word that is masked, or only has a shape."""
    if ngram.channel == 0:
        return len(ngram.parts[0].strip(START + END))
    return sum(
        len(part) for part in ngram.parts if part != MASK and (part[:1] != "~" or len(part) == 1)
    )


def spans_of(ngram: Ngram, text: NgramText, tokens: IntArray) -> list[tuple[int, int]]:
    """Where an n-gram stands, in characters."""
    spans: list[tuple[int, int]] = []
    for at in np.unique(tokens).tolist():
        start, end = int(text.spans[at, 0]), int(text.spans[at, 1])
        if ngram.channel == 0:
            spans += inside(ngram.parts[0], text.tokens[at], start, end)
        elif ngram.channel == 1:
            spans.append((start, end))
        else:
            spans.append((start, int(text.spans[at + 1, 1])))
    return spans


def inside(gram: str, token: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where a character n-gram stands in a token with this span.

    Where normalisation has changed the length of the token, it is the whole token.
    """
    marked = f"{START}{token}{END}"
    if end - start != len(token) or gram not in marked:
        return [(start, end)]
    spans = []
    at = marked.find(gram)
    while at >= 0:
        first, last = max(0, at - 1), min(len(token), at - 1 + len(gram))
        spans.append((start + first, start + last))
        at = marked.find(gram, at + 1)
    return spans
