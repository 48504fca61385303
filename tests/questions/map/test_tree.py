"""The tree, against a slow search for the next join, and against SciPy's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.questions.map.corpus_map import LINKAGES, Join, join_all, leaf_order

MEANING = {"average": np.mean, "complete": np.min, "single": np.max}


def table_of(documents: int, seed: int, digits: int = 9) -> np.ndarray:
    """How alike documents are; of few digits, many are equally alike."""
    table = np.random.default_rng(seed).normal(size=(documents, documents)).round(digits)
    return np.asarray(table + table.T)


def slow_joins(table: np.ndarray, linkage: str) -> list[tuple[set[int], float]]:
    """By the definition: of all pairs of groups, the two that are most alike, again and again."""
    groups = [{at} for at in range(len(table))]
    result = []
    while len(groups) > 1:
        likeness, one, other = max(
            (float(MEANING[linkage](table[np.ix_(sorted(one), sorted(other))])), at, to)
            for at, one in enumerate(groups)
            for to, other in enumerate(groups[:at])
        )
        joined = groups[one] | groups[other]
        groups = [group for at, group in enumerate(groups) if at not in (one, other)] + [joined]
        result.append((joined, likeness))
    return result


def members(joins: tuple[Join, ...]) -> list[set[int]]:
    """The documents of each group: first those of one document, then those of each join."""
    result = [{at} for at in range(len(joins) + 1)]
    for join in joins:
        result.append(result[join.first] | result[join.second])
    return result


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("documents", [1, 2, 3, 12, 40])
def test_the_joins_are_those_of_a_slow_search(documents: int, linkage: str) -> None:
    table = table_of(documents, documents)
    joins = join_all(table, linkage)
    groups = members(joins)[documents:]
    expected = slow_joins(table, linkage)
    assert [sorted(group) for group in groups] == [sorted(group) for group, _ in expected]
    likenesses = [join.likeness for join in joins]
    np.testing.assert_allclose(likenesses, [likeness for _, likeness in expected], atol=1e-9)
    assert [join.size for join in joins] == [len(group) for group in groups]


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_joins_are_those_of_scipy(linkage: str) -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    table = table_of(150, 0)
    distances = 20 - table[np.triu_indices(150, 1)]
    expected = hierarchy.linkage(distances, linkage)
    joins = join_all(table, linkage)
    assert [(j.first, j.second, j.size) for j in joins] == [
        (int(row[0]), int(row[1]), int(row[3])) for row in expected
    ]
    np.testing.assert_allclose([20 - join.likeness for join in joins], expected[:, 2], atol=1e-9)


@given(
    documents=st.integers(1, 25),
    seed=st.integers(0, 1_000),
    digits=st.integers(-1, 1),
    linkage=st.sampled_from(LINKAGES),
)
def test_with_ties_every_join_still_is_what_it_says(
    documents: int, seed: int, digits: int, linkage: str
) -> None:
    table = table_of(documents, seed, digits)
    joins = join_all(table, linkage)
    groups = members(joins)
    assert len(joins) == documents - 1
    for at, join in enumerate(joins):
        one, other = sorted(groups[join.first]), sorted(groups[join.second])
        assert not set(one) & set(other)
        assert join.likeness == pytest.approx(MEANING[linkage](table[np.ix_(one, other)]))
        assert max(join.first, join.second) < documents + at
    assert all(later.likeness <= join.likeness for join, later in pairwise(joins))
    assert joins == join_all(table, linkage)


@given(documents=st.integers(1, 25), seed=st.integers(0, 1_000))
def test_beside_the_tree_each_group_stands_together(documents: int, seed: int) -> None:
    table = table_of(documents, seed)
    joins = join_all(table)
    order = leaf_order(joins, table)
    assert sorted(order) == list(range(documents))
    for group in members(joins):
        places = [order.index(document) for document in group]
        assert max(places) - min(places) == len(group) - 1


def test_copies_are_joined_first_and_equal_tables_at_one_height() -> None:
    table = np.full((6, 6), 0.1)
    joins = join_all(table)
    assert {join.likeness for join in joins} == {0.1}
    table[1, 4] = table[4, 1] = 3.0
    assert join_all(table)[0] == Join(1, 4, 3.0, 2)


def test_a_table_that_is_none_is_refused() -> None:
    with pytest.raises(OptionError, match="expected average, complete, single"):
        join_all(np.zeros((3, 3)), "ward")
    with pytest.raises(OptionError, match="symmetric"):
        join_all(np.arange(9.0).reshape(3, 3))
    broken = np.zeros((3, 3))
    broken[0, 1] = broken[1, 0] = np.nan
    with pytest.raises(OptionError, match="not a number"):
        join_all(broken)
