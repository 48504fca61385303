"""The one path from LEVs to a log Bayes factor: members, fusion, calibration, bounds.

    LEVs of two sides ─ each member's log Bayes factor ─ fused ─ calibrated ─ within bounds

A side is one text or several by one author; sides come as a pair, as many pairs, or as all pairs
of a corpus. A LEV of an ensemble is its members' LEVs in a row, and each member sees its own part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, BoolArray, FloatArray, Levs
from adhominem.errors import ModelError, OptionError
from adhominem.scoring.companions import FEWEST, MOST, Companions, member_weights
from adhominem.scoring.members import MemberScorer, OnPairs, Sides
from adhominem.scoring.population import Population, each_once, without_companions
from adhominem.scoring.scale import Scales, Scores
from adhominem.scoring.styles import Centre

_LARGEST = 1e30  # no LEV and no score comes near; much larger numbers end as infinite
_PAIRS_AT_ONCE = 256  # scored together: a LEV may have many thousand numbers


@dataclass(frozen=True)
class LogBayesFactors:
    """What the scorer says of some pairs, (pairs,) each, in nats."""

    raw: FloatArray  # fused, not calibrated
    unbounded: FloatArray  # calibrated, if the model is
    log_bayes_factor: FloatArray  # the same within the bounds: what is reported
    at_bound: BoolArray  # whether a bound, and not the score, decides what is reported
    calibrated: bool


@dataclass(frozen=True)
class Scorer:
    """The members of a model, and what their scores are worth.

    The context of a comparison is that of the member who leads.
    """

    members: tuple[MemberScorer, ...]
    scales: Scales
    lead: int = 0

    @property
    def lev_size(self) -> int:
        """The size of a LEV: that of all members together."""
        return sum(member.lev_size for member in self.members)

    def __call__(
        self, first: Sides, second: Sides, population: Population | None = None
    ) -> LogBayesFactors:
        """The log Bayes factors of pairs of LEVs, or of pairs of sets of LEVs."""
        return self._weighed(self.scores(first, second, population), population)

    def all_pairs(
        self,
        levs: Levs,
        population: Population | None = None,
        *,
        on_pairs: OnPairs = lambda count: None,
    ) -> LogBayesFactors:
        """Of each two of the LEVs (documents, lev_size), in the order of `np.triu_indices`.

        Companions in the population are not drawn on. `on_pairs` hears of each pair once for each
        member.
        """
        population = without_companions(population)
        said = [
            member.all_pairs(part, centre, on_pairs)
            for member, part, centre in zip(
                self.members, self.columns(levs), self.centres(population), strict=True
            )
        ]
        scores = Scores(np.array([factors for factors, _ in said]), said[self.lead][1])
        return self._weighed(scores, population)

    def scores(self, first: Sides, second: Sides, population: Population | None = None) -> Scores:
        """What each member says by itself, and the context of each pair."""
        if len(first) != len(second):
            raise OptionError(f"{len(first)} first sides, {len(second)} second ones")
        parts = [
            self._scores(
                first[at : at + _PAIRS_AT_ONCE], second[at : at + _PAIRS_AT_ONCE], population
            )
            for at in range(0, len(first), _PAIRS_AT_ONCE)
        ]
        return Scores.joined([self._no_scores(0), *parts])

    def without(self, genre: str, nearest: int = 0) -> Scorer:
        """This scorer as if a genre, and so many of those most like it, were unknown."""
        return replace(
            self, members=tuple(member.without(genre, nearest) for member in self.members)
        )

    def with_companions(self, population: Population, levs: Levs) -> Population:
        """A population, and what its texts (documents, lev_size) tell of each other, if they can.

        Very few texts have no companions, nor have more than can be looked through.
        """
        if not FEWEST <= population.texts <= MOST:
            return population
        texts = each_once(levs)
        styles: list[Levs] = []
        for at in range(0, len(texts), _PAIRS_AT_ONCE):  # in double precision they take memory
            parts = self._styles(texts[at : at + _PAIRS_AT_ONCE], population)
            styles = styles or [np.empty((len(texts), part.shape[1]), np.float32) for part in parts]
            for table, part in zip(styles, parts, strict=True):
                table[at : at + len(part)] = part
        return replace(population, companions=Companions(styles))

    def centres(self, population: Population | None) -> list[Centre | None]:
        """Each member's part of a population's mean."""
        if population is None:
            return [None] * len(self.members)
        if len(population.lev_mean) != self.lev_size:
            raise OptionError("the population was encoded by another model")
        return [(mean[0], population.texts) for mean in self.columns(population.lev_mean[None])]

    def columns(self, levs: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """For each member its columns of LEVs (documents, lev_size)."""
        if levs.ndim != 2 or levs.shape[1] != self.lev_size:
            raise OptionError(f"LEVs of shape {levs.shape}; expected (pairs, {self.lev_size})")
        ends = np.cumsum([member.lev_size for member in self.members])[:-1]
        return np.split(levs, ends, axis=1)

    def lead_columns(self, levs: npt.NDArray[Any]) -> FloatArray:
        """(documents, size): the leading member's columns of LEVs (documents, lev_size)."""
        return self.columns(levs)[self.lead].astype(np.float64)

    def _weighed(self, scores: Scores, population: Population | None) -> LogBayesFactors:
        """Fused, calibrated, within bounds."""
        scale = self.scales.of(population)
        raw = scale.fusion(scores)
        if scale.calibration is None:
            return LogBayesFactors(raw, raw, raw, np.zeros(len(raw), dtype=bool), False)
        unbounded = scale.calibration.unbounded(raw)
        at_bound = scale.calibration.at_bound(raw)
        return LogBayesFactors(raw, unbounded, scale.calibration(raw), at_bound, True)

    def _scores(self, first: Sides, second: Sides, population: Population | None) -> Scores:
        """Those of some pairs at once."""
        centres = self.centres(population)
        if population is not None and population.companions is not None:
            compared = self._compare_with_companions(first, second, population)
            return replace(self._no_scores(len(first)), members=compared)
        sides = self._sides(first, second)
        said = [
            member.scores(*levs_of_member, centre)
            for member, levs_of_member, centre in zip(self.members, sides, centres, strict=True)
        ]
        scores = Scores(
            np.array(said), self.members[self.lead].context(*sides[self.lead], centres[self.lead])
        )
        for values in (scores.members, scores.context):
            if values.size and not -_LARGEST < values.min() <= values.max() < _LARGEST:
                raise out_of_range("the model gives scores")
        return scores

    def _no_scores(self, pairs: int) -> Scores:
        """Of no member, and of no context: zeros."""
        context = self.members[self.lead].context([], [], None)
        return Scores(np.zeros((len(self.members), pairs)), np.zeros((len(context), pairs)))

    def _sides(self, first: Sides, second: Sides) -> list[tuple[Sides, Sides]]:
        """For each member its part of both; as tables, if each side of each pair has one text."""
        tables = [_table(side) for side in (first, second)]
        if tables[0] is not None and tables[1] is not None:
            return list(zip(self.columns(tables[0]), self.columns(tables[1]), strict=True))
        parts = [[self.columns(np.atleast_2d(levs)) for levs in side] for side in (first, second)]
        return [
            ([part[at] for part in parts[0]], [part[at] for part in parts[1]])
            for at in range(len(self.members))
        ]

    def _styles(self, levs: AnyFloats, population: Population) -> list[FloatArray]:
        """For each member: how texts with these LEVs (documents, lev_size) depart from others."""
        if not np.isfinite(levs).all():
            raise OptionError("a LEV is not finite")
        return [
            member.style(part.astype(np.float64), centre)
            for member, part, centre in zip(
                self.members, self.columns(levs), self.centres(population), strict=True
            )
            if centre is not None
        ]

    def _compare_with_companions(
        self, first: Sides, second: Sides, population: Population
    ) -> FloatArray:
        """(members, pairs): what each member says of sides that draw on their companions."""
        companions = population.companions
        assert companions is not None
        sides = [np.atleast_2d(side) for pair in zip(first, second, strict=True) for side in pair]
        sizes = [len(side) for side in sides]
        if min(sizes) == 0:
            raise OptionError("a side without documents; expected at least one")
        styles = self._styles(np.concatenate(sides), population)
        usual = self.scales.usual_separation or companions.separation
        weight = member_weights(companions.separation, usual)  # (members,)
        return companions.compare(styles, np.repeat(np.arange(len(sides)), sizes)) * weight[:, None]


def out_of_range(given: str) -> ModelError:
    """The error of a model whose weights are numbers all, but lead out of their range."""
    return ModelError(
        f"{given} that are not numbers, or out of all bounds: it is damaged; fetch or train it "
        "again"
    )


def _table(sides: Sides) -> AnyFloats | None:
    """(pairs, lev_size), if each side has one text."""
    if isinstance(sides, np.ndarray) and sides.ndim == 2:
        return sides
    if not all(len(np.atleast_2d(levs)) == 1 for levs in sides) or not len(sides):
        return None
    return np.concatenate([np.atleast_2d(levs) for levs in sides])
