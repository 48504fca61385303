"""How new a kind of text is, and what a comparison is told of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slow_two_covariance import seeds
from test_styles import SIZE, STYLES, departures, genre_atypicality, some_levs

FloatArray = npt.NDArray[np.float64]


def slow_novelty(levs: FloatArray) -> float:
    """The Mahalanobis distance of the mean from the nearest kind, were the mean of such a kind."""
    rest = departures()
    covariance = sum(np.outer(lev, lev) for lev in rest) / len(rest)
    shrunk = 0.5 * covariance + 0.5 * np.eye(SIZE) * np.diag(covariance).mean()
    squares = [
        (levs.mean(axis=0) - centre) @ np.linalg.inv(shrunk) @ (levs.mean(axis=0) - centre)
        for centre in STYLES.centres
    ]
    return float(np.sqrt(min(squares) * len(levs) / SIZE))


@given(seeds, st.integers(1, 5))
def test_novelty_is_the_distance_from_the_nearest_kind_in_standard_deviations(
    seed: int, texts: int
) -> None:
    (levs,) = some_levs(np.random.default_rng(seed), texts)
    assert genre_atypicality(STYLES, levs) == pytest.approx(slow_novelty(levs), rel=1e-7)
    assert genre_atypicality(STYLES, levs + 100) > genre_atypicality(STYLES, levs)
    assert genre_atypicality(STYLES, STYLES.centres[1:2]) == pytest.approx(0, abs=1e-7)


def test_context_is_the_novelty_of_all_texts_of_a_pair_unless_there_is_a_population() -> None:
    rng = np.random.default_rng(0)
    first, second = some_levs(rng, 1, 2), some_levs(rng, 1, 3)
    found = STYLES.context(first, second)
    pairs = [np.concatenate(pair) for pair in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, [[slow_novelty(levs) for levs in pairs]])
    assert STYLES.context(first, second, (rng.normal(size=SIZE), 9)).tolist() == [[0, 0]]
    assert STYLES.context([], []).shape == (1, 0)
