"""Rival systems, which a verifier must beat to be worth its trouble.

    naive        PAN's: how alike two texts are in their runs of four characters
    compression  PAN's second: how well a model of one text compresses the other, after Teahan and
                 Harper (2003)
    delta        Burrows's (2002): how differently two texts use the most frequent words

>>> baseline("delta")(words=150).fit(training_pairs).predict(pairs).value
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import combinations
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import EmptyTextError, MissingExtraError, MissingFieldError, OptionError
from adhominem.evaluation.pan import best_delta, overall_2020
from adhominem.processes import worker_pool
from adhominem.score.decision import probability_same_author, without_weak_answers
from adhominem.text.pan import Pair
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import Vocabulary, VocabularyOptions

Item = TypeVar("Item")

GRID = np.linspace(0.01, 0.99, 99)  # of the two thresholds
_MEMORY = 64 << 20  # at order 5, 16 MB of text fill less than a quarter of it
_ORDERS = range(2, 65)  # that PPMd knows
_PAIRS_AT_ONCE = 16  # to a worker


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A baseline's answers to pairs."""

    value: FloatArray  # (pairs,): PAN's answers, in [0, 1]; 0.5 means no answer
    log_bayes_factor: FloatArray | None = None  # (pairs,), in nats; None: it knows no probabilities

    def __post_init__(self) -> None:
        if self.value.ndim != 1 or not ((self.value >= 0) & (self.value <= 1)).all():
            raise ValueError("value must be (pairs,), from 0 to 1")
        if self.log_bayes_factor is not None and self.log_bayes_factor.shape != self.value.shape:
            raise ValueError("value and log_bayes_factor must be of one length")


class Baseline(Protocol):
    """A baseline that learns from pairs whose truth is known, and then answers for others."""

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Learn from training pairs; both classes must occur."""

    def predict(self, pairs: Sequence[Pair]) -> Predictions:
        """An answer for each pair, independent of the other pairs."""


def known_truth(pairs: Sequence[Pair]) -> BoolArray:
    """(pairs,): `same_author` of training pairs; raises if one is unknown, or all agree."""
    labels = [pair.same_author for pair in pairs]
    if None in labels:
        raise MissingFieldError(
            f"whether the training pair '{pairs[labels.index(None)].id}' is by one author is not "
            "known; expected a truth.jsonl beside the pairs"
        )
    same_author = np.array(labels, dtype=bool)
    same = int(same_author.sum())
    if not 0 < same < len(labels):
        raise OptionError(
            f"{same} of {len(labels)} training pairs are by one author; expected some, but not all"
        )
    return same_author


def distinct_texts(pairs: Sequence[Pair]) -> tuple[list[str], IntArray]:
    """The distinct texts, and (2, pairs): the indices of the two texts of each pair."""
    place: dict[str, int] = {}
    sides = [
        [place.setdefault(document.text, len(place)) for document in (pair.first, pair.second)]
        for pair in pairs
    ]
    return list(place), np.array(sides, dtype=np.int64).reshape(-1, 2).T


def fitted(part: Item | None) -> Item:
    """The attribute that `fit` has learnt; raises if `fit` was not called yet."""
    if part is None:
        raise OptionError("this baseline has learnt nothing yet; call fit before predict")
    return part


def evaluation_library(module: str, name: str, needed_for: str) -> Any:
    """A module of the extra `evaluate`, imported when first needed."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(name, "evaluate", needed_for) from None


