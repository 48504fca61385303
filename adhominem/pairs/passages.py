"""Shared text: duplicates of whole texts, and passages that occur in several texts.

Only letters count: quotation marks, line wraps and case make no difference. Texts are compared by
the hashes of their shingles, runs of letters of one length.

*Duplicates* are copies of a text, whole or in part, under whatever author's name. A text is reduced
to a sample of its shingles: those with small hashes. Every text is sampled by the same rule, so the
share of one text's sample that is also in another's estimates how much of the first text the other
contains. It is a share of the shorter text: an excerpt is a duplicate of its book.

*Passages* are quotations, boilerplate, a text pasted twice. Copied text is not evidence of who
wrote the rest, but makes texts look alike. So before texts are compared, a passage that both sides
have is removed from both, and one that a text or a side repeats counts once. Passages are
recognised by shingles of 64 letters, about fifteen words, each beginning with a word. Texts by
different people hardly ever have one in common by chance: in 22 genres, 1 pair in 800 did.

Many short pieces have the same effect as a few long passages. If a fourteenth of a text also occurs
in those of another author in pieces of at least 16 letters, three or four words, these are removed,
too. In 22 genres, 1 in 170 pairs by one author had as much in common, and none of 3,427 pairs by
different people.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, IntArray
from adhominem.text.files import Document, digest_of

Hashes = npt.NDArray[np.uint64]
TakenOut = Sequence[tuple[str, int]]  # the names of texts, and the words taken out of each

# For duplicates. Letters of a shingle, three or four words: rare enough, and two thirds of them
# survive if every tenth word is changed. (Less than half of those of 32 letters would, and such a
# copy would be missed.)
_COPIED = 16
_SAMPLED = 1 << 26  # of 2**32 hashes: one shingle in 64
_LARGEST_CROWD = 50  # texts with the same shingle: in larger crowds not all pairs are compared
_FEWEST_SHARED = 3  # sampled shingles: fewer may be a quotation
_FOREIGN_NO_LETTERS = re.compile(r"[^\w\x00-\x7f]+")  # curly quotes, long dashes, hard spaces
_ASCII_NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalpha())

# For passages.
_SHINGLE = 64  # letters
_PIECE = 16  # letters of a shingle for short pieces
_IN_PIECES = 0.07  # share of a text's pieces that another has, beyond what set phrases explain
_FEWEST_PIECES = 10  # shingles
_PHRASE = 50  # other authors: a piece that more of them have is a phrase
_LEFT = 100  # words that must remain of a text, or half of it: otherwise it is a copy
_KEPT = 32  # letters of a shingle for sketches: seven words, from which no text can be read
_SKETCHED = 1 << 61  # of 2**64 hashes: one shingle in 8
_LARGEST_SKETCH = 256


# Duplicates


@dataclass(frozen=True)
class Fingerprint:
    """A hash of a text and a sample of its shingles, to find copies of it."""

    exact: bytes  # equal for texts with the same letters
    sample: npt.NDArray[np.uint32]  # (sampled shingles,), sorted, distinct


@dataclass(frozen=True)
class Duplicate:
    """Two documents, the longer of which contains `share` of the shorter."""

    first: int
    second: int
    share: float


def fingerprints(texts: Sequence[str], *, whole: bool = False) -> list[Fingerprint]:
    """The fingerprint of each text; `whole` finds only texts with the same letters, and faster."""
    letters = [_letters(text) for text in texts]
    samples = [_NO_SAMPLE if whole else _sample(of_text) for of_text in letters]
    return list(map(Fingerprint, map(digest_of, letters), samples))


def _sample(letters: bytes) -> npt.NDArray[np.uint32]:
    hashes = shingle_hashes(np.frombuffer(letters, np.uint8), _COPIED) >> np.uint64(32)
    # With counts, NumPy need not load its masked arrays.
    return np.unique(hashes[hashes < _SAMPLED].astype(np.uint32), return_counts=True)[0]


def _letters(text: str) -> bytes:
    text = text.lower()
    if not text.isascii():
        text = _FOREIGN_NO_LETTERS.sub("", text)
    return text.encode("utf-8").translate(None, _ASCII_NO_LETTERS)


_NOTHING = digest_of(b"")
_NO_SAMPLE = np.zeros(0, np.uint32)


def shingle_hashes(letters: npt.NDArray[Any], size: int) -> npt.NDArray[np.uint64]:
    """A hash (shingles,) of each run of `size` letters, a power of two, by doubling lengths."""
    hashes = letters.astype(np.uint64)
    if len(hashes) < size:
        return np.zeros(0, np.uint64)
    step = 1  # letters that each hash covers
    while step < size:
        hashes = hashes[:-step] * np.uint64(0x9E3779B97F4A7C15) + hashes[step:]
        hashes ^= hashes >> np.uint64(29)
        step *= 2
    return hashes * np.uint64(0xBF58476D1CE4E5B9)


def find_duplicates(fingerprints: Sequence[Fingerprint], share: float = 0.5) -> list[Duplicate]:
    """All pairs of documents in which the longer contains at least `share` of the shorter.

    Among texts with the same letters, only the first is compared with other texts, and each of the
    rest with that first one: a copy of one is a copy of all.
    """
    shares = dict.fromkeys(_equal([print_.exact for print_ in fingerprints]), 1.0)
    samples = [print_.sample for print_ in fingerprints]
    for _, repeated in shares:  # otherwise, a text copied often would pass for a set phrase
        samples[repeated] = samples[repeated][:0]
    sizes = np.array([len(sample) for sample in samples], dtype=np.int64)
    if _share_any(samples):
        for one, other, shared in zip(*_shared_shingles(samples, sizes), strict=True):
            estimate = shared / min(sizes[one], sizes[other])
            if estimate >= share and shared >= _FEWEST_SHARED:
                shares[int(one), int(other)] = float(estimate)
    return [Duplicate(one, other, estimate) for (one, other), estimate in sorted(shares.items())]


def originals(texts: Sequence[str]) -> list[int]:
    """The index (texts,) of the first text with the same letters, mostly the text itself."""
    first = list(range(len(texts)))
    for original, copy in _equal([digest_of(_letters(text)) for text in texts]):
        first[copy] = original
    return first


def _equal(digests: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pairs of a text and the first one with the same letters; texts without letters have none."""
    first_of: dict[bytes, int] = {}
    firsts = [first_of.setdefault(digest, at) for at, digest in enumerate(digests)]
    return [
        (first, at) for at, first in enumerate(firsts) if first != at and digests[at] != _NOTHING
    ]


