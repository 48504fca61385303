"""Which n-grams contribute most to a log Bayes factor, and where they stand.

An n-gram contributes by how far its frequency is from usual, in the texts of both sides. So its
contribution is what the log Bayes factor loses when the n-gram becomes as frequent in all texts as
it usually is in texts of their genre. What is usual is known to a profile, where an n-gram has a
dimension of its own, and the centre of the genre a value there.

Without a population, whatever is unusual also makes the texts seem of an unknown genre, for which
scores are lowered. So then most of the strongest contributions are negative, even where one person
wrote both sides: that an n-gram contributes less than nothing does not say that the sides differ in
it. Only n-grams that occur are looked at; what both sides avoid is not.

Texts have thousands of n-grams; those that are worth it are found by the slope of the cosine, then
each is made usual for good.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adhominem.arrays import FloatArray, IntArray
from adhominem.encoders.ngrams.counter import CHANNELS, END, MASK, START, Ngram
from adhominem.encoders.ngrams.encoder import NgramEncoder
from adhominem.models.member import Member
from adhominem.scoring.styles import unit
from adhominem.verify.comparison import ComparedText, Comparison

_CANDIDATES = 150  # made usual one by one
_SHOWN = 30
_AT_ONCE = 32  # made usual together


@dataclass(frozen=True)
class Place:
    """A place in one of the texts of an explanation, in characters."""

    text: int  # index into the texts of the explanation
    start: int
    end: int


@dataclass(frozen=True)
class NgramContribution:
    """An n-gram, and what it contributes."""

    ngram: str  # as it is shown to people
    channel: str  # characters, tokens, bigrams or shaped_bigrams
    contribution: float  # log Bayes factor with it, less that without it, in nats
    first: int  # how often it occurs in the texts of the first side
    second: int
    places: tuple[Place, ...]


def explain_ngrams(comparison: Comparison) -> tuple[NgramContribution, ...]:
    """The n-grams that contribute most, the strongest first; none without an n-gram profile."""
    members = [
        _NgramMember(comparison, number)
        for number, member in enumerate(comparison.members)
        if isinstance(member.encoder, NgramEncoder) and member.styles is not None
    ]
    profile = next((member for member in members if member.encoder.is_profile), None)
    if profile is None:
        return ()
    unusual = _Unusual(profile)
    candidates = unusual.steepest(_CANDIDATES)
    contributions = comparison.log_bayes_factor - _made_usual(
        comparison, members, unusual, candidates
    )
    explained: list[NgramContribution] = []
    seen: set[tuple[bool, tuple[tuple[int, ...], ...]]] = set()
    for at in np.argsort(-np.abs(contributions), kind="stable"):
        value, column = float(contributions[at]), int(unusual.columns[candidates[at]])
        ngram = profile.table.ngram(column)
        occurrences = [text.tokens_with(column) for text in profile.texts]
        where = tuple(tuple(tokens.tolist()) for tokens in occurrences)
        if (value > 0, where) in seen:  # "·the" and "the·" of one word: the stronger is enough
            continue
        seen.add((value > 0, where))
        counts = [0, 0]
        places: list[Place] = []
        for text, tokens in zip(profile.texts, occurrences, strict=True):
            counts[text.side] += len(tokens)
            places += [Place(text.number, *span) for span in _spans(ngram, text, tokens)]
        explained.append(
            NgramContribution(
                shown(ngram), CHANNELS[ngram.channel], value, counts[0], counts[1], tuple(places)
            )
        )
        if len(explained) == _SHOWN:
            break
    return tuple(explained)


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


def _made_usual(
    comparison: Comparison, members: list[_NgramMember], unusual: _Unusual, chosen: IntArray
) -> FloatArray:
    """(chosen,): the log Bayes factor with each of these n-grams made usual in all texts."""
    parts = [np.zeros(0)]
    for at in range(0, len(chosen), _AT_ONCE):
        batch = chosen[at : at + _AT_ONCE]
        changed = [np.repeat(levs[None], len(batch), axis=0) for levs in comparison.levs]
        for member in members:
            columns = member.columns_of(unusual, batch)  # (chosen,)
            known = np.flatnonzero(columns >= 0)
            rows = member.encoder.rows(columns[known])  # (known, lev_size)
            for text in member.texts:
                excess = unusual.excess(text.number, batch[known])  # in levels
                step = excess * text.unit_values[columns[known]]
                varied = changed[text.side]
                varied[known, text.place, member.dimensions] -= step[:, None] * rows
        parts.append(comparison.of_pairs(list(changed[0]), list(changed[1])))
    return np.concatenate(parts)


@dataclass(frozen=True)
class _Text:
    """A text as an n-gram member sees it."""

    number: int  # among the texts of both sides
    side: int
    place: int  # among the texts of its side
    tokens: list[str]
    spans: IntArray  # (tokens, 2)
    values: FloatArray  # (columns,): what the LEV has of each n-gram
    unit_values: FloatArray  # (columns,): what it would have of one that occurs once
    columns: IntArray  # of all occurrences, sorted
    places: IntArray  # the token of each

    def tokens_with(self, column: int) -> IntArray:
        """The tokens that an n-gram is in, or begins with; twice if it is in one twice."""
        begin, end = np.searchsorted(self.columns, [column, column + 1])
        return self.places[begin:end]


class _NgramMember:
    """An n-gram encoder among the members, and the texts of both sides."""

    def __init__(self, comparison: Comparison, number: int) -> None:
        self.comparison, self.number = comparison, number
        self.member: Member = comparison.members[number]
        assert isinstance(self.member.encoder, NgramEncoder)
        self.encoder = self.member.encoder
        self.table = self.encoder.counter.table
        begin = sum(member.lev_size for member in comparison.members[:number])
        self.dimensions = slice(begin, begin + self.member.lev_size)
        self.texts: list[_Text] = []
        for side, texts in enumerate(comparison.sides):
            for place, text in enumerate(texts):
                self.texts.append(self._text(side, place, text))

    def _text(self, side: int, place: int, text: ComparedText) -> _Text:
        tokenized = text.tokens(self.member)
        values, unit_values = self.encoder.values(tokenized.tokens)
        columns, places = self.encoder.counter.occurrences(tokenized.tokens)
        order = np.argsort(columns, kind="stable")
        return _Text(
            len(self.texts),
            side,
            place,
            tokenized.tokens,
            tokenized.spans,
            values,
            unit_values,
            columns[order],
            places[order],
        )

    @cached_property
    def _columns(self) -> dict[Ngram, int]:
        """The n-grams of all texts, and the column of each."""
        columns = np.unique(np.concatenate([text.columns for text in self.texts]))
        return {self.table.ngram(column): column for column in columns.tolist()}

    def columns_of(self, unusual: _Unusual, chosen: IntArray) -> IntArray:
        """(chosen,): the columns of some of the profile's n-grams here, or -1."""
        columns = unusual.columns[chosen]
        if unusual.profile is self:
            return columns
        names = [unusual.profile.table.ngram(column) for column in columns.tolist()]
        return np.array([self._columns.get(name, -1) for name in names], dtype=np.int64)


