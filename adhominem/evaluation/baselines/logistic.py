"""From what a baseline measures on a pair to the strength of the evidence."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from adhominem.evaluation.baselines.protocol import BoolArray, FloatArray, evaluation_library
from adhominem.scoring.decision import probability_same_author


class Logistic:
    """Logistic regression on features of a pair, learnt from pairs whose truth is known.

    The features are standardised first: the regression's penalty on large weights, which keeps
    them finite where a feature tells all training pairs apart, would else depend on the units.
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
        # A feature that is the same for all pairs tells nothing: in an infinite unit, it is 0.
        self._deviation = np.where(np.ptp(features, axis=0) > 0, features.std(axis=0), np.inf)
        self._model.fit(self._standardised(features), same_author)
        self.prior_same_author = float(same_author.mean())  # of the training pairs
        return self

    def log_bayes_factor(self, features: FloatArray) -> FloatArray:
        """(pairs,): the log odds, less those that the training pairs had to begin with."""
        weights, bias = self._model.coef_[0], float(self._model.intercept_[0])
        prior = self.prior_same_author
        log_odds = self._standardised(features) @ weights + bias
        return np.asarray(log_odds - np.log(prior) + np.log1p(-prior))

    def probability(self, features: FloatArray) -> FloatArray:
        """(pairs,): the probability of one author, at the prior of the training pairs."""
        return probability_same_author(self.log_bayes_factor(features), self.prior_same_author)

    def _standardised(self, features: FloatArray) -> FloatArray:
        return np.asarray((features - self._mean) / self._deviation)
