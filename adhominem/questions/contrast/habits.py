"""What is counted in texts to set them apart, and how often: words, marks, and n-grams.

Every token type is counted, and every n-gram of a model's table: character n-grams inside words,
and two tokens in a row, of which rare ones are masked. Each belongs to a group:

    words    the most common words, which nobody can do without
    marks    punctuation and other signs
    phrases  two tokens in a row
    letters  letters within words: beginnings, endings, spellings
    content  all other words: what a text is about

Names are none of these: who is written about is not how somebody writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from adhominem.arrays import Array32, BoolArray, FloatArray, IntArray
from adhominem.errors import NO_WORD, EmptyTextError, InputError, OptionError
from adhominem.model.member import Member
from adhominem.ngrams.counter import NgramCounter
from adhominem.ngrams.encoder import NgramEncoder
from adhominem.ngrams.table import Ngram
from adhominem.statistics import NORMAL, student_quantile
from adhominem.text.files import Document
from adhominem.verify.ngram_contributions import NgramText, letters, name_tokens
from adhominem.verify.verifier import Verifier

GROUPS = ("words", "marks", "phrases", "letters", "content")
_FEWEST = 5  # occurrences: of rarer features hardly anything is known
_NAMES = 10  # that are listed for each side
_SEEN = 30_000  # tokens of a side, at least, where it is looked which features stand together
_NOTHING = np.zeros(0)


@dataclass(frozen=True)
class Slice:
    """A part of a text, of about as many tokens as others."""

    side: int
    text: int  # number among all texts
    tokens: int


@dataclass(frozen=True)
class Counts:
    """How often features occur in slices of the texts of two sides, and of a population."""

    source: Occurring
    slices: list[Slice]
    table: Array32  # (slices, features)
    columns: IntArray  # (features,): in rising order
    features: list[Ngram]  # (features,)
    groups: list[str]  # (features,): empty for features that are not reported
    names: tuple[tuple[str, ...], ...]  # of each side, the most frequent first

    @property
    def is_pair(self) -> BoolArray:
        """(features,): whether a feature takes two tokens."""
        return np.array([feature.channel > 1 for feature in self.features], dtype=bool)

    def side(self, side: int, *, by_text: bool) -> tuple[FloatArray, FloatArray]:
        """Counts (texts, features) and tokens (texts,) of a side; or of its slices."""
        chosen = [at for at, part in enumerate(self.slices) if part.side == side]
        tokens = np.array([self.slices[at].tokens for at in chosen], np.float64)
        counts = self.table[chosen].astype(np.float64)
        if not by_text:
            return counts, tokens
        of_text = np.array([self.slices[at].text for at in chosen])
        starts = np.flatnonzero(np.append(True, np.diff(of_text) != 0))
        return np.add.reduceat(counts, starts), np.add.reduceat(tokens, starts)

    def placed(self, features: IntArray) -> list[NgramText]:
        """Texts of both sides, with the places of some features, by their numbers.

        Of large sides, the first texts are enough to see which features stand together.
        """
        columns, texts, seen = self.columns[features], [], [0, 0]
        for number, text in enumerate(self.source.texts):
            if text.side < 2 and seen[text.side] < _SEEN:
                seen[text.side] += len(text.tokens)
                occurring, places = self.source.of(number)
                known = np.isin(occurring, columns)
                texts.append(replace(text, columns=occurring[known], places=places[known]))
        return texts


@dataclass(frozen=True)
class Occurring:
    """Texts, and where features occur in them; nothing occurs in a name."""

    counter: NgramCounter
    texts: list[NgramText]
    types: dict[str, int]  # all token types, by number; their columns follow the model's
    names: list[BoolArray]  # (tokens,) of each text: whether each is of a name

    @classmethod
    def of_texts(cls, counter: NgramCounter, texts: list[NgramText]) -> Occurring:
        """Find types and names in texts."""
        types: dict[str, int] = {}
        for text in texts:
            for token in text.tokens:
                types.setdefault(token, len(types))
        ends = np.cumsum([len(text.tokens) for text in texts])[:-1]
        names = np.split(name_tokens(texts, counter.table.tokens), ends)
        return cls(counter, texts, types, names)

    @property
    def size(self) -> int:
        """How many columns there are."""
        return sum(self.counter.table.sizes) + len(self.types)

    def of(self, number: int) -> tuple[IntArray, IntArray]:
        """Each feature where it occurs in a text: its column, and the token it begins in."""
        table, tokens, named = self.counter.table, self.texts[number].tokens, self.names[number]
        columns, places = self.counter.occurrences(tokens)
        is_pair = columns >= table.channels[2].start
        # A pair is of a name if its second token is, too.
        in_name = named[places] | (is_pair & np.append(named[1:], False)[places])
        # Whole tokens are counted by type, also those that the model's table does not have.
        whole = (columns >= table.channels[1].start) & ~is_pair
        kept = ~in_name & ~whole
        others = np.flatnonzero(~named)
        types = np.array([self.types[tokens[at]] for at in others.tolist()], dtype=np.int64)
        return (
            np.concatenate([columns[kept], types + sum(table.sizes)]),
            np.concatenate([places[kept], others]),
        )


def counting_member(verifier: Verifier) -> Member:
    """The member whose n-grams are counted: a profile if there is one."""
    encoders = [
        (member.encoder.is_profile, member)
        for member in verifier.members
        if isinstance(member.encoder, NgramEncoder)
    ]
    if not encoders:
        raise OptionError(
            f"the model {verifier.name} counts no n-grams; expected one with an n-gram member, "
            "such as general-en"
        )
    return max(encoders, key=lambda row: row[0])[1]  # the first of equals


def count_features(
    member: Member,
    sides: Sequence[Sequence[Document]],
    slice_tokens: int,
    on_texts: Callable[[int], None] = lambda count: None,
) -> Counts:
    """Count what occurs often enough on the first two sides, in the texts of all sides."""
    assert isinstance(member.encoder, NgramEncoder)
    counter = member.encoder.counter
    texts = [
        _tokenized(member, document, side, place)
        for side, documents in enumerate(sides)
        for place, document in enumerate(documents)
    ]
    source = Occurring.of_texts(counter, texts)
    total = np.zeros(source.size)
    for number, text in enumerate(texts):
        if text.side < 2:  # what neither side has sets nobody apart
            total += np.bincount(source.of(number)[0], minlength=source.size)
        on_texts(1)
    columns = np.flatnonzero(total >= _FEWEST)
    size, types = sum(counter.table.sizes), list(source.types)
    features = [
        counter.table.ngram(column) if column < size else Ngram(1, (types[column - size],))
        for column in columns.tolist()
    ]
    common = set(counter.table.tokens[: counter.table.unmasked])
    slices, table = _sliced(source, columns, slice_tokens)
    return Counts(
        source=source,
        slices=slices,
        table=table,
        columns=columns,
        features=features,
        groups=[group_of(feature, common) for feature in features],
        names=_names(source, len(sides)),
    )


def group_of(feature: Ngram, common: set[str]) -> str:
    """The group of a feature; `common` are the words that nobody can do without.

    It is empty for signs within tokens: they are reported as marks.
    """
    if feature.channel == 0:
        return "letters" if any(map(str.isalpha, feature.parts[0])) else ""
    if feature.channel > 1:
        return "phrases"
    word = feature.parts[0]
    if not any(map(str.isalnum, word)):
        return "marks"
    return "words" if word in common or word.lower() in common else "content"


def telling(feature: Ngram) -> tuple[int, bool]:
    """By how much a feature shows: letters, and whether it is a whole word."""
    return letters(feature), feature.channel == 1


def _tokenized(member: Member, document: Document, side: int, place: int) -> NgramText:
    try:
        tokenized = member.tokenizer.tokenize(document.text)
    except InputError as error:
        raise error.at(document.id) from None
    if not tokenized.tokens:
        raise EmptyTextError(NO_WORD, document.id)
    nowhere = np.zeros(0, dtype=np.int64)
    return NgramText(
        side=side,
        place=place,
        text=document.text,
        tokens=tokenized.tokens,
        spans=tokenized.spans,
        parts=1,
        values=_NOTHING,
        unit_values=_NOTHING,
        columns=nowhere,
        places=nowhere,
    )


def _sliced(source: Occurring, kept: IntArray, slice_tokens: int) -> tuple[list[Slice], Array32]:
    """The slices of all texts, and how often the features that are kept occur in each."""
    slices: list[Slice] = []
    rows = [np.zeros((0, len(kept)), dtype=np.float32)]
    for number, text in enumerate(source.texts):
        count = len(text.tokens)
        parts = max(1, round(count / slice_tokens))
        edges = np.linspace(0, count, parts + 1).astype(np.int64)
        columns, places = source.of(number)
        at = np.searchsorted(kept, columns)
        known = at < len(kept)
        known[known] = kept[at[known]] == columns[known]
        part = np.searchsorted(edges, places[known], side="right") - 1
        cells = np.bincount(part * len(kept) + at[known], minlength=parts * len(kept))
        rows.append(cells.reshape(parts, len(kept)).astype(np.float32))
        slices += [Slice(text.side, number, int(size)) for size in np.diff(edges)]
    return slices, np.concatenate(rows)


def _names(source: Occurring, sides: int) -> tuple[tuple[str, ...], ...]:
    counts: list[Counter[str]] = [Counter() for _ in range(sides)]
    for text, named in zip(source.texts, source.names, strict=True):
        counts[text.side].update(text.tokens[at] for at in np.flatnonzero(named).tolist())
    return tuple(tuple(name for name, _ in one.most_common(_NAMES)) for one in counts)


# Rates


@dataclass(frozen=True)
class SideRates:
    """Rates of a side, (features,) each."""

    counts: FloatArray
    rate: FloatArray  # for every token
    deviation: FloatArray  # of the rate
    tokens: float
    texts: int

    def interval(self) -> FloatArray:
        """(2, features): the ends of the 95% interval of the rate."""
        reach = quantile_of(self.texts - 1) * self.deviation
        return np.array([np.maximum(self.rate - reach, 0), self.rate + reach])


@dataclass(frozen=True)
class Rates:
    """Two sides beside each other, (features,) each."""

    first: SideRates
    second: SideRates
    deviation: FloatArray  # of the difference, if both sides had one rate and it varied as seen

    @property
    def difference(self) -> FloatArray:
        """By how much the first side's rate is the greater."""
        return np.asarray(self.first.rate - self.second.rate)

    @property
    def z(self) -> FloatArray:
        """The difference in deviations: what features are ranked by."""
        return np.asarray(self.difference / self.deviation)

    @property
    def ratio(self) -> FloatArray:
        """Of both rates, with half an occurrence added to each, so that it is finite."""
        first, second = ((side.counts + 0.5) / side.tokens for side in (self.first, self.second))
        return np.asarray(first / second)

    def interval(self) -> FloatArray:
        """(2, features): the ends of the 95% interval of the difference."""
        reach = self.quantile * self.deviation
        return np.array([self.difference - reach, self.difference + reach])

    @property
    def quantile(self) -> float:
        """Deviations within which 95% of the differences lie."""
        return quantile_of(self.first.texts + self.second.texts - 2)


