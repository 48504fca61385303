"""How far candidates are looked at: expected misses against those that there are."""

from __future__ import annotations

import numpy as np

from adhominem.index.depth import expected_misses


def test_as_many_misses_are_expected_as_there_are() -> None:
    rng = np.random.default_rng(0)
    missed, expected = [], []
    for _ in range(40):
        products = -np.sort(-rng.normal(size=8_000)).astype(np.float32)
        near = products + rng.normal(0.5, 0.4, 8_000)
        best = np.argsort(-near)[:400]
        missed.append((best >= 1_000).sum())
        expected.append(expected_misses(products, near[:1_000], 400))
    assert 10 < np.mean(missed) < 60
    assert 0.8 * np.mean(missed) < np.mean(expected) < 1.6 * np.mean(missed)


def test_nothing_is_missed_once_all_was_looked_at() -> None:
    products = np.array([3, 2, 1], np.float32)
    assert expected_misses(products, np.array([1.0, 2.0, 3.0]), 2) == 0
    assert expected_misses(products, np.array([1.0]), 2) == 2  # fewer than are asked for
