"""Algorithms 1-3: the fast version against the paper's own words.

`paper_sample_pairs` is the paper's pseudocode line by line, with sets and no clever data
structure, and erratum 5: "there exists a document of the same author in G1, and then that one is
used". Whoever calls it says what its random draws bring: the fast version's output (then every
draw must be one that the paper allows there), or every possibility in turn (then the
probabilities of all outcomes come out exactly).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Protocol

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adhominem.pairs.sampling import DrawnPairs, make_two_groups, sample_pairs

Pair = tuple[int, int, bool]
Author = frozenset[int]  # the documents that an author has left: the paper's A


class Draws(Protocol):
    """Answers "randomly draw"; `place` is 0 or 1, which document of the next pair it is for."""

    def spare(self, author: Author) -> int: ...
    def author(self, group2: set[Author], place: int) -> Author: ...
    def document(self, documents: Iterable[int], place: int) -> int: ...


def paper_make_two_groups(
    authors: list[Author], draws: Draws
) -> tuple[set[int], set[Author]]:  # Algorithm 1
    group1: set[int] = set()
    group2: set[Author] = set()
    group3: set[Author] = set()
    for documents in authors:
        if len(documents) == 1:
            group1 = group1 | documents
        elif len(documents) > 1 and len(documents) % 2 == 0:
            group2 = group2 | {documents}
        elif len(documents) > 1 and len(documents) % 2 == 1:
            group3 = group3 | {documents}
    for documents in sorted(group3, key=sorted):
        document = draws.spare(documents)
        group1 = group1 | {document}
        group2 = group2 | {documents - {document}}
    return group1, group2


def paper_sample_pairs(
    authors: list[Author], draws: Draws, pairs: list[Pair]
) -> None:  # Algorithm 3
    author_of = {document: index for index, owned in enumerate(authors) for document in owned}
    group1, group2 = paper_make_two_groups(authors, draws)

    def clean_after_sampling(left: Author) -> None:  # Algorithm 2
        if len(left) > 1:
            group2.add(left)
        elif len(left) == 1:
            (document,) = left
            own = [other for other in group1 if author_of[other] == author_of[document]]
            if own:
                (other,) = own
                pairs.append((document, other, True))
                group1.remove(other)
            else:
                group1.add(document)

    while len(group2) > 0 or len(group1) > 1:
        if len(group2) > 0:
            author = draws.author(group2, 0)
            group2.remove(author)
            first = draws.document(author, 0)
            second = draws.document(author - {first}, 1)
            pairs.append((first, second, True))
            clean_after_sampling(author - {first, second})
        if len(group1) > 1:
            first = draws.document(group1, 0)
            second = draws.document(group1 - {first}, 1)
            group1 -= {first, second}
            pairs.append((first, second, False))
        elif len(group2) > 1:
            one = draws.author(group2, 0)
            other = draws.author(group2 - {one}, 1)
            group2 -= {one, other}
            first = draws.document(one, 0)
            second = draws.document(other, 1)
            pairs.append((first, second, False))
            clean_after_sampling(one - {first})
            clean_after_sampling(other - {second})


class Replay:
    """Draws what the fast version drew, if the paper allows it."""

    def __init__(self, fast: list[Pair], spares: set[int]) -> None:
        self.fast = fast
        self.spares = spares
        self.pairs: list[Pair] = []  # what the paper's version has so far

    def spare(self, author: Author) -> int:
        (document,) = author & self.spares
        return document

    def author(self, group2: set[Author], place: int) -> Author:
        document = self._next(place)
        found = [author for author in group2 if document in author]
        assert found, f"document {document} is of no author in group 2"
        return found[0]

    def document(self, documents: Iterable[int], place: int) -> int:
        document = self._next(place)
        assert document in documents
        return document

    def _next(self, place: int) -> int:
        assert len(self.pairs) < len(self.fast), "the paper draws more pairs"
        return self.fast[len(self.pairs)][place]


class Path:
    """Draws by a list of choices; past its end, the first of what there is. Notes the odds."""

    def __init__(self, choices: list[int]) -> None:
        self.choices = choices
        self.options: list[int] = []  # how many there were at each draw

    def _pick(self, items: list) -> object:
        step = len(self.options)
        self.options.append(len(items))
        return items[self.choices[step] if step < len(self.choices) else 0]

    def spare(self, author: Author) -> int:
        return self._pick(sorted(author))

    def author(self, group2: set[Author], place: int) -> Author:
        return self._pick(sorted(group2, key=sorted))

    def document(self, documents: Iterable[int], place: int) -> int:
        return self._pick(sorted(documents))


def outcomes(authors: list[Author]) -> dict[tuple[Pair, ...], Fraction]:
    """Every outcome of the paper's algorithms with its probability, by trying all draws."""
    found: Counter[tuple[Pair, ...]] = Counter()
    choices: list[int] = []
    while True:
        draws, pairs = Path(choices), []
        paper_sample_pairs(authors, draws, pairs)
        found[tuple(pairs)] += Fraction(1, int(np.prod(draws.options, dtype=object)))
        choices += [0] * (len(draws.options) - len(choices))
        while choices and choices[-1] == draws.options[len(choices) - 1] - 1:
            choices.pop()
        if not choices:
            return dict(found)
        choices[-1] += 1


def as_list(pairs: DrawnPairs) -> list[Pair]:
    return list(
        zip(pairs.first.tolist(), pairs.second.tolist(), pairs.same_author.tolist(), strict=True)
    )


