"""What n-grams are about: which of them say the same, and which are parts of names.

Where "hils" and "… whilst" stand is always "whilst": that is one habit. And "Eliz" is none at all:
who is written about is not how somebody writes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.verify.ngram_texts import NgramText

_SAME = 0.8  # share of the places of an n-gram that are those of another
_NAMED = 0.8  # share of the places of an n-gram that are in names
_ENDS = frozenset(".!?…:")  # of a sentence
_OPENING = frozenset("\"'“”‘’«»([{*_")  # after which a word may be the first of its sentence


@dataclass(frozen=True)
class Occurrences:
    """Where some n-grams stand: the tokens of all texts are numbered in a row."""

    tokens: int
    ngram: IntArray  # (occurrences,): by its number, in rising order
    token: IntArray  # (occurrences,): the one that it is in, or begins with
    is_pair: BoolArray  # (n-grams,): whether it takes two tokens

    @classmethod
    def of(cls, texts: Sequence[NgramText], columns: IntArray, is_pair: BoolArray) -> Occurrences:
        """Of the n-grams with these columns, in rising order; each once in a token."""
        starts = np.cumsum([0, *(len(text.tokens) for text in texts)])
        both = []
        for text, start in zip(texts, starts[:-1], strict=True):
            at = np.minimum(np.searchsorted(columns, text.columns), len(columns) - 1)
            known = columns[at] == text.columns
            both.append(np.stack([at[known], start + text.places[known]]))
        ngram, token = np.concatenate(both, axis=1)
        tokens = max(int(starts[-1]), 1)
        # As one number each: NumPy sorts numbers many times as fast as pairs of them.
        ngram, token = np.divmod(np.unique(ngram * tokens + token), tokens)
        return cls(tokens, ngram, token, is_pair)

    def counts(self) -> IntArray:
        """(n-grams,): in how many places each stands."""
        return np.bincount(self.ngram, minlength=len(self.is_pair))

    def share_in(self, marked: BoolArray) -> FloatArray:
        """(n-grams,): the share of its places where a token is marked; `marked` is (tokens,)."""
        second = np.append(marked[1:], False)
        here = marked[self.token] | (self.is_pair[self.ngram] & second[self.token])
        inside = np.bincount(self.ngram, here, minlength=len(self.is_pair))
        return np.asarray(inside / np.maximum(self.counts(), 1))

    def tokens_of(self, ngram: int) -> IntArray:
        """The tokens that an n-gram begins in, rising."""
        begin, end = np.searchsorted(self.ngram, [ngram, ngram + 1])
        return self.token[begin:end]


class _Groups:
    """N-grams that stand where the first of their group does.

    Of each token it is known which groups have a place there, so that an n-gram is held against
    those alone that it meets.
    """

    def __init__(self) -> None:
        self.ngrams: list[list[int]] = []  # of each group
        self.sizes: list[int] = []  # tokens that the first n-gram of each begins in
        # For n-grams of one token, and for pairs: of each token, the groups that have it.
        self._at: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})

    def holding(self, first: list[int], is_pair: bool) -> list[int]:
        """The groups whose places are nearly all of an n-gram's, which begins in these tokens."""
        if not first:
            return list(range(len(self.ngrams)))
        at = self._at[is_pair]
        met = Counter(chain.from_iterable(at.get(token, ()) for token in first))
        return [group for group, times in met.items() if times >= _SAME * len(first)]

    def begin(self, ngram: int, first: list[int], is_pair: bool) -> None:
        """Two pairs of words must begin in the same place; a word may be either of a pair."""
        group = len(self.ngrams)
        self.ngrams.append([ngram])
        self.sizes.append(len(first))
        to_other = 1 if is_pair else -1
        either = {*first, *(token + to_other for token in first)}
        for at, places in ((self._at[is_pair], first), (self._at[not is_pair], either)):
            for place in places:
                at.setdefault(place, []).append(group)


def group(occurrences: Occurrences, ngrams: IntArray) -> list[list[int]]:
    """N-grams by their numbers, those together that stand where the first of them does.

    Each is with the rarest of those before it that stand wherever it does, or begins a new group.
    """
    groups = _Groups()
    for ngram in ngrams.tolist():
        first, is_pair = occurrences.tokens_of(ngram).tolist(), bool(occurrences.is_pair[ngram])
        holding = groups.holding(first, is_pair)
        if holding:
            rarest = min(holding, key=lambda group: (groups.sizes[group], group))
            groups.ngrams[rarest].append(ngram)
        else:
            groups.begin(ngram, first, is_pair)
    return groups.ngrams


def are_names(occurrences: Occurrences, names: BoolArray) -> BoolArray:
    """(n-grams,): whether nearly all their places are in names, of which `names` (tokens,) says."""
    return np.asarray(occurrences.share_in(names) >= _NAMED)


def name_tokens(texts: Sequence[NgramText], frequent: Sequence[str]) -> BoolArray:
    """(tokens,): whether each token of the texts seems to be a name, or of a name.

    That is a capitalised word within a sentence, or one anywhere that is not among the `frequent`
    types. A word that these texts also have in small letters is no name, nor is a frequent one in
    capitals.
    """
    known, types = set(frequent), {token for text in texts for token in text.tokens}

    def seems_name(token: str) -> bool:
        small = token.lower()
        if not token[:1].isupper() or token == "I" or token.startswith("I'") or small in types:
            return False
        return not (token.isupper() and small in known)

    names = {token for token in types if seems_name(token)}
    rare = {token for token in names if token not in known and token.lower() not in known}
    return np.array(
        [
            token in rare or (token in names and not first)
            for text in texts
            for token, first in zip(text.tokens, _begin_sentences(text), strict=True)
        ],
        dtype=bool,
    )


def _begin_sentences(text: NgramText) -> Iterator[bool]:
    """Whether each token may be the first of a sentence, of a line, or of what somebody says."""
    before, end = ".", 0
    for token, (start, stop) in zip(text.tokens, text.spans.tolist(), strict=True):
        sign = not any(map(str.isalnum, before)) and before[-1] in _ENDS | _OPENING
        yield sign or "\n" in text.text[end:start]
        before, end = token, stop
