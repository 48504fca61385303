"""What is counted in texts to set them apart, and how often: words, marks, and n-grams.

Every token type is counted, and every n-gram of a model's table: character n-grams inside words,
and two tokens in a row, with rare ones masked. Each belongs to a group:

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
from itertools import chain

import numpy as np

from adhominem.arrays import Array32, FloatArray, IntArray
from adhominem.errors import NO_WORD, EmptyTextError, InputError, OptionError
from adhominem.model.member import Member
from adhominem.ngrams.table import Ngram
from adhominem.statistics import NORMAL, student_quantile
from adhominem.text.files import Document
from adhominem.verify.ngram_contributions import NgramText, letters, name_tokens
from adhominem.verify.verifier import Verifier

GROUPS = ("words", "marks", "phrases", "letters", "content")
_FEWEST = 5  # occurrences: of rarer features hardly anything is known
_NAMES = 10  # that are listed for each side
_TOKENS_READ = (
    30_000  # tokens of a side, at least, where it is looked which features stand together
)


def counting_member(verifier: Verifier) -> Member:
    """The member whose n-grams are counted: a profile if there is one."""
    members = [
        (member.scorer.is_sparse, member) for member in verifier.members if member.counts_ngrams
    ]
    if not members:
        raise OptionError(
            f"the model {verifier.name} counts no n-grams; expected one with an n-gram member, "
            "such as general-en"
        )
    return max(members, key=lambda row: row[0])[1]  # the first of equals


class Counts:
    """How often features occur in slices of the texts of two sides, and of a population.

    A feature is a column: first the n-grams of the model's table, then all token types. Counted is
    what occurs often enough on the first two sides; nothing occurs in a name.
    """

    def __init__(
        self,
        member: Member,
        sides: Sequence[Sequence[Document]],
        slice_tokens: int,
        on_texts: Callable[[int], None] = lambda count: None,
    ) -> None:
        """Slices have about as many tokens as asked for."""
        read = member.ngrams(*chain.from_iterable(sides))
        self._counter, self._ngrams = read.counter, read.table
        self._texts = [
            _tokenized(member, document, side, place)
            for side, documents in enumerate(sides)
            for place, document in enumerate(documents)
        ]
        types = dict.fromkeys(token for text in self._texts for token in text.tokens)
        self._types = {token: number for number, token in enumerate(types)}
        ends = np.cumsum([len(text.tokens) for text in self._texts])[:-1]
        # (tokens,) of each text: whether each is of a name
        self._named = np.split(name_tokens(self._texts, self._ngrams.tokens), ends)
        ngrams = sum(self._ngrams.sizes)
        total = np.zeros(ngrams + len(types))
        for number, text in enumerate(self._texts):
            if text.side < 2:  # what neither side has sets nobody apart
                total += np.bincount(self._occurrences(number)[0], minlength=len(total))
            on_texts(1)
        self.columns = np.flatnonzero(total >= _FEWEST)  # (features,)
        tokens = list(types)
        self.features = [
            self._ngrams.ngram(column) if column < ngrams else Ngram(1, (tokens[column - ngrams],))
            for column in self.columns.tolist()
        ]
        common = set(self._ngrams.tokens[: self._ngrams.unmasked])
        self.groups = [group_of(feature, common) for feature in self.features]  # "": not reported
        self.is_pair = np.array([feature.channel > 1 for feature in self.features], dtype=bool)
        sliced = [self._sliced(number, slice_tokens) for number in range(len(self._texts))]
        self._tables = [table for table, _ in sliced]  # (slices, features) of each text
        self._tokens = [tokens for _, tokens in sliced]  # (slices,) of each text

    def side(self, side: int, *, by_text: bool) -> tuple[FloatArray, FloatArray]:
        """Counts (texts, features) and tokens (texts,) of a side; or of its slices."""
        counts, tokens = [np.zeros((0, len(self.columns)))], [np.zeros(0)]
        for text, of_slices, lengths in zip(self._texts, self._tables, self._tokens, strict=True):
            if text.side == side:
                table = of_slices.astype(np.float64)
                counts.append(table.sum(axis=0, keepdims=True) if by_text else table)
                tokens.append(lengths.sum(keepdims=True) if by_text else lengths)
        return np.concatenate(counts), np.concatenate(tokens)

    def names(self, side: int) -> tuple[str, ...]:
        """The names on a side that are left out, the most frequent first."""
        counts: Counter[str] = Counter()
        for text, named in zip(self._texts, self._named, strict=True):
            if text.side == side:
                counts.update(text.tokens[at] for at in np.flatnonzero(named).tolist())
        return tuple(name for name, _ in counts.most_common(_NAMES))

    def placed(self, features: IntArray) -> list[NgramText]:
        """Texts of both sides, with the places of some features, by their numbers.

        Of large sides, the first texts are enough to see which features stand together.
        """
        columns, texts, read = self.columns[features], [], [0, 0]
        for number, text in enumerate(self._texts):
            if text.side < 2 and read[text.side] < _TOKENS_READ:
                read[text.side] += len(text.tokens)
                occurring, places = self._occurrences(number)
                known = np.isin(occurring, columns)
                texts.append(replace(text, columns=occurring[known], places=places[known]))
        return texts

    def _occurrences(self, number: int) -> tuple[IntArray, IntArray]:
        """Each feature where it occurs in a text: its column, and the token it begins in."""
        tokens, named = self._texts[number].tokens, self._named[number]
        columns, places = self._counter.occurrences(tokens)
        is_pair = columns >= self._ngrams.channels[2].start
        # A pair is of a name if its second token is, too.
        in_name = named[places] | (is_pair & np.append(named[1:], False)[places])
        # Whole tokens are counted by type, also those that the model's table does not have.
        whole = (columns >= self._ngrams.channels[1].start) & ~is_pair
        kept = ~in_name & ~whole
        others = np.flatnonzero(~named)
        types = np.array([self._types[tokens[at]] for at in others.tolist()], dtype=np.int64)
        return (
            np.concatenate([columns[kept], types + sum(self._ngrams.sizes)]),
            np.concatenate([places[kept], others]),
        )

    def _sliced(self, number: int, slice_tokens: int) -> tuple[Array32, FloatArray]:
        """Counts (slices, features) and tokens (slices,) of a text."""
        length, features = len(self._texts[number].tokens), len(self.columns)
        slices = max(1, round(length / slice_tokens))
        edges = np.linspace(0, length, slices + 1).astype(np.int64)
        columns, places = self._occurrences(number)
        at = np.searchsorted(self.columns, columns)
        known = at < features
        known[known] = self.columns[at[known]] == columns[known]
        slice_of = np.searchsorted(edges, places[known], side="right") - 1
        cells = np.bincount(slice_of * features + at[known], minlength=slices * features)
        return cells.reshape(slices, features).astype(np.float32), np.diff(edges).astype(np.float64)


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
    nothing, nowhere = np.zeros(0), np.zeros(0, dtype=np.int64)
    return NgramText(
        side=side,
        place=place,
        text=document.text,
        tokens=tokenized.tokens,
        spans=tokenized.spans,
        parts=1,
        values=nothing,
        unit_values=nothing,
        columns=nowhere,
        places=nowhere,
    )


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
        """The ratio of both rates, with half an occurrence added to each, so that it is finite."""
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
