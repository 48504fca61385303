"""The n-grams of characters of many token types at once: letters as bits, looked up in arrays.

The same as cutting each type to pieces by `spell` and looking these up in a dictionary (a test
compares them), without a string for each piece: most of what a new token type costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray
from adhominem.ngrams.table import END, LONGEST_TOKEN, START, spell

Codes = npt.NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 by the golden ratio: it spreads numbers well


class GramIndex:
    """N-grams of characters with their numbers, from 1 on."""

    def __init__(self, numbers: Mapping[str, int], longest: int) -> None:
        self._numbers, self._longest = numbers, longest
        known = sorted({START, END}.union("".join(numbers)))
        self._bits = np.uint64((len(known) + 1).bit_length())
        # An n-gram is its length and its letters. Those of very long ones have no room.
        self._fits = longest * int(self._bits) + longest.bit_length() <= 64
        if not self._fits:
            return
        self._letters = np.zeros(ord(known[-1]) + 2, np.uint64)  # 0: not in any n-gram
        self._letters[[ord(letter) for letter in known]] = np.arange(1, len(known) + 1)
        grams = list(numbers)
        lengths = np.fromiter(map(len, grams), np.int64, len(grams))
        usable = lengths <= longest
        letters = self._letters_of(_code_points("".join(grams)))
        begins = np.cumsum(lengths) - lengths
        codes = np.zeros(len(grams), np.uint64)
        for at in range(longest):
            there = lengths > at
            codes[there] = (codes[there] << self._bits) | letters[begins[there] + at]
        self._build(
            self._tagged(codes, lengths.astype(np.uint64))[usable],
            np.fromiter(numbers.values(), np.int64, len(grams))[usable],
        )

    def of_types(self, types: Sequence[str]) -> tuple[IntArray, IntArray]:
        """The numbers of all n-grams of some types that have one, by type; (types,): how many."""
        if not self._fits:
            return self._slowly(types)
        marked = [f"{START}{token[:LONGEST_TOKEN]}{END}" for token in types]
        lengths = np.fromiter(map(len, marked), np.int64, len(marked))
        points = _code_points("".join(marked))
        letters = self._letters_of(points)
        owners = np.repeat(np.arange(len(types)), lengths)
        left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(owners))  # to a token's end
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
            numbers.append(self._look_up(self._tagged(codes[at], np.uint64(size))))
            whose.append(owners[at])
        number, owner = np.concatenate(numbers), np.concatenate(whose)
        there = number > 0
        number, owner = number[there], owner[there]
        order = np.argsort(owner, kind="stable")
        return number[order], np.bincount(owner, minlength=len(types))

    def _slowly(self, types: Sequence[str]) -> tuple[IntArray, IntArray]:
        rows = [
            [self._numbers[gram] for gram in spell(token, self._longest) if gram in self._numbers]
            for token in types
        ]
        numbers = np.array([number for row in rows for number in row], np.int64)
        return numbers, np.array([len(row) for row in rows], np.int64)

    def _letters_of(self, points: npt.NDArray[np.uint32]) -> Codes:
        """(characters,): the number of each letter; 0 if it is in no n-gram."""
        return np.asarray(self._letters[np.minimum(points, len(self._letters) - 1)])

    def _tagged(self, codes: Codes, lengths: Codes | np.uint64) -> Codes:
        return np.asarray(codes | (lengths << (np.uint64(self._longest) * self._bits)))

    # A hash table: the first free slot from where a code's hash is.

    def _build(self, codes: Codes, numbers: IntArray) -> None:
        size = max(4, (4 * len(codes)).bit_length())  # no more than half full
        self._shift, self._mask = np.uint64(64 - size), (1 << size) - 1
        self._codes = np.zeros(1 << size, np.uint64)  # no code is 0: it has a length
        self._values = np.zeros(1 << size, np.int64)
        slots = self._hashed(codes)
        while len(codes):
            free = self._codes[slots] == 0
            self._codes[slots[free]] = codes[free]  # of several for one slot, one gets it
            placed = self._codes[slots] == codes
            self._values[slots[placed]] = numbers[placed]
            codes, numbers = codes[~placed], numbers[~placed]
            slots = (slots[~placed] + 1) & self._mask

    def _look_up(self, codes: Codes) -> IntArray:
        """(codes,): the number of each, or 0."""
        slots = self._hashed(codes)
        stored = self._codes[slots]
        values = np.where(stored == codes, self._values[slots], 0)
        searching = np.flatnonzero((stored != codes) & (stored != 0))
        while len(searching):
            slots[searching] = (slots[searching] + 1) & self._mask
            stored = self._codes[slots[searching]]
            same = stored == codes[searching]
            values[searching[same]] = self._values[slots[searching[same]]]
            searching = searching[~same & (stored != 0)]
        return values

    def _hashed(self, codes: Codes) -> IntArray:
        return ((codes * _MULTIPLIER) >> self._shift).astype(np.int64)


def _code_points(text: str) -> npt.NDArray[np.uint32]:
    """(characters,)"""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
