"""Phrases as numbers of 64 bits: the same on every machine, and in every process.

A token type is hashed when it is first seen; a phrase of several tokens is mixed from their
numbers, for all tokens of many texts at once. Two phrases that differ have different numbers, as
far as anybody will ever see: among a million of them, two are the same with a chance of 1 in
40 million.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray
from adhominem.encoders.by_type import Growing, KeptByType
from adhominem.text.lexicon import Numbered

Hashes = npt.NDArray[np.uint64]

_MOST_TYPES = 1 << 18  # that are remembered
_MOST_CHARACTERS = 1 << 21  # of their spellings
_HALF = np.uint64(32)  # of the bits
# Odd numbers whose bits look like chance: those of the generator SplitMix64.
_STEP, _FIRST, _SECOND = map(
    np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class TypeHashes(KeptByType):
    """Token types to their hashes; case does not count."""

    def __init__(self) -> None:
        super().__init__()

    def _limits(self) -> tuple[int, int]:
        return _MOST_TYPES, _MOST_CHARACTERS

    def _clear(self) -> None:
        self._hashes = Growing((), np.uint64)  # (types,)

    def _add(self, types: list[str]) -> None:
        self._hashes.add([hash_of(token) for token in types])

    def look_up(self, texts: Numbered) -> Hashes:
        """(tokens,): the hashes of the tokens of all texts in a row."""
        with self._lock:
            rows = self._rows_of(texts.lexicon, texts.row)
            hashes = self._hashes.rows
            self._forget_what_is_too_much()
        return np.asarray(hashes[rows])


def hash_of(token: str) -> int:
    """The hash of a token, in small letters."""
    spelled = token.lower().encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(spelled, digest_size=8).digest(), "little")


def phrases(tokens: Hashes, longest: int) -> list[Hashes]:
    """The hashes of phrases of one token, of two, ...: (tokens,), (tokens - 1,), ... each.

    A phrase stands at the place of the token that it begins with.
    """
    grams = [tokens]
    for size in range(1, longest):
        grams.append(_mixed(grams[-1][:-1] * _STEP + tokens[size:]))
    return grams


def _mixed(numbers: Hashes) -> Hashes:
    """Each bit of the result depends on every bit of a number: the end of SplitMix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _FIRST
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _SECOND
    return np.asarray(numbers ^ (numbers >> np.uint64(31)))


def places_of(hashes: Hashes, size: int) -> IntArray:
    """(phrases,): the place of each, of so many; where hashes rise, places do."""
    return (((hashes >> _HALF) * np.uint64(size)) >> _HALF).astype(np.int64)


def signs_of(hashes: Hashes) -> npt.NDArray[np.float32]:
    """(phrases,): 1 or -1; what shares a place by chance cancels out on average."""
    return np.float32(1) - 2 * (hashes & np.uint64(1)).astype(np.float32)
