"""Rates of two sides and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from adhominem.questions.contrast.habits import compare_rates


def test_a_rate_is_that_of_all_texts_together() -> None:
    counts, tokens = np.array([[3.0, 0], [1, 0]]), np.array([100.0, 300])
    rates = compare_rates((counts, tokens), (counts[:1], tokens[:1]))
    assert rates.first.rate.tolist() == [0.01, 0]
    assert rates.second.rate.tolist() == [0.03, 0]
    assert rates.z[0] < 0
    assert rates.z[1] == 0


def test_what_one_text_is_full_of_sets_nobody_apart() -> None:
    tokens = np.full(6, 1_000.0)
    often = np.array([[12.0, 72]] + [[12, 0]] * 5)  # the same count in all
    seldom = np.array([[2.0, 2]] * 6)
    rates = compare_rates((often, tokens), (seldom, tokens))
    assert rates.difference[0] == pytest.approx(rates.difference[1])
    assert rates.z[0] > 5
    assert rates.z[1] < 2


def test_intervals_hold_the_true_rate_nearly_always() -> None:
    rng = np.random.default_rng(0)
    held = false = 0
    tokens = np.full(8, 500.0)
    for _ in range(400):
        mine = rng.gamma(4, 0.0025, 8)  # rates that vary between texts, around 0.01
        counts = rng.poisson(mine * tokens)[:, None].astype(float)
        others = rng.poisson(rng.gamma(4, 0.0025, 8) * tokens)[:, None].astype(float)
        rates = compare_rates((counts, tokens), (others, tokens))
        low, high = rates.first.interval()
        held += int(low[0] <= 0.01 <= high[0])
        false += int(abs(rates.z[0]) > rates.quantile)
    assert held >= 0.9 * 400
    assert false <= 0.08 * 400