class _Unusual:
    """How far from usual each n-gram of a profile is in each text."""

    def __init__(self, profile: _NgramMember) -> None:
        self.profile = profile
        styles = profile.member.styles
        assert styles is not None
        levs = [part[:, profile.dimensions].astype(np.float64) for part in profile.comparison.levs]
        part = profile.comparison.part(profile.number)
        mean, texts = (None, 0) if part is None else (part.mean, part.texts)
        centre = styles.centre(np.concatenate(levs), mean, texts)
        occurring = np.unique(np.concatenate([text.columns for text in profile.texts]))
        self.columns = occurring[profile.encoder.has_own_dimension(occurring)]
        usual = profile.encoder.project_back(self.columns, centre)  # (n-grams,)
        self._excess = np.array(
            [text.values[self.columns] - np.maximum(usual, 0) for text in profile.texts]
        )  # (texts, n-grams)
        self._rest = [part - centre for part in levs]
        self._usual_length = styles.usual

    def excess(self, text: int, chosen: IntArray) -> FloatArray:
        """(chosen,): in levels: one more than the log of a frequency, less what is usual."""
        unit_values = self.profile.texts[text].unit_values[self.columns[chosen]]
        return np.asarray(self._excess[text, chosen] / np.maximum(unit_values, 1e-12))

    def steepest(self, most: int) -> IntArray:
        """The n-grams along which the cosine of both sides changes most, by their index."""
        units = [unit(part, self._usual_length) for part in self._rest]
        means = [part.mean(axis=0) for part in units]
        slopes = np.zeros(len(self.columns))
        for text in self.profile.texts:
            unit_lev, other = units[text.side][text.place], means[1 - text.side]
            rest = self._rest[text.side]
            length = float(np.linalg.norm(rest[text.place]))
            if length > self._usual_length:  # a shorter one is not brought to length 1
                other = other - (unit_lev @ other) * unit_lev
            along = other / (max(length, self._usual_length) * len(rest))  # (lev_size,)
            back = self.profile.encoder.project_back(self.columns, along)
            slopes += self._excess[text.number] * back
        return np.argsort(-np.abs(slopes), kind="stable")[:most]


def _spans(ngram: Ngram, text: _Text, tokens: IntArray) -> list[tuple[int, int]]:
    """Where an n-gram stands, in characters."""
    spans: list[tuple[int, int]] = []
    for at in np.unique(tokens).tolist():
        start, end = int(text.spans[at, 0]), int(text.spans[at, 1])
        if ngram.channel == 0:
            spans += _inside(ngram.parts[0], text.tokens[at], start, end)
        elif ngram.channel == 1:
            spans.append((start, end))
        else:
            spans.append((start, int(text.spans[at + 1, 1])))
    return spans


def _inside(gram: str, token: str, start: int, end: int) -> list[tuple[int, int]]:
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
