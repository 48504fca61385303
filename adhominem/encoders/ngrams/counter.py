"""Counting n-grams: once for all tables that count them, by one look-up a token.

What a token type gives to each channel is worked out when it is first seen. A text is then the
rows of its token types, and two neighbours' rows a bigram: no string is looked at again. Counting
is NumPy: neither torch nor scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from adhominem.arrays import Array32, IntArray
from adhominem.encoders.by_type import Growing, KeptByType
from adhominem.encoders.ngrams.table import CHANNELS, NgramTable, shape, spell
from adhominem.text.lexicon import Numbered

_MOST_TYPES = 1 << 18  # that are remembered, at most some 150 MB
_MOST_CHARACTERS = 1 << 21  # of their spellings


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
        self._tables, self._longest = tables, self.table.longest
        self._grams = _numbered(*(table.characters for table in tables))
        self._tokens = _numbered(*(table.tokens for table in tables))
        sizes = [len(self._grams), len(self._tokens)]
        sizes += [sum(len(getattr(table, name)) for table in tables) for name in CHANNELS[2:]]
        # (channels + 1,): the first place of each channel, and the end of all.
        self.starts = np.cumsum([1, *sizes])
        self._symbols = [
            (
                {token: at + 1 for at, token in enumerate(table.tokens[: table.unmasked])},
                {symbol: at + 1 for at, symbol in enumerate(table.symbols)},
            )
            for table in tables
        ]
        self._bigrams = self._bigram_places()
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
            np.fromiter(map(numbers.__getitem__, strings), np.int64, len(strings))
            for numbers, strings in (
                (self._grams, table.characters),
                (self._tokens, table.tokens),
            )
        ]
        for name in CHANNELS[2:]:
            first = sum(len(getattr(other, name)) for other in before)
            parts.append(first + np.arange(len(getattr(table, name))))
        firsts = self.starts[:-1]  # (channels,)
        return np.concatenate([first + part for first, part in zip(firsts, parts, strict=True)])

    # What is kept of token types

    def _limits(self) -> tuple[int, int]:
        return _MOST_TYPES, _MOST_CHARACTERS

    def _clear(self) -> None:
        self._ends = Growing((), np.int64)  # (types,): where the places of each end
        self._flat = Growing((), np.int64)  # the places of all, in a row
        # (types, tables * 2): 0 is a masked token, or a rare shape.
        self._type_symbols = Growing((2 * len(self._tables),), np.int64)

    def _add(self, types: list[str]) -> None:
        get_gram, get_token = self._grams.get, self._tokens.get
        first_token = int(self.starts[1])
        places, lengths, symbols = [], [], []
        for token in types:
            grams = [at + 1 for at in map(get_gram, spell(token, self._longest)) if at is not None]
            if (at := get_token(token)) is not None:
                grams.append(first_token + at)
            places.append(grams)
            lengths.append(len(grams))
            hidden = shape(token)
            row = []
            for unmasked, shaped in self._symbols:
                number = unmasked.get(token, 0)
                row += [number, shaped.get(token if number else hidden, 0)]
            symbols.append(row)
        self._flat.add(np.fromiter(chain.from_iterable(places), np.int64, sum(lengths)))
        before = self._ends.rows[-1] if self._ends.size else 0
        self._ends.add(np.cumsum(lengths) + before)
        self._type_symbols.add(symbols)

    def look_up(self, texts: Numbered) -> tuple[IntArray, TypePlaces]:
        """(tokens,): the row of each token of all texts, and the tables of these rows."""
        numbers = texts.row
        with self._lock:
            rows = self._rows_of(texts.lexicon, numbers)
            tables = TypePlaces(self, self._ends.rows, self._flat.rows, self._type_symbols.rows)
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
        places = tables.places(rows)
        lengths = tables.lengths(rows)
        at = np.arange(len(rows))
        begins = [np.repeat(at, lengths), *[at[:-1]] * len(self._bigrams)]
        counted = places > 0
        return places[counted] - 1, np.concatenate(begins)[counted]


class TypePlaces:
    """What a counter knew of token types when texts were looked up: theirs are among them."""

    def __init__(
        self, counter: NgramCounter, ends: IntArray, flat: IntArray, symbols: IntArray
    ) -> None:
        self._bigrams, self._size = counter._bigrams, int(counter.starts[-1])
        self._ends, self._flat, self._symbols = ends, flat, symbols

    def lengths(self, rows: IntArray) -> IntArray:
        """(tokens,): how many n-grams of characters, and of the token itself, each token has."""
        return np.asarray(self._ends[rows] - np.where(rows > 0, self._ends[rows - 1], 0))

    def places(self, rows: IntArray) -> IntArray:
        """The places of all n-grams of a text, first of tokens, then of bigrams by channel."""
        lengths = self.lengths(rows)
        ends = np.cumsum(lengths)
        within = int(ends[-1]) if len(rows) else 0
        pairs = max(len(rows) - 1, 0)
        places = np.empty(within + pairs * len(self._bigrams), np.int64)
        # Where in `flat` each stands: its own place in the text, shifted as its token's are.
        at = np.repeat(self._ends[rows] - ends, lengths)
        at += np.arange(within)
        np.take(self._flat, at, out=places[:within], mode="clip")
        symbols = self._symbols[rows]  # (tokens, tables * 2)
        for channel, (size, of_pairs) in enumerate(self._bigrams):
            row = symbols[:, channel]
            begin = within + channel * pairs
            codes = row[:-1] * size
            codes += row[1:]
            np.take(of_pairs, codes, out=places[begin : begin + pairs], mode="clip")
        return places

    def count(self, rows: IntArray) -> IntArray:
        """(places,): how often each n-gram occurs in a text; 0 at place 0."""
        counts = np.bincount(self.places(rows), minlength=self._size)
        counts[0] = 0
        return np.asarray(counts)


def _numbered(*lists: Sequence[str]) -> dict[str, int]:
    """Strings with their numbers, each once."""
    return {string: at for at, string in enumerate(dict.fromkeys(chain(*lists)))}