class Logistic:
    """Logistic regression on features of a pair, fitted to pairs whose truth is known.

    The features are standardised first. Otherwise the penalty on large weights, which keeps them
    finite where a feature separates all training pairs, would depend on the units.
    """

    def __init__(self) -> None:
        # Looked for at once: measuring the features may take long.
        library = evaluation_library(
            "sklearn.linear_model", "scikit-learn", "a baseline's logistic regression"
        )
        self._model: Any = library.LogisticRegression()

    def fit(self, features: FloatArray, same_author: BoolArray) -> Self:
        """Learn from features (pairs, features) and the truth (pairs,)."""
        self._mean = features.mean(axis=0)  # (features,)
        # A feature that is the same for all pairs does not count: in an infinite unit, it is 0.
        self._deviation = np.where(np.ptp(features, axis=0) > 0, features.std(axis=0), np.inf)
        self._model.fit(self._standardised(features), same_author)
        self.prior_same_author = float(same_author.mean())  # of the training pairs
        return self

    def log_bayes_factor(self, features: FloatArray) -> FloatArray:
        """(pairs,): the log odds less the prior log odds of the training pairs."""
        weights, bias = self._model.coef_[0], float(self._model.intercept_[0])
        prior = self.prior_same_author
        log_odds = self._standardised(features) @ weights + bias
        return np.asarray(log_odds - np.log(prior) + np.log1p(-prior))

    def probability(self, features: FloatArray) -> FloatArray:
        """(pairs,): the probability of one author, at the prior of the training pairs."""
        return probability_same_author(self.log_bayes_factor(features), self.prior_same_author)

    def predict(self, features: FloatArray, delta: float = 0.0) -> Predictions:
        """Probabilities and log Bayes factors, with values within 0.5 ± delta set to 0.5."""
        value = without_weak_answers(self.probability(features), delta)
        return Predictions(value=value, log_bayes_factor=self.log_bayes_factor(features))

    def _standardised(self, features: FloatArray) -> FloatArray:
        return np.asarray((features - self._mean) / self._deviation)


