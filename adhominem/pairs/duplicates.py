"""Duplicates: the same text twice, whole or in part, whatever the name above it.

A text is reduced to its letters, so that quote marks, line wraps and case make no
difference, and to a sample of its 16-letter shingles: those whose hash is small.
The same shingles are sampled from every text, so the share of one text's sample
found in another estimates how much of the one stands in the other. It is a share
of the shorter text: an excerpt is a duplicate of its book.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray

# Letters, three or four words: rare enough, and two thirds of them survive where every tenth
# word is changed. (Of 32 letters, less than half would: such a copy would pass for no copy.)
_SHINGLE = 16
_SAMPLED = 1 << 26  # of 2**32 hashes: one shingle in 64
_LARGEST_CROWD = 50  # texts with one shingle, up to which each is compared with each
_FEWEST_SHARED = 3  # sampled shingles: fewer are a quotation

_FOREIGN_NO_LETTERS = re.compile(r"[^\w\x00-\x7f]+")  # curly quotes, long dashes, hard spaces
_ASCII_NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalpha())


@dataclass(frozen=True)
class Fingerprint:
    """What is kept of a text to find its copies: a hash and a sample of its shingles."""

    exact: bytes  # equal for texts with the same letters
    sample: npt.NDArray[np.uint32]  # (sampled shingles,), sorted, each once


@dataclass(frozen=True)
class Duplicate:
    """Two documents of which `share` of the shorter stands in the longer."""

    first: int
    second: int
    share: float


def fingerprint(text: str) -> Fingerprint:
    """The fingerprint of a text."""
    text = text.lower()
    if not text.isascii():
        text = _FOREIGN_NO_LETTERS.sub("", text)
    letters = text.encode("utf-8").translate(None, _ASCII_NO_LETTERS)
    hashes = shingle_hashes(np.frombuffer(letters, np.uint8), _SHINGLE) >> np.uint64(32)
    # Without the counts, NumPy would first load its masked arrays.
    sample, _ = np.unique(hashes[hashes < _SAMPLED].astype(np.uint32), return_counts=True)
    return Fingerprint(blake2b(letters, digest_size=16).digest(), sample)


def shingle_hashes(letters: npt.NDArray[Any], size: int) -> npt.NDArray[np.uint64]:
    """(shingles,): a hash of each run of `size` letters, a power of two, by doubling the length."""
    hashes = letters.astype(np.uint64)
    if len(hashes) < size:
        return np.zeros(0, np.uint64)
    step = 1  # letters that each hash covers so far
    while step < size:
        hashes = hashes[:-step] * np.uint64(0x9E3779B97F4A7C15) + hashes[step:]
        hashes ^= hashes >> np.uint64(29)
        step *= 2
    return hashes * np.uint64(0xBF58476D1CE4E5B9)


def find_duplicates(fingerprints: Sequence[Fingerprint], share: float = 0.5) -> list[Duplicate]:
    """Every two documents of which at least `share` of the shorter stands in the longer.

    Of texts with the same letters, only the first is compared with other texts, and each
    of the rest with that first one: a copy of one is a copy of all.
    """
    shares = dict.fromkeys(_equal(fingerprints), 1.0)
    samples = [print_.sample for print_ in fingerprints]
    for _, repeated in shares:  # or a text copied often enough would pass for a set phrase
        samples[repeated] = samples[repeated][:0]
    sizes = np.array([len(sample) for sample in samples], dtype=np.int64)
    if _share_any(samples):
        for one, other, shared in zip(*_shared_shingles(samples, sizes), strict=True):
            estimate = shared / min(sizes[one], sizes[other])
            if estimate >= share and shared >= _FEWEST_SHARED:
                shares[int(one), int(other)] = float(estimate)
    return [Duplicate(one, other, estimate) for (one, other), estimate in sorted(shares.items())]


def originals(texts: Sequence[str]) -> list[int]:
    """For each text, the number of the first one with the same letters: its own, as a rule."""
    first = list(range(len(texts)))
    for original, copy in _equal([fingerprint(text) for text in texts]):
        first[copy] = original
    return first


def _equal(fingerprints: Sequence[Fingerprint]) -> list[tuple[int, int]]:
    """Each text with the first one of the same letters. Texts without letters equal none."""
    first_of: dict[bytes, int] = {}
    pairs = []
    for index, print_ in enumerate(fingerprints):
        first = first_of.setdefault(print_.exact, index)
        if first != index and print_.exact != _NOTHING:
            pairs.append((first, index))
    return pairs


_NOTHING = fingerprint("").exact


def _share_any(samples: Sequence[npt.NDArray[np.uint32]]) -> bool:
    """Whether any two texts share a shingle; each text has each of its own once."""
    hashes = np.sort(np.concatenate([np.zeros(0, np.uint32), *samples]))
    return bool((hashes[1:] == hashes[:-1]).any())


def _shared_shingles(
    samples: Sequence[npt.NDArray[np.uint32]], sizes: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """(pairs,) each: two documents, the lower first, and how many sampled shingles they share."""
    hashes = np.concatenate(samples)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((owners, hashes))
    hashes, owners = hashes[order], owners[order]
    _, begins, crowd = np.unique(hashes, return_index=True, return_counts=True)
    rare = np.repeat(crowd <= _LARGEST_CROWD, crowd)
    # In a large crowd each meets the first alone: enough for copies of one text, and no more work.
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
