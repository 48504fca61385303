"""The n-grams of the texts of a comparison: which occur, where, and which coincide.

"hils" and "… whilst" always occur in "whilst": they are one habit. And parts of names such as
"Eliz" are not habits at all: who is written about is not how somebody writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.model.member import Member
from adhominem.ngrams.encoder import NgramEncoder
from adhominem.ngrams.table import END, MASK, START, Ngram, NgramTable
from adhominem.score.contributions import ProductContribution
from adhominem.verify.comparison import ComparedText, Comparison

_SAME = 0.8  # share of the places of an n-gram that are those of another
_NAMED = 0.8  # share of the places of an n-gram that are in names
_ENDS = frozenset(".!?…:")  # of a sentence
_OPENING = frozenset("\"'“”‘’«»([{*_")  # after which a word may be the first of its sentence


@dataclass(frozen=True)
class NgramText:
    """A text as an n-gram member reads it."""

    side: int
    place: int  # index among the texts of its side
    text: str  # as given
    tokens: list[str]
    spans: IntArray  # (tokens, 2)
    parts: int  # number of parts that a long text is read in
    values: FloatArray  # (columns,): the LEV's value of each n-gram
    unit_values: FloatArray  # (columns,): the value that a single occurrence gives
    # All occurrences; empty for members without a profile, which do not need them.
    columns: IntArray  # sorted
    places: IntArray  # the token that each is in or begins with

    def tokens_with(self, column: int) -> IntArray:
        """The tokens that an n-gram is in or begins with; repeated if it occurs in one twice."""
        begin, end = np.searchsorted(self.columns, [column, column + 1])
        return self.places[begin:end]

    def usual_counts(self, columns: IntArray, usual: FloatArray) -> FloatArray:
        """The counts (columns,) at which n-grams would have their usual values in this text.

        An n-gram that half of the texts have once counts one half.
        """
        levels = np.maximum(usual, 0) / np.maximum(self.unit_values[columns], 1e-12)
        # A value grows with the logarithm of a count.
        return self.parts * np.where(levels < 1, levels, np.exp(np.minimum(levels, 20) - 1))


class NgramMember:
    """An n-gram member of the model, with the texts of both sides and its contribution."""

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
        """The columns of the n-grams that occur in any text, sorted and without repetition."""
        return np.unique(np.concatenate([text.columns for text in self.texts]))

    def columns_of(self, table: NgramTable, columns: IntArray) -> IntArray:
        """The columns (columns,) for those of another table, sorted; -1 where none occurs here."""
        here = table.columns_in(self.table, columns)
        occurs = np.any([text.values[here] != 0 for text in self.texts], axis=0)
        return np.where((here >= 0) & occurs, here, -1)


def ngram_members(comparison: Comparison) -> Iterator[NgramMember]:
    """The members whose product of both sides is a sum over n-grams."""
    for member, part in zip(comparison.members, comparison.contributions, strict=True):
        if isinstance(member.encoder, NgramEncoder) and isinstance(part, ProductContribution):
            yield NgramMember(comparison, member, part)


def shown(ngram: Ngram) -> str:
    """An n-gram in readable form: a dot for the edge of a word, ... for any other word."""
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
    """The number of characters that an n-gram shows: none for masked words and shapes."""
    if ngram.channel == 0:
        return len(ngram.parts[0].strip(START + END))
    return sum(
        len(part) for part in ngram.parts if part != MASK and (part[:1] != "~" or len(part) == 1)
    )


def spans_of(ngram: Ngram, text: NgramText, tokens: IntArray) -> list[tuple[int, int]]:
    """The spans of an n-gram in some tokens of a text, in characters."""
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
    """The spans of a character n-gram in a token with this span.

    If normalisation has changed the length of the token, it is the whole token.
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


