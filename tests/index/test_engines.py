"""The engine brings up the codes with the largest products."""

from __future__ import annotations

import numpy as np
import pytest

from adhominem.index import engine as engines
from adhominem.index.engine import ScanEngine


@pytest.mark.parametrize("held", [1 << 28, 0])
def test_the_largest_products_come_first(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_BLOCK", 64)
    monkeypatch.setattr(engines, "_MOST_PLAIN", held)
    rng = np.random.default_rng(0)
    codes = rng.integers(-127, 128, (1_000, 128), dtype=np.int8)
    queries = 0.01 * rng.normal(size=(3, 128)).astype(np.float32)
    engine = ScanEngine()
    engine.add(np.arange(400), codes[:400])
    engine.add(np.arange(400, 1_000), codes[400:])
    gone = np.array([5, 700])
    engine.remove(gone)
    numbers, products = engine.candidates(queries, 20)
    for at, query in enumerate(queries):
        slow = codes.astype(np.float32) @ query
        slow[gone] = -np.inf
        best = np.argsort(-slow)[:20]
        assert numbers[at].tolist() == best.tolist()
        np.testing.assert_allclose(products[at], slow[best], rtol=1e-4)


def test_fewer_texts_than_asked_for_leave_places_empty() -> None:
    engine = ScanEngine()
    engine.add(np.array([7, 9]), np.ones((2, 4), np.int8))
    numbers, _ = engine.candidates(np.ones((1, 4), np.float32), 5)
    assert sorted(numbers[0].tolist()) == [-1, -1, -1, 7, 9]
