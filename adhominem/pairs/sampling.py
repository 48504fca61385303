"""Algorithms 1-3 of the paper: new pairs out of the same documents in every epoch.

The names are the paper's. Group 1 holds single documents, at most one an author;
group 2 holds authors with at least two documents left. Each document is used at
most once, and every round uses up at least two, so sampling always ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item")
Random = Callable[[], float]


@dataclass(frozen=True)
class DrawnPairs:
    """Pairs as indices of documents."""

    first: npt.NDArray[np.int64]  # (pairs,)
    second: npt.NDArray[np.int64]  # (pairs,)
    same_author: npt.NDArray[np.bool_]  # (pairs,)

    def __post_init__(self) -> None:
        if not self.first.shape == self.second.shape == self.same_author.shape:
            raise ValueError("first, second and same_author must be of one length")

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, chosen: npt.NDArray[np.generic] | slice) -> DrawnPairs:
        return DrawnPairs(self.first[chosen], self.second[chosen], self.same_author[chosen])

    @property
    def same_author_count(self) -> int:
        """How many of the pairs are by one author."""
        return int(self.same_author.sum())

    @property
    def different_author_count(self) -> int:
        """How many of the pairs are by two authors."""
        return len(self) - self.same_author_count

    @classmethod
    def join(cls, *parts: DrawnPairs) -> DrawnPairs:
        """All pairs of several draws, in their order."""
        return cls(
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.second for part in parts]),
            np.concatenate([part.same_author for part in parts]),
        )


class Group1:
    """At most one document an author; each operation in constant time."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []  # (author, document)
        self._seat: dict[int, int] = {}  # author -> index in _entries

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, author: int) -> bool:
        return author in self._seat

    def add(self, author: int, document: int) -> None:
        """Add the document of an author who has none here."""
        self._seat[author] = len(self._entries)
        self._entries.append((author, document))

    def take(self, author: int) -> int:
        """Remove and return this author's document."""
        return self._take(self._seat[author])

    def draw(self, uniform: Random) -> int:
        """Remove and return a random document."""
        return self._take(int(uniform() * len(self._entries)))

    def _take(self, seat: int) -> int:
        author, document = self._entries[seat]
        last = self._entries.pop()
        del self._seat[author]
        if seat < len(self._entries):  # the last one moves into the gap
            self._entries[seat] = last
            self._seat[last[0]] = seat
        return document


def draw(items: list[Item], uniform: Random) -> Item:
    """Remove and return a random item in constant time."""
    index = int(uniform() * len(items))
    items[index], items[-1] = items[-1], items[index]
    return items.pop()


def make_two_groups(
    documents_by_author: list[list[int]], uniform: Random
) -> tuple[Group1, list[tuple[int, list[int]]]]:
    """Algorithm 1. Of an odd number of documents, one at random goes to group 1."""
    group1 = Group1()
    group2: list[tuple[int, list[int]]] = []  # (author, documents)
    for author, documents in enumerate(documents_by_author):
        remaining = list(documents)
        if len(remaining) % 2 == 1:
            group1.add(author, draw(remaining, uniform))
        if remaining:
            group2.append((author, remaining))
    return group1, group2


def sample_pairs(author: npt.NDArray[np.integer], rng: random.Random) -> DrawnPairs:
    """Algorithm 3: pairs of documents, given the author of each, in the order they are drawn."""
    uniform = rng.random
    group1, group2 = make_two_groups(_documents_by_author(author), uniform)
    pairs: list[tuple[int, int, bool]] = []

    def clean_after_sampling(writer: int, documents: list[int]) -> None:
        """Algorithm 2: where the documents that an author has left go."""
        if len(documents) > 1:
            group2.append((writer, documents))
        elif documents and writer in group1:
            pairs.append((documents[0], group1.take(writer), True))
        elif documents:
            group1.add(writer, documents[0])

    while group2 or len(group1) > 1:
        if group2:
            writer, documents = draw(group2, uniform)
            pairs.append((draw(documents, uniform), draw(documents, uniform), True))
            clean_after_sampling(writer, documents)
        if len(group1) > 1:
            pairs.append((group1.draw(uniform), group1.draw(uniform), False))
        elif len(group2) > 1:
            one, other = draw(group2, uniform), draw(group2, uniform)
            pairs.append((draw(one[1], uniform), draw(other[1], uniform), False))
            clean_after_sampling(*one)
            clean_after_sampling(*other)
    table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    return DrawnPairs(table[:, 0], table[:, 1], table[:, 2].astype(bool))


def _documents_by_author(author: npt.NDArray[np.integer]) -> list[list[int]]:
    """The documents of each author, the authors in the order of their numbers."""
    order = np.argsort(author, kind="stable")
    borders = np.flatnonzero(np.diff(author[order])) + 1
    return [part.tolist() for part in np.split(order, borders)] if len(author) else []
