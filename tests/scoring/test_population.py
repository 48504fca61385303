"""A relevant population is a mean, and how many texts it is of."""

from __future__ import annotations

import numpy as np
import pytest

from adhominem import Population
from adhominem.errors import OptionError


def test_the_mean_is_that_of_all_texts_with_all_digits() -> None:
    levs = (1e4 + np.random.default_rng(0).normal(size=(3000, 4))).astype(np.float32)
    population = Population.of(levs)
    assert population.texts == 3000
    assert population.lev_mean.dtype == np.float64
    expected = [sum(column.tolist()) / 3000 for column in levs.T]
    np.testing.assert_allclose(population.lev_mean, expected, rtol=1e-12)


def test_fewer_than_five_texts_are_refused() -> None:
    assert Population.of(np.eye(5)).texts == 5
    for few in (np.eye(4), np.zeros((0, 4)), np.array([])):
        with pytest.raises(OptionError, match=f"has {len(few)} texts; expected 5 or more"):
            Population.of(few)
