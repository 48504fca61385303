"""Products of chosen texts: those of plain rows, in C and in NumPy; nothing outside is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_packing import made_levs

from adhominem.arrays import joined
from adhominem.compiled import NUMPY, VARIABLE, compiled
from adhominem.index import engine, packing
from adhominem.index.engine import even_parts, largest, row_products, whole_numbers
from adhominem.index.packing import LevTable, PackedLevs
from adhominem.score.products import products

MODULE = compiled("adhominem.index._chosen")
NUMBERS = np.array([6, 0, 11, 3, 3, 7])  # of shards with 4, 3, 0 and 5 texts
SIZES = (4, 3, 0, 5)


@pytest.fixture
def module() -> Any:
    if MODULE is None:
        pytest.skip("the part in C was not built")
    return MODULE


def in_three_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few there are, they are divided."""
    monkeypatch.setattr(engine, "_CODES_WORTH_THREADS", 0)
    monkeypatch.setattr(packing, "_LEVS_WORTH_THREADS", 0)
    monkeypatch.setattr(engine, "cores", lambda: 3)
    assert len(even_parts(len(NUMBERS))) == 3


@pytest.mark.parametrize("way", ["numpy", "c", "c, in threads"])
def test_products_are_those_of_all_rows(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    if way == "numpy":
        monkeypatch.setenv(VARIABLE, NUMPY)
    if "threads" in way:
        in_three_threads(monkeypatch)
    for size in (1, 7, 93, 768):
        shards = tuple(rng.uniform(-100, 100, (texts, size)).astype(np.int8) for texts in SIZES)
        query = rng.normal(size=size).astype(np.float32)
        slow = np.concatenate(shards).astype(float) @ query
        quick = row_products(shards, NUMBERS, query)
        np.testing.assert_allclose(quick, slow[NUMBERS], atol=1e-3 * np.abs(slow).max())
        assert len(row_products(shards, NUMBERS[:0], query)) == 0
        slow = np.concatenate(shards)[:, size // 3 :].astype(float) @ query[size // 3 :]
        ends = row_products(shards, NUMBERS, query[size // 3 :])
        np.testing.assert_allclose(ends, slow[NUMBERS], atol=1e-3 * np.abs(slow).max())
    assert not row_products(shards, NUMBERS, query[:0]).any()


@pytest.mark.parametrize("way", ["numpy", "c", "c, in threads"])
@pytest.mark.parametrize("size", [3_000, 70_000])
def test_products_of_packed_levs_are_those_of_levs(
    size: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "numpy":
        monkeypatch.setenv(VARIABLE, NUMPY)
    if "threads" in way:
        in_three_threads(monkeypatch)
    levs = [made_levs(texts, seed, size, 0.002) for seed, texts in enumerate(SIZES) if texts]
    packed = [PackedLevs.of(one) for one in levs]
    query = PackedLevs.of(levs[0][2:3])
    everything = joined([one.levs(np.arange(len(one))) for one in packed])
    for at, part in enumerate(query.parts):
        table = LevTable([one.parts[at] for one in packed])
        quick = table.products(NUMBERS, part)
        slow = products(everything.parts[at], query.levs([0]).parts[at])[NUMBERS, 0]
        np.testing.assert_allclose(quick, slow, rtol=1e-4, atol=1e-4)
        assert len(table.products(NUMBERS[:0], part)) == 0


def test_tables_that_do_not_fit_are_refused(module: Any) -> None:
    table, query = np.ones((4, 6), np.int8), np.ones(6, np.int16)
    products = np.empty(2, np.int32)
    module.byte_products((table, table), np.array([0, 7]), query, products)
    assert products.tolist() == [6, 6]
    for numbers in ([0, 8], [-1, 0], [0], [1 << 62, 0]):
        with pytest.raises(ValueError, match="do not fit"):
            module.byte_products((table, table), np.array(numbers), query, products)
    for shards in ((table, table[:, :5].copy()), (table, np.ones(6, np.int8)), ()):
        with pytest.raises(ValueError, match="do not fit"):
            module.byte_products(shards, np.array([0, 1]), query, products)
    for wrong in ((table.astype(np.int16),), (table, query)):
        with pytest.raises(ValueError, match="another type"):
            module.byte_products(wrong, np.array([0, 1]), query, products)
    with pytest.raises((TypeError, SystemError)):
        module.byte_products([table], np.array([0, 1]), query, products)
    with pytest.raises(ValueError, match="another type"):
        module.byte_products((table,), np.array([0, 1]), query.astype(np.int32), products)


@pytest.mark.parametrize(
    ("steps", "ends", "values"),
    [
        ([1, 10, 1, 1], [2, 4], 4),  # the eleventh of ten places
        ([10, 0, 1, 255], [2, 4], 4),
        ([0, 1, 1, 1], [2, 4], 4),  # before the first place
        ([1, 1, 1, 1], [2, 5], 4),
        ([1, 1, 1, 1], [-2, 4], 4),
        ([1, 1, 1, 1], [3, 2], 4),
        ([1, 1, 1, 1], [2, 4], 3),
    ],
)
def test_damaged_sparse_rows_are_refused(
    module: Any, steps: list[int], ends: list[int], values: int
) -> None:
    query, products = np.ones(10, np.int8), np.empty(2, np.float32)
    for kind in (np.uint8, np.uint16):
        good = (np.array([1, 9, 1, 1], kind), np.ones(4, np.int8), np.array([2, 4]))
        module.sparse_products(*((one,) for one in good), np.array([1, 0]), query, products)
        assert products.tolist() == [2, 2]
        bad = (np.array(steps, kind), np.ones(values, np.int8), np.array(ends))
        with pytest.raises(ValueError, match="do not fit"):
            module.sparse_products(*((one,) for one in bad), np.array([1, 0]), query, products)
    with pytest.raises(ValueError, match="do not fit"):
        module.sparse_products(
            (good[0],), (good[1],), (good[2], good[2]), np.array([1, 0]), query, products
        )


def test_a_long_sparse_row_ends_within_its_query(module: Any) -> None:
    steps, query = np.ones(1_000, np.uint8), np.ones(1_000, np.int8)
    values, ends, products = np.ones(1_000, np.int8), np.array([1_000]), np.empty(1, np.float32)
    arrays = ((steps,), (values,), (ends,), np.array([0]))
    module.sparse_products(*arrays, query, products)
    assert products[0] == 1_000
    with pytest.raises(ValueError, match="do not fit"):
        module.sparse_products(*arrays, query[:-1].copy(), products)


def test_products_of_whole_numbers_stay_within_four_bytes() -> None:
    queries = np.ones((2, 4_096), np.float32)
    queries[1, 1:] = 0
    whole, scales = whole_numbers(queries)
    assert np.abs(whole.astype(np.int64)).sum(axis=1).max() * 127 < 1 << 31
    np.testing.assert_allclose(whole * scales[:, None], queries, rtol=1e-3)


@pytest.mark.parametrize("values", [[3, 1, 2, 2, 2, 5], [1, 1, 1, 1, 1], [4, 3, 2, 1], []])
def test_the_largest_values_are_told_by_their_places(values: list[float]) -> None:
    array = np.array(values, np.float32)
    for count in range(1, 7):
        places = largest(array, count)
        assert len(places) == len(set(places.tolist())) == min(count, len(values))
        assert places.tolist() == sorted(places.tolist())
        assert sorted(array[places]) == sorted(values)[max(0, len(values) - count) :]
