"""Codes and points: products of codes, with all directions kept, are those of weighted texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adhominem import load
from adhominem.arrays import SparseRows
from adhominem.index.approximate import POINTS, ApproximateScorer
from adhominem.index.codes import Coder, _folded, _table
from adhominem.index.searcher import Searcher


@pytest.fixture(scope="module")
def searcher(made_index: Path, mixed_folder: Path) -> Searcher:
    return Searcher(made_index, load(mixed_folder))


@pytest.fixture(scope="module")
def approximate(searcher: Searcher) -> ApproximateScorer:
    assert searcher.coder is not None
    return searcher.coder.approximate


def test_products_of_codes_are_sums_of_weighted_products(
    searcher: Searcher, approximate: ApproximateScorer
) -> None:
    store, coder = searcher.store, searcher.coder
    assert coder is not None
    levs = store.levs([3, 7, 50])
    points = approximate.points(levs)
    factors, of_places = approximate.factors(points)
    slow = approximate.bias(points) - coder.middle
    columns = searcher.verifier.scorer.columns(levs)
    for at, (form, rows) in enumerate(zip(approximate.forms, columns, strict=True)):
        apart = (np.asarray(rows, float) - form.centre) / form.unit * points.scales[:, at, None]
        rest = apart - points.places[:, approximate.columns[at]] @ form.basis
        moved = rest * factors[:, at, None]
        slow = slow + moved @ moved[0]
    places = points.places * of_places
    slow = slow + places @ places[0]
    query = coder.query(levs[:1], points[:1])[0]
    quick = searcher._codes[0][[3, 7, 50]].astype(np.float32) @ query
    np.testing.assert_allclose(quick, slow, atol=0.02 * np.abs(slow).max())
    others = searcher.approximate(levs[:1], store.live)
    codes = searcher._codes[0].astype(np.float32) @ query
    assert np.corrcoef(codes, others)[0, 1] > 0.9


def test_points_of_some_texts_are_those_of_all(
    searcher: Searcher, approximate: ApproximateScorer
) -> None:
    numbers = np.array([50, 3, 119, 3])
    points = approximate.points(searcher.store.levs(numbers))
    for name in POINTS:
        kept, made = getattr(searcher._points[numbers], name), getattr(points, name)
        np.testing.assert_allclose(kept, made, rtol=1e-3, atol=2e-3)


def test_more_texts_correct_directions_to_those_of_all(
    searcher: Searcher, approximate: ApproximateScorer
) -> None:
    store = searcher.store
    everything = store.levs(store.live)
    table = _table(approximate, everything)
    right = np.linalg.eigvalsh((table @ table.T).astype(float))[::-1][:20]
    few = store.levs(store.live[::4])
    parts = [everything[at : at + 50] for at in range(0, len(everything), 50)]

    def caught(made: Coder) -> float:
        along = made.along(everything, approximate.points(everything))[:, :20].astype(float)
        return float(np.linalg.eigvalsh(along.T @ along).sum())

    rough = caught(Coder.of(approximate, few))
    corrected = caught(Coder.of(approximate, few, parts))
    assert rough < corrected <= 1.0001 * right.sum()
    assert corrected - rough > 0.3 * (right.sum() - rough)
    exact = caught(Coder.of(approximate, everything, parts))
    assert abs(exact / right.sum() - 1) < 1e-3


def test_many_places_are_folded_so_that_products_stay_on_average() -> None:
    rng = np.random.default_rng(0)
    size = 1 << 18
    plain = rng.normal(size=(40, size)) * (rng.random((40, size)) < 0.003)
    rows = np.asarray(SparseRows.of(plain.astype(np.float32)), np.float32)
    folded = _folded(rows)
    assert folded.shape == (40, 1 << 15)
    before, after = rows @ rows.T, folded @ folded.T
    scale = np.diag(before).mean()
    assert np.abs(before - after).max() / scale < 0.2
    assert abs((before - after).mean()) / scale < 0.01
