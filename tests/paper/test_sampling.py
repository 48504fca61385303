"""Algorithms 1-3: the fast version against the paper's own words.

`paper_sample_pairs` is the paper's pseudocode line by line, with sets and no clever data
structure, and erratum 5: "there exists a document of the same author in G1, and then that one is
used". Whoever calls it says what its random draws bring: the fast version's output (then every
draw must be one that the paper allows there), or every possibility in turn (then the
probabilities of all outcomes come out exactly)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Protocol

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.paper import sampling as module
from adhominem.paper.sampling import (
    DrawnPairs,
    PairOptions,
    batches,
    draw_epoch,
    make_two_groups,
    match_apart,
    sample_pairs,
)
from adhominem.text.corpus import UNKNOWN_LABEL, Labels

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
            others = [other for other in group1 if author_of[other] == author_of[document]]
            if others:
                (other,) = others
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
        candidates = [author for author in group2 if document in author]
        assert candidates, f"document {document} is of no author in group 2"
        return candidates[0]

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
    probabilities: Counter[tuple[Pair, ...]] = Counter()
    choices: list[int] = []
    while True:
        draws, pairs = Path(choices), []
        paper_sample_pairs(authors, draws, pairs)
        probabilities[tuple(pairs)] += Fraction(1, int(np.prod(draws.options, dtype=object)))
        choices += [0] * (len(draws.options) - len(choices))
        while choices and choices[-1] == draws.options[len(choices) - 1] - 1:
            choices.pop()
        if not choices:
            return dict(probabilities)
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


# Epochs of pairs: what each option promises, alone and together with the others.


Row = tuple[int, int, int, int]  # author, topic, work, corpus


def make_labels(rows: list[Row]) -> Labels:
    table = np.array(rows, np.int32).reshape(-1, 4)
    names = [[f"{kind}{index}" for index in range(50)] for kind in "atwc"]
    return Labels(*names, *table.T)


def rows_up_to(most_authors: int) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(
        st.integers(0, most_authors), st.integers(-1, 2), st.integers(-1, 3), st.integers(0, 2)
    )
    return st.lists(row, max_size=40)


labelled_corpora = st.integers(0, 9).flatmap(rows_up_to).map(make_labels)
all_options = [
    PairOptions(
        balanced=balanced,
        same_author_across=across,
        different_authors_within=within,
        one_corpus_batches=one_corpus,
    )
    for balanced, across, within, one_corpus in product(
        (False, True), ("", "work", "topic"), ("", "topic", "corpus"), (False, True)
    )
]
any_options = st.sampled_from(all_options)


def options_with(**fixed: object) -> st.SearchStrategy[PairOptions]:
    """All options of this kind, whatever the others are."""
    return st.sampled_from(
        [
            options
            for options in all_options
            if all(getattr(options, name) == value for name, value in fixed.items())
        ]
    )


def made_up_labels(documents: int = 300, authors: int = 30, seed: int = 0) -> Labels:
    """A corpus large enough that every option finds pairs."""
    rng = random.Random(seed)
    return make_labels(
        [
            (rng.randrange(authors), rng.randrange(-1, 4), rng.randrange(-1, 6), rng.randrange(3))
            for _ in range(documents)
        ]
    )


@given(labelled_corpora, seeds, any_options)
@settings(max_examples=300)
def test_under_any_options_no_document_is_used_twice_and_no_label_is_wrong(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=seed % 3, options=options)
    used = np.concatenate([pairs.first, pairs.second])
    assert len(np.unique(used)) == len(used)
    same = labels.author[pairs.first] == labels.author[pairs.second]
    assert same.tolist() == pairs.same_author.tolist()


@given(labelled_corpora, seeds)
def test_the_default_is_the_papers_draw(labels: Labels, seed: int) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=2)
    paper = sample_pairs(labels.author, random.Random(f"{seed}/2"))
    assert sorted(as_list(pairs)) == sorted(as_list(paper))
    assert len(pairs) == len(labels) // 2


@given(labelled_corpora, seeds, options_with(balanced=True))
def test_balanced_draws_as_many_pairs_of_either_kind(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
    assert pairs.same_author_count == pairs.different_author_count


@given(labelled_corpora, seeds, options_with(balanced=True))
def test_balancing_leaves_at_least_the_smaller_class_as_it_was(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    unbalanced = replace(options, balanced=False)
    before = draw_epoch(labels, seed=seed, epoch=0, options=unbalanced)
    after = draw_epoch(labels, seed=seed, epoch=0, options=options)
    smaller = min(before.same_author_count, before.different_author_count)
    assert after.same_author_count >= smaller


def test_balancing_turns_a_surplus_of_same_author_pairs_into_the_other_kind() -> None:
    # Two authors, each alone in a topic and together in a third: the paper's draw leaves
    # few different-author pairs within a topic, but the documents for more of them.
    rows = [(author, 2, 0, 0) for author in (0, 1) for _ in range(40)]
    rows += [(author, author, 0, 0) for author in (0, 1) for _ in range(10)]
    labels = make_labels(rows)
    within = PairOptions(different_authors_within="topic")
    balanced = PairOptions(different_authors_within="topic", balanced=True)
    gained = 0
    for epoch in range(20):
        before = draw_epoch(labels, seed=0, epoch=epoch, options=within)
        after = draw_epoch(labels, seed=0, epoch=epoch, options=balanced)
        assert before.same_author_count > before.different_author_count
        gained += after.different_author_count - before.different_author_count
    assert gained >= 20


@pytest.mark.parametrize("across", ["work", "topic"])
def test_same_author_pairs_come_from_two_different_known_works_or_topics(across: str) -> None:
    @given(labelled_corpora, seeds, options_with(same_author_across=across))
    def check(labels: Labels, seed: int, options: PairOptions) -> None:
        pairs = draw_epoch(labels, seed=seed, epoch=1, options=options)
        same = pairs[pairs.same_author]
        label = getattr(labels, across)
        assert (label[same.first] != label[same.second]).all()
        assert UNKNOWN_LABEL not in label[same.first]
        assert UNKNOWN_LABEL not in label[same.second]

    check()
    labels = made_up_labels()
    pairs = draw_epoch(labels, seed=0, epoch=0, options=PairOptions(same_author_across=across))
    assert pairs.same_author_count > 20


@pytest.mark.parametrize("within", ["topic", "corpus"])
def test_different_author_pairs_come_from_one_topic_or_corpus(within: str) -> None:
    @given(labelled_corpora, seeds, options_with(different_authors_within=within))
    def check(labels: Labels, seed: int, options: PairOptions) -> None:
        pairs = draw_epoch(labels, seed=seed, epoch=1, options=options)
        different = pairs[~pairs.same_author]
        assert (labels.corpus[different.first] == labels.corpus[different.second]).all()
        if within == "topic":
            assert (labels.topic[different.first] == labels.topic[different.second]).all()

    check()
    labels = made_up_labels()
    options = PairOptions(different_authors_within=within)
    pairs = draw_epoch(labels, seed=0, epoch=0, options=options)
    assert pairs.different_author_count > 40


def test_documents_without_a_topic_pair_with_each_other_within_their_corpus() -> None:
    rows = [(author, UNKNOWN_LABEL, 0, author % 2) for author in range(12)]
    rows += [(12, 0, 0, 0), (13, 0, 0, 1)]  # one topic, but not one corpus
    options = PairOptions(different_authors_within="topic")
    sizes = set()
    for epoch in range(10):
        pairs = draw_epoch(make_labels(rows), seed=0, epoch=epoch, options=options)
        assert all(first % 2 == second % 2 for first, second, _ in as_list(pairs))
        assert not {12, 13} & {*pairs.first.tolist(), *pairs.second.tolist()}
        sizes.add(len(pairs))
    assert max(sizes) == 6


@given(labelled_corpora, seeds, any_options)
def test_the_same_seed_and_epoch_draw_the_same_pairs(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    one, other = (draw_epoch(labels, seed=seed, epoch=5, options=options) for _ in range(2))
    assert as_list(one) == as_list(other)


@pytest.mark.parametrize("options", all_options, ids=str)
def test_another_seed_or_epoch_draws_other_pairs(options: PairOptions) -> None:
    labels = made_up_labels()
    drawn = {
        frozenset(
            frozenset((first, second))
            for first, second, _ in as_list(
                draw_epoch(labels, seed=seed, epoch=epoch, options=options)
            )
        )
        for seed, epoch in ((0, 0), (0, 1), (1, 0), (10, 0), (1, 10))
    }
    assert len(drawn) == 5


def test_the_pairs_of_an_epoch_are_in_random_order() -> None:
    pairs = draw_epoch(made_up_labels(600, 20), seed=0, epoch=0)
    first_half = pairs[: len(pairs) // 2].same_author_count
    assert first_half == pytest.approx(pairs.same_author_count / 2, rel=0.25)
    runs = int((np.diff(pairs.same_author.astype(int)) != 0).sum()) + 1
    assert runs == pytest.approx(len(pairs) / 2, rel=0.25)  # the paper's order alternates


@pytest.mark.parametrize(
    "wrong",
    [
        {"same_author_across": "corpus"},
        {"same_author_across": "Work"},
        {"different_authors_within": "work"},
        {"different_authors_within": "author"},
    ],
)
def test_an_option_that_does_not_exist_is_refused(wrong: dict[str, str]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(OptionError, match=f"{name} is '{value}'; expected"):
        PairOptions(**wrong)


@pytest.mark.parametrize(("seed", "epoch"), [(-1, 0), (0, -1)])
def test_a_negative_seed_or_epoch_is_refused(seed: int, epoch: int) -> None:
    labels = made_up_labels(20)
    with pytest.raises(OptionError, match="expected 0 or more"):
        draw_epoch(labels, seed=seed, epoch=epoch)
    pairs = draw_epoch(labels, seed=0, epoch=0)
    with pytest.raises(OptionError, match="expected 0 or more"):
        batches(pairs, labels, 4, seed=seed, epoch=epoch)


# Even corpora

even_options = any_options.map(lambda options: replace(options, even_corpora=True))


def uneven_labels(sizes: tuple[int, ...], authors: int = 12, seed: int = 0) -> Labels:
    """Corpora of so many documents, each with authors of its own."""
    rng = random.Random(seed)
    rows: list[Row] = [
        (authors * corpus + rng.randrange(authors), rng.randrange(-1, 2), rng.randrange(6), corpus)
        for corpus, size in enumerate(sizes)
        for _ in range(size)
    ]
    rng.shuffle(rows)
    return make_labels(rows)


def rounds_of(labels: Labels) -> list[int]:
    """How often each corpus is drawn from."""
    sizes = Counter(labels.corpus.tolist())
    most = max(sizes.values())
    return [round((most / sizes[at]) ** 0.5) if sizes[at] else 0 for at in range(50)]


@given(labelled_corpora, seeds, even_options)
@settings(max_examples=200)
def test_even_corpora_label_no_pair_wrongly_and_use_no_document_more_often_than_its_rounds(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=1, options=options)
    same = labels.author[pairs.first] == labels.author[pairs.second]
    assert same.tolist() == pairs.same_author.tolist()
    assert not (pairs.first == pairs.second).any()
    if not len(labels):
        assert not len(pairs)
        return
    rounds = rounds_of(labels)
    used = Counter([*pairs.first.tolist(), *pairs.second.tolist()])
    assert all(count <= rounds[labels.corpus[at]] for at, count in used.items())


@given(labelled_corpora, seeds, even_options)
def test_every_round_is_a_draw_of_its_own_without_a_document_twice(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    drawn: list[tuple[Labels, DrawnPairs]] = []
    real = module._draw

    def watched(labels: Labels, *more: object) -> DrawnPairs:
        turn_pairs = real(labels, *more)  # type: ignore[arg-type]
        drawn.append((labels, turn_pairs))
        return turn_pairs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_draw", watched)
        pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
    assert len(drawn) == (max(rounds_of(labels)) if len(labels) else 1)
    for turn, (part, turn_pairs) in enumerate(drawn):
        used = [*turn_pairs.first.tolist(), *turn_pairs.second.tolist()]
        assert len(set(used)) == len(used)
        if len(labels):
            expected = [n for n in labels.corpus.tolist() if rounds_of(labels)[n] > turn]
            assert part.corpus.tolist() == expected
    assert len(pairs) == sum(len(turn_pairs) for _, turn_pairs in drawn)


@pytest.mark.parametrize("one_corpus", [False, True])
def test_corpora_have_shares_like_the_roots_of_their_documents(one_corpus: bool) -> None:
    sizes = (3_600, 900, 400, 100)
    labels = uneven_labels(sizes)
    options = PairOptions(even_corpora=True, one_corpus_batches=one_corpus)
    pairs = draw_epoch(labels, seed=0, epoch=0, options=options)
    used = np.bincount(labels.corpus[np.concatenate([pairs.first, pairs.second])])
    roots = np.sqrt(sizes)
    np.testing.assert_allclose(used / used.sum(), roots / roots.sum(), rtol=0.05)
    plain = draw_epoch(labels, seed=0, epoch=0, options=replace(options, even_corpora=False))
    before = np.bincount(labels.corpus[np.concatenate([plain.first, plain.second])])
    np.testing.assert_allclose(before / before.sum(), np.array(sizes) / sum(sizes), rtol=0.05)


def test_rounds_can_be_limited() -> None:
    labels = uneven_labels((900, 9))
    for limit, most in ((0, 10), (4, 4), (20, 10)):
        options = PairOptions(even_corpora=True, most_rounds=limit)
        pairs = draw_epoch(labels, seed=0, epoch=0, options=options)
        documents = np.concatenate([pairs.first, pairs.second])
        times = np.bincount(documents, minlength=len(labels))
        assert times[labels.corpus == 1].max() == most
        assert times[labels.corpus == 0].max() == 1


def test_a_corpus_without_documents_makes_no_rounds() -> None:
    labels = make_labels([(at % 5, 0, at % 3, 4) for at in range(60)])  # 49 names have none
    options = PairOptions(even_corpora=True)
    pairs = draw_epoch(labels, seed=0, epoch=0, options=options)
    assert len(pairs) == 30
    assert len({*pairs.first.tolist(), *pairs.second.tolist()}) == 60


@given(labelled_corpora, seeds, even_options)
def test_even_corpora_are_drawn_the_same_by_the_same_seed_and_epoch(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    one, other = (draw_epoch(labels, seed=seed, epoch=5, options=options) for _ in range(2))
    assert as_list(one) == as_list(other)


def test_the_rounds_of_a_corpus_differ_and_so_do_epochs() -> None:
    labels = uneven_labels((900, 100))
    options = PairOptions(even_corpora=True)
    small = np.flatnonzero(labels.corpus == 1)
    seen = []
    for seed, epoch in ((0, 0), (0, 1), (1, 0)):
        pairs = draw_epoch(labels, seed=seed, epoch=epoch, options=options)
        kept = [
            frozenset((first, second))
            for first, second, _ in as_list(pairs)
            if first in small and second in small
        ]
        seen.append(frozenset(kept))
        assert len(set(kept)) > 100  # of some 50 a round, three rounds: few come again
    assert len(set(seen)) == 3


def test_the_rounds_of_an_epoch_are_mixed() -> None:
    labels = uneven_labels((900, 100))
    options = PairOptions(even_corpora=True, different_authors_within="corpus")
    pairs = draw_epoch(labels, seed=0, epoch=0, options=options)
    small = labels.corpus[pairs.first] == 1
    half = len(pairs) // 2
    assert small[:half].sum() == pytest.approx(small.sum() / 2, rel=0.25)


@given(labelled_corpora, seeds, options_with(one_corpus_batches=True), st.integers(1, 9))
def test_even_corpora_go_with_batches_of_one_corpus(
    labels: Labels, seed: int, options: PairOptions, batch_size: int
) -> None:
    options = replace(options, even_corpora=True)
    pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
    different = pairs[~pairs.same_author]
    assert (labels.corpus[different.first] == labels.corpus[different.second]).all()
    parts = batches(pairs, labels, batch_size, seed=seed, epoch=0, options=options)
    assert sorted(index for part in parts for index in part.tolist()) == [*range(len(pairs))]
    for part in parts:
        assert 1 <= len(part) <= batch_size
        assert len({corpora_of(pairs, labels, index) for index in part}) == 1


@given(labelled_corpora, seeds, any_options)
def test_without_even_corpora_pairs_and_their_order_are_those_of_one_draw(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    """As it was before the option: models can be trained again, to the last bit."""
    rng = np.random.default_rng([seed, 3])
    drawn = sample_pairs(labels.author, random.Random(f"{seed}/3"))
    same, different = drawn[drawn.same_author], drawn[~drawn.same_author]
    if options.same_author_across:
        same = module._rematch_same(same, labels, options, rng)
    if options.within:
        documents = np.concatenate([different.first, different.second])
        different = module._match_different(documents, labels, options, rng)
    if options.balanced:
        same, different = module._balance(same, different, labels, options, rng)
    both = DrawnPairs.join(same, different)
    expected = as_list(both[rng.permutation(len(both))])
    assert as_list(draw_epoch(labels, seed=seed, epoch=3, options=options)) == expected


# Matching


def most_pairs(items: list[tuple[int, int]]) -> int:
    """The size of a maximum matching, by trying all: equal groups, different keys."""
    if len(items) < 2:
        return 0
    (group, key), *rest = items
    return max(
        most_pairs(rest),
        *(
            1 + most_pairs(rest[:index] + rest[index + 1 :])
            for index, (other_group, other_key) in enumerate(rest)
            if group == other_group and key != other_key
        ),
        0,
    )


def match(items: list[tuple[int, int]], seed: int) -> list[tuple[int, int]]:
    table = np.array(items, np.int64).reshape(-1, 2)
    first, second = match_apart(table[:, 0], table[:, 1], np.random.default_rng(seed))
    return list(zip(first.tolist(), second.tolist(), strict=True))


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(0, 3)), max_size=8), seeds)
@example([], 0)
@example([(0, 0)], 0)
@example([(5, 1)] * 7, 0)
@settings(max_examples=300)
def test_matching_apart_finds_as_many_pairs_as_there_can_be(
    items: list[tuple[int, int]], seed: int
) -> None:
    pairs = match(items, seed)
    used = [index for pair in pairs for index in pair]
    assert len(set(used)) == len(used)
    for first, second in pairs:
        assert items[first][0] == items[second][0]
        assert items[first][1] != items[second][1]
    assert len(pairs) == most_pairs(items)


def test_matching_apart_is_random() -> None:
    rounds = 3000
    seen = Counter(
        frozenset(frozenset(pair) for pair in match([(0, key) for key in range(4)], seed))
        for seed in range(rounds)
    )
    assert len(seen) == 3
    for count in seen.values():
        assert count == pytest.approx(rounds / 3, abs=4 * (rounds * 2 / 9) ** 0.5)


@given(labelled_corpora, seeds, any_options, st.integers(1, 9))
def test_every_pair_is_in_exactly_one_batch_and_no_batch_is_too_large(
    labels: Labels, seed: int, options: PairOptions, batch_size: int
) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
    parts = batches(pairs, labels, batch_size, seed=seed, epoch=0, options=options)
    assert sorted(index for part in parts for index in part.tolist()) == [*range(len(pairs))]
    assert all(1 <= len(part) <= batch_size for part in parts)
    again = batches(pairs, labels, batch_size, seed=seed, epoch=0, options=options)
    assert [part.tolist() for part in parts] == [part.tolist() for part in again]


def corpora_of(pairs: DrawnPairs, labels: Labels, index: int) -> tuple[int, ...]:
    documents = (pairs.first[index], pairs.second[index])
    return tuple(sorted(int(labels.corpus[document]) for document in documents))


@given(labelled_corpora, seeds, options_with(one_corpus_batches=True), st.integers(1, 9))
def test_a_batch_of_one_corpus_holds_no_pair_of_another_and_no_more_batches_than_needed(
    labels: Labels, seed: int, options: PairOptions, batch_size: int
) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
    parts = batches(pairs, labels, batch_size, seed=seed, epoch=0, options=options)
    for part in parts:
        assert len({corpora_of(pairs, labels, index) for index in part}) == 1
    kinds = Counter(corpora_of(pairs, labels, index) for index in range(len(pairs)))
    assert len(parts) == sum(-(-count // batch_size) for count in kinds.values())


def test_without_one_corpus_batches_all_batches_but_the_last_are_full() -> None:
    labels = made_up_labels()
    pairs = draw_epoch(labels, seed=0, epoch=0)
    sizes = [len(part) for part in batches(pairs, labels, 40, seed=0, epoch=0)]
    assert sizes == [40, 40, 40, 30]


@pytest.mark.parametrize("options", [PairOptions(), PairOptions(one_corpus_batches=True)])
def test_batches_are_mixed_anew_in_every_epoch(options: PairOptions) -> None:
    labels = made_up_labels()
    pairs = draw_epoch(labels, seed=0, epoch=0)
    mixed = {
        tuple(
            tuple(part.tolist())
            for part in batches(pairs, labels, 10, seed=seed, epoch=epoch, options=options)
        )
        for seed, epoch in ((0, 0), (0, 1), (1, 0))
    }
    assert len(mixed) == 3


def test_batches_of_one_corpus_come_in_mixed_order() -> None:
    labels = made_up_labels(900)
    options = PairOptions(one_corpus_batches=True, different_authors_within="corpus")
    pairs = draw_epoch(labels, seed=0, epoch=0, options=options)
    parts = batches(pairs, labels, 10, seed=0, epoch=0, options=options)
    kinds = [corpora_of(pairs, labels, part[0]) for part in parts]
    changes = sum(one != other for one, other in pairwise(kinds))
    assert changes > len(set(kinds))


def test_a_batch_size_below_one_is_refused() -> None:
    labels = made_up_labels(20)
    with pytest.raises(OptionError, match="batch_size is 0"):
        batches(draw_epoch(labels, seed=0, epoch=0), labels, 0, seed=0, epoch=0)
