"""Products of sparse rows are those of plain ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem.arrays import Rows, SparseRows
from adhominem.score import products as module
from adhominem.score.products import column_means, products, row_products, squares

Array = npt.NDArray[np.float32]


def made_up(rng: np.random.Generator, rows: int, size: int = 40) -> Array:
    """Rows of which some columns are common, others rare, and one row is empty."""
    often = rng.random(size) ** 3
    table = rng.normal(size=(rows, size)) * (rng.random((rows, size)) < often)
    if rows > 2:
        table[rng.integers(rows)] = 0
    return table.astype(np.float32)


def slow_products(first: Array, second: Array) -> npt.NDArray[np.float64]:
    return np.array(
        [[sum(map(float.__mul__, a, b)) for b in second.tolist()] for a in first.tolist()]
    )


def both_kinds(table: Array) -> list[Rows]:
    """Plain by row and by column, sparse, and sparse rows chosen from others."""
    doubled = SparseRows.of(np.concatenate([table[::-1], table]))
    chosen = doubled[np.arange(len(table), 2 * len(table))]
    return [table, np.asfortranarray(table, np.float64), SparseRows.of(table), chosen]


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_products_are_sums_over_columns(seed: int, one: int, other: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = made_up(rng, one), made_up(rng, other)
    expected = slow_products(first, second)
    for here, there in product(both_kinds(first), both_kinds(second)):
        np.testing.assert_allclose(products(here, there), expected, rtol=1e-12, atol=1e-12)
    for rows in both_kinds(first):
        own = slow_products(first, first)
        np.testing.assert_allclose(products(rows, rows), own, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(squares(rows), np.diag(own), rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(max_examples=25, deadline=None)
def test_products_of_rows_side_by_side(seed: int, pairs: int) -> None:
    rng = np.random.default_rng(seed)
    texts = made_up(rng, 9)
    first, second = rng.integers(0, 9, (2, pairs))
    expected = np.diag(slow_products(texts[first], texts[second]))
    for rows in both_kinds(texts):
        found = row_products(rows, first, second)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_means_are_those_of_each_column() -> None:
    table = made_up(np.random.default_rng(3), 12)
    for rows in both_kinds(table):
        np.testing.assert_allclose(column_means(rows), table.mean(axis=0, dtype=np.float64))


@pytest.mark.parametrize("few", [0, 1_000])
@pytest.mark.parametrize("rare", [0, 0.3, 1.0])
def test_how_rows_are_multiplied_does_not_matter(
    few: int, rare: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FEW", few)
    monkeypatch.setattr(module, "_RARE", rare)
    monkeypatch.setattr(module, "_ROWS_AT_ONCE", 5)
    monkeypatch.setattr(module, "_PLAIN_AT_ONCE", 4)
    monkeypatch.setattr(module, "_COLUMNS_AT_ONCE", 7)
    rng = np.random.default_rng(4)
    first, second = made_up(rng, 13), made_up(rng, 17)
    expected = slow_products(first, second)
    for here, there in product(both_kinds(first), both_kinds(second)):
        np.testing.assert_allclose(products(here, there), expected, rtol=1e-12, atol=1e-12)
        found = products(here, here)
        np.testing.assert_allclose(found, slow_products(first, first), rtol=1e-12, atol=1e-12)
