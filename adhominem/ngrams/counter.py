"""Counting n-grams: once for all tables that count them, by one look-up a token.

What a token type gives to each channel is worked out when it is first seen. A text is then the
rows of its token types, and two neighbours' rows a bigram: no string is looked at again. Counting
is NumPy, or C where that was built (`counting.c`): neither torch nor scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, count, repeat

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import compiled
from adhominem.ngrams.grams import GramIndex
from adhominem.ngrams.table import CHANNELS, NgramTable, shape
from adhominem.text.by_type import Growing, KeptByType
from adhominem.text.tokenizer import Numbered

_MOST_TYPES = 1 << 18  # that are remembered, at most some 150 MB
_MOST_CHARACTERS = 1 << 21  # of their spellings
_TYPES_AT_ONCE = 4_096  # whose n-grams are looked up together


class NgramCounter(KeptByType):
    """Counts the n-grams of one table, or of several at once.

    A *place* is where an n-gram is counted. Those of characters and tokens are shared by all
    tables that count them, bigrams are each table's own; the channels follow each other. Place 0
    is for what no table counts. Of a single table, the places are its columns, plus one.
    """

    def __init__(self, *tables: NgramTable) -> None:
        if len({table.longest for table in tables}) != 1:
            raise ValueError("tables of one `longest` can be counted at once")
        self.table = tables[0]
        self._tables = tables
        self._grams = _numbered(1, *(table.characters for table in tables))
        self._tokens = _numbered(1 + len(self._grams), *(table.tokens for table in tables))
        sizes = [len(self._grams), len(self._tokens)]
        sizes += [sum(len(getattr(table, name)) for table in tables) for name in CHANNELS[2:]]
        # (channels + 1,): the first place of each channel, and the end of all.
        self.starts = np.cumsum([1, *sizes])
        self._symbols = [
            (
                _numbered(1, table.tokens[: table.unmasked]),
                _numbered(1, table.symbols),
            )
            for table in tables
        ]
        self._bigrams = self._bigram_places()
        self._index = GramIndex(self._grams, self.table.longest)
        self.compiled = compiled("adhominem.ngrams._counting")
        super().__init__()

    def _bigram_places(self) -> list[tuple[int, IntArray]]:
        """Of each table, both channels of bigrams: symbols, and the place of every two symbols."""
        firsts = self.starts[2:4].tolist()  # of the next table's bigrams, in each channel
        both = []
        for table in self._tables:
            for channel, (symbols, columns, _) in enumerate(table.bigram_columns()):
                # Zeros stay: a table of millions takes no memory where nothing is written or read.
                codes = getattr(table, CHANNELS[2 + channel])
                columns[codes] += firsts[channel] - 1
                firsts[channel] += len(codes)
                both.append((symbols, columns))
        return both

    def places(self, number: int) -> IntArray:
        """(columns,): the place of each column of one of the tables."""
        table, before = self._tables[number], self._tables[:number]
        parts = [
            _looked_up(self._grams, table.characters, len(table.characters)),
            _looked_up(self._tokens, table.tokens, len(table.tokens)),
        ]
        for name, first in zip(CHANNELS[2:], self.starts[2:4].tolist(), strict=True):
            first += sum(len(getattr(other, name)) for other in before)
            parts.append(first + np.arange(len(getattr(table, name))))
        return np.concatenate(parts)

    # What is kept of token types

    def _limits(self) -> tuple[int, int]:
        return _MOST_TYPES, _MOST_CHARACTERS

    def _clear(self) -> None:
        self._ends = Growing((), np.int64)  # (types,): where the places of each end
        self._flat = Growing((), np.int64)  # the places of all n-grams of characters, in a row
        # (types, 1 + tables * 2): the place of the token itself, and its symbols. A symbol 0 is a
        # masked token, or a rare shape.
        self._whole = Growing((1 + 2 * len(self._tables),), np.int64)

    def _add(self, types: list[str]) -> None:
        for at in range(0, len(types), _TYPES_AT_ONCE):
            self._add_few(types[at : at + _TYPES_AT_ONCE])

    def _add_few(self, types: list[str]) -> None:
        places, lengths = self._index.of_types(types)
        self._ends.add(np.cumsum(lengths) + self._flat.size)
        self._flat.add(places)
        shapes = list(map(shape, types))
        whole = [_looked_up(self._tokens, types, len(types))]
        for unmasked, symbols in self._symbols:
            number = _looked_up(unmasked, types, len(types))
            by_name, by_shape = (
                _looked_up(symbols, names, len(types)) for names in (types, shapes)
            )
            whole += [number, np.where(number > 0, by_name, by_shape)]
        self._whole.add(np.stack(whole, axis=1))

    def look_up(self, texts: Numbered) -> tuple[IntArray, TypePlaces]:
        """(tokens,): the row of each token of all texts, and the tables of these rows."""
        numbers = texts.row
        with self._lock:
            rows = self._rows_of(texts.lexicon, numbers)
            tables = TypePlaces(self, self._ends.rows, self._flat.rows, self._whole.rows)
            self._forget_what_is_too_much()
        return rows, tables

    # Strings, of a single table

    def count(self, tokens: Sequence[str]) -> Array32:
        """(columns,): how often each n-gram occurs in a tokenized text."""
        rows, tables = self.look_up(Numbered.of([tokens]))
        return tables.count(rows)[1:].astype(np.float32)

    def occurrences(self, tokens: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Each n-gram where it occurs: its column, and the token it is in or begins with."""
        rows, tables = self.look_up(Numbered.of([tokens]))
        places, at = tables.places(rows), np.arange(len(rows))
        begins = [np.repeat(at, tables.lengths(rows)), at, *[at[:-1]] * len(self._bigrams)]
        counted = places > 0
        return places[counted] - 1, np.concatenate(begins)[counted]


