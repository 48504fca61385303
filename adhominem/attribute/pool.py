"""Many comparisons among some texts: every product of two LEVs is taken once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, IntArray, Levs
from adhominem.scoring.scorer import Scorer

_NUMBERS_AT_ONCE = 4_000_000  # products of pairs with their population that are held in memory


@dataclass(frozen=True)
class Factors:
    """Of some pairs of sides, (pairs,) each, in nats."""

    log_bayes_factor: FloatArray
    unbounded: FloatArray  # the same without the bounds of the calibration: to tell ties apart
    at_bound: BoolArray  # whether a bound, and not the score, decides what is reported
    strange: BoolArray  # whether the population seems to be of another genre; it was used

    @classmethod
    def joined(cls, parts: Sequence[Factors]) -> Factors:
        """Those of several sets of pairs in a row, in their last dimension."""
        return cls(
            **{
                name.name: np.concatenate([getattr(part, name.name) for part in parts], axis=-1)
                for name in fields(cls)
            }
        )

    def rows(self, count: int) -> Factors:
        """The same as tables (count, pairs of each)."""
        return Factors(
            **{name.name: getattr(self, name.name).reshape(count, -1) for name in fields(self)}
        )


class TextPool:
    """Texts by number, and the products of their LEVs."""

    def __init__(self, scorer: Scorer, levs: Levs) -> None:
        """`levs` are (texts, lev_size)."""
        self._scorer, self._log_tokens = scorer, levs[:, -1].astype(np.float64)
        self._tables = scorer.tables(levs)

    def factors(
        self,
        first: Sequence[Sequence[int]],
        second: Sequence[Sequence[int]],
        population: Sequence[int] | None,
    ) -> Factors:
        """The log Bayes factors of pairs of sides, each given by the numbers of its texts.

        Texts of a pair are left out of the population that they stand in.
        """
        values, unbounded = np.zeros(len(first)), np.zeros(len(first))
        at_bound, strange = np.zeros(len(first), dtype=bool), np.zeros(len(first), dtype=bool)
        cohort = None if population is None else np.array(population, dtype=np.int64)
        sizes: dict[tuple[int, int], list[int]] = {}  # pairs that are scored together
        for at, sides in enumerate(zip(first, second, strict=True)):
            sizes.setdefault((len(sides[0]), len(sides[1])), []).append(at)
        for counts, numbers in sizes.items():
            for part in _in_parts(numbers, sum(counts), 0 if cohort is None else len(cohort)):
                scored = self._scorer.among(
                    self._tables,
                    self._log_tokens,
                    np.array([first[at] for at in part]),  # (pairs, texts)
                    np.array([second[at] for at in part]),
                    cohort,
                    even_if_strange=True,
                )
                values[part] = scored.log_bayes_factor
                unbounded[part] = scored.unbounded
                at_bound[part] = scored.at_bound
                strange[part] = scored.strange
        return Factors(values, unbounded, at_bound, strange)


def _in_parts(numbers: Sequence[int], texts: int, population: int) -> Iterator[IntArray]:
    """As many pairs, of so many texts each, as memory has room for."""
    at_once = max(1, _NUMBERS_AT_ONCE // (texts * (population + texts + 50)))
    for at in range(0, len(numbers), at_once):
        yield np.array(numbers[at : at + at_once])
