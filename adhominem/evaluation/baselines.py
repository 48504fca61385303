"""Rival systems, which a verifier must beat to be worth its trouble.

    naive        PAN's: how alike two texts are in their runs of four characters
    compression  PAN's second: how well a model of one text compresses the other, after Teahan and
                 Harper (2003)
    delta        Burrows's (2002): how differently two texts use the most frequent words

Each learns from training pairs whose truth is known; an answer does not depend on other test pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray
from adhominem.errors import EmptyTextError, MissingExtraError, MissingFieldError, OptionError
from adhominem.evaluation.pan import best_delta, overall_2020
from adhominem.processes import worker_pool
from adhominem.score.decision import probability_same_author, without_weak_answers
from adhominem.statistics import logistic
from adhominem.text.pan import Pair
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import Vocabulary, VocabularyOptions

GRID = np.linspace(0.01, 0.99, 99)  # of the two thresholds
_MEMORY = 64 << 20  # of PPM: at order 5, 16 MB of text fill less than a quarter of it
_PAIRS_AT_ONCE = 16  # to a worker


@dataclass(frozen=True)
class Predictions:
    """A baseline's answers to pairs."""

    value: FloatArray  # (pairs,): PAN's answers, in [0, 1]; 0.5 means no answer
    log_bayes_factor: FloatArray | None = None  # (pairs,), in nats; None: it knows no probabilities


def run_baseline(
    name: str, train: Sequence[Pair], test: Sequence[Pair], *, jobs: int = 1
) -> Predictions:
    """The answers of a baseline to the test pairs, once it has learnt from training pairs.

    `jobs` is the number of processes, for baselines that can use several.
    """
    if name not in BASELINES:
        raise OptionError(f"there is no baseline '{name}'; expected one of: {', '.join(BASELINES)}")
    if jobs < 1:
        raise OptionError(f"jobs is {jobs}; expected 1 or more")
    return BASELINES[name](train, _known_truth(train), test, jobs)


def naive(
    train: Sequence[Pair], same_author: BoolArray, test: Sequence[Pair], jobs: int
) -> Predictions:
    """The cosine of two TF-IDF vectors of character n-grams, and two thresholds on it.

    As in PAN 2020, with the texts as they are; but the vectors and the scale of the answers come
    from the training pairs alone. A cosine is not a probability, so there is no Bayes factor.
    """
    known, questioned = tf_idf_cosines(train, test)
    return Predictions(answers(questioned, *best_thresholds(known, same_author)))


def tf_idf_cosines(
    train: Sequence[Pair], test: Sequence[Pair], *, size: int = 4, most: int = 3_000
) -> tuple[FloatArray, FloatArray]:
    """(pairs,) of both: the cosine of each pair, by the `most` frequent n-grams of the training."""
    library = _library("sklearn.feature_extraction.text", "scikit-learn", "the naive baseline")
    vectorizer = library.TfidfVectorizer(
        analyzer="char", ngram_range=(size, size), max_features=most
    )
    texts, sides = distinct_texts(train)
    try:
        known = _cosine(vectorizer.fit_transform(texts), sides)
    except ValueError:  # no n-gram at all
        raise EmptyTextError(
            f"no training text has {size} characters in a row; expected longer texts"
        ) from None
    texts, sides = distinct_texts(test)
    # Of no text at all, the library would complain.
    return known, _cosine(vectorizer.transform(texts), sides) if texts else np.zeros(0)


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


def compression(
    train: Sequence[Pair], same_author: BoolArray, test: Sequence[Pair], jobs: int
) -> Predictions:
    """Two cross entropies per pair, of each text under the other's model; logistic regression.

    Answers near 0.5 are left open, as is best for the training pairs.
    """
    known, questioned = (_features(cross_entropies(pairs, jobs=jobs)) for pairs in (train, test))
    probability = _regression(known, same_author, known).value
    said = _regression(known, same_author, questioned)
    value = without_weak_answers(said.value, best_delta([(probability, same_author)]))
    return Predictions(value, said.log_bayes_factor)