def _share_any(samples: Sequence[npt.NDArray[np.uint32]]) -> bool:
    """Whether any two texts share a shingle; the shingles of a sample are distinct."""
    hashes = np.sort(np.concatenate([np.zeros(0, np.uint32), *samples]))
    return bool((hashes[1:] == hashes[:-1]).any())


def _shared_shingles(
    samples: Sequence[npt.NDArray[np.uint32]], sizes: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Pairs of documents, the lower index first, and their number of shared shingles, (pairs,)."""
    hashes = np.concatenate(samples)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((owners, hashes))
    hashes, owners = hashes[order], owners[order]
    _, begins, crowd = np.unique(hashes, return_index=True, return_counts=True)
    rare = np.repeat(crowd <= _LARGEST_CROWD, crowd)
    # In a large crowd, each is only compared with the first: enough for copies of one text.
    ones, others = [np.repeat(owners[begins], crowd)[~rare]], [owners[~rare]]
    hashes, owners = hashes[rare], owners[rare]
    for step in range(1, min(_LARGEST_CROWD, int(crowd.max()))):
        meet = np.flatnonzero(hashes[step:] == hashes[:-step])
        ones.append(owners[meet])
        others.append(owners[meet + step])
    one, other = np.concatenate(ones), np.concatenate(others)
    met = one != other
    keys, shared = np.unique(one[met] * len(sizes) + other[met], return_counts=True)
    return keys // len(sizes), keys % len(sizes), shared


# Passages


@dataclass(frozen=True, eq=False)
class Letters:
    """The letters of a text, and the hash of the shingle that begins at each word."""

    text: str

    @cached_property
    def places(self) -> IntArray:
        """The indices (letters,) of the letters in the text."""
        letters = (self._codes >= ord("a")) & (self._codes <= ord("z"))
        foreign = self._codes > 127
        if foreign.any():
            kinds, which = np.unique(self._codes[foreign], return_inverse=True)
            letters[foreign] = np.array([chr(code).isalpha() for code in kinds.tolist()])[which]
        return np.flatnonzero(letters)

    @cached_property
    def starts(self) -> IntArray:
        """The indices (words,) of the letters that begin a word."""
        return np.flatnonzero(np.diff(self.places, prepend=-2) > 1)

    @cached_property
    def hashes(self) -> Hashes:
        """The hashes (shingles,) in the order of the text; the last words begin no shingle."""
        return self.hashes_of(_SHINGLE)

    def hashes_of(self, size: int) -> Hashes:
        """The hashes (shingles,) of shingles of `size` letters."""
        hashes = shingle_hashes(self._codes[self.places], size)
        return hashes[self.starts[self.starts < len(hashes)]]

    def without(self, shingles: BoolArray, size: int = _SHINGLE) -> tuple[str, int]:
        """The text without some of its shingles (shingles,), and the number of removed words."""
        edges = np.zeros(len(self.places) + 1, np.int64)
        begins = self.starts[: len(shingles)][shingles]
        edges[begins] += 1
        edges[begins + size] -= 1  # no two begin at the same word
        covered = np.cumsum(edges[:-1]) > 0  # (letters,)
        # A shingle may end inside a word that continues differently: that word stays.
        gone = np.logical_and.reduceat(covered, self.starts)  # (words,)
        ends = np.append(self.starts[1:], len(self.places)) - 1  # (words,): their last letters
        edges = np.flatnonzero(np.diff(gone.astype(np.int8), prepend=0, append=0))
        parts, at = [], 0
        for first, after in edges.reshape(-1, 2).tolist():
            parts.append(self.text[at : self.places[self.starts[first]]].rstrip("\"'“‘«([{<>*_ "))
            at = int(self.places[ends[after - 1]]) + 1
            rest = self.text[at : at + 8]  # punctuation of the last word
            at += len(rest) - len(rest.lstrip(".,;:!?\"'”’»)]}>*_…"))
        return "\n".join([*parts, self.text[at:]]), int(gone.sum())

    @cached_property
    def _codes(self) -> npt.NDArray[np.uint32]:
        lower = self.text.lower()
        if len(lower) != len(self.text):  # "İ" becomes two characters
            lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in self.text)
        return np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), np.uint32)


def without_repetitions(document: Document) -> Document:
    """A copy of a document without repeated passages: the first occurrence stays."""
    letters = Letters(document.text)
    again = _repeated(letters.hashes)
    return replace(document, text=letters.without(again)[0]) if again.any() else document


def without_shared(
    groups: Sequence[Sequence[Document]], elsewhere: Hashes | None = None
) -> tuple[list[list[Document]], TakenOut]:
    """Texts in groups by author without what several groups share, and what was removed.

    Passages whose shingles are in `elsewhere` are removed, too, and those that a group repeats
    occur once. If hardly anything of a text would remain, it is a copy of another and stays whole.
    """
    documents = [text for group in groups for text in group]
    authors = np.repeat(np.arange(len(groups)), [len(group) for group in groups])  # (texts,)
    taken_out: Counter[str] = Counter()
    _cut_passages(documents, authors, elsewhere, taken_out)
    _cut_pieces(documents, authors, taken_out)
    rest = iter(documents)
    return [[next(rest) for _ in group] for group in groups], list(taken_out.items())


def _cut_passages(
    documents: list[Document], authors: IntArray, elsewhere: Hashes | None, taken_out: Counter[str]
) -> None:
    letters = [Letters(text.text) for text in documents]
    hashes = np.concatenate([np.zeros(0, np.uint64), *(one.hashes for one in letters)])
    again, known = _repeated(hashes), np.zeros(len(hashes), dtype=bool)
    if elsewhere is not None and len(elsewhere):
        known = np.isin(hashes, elsewhere)
    if not (again.any() or known.any()):
        return
    sizes = [len(one.hashes) for one in letters]
    texts = np.repeat(np.arange(len(letters)), sizes)  # (shingles,): the text of each
    in_text = _repeated(hashes, texts)
    taken = known | again | _in_several(hashes, authors[texts])
    for at, end in enumerate(np.cumsum(sizes).tolist()):
        part = slice(end - sizes[at], end)
        text, words = letters[at].without(taken[part])
        if not _leaves_enough(letters[at], words):
            text, words = letters[at].without(in_text[part])
        if words:
            documents[at] = replace(documents[at], text=text)
            taken_out[documents[at].id] += words


def _leaves_enough(letters: Letters, words: int) -> bool:
    """Whether a text is more than a copy of another, if it shares this many words with others."""
    whole = len(letters.starts)
    return whole - words >= min(_LEFT, whole / 2)


def _cut_pieces(documents: list[Document], authors: IntArray, taken_out: Counter[str]) -> None:
    """Cut the short pieces that texts share with one other author, if there are many."""
    letters = [Letters(text.text) for text in documents]
    hashes = [one.hashes_of(_PIECE) for one in letters]
    every = np.concatenate([np.zeros(0, np.uint64), *hashes])
    owners = np.repeat(authors, [len(one) for one in hashes])
    if not _repeated(every).any():
        return
    order = np.lexsort((owners, every))
    every, owners = every[order], owners[order]
    others = np.append(True, (every[1:] != every[:-1]) | (owners[1:] != owners[:-1]))
    every, owners = every[others], owners[others]  # distinct per author
    pieces: dict[int, list[Hashes]] = {}
    for here, author in zip(hashes, authors.tolist(), strict=True):
        begins = np.searchsorted(every, here)
        counts = np.searchsorted(every, here, side="right") - begins
        few = (counts > 1) & (counts <= _PHRASE)
        fewest = max(_FEWEST_PIECES, _IN_PIECES * len(here))
        if few.sum() < fewest:
            continue
        counts, begins, shared = counts[few], begins[few], np.repeat(here[few], counts[few])
        steps = np.arange(len(shared)) - np.repeat(np.cumsum(counts) - counts, counts)
        who = owners[np.repeat(begins, counts) + steps]
        for other in np.flatnonzero(np.bincount(who) >= fewest).tolist():
            if other != author:
                for side in (author, other):
                    pieces.setdefault(side, []).append(shared[who == other])
    for at, author in enumerate(authors.tolist()):
        if author in pieces:
            taken = np.isin(hashes[at], np.concatenate(pieces[author]))
            text, words = letters[at].without(taken, _PIECE)
            if words and _leaves_enough(letters[at], words):
                documents[at] = replace(documents[at], text=text)
                taken_out[documents[at].id] += words


def without_recurring(documents: Sequence[Document]) -> tuple[list[Document], Hashes]:
    """Texts by anybody without the passages that several have, and the hashes of these passages."""
    once = [np.unique(Letters(text.text).hashes) for text in documents]
    hashes = np.sort(np.concatenate([np.zeros(0, np.uint64), *once]))
    groups, _ = without_shared([[text] for text in documents])
    return [text for (text,) in groups], np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def sketch(text: str, most: int | None = _LARGEST_SKETCH) -> npt.NDArray[np.uint32]:
    """A sketch (shingles,) of a text, to find shared passages and near copies without the text.

    It is one in eight of its hashes, sorted, and at most the `most` smallest. Two texts that share
    more than some thirty words, or many pieces of eight, have one of them in common.
    """
    hashes = np.unique(Letters(text).hashes_of(_KEPT))
    few = hashes[hashes < _SKETCHED][:most] >> np.uint64(29)
    return few.astype(np.uint32)


def _repeated(hashes: Hashes, owners: IntArray | None = None) -> BoolArray:
    """Whether each hash (hashes,) has occurred before, with the same owner if given."""
    again = np.zeros(len(hashes), dtype=bool)
    ordered = np.sort(hashes)
    if (ordered[1:] == ordered[:-1]).any():  # rarely; sorting is the fastest way to know
        order = np.lexsort((hashes,) if owners is None else (hashes, owners))
        same = hashes[order][1:] == hashes[order][:-1]
        if owners is not None:
            same &= owners[order][1:] == owners[order][:-1]
        again[order[1:][same]] = True  # stable order: the first occurrence comes first
    return again


def _in_several(hashes: Hashes, owners: IntArray) -> BoolArray:
    """Whether several owners have each hash (hashes,)."""
    order = np.lexsort((owners, hashes))
    hashes_, owners_ = hashes[order], owners[order]
    apart = (hashes_[1:] == hashes_[:-1]) & (owners_[1:] != owners_[:-1])
    return np.asarray(np.isin(hashes, hashes_[1:][apart]))
