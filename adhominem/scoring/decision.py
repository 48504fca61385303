"""From a probability to a decision, with its reason; or to none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from adhominem.errors import OptionError


class Decision(StrEnum):
    """What to answer if an answer is asked for."""

    SAME_AUTHOR = "same author"
    DIFFERENT_AUTHORS = "different authors"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Decided:
    """A decision and why it was taken."""

    decision: Decision
    reason: str


def decide(
    probability_same_author: float, delta: float, obstacles: tuple[str, ...] = ()
) -> Decided:
    """Same author above 0.5 + delta, different authors below 0.5 - delta, else undecided.

    `obstacles` are reasons for not deciding at all, such as a text that is too short.
    """
    if not 0 <= delta < 0.5:
        raise OptionError(f"delta is {delta}; expected 0 to below 0.5")
    if not 0 <= probability_same_author <= 1:
        raise OptionError(f"the probability is {probability_same_author}; expected 0 to 1")
    if obstacles:
        return Decided(Decision.UNDECIDED, "; ".join(obstacles))
    said = f"the probability of one author is {show_probability(probability_same_author)}"
    if probability_same_author > 0.5 + delta:
        return Decided(Decision.SAME_AUTHOR, f"{said}, above {0.5 + delta:g}")
    if probability_same_author < 0.5 - delta:
        return Decided(Decision.DIFFERENT_AUTHORS, f"{said}, below {0.5 - delta:g}")
    return Decided(Decision.UNDECIDED, f"{said}, within 0.5 ± {delta:g}")


def show_probability(probability: float) -> str:
    """With three digits; never as 0 or 1, which no evidence makes it."""
    if probability > 0.999:
        return "more than 0.999"
    return "less than 0.001" if probability < 0.001 else f"{probability:.3f}"
