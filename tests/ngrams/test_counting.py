"""N-grams in C are counted and projected as in NumPy, each text by itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from test_ngrams_together import ENCODERS, TEXTS, encode, some_texts

from adhominem.compiled import NUMPY, VARIABLE, compiled
from adhominem.ngrams.counter import NgramCounter
from adhominem.ngrams.encoder import NgramsTogether
from adhominem.text.lexicon import Numbered

module = compiled("adhominem.ngrams._counting")
if module is None:
    pytest.skip("the parts in C were not built", allow_module_level=True)

FAST = NgramsTogether(ENCODERS)
with pytest.MonkeyPatch.context() as patch:
    patch.setenv(VARIABLE, NUMPY)
    PLAIN = NgramsTogether(ENCODERS)


@given(some_texts)
@settings(max_examples=50, deadline=None)
def test_levs_are_those_of_numpy(texts: list[list[str]]) -> None:
    numbered = Numbered.of(texts)
    np.testing.assert_allclose(encode(numbered, FAST), encode(numbered, PLAIN), atol=1e-5)


@given(some_texts)
@settings(max_examples=50, deadline=None)
def test_a_lev_is_the_same_to_the_last_bit_whatever_stands_beside_it(
    texts: list[list[str]],
) -> None:
    together = encode(Numbered.of(texts), FAST)
    for lev, text in zip(together, texts, strict=True):
        np.testing.assert_array_equal(encode(Numbered.of([text]), FAST)[0], lev)


@given(some_texts)
@settings(max_examples=50, deadline=None)
def test_what_occurs_is_what_was_counted(texts: list[list[str]]) -> None:
    counter = NgramCounter(*(encoder.table for encoder in ENCODERS))
    for text in [*texts, []]:
        rows, tables = counter.look_up(Numbered.of([text]))
        for _ in range(2):  # the room for it is used again
            places, times = tables.occurring(rows)
            counts = tables.count(rows)
            np.testing.assert_array_equal(places, np.flatnonzero(counts))
            np.testing.assert_array_equal(times, counts[places])


def test_rows_outside_of_the_tables_are_refused() -> None:
    counter = NgramCounter(ENCODERS[0].table)
    rows, tables = counter.look_up(Numbered.of(TEXTS))
    for wrong in (len(tables._ends), -1):
        with pytest.raises(ValueError, match="outside of its table"):
            tables.occurring(np.array([*rows[:3], wrong]))
    np.testing.assert_array_equal(tables.occurring(rows)[0], np.flatnonzero(tables.count(rows)))


Ints = npt.NDArray[np.int64]


@pytest.mark.parametrize(
    ("firsts", "columns"),
    [
        ([0, 2], [0, 9]),  # a column that is not there
        ([0, 2], [-1, 3]),
        ([0, 2], [3, 1]),  # not rising
        ([0, 1], [1, 3]),
        ([0, 3, 2], [1, 3]),
    ],
)
def test_columns_that_do_not_fit_are_refused(firsts: list[int], columns: list[int]) -> None:
    levs = np.zeros((len(firsts) - 1, 4), np.float32)
    projection = np.ones((9, 4), np.int8)
    with pytest.raises(ValueError, match="fit together"):
        module.project(
            projection, np.array(firsts), np.array(columns), np.ones(2, np.float32), levs
        )


@pytest.mark.parametrize("size", [1, 7, 64, 65, 200])
def test_a_projection_is_a_product_of_matrices(size: int) -> None:
    rng = np.random.default_rng(size)
    projection = rng.integers(-127, 128, (700, size), np.int8)
    dense = rng.normal(size=(5, 700)) * (rng.random((5, 700)) < 0.3)
    dense[2] = 0  # a text without n-grams
    columns = [np.flatnonzero(row) for row in dense]
    firsts = np.cumsum([0, *map(len, columns)])
    values = np.concatenate([row[at] for row, at in zip(dense, columns, strict=True)])
    levs = np.ones((5, size), np.float32)
    module.project(projection, firsts, np.concatenate(columns), values.astype(np.float32), levs)
    np.testing.assert_allclose(levs, 1 + dense @ projection, rtol=1e-4, atol=1e-2)
