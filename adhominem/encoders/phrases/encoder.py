"""The phrase encoder: which phrases a text has, each weighted by how rare it is in training.

Which phrases there are nobody can list: what an author says again and again may be in no training
text. So every phrase of a text counts, one to three tokens in a row, in small letters, and its
*place* among many thousand numbers of the LEV comes from its hash, as does its sign. Phrases that
share a place by chance add up. A text has a phrase or has it not: how often makes no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, FloatArray, IntArray, SparseRows
from adhominem.encoders.phrases.hashing import (
    Hashes,
    TypeHashes,
    phrases,
    places_of,
    signs_of,
)
from adhominem.text.lexicon import Numbered

_SHORTEST = 1e-12  # length of what a text has; of a text of words that all texts have, it is 0


class PhraseEncoder:
    """The phrase encoder of one model, ready to run."""

    def __init__(self, weights: AnyFloats, longest: int) -> None:
        """`weights` (lev_size,) are by place; a phrase has at most `longest` tokens."""
        self.lev_size, self.longest = len(weights), longest
        self.weights: Array32 = weights.astype(np.float32)
        self._types = TypeHashes()

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> SparseRows:
        """(documents, lev_size): the LEVs of tokenized documents; topics are not used."""
        return self.encode_numbered(Numbered.of(documents), topics)

    def encode_numbered(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> SparseRows:
        """(documents, lev_size): the same of documents whose tokens are numbers."""
        return _as_rows([self._lev(hashes) for hashes in self.distinct(texts)], self.lev_size)

    def vary(
        self, tokens: Sequence[str], topic: Sequence[str], starts: IntArray, times: IntArray
    ) -> SparseRows:
        """(variants, lev_size): the LEVs of a document with passages left out or repeated.

        See `PhraseVariants`.
        """
        return self.variants(tokens, starts).levs(times)

    def variants(self, tokens: Sequence[str], starts: IntArray) -> PhraseVariants:
        """Those of a document whose passages begin at the tokens `starts`."""
        return PhraseVariants(self, tokens, starts)

    def distinct(self, texts: Numbered) -> list[Hashes]:
        """Of each text, the phrases that it has: rising, each once."""
        grams = phrases(self._types.look_up(texts), self.longest)
        distinct = []
        for begin, end in pairwise([0, *np.cumsum(texts.lengths).tolist()]):
            # What begins in this text and ends in the next is no phrase of either.
            whole = [gram[begin : max(begin, end - size)] for size, gram in enumerate(grams)]
            hashes = np.sort(np.concatenate(whole))
            distinct.append(hashes[_begin_runs(hashes)])
        return distinct

    def occurrences(self, tokens: Sequence[str]) -> tuple[Hashes, IntArray, IntArray]:
        """Each phrase where it occurs: its hash, the token that it begins with, its tokens."""
        grams = phrases(self._types.look_up(Numbered.of([tokens])), self.longest)
        sizes = [len(gram) for gram in grams]
        begins = np.concatenate([np.arange(size) for size in sizes])
        return np.concatenate(grams), begins, np.repeat(np.arange(1, len(grams) + 1), sizes)

    def values(self, hashes: Hashes) -> tuple[IntArray, Array32]:
        """(phrases,) twice: the place of each in the LEV, and what one has before it is scaled."""
        places = places_of(hashes, self.lev_size)
        return places, self.weights[places] * signs_of(hashes)

    def length(self, hashes: Hashes) -> float:
        """Of a LEV of phrases, rising, each once, before it is brought to length 1."""
        return max(float(np.linalg.norm(_added_up(*self.values(hashes))[1])), _SHORTEST)

    def _lev(self, hashes: Hashes) -> tuple[IntArray, Array32]:
        """Of phrases, rising, the numbers of the LEV that are not zero: their places and values."""
        return scaled(*self.values(hashes))


def scaled(places: IntArray, values: Array32) -> tuple[IntArray, Array32]:
    """Values at places, which rise, as a LEV of length 1: of each place their sum, but no zeros."""
    places, sums = _added_up(places, values)
    length = np.sqrt(np.square(sums, dtype=np.float64).sum())
    sums /= np.float32(max(length, _SHORTEST))
    return places, sums


def _added_up(places: IntArray, values: Array32) -> tuple[IntArray, Array32]:
    if not len(places):
        return places, values
    firsts = np.flatnonzero(_begin_runs(places))
    sums = np.add.reduceat(values, firsts)
    kept = np.flatnonzero(sums != 0)
    return places[firsts[kept]], sums[kept]


def _begin_runs(values: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
    """(values,): of values that rise, whether each is the first of its like."""
    begins = np.empty(len(values), np.bool_)
    begins[:1] = True
    np.not_equal(values[1:], values[:-1], out=begins[1:])
    return begins


def _as_rows(levs: Sequence[tuple[IntArray, Array32]], size: int) -> SparseRows:
    places = np.concatenate([np.zeros(0, np.int64), *(places for places, _ in levs)])
    values = np.concatenate([np.zeros(0, np.float32), *(values for _, values in levs)])
    return SparseRows.of_counts([len(places) for places, _ in levs], places, values, size)


class PhraseVariants:
    """A text with some of its passages left out or repeated: its phrases are hashed once.

    A phrase belongs to the passage that it begins in.
    """

    def __init__(self, encoder: PhraseEncoder, tokens: Sequence[str], starts: IntArray) -> None:
        """Passages begin at the tokens `starts` (passages,)."""
        self._size = encoder.lev_size
        hashes, begins, _ = encoder.occurrences(tokens)
        distinct, self._phrase = np.unique(hashes, return_inverse=True)  # (occurrences,)
        self._passage = np.searchsorted(starts, begins, side="right") - 1  # (occurrences,)
        self._places, self._values = encoder.values(distinct)  # (phrases,) each

    def levs(self, times: IntArray) -> SparseRows:
        """(variants, lev_size): the LEVs; `times` (variants, passages) are how often each is there.

        A passage that is there twice has the same phrases as one that is there once.
        """
        return _as_rows([self._lev(row) for row in times], self._size)

    def along(self, times: IntArray, direction: FloatArray) -> FloatArray:
        """(variants,): the products of the LEVs with a direction (lev_size,)."""
        levs = (self._lev(row) for row in times)
        return np.array([values.astype(np.float64) @ direction[places] for places, values in levs])

    def _lev(self, times: IntArray) -> tuple[IntArray, Array32]:
        there = np.zeros(len(self._places), np.bool_)
        there[self._phrase[times[self._passage] > 0]] = True
        return scaled(self._places[there], self._values[there])
