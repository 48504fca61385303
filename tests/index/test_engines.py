"""Engines bring up the codes with the largest products."""

from __future__ import annotations

import numpy as np
import pytest

from adhominem.compiled import compiled
from adhominem.index import engine as engines
from adhominem.index import threads
from adhominem.index.engine import CompiledEngine, Engine, ScanEngine

MODULE = compiled("adhominem.index._looking")


@pytest.fixture(params=["numpy", "numpy, as bytes", "c", "c, in threads"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Engine:
    if not request.param.startswith("c"):
        monkeypatch.setattr(engines, "_BLOCK", 64)
        monkeypatch.setattr(engines, "_MOST_PLAIN", 0 if "bytes" in request.param else 1 << 28)
        return ScanEngine()
    if MODULE is None:
        pytest.skip("the part in C was not built")
    if "threads" in request.param:
        monkeypatch.setattr(engines, "_WORTH_THREADS", 0)
        for module in (engines, threads):
            monkeypatch.setattr(module, "cores", lambda: 3)
    return CompiledEngine(MODULE)


@pytest.mark.parametrize("count", [11, 40])  # the more are divided among threads themselves
@pytest.mark.parametrize(
    ("texts", "size", "k"), [(1_000, 128, 20), (1_003, 7, 400), (70_000, 4, 9_000)]
)
def test_the_largest_products_are_brought_up(
    engine: Engine, texts: int, size: int, k: int, count: int
) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-127, 128, (texts, size), dtype=np.int8)
    queries = 0.01 * rng.normal(size=(count, size)).astype(np.float32)
    engine.add(np.arange(400), codes[:400])
    engine.candidates(queries, k)  # texts may be added after a search
    engine.add(np.arange(400, texts), codes[400:])
    gone = np.array([5, 700])
    engine.remove(gone)
    numbers, products = engine.candidates(queries, k)
    for at, query in enumerate(queries):
        slow = codes.astype(np.float32) @ query
        slow[gone] = -np.inf
        best = -np.sort(-slow)[:k]
        assert len(set(numbers[at].tolist())) == k
        np.testing.assert_allclose(-np.sort(-slow[numbers[at]]), best, atol=2e-4 * best[0])
        np.testing.assert_allclose(products[at], slow[numbers[at]], atol=2e-4 * best[0])


def test_fewer_texts_than_asked_for_leave_places_empty(engine: Engine) -> None:
    engine.add(np.array([7, 9]), np.ones((2, 4), np.int8))
    numbers, _ = engine.candidates(np.ones((1, 4), np.float32), 5)
    assert sorted(numbers[0].tolist()) == [-1, -1, -1, 7, 9]


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    if MODULE is None:
        pytest.skip("the part in C was not built")
    codes = np.zeros((2, 3, 16, 2), np.int8)
    queries, products = np.zeros((1, 3, 2), np.int16), np.zeros((1, 4), np.int32)
    MODULE.scan(codes, 32, queries, 0, 2, products, products.copy())
    for texts, begin, end in ((16, 0, 2), (32, 0, 3), (32, -1, 2), (32, 2, 1)):
        with pytest.raises(ValueError, match="do not fit"):
            MODULE.scan(codes, texts, queries, begin, end, products, products.copy())
