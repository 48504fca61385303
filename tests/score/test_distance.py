"""The squared distance: its root is a pseudo-metric, the square is none."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adhominem.paper.two_covariance import squared_distance

shapes = st.tuples(st.integers(0, 5), st.integers(1, 6))
levs = shapes.flatmap(
    lambda shape: st.tuples(*[arrays(np.float64, shape, elements=st.floats(-1, 1))] * 3)
)
Levs = tuple[np.ndarray, np.ndarray, np.ndarray]


@given(levs)
def test_it_is_the_sum_of_squared_differences(three: Levs) -> None:
    first, second, _ = three
    slow = [
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
        for one, other in zip(first, second, strict=True)
    ]
    np.testing.assert_allclose(squared_distance(first, second), slow, rtol=1e-12)


@given(levs)
def test_it_is_never_negative_zero_to_itself_and_the_same_both_ways(three: Levs) -> None:
    first, second, _ = three
    there, back = squared_distance(first, second), squared_distance(second, first)
    assert (there >= 0).all()
    assert (squared_distance(first, first) == 0).all()
    np.testing.assert_array_equal(there, back)


@given(levs)
def test_its_root_obeys_the_triangle_inequality(three: Levs) -> None:
    first, middle, second = three
    direct = np.sqrt(squared_distance(first, second))
    detour = np.sqrt(squared_distance(first, middle)) + np.sqrt(squared_distance(middle, second))
    assert (direct <= detour + 1e-12).all()


def test_the_square_does_not_obey_the_triangle_inequality() -> None:
    first, middle, second = np.array([[0.0]]), np.array([[1.0]]), np.array([[2.0]])
    detour = squared_distance(first, middle) + squared_distance(middle, second)
    assert squared_distance(first, second) > detour


def test_levs_of_float32_are_subtracted_in_float64() -> None:
    first, second = np.float32([[1.0, 1e-4]]), np.float32([[1.0, 2e-4]])
    expected = (float(second[0, 1]) - float(first[0, 1])) ** 2
    assert squared_distance(first, second).dtype == np.float64
    assert squared_distance(first, second)[0] == expected