def cross_entropies(pairs: Sequence[Pair], *, order: int = 5, jobs: int = 1) -> FloatArray:
    """(pairs, 2): bits per byte of the second text after the first, and vice versa.

    The model is PPM (variant H of PPMd) on the bytes of the unchanged text. Unlike PAN's own, it
    goes on learning while it reads the second text, as compressors do.
    """
    _encoder()  # what is missing is missed here, not in a worker
    both_ways = partial(_both_ways, order)
    texts = [pair.first.text for pair in pairs], [pair.second.text for pair in pairs]
    if jobs == 1:
        entropies = list(map(both_ways, *texts))
    else:
        with worker_pool(jobs) as pool:
            entropies = list(pool.map(both_ways, *texts, chunksize=_PAIRS_AT_ONCE))
    return np.array(entropies, dtype=np.float64).reshape(-1, 2)


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
    encoder: type = _library("pyppmd", "pyppmd", "the compression baseline").Ppmd7Encoder
    return encoder


def _features(entropies: FloatArray) -> FloatArray:
    """(2, pairs): mean and absolute difference, so that the order in a pair does not matter."""
    first, second = entropies.T
    return np.stack([(first + second) / 2, np.abs(first - second)])


def delta(
    train: Sequence[Pair], same_author: BoolArray, test: Sequence[Pair], jobs: int
) -> Predictions:
    """The mean absolute difference of the z-scores of word frequencies; logistic regression."""
    known, questioned = delta_distances(train, test)
    return _regression(known[None], same_author, questioned[None])


def delta_distances(
    train: Sequence[Pair], test: Sequence[Pair], *, words: int = 200
) -> tuple[FloatArray, FloatArray]:
    """(pairs,) of both: the distance of each pair by the most frequent words of the training texts.

    Words are token types as everywhere else: normalised, cased, punctuation marks among them.
    """
    tokenizer = Tokenizer()
    texts, sides = distinct_texts(train)
    counts: Counter[str] = Counter()
    for text in texts:  # once for the words and once for the numbers: a corpus may be large
        counts.update(tokenizer.tokens(text))
    options = VocabularyOptions(token_types=words)
    types = Vocabulary.build(list(counts), np.array([*counts.values()]), options).token_types
    known = _frequencies(texts, types, tokenizer)
    # A word that all texts use equally often does not count: in an infinite unit, it is 0.
    deviation = np.where(np.ptp(known, axis=0) > 0, known.std(axis=0), np.inf)
    distances = _mean_difference(known / deviation, sides)
    texts, sides = distinct_texts(test)
    return distances, _mean_difference(_frequencies(texts, types, tokenizer) / deviation, sides)


def _frequencies(texts: Sequence[str], types: Sequence[str], tokenizer: Tokenizer) -> FloatArray:
    """(texts, types): the share of each word among the tokens of each text."""
    table = np.empty((len(texts), len(types)))
    for row, text in enumerate(texts):
        counts = Counter(tokenizer.tokens(text))
        if not counts:  # zero-width characters alone
            raise EmptyTextError("a text of the pairs has no visible character; leave it out")
        table[row] = [counts[word] for word in types]
        table[row] /= counts.total()
    return table


def _mean_difference(scores: FloatArray, sides: IntArray) -> FloatArray:
    """(pairs,): the mean absolute difference of z-scores (texts, words), centred or not."""
    first, second = sides
    return np.asarray(np.abs(scores[first] - scores[second]).mean(axis=1))


def _regression(known: FloatArray, same_author: BoolArray, questioned: FloatArray) -> Predictions:
    """Log Bayes factors, and probabilities at the prior of the training pairs.

    Both are features (features, pairs). The penalty on large slopes is that of one more pair.
    """
    pairs = len(same_author)
    constant, *slopes = logistic(known, same_author, np.ones(pairs), 1 / pairs)
    factors = constant + np.array(slopes) @ questioned
    return Predictions(probability_same_author(factors, float(same_author.mean())), factors)


# By name; the libraries that they need are imported when they learn.
BASELINES: dict[str, Callable[[Sequence[Pair], BoolArray, Sequence[Pair], int], Predictions]] = {
    "naive": naive,
    "compression": compression,
    "delta": delta,
}


def _known_truth(pairs: Sequence[Pair]) -> BoolArray:
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


def _library(module: str, name: str, needed_for: str) -> Any:
    """A module of the extra `evaluate`, imported when first needed."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(name, "evaluate", needed_for) from None