class TypePlaces:
    """What a counter knew of token types when texts were looked up: theirs are among them."""

    def __init__(
        self, counter: NgramCounter, ends: IntArray, flat: IntArray, whole: IntArray
    ) -> None:
        self._bigrams, self._size = counter._bigrams, int(counter.starts[-1])
        self._ends, self._flat, self._whole = ends, flat, whole
        self._compiled = counter.compiled
        # Room for the counts of a text, zeros between two of them, for its places and their counts.
        self._room = (
            [np.zeros(self._size, dtype) for dtype in (np.uint32, np.int64, np.uint32)]
            if self._compiled
            else []
        )

    def lengths(self, rows: IntArray) -> IntArray:
        """(tokens,): how many n-grams of characters each token has."""
        return np.asarray(self._ends[rows] - np.where(rows > 0, self._ends[rows - 1], 0))

    def places(self, rows: IntArray) -> IntArray:
        """The places of all n-grams of a text: of characters, of tokens, of bigrams by channel."""
        lengths = self.lengths(rows)
        ends = np.cumsum(lengths)
        within, tokens = int(ends[-1]) if len(rows) else 0, len(rows)
        pairs = max(tokens - 1, 0)
        places = np.empty(within + tokens + pairs * len(self._bigrams), np.int64)
        # Where in `flat` each stands: its own place in the text, shifted as its token's are.
        at = np.repeat(self._ends[rows] - ends, lengths)
        at += np.arange(within)
        np.take(self._flat, at, out=places[:within], mode="clip")
        whole = self._whole[rows]  # (tokens, 1 + tables * 2)
        begin = within + tokens
        places[within:begin] = whole[:, 0]
        for row, (size, of_pairs) in zip(whole.T[1:], self._bigrams, strict=True):
            codes = row[:-1] * size
            codes += row[1:]
            np.take(of_pairs, codes, out=places[begin : begin + pairs], mode="clip")
            begin += pairs
        return places

    def count(self, rows: IntArray) -> IntArray:
        """(places,): how often each n-gram occurs in a text; 0 at place 0."""
        counts = np.bincount(self.places(rows), minlength=self._size)
        counts[0] = 0
        return np.asarray(counts)

    def occurring(self, rows: IntArray) -> tuple[IntArray, Array32]:
        """Twice (n-grams,): the places that a text has, rising, and how often it has each."""
        if self._compiled is None:
            counts = self.count(rows)
            occurs = np.flatnonzero(counts > 0)  # of booleans, for which it is fast
            return occurs, counts[occurs].astype(np.float32)
        tables = self._ends, self._flat, self._whole, tuple(self._bigrams)
        n = self._compiled.count(rows, *tables, *self._room)
        _, places, times = self._room
        return places[:n].astype(np.int64), times[:n].astype(np.float32)


def _numbered(first: int, *lists: Sequence[str]) -> dict[str, int]:
    """Strings with their numbers from `first` on, each once."""
    return dict(zip(dict.fromkeys(chain(*lists)), count(first), strict=False))


def _looked_up(numbers: dict[str, int], strings: Iterable[str], count: int) -> IntArray:
    """(strings,): the number of each of so many; 0 for one that has none."""
    return np.fromiter(map(numbers.get, strings, repeat(0)), np.int64, count)
