"""What a Bayes factor means in words: a scale with one rung a decade, the same on both sides.

Below a Bayes factor of 2 there is nothing to speak of (as in ENFSI's guideline of 2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, isfinite
from pathlib import Path

from adhominem.errors import OptionError
from adhominem.strict_json import parsed_json
from adhominem.text.files import note_input, open_regular

SAME = "one person wrote both sides"
DIFFERENT = "a different person wrote each side"
NONE = "no support to speak of"
_LARGEST = 2**20  # bytes of a scale of one's own


@dataclass(frozen=True)
class VerbalScale:
    """Rungs: from which log10 Bayes factor on, on either side, which words apply."""

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
        """The rung of a number, which must not have been rounded before."""
        if not isfinite(log10_bayes_factor):
            raise OptionError(f"the log10 Bayes factor is {log10_bayes_factor}; expected a number")
        strength = abs(log10_bayes_factor)
        return [words for start, words in self.rungs if start <= strength][-1]

    def sentence(self, log10_bayes_factor: float) -> str:
        """What the evidence says: a comparison of two propositions, never a verdict."""
        words = self.words(log10_bayes_factor)
        if log10_bayes_factor == 0 or words == NONE:
            return f"The texts give {NONE} for either proposition over the other."
        for_, against = (SAME, DIFFERENT) if log10_bayes_factor > 0 else (DIFFERENT, SAME)
        return (
            f"The texts give {words} for the proposition that {for_} "
            f"over the proposition that {against}."
        )

    @classmethod
    def read(cls, path: str | Path) -> VerbalScale:
        """A scale of one's own: a JSON list of [log10 Bayes factor, words]."""
        note_input(path)
        try:
            with open_regular(Path(path), _LARGEST)[0] as file:
                rows = parsed_json(file.read(_LARGEST))
            return cls(tuple((_number(start), words) for start, words in rows))
        except (OSError, ValueError, TypeError, OverflowError, OptionError) as error:
            raise OptionError(
                f"{path} is no verbal scale ({error}); expected a JSON list like "
                '[[0, "weak support"], [1, "moderate support"]]'
            ) from None


def _number(start: object) -> float:
    """Where a rung begins, as JSON has it."""
    if isinstance(start, bool) or not isinstance(start, int | float):
        raise TypeError("a rung does not begin at a number")
    return float(start)
