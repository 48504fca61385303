"""Engines bring up the codes with the largest products."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from adhominem.errors import MissingExtraError, OptionError
from adhominem.index import engine as engines
from adhominem.index.engine import make_engine

HAS_FAISS = importlib.util.find_spec("faiss") is not None


@pytest.mark.parametrize(
    "name",
    ["scan", pytest.param("faiss", marks=pytest.mark.skipif(not HAS_FAISS, reason="no FAISS"))],
)
def test_the_largest_products_come_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_BLOCK", 64)
    rng = np.random.default_rng(0)
    codes = rng.integers(-127, 128, (1_000, 128), dtype=np.int8)
    queries = 0.01 * rng.normal(size=(3, 128)).astype(np.float32)
    engine = make_engine(name, 128)
    engine.add(np.arange(400), codes[:400])
    engine.add(np.arange(400, 1_000), codes[400:])
    gone = np.array([5, 700])
    engine.remove(gone)
    numbers, products = engine.candidates(queries, 20)
    for at, query in enumerate(queries):
        slow = codes.astype(np.float32) @ query
        slow[gone] = -np.inf
        best = np.argsort(-slow)[:20]
        if name == "scan":
            assert numbers[at].tolist() == best.tolist()
        assert len(set(numbers[at].tolist()) & set(best.tolist())) >= 18  # FAISS rounds
        np.testing.assert_allclose(products[at], slow[best], rtol=0.03)


def test_fewer_texts_than_asked_for_leave_places_empty() -> None:
    engine = make_engine("scan", 4)
    engine.add(np.array([7, 9]), np.ones((2, 4), np.int8))
    numbers, _ = engine.candidates(np.ones((1, 4), np.float32), 5)
    assert sorted(numbers[0].tolist()) == [-1, -1, -1, 7, 9]


def test_an_unknown_engine_is_refused_and_a_missing_one_said_how_to_install() -> None:
    with pytest.raises(OptionError, match="expected auto"):
        make_engine("abacus", 4)
    if not HAS_FAISS:
        with pytest.raises(MissingExtraError, match="search"):
            make_engine("faiss", 4)
    assert make_engine("auto", 4) is not None
