"""Both sides of a comparison, encoded: what if one text of a side were another?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from adhominem.scoring.population import Population, without_companions
from adhominem.scoring.styles import Centre
from adhominem.text.exhibits import Exhibit
from adhominem.verifier import Levs, Verifier

FloatArray = npt.NDArray[np.float64]

_AT_ONCE = 64  # variants scored together: a LEV may have many thousand numbers


@dataclass(frozen=True)
class Sides:
    """The texts and LEVs of both sides."""

    verifier: Verifier
    population: Population | None
    exhibits: tuple[list[Exhibit], list[Exhibit]]
    levs: tuple[Levs, Levs]  # each (texts, lev_size)

    @classmethod
    def of(
        cls,
        verifier: Verifier,
        first: Sequence[Exhibit],
        second: Sequence[Exhibit],
        *,
        population: Population | None,
    ) -> Sides:
        """Encode both. Companions in the population are not drawn on."""
        levs = [verifier.encode([exhibit.document for exhibit in side]) for side in (first, second)]
        relevant = without_companions(population)
        return cls(verifier, relevant, (list(first), list(second)), (levs[0], levs[1]))

    def centre(self, member: int) -> Centre | None:
        """A member's part of the population's mean."""
        return self.verifier.scorer.centres(self.population)[member]

    @cached_property
    def log_bayes_factor(self) -> float:
        """Of both sides as they are, without bounds: at a bound nothing would contribute."""
        return float(self.of_pairs([self.levs[0]], [self.levs[1]])[0])

    def with_text(self, side: int, number: int, levs: Levs) -> FloatArray:
        """(variants,): with each of these LEVs (variants, lev_size) in place of one text's."""
        own, other = self.levs[side], self.levs[1 - side]
        sets = []
        for lev in levs:
            changed = own.copy()
            changed[number] = lev
            sets.append(changed)
        rest = [other] * len(sets)
        return self.of_pairs(sets, rest) if side == 0 else self.of_pairs(rest, sets)

    def without_text(self, side: int, number: int) -> float:
        """Without one text; 0 if it is all that its side has: then nothing is known."""
        left = np.delete(self.levs[side], number, axis=0)
        if not len(left):
            return 0.0
        sides = (left, self.levs[1]) if side == 0 else (self.levs[0], left)
        return float(self.of_pairs([sides[0]], [sides[1]])[0])

    def of_pairs(self, first: Sequence[Levs], second: Sequence[Levs]) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of sets of LEVs, without bounds."""
        parts = [np.zeros(0)]
        for at in range(0, len(first), _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            scored = self.verifier.scorer(first[some], second[some], self.population)
            parts.append(scored.unbounded)
        return np.concatenate(parts)