def by_author(author: list[int]) -> list[Author]:
    return [
        frozenset(index for index, writer in enumerate(author) if writer == name)
        for name in sorted(set(author))
    ]


def numbered(*sizes: int) -> list[int]:
    """The author of each document, for authors with so many documents."""
    return [author for author, size in enumerate(sizes) for _ in range(size)]


def draw_spares(author: list[int], seed: int) -> set[int]:
    """The documents that Algorithm 1 puts into group 1 with this seed."""
    documents = [sorted(owned) for owned in by_author(author)]
    group1, _ = make_two_groups(documents, random.Random(seed).random)
    return {group1.take(index) for index in range(len(documents)) if index in group1}


# Few authors give many documents each; many authors, one or two; and all between.
corpora = st.integers(0, 12).flatmap(lambda most: st.lists(st.integers(0, most), max_size=40))
seeds = st.integers(0, 2**32)


@given(corpora, seeds)
@example([], 0)
@example([7], 0)
@example([3] * 9, 1)
@example(numbered(1, 1, 1, 1), 1)
@example(numbered(2, 2, 2, 2), 1)
@example(numbered(1, 2, 3, 30), 1)
@settings(max_examples=400)
def test_every_draw_is_one_the_paper_allows_and_the_end_is_the_papers(
    author: list[int], seed: int
) -> None:
    fast = as_list(sample_pairs(np.array(author, np.int32), random.Random(seed)))
    replay = Replay(fast, draw_spares(author, seed))
    paper_sample_pairs(by_author(author), replay, replay.pairs)
    assert replay.pairs == fast


@given(corpora, seeds)
def test_the_two_groups_are_those_of_algorithm_1(author: list[int], seed: int) -> None:
    authors = by_author(author)
    documents = [sorted(owned) for owned in authors]
    group1, group2 = make_two_groups(documents, random.Random(seed).random)
    singles = {index: group1.take(index) for index in range(len(authors)) if index in group1}
    assert len(group1) == 0
    expected1, expected2 = paper_make_two_groups(authors, Replay([], set(singles.values())))
    assert set(singles.values()) == expected1
    assert sorted(sorted(left) for _, left in group2) == sorted(map(sorted, expected2))
    owners = [*singles.items(), *((index, left[0]) for index, left in group2)]
    assert all(document in authors[index] for index, document in owners)
    assert documents == [sorted(owned) for owned in authors], "the input was changed"


@pytest.mark.parametrize("sizes", [(1, 2, 3), (4, 2), (5,), (1, 1, 1), (2, 2, 1)])
def test_outcomes_are_as_frequent_as_the_paper_makes_them(sizes: tuple[int, ...]) -> None:
    author = numbered(*sizes)
    expected = outcomes(by_author(author))
    assert sum(expected.values()) == 1
    rounds = 4000
    array = np.array(author)
    seen = Counter(
        tuple(as_list(sample_pairs(array, random.Random(seed)))) for seed in range(rounds)
    )
    assert set(seen) <= set(expected)
    # Pearson's chi squared: its mean is the number of free cells, its variance twice that.
    chances = {outcome: rounds * float(chance) for outcome, chance in expected.items()}
    distance = sum((seen[outcome] - chance) ** 2 / chance for outcome, chance in chances.items())
    free = len(expected) - 1
    assert free >= 2
    assert distance < free + 5 * (2 * free) ** 0.5


@given(corpora, seeds)
def test_no_document_is_used_twice_no_label_is_wrong_and_at_most_one_is_left_over(
    author: list[int], seed: int
) -> None:
    pairs = sample_pairs(np.array(author, np.int64), random.Random(seed))
    used = [*pairs.first.tolist(), *pairs.second.tolist()]
    assert len(set(used)) == len(used)
    assert set(used) <= set(range(len(author)))
    assert len(author) - len(used) == len(author) % 2  # the last one, if their number is odd
    for first, second, same in as_list(pairs):
        assert (author[first] == author[second]) is same


def test_a_corpus_of_one_large_author_and_many_small_ones_is_used_up() -> None:
    author = np.array(numbered(20_000, *[1] * 5_000, *[2] * 5_000, *[3] * 5_000))
    pairs = sample_pairs(author, random.Random(0))
    assert len(pairs) == len(author) // 2
    assert (author[pairs.first] == author[pairs.second]).tolist() == pairs.same_author.tolist()


def test_the_numbers_of_the_authors_do_not_matter_but_their_order() -> None:
    author = np.array([4, 9, 4, 900, 9, 4])
    renamed = np.array([0, 1, 0, 2, 1, 0])
    drawn = [as_list(sample_pairs(names, random.Random(3))) for names in (author, renamed)]
    assert drawn[0] == drawn[1]


def test_pairs_of_unlike_length_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        DrawnPairs(np.arange(3), np.arange(3), np.ones(2, bool))


def test_drawn_pairs_can_be_chosen_joined_and_counted() -> None:
    pairs = DrawnPairs(np.array([0, 2, 4]), np.array([1, 3, 5]), np.array([True, False, True]))
    assert (len(pairs), pairs.same_author_count, pairs.different_author_count) == (3, 2, 1)
    assert as_list(pairs[~pairs.same_author]) == [(2, 3, False)]
    assert as_list(DrawnPairs.join(pairs[2:], pairs[:1])) == [(4, 5, True), (0, 1, True)]
