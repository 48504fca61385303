"""Burrows's Delta by hand, and the logistic regression behind it."""

from __future__ import annotations

from collections import Counter
from statistics import fmean, pstdev

import numpy as np
import pytest
from baseline_pairs import made_up_pairs, pair, truth

from adhominem.errors import EmptyTextError
from adhominem.evaluation.baselines import delta_distances, run_baseline
from adhominem.text.pan import Pair


def slow_delta(train: list[Pair], test: list[Pair], size: int) -> list[float]:
    """As Burrows has it: the mean of |z(first) - z(second)| over the most frequent words."""
    texts = [side.text.split() for pair in train for side in (pair.first, pair.second)]
    counts = Counter(word for text in texts for word in text)
    words = sorted(counts, key=lambda word: (-counts[word], word))[:size]
    shares = {word: [text.count(word) / len(text) for text in texts] for word in words}

    def z_score(word: str, text: str) -> float:
        share = text.split().count(word) / len(text.split())
        return (share - fmean(shares[word])) / pstdev(shares[word])

    return [
        fmean(
            abs(z_score(word, pair.first.text) - z_score(word, pair.second.text)) for word in words
        )
        for pair in test
    ]


@pytest.mark.parametrize("words", [1, 5, 14])
def test_the_distance_is_burrows_delta(words: int) -> None:
    train, test = made_up_pairs(12), made_up_pairs(8, seed="others")
    _, result = delta_distances(train, test, words=words)
    np.testing.assert_allclose(result, slow_delta(train, test, words))


def test_words_are_tokens_as_elsewhere_normalised_and_cased_with_their_signs() -> None:
    train = [
        pair("don't stop !", "don't stop", same_author=True),
        pair("Stop , stop", "never .", same_author=False),
    ]
    # Curly quotes are the printer's, spaces before signs tell nothing; capitals are the author's.
    same = pair("don't stop, never!", "don’t stop , never !")
    other = pair("don't stop, never!", "don't Stop, never!")
    _, distance = delta_distances(train, [same, other])
    assert distance[0] == 0
    assert distance[1] > 0


def test_a_word_that_all_training_texts_use_equally_often_tells_nothing() -> None:
    train = [
        pair("the a b", "the a c", same_author=True),
        pair("the b c", "the c d", same_author=False),
    ]
    assert delta_distances(train, [pair("the the the", "x y z")])[1] == [0]
    assert np.isfinite(run_baseline("delta", train, [pair("the a", "b b b")]).value).all()


def test_a_text_of_characters_that_nobody_sees_is_refused() -> None:
    with pytest.raises(EmptyTextError, match="no visible character"):
        delta_distances(made_up_pairs(4), [pair("a text", "\u200b\u200b")])


def test_a_larger_distance_is_evidence_for_two_authors() -> None:
    train, test = made_up_pairs(60), made_up_pairs(20, seed="others")
    said = run_baseline("delta", train, test)
    assert said.log_bayes_factor is not None
    order = np.argsort(delta_distances(train, test)[1])
    assert (np.diff(said.log_bayes_factor[order]) <= 0).all()


def test_the_probability_of_all_training_pairs_together_is_the_share_of_same_authors() -> None:
    pairs = made_up_pairs(60)
    said = run_baseline("delta", pairs, pairs)
    assert said.value.mean() == pytest.approx(truth(pairs).mean(), abs=1e-3)


def test_the_bayes_factor_hardly_depends_on_how_many_training_pairs_are_of_each_kind() -> None:
    pairs, test = made_up_pairs(120), made_up_pairs(20, seed="others")
    said = run_baseline("delta", pairs, test)
    fewer = run_baseline("delta", [*pairs[::2], *pairs[1:60:2]], test)
    assert said.log_bayes_factor is not None
    assert fewer.log_bayes_factor is not None
    np.testing.assert_allclose(fewer.log_bayes_factor, said.log_bayes_factor, atol=1)
    assert (fewer.value > said.value).mean() > 0.8  # the prior is that of the training pairs
