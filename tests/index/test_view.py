"""Codes and points: with all directions kept, products of codes are what `near` computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from conftest import rich_rows

from adhominem import load
from adhominem.arrays import SparseRows
from adhominem.index import view as views
from adhominem.index.searcher import Searcher


def test_products_of_codes_are_nearly_what_levs_give(made_index: Path, mixed_folder: Path) -> None:
    searcher = Searcher(made_index, load(mixed_folder))
    assert searcher.view is not None
    text = rich_rows("letters", 30, 6, "-index-")[4]["text"]
    levs = searcher.verifier.encode([text])
    numbers = searcher.store.live
    near = searcher.near(levs, [numbers])[0]
    query = searcher.view.query(levs, searcher.view.points(levs))[0]
    quick = searcher._codes[0]["codes"].astype(np.float32) @ query
    assert np.corrcoef(quick, near)[0, 1] > 0.9


def test_what_is_near_is_the_sum_of_weighted_cosines(made_index: Path, mixed_folder: Path) -> None:
    searcher = Searcher(made_index, load(mixed_folder))
    view, store = searcher.view, searcher.store
    assert view is not None
    levs = store.levs([3, 7, 50])
    points = view.points(levs)
    slow = points.bias.astype(float).copy()
    for at, rows in enumerate(searcher.verifier.scorer.columns(levs)):
        moved = (np.asarray(rows, float) - view.means[at]) * points.factors[:, at, None]
        slow += moved @ moved[0]
    slow += points.kin @ (points.kin[0] * view.signs)
    near = searcher.near(levs[:1], [np.array([3, 7, 50])])[0]
    np.testing.assert_allclose(near, slow, rtol=1e-3, atol=1e-3)


def test_many_places_are_folded_so_that_products_stay_on_average() -> None:
    rng = np.random.default_rng(0)
    size = 1 << 18
    plain = rng.normal(size=(40, size)) * (rng.random((40, size)) < 0.003)
    rows = np.asarray(SparseRows.of(plain.astype(np.float32)), np.float32)
    folded = views._folded(rows)
    assert folded.shape == (40, 1 << 15)
    before, after = rows @ rows.T, folded @ folded.T
    scale = np.diag(before).mean()
    assert np.abs(before - after).max() / scale < 0.2
    assert abs((before - after).mean()) / scale < 0.01
