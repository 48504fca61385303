"""Texts that are compared with each other speak for each other, but never for their partners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import exp
from statistics import NormalDist, fmean, median, pstdev
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.evaluation.pan import auc
from adhominem.scoring import companions as module
from adhominem.scoring.companions import FEWEST, MOST, Companions, member_weights

FloatArray = npt.NDArray[np.float64]
Tables = list[FloatArray]  # (texts, size) of each member
Style = list[FloatArray]  # (size,) of each member


def unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def planted(
    rng: np.random.Generator,
    sizes: Sequence[int],
    *,
    authors: int = 10,
    each: int = 4,
    habits: float = 1.0,
) -> Tables:
    """The styles of so many texts by each author in a row: the author's habits, and noise."""
    tables = []
    for size in sizes:
        own = np.repeat(rng.normal(size=(authors, size)), each, axis=0)
        tables.append(habits * own + rng.normal(size=own.shape))
    return tables


def chosen(tables: Tables, rows: Sequence[int]) -> Tables:
    return [table[np.array(rows)] for table in tables]


def stacked(*several: Tables) -> Tables:
    return [np.concatenate(parts) for parts in zip(*several, strict=True)]


def compare(companions: Companions, tables: Tables, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """(members, pairs): of single texts of these tables."""
    rows = [at for pair in pairs for at in pair]
    return companions.compare(chosen(tables, rows), np.arange(len(rows)))


# The formula


def slow_spread(values: Sequence[float]) -> tuple[float, float]:
    """What is usual, and the deviation from it."""
    middle = median(values)
    return middle, module._DEVIATION * median(abs(value - middle) for value in values)


def slow_nearest_pairs(near: Callable[[int, int], float], texts: range) -> list[tuple[int, int]]:
    """Two texts of which each is among the nearest few of the other."""
    usual = [slow_spread([near(one, other) for other in texts]) for one in texts]

    def standard(one: int, other: int) -> float:
        return sum(
            (near(one, other) - middle) / width for middle, width in (usual[one], usual[other])
        )

    nearest = []
    for one in texts:
        others = sorted((-standard(one, other), other) for other in texts if other != one)
        nearest.append({other for _, other in others[: module._NEAREST]})
    return [
        (one, other)
        for one, other in combinations(texts, 2)
        if other in nearest[one] and one in nearest[other]
    ]


class Slow:
    """As the module says it, text by text."""

    def __init__(self, tables: Tables) -> None:
        texts = range(len(tables[0]))
        self.texts = [[unit(table[at]) for table in tables] for at in texts]
        spreads = [
            slow_spread([float(one[at] @ other[at]) for one, other in combinations(self.texts, 2)])
            for at in range(len(tables))
        ]

        def standard(member: int, one: int, other: int) -> float:
            middle, width = spreads[member]
            return float(self.texts[one][member] @ self.texts[other][member] - middle) / width

        self.separation = []
        for member in range(len(tables)):
            others = [at for at in range(len(tables)) if at != member] or [member]

            def near(one: int, other: int, others: list[int] = others) -> float:
                return sum(standard(at, one, other) for at in others)

            pairs = slow_nearest_pairs(near, texts)
            said = [standard(member, one, other) for one, other in pairs]
            clear = median(said) if said else 0.0
            self.separation.append(max(module._LEAST_SEPARATION, clear))
        self.weights = [
            clear**2 / width for clear, (_, width) in zip(self.separation, spreads, strict=True)
        ]
        self.usual = [
            slow_spread([self.near(one, other) for other in self.texts]) for one in self.texts
        ]
        self.standards = [self.standardised(one, [one]) for one in self.texts]
        self.enriched = [
            self.enrich(one, row) for one, row in zip(self.texts, self.standards, strict=True)
        ]

    @property
    def company(self) -> float:
        enough = NormalDist().inv_cdf(1 - module._BY_CHANCE / len(self.texts))
        return fmean(max(0.0, sorted(row)[-2] - enough) for row in self.standards)

    def near(self, one: Style, other: Style) -> float:
        parts = zip(self.weights, one, other, strict=True)
        return float(sum(weight * (first @ second) for weight, first, second in parts))

    def is_copy(self, one: Style, other: Style) -> bool:
        return self.near(one, other) > module._COPY * sum(self.weights)

    def standardised(self, one: Style, pair: Sequence[Style]) -> list[float]:
        """How near all texts are, in deviations; the pair's own texts are out of reach."""
        middle, width = slow_spread([self.near(one, other) for other in self.texts])
        found = []
        for other, (its_middle, its_width) in zip(self.texts, self.usual, strict=True):
            near = self.near(one, other)
            standard = ((near - middle) / width + (near - its_middle) / its_width) / 2
            found.append(-np.inf if any(self.is_copy(each, other) for each in pair) else standard)
        return found

    def enrich(self, one: Style, standards: Sequence[float]) -> Style:
        enough = NormalDist().inv_cdf(1 - module._BY_CHANCE / len(self.texts))
        moved = [part.copy() for part in one]
        for at, standard in enumerate(standards):
            if standard > enough:
                ranks = [
                    sum(each > standard + module._SAME_RANK for each in row)
                    for row in (standards, self.standards[at])
                ]
                rank = min(module._KEPT_RANKS, max(ranks))
                weight = min(module._LARGEST_WEIGHT, module._WEIGHT * (standard - enough))
                weight *= exp(-rank / module._RANKS)
                for part, companion in zip(moved, self.texts[at], strict=True):
                    part += weight * companion
        return [unit(part) for part in moved]

    def compare(self, first: Sequence[Style], second: Sequence[Style]) -> list[float]:
        """What each member says of a pair of sides."""
        pair = [*first, *second]
        cohort = [
            enriched
            for text, enriched in zip(self.texts, self.enriched, strict=True)
            if not any(self.is_copy(each, text) for each in pair)
        ]
        sides = []
        for side in (first, second):
            moved = [self.enrich(each, self.standardised(each, pair)) for each in side]
            sides.append([unit(np.sum(parts, axis=0)) for parts in zip(*moved, strict=True)])
        found = []
        for member in range(len(self.weights)):
            one, other = (side[member] for side in sides)
            standing = []
            for style in (one, other):
                alike = [float(style @ text[member]) for text in cohort]
                standing.append((float(one @ other) - fmean(alike)) / pstdev(alike))
            found.append(fmean(standing))
        return found


@pytest.mark.parametrize("sizes", [[15], [12, 20], [10, 30, 16]])
@pytest.mark.parametrize("seed", [0, 1])
def test_sides_are_compared_as_by_a_loop_over_all_texts(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = planted(rng, sizes)
    copies = [3 * table[:2] + 0.1 * rng.normal(size=(2, table.shape[1])) for table in texts]
    texts = stacked(texts, copies, [rng.normal(size=(4, size)) for size in sizes])
    strangers = [rng.normal(size=(2, size)) for size in sizes]
    asked = stacked(chosen(texts, [0, 1, 2, 5, 4, 6, 7, 20, 21, 30, 17]), strangers)
    sides = [0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9]
    companions, slow = Companions(texts), Slow(texts)
    assert companions.separation == pytest.approx(slow.separation, rel=1e-4)
    assert companions.company == pytest.approx(slow.company, rel=1e-3)
    styles = [[unit(table[at]) for table in asked] for at in range(len(sides))]
    expected = [
        slow.compare(
            *(
                [s for s, own in zip(styles, sides, strict=True) if own == 2 * pair + each]
                for each in (0, 1)
            )
        )
        for pair in range(5)
    ]
    found = companions.compare(asked, np.array(sides))
    np.testing.assert_allclose(found, np.transpose(expected), rtol=0, atol=1e-3)
    assert np.ptp(found, axis=1).min() > 2


# What it is for

AUTHORS = 20
PAIRS = list(combinations(range(4 * AUTHORS), 2))
SAME = np.array([one // 4 == other // 4 for one, other in PAIRS])  # as `planted` has them


def cosines(tables: Tables, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """(members, pairs): what there is without the other texts."""
    return np.array([[unit(t[one]) @ unit(t[other]) for one, other in pairs] for t in tables])


def apart(scores: FloatArray) -> float:
    """How far same-author pairs are above others, in deviations of these."""
    others = scores[~SAME]
    return float((scores[SAME].mean() - others.mean()) / others.std())


@pytest.mark.parametrize("sizes", [[40], [40, 30]])
@pytest.mark.parametrize("seed", [0, 1])
def test_texts_of_one_author_are_told_from_others_better(sizes: list[int], seed: int) -> None:
    texts = planted(np.random.default_rng(seed), sizes, authors=AUTHORS, habits=0.8)
    before = cosines(texts, PAIRS)
    after = compare(Companions(texts), texts, PAIRS)
    for member in range(len(sizes)):
        assert auc(after[member], SAME) > auc(before[member], SAME) + 0.004
        assert apart(after[member]) > apart(before[member]) + 0.2
    assert auc(after.sum(axis=0), SAME) > auc(before.sum(axis=0), SAME)


def test_the_texts_of_a_pair_and_copies_of_them_do_not_speak_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    others = rng.normal(size=(100, 60))
    pair = rng.normal(size=60) + 1.2 * rng.normal(size=(2, 60))
    almost = pair + 0.2 * rng.normal(size=(2, 60))
    assert (unit(pair) * unit(almost)).sum(axis=1).min() > 0.95

    def score(*texts: FloatArray) -> float:
        return float(Companions([np.array([*others, *texts])]).compare([pair], np.arange(2))[0, 0])

    alone = score()
    several = ([pair[0]], [pair[1]], [*pair], [*pair, *pair], [*almost], [*pair, *almost])
    for own in several:
        assert score(*own) == pytest.approx(alone, rel=0.03)
    monkeypatch.setattr(module, "_COPY", 2.0)  # if it were not so
    assert max(abs(score(*own) / alone - 1) for own in several) > 0.2


def test_a_text_takes_nothing_from_its_partner(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    (texts,) = planted(rng, [40])
    mark = 0.8 * np.linalg.norm(texts[0]) * np.eye(41)[40]
    texts = np.pad(texts, ((0, 0), (0, 1)))
    partner = texts[0] + mark
    population = np.array([*texts, partner, 0.9 * partner + 0.01 * texts[5]])
    companions = Companions([population])
    real = Companions._companions_in
    told: list[Any] = []

    def companions_in(*more: Any) -> Any:
        told.append(real(*more))
        return told[-1]

    monkeypatch.setattr(Companions, "_companions_in", companions_in)

    def draws_on(sides: Sequence[int], *others: FloatArray) -> set[int]:
        """The companions of the first text, which is compared with others."""
        companions.compare([np.array([texts[0], *others])], np.array(sides))
        rows, columns, _ = told[-1]
        return set(columns[rows == 0].tolist())

    assert draws_on([0, 1], partner)  # others give it something
    assert not draws_on([0, 1], partner) & {40, 41}
    assert draws_on([0, 1], texts[30]) >= {40, 41}  # as they do if they are not compared
    assert not draws_on([0, 0, 1], texts[30], partner) & {40, 41}


def test_without_any_near_text_a_pair_is_seen_against_all_others_as_it_is() -> None:
    angles = 2 * np.pi * np.arange(24) / 24  # none stands out; those next to each other are copies
    texts = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    pairs = [(0, 2), (0, 5), (3, 15), (7, 1), (4, 5)]
    found = compare(Companions([texts]), [texts], pairs)
    for pair, score in zip(pairs, found[0], strict=True):
        cohort = [text for text in texts if max(text @ texts[at] for at in pair) < 0.9]
        assert 24 - len(cohort) == len({at + step for at in pair for step in (-1, 0, 1)})
        alike = texts[pair[0]] @ texts[pair[1]]
        standing = []
        for at in pair:
            usual = [float(text @ texts[at]) for text in cohort]
            standing.append((alike - fmean(usual)) / pstdev(usual))
        assert score == pytest.approx(fmean(standing), abs=1e-4)


def test_where_all_texts_are_copies_of_one_of_two_a_score_is_a_number() -> None:
    rng = np.random.default_rng(4)
    kinds = np.repeat([[1.0], [-1.0]], 12, axis=0) * np.eye(30)[0]
    texts = kinds + 0.05 * rng.normal(size=(24, 30))
    found = compare(Companions([texts]), [texts], [(0, 20), (0, 1)])
    assert np.isfinite(found).all()


# What does not matter


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_neither_the_order_of_pairs_nor_that_of_sides_nor_what_else_is_compared_matters(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    texts = planted(rng, [12, 30])
    companions = Companions(texts)
    pairs = [(int(one), int(other)) for one, other in rng.integers(0, 40, (30, 2))]
    found = compare(companions, texts, pairs)
    assert np.ptp(found) > 3
    order = rng.permutation(30)
    again = compare(companions, texts, [pairs[at] for at in order])
    np.testing.assert_allclose(again, found[:, order], rtol=0, atol=1e-3)
    swapped = compare(companions, texts, [(other, one) for one, other in pairs])
    np.testing.assert_allclose(swapped, found, rtol=0, atol=1e-3)
    alone = np.concatenate([compare(companions, texts, [pair]) for pair in pairs], axis=1)
    np.testing.assert_allclose(alone, found, rtol=0, atol=1e-3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_order_of_the_population_and_of_the_members_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = planted(rng, [12, 30, 20])
    pairs = [(int(one), int(other)) for one, other in rng.integers(0, 40, (30, 2))]
    companions = Companions(texts)
    found = compare(companions, texts, pairs)
    shuffled = Companions(chosen(texts, rng.permutation(40).tolist()))
    assert shuffled.separation == pytest.approx(companions.separation, rel=1e-4)
    np.testing.assert_allclose(compare(shuffled, texts, pairs), found, rtol=0, atol=1e-3)
    reverse = compare(Companions(texts[::-1]), texts[::-1], pairs)
    np.testing.assert_allclose(reverse, found[::-1], rtol=0, atol=1e-3)


powers = st.lists(st.integers(-8, 8), min_size=40, max_size=40)


@settings(max_examples=20)
@given(powers, powers)
def test_how_long_styles_are_does_not_matter(there: list[int], asked: list[int]) -> None:
    texts = planted(np.random.default_rng(5), [12, 20])
    sides = np.arange(40)
    expected = Companions(texts).compare(texts, sides)
    longer, other = ([t * np.exp2(p)[:, None] for t in texts] for p in (there, asked))
    np.testing.assert_array_equal(Companions(longer).compare(other, sides), expected)


def test_a_side_of_several_texts_is_their_sum_and_the_order_in_it_does_not_matter() -> None:
    texts = planted(np.random.default_rng(6), [40, 20], habits=0.8)
    companions = Companions(texts)
    sides = np.array([0, 0, 0, 1, 2, 2, 3, 3])
    found = companions.compare(chosen(texts, [0, 1, 2, 3, 4, 5, 12, 13]), sides)
    again = companions.compare(chosen(texts, [2, 0, 1, 3, 5, 4, 13, 12]), sides)
    np.testing.assert_allclose(found, again, rtol=0, atol=1e-3)
    several, single = found[:, 0], compare(companions, texts, [(0, 3), (1, 3), (2, 3)])
    assert (several > single.mean(axis=1)).all()  # three texts show the author better than one


def test_no_pairs_have_no_scores() -> None:
    texts = planted(np.random.default_rng(7), [12, 30])
    nothing = [np.zeros((0, 12)), np.zeros((0, 30))]
    assert Companions(texts).compare(nothing, np.zeros(0, np.int64)).shape == (2, 0)


@pytest.mark.parametrize("seed", range(5))
def test_there_is_company_where_authors_have_three_texts_and_more_and_none_in_pairs(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    sizes = [300, 200]
    alone, pairs, three, six = (
        Companions(planted(rng, sizes, authors=60 // texts, each=texts)).company
        for texts in (1, 2, 3, 6)
    )
    assert min(three, six) > 2 * max(alone, pairs)


@pytest.mark.parametrize("texts", [0, FEWEST - 1, MOST + 1])
def test_too_few_texts_or_too_many_are_refused(texts: int) -> None:
    with pytest.raises(OptionError, match=f"{texts:,} texts .*; expected {FEWEST} to {MOST:,}"):
        Companions([np.zeros((texts, 2))])


def test_the_fewest_texts_and_the_most_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 50)
    for texts in (FEWEST, 50):
        found = Companions([np.random.default_rng(8).normal(size=(texts, 9))])
        assert found.texts == texts


# Clearness


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_member_that_is_noise_is_not_clear_and_does_the_others_no_harm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    good = planted(rng, [40, 40], authors=AUTHORS, habits=0.9)
    texts = [*good, rng.normal(size=good[0].shape)]
    without, companions = Companions(good), Companions(texts)
    assert companions.separation[2] < 0.3 * min(companions.separation[:2])
    heard = member_weights(companions.separation, (2.0, 2.0, 2.0))
    assert heard[2] < 0.3 * heard[:2].min()
    expected = compare(without, good, PAIRS).sum(axis=0)
    found = compare(companions, texts, PAIRS)[:2].sum(axis=0)
    assert auc(found, SAME) > auc(expected, SAME) - 0.001
    third = planted(rng, [40], authors=AUTHORS, habits=0.9)
    assert Companions([*good, *third]).separation[2] > 2  # where it is no noise


def test_a_member_is_heard_by_how_clear_it_is_beside_what_is_usual_for_it() -> None:
    assert member_weights((2.0,), (0.5,)).tolist() == [1]
    assert member_weights((2.0, 1.0, 3.0), (2.0, 1.0, 3.0)).tolist() == [1, 1, 1]
    assert member_weights((2.0, 1.0), (1.0, 1.0)) == pytest.approx([4 / 3, 2 / 3])
    assert member_weights((2.0, 1.0), (4.0, 2.0)) == pytest.approx([1, 1])


clear = st.lists(st.tuples(*(st.floats(0.1, 10) for _ in range(2))), min_size=1, max_size=5)


@given(clear, st.floats(0.1, 10))
def test_members_are_heard_as_one_on_average(
    members: list[tuple[float, float]], times: float
) -> None:
    separation, usual = zip(*members, strict=True)
    found = member_weights(separation, usual)
    assert found.mean() == pytest.approx(1)
    assert (found >= 0).all()
    ratio = np.array(separation) / np.array(usual)
    assert (np.diff(found[np.argsort(ratio)]) >= -1e-9).all()
    np.testing.assert_allclose(
        member_weights([times * c for c in separation], usual), found, rtol=1e-6
    )