@dataclass(frozen=True)
class Occurrences:
    """The occurrences of some n-grams, with tokens numbered across all texts."""

    tokens: int
    ngram: IntArray  # (occurrences,): index of the n-gram, sorted
    token: IntArray  # (occurrences,): the token that it is in or begins with
    is_pair: BoolArray  # (n-grams,): whether it spans two tokens

    @classmethod
    def of(cls, texts: Sequence[NgramText], columns: IntArray, is_pair: BoolArray) -> Occurrences:
        """The occurrences of the n-grams with these sorted columns, at most one per token."""
        starts = np.cumsum([0, *(len(text.tokens) for text in texts)])
        both = []
        for text, start in zip(texts, starts[:-1], strict=True):
            at = np.minimum(np.searchsorted(columns, text.columns), len(columns) - 1)
            known = columns[at] == text.columns
            both.append(np.stack([at[known], start + text.places[known]]))
        ngram, token = np.concatenate(both, axis=1)
        tokens = max(int(starts[-1]), 1)
        # As single numbers, which NumPy sorts many times as fast as pairs.
        ngram, token = np.divmod(np.unique(ngram * tokens + token), tokens)
        return cls(tokens, ngram, token, is_pair)

    def counts(self) -> IntArray:
        """The number of occurrences (n-grams,) of each n-gram."""
        return np.bincount(self.ngram, minlength=len(self.is_pair))

    def share_in(self, marked: BoolArray) -> FloatArray:
        """The share (n-grams,) of occurrences in marked tokens; `marked` is (tokens,)."""
        second = np.append(marked[1:], False)
        here = marked[self.token] | (self.is_pair[self.ngram] & second[self.token])
        inside = np.bincount(self.ngram, here, minlength=len(self.is_pair))
        return np.asarray(inside / np.maximum(self.counts(), 1))

    def tokens_of(self, ngram: int) -> IntArray:
        """The tokens that an n-gram begins in, sorted."""
        begin, end = np.searchsorted(self.ngram, [ngram, ngram + 1])
        return self.token[begin:end]


class _Groups:
    """Groups of n-grams that occur where the first of their group does.

    For each token the groups that occur there are known, so that an n-gram is compared only with
    groups that it meets.
    """

    def __init__(self) -> None:
        self.ngrams: list[list[int]] = []  # per group
        self.sizes: list[int] = []  # per group: number of tokens in which its first n-gram begins
        # For n-grams of one token, and for pairs: the groups in each token.
        self._at: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})

    def holding(self, first: list[int], is_pair: bool) -> list[int]:
        """The groups that contain nearly all occurrences of an n-gram, which begins in `first`."""
        if not first:
            return list(range(len(self.ngrams)))
        at = self._at[is_pair]
        met = Counter(chain.from_iterable(at.get(token, ()) for token in first))
        return [group for group, times in met.items() if times >= _SAME * len(first)]

    def begin(self, ngram: int, first: list[int], is_pair: bool) -> None:
        """Begin a group; pairs of words must begin in the same token, a word may be in either."""
        group = len(self.ngrams)
        self.ngrams.append([ngram])
        self.sizes.append(len(first))
        to_other = 1 if is_pair else -1
        either = {*first, *(token + to_other for token in first)}
        for at, places in ((self._at[is_pair], first), (self._at[not is_pair], either)):
            for place in places:
                at.setdefault(place, []).append(group)


def group(occurrences: Occurrences, ngrams: IntArray) -> list[list[int]]:
    """Groups of n-grams, by index, that occur where the first of the group does.

    Each n-gram joins the rarest earlier group that occurs wherever it does, or begins a new one.
    """
    groups = _Groups()
    for ngram in ngrams.tolist():
        first, is_pair = occurrences.tokens_of(ngram).tolist(), bool(occurrences.is_pair[ngram])
        holding = groups.holding(first, is_pair)
        if holding:
            rarest = min(holding, key=lambda group: (groups.sizes[group], group))
            groups.ngrams[rarest].append(ngram)
        else:
            groups.begin(ngram, first, is_pair)
    return groups.ngrams


def are_names(occurrences: Occurrences, names: BoolArray) -> BoolArray:
    """Whether nearly all occurrences of an n-gram (n-grams,) are in `names` (tokens,)."""
    return np.asarray(occurrences.share_in(names) >= _NAMED)


def name_tokens(texts: Sequence[NgramText], frequent: Sequence[str]) -> BoolArray:
    """Whether each token (tokens,) of the texts seems to be a name or part of one.

    Names are capitalised words within a sentence, or anywhere if they are not among the `frequent`
    types. A word that also occurs in lower case in these texts is not a name, nor is a frequent
    one in capitals.
    """
    known, types = set(frequent), {token for text in texts for token in text.tokens}

    def seems_name(token: str) -> bool:
        small = token.lower()
        if not token[:1].isupper() or token == "I" or token.startswith("I'") or small in types:
            return False
        return not (token.isupper() and small in known)

    names = {token for token in types if seems_name(token)}
    rare = {token for token in names if token not in known and token.lower() not in known}
    return np.array(
        [
            token in rare or (token in names and not first)
            for text in texts
            for token, first in zip(text.tokens, _begin_sentences(text), strict=True)
        ],
        dtype=bool,
    )


def _begin_sentences(text: NgramText) -> Iterator[bool]:
    """For each token, whether it may begin a sentence, a line, or direct speech."""
    before, end = ".", 0
    for token, (start, stop) in zip(text.tokens, text.spans.tolist(), strict=True):
        sign = not any(map(str.isalnum, before)) and before[-1] in _ENDS | _OPENING
        yield sign or "\n" in text.text[end:start]
        before, end = token, stop
