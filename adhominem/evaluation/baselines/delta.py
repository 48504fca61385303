"""Burrows's Delta (2002): how differently two texts use the most frequent words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from adhominem.errors import EmptyTextError, OptionError
from adhominem.evaluation.baselines.logistic import Logistic
from adhominem.evaluation.baselines.protocol import (
    FloatArray,
    Predictions,
    distinct_texts,
    fitted,
    known_truth,
)
from adhominem.text.pan import Pair
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import Vocabulary, VocabularyOptions


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
        """Choose the words of the training texts, then learn what the distance tells."""
        same_author = known_truth(pairs)
        logistic = Logistic()
        texts, sides = distinct_texts(pairs)
        self._words = self._most_frequent(texts)
        frequencies = self._frequencies(texts)
        # A word that all texts use equally often tells nothing: in an infinite unit, it is always 0
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
        logistic = fitted(self._logistic)
        distance = self.distance(pairs)[:, None]
        return Predictions(
            value=logistic.probability(distance),
            log_bayes_factor=logistic.log_bayes_factor(distance),
        )

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


def _mean_difference(scores: FloatArray, sides: npt.NDArray[np.int64]) -> FloatArray:
    """(pairs,): of z-scores (texts, words), whose means may be left in: they cancel."""
    first, second = sides
    return np.asarray(np.abs(scores[first] - scores[second]).mean(axis=1))
