"""The naive baseline: its cosine by hand, its thresholds by trying all of them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import log, sqrt

import numpy as np
import pytest
from baseline_pairs import made_up_pairs, pair
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem.errors import EmptyTextError
from adhominem.evaluation.baselines import (
    GRID,
    answers,
    best_thresholds,
    run_baseline,
    tf_idf_cosines,
)
from adhominem.evaluation.pan import overall_2020

pytest.importorskip("sklearn")


def slow_answer(cosine: float, lower: float, upper: float) -> float:
    if cosine <= lower:
        return cosine / lower * 0.49
    if cosine < upper:
        return 0.5
    return 1 - (1 - cosine) / (1 - upper) * 0.49


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
    st.lists(st.sampled_from(GRID.tolist()), min_size=2, max_size=2, unique=True).map(sorted),
)
def test_answers_are_those_of_the_three_cases_one_by_one(
    cosines: list[float], thresholds: list[float]
) -> None:
    expected = [slow_answer(cosine, *thresholds) for cosine in cosines]
    np.testing.assert_allclose(answers(np.array(cosines), *thresholds), expected, atol=1e-12)


def test_answers_at_the_ends_and_at_the_thresholds() -> None:
    cosines = np.array([0, 0.1, 0.2, 0.2001, 0.4, 0.5999, 0.6, 0.8, 1])
    expected = [0, 0.245, 0.49, 0.5, 0.5, 0.5, 0.51, 0.755, 1]
    np.testing.assert_allclose(answers(cosines, 0.2, 0.6), expected)


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.3))
@settings(max_examples=3)
def test_the_thresholds_score_as_well_as_the_best_of_trying_all(seed: int, skill: float) -> None:
    rng = np.random.default_rng(seed)
    same_author = np.arange(24) % 2 == 0
    cosine = np.clip(0.4 + skill * same_author + 0.15 * rng.normal(size=24), 0, 1).round(2)
    best, first_best = -1.0, (0.0, 0.0)
    for lower, upper in combinations(GRID.tolist(), 2):
        score = overall_2020(answers(cosine, lower, upper), same_author)
        if score > best:
            best, first_best = score, (lower, upper)
    assert best_thresholds(cosine, same_author) == first_best


def test_pairs_in_the_middle_that_cannot_be_told_are_left_open() -> None:
    cosine = np.array([0.1, 0.2, 0.41, 0.44, 0.8, 0.9])
    same_author = np.array([False, False, True, False, True, True])  # the two in the middle: no
    lower, upper = best_thresholds(cosine, same_author)
    assert 0.2 <= lower < 0.41
    np.testing.assert_array_equal(answers(cosine, lower, upper)[2:4] == 0.5, [True, True])
    assert 0.44 < upper <= 0.8


def slow_cosine(first: str, second: str, training: list[str], size: int) -> float:
    """TF-IDF by the formulas of the manual: idf = 1 + log((1 + texts) / (1 + texts with it))."""

    def ngrams(text: str) -> Counter[str]:
        return Counter(text.lower()[at : at + size] for at in range(len(text) - size + 1))

    holding = Counter(ngram for text in training for ngram in set(ngrams(text)))
    weight = {ngram: 1 + log((1 + len(training)) / (1 + holding[ngram])) for ngram in holding}
    one, other = (
        {ngram: count * weight[ngram] for ngram, count in ngrams(text).items() if ngram in weight}
        for text in (first, second)
    )
    lengths = [sqrt(sum(value**2 for value in side.values())) for side in (one, other)]
    return sum(one[ngram] * other.get(ngram, 0) for ngram in one) / (lengths[0] * lengths[1])


@pytest.mark.parametrize("size", [2, 4])
def test_the_cosine_is_that_of_counting_by_hand(size: int) -> None:
    train, test = made_up_pairs(6, words=20), made_up_pairs(5, words=20, seed="others")
    texts = [document.text for pair in train for document in (pair.first, pair.second)]
    _, cosines = tf_idf_cosines(train, test, size=size, most=100_000)
    expected = [slow_cosine(pair.first.text, pair.second.text, texts, size) for pair in test]
    np.testing.assert_allclose(cosines, expected)


def test_only_the_most_frequent_ngrams_count() -> None:
    train = [pair("abab abab", "abab", same_author=True), pair("abab", "wxyz", same_author=False)]
    test = [pair("ab wx", "ab yz"), pair("wxyz", "wxyz")]
    _, everything = tf_idf_cosines(train, test, size=2)
    _, one = tf_idf_cosines(train, test, size=2, most=1)
    assert 0 < everything[0] < 1
    np.testing.assert_allclose(everything[1], 1)
    np.testing.assert_allclose(one, [1, 0])  # "ab", and nothing that is known


def test_texts_too_short_to_learn_from_are_refused() -> None:
    train = [pair("abc", "abd", same_author=True), pair("abc", "xyz", same_author=False)]
    with pytest.raises(EmptyTextError, match="no training text has 4 characters in a row"):
        run_baseline("naive", train, train)
    assert tf_idf_cosines(train, train, size=3)[0][0] < 0.5