def compare_rates(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> Rates:
    """The rates of both sides; each is counts (texts, features) and tokens (texts,).

    A rate is that of all texts of a side together. How far it would be another in other texts by
    the same person is seen from how much it varies between the texts at hand; it is never taken to
    vary less than words that fall at random would. So what a single text is full of counts for
    little.
    """
    counts = first[0].sum(axis=0) + second[0].sum(axis=0)
    pooled = counts / (first[1].sum() + second[1].sum())  # (features,)
    sides = [_rates_of(*side) for side in (first, second)]
    # The variance of a Poisson count at the rate of both: a side without a feature has one, too.
    variances = [np.maximum(side.deviation**2, pooled / side.tokens) for side in sides]
    return Rates(sides[0], sides[1], np.sqrt(np.maximum(sum(variances), 1e-300)))


def _rates_of(counts: FloatArray, tokens: FloatArray) -> SideRates:
    total, size, texts = counts.sum(axis=0), float(tokens.sum()), len(tokens)
    variance = np.maximum(total, 1) / size**2  # at random; of what is not there, as of one
    if texts > 1:
        departures = counts - tokens[:, None] * total / size  # (texts, features)
        between = (departures**2).sum(axis=0) * texts / (texts - 1) / size**2
        variance = np.maximum(between, variance)
    return SideRates(total, total / size, np.asarray(np.sqrt(variance)), size, texts)


def quantile_of(freedom: int) -> float:
    """Deviations within which 95% lie: as many as Student says, or of a normal distribution."""
    return student_quantile(freedom) if freedom > 0 else NORMAL
