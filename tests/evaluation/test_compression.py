"""The compression baseline: what one text's model makes of another."""

from __future__ import annotations

import random

import numpy as np
import pytest
from baseline_pairs import COMMON, made_up_pairs, pair, truth
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem.evaluation.baselines import cross_entropies, cross_entropy, run_baseline
from adhominem.evaluation.pan import best_delta
from adhominem.score.decision import probability_same_author, without_weak_answers

pyppmd = pytest.importorskip("pyppmd")


def made_up_text(words: list[str], seed: int, length: int = 400) -> bytes:
    return " ".join(random.Random(seed).choices(words, k=length)).encode()


def compressed(data: bytes, order: int) -> int:
    return len(pyppmd.compress(data, max_order=order, mem_size=1 << 24, variant="H"))


@given(st.text(min_size=1, max_size=3_000), st.text(min_size=1, max_size=3_000), st.integers(2, 9))
@settings(max_examples=50)
def test_the_cross_entropy_is_what_the_second_text_adds_to_the_compressed_first(
    one: str, other: str, order: int
) -> None:
    first, second = one.encode(), other.encode()
    added = compressed(first + second, order) - compressed(first, order)
    # The coder holds back a byte or two that could still change.
    assert abs(cross_entropy(first, second, order) * len(second) / 8 - added) <= 2


@pytest.mark.parametrize("seed", range(5))
def test_a_text_costs_less_under_a_model_of_its_own_author_than_under_another(seed: int) -> None:
    text = made_up_text(COMMON[:8], seed)
    by_author = made_up_text(COMMON[:8], seed + 100)
    other = made_up_text(COMMON[6:], seed + 100)
    itself, alike, apart = (cross_entropy(model, text) for model in (text, by_author, other))
    assert itself < alike < apart


def test_a_text_that_is_no_surprise_costs_next_to_nothing_and_noise_costs_all_its_bits() -> None:
    text = made_up_text(COMMON, 0)
    noise = random.Random(0).randbytes(4_000)
    assert cross_entropy(b"ab" * 2_000, b"ab" * 2_000) < 0.1
    assert 0.1 < cross_entropy(text, text) < cross_entropy(noise, text) < 4
    assert cross_entropy(text, noise) == pytest.approx(8, rel=0.1)


def test_the_two_cross_entropies_of_a_pair_are_both_ways() -> None:
    first, second = made_up_text(COMMON[:8], 0, 200), made_up_text(COMMON, 1, 300)
    result = cross_entropies([pair(first.decode(), second.decode())], order=3)
    expected = [[cross_entropy(first, second, 3), cross_entropy(second, first, 3)]]
    np.testing.assert_array_equal(result, expected)


def test_several_processes_find_what_one_finds_in_the_same_order() -> None:
    pairs = made_up_pairs(37)  # not a multiple of what a worker gets at once
    alone = cross_entropies(pairs)
    np.testing.assert_array_equal(cross_entropies(pairs, jobs=2), alone)
    assert len(np.unique(alone)) > 37


def test_answers_near_one_half_are_left_open_as_is_best_for_the_training_pairs() -> None:
    train = made_up_pairs(60, words=30)
    said = run_baseline("compression", train, train)
    assert said.log_bayes_factor is not None
    probability = probability_same_author(said.log_bayes_factor)
    delta = best_delta([(probability, truth(train))])
    assert delta > 0
    np.testing.assert_array_equal(said.value, without_weak_answers(probability, delta))
    assert (said.value == 0.5).any()