@dataclass(kw_only=True, eq=False)
class Naive:
    """The cosine of two TF-IDF vectors of character n-grams, and two thresholds on it.

    As in PAN 2020, with the texts as they are; but the vectors and the scale of the answers come
    from the training pairs alone, so that an answer does not depend on the other test pairs.
    """

    features: int = 3_000  # the most frequent n-grams
    ngram_size: int = 4
    _vectorizer: Any = field(init=False, repr=False, default=None)
    _thresholds: tuple[float, float] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        for name in ("features", "ngram_size"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; expected 1 or more")

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Choose the n-grams and their weights, then the thresholds."""
        same_author = known_truth(pairs)
        text = evaluation_library(
            "sklearn.feature_extraction.text", "scikit-learn", "the naive baseline"
        )
        vectorizer = text.TfidfVectorizer(
            analyzer="char",
            ngram_range=(self.ngram_size, self.ngram_size),
            max_features=self.features,
        )
        texts, sides = distinct_texts(pairs)
        try:
            vectors = vectorizer.fit_transform(texts)
        except ValueError:  # no n-gram at all
            raise EmptyTextError(
                f"no training text has {self.ngram_size} characters in a row; expected longer texts"
            ) from None
        self._vectorizer = vectorizer
        self._thresholds = best_thresholds(_cosine(vectors, sides), same_author)
        return self

    def cosine(self, pairs: Sequence[Pair]) -> FloatArray:
        """(pairs,): 0 for texts that share no n-gram, 1 for the same n-grams equally often."""
        vectorizer = fitted(self._vectorizer)
        texts, sides = distinct_texts(pairs)
        # Of no text at all, the library would complain.
        return _cosine(vectorizer.transform(texts), sides) if texts else np.zeros(0)

    def predict(self, pairs: Sequence[Pair]) -> Predictions:
        """PAN's answers; a cosine is not a probability, so there is no Bayes factor."""
        return Predictions(value=answers(self.cosine(pairs), *fitted(self._thresholds)))


def _cosine(vectors: Any, sides: IntArray) -> FloatArray:
    """(pairs,): the cosines of rows of a sparse matrix (texts, features) of length 1 or 0."""
    first, second = sides
    products = vectors[first].multiply(vectors[second]).sum(axis=1)
    return np.clip(np.asarray(products, dtype=np.float64).ravel(), 0, 1)  # rounding goes beyond


def answers(cosine: FloatArray, lower: float, upper: float) -> FloatArray:
    """Values from 0 to 0.49 up to `lower`, from 0.51 to 1 from `upper` on, and 0.5 in between."""
    below = 0.49 * cosine / lower
    above = 0.51 + 0.49 * (cosine - upper) / (1 - upper)
    return np.select([cosine <= lower, cosine >= upper], [below, above], 0.5)


def best_thresholds(cosine: FloatArray, same_author: BoolArray) -> tuple[float, float]:
    """The two thresholds of the grid, lower first, with the best overall score of 2020.

    The score depends only on which pairs lie below, between and above. Thresholds that divide the
    pairs in the same way are tried once: some hundreds of the 4,851 in the grid remain.
    """
    ranked = np.sort(cosine)
    up_to = np.searchsorted(ranked, GRID, "right").tolist()  # (grid,): pairs at or below
    before = np.searchsorted(ranked, GRID, "left").tolist()  # (grid,): pairs below
    trials: dict[tuple[int, int], tuple[float, float]] = {}
    for lower, upper in combinations(range(len(GRID)), 2):
        cut = (up_to[lower], before[upper])
        trials.setdefault(cut, (float(GRID[lower]), float(GRID[upper])))
    return max(trials.values(), key=lambda two: overall_2020(answers(cosine, *two), same_author))


@dataclass(kw_only=True, eq=False)
class Compression:
    """Two cross entropies per pair, of each text under the other's model; logistic regression.

    The model is PPM (variant H of PPMd) on the bytes of the unchanged text. Unlike PAN's own, it
    goes on learning while it reads the second text, as compressors do. With `jobs` above 1, a
    script must keep the calls under `if __name__ == "__main__":`.
    """

    order: int = 5  # bytes of context
    jobs: int = 1  # processes
    _logistic: Logistic | None = field(init=False, repr=False, default=None)
    _delta: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        if self.order not in _ORDERS:
            raise OptionError(f"order is {self.order}; expected {_ORDERS[0]} to {_ORDERS[-1]}")
        if self.jobs < 1:
            raise OptionError(f"jobs is {self.jobs}; expected 1 or more")

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Fit the regression to the cross entropies, and choose the best range of non-answers."""
        same_author = known_truth(pairs)
        logistic = Logistic()
        features = _features(self.cross_entropies(pairs))
        self._logistic = logistic.fit(features, same_author)
        self._delta = best_delta(logistic.probability(features), same_author)
        return self

    def cross_entropies(self, pairs: Sequence[Pair]) -> FloatArray:
        """(pairs, 2): bits per byte of the second text after the first, and vice versa."""
        _encoder()  # what is missing is missed here, not in a worker
        both_ways = partial(_both_ways, self.order)
        texts = [pair.first.text for pair in pairs], [pair.second.text for pair in pairs]
        if self.jobs == 1:
            entropies = list(map(both_ways, *texts))
        else:
            with worker_pool(self.jobs) as pool:
                entropies = list(pool.map(both_ways, *texts, chunksize=_PAIRS_AT_ONCE))
        return np.array(entropies, dtype=np.float64).reshape(-1, 2)

    def predict(self, pairs: Sequence[Pair]) -> Predictions:
        """The probability at the training pairs' prior, without answers near 0.5."""
        logistic = fitted(self._logistic)  # before minutes of work
        features = _features(self.cross_entropies(pairs))
        return logistic.predict(features, self._delta)


def cross_entropy(first: bytes, second: bytes, order: int = 5) -> float:
    """Bits per byte of `second` under a model that has read `first`."""
    encoder = _encoder()(order, _MEMORY)
    encoder.encode(first)
    return 8 * len(encoder.encode(second)) / len(second)


def _both_ways(order: int, first: str, second: str) -> tuple[float, float]:
    sides = first.encode("utf-8"), second.encode("utf-8")
    return cross_entropy(*sides, order), cross_entropy(*sides[::-1], order)


def _encoder() -> type:
    """Variant H of PPMd: without an end mark, whose cost would depend on the last words."""
    library = evaluation_library("pyppmd", "pyppmd", "the compression baseline")
    encoder: type = library.Ppmd7Encoder
    return encoder


def _features(cross_entropies: FloatArray) -> FloatArray:
    """(pairs, 2): mean and absolute difference, so that the order in a pair does not matter."""
    first, second = cross_entropies.T
    return np.stack([(first + second) / 2, np.abs(first - second)], axis=1)


@dataclass(kw_only=True, eq=False)
class Delta:
    """The mean absolute difference of the z-scores of word frequencies; logistic regression.

    Words are token types as everywhere else: normalised, cased, punctuation marks among them.
    """

    words: int = 200
    _tokenizer: Tokenizer = field(init=False, repr=False, default_factory=Tokenizer)
    _words: tuple[str, ...] = field(init=False, repr=False, default=())
    _deviation: FloatArray | None = field(init=False, repr=False, default=None)  # (words,)
    _logistic: Logistic | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if self.words < 1:
            raise OptionError(f"words is {self.words}; expected 1 or more")

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Choose the words from the training texts, then fit the regression to the distances."""
        same_author = known_truth(pairs)
        logistic = Logistic()
        texts, sides = distinct_texts(pairs)
        self._words = self._most_frequent(texts)
        frequencies = self._frequencies(texts)
        # A word that all texts use equally often does not count: in an infinite unit, it is 0
        self._deviation = np.where(np.ptp(frequencies, axis=0) > 0, frequencies.std(axis=0), np.inf)
        distance = _mean_difference(frequencies / self._deviation, sides)
        self._logistic = logistic.fit(distance[:, None], same_author)
        return self

    def distance(self, pairs: Sequence[Pair]) -> FloatArray:
        """(pairs,): Delta; 0 for texts that use the words equally often."""
        deviation = fitted(self._deviation)
        texts, sides = distinct_texts(pairs)
        return _mean_difference(self._frequencies(texts) / deviation, sides)

    def predict(self, pairs: Sequence[Pair]) -> Predictions:
        """The probability at the training pairs' prior, and the log Bayes factor."""
        return fitted(self._logistic).predict(self.distance(pairs)[:, None])

    def _most_frequent(self, texts: Sequence[str]) -> tuple[str, ...]:
        counts: Counter[str] = Counter()
        for text in texts:  # once for the words and once for the numbers: a corpus may be large
            counts.update(self._tokenizer.tokens(text))
        options = VocabularyOptions(token_types=self.words)
        return Vocabulary.build(list(counts), np.array([*counts.values()]), options).token_types

    def _frequencies(self, texts: Sequence[str]) -> FloatArray:
        """(texts, words): the share of each word among the tokens of each text."""
        table = np.empty((len(texts), len(self._words)))
        for row, text in enumerate(texts):
            counts = Counter(self._tokenizer.tokens(text))
            if not counts:  # zero-width characters alone
                raise EmptyTextError("a text of the pairs has no visible character; leave it out")
            table[row] = [counts[word] for word in self._words]
            table[row] /= counts.total()
        return table


def _mean_difference(scores: FloatArray, sides: IntArray) -> FloatArray:
    """(pairs,): the mean absolute difference of z-scores (texts, words), centred or not."""
    first, second = sides
    return np.asarray(np.abs(scores[first] - scores[second]).mean(axis=1))


# By name; the libraries that they need are imported when they learn.
BASELINES: dict[str, Callable[..., Baseline]] = {
    "naive": Naive,
    "compression": Compression,
    "delta": Delta,
}


def baseline(name: str) -> Callable[..., Baseline]:
    """The class of the baseline of this name, whose parameters are its options."""
    if name not in BASELINES:
        raise OptionError(f"there is no baseline '{name}'; expected one of: {', '.join(BASELINES)}")
    return BASELINES[name]


def run_baseline(
    name: str, train: Sequence[Pair], test: Sequence[Pair], *, jobs: int = 1
) -> Predictions:
    """The answers of a baseline with default options to the test pairs, once it is trained.

    `jobs` is the number of processes, for baselines that can use several.
    """
    options = {"jobs": jobs} if name == "compression" else {}
    return baseline(name)(**options).fit(train).predict(test)
