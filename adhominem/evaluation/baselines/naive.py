"""PAN's naive baseline: how alike two texts are in their runs of four characters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from adhominem.errors import EmptyTextError, OptionError
from adhominem.evaluation.baselines.protocol import (
    BoolArray,
    FloatArray,
    Predictions,
    distinct_texts,
    evaluation_library,
    fitted,
    known_truth,
)
from adhominem.evaluation.pan import overall_2020
from adhominem.text.pan import Pair

GRID = np.linspace(0.01, 0.99, 99)  # of the two thresholds


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
        """PAN's answers; a cosine is no probability, so there is no Bayes factor."""
        return Predictions(value=answers(self.cosine(pairs), *fitted(self._thresholds)))


def _cosine(vectors: Any, sides: npt.NDArray[np.int64]) -> FloatArray:
    """(pairs,): of the rows of a sparse matrix (texts, features), all of length 1 or 0."""
    first, second = sides
    products = vectors[first].multiply(vectors[second]).sum(axis=1)
    return np.clip(np.asarray(products, dtype=np.float64).ravel(), 0, 1)  # rounding goes beyond


def answers(cosine: FloatArray, lower: float, upper: float) -> FloatArray:
    """Up to `lower` from 0 to 0.49, from `upper` on from 0.51 to 1, and in between no answer."""
    below = 0.49 * cosine / lower
    above = 0.51 + 0.49 * (cosine - upper) / (1 - upper)
    return np.select([cosine <= lower, cosine >= upper], [below, above], 0.5)


def best_thresholds(cosine: FloatArray, same_author: BoolArray) -> tuple[float, float]:
    """The two of the grid, the lower one first, with the best overall score of 2020.

    The score sees only which pairs lie below, between and above. Thresholds that cut the pairs
    alike are tried once: of the 4,851 in the grid, some hundreds are left.
    """
    ranked = np.sort(cosine)
    up_to = np.searchsorted(ranked, GRID, "right").tolist()  # (grid,): pairs at or below
    before = np.searchsorted(ranked, GRID, "left").tolist()  # (grid,): pairs below
    trials: dict[tuple[int, int], tuple[float, float]] = {}
    for lower, upper in combinations(range(len(GRID)), 2):
        cut = (up_to[lower], before[upper])
        trials.setdefault(cut, (float(GRID[lower]), float(GRID[upper])))
    return max(trials.values(), key=lambda two: overall_2020(answers(cosine, *two), same_author))
