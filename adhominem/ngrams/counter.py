"""Counting n-grams: once for all tables, with one look-up per token.

The n-grams of a token type in each channel are computed when it first occurs. A text is then the
rows of its token types, and a bigram two neighbouring rows: no string is read again. Counting uses
NumPy, or C if it was built (`counting.c`): neither torch nor scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, count, repeat

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, IntArray
from adhominem.compiled import compiled
from adhominem.ngrams.table import CHANNELS, END, LONGEST_TOKEN, START, NgramTable, shape, spell
from adhominem.text.lexicon import Growing, KeptByType, Numbered

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 / golden ratio

Codes = npt.NDArray[np.uint64]


class NgramCounter(KeptByType):
    """Counts the n-grams of one table, or of several at once.

    A *place* is where an n-gram is counted. Tables share the places of characters and tokens, but
    have separate ones for bigrams; the channels follow each other. Place 0 is for everything that
    no table counts. With a single table, the places are its columns, plus one.
    """

    _MOST_TYPES = 1 << 18  # at most some 150 MB
    _MOST_CHARACTERS = 1 << 21

    def __init__(self, *tables: NgramTable) -> None:
        if len({table.longest for table in tables}) != 1:
            raise ValueError("tables of one `longest` can be counted at once")
        self.table = tables[0]
        self._counted = tables
        self._grams = _numbered(1, *(table.characters for table in tables))
        self._tokens = _numbered(1 + len(self._grams), *(table.tokens for table in tables))
        sizes = [len(self._grams), len(self._tokens)]
        sizes += [sum(len(getattr(table, name)) for table in tables) for name in CHANNELS[2:]]
        # (channels + 1,): the first place of each channel, and the end.
        self.starts = np.cumsum([1, *sizes])
        self._symbols = [
            (_numbered(1, table.tokens[: table.unmasked]), _numbered(1, table.symbols))
            for table in tables
        ]
        self.bigrams = self._bigram_places()
        self._index = GramIndex(self._grams, self.table.longest)
        self.compiled = compiled("adhominem.ngrams._counting")
        # The ends of the rows of the second table; the places of all character n-grams,
        # concatenated; and (types, 1 + tables * 2) the place of the token itself, and its symbols.
        # A symbol 0 is a masked token, or a rare shape.
        shapes: tuple[tuple[int, ...], ...] = (), (), (1 + 2 * len(tables),)
        super().__init__(*(partial(Growing, shape, np.int64) for shape in shapes))

    def _bigram_places(self) -> list[tuple[int, IntArray]]:
        """For each table and channel of bigrams: symbols, and the place of each pair of them."""
        firsts = self.starts[2:4].tolist()  # place of the next table's bigrams, by channel
        both = []
        for table in self._counted:
            for channel, symbols in enumerate((1 + table.unmasked, 1 + len(table.symbols))):
                codes = getattr(table, CHANNELS[2 + channel])
                # Zeros: untouched pages of a table of millions take no memory.
                places = np.zeros(symbols**2, np.int64)
                places[codes] = firsts[channel] + np.arange(len(codes))
                firsts[channel] += len(codes)
                both.append((symbols, places))
        return both

    def places(self, number: int) -> IntArray:
        """The place (columns,) of each column of one of the tables."""
        table, before = self._counted[number], self._counted[:number]
        parts = [
            _looked_up(self._grams, table.characters),
            _looked_up(self._tokens, table.tokens),
        ]
        for name, first in zip(CHANNELS[2:], self.starts[2:4].tolist(), strict=True):
            first += sum(len(getattr(other, name)) for other in before)
            parts.append(first + np.arange(len(getattr(table, name))))
        return np.concatenate(parts)

    # Rows of token types

    def _new_rows(self, types: list[str]) -> tuple[IntArray, IntArray, IntArray]:
        flat, lengths, whole = self.type_places(types)
        _, places, _ = self._tables
        return np.cumsum(lengths) + places.size, flat, whole

    def type_places(self, types: Sequence[str]) -> tuple[IntArray, IntArray, IntArray]:
        """The places of the character n-grams of some types, concatenated; their number (types,);
        and (types, 1 + tables * 2) the place of the type itself and its symbols.
        """
        step = self._TYPES_AT_ONCE
        parts = [types[at : at + step] for at in range(0, len(types), step)]
        flat, lengths = zip(*map(self._index.ngram_numbers, parts or [[]]), strict=True)
        shapes = list(map(shape, types))
        whole = [_looked_up(self._tokens, types)]
        for unmasked, symbols in self._symbols:
            number = _looked_up(unmasked, types)
            by_name, by_shape = _looked_up(symbols, types), _looked_up(symbols, shapes)
            whole += [number, np.where(number > 0, by_name, by_shape)]
        return np.concatenate(flat), np.concatenate(lengths), np.stack(whole, axis=1)

    def look_up(self, texts: Numbered) -> tuple[IntArray, TypePlaces]:
        """The row (tokens,) of each token of all texts, and the tables with these rows."""
        rows, tables = self._rows_of(texts.lexicon, texts.row)
        return rows, TypePlaces(self, *tables)

    # Strings, for a single table

    def count(self, tokens: Sequence[str]) -> Array32:
        """The counts (columns,) of each n-gram in a tokenized text."""
        rows, tables = self.look_up(Numbered.of([tokens]))
        return tables.count(rows)[1:].astype(np.float32)

    def occurrences(self, tokens: Sequence[str]) -> tuple[IntArray, IntArray]:
        """All occurrences of n-grams: the column, and the token that it is in or begins with."""
        rows, tables = self.look_up(Numbered.of([tokens]))
        places, at = tables.places(rows), np.arange(len(rows))
        begins = [np.repeat(at, tables.lengths(rows)), at, *[at[:-1]] * len(self.bigrams)]
        counted = places > 0
        return places[counted] - 1, np.concatenate(begins)[counted]


class TypePlaces:
    """A counter's rows of token types, as of the look-up of some texts, whose types they cover."""

    def __init__(
        self, counter: NgramCounter, ends: IntArray, flat: IntArray, whole: IntArray
    ) -> None:
        self._bigrams, self._size = counter.bigrams, int(counter.starts[-1])
        self._ends, self._flat, self._whole = ends, flat, whole
        self._compiled = counter.compiled
        # Buffers for the counts of a text (zeros between texts), its places and their counts.
        self._room = (
            [np.zeros(self._size, dtype) for dtype in (np.uint32, np.int64, np.uint32)]
            if self._compiled
            else []
        )

    def lengths(self, rows: IntArray) -> IntArray:
        """The number (tokens,) of character n-grams of each token."""
        return np.asarray(self._ends[rows] - np.where(rows > 0, self._ends[rows - 1], 0))

    def places(self, rows: IntArray) -> IntArray:
        """The places of all n-grams of a text: characters, then tokens, then bigrams by channel."""
        lengths = self.lengths(rows)
        ends = np.cumsum(lengths)
        within, tokens = int(ends[-1]) if len(rows) else 0, len(rows)
        pairs = max(tokens - 1, 0)
        places = np.empty(within + tokens + pairs * len(self._bigrams), np.int64)
        # Index of each in `flat`: its index in the text, shifted like its token's.
        at = np.repeat(self._ends[rows] - ends, lengths)
        at += np.arange(within)
        np.take(self._flat, at, out=places[:within], mode="clip")
        whole = self._whole[rows]  # (tokens, 1 + tables * 2)
        begin = within + tokens
        places[within:begin] = whole[:, 0]
        for row, (size, pair_places) in zip(whole.T[1:], self._bigrams, strict=True):
            codes = row[:-1] * size
            codes += row[1:]
            np.take(pair_places, codes, out=places[begin : begin + pairs], mode="clip")
            begin += pairs
        return places

    def count(self, rows: IntArray) -> IntArray:
        """The counts (places,) of each n-gram in a text; 0 at place 0."""
        counts = np.bincount(self.places(rows), minlength=self._size)
        counts[0] = 0
        return np.asarray(counts)

    def occurring(self, rows: IntArray) -> tuple[IntArray, Array32]:
        """The sorted places (n-grams,) that occur in a text, and their counts (n-grams,)."""
        if self._compiled is None:
            counts = self.count(rows)
            occurs = np.flatnonzero(counts > 0)  # fast for booleans
            return occurs, counts[occurs].astype(np.float32)
        tables = self._ends, self._flat, self._whole, tuple(self._bigrams)
        n = self._compiled.count(rows, *tables, *self._room)
        _, places, times = self._room
        return places[:n].astype(np.int64), times[:n].astype(np.float32)


