"""Burrows's Delta by hand, and the logistic regression behind it."""

from __future__ import annotations

from collections import Counter
from statistics import fmean, pstdev

import numpy as np
import pytest
from baseline_pairs import made_up_pairs, pair, truth

from adhominem.errors import EmptyTextError
from adhominem.evaluation.baselines import Delta, Logistic
from adhominem.score.decision import probability_same_author
from adhominem.text.pan import Pair

pytest.importorskip("sklearn")


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
    result = Delta(words=words).fit(train).distance(test)
    np.testing.assert_allclose(result, slow_delta(train, test, words))


def test_words_are_tokens_as_elsewhere_normalised_and_cased_with_their_signs() -> None:
    train = [
        pair("don't stop !", "don't stop", same_author=True),
        pair("Stop , stop", "never .", same_author=False),
    ]
    delta = Delta().fit(train)
    # Curly quotes are the printer's, spaces before signs tell nothing; capitals are the author's.
    same = pair("don't stop, never!", "don’t stop , never !")
    other = pair("don't stop, never!", "don't Stop, never!")
    distance = delta.distance([same, other])
    assert distance[0] == 0
    assert distance[1] > 0


def test_a_word_that_all_training_texts_use_equally_often_tells_nothing() -> None:
    train = [
        pair("the a b", "the a c", same_author=True),
        pair("the b c", "the c d", same_author=False),
    ]
    delta = Delta().fit(train)
    assert delta.distance([pair("the the the", "x y z")])[0] == 0
    assert np.isfinite(delta.predict([pair("the a", "b b b")]).value).all()


def test_a_text_of_characters_that_nobody_sees_is_refused() -> None:
    delta = Delta().fit(made_up_pairs(4))
    with pytest.raises(EmptyTextError, match="no visible character"):
        delta.predict([pair("a text", "\u200b\u200b")])


def test_a_larger_distance_is_evidence_for_two_authors() -> None:
    delta = Delta().fit(made_up_pairs(60))
    test = made_up_pairs(20, seed="others")
    said = delta.predict(test)
    assert said.log_bayes_factor is not None
    order = np.argsort(delta.distance(test))
    assert (np.diff(said.log_bayes_factor[order]) <= 0).all()


@pytest.mark.parametrize("different", [700, 2_000, 6_000])
def test_the_bayes_factor_does_not_depend_on_how_many_training_pairs_are_of_each_kind(
    different: int,
) -> None:
    rng = np.random.default_rng(0)
    same_author = np.arange(2_000 + different) < 2_000
    # Two Gaussians of variance 1, with means 1 and -1: at x, the log Bayes factor is 2 x.
    features = (rng.normal(size=len(same_author)) + np.where(same_author, 1, -1))[:, None]
    logistic = Logistic().fit(features, same_author)
    at = np.array([[-1.0], [0.0], [1.0]])
    factors = logistic.log_bayes_factor(at)
    np.testing.assert_allclose(factors, [-2, 0, 2], atol=0.25)
    prior = 2_000 / (2_000 + different)
    assert logistic.prior_same_author == pytest.approx(prior)
    np.testing.assert_allclose(logistic.probability(at), probability_same_author(factors, prior))


def test_the_probability_of_all_training_pairs_together_is_the_share_of_same_authors() -> None:
    # What every logistic regression with a free constant does.
    pairs = [*made_up_pairs(40), *made_up_pairs(20, seed="more")[::2]]
    said = Delta().fit(pairs).predict(pairs)
    assert said.value.mean() == pytest.approx(truth(pairs).mean(), abs=1e-3)


def test_logistic_regression_does_not_depend_on_the_units_and_passes_over_constants() -> None:
    rng = np.random.default_rng(1)
    same_author = np.arange(80) % 2 == 0
    features = rng.normal(size=(80, 2)) + same_author[:, None]
    plain = Logistic().fit(features, same_author).log_bayes_factor(features)
    scaled = features * [1e-3, 1e4] + [5, -7]
    np.testing.assert_allclose(Logistic().fit(scaled, same_author).log_bayes_factor(scaled), plain)
    padded = np.column_stack([features, np.full(80, 0.1)])
    learnt = Logistic().fit(padded, same_author)
    np.testing.assert_allclose(learnt.log_bayes_factor(padded), plain, rtol=1e-4)
    padded[:, 2] = 9
    np.testing.assert_allclose(learnt.log_bayes_factor(padded), plain, rtol=1e-4)


def test_pairs_that_one_feature_tells_apart_without_fail_keep_the_evidence_finite() -> None:
    same_author = np.arange(10) < 5
    features = np.where(same_author, 1.0, -1.0)[:, None]
    factors = Logistic().fit(features, same_author).log_bayes_factor(features)
    assert np.isfinite(factors).all()
    np.testing.assert_array_equal(factors > 0, same_author)
