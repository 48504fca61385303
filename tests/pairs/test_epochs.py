"""Epochs of pairs: what each option promises, alone and together with the others."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.pairs import sampling as module
from adhominem.pairs.sampling import (
    DrawnPairs,
    PairOptions,
    batches,
    draw_epoch,
    match_apart,
    sample_pairs,
)
from adhominem.text.corpus import UNKNOWN_LABEL, Labels

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


corpora = st.integers(0, 9).flatmap(rows_up_to).map(make_labels)
seeds = st.integers(0, 1000)
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


def as_list(pairs: DrawnPairs) -> list[tuple[int, int, bool]]:
    return list(
        zip(pairs.first.tolist(), pairs.second.tolist(), pairs.same_author.tolist(), strict=True)
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


@given(corpora, seeds, any_options)
@settings(max_examples=300)
def test_under_any_options_no_document_is_used_twice_and_no_label_is_wrong(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=seed % 3, options=options)
    used = np.concatenate([pairs.first, pairs.second])
    assert len(np.unique(used)) == len(used)
    same = labels.author[pairs.first] == labels.author[pairs.second]
    assert same.tolist() == pairs.same_author.tolist()


@given(corpora, seeds)
def test_the_default_is_the_papers_draw(labels: Labels, seed: int) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=2)
    paper = sample_pairs(labels.author, random.Random(f"{seed}/2"))
    assert sorted(as_list(pairs)) == sorted(as_list(paper))
    assert len(pairs) == len(labels) // 2


@given(corpora, seeds, options_with(balanced=True))
def test_balanced_draws_as_many_pairs_of_either_kind(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
    assert pairs.same_author_count == pairs.different_author_count


@given(corpora, seeds, options_with(balanced=True))
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
    @given(corpora, seeds, options_with(same_author_across=across))
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
    @given(corpora, seeds, options_with(different_authors_within=within))
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


@given(corpora, seeds, any_options)
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


@given(corpora, seeds, even_options)
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


@given(corpora, seeds, even_options)
def test_every_round_is_a_draw_of_its_own_without_a_document_twice(
    labels: Labels, seed: int, options: PairOptions
) -> None:
    drawn: list[tuple[Labels, DrawnPairs]] = []
    real = module._draw

    def watched(labels: Labels, *more: object) -> DrawnPairs:
        found = real(labels, *more)  # type: ignore[arg-type]
        drawn.append((labels, found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_draw", watched)
        pairs = draw_epoch(labels, seed=seed, epoch=0, options=options)
    assert len(drawn) == (max(rounds_of(labels)) if len(labels) else 1)
    for turn, (some, found) in enumerate(drawn):
        used = [*found.first.tolist(), *found.second.tolist()]
        assert len(set(used)) == len(used)
        if len(labels):
            expected = [n for n in labels.corpus.tolist() if rounds_of(labels)[n] > turn]
            assert some.corpus.tolist() == expected
    assert len(pairs) == sum(len(found) for _, found in drawn)


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


def test_a_corpus_without_documents_makes_no_rounds() -> None:
    labels = make_labels([(at % 5, 0, at % 3, 4) for at in range(60)])  # 49 names have none
    options = PairOptions(even_corpora=True)
    pairs = draw_epoch(labels, seed=0, epoch=0, options=options)
    assert len(pairs) == 30
    assert len({*pairs.first.tolist(), *pairs.second.tolist()}) == 60


@given(corpora, seeds, even_options)
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


@given(corpora, seeds, options_with(one_corpus_batches=True), st.integers(1, 9))
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


@given(corpora, seeds, any_options)
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


@given(corpora, seeds, any_options, st.integers(1, 9))
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


@given(corpora, seeds, options_with(one_corpus_batches=True), st.integers(1, 9))
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