def _numbered(first: int, *lists: Sequence[str]) -> dict[str, int]:
    """The distinct strings, numbered from `first` on."""
    return dict(zip(dict.fromkeys(chain(*lists)), count(first), strict=False))


def _looked_up(numbers: dict[str, int], strings: Sequence[str]) -> IntArray:
    """The number (strings,) of each string; 0 for unknown ones."""
    return np.fromiter(map(numbers.get, strings, repeat(0)), np.int64, len(strings))


class GramIndex:
    """The numbers, from 1 on, of character n-grams: letters as bits, looked up in a hash table.

    Equivalent to cutting each token type by `spell` and looking up the pieces in a dictionary (a
    test compares them), but without strings for the pieces, the main cost of a new token type.
    """

    def __init__(self, numbers: Mapping[str, int], longest: int) -> None:
        self._numbers, self._longest = numbers, longest
        known = sorted({START, END}.union("".join(numbers)))
        self._bits = np.uint64((len(known) + 1).bit_length())
        # An n-gram is coded by its length and letters. Very long ones do not fit.
        self._fits = longest * int(self._bits) + longest.bit_length() <= 64
        if not self._fits:
            return
        self._letters = np.zeros(ord(known[-1]) + 2, np.uint64)  # 0: not in any n-gram
        self._letters[[ord(letter) for letter in known]] = np.arange(1, len(known) + 1)
        grams = [gram for gram in numbers if len(gram) <= longest]
        lengths = np.fromiter(map(len, grams), np.int64, len(grams))
        letters = self._letters_of(_code_points("".join(grams)))
        begins = np.cumsum(lengths) - lengths
        codes = np.zeros(len(grams), np.uint64)
        for at in range(longest):
            there = lengths > at
            codes[there] = (codes[there] << self._bits) | letters[begins[there] + at]
        size = max(4, (4 * len(grams)).bit_length())  # no more than half full
        self._shift, self._mask = np.uint64(64 - size), (1 << size) - 1
        self._codes = np.zeros(1 << size, np.uint64)  # no code is 0: it has a length
        self._values = np.zeros(1 << size, np.int64)
        codes = self._tagged(codes, lengths.astype(np.uint64))
        values = np.array([numbers[gram] for gram in grams], np.int64)
        while len(codes):
            slots = self._slots(codes)
            self._codes[slots] = codes  # one of several for the same slot gets it
            placed = self._codes[slots] == codes
            self._values[slots[placed]] = values[placed]
            codes, values = codes[~placed], values[~placed]

    def ngram_numbers(self, types: Sequence[str]) -> tuple[IntArray, IntArray]:
        """The numbers of the known n-grams of some types, by type, and how many each type has."""
        if not self._fits:
            return self._slowly(types)
        marked = [f"{START}{token[:LONGEST_TOKEN]}{END}" for token in types]
        lengths = np.fromiter(map(len, marked), np.int64, len(marked))
        points = _code_points("".join(marked))
        letters = self._letters_of(points)
        owners = np.repeat(np.arange(len(types)), lengths)
        left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(owners))
        codes, known = letters, letters > 0
        no_mark = (points != ord(START)) & (points != ord(END))
        numbers, whose = [], []
        for size in range(1, self._longest + 1):
            if size > 1:
                codes = (codes[:-1] << self._bits) | letters[size - 1 :]
                known = known[:-1] & (letters[size - 1 :] > 0)
            chosen = known & (left[: len(known)] >= size)
            if size == 1:
                chosen &= no_mark
            at = np.flatnonzero(chosen)
            wanted = self._tagged(codes[at], np.uint64(size))
            slots = self._slots(wanted)
            there = self._codes[slots] == wanted
            numbers.append(self._values[slots[there]])
            whose.append(owners[at[there]])
        owner = np.concatenate(whose)
        order = np.argsort(owner, kind="stable")
        return np.concatenate(numbers)[order], np.bincount(owner, minlength=len(types))

    def _slots(self, codes: Codes) -> IntArray:
        """The slot (codes,) of each code in the hash table, or the free one where it would be."""
        slots = ((codes * _MULTIPLIER) >> self._shift).astype(np.int64)
        stored = self._codes[slots]
        searching = np.flatnonzero((stored != codes) & (stored != 0))
        while len(searching):
            slots[searching] = (slots[searching] + 1) & self._mask
            stored = self._codes[slots[searching]]
            searching = searching[(stored != codes[searching]) & (stored != 0)]
        return slots

    def _slowly(self, types: Sequence[str]) -> tuple[IntArray, IntArray]:
        rows = [
            [self._numbers[gram] for gram in spell(token, self._longest) if gram in self._numbers]
            for token in types
        ]
        numbers = np.array(list(chain(*rows)), np.int64)
        return numbers, np.array([len(row) for row in rows], np.int64)

    def _letters_of(self, points: npt.NDArray[np.uint32]) -> Codes:
        """The number (characters,) of each letter; 0 if no n-gram contains it."""
        return np.asarray(self._letters[np.minimum(points, len(self._letters) - 1)])

    def _tagged(self, codes: Codes, lengths: Codes | np.uint64) -> Codes:
        return np.asarray(codes | (lengths << (np.uint64(self._longest) * self._bits)))


def _code_points(text: str) -> npt.NDArray[np.uint32]:
    """The code points (characters,) of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
