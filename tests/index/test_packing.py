"""LEVs packed: little is lost, and nothing more when they are packed again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.arrays import Levs, SparseRows
from adhominem.errors import OptionError
from adhominem.index.packing import PackedLevs, PackedSparse, packed_and_back


def made_levs(documents: int, seed: int = 0, size: int = 3_000, share: float = 0.05) -> Levs:
    rng = np.random.default_rng(seed)
    sparse = rng.normal(size=(documents, size)) * (rng.random((documents, size)) < share)
    dense = rng.normal(size=(documents, 40)).astype(np.float32)
    tokens = rng.uniform(4, 8, (documents, 1)).astype(np.float32)
    return Levs((dense, SparseRows.of(sparse.astype(np.float32)), tokens))


@given(st.integers(1, 5), st.integers(0, 50), st.sampled_from([0.0, 0.0005, 0.05, 0.9]))
def test_packed_levs_come_back_nearly_the_same(documents: int, seed: int, share: float) -> None:
    levs = made_levs(documents, seed, share=share)
    back = packed_and_back(levs)
    for part, packed in zip(levs.parts, back.parts, strict=True):
        plain, there = np.asarray(part), np.asarray(packed)
        assert np.abs(plain - there).max(initial=0) <= 0.01 * np.abs(plain).max(initial=0) + 1e-12


def test_rows_with_far_steps_take_more_entries_and_come_back() -> None:
    plain = np.zeros((3, 200_000), np.float32)
    plain[0, [0, 255, 256, 511, 199_999]] = [1, -2, 3, -4, 5]
    plain[2, 70_000] = 1
    packed = PackedSparse.of(SparseRows.of(plain))
    there = np.asarray(packed.chosen(np.array([2, 0, 1, 0])).rows())
    np.testing.assert_allclose(there, plain[[2, 0, 1, 0]], atol=0.03)


def test_packing_again_changes_nothing() -> None:
    once = packed_and_back(made_levs(6))
    twice = packed_and_back(once)
    np.testing.assert_allclose(np.asarray(once), np.asarray(twice), rtol=1e-5, atol=1e-7)


def test_gathered_rows_are_those_of_their_shards() -> None:
    first, second = PackedLevs.of(made_levs(4, 1)), PackedLevs.of(made_levs(5, 2))
    rows = ((second, 4), (first, 0), (second, 0))
    gathered = PackedLevs.joined([packed.chosen(np.array([row])) for packed, row in rows])
    there = np.asarray(gathered.levs(np.arange(3)))
    np.testing.assert_array_equal(there[1], np.asarray(first.levs([0]))[0])
    np.testing.assert_array_equal(there[[0, 2]], np.asarray(second.levs([4, 0])))


def test_a_place_beyond_the_last_is_refused() -> None:
    packed = PackedSparse.of(SparseRows.of(np.ones((1, 300), np.float32)))
    wrong = PackedSparse(packed.ends, packed.steps, packed.values, packed.scales, size=200)
    with pytest.raises(OptionError, match="of 200"):
        wrong.rows()
