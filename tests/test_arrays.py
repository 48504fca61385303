"""LEVs and sparse rows are what NumPy takes for the plain arrays that they were made of."""

from __future__ import annotations

import pickle

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from adhominem.arrays import Levs, SparseRows, is_finite, joined

Array = npt.NDArray[np.float32]

NUMBERS = st.sampled_from([0.0, 0.0, 0.0, -0.5, 1.5, 3.0])
TABLES = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=NUMBERS
)


def levs_of(table: Array) -> Levs:
    """A plain part, a sparse one, and the logarithms of tokens."""
    return Levs((table[:, :2], SparseRows.of(table), np.ones((len(table), 1), np.float32)))


def plain(table: Array) -> Array:
    return np.concatenate([table[:, :2], table, np.ones((len(table), 1), np.float32)], axis=1)


@given(TABLES, st.data())
@settings(max_examples=60, deadline=None)
def test_rows_are_those_of_the_plain_array(table: Array, data: st.DataObject) -> None:
    at = st.integers(-len(table), len(table) - 1)
    rows = np.array(data.draw(st.lists(at, max_size=8)), dtype=np.int64)
    begin, end = data.draw(at), data.draw(at)
    for made, array in ((SparseRows.of(table), table), (levs_of(table), plain(table))):
        assert made.shape == array.shape
        assert made.ndim == 2
        assert len(made) == len(array)
        np.testing.assert_array_equal(made, array)
        np.testing.assert_array_equal(made[rows], array[rows])
        np.testing.assert_array_equal(made[rows][::-1], array[rows][::-1])
        np.testing.assert_array_equal(made[begin:end], array[begin:end])
        np.testing.assert_array_equal(made[array[:, 0] > 0], array[array[:, 0] > 0])
        np.testing.assert_array_equal(made[begin], array[begin])
        np.testing.assert_array_equal(list(made), array)
        for column in (0, -1):
            np.testing.assert_array_equal(made[:, column], array[:, column])
        np.testing.assert_array_equal(made[:, 1:], array[:, 1:])
        np.testing.assert_array_equal(made[np.array([[0, -1]])], array[[[0, -1]]])
        assert np.asarray(made).dtype == np.float32
        assert made.astype(np.float64).dtype == np.float64


@given(TABLES, st.data())
@settings(max_examples=60, deadline=None)
def test_rows_are_joined_copied_and_sent_as_they_are(table: Array, data: st.DataObject) -> None:
    at = st.integers(0, len(table) - 1)
    rows = np.array(data.draw(st.lists(at, min_size=1, max_size=8)), dtype=np.int64)
    for made, array in ((SparseRows.of(table), table), (levs_of(table), plain(table))):
        both = joined([made[rows], made[:1]])  # of one table
        np.testing.assert_array_equal(both, np.concatenate([array[rows], array[:1]]))
        again = pickle.loads(pickle.dumps(made[rows]))
        np.testing.assert_array_equal(again, array[rows])
        apart = joined([again, made])
        np.testing.assert_array_equal(apart, np.concatenate([array[rows], array]))
    np.testing.assert_array_equal(levs_of(table)[rows].copy(), plain(table)[rows])


def test_what_is_computed_with_levs_is_computed_with_a_plain_array() -> None:
    table = np.arange(6, dtype=np.float32).reshape(2, 3)
    levs, array = levs_of(table), plain(table)
    np.testing.assert_array_equal(levs - levs, np.zeros(array.shape))
    np.testing.assert_array_equal(2 * levs + array, 3 * array)
    np.testing.assert_array_equal(levs @ array.T, array @ array.T)
    np.testing.assert_array_equal(np.mean(levs, axis=0), array.mean(axis=0))
    assert (levs == array).all()
    with pytest.raises(IndexError):
        levs[2]
    with pytest.raises(IndexError):
        levs[:, 7]
    with pytest.raises(ValueError, match="always a copy"):
        np.asarray(levs, copy=False)


def test_only_what_is_there_is_kept_and_sent() -> None:
    table = np.zeros((100, 5_000), np.float32)
    table[:, :7] = 1
    rows = SparseRows.of(table)
    assert rows.nbytes == 100 * (16 + 7 * (2 + 4))
    assert len(pickle.dumps(rows)) < 2 * rows.nbytes
    assert len(pickle.dumps(rows[:1])) < 1_000  # without those that it was chosen from
    assert Levs((rows[:1],)).copy().parts[0].values.base is None
    np.testing.assert_array_equal(rows.distinct[1], np.arange(100))
    chosen, which = rows[[5, 2, 5]].distinct
    assert len(chosen) == 2
    np.testing.assert_array_equal(which, [1, 0, 1])


def test_rows_of_many_columns_have_larger_places() -> None:
    table = np.zeros((2, 70_000), np.float32)
    table[1, 69_999] = 1
    np.testing.assert_array_equal(SparseRows.of(table), table)


def test_no_documents_have_no_levs() -> None:
    nothing, table = Levs(()), levs_of(np.ones((3, 2), np.float32))
    assert len(nothing) == 0
    assert nothing.shape == (0, 0)
    np.testing.assert_array_equal(joined([nothing, table, nothing]), table)
    assert len(joined([nothing])) == len(table[:0]) == 0
    assert len(pickle.loads(pickle.dumps(table[:0]))) == 0


def test_numbers_that_are_none_are_told() -> None:
    table = np.eye(3, dtype=np.float32)
    assert is_finite(table)
    assert is_finite(SparseRows.of(table))
    table[1, 2] = np.nan
    assert not is_finite(table)
    assert not is_finite(SparseRows.of(table))
    assert is_finite(SparseRows.of(table)[[0, 2]])
