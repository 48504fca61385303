"""From scores to probabilities and decisions, never without a stated prior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError

FloatArray = npt.NDArray[np.float64]


def probability_same_author(
    log_bayes_factor: npt.ArrayLike, prior_same_author: float = 0.5
) -> FloatArray:
    """The probability of one author, given the evidence and the prior.

    The prior belongs to the case, not to the texts: 0.5 is PAN's, where half of the pairs are
    by one author.
    """
    if not 0 < prior_same_author < 1:
        raise OptionError(f"prior_same_author is {prior_same_author}; expected between 0 and 1")
    log_odds = np.asarray(log_bayes_factor, dtype=np.float64)
    log_odds = log_odds + np.log(prior_same_author) - np.log1p(-prior_same_author)
    # exp of a number that is never positive: no overflow on either side
    small = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0, 1 / (1 + small), small / (1 + small)))


def ensemble_probability(probabilities: Sequence[npt.ArrayLike]) -> FloatArray:
    """(pairs,): the mean of the members' probabilities, each (pairs,)."""
    if not len(probabilities):
        raise OptionError("an ensemble without members; expected at least one")
    return np.asarray(np.mean(np.asarray(probabilities, dtype=np.float64), axis=0))


def ensemble_log_bayes_factor(members: Sequence[npt.ArrayLike]) -> FloatArray:
    """(pairs,): the log Bayes factor that the mean of the members' probabilities stands for.

    The members' log Bayes factors are (pairs,) each, their probabilities those under even priors.
    """
    if not len(members):
        raise OptionError("an ensemble without members; expected at least one")
    factors = np.asarray(members, dtype=np.float64)  # (members, pairs)
    if len(factors) == 1:
        return np.asarray(factors[0])
    # In logarithms, so that members who are very sure do not become certain.
    same, different = -np.logaddexp(0, -factors), -np.logaddexp(0, factors)
    return np.asarray(np.logaddexp.reduce(same, axis=0) - np.logaddexp.reduce(different, axis=0))


def without_weak_answers(probability: npt.ArrayLike, delta: float) -> FloatArray:
    """Probabilities within 0.5 +- delta become 0.5: no answer."""
    if not 0 <= delta <= 0.5:
        raise OptionError(f"delta is {delta}; expected 0 to 0.5")
    values = np.asarray(probability, dtype=np.float64)
    return np.asarray(np.where(np.abs(values - 0.5) < delta, 0.5, values))
