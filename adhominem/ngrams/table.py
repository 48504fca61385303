"""The n-grams that an encoder counts: four channels, each a range of columns.

    characters      character n-grams inside tokens, with marks for a token's beginning and end
    tokens          the most frequent token types
    bigrams         two neighbouring tokens; all but the most frequent types are masked
    shaped_bigrams  bigrams in which a masked token shows its shape: its first letter's case and
                    its ending ("~Cly", "~wng", "~#"), a poor man's part of speech

Masking hides what a text is about, as the network's vocabulary does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import count, pairwise
from operator import itemgetter
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray
from adhominem.records import Options, Size, Within

START, END = "\x02", "\x03"
MASK = "\x00"  # any masked token, or a rare shape
CHANNELS = ("characters", "tokens", "bigrams", "shaped_bigrams")
LONGEST_TOKEN = 40  # characters that are read: links and the like have more


@dataclass(frozen=True, kw_only=True)
class NgramOptions(Options):
    """The numbers of n-grams in each channel; the most frequent ones are counted."""

    # Characters in an n-gram: at most those that are read, and a token's two ends.
    longest: Annotated[int, Within(1, LONGEST_TOKEN + 2)] = 4
    characters: Size = 40_000
    tokens: Size = 5_000
    bigrams: Size = 15_000
    shaped_bigrams: Size = 30_000
    # Each pair of unmasked types has a cell in a table, as has each pair of symbols.
    unmasked: Annotated[int, Within(1, 8_192)] = 400  # token types that bigrams show
    shapes: Annotated[int, Within(1, 8_192)] = 1_000  # unmasked types and shapes together

    ordered = (("unmasked", "<=", "tokens"),)


def shape(token: str) -> str:
    """The shape of a token: what remains when its topic is hidden.

    A mark distinguishes it from a token with the same spelling: "play" is a "~way", not a "way".
    """
    if token[:1].isdigit():
        return "~#"
    if not token[:1].isalpha():
        return f"~{token[:1]}"
    case = "U" if len(token) > 1 and token.isupper() else "C" if token[0].isupper() else "w"
    signs = ("-" if "-" in token else "") + ("'" if "'" in token else "")
    return f"~{case}{signs}{token.lower()[-2:]}"


def spell(token: str, longest: int) -> tuple[str, ...]:
    """The character n-grams of a token, the shortest first."""
    marked = f"{START}{token[:LONGEST_TOKEN]}{END}"
    grams = _pieces(len(marked), longest)(marked)
    if START in token or END in token:
        return tuple(gram for gram in grams if gram not in (START, END))
    return grams


@cache  # tokens have few lengths: with the ranges cached, one call cuts a token
def _pieces(length: int, longest: int) -> Callable[[str], tuple[str, ...]]:
    """A function that cuts a marked token of this length into n-grams, without single marks."""
    places = [slice(at, at + 1) for at in range(1, length - 1)]
    for size in range(2, longest + 1):
        places += [slice(at, at + size) for at in range(length - size + 1)]
    if len(places) > 1:
        return itemgetter(*places)
    return lambda marked: tuple(marked[place] for place in places)


@dataclass(frozen=True)
class Ngram:
    """An n-gram by name, independent of a table."""

    channel: int
    parts: tuple[str, ...]  # the characters, the token, or two symbols


@dataclass(frozen=True)
class NgramTable:
    """The n-grams that are counted, and the column of each."""

    longest: int
    characters: tuple[str, ...]
    tokens: tuple[str, ...]  # the most frequent first
    unmasked: int  # number of the first tokens that are not masked
    symbols: tuple[str, ...]  # unmasked types and shapes
    bigrams: IntArray  # (bigrams,): first symbol * (1 + unmasked) + second
    shaped_bigrams: IntArray  # (shaped_bigrams,): first * (1 + symbols) + second

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of columns of each channel."""
        return tuple(len(getattr(self, channel)) for channel in CHANNELS)

    @cached_property
    def channels(self) -> tuple[slice, ...]:
        """The columns of each channel."""
        ends = np.cumsum([0, *self.sizes]).tolist()
        return tuple(slice(begin, end) for begin, end in pairwise(ends))

    @cached_property
    def _names(self) -> tuple[Sequence[Any], ...]:
        """The n-grams of each channel: strings, or pairs of symbols."""
        pairs = []
        for codes, known in (
            (self.bigrams, self.tokens[: self.unmasked]),
            (self.shaped_bigrams, self.symbols),
        ):
            symbols = (MASK, *known)
            both = np.stack(np.divmod(codes, len(symbols)), axis=1).tolist()
            pairs.append([(symbols[first], symbols[second]) for first, second in both])
        return self.characters, self.tokens, *pairs

    def ngram(self, column: int) -> Ngram:
        """The n-gram of a column."""
        channel = next(at for at, columns in enumerate(self.channels) if column < columns.stop)
        name = self._names[channel][column - self.channels[channel].start]
        return Ngram(channel, (name,) if isinstance(name, str) else name)

    def ngrams(self, columns: IntArray) -> list[Ngram]:
        """The n-grams of some columns."""
        return [self.ngram(column) for column in columns.tolist()]

    def columns_in(self, other: NgramTable, columns: IntArray) -> IntArray:
        """The columns (columns,) in another table of the n-grams in these sorted columns.

        -1 for n-grams that the other table does not count.
        """
        there: list[int] = []
        for channel, here in enumerate(self.channels):
            first, last = np.searchsorted(columns, [here.start, here.stop])
            names = self._names[channel]
            places = count(other.channels[channel].start)
            known = dict(zip(other._names[channel], places, strict=False))
            there += [known.get(names[at - here.start], -1) for at in columns[first:last].tolist()]
        return np.array(there, np.int64)

    @classmethod
    def build(
        cls,
        types: Sequence[str],
        tokens: npt.NDArray[np.unsignedinteger[Any]],
        documents: IntArray,
        options: NgramOptions,
    ) -> NgramTable:
        """The table of the most frequent n-grams of some texts.

        `tokens` are the types of all tokens, concatenated, `documents` the document of each.
        """
        counts = np.bincount(tokens, minlength=len(types))
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        frequent = [types[at] for at in order[: options.tokens]]
        unmasked = set(frequent[: options.unmasked])
        grams: Counter[str] = Counter()
        shapes: Counter[str] = Counter()
        for at in order:
            for gram in spell(types[at], options.longest):
                grams[gram] += int(counts[at])
            shapes[types[at] if types[at] in unmasked else shape(types[at])] += int(counts[at])
        start = cls(
            longest=options.longest,
            characters=_most_common(grams, options.characters),
            tokens=tuple(frequent),
            unmasked=len(unmasked),
            symbols=_most_common(shapes, options.shapes),
            bigrams=np.zeros(0, np.int64),
            shaped_bigrams=np.zeros(0, np.int64),
        )
        by_name, by_symbol = (
            dict(zip(names, count(1), strict=False))
            for names in (frequent[: start.unmasked], start.symbols)
        )
        masked = np.array([by_name.get(name, 0) for name in types], np.int64)  # (types,)
        shaped = np.array(
            [by_symbol.get(name if name in by_name else shape(name), 0) for name in types], np.int64
        )
        inside = documents[1:] == documents[:-1]  # neighbours of one document

        def frequent_pairs(symbols: IntArray, symbols_used: int, size: int) -> IntArray:
            row = symbols[tokens]
            codes = (row[:-1] * symbols_used + row[1:])[inside]
            times = np.bincount(codes, minlength=symbols_used**2)
            times[0] = 0  # two masks are uninformative
            best = np.argsort(-times, kind="stable")[:size]
            return best[times[best] > 0]

        return replace(
            start,
            bigrams=frequent_pairs(masked, 1 + start.unmasked, options.bigrams),
            shaped_bigrams=frequent_pairs(shaped, 1 + len(start.symbols), options.shaped_bigrams),
        )


def _most_common(counts: Counter[str], size: int) -> tuple[str, ...]:
    return tuple(entry for entry, _ in counts.most_common(size))
