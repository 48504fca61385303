"""What a log Bayes factor means: a probability under a stated prior, words, a decision or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import inf, isfinite
from pathlib import Path

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError
from adhominem.records import parsed_json
from adhominem.text.files import note_input, open_regular, path_of

LOG_10 = float(np.log(10))  # nats in a unit of log10


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
    # exp never sees a positive number, so it cannot overflow
    small = np.exp(-np.abs(log_odds))
    return np.asarray(np.where(log_odds >= 0, 1 / (1 + small), small / (1 + small)))


def ensemble_probability(probabilities: Sequence[npt.ArrayLike]) -> FloatArray:
    """The mean (pairs,) of the members' probabilities, each (pairs,)."""
    if not len(probabilities):
        raise OptionError("an ensemble without members; expected at least one")
    return np.asarray(np.mean(np.asarray(probabilities, dtype=np.float64), axis=0))


def ensemble_log_bayes_factor(members: Sequence[npt.ArrayLike]) -> FloatArray:
    """The log Bayes factors (pairs,) that correspond to the mean of the members' probabilities.

    The members' log Bayes factors are (pairs,) each; the probabilities are those under even priors.
    """
    if not len(members):
        raise OptionError("an ensemble without members; expected at least one")
    factors = np.asarray(members, dtype=np.float64)  # (members, pairs)
    if len(factors) == 1:
        return np.asarray(factors[0])
    # In logarithms, so that members who are very sure do not become certain.
    same, different = -np.logaddexp(0, -factors), -np.logaddexp(0, factors)
    return np.asarray(np.logaddexp.reduce(same, axis=0) - np.logaddexp.reduce(different, axis=0))


def same_author_by_distance(distance: npt.ArrayLike, threshold: float) -> FloatArray:
    """Answers (pairs,) by the squared distance: tau / (tau + d) for the threshold tau.

    Above 0.5 for distances below tau, from 1 for equal LEVs towards 0. They are not probabilities.
    """
    return np.asarray(threshold / (threshold + np.asarray(distance, dtype=np.float64)))


def without_weak_answers(probability: npt.ArrayLike, delta: float) -> FloatArray:
    """The probabilities, with those within 0.5 +- delta set to 0.5: no answer."""
    if not 0 <= delta <= 0.5:
        raise OptionError(f"delta is {delta}; expected 0 to 0.5")
    values = np.asarray(probability, dtype=np.float64)
    return np.asarray(np.where(np.abs(values - 0.5) < delta, 0.5, values))


SAME = "one person wrote both sides"
DIFFERENT = "a different person wrote each side"
NONE = "no support to speak of"
_LARGEST = 2**20  # bytes of a scale from a file


@dataclass(frozen=True)
class VerbalScale:
    """A verbal scale: for each rung, the log10 Bayes factor where it begins and its words."""

    rungs: tuple[tuple[float, str], ...] = (
        (0.0, NONE),
        (0.3, "weak support"),
        (1.0, "moderate support"),
        (2.0, "moderately strong support"),
        (3.0, "strong support"),
        (4.0, "very strong support"),
        (5.0, "extremely strong support"),
    )

    def __post_init__(self) -> None:
        starts = [start for start, _ in self.rungs]
        rise = all(low < high < inf for low, high in pairwise(starts))
        if not starts or starts[0] != 0 or not rise:
            raise OptionError(
                f"the rungs of the verbal scale begin at {starts}; expected 0 and then ever more"
            )
        if not all(isinstance(words, str) and words.strip() for _, words in self.rungs):
            raise OptionError("a rung of the verbal scale has no words; expected a text for each")

    def words(self, log10_bayes_factor: float) -> str:
        """The words for a log10 Bayes factor, which must not have been rounded before."""
        if not isfinite(log10_bayes_factor):
            raise OptionError(f"the log10 Bayes factor is {log10_bayes_factor}; expected a number")
        strength = abs(log10_bayes_factor)
        return [words for start, words in self.rungs if start <= strength][-1]

    def sentence(self, log10_bayes_factor: float) -> str:
        """The evidence in a sentence: a comparison of two propositions, never a verdict."""
        words = self.words(log10_bayes_factor)
        if log10_bayes_factor == 0 or words == NONE:
            return f"The texts give {NONE} for either proposition over the other."
        for_, against = (SAME, DIFFERENT) if log10_bayes_factor > 0 else (DIFFERENT, SAME)
        return (
            f"The texts give {words} for the proposition that {for_} "
            f"over the proposition that {against}."
        )

    def reach(self, lower_bound: float, upper_bound: float) -> str:
        """The strongest statements possible within bounds of the log10 Bayes factor, in words."""
        against, for_ = (
            words if words == NONE else f"at most {words}"
            for words in (self.words(lower_bound), self.words(upper_bound))
        )
        if against == for_:
            return f"{for_} for either proposition"
        return f"{for_} for one author, and {against} for different authors"

    @classmethod
    def read(cls, path: str | Path) -> VerbalScale:
        """The scale in a file: a JSON list of [log10 Bayes factor, words]."""
        note_input(path)
        try:
            with open_regular(path_of(path), _LARGEST)[0] as file:
                rows = parsed_json(file.read(_LARGEST))
            return cls(tuple((_number(start), words) for start, words in rows))
        except (OSError, ValueError, TypeError, OverflowError, OptionError) as error:
            raise OptionError(
                f"{path} is not a verbal scale ({error}); expected a JSON list like "
                '[[0, "weak support"], [1, "moderate support"]]'
            ) from None


def _number(start: object) -> float:
    """The log10 Bayes factor where a rung begins, checked as read from JSON."""
    if isinstance(start, bool) or not isinstance(start, int | float):
        raise TypeError("a rung does not begin at a number")
    return float(start)


class Decision(StrEnum):
    """The answer to the question whether both sides are by one author."""

    SAME_AUTHOR = "same author"
    DIFFERENT_AUTHORS = "different authors"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Decided:
    """A decision and the reason for it."""

    decision: Decision
    reason: str


def decide(
    probability_same_author: float, delta: float, obstacles: tuple[str, ...] = ()
) -> Decided:
    """The decision: same author above 0.5 + delta, different below 0.5 - delta, else undecided.

    `obstacles` are reasons for not deciding at all, such as a text that is too short.
    """
    if not 0 <= delta < 0.5:
        raise OptionError(f"delta is {delta}; expected 0 to below 0.5")
    if not 0 <= probability_same_author <= 1:
        raise OptionError(f"the probability is {probability_same_author}; expected 0 to 1")
    if obstacles:
        return Decided(Decision.UNDECIDED, "; ".join(obstacles))
    said = f"the probability of one author is {say_probability(probability_same_author)}"
    if probability_same_author > 0.5 + delta:
        return Decided(Decision.SAME_AUTHOR, f"{said}, above {0.5 + delta:g}")
    if probability_same_author < 0.5 - delta:
        return Decided(Decision.DIFFERENT_AUTHORS, f"{said}, below {0.5 - delta:g}")
    return Decided(Decision.UNDECIDED, f"{said}, within 0.5 ± {delta:g}")


def show_probability(probability: float | None, digits: int = 3) -> str:
    """A probability as text: never 0 or 1, which no evidence justifies; "–" for None."""
    if probability is None:
        return "–"
    least = 10.0**-digits
    if probability < least:
        return f"< {least:.{digits}f}"
    if probability > 1 - least:
        return f"> {1 - least:.{digits}f}"
    return f"{probability:.{digits}f}"


def say_probability(probability: float) -> str:
    """A probability in words, for use within a sentence."""
    return show_probability(probability).replace("<", "less than").replace(">", "more than")
