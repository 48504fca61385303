"""The compiled kernel computes what NumPy computes, for each sequence by itself."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem import compiled as compiled_module
from adhominem.compiled import NUMPY, PLAIN, VARIABLE, compiled
from adhominem.errors import OptionError
from adhominem.paper.recurrence import Pooling, Sequences, choose_kernel, kernel_names

Array32 = npt.NDArray[np.float32]
COMPILED = [name for name in kernel_names() if name != NUMPY]
each_kernel = pytest.mark.parametrize("kernel", COMPILED)
if not COMPILED:
    pytest.skip("the parts in C were not built", allow_module_level=True)


def weights_of(size: int, inner: int, seed: int = 0) -> Mapping[str, Array32]:
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Array32:
        return rng.normal(0, 0.4, shape).astype(np.float32)

    weights = {
        f"lstm.lstm.{part}_l0{end}": drawn(4 * size, *columns)
        for end in ("", "_reverse")
        for part, columns in (
            ("weight_ih", (3,)),
            ("weight_hh", (size,)),
            ("bias_ih", ()),
            ("bias_hh", ()),
        )
    }
    return weights | {
        "attention.hidden.weight": drawn(inner, 2 * size),
        "attention.hidden.bias": drawn(inner),
        "attention.score.weight": 3 * drawn(1, inner),
    }


def pooling_of(weights: Mapping[str, Array32], kernel: str) -> Pooling:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, kernel)
        return Pooling(weights, "lstm", "attention")


def sequences_of(lengths: list[int], size: int, heads: bool, seed: int = 0) -> Sequences:
    rng = np.random.default_rng(seed)

    def tables(rows: int) -> tuple[Array32, Array32]:
        first, second = rng.normal(0, 1, (2, rows, 4 * size)).astype(np.float32)
        return first, second

    rows = rng.integers(0, 5, (len(lengths), max(lengths)))
    return Sequences(
        tables=tables(5),
        heads=tables(5) if heads else None,
        rows=rows,
        lengths=np.sort(np.array(lengths))[::-1].copy(),
    )


def alone(sequences: Sequences, at: int) -> Sequences:
    length = sequences.lengths[at]
    rows = sequences.rows[at : at + 1, :length]
    return replace(sequences, rows=rows, lengths=sequences.lengths[at : at + 1])


@each_kernel
@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=30),
    size=st.integers(1, 26) | st.just(50),
    inner=st.integers(1, 70) | st.just(100),
    heads=st.booleans(),
    seed=st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_vectors_and_attention_are_those_of_numpy(
    kernel: str, lengths: list[int], size: int, inner: int, heads: bool, seed: int
) -> None:
    weights, sequences = weights_of(size, inner, seed), sequences_of(lengths, size, heads, seed)
    vectors, attention = pooling_of(weights, kernel)(sequences)
    expected, expected_attention = pooling_of(weights, NUMPY)(sequences)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    np.testing.assert_allclose(attention, expected_attention, atol=1e-5)
    steps = np.arange(sequences.rows.shape[1])
    assert (attention[steps >= sequences.lengths[:, None]] == 0).all()


@each_kernel
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=60),
    size=st.integers(1, 17),
    heads=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_a_sequence_comes_to_the_same_bits_whatever_stands_beside_it(
    kernel: str, lengths: list[int], size: int, heads: bool
) -> None:
    pooling = pooling_of(weights_of(size, 9), kernel)
    sequences = sequences_of(lengths, size, heads)
    vectors, attention = pooling(sequences)
    for at, length in enumerate(sequences.lengths):
        vector, weights = pooling(alone(sequences, at))
        np.testing.assert_array_equal(vectors[at], vector[0])
        np.testing.assert_array_equal(attention[at, :length], weights[0])


@each_kernel
def test_long_sequences_take_no_more_memory_at_once(kernel: str) -> None:
    sequences = sequences_of([3_000, 2_999, *[700] * 9], 50, heads=False)
    weights = weights_of(50, 100)
    vectors, _ = pooling_of(weights, kernel)(sequences)
    expected, _ = pooling_of(weights, NUMPY)(sequences)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def fast_tanh(kernel: str, values: Array32) -> Array32:
    module, result = compiled("adhominem.paper._fused"), values.copy()
    assert module is not None
    module.tanh(kernel, result)
    return result


@each_kernel
def test_the_fast_tanh_is_wrong_by_less_than_6e_7(kernel: str) -> None:
    steps = np.linspace(-10, 10, 1 << 20, dtype=np.float32)
    powers = np.float32(2) ** np.arange(-140, 120, dtype=np.float32)
    values = np.concatenate([steps, powers, -powers, np.zeros(8, np.float32)])
    exact = np.tanh(values.astype(np.float64))
    assert np.abs(fast_tanh(kernel, values) - exact).max() < 6e-7
    assert np.abs(fast_tanh(kernel, values)).max() <= 1 + 1e-6


@each_kernel
def test_the_fast_tanh_keeps_what_is_no_number_and_bounds_what_is_infinite(kernel: str) -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0, 1e30, -1e30, -np.nan, 1], np.float32)
    result = fast_tanh(kernel, values)
    assert np.isnan(result).tolist() == [True, *[False] * 5, True, False]
    np.testing.assert_allclose(result, np.tanh(values), atol=1e-6)


@each_kernel
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e38])
def test_what_is_not_finite_stays_with_its_sequence(kernel: str, value: float) -> None:
    weights, sequences = weights_of(10, 9), sequences_of([6] * 20, 10, heads=False)
    for table in sequences.tables:
        table[4, ::3] = value
    sequences = replace(sequences, rows=np.where(np.arange(20)[:, None] == 7, 4, 1).repeat(6, 1))
    vectors, attention = pooling_of(weights, kernel)(sequences)
    expected, expected_attention = pooling_of(weights, NUMPY)(sequences)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    np.testing.assert_allclose(attention, expected_attention, atol=1e-5)
    assert np.isnan(vectors[7]).any() == np.isnan(value)
    assert np.isfinite(np.delete(vectors, 7, axis=0)).all()


@each_kernel
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"rows": np.full((2, 3), 5)}, "beyond its table"),
        ({"rows": np.full((2, 3), -1)}, "beyond its table"),
        ({"lengths": np.array([2, 3])}, "the longest first"),
        ({"lengths": np.array([3, 0])}, "beyond the steps"),
        ({"lengths": np.array([4, 1])}, "beyond the steps"),
        ({"tables": (np.zeros((5, 4), np.float32),) * 2}, "fit together"),
        ({"tables": (np.zeros((5, 8)),) * 2}, "another type"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    kernel: str, change: dict[str, Any], problem: str
) -> None:
    sequences = replace(sequences_of([3, 2], 2, heads=False), **change)
    with pytest.raises(ValueError, match=problem):
        pooling_of(weights_of(2, 3), kernel)(sequences)


@each_kernel
def test_several_threads_may_run_it_at_once(kernel: str) -> None:
    pooling = pooling_of(weights_of(50, 100), kernel)
    many = [sequences_of([30] * 40, 50, heads=True, seed=seed) for seed in range(4)]
    expected = [pooling(sequences)[0] for sequences in many]
    wrong: list[int] = []

    def work(at: int) -> None:
        for _ in range(10):
            if not np.array_equal(pooling(many[at])[0], expected[at]):
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_best_kernel_runs_unless_another_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert choose_kernel().name == kernel_names()[0]
    assert kernel_names()[-2:] == (NUMPY, PLAIN)  # which is slower
    for name in (*COMPILED, NUMPY):
        monkeypatch.setenv(VARIABLE, name)
        assert choose_kernel().name == name
    monkeypatch.setenv(VARIABLE, "abacus")
    with pytest.raises(OptionError, match=r"'abacus'; expected one of .*numpy"):
        choose_kernel()


def test_without_what_is_compiled_numpy_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.delenv(VARIABLE, raising=False)
    weights, sequences = weights_of(5, 4), sequences_of([3, 1], 5, heads=True)
    expected, _ = Pooling(weights, "lstm", "attention")(sequences)
    monkeypatch.setattr(compiled_module, "import_module", missing)
    assert kernel_names() == (NUMPY,)
    vectors, _ = Pooling(weights, "lstm", "attention")(sequences)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
