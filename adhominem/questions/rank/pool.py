"""Many comparisons among some texts: every product of two LEVs is taken once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np

from adhominem.arrays import AnyLevs, IntArray
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.scorer import Scorer

_NUMBERS_AT_ONCE = 4_000_000  # products of pairs with their population that are held in memory
_ARRAYS = [field.name for field in fields(LogBayesFactors) if field.name != "calibrated"]


def joined_factors(parts: Sequence[LogBayesFactors]) -> LogBayesFactors:
    """Those of several sets of pairs in a row, in their last dimension."""
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in _ARRAYS
    }
    return LogBayesFactors(**arrays, calibrated=all(part.calibrated for part in parts))


def in_rows(factors: LogBayesFactors, count: int) -> LogBayesFactors:
    """The same as tables (count, pairs of each)."""
    arrays = {name: getattr(factors, name).reshape(count, -1) for name in _ARRAYS}
    return LogBayesFactors(**arrays, calibrated=factors.calibrated)


class TextPool:
    """Texts by number, and the products of their LEVs."""

    def __init__(self, scorer: Scorer, levs: AnyLevs) -> None:
        """`levs` are (texts, lev_size)."""
        self._scorer, self._texts = scorer, scorer.tables(levs)

    def factors(
        self,
        first: Sequence[Sequence[int]],
        second: Sequence[Sequence[int]],
        population: Sequence[int] | None,
    ) -> LogBayesFactors:
        """Those of pairs of sides, each given by the numbers of its texts.

        Texts of a pair are left out of the population that they stand in. One that seems to be of
        another genre is used all the same, and reported as `population_misfit`.
        """
        cohort = None if population is None else np.array(population, dtype=np.int64)
        sizes: dict[tuple[int, int], list[int]] = {}  # pairs that are scored together
        for at, sides in enumerate(zip(first, second, strict=True)):
            sizes.setdefault((len(sides[0]), len(sides[1])), []).append(at)
        parts = [
            part
            for counts, numbers in sizes.items()
            for part in _in_parts(numbers, sum(counts), 0 if cohort is None else len(cohort))
        ]
        scored = joined_factors(
            [
                self._scorer.among(
                    self._texts,
                    np.array([first[at] for at in part]),  # (pairs, texts)
                    np.array([second[at] for at in part]),
                    cohort,
                    despite_misfit=True,
                )
                for part in parts
            ]
        )
        places = np.argsort(np.concatenate(parts))  # back to the order of the pairs
        return replace(scored, **{name: getattr(scored, name)[places] for name in _ARRAYS})


def _in_parts(numbers: Sequence[int], texts: int, population: int) -> Iterator[IntArray]:
    """As many pairs, of so many texts each, as memory has room for."""
    at_once = max(1, _NUMBERS_AT_ONCE // (texts * (population + texts + 50)))
    for at in range(0, len(numbers), at_once):
        yield np.array(numbers[at : at + at_once])
