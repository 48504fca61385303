"""The hidden Markov model, against the sum over all paths."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from adhominem.errors import OptionError
from adhominem.questions.roll.smoothing import smooth


@pytest.mark.parametrize("states", [2, 3])
def test_probabilities_are_those_of_all_paths(states: int) -> None:
    rng = np.random.default_rng(states)
    likelihood, change = rng.normal(size=(5, states)), rng.uniform(0.05, 0.6, 4)
    kept = 0.0
    total, of_state, of_change = 0.0, np.zeros((5, states)), np.zeros(4)
    for path in product(range(states), repeat=5):
        weight = np.exp(likelihood[range(5), path].sum()) / states
        for (one, other), probability in zip(pairwise(path), change, strict=True):
            weight *= 1 - probability if one == other else probability / (states - 1)
        total += weight
        of_state[range(5), path] += weight
        kept += weight * (len(set(path[1:4])) == 1)
        of_change += weight * np.array([one != other for one, other in pairwise(path)])
    told = smooth(likelihood, change)
    assert told.probability == pytest.approx(of_state / total)
    assert told.change == pytest.approx(of_change / total)
    assert told.unchanged(1, 3) == pytest.approx(kept / total)


def test_long_texts_and_strong_evidence_stay_finite() -> None:
    likelihood = np.zeros((4_000, 2))
    likelihood[:2_000, 0] = likelihood[2_000:, 1] = 50.0
    told = smooth(likelihood, np.full(3_999, 0.01))
    assert np.isfinite(told.probability).all()
    assert told.change.argmax() == 1_999
    assert told.change[1_999] == pytest.approx(1)


def test_a_rate_at_which_the_author_always_or_never_changes_is_refused() -> None:
    for wrong in (0.0, 1.0):
        with pytest.raises(OptionError, match="the author changes in every block, or in none"):
            smooth(np.zeros((3, 2)), np.array([0.1, wrong]))
