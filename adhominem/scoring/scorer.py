"""The one path from LEVs to a log Bayes factor: members, fusion, calibration, bounds.

    LEVs of two sides ─ each member's measures ─ fused under the conditions ─ within bounds

A side is one text or several by one author; sides come as a pair, as many pairs, or as all pairs
of a corpus. A LEV here is those of the members in a row, of which each sees its own, and last the
logarithm of the number of tokens: how much a likeness says depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import (
    AnyLevs,
    BoolArray,
    FloatArray,
    IntArray,
    Levs,
    Rows,
    SparseRows,
    is_finite,
    joined,
)
from adhominem.errors import ModelError, OptionError
from adhominem.scoring.companions import FEWEST, MOST, Companions, member_weights
from adhominem.scoring.departures import Departures
from adhominem.scoring.factors import LogBayesFactors
from adhominem.scoring.likeness import Likeness
from adhominem.scoring.measures import Measures, tempered
from adhominem.scoring.members import MemberScorer, OnPairs, PopulationPart
from adhominem.scoring.members import Sides as MemberSides
from adhominem.scoring.population import Population, each_once, keys_of, without_companions
from adhominem.scoring.products import Table
from adhominem.scoring.scale import Conditions, Scale, Scales, Scores
from adhominem.scoring.sides import (
    Sides,
    log_tokens_of,
    pairs_of,
    set_of,
    some_of,
    table_of,
    texts_and_lengths,
)

_LARGEST = 1e30  # no LEV and no score comes near; much larger numbers end as infinite
_PAIRS_AT_ONCE = 256  # scored together: a plain LEV may have many thousand numbers
_MORE_AT_ONCE = 4_096  # the same of LEVs of which zeros are not kept


@dataclass(frozen=True)
class Scorer:
    """The members of a model, and what their measures are worth."""

    members: tuple[MemberScorer, ...]
    scales: Scales
    lead: int = 0  # the member whose genres and typicality are told
    name: str = ""  # of the model, for errors

    @property
    def lev_size(self) -> int:
        """The size of a LEV: that of all members together, and the logarithm of its tokens."""
        return sum(member.lev_size for member in self.members) + 1

    def __call__(
        self,
        first: Sides,
        second: Sides,
        population: Population | None = None,
        *,
        even_if_strange: bool = False,
    ) -> LogBayesFactors:
        """The log Bayes factors of pairs of LEVs, or of pairs of sets of LEVs.

        A population that seems to be of another genre than a pair is not used for it, unless
        `even_if_strange`: see `among`. Only texts that are in it themselves draw on companions.
        """
        if population is not None and population.companions is not None:
            return self._with_companions(first, second, population, even_if_strange)
        scores = self.scores(first, second, population)
        if population is None:
            return self._weighed(scores, self.scales.alone)

        def alone(chosen: IntArray) -> Scores:
            return self.scores(some_of(first, chosen), some_of(second, chosen))

        return self._with_population(scores, alone, even_if_strange)

    def among(
        self,
        tables: Sequence[Table],
        log_tokens: FloatArray,
        first: IntArray,
        second: IntArray,
        population: IntArray | None = None,
        *,
        even_if_strange: bool = False,
    ) -> LogBayesFactors:
        """The log Bayes factors of pairs among texts whose products are known: `scores_among`.

        With `even_if_strange`, a population that seems to be of another genre is used, and told
        of: where pairs are ranked, all must be seen against the same one.
        """
        scores = self.scores_among(tables, log_tokens, first, second, population)
        if population is None:
            return self._weighed(scores, self.scales.alone)
        return self._with_population(
            scores,
            lambda chosen: self.scores_among(tables, log_tokens, first[chosen], second[chosen]),
            even_if_strange,
        )

    def all_pairs(
        self,
        levs: AnyLevs,
        population: Population | None = None,
        *,
        on_pairs: OnPairs = lambda count: None,
    ) -> LogBayesFactors:
        """Of each two of the LEVs (documents, lev_size), in the order of `np.triu_indices`.

        They are those of `__call__`, but that companions in the population are not drawn on.
        `on_pairs` hears of each pair once for each member.
        """
        population = without_companions(population)
        log_tokens = log_tokens_of(levs)
        measures = tuple(
            member.all_pairs(columns, part, on_pairs)
            for member, columns, part in zip(
                self.members, self.columns(levs), self.parts(population), strict=True
            )
        )
        first, second = np.triu_indices(len(levs), 1)
        conditions = Conditions.of(
            np.ones((2, len(first))),
            np.stack([log_tokens[first], log_tokens[second]]),
            *_size(population),
        )
        scores = Scores(measures, conditions)
        if population is None:
            return self._weighed(scores, self.scales.alone)

        def alone(chosen: IntArray) -> Scores:
            return self.scores(levs[first[chosen]], levs[second[chosen]])

        return self._with_population(scores, alone)

    def scores(self, first: Sides, second: Sides, population: Population | None = None) -> Scores:
        """What each member says by itself, and the conditions of each pair."""
        if len(first) != len(second):
            raise OptionError(
                f"{len(first)} first sides, {len(second)} second ones; expected as many"
            )
        parts = [
            self._scores(first[slice(*part)], second[slice(*part)], population)
            for part in _in_parts(first, second)
        ]
        return Scores.joined(parts) if parts else self._nothing()

    def likenesses(
        self, first: AnyLevs, second: AnyLevs, population: Population | None = None
    ) -> list[tuple[Likeness, float]]:
        """Each member's likeness of one pair of sides (texts, lev_size), and what it is worth.

        That is how many nats a unit of it adds to the log Bayes factor, if nothing else changes and
        there are no bounds. A calibration of steps is taken as a line.
        """
        scale, scores = self.scales.of(population), self.scores([first], [second], population)
        slope = 1.0 if scale.calibration is None else scale.calibration.slope
        sides = zip(self.columns(first), self.columns(second), strict=True)
        result = []
        for number, (member, levs, part) in enumerate(
            zip(self.members, sides, self.parts(population), strict=True)
        ):
            likeness = member.likeness(*levs, part)
            by = -likeness.step if likeness.excess > 0 else likeness.step  # a cosine ends at 1
            moved, here = (
                scale.fusion(scores.with_member(number, likeness.moved(change)))[0]
                for change in (by, 0.0)
            )
            result.append((likeness, float(slope * (moved - here) / by)))
        return result

    def tables(self, levs: AnyLevs, like: Sequence[Table] | None = None) -> list[Table]:
        """Each member's products of LEVs (documents, lev_size), for `scores_among`.

        `like` are those of another scorer, of which a part can be taken over.
        """
        others = [None] * len(self.members) if like is None else like
        return [
            member.table(columns, other)
            for member, columns, other in zip(self.members, self.columns(levs), others, strict=True)
        ]

    def scores_among(
        self,
        tables: Sequence[Table],
        log_tokens: FloatArray,
        first: IntArray,
        second: IntArray,
        population: IntArray | None = None,
    ) -> Scores:
        """As `scores`, of pairs among texts whose products are known.

        Sides (pairs, texts) and population (texts,) are given by the numbers of their texts, of
        which `log_tokens` (texts,) are the lengths. All pairs have as many texts.
        """
        conditions = Conditions.of(
            np.repeat([[float(first.shape[1])], [float(second.shape[1])]], len(first), axis=1),
            np.stack([log_tokens[side].mean(axis=1) for side in (first, second)]),
            0 if population is None else len(population),
            0.0 if population is None else float(log_tokens[population].mean()),
        )
        members = tuple(
            member.measures_among(table, first, second, population)
            for member, table in zip(self.members, tables, strict=True)
        )
        return Scores(members, conditions)

    def without(self, genre: str) -> Scorer:
        """This scorer as if a genre were unknown."""
        return replace(self, members=tuple(member.without(genre) for member in self.members))

    def with_companions(self, population: Population, levs: AnyLevs) -> Population:
        """A population, and what its texts (documents, lev_size) tell of each other, if they can.

        Very few texts have no companions, nor have more than can be looked through, nor, as a
        rule, texts of which no author has more than two.
        """
        if not FEWEST <= population.texts <= MOST:
            return population
        companions = Companions(self._departures(each_once(levs), population))
        if companions.company < self.scales.least_company:
            return population
        return replace(population, companions=companions, numbers=self.numbers(levs))

    def numbers(self, levs: AnyLevs) -> dict[bytes, int]:
        """The texts with these LEVs (documents, lev_size), each once, by their keys."""
        return {key: at for at, key in enumerate(self._keys(each_once(levs)))}

    def are_among(self, first: Sides, second: Sides, numbers: Mapping[bytes, int]) -> BoolArray:
        """(pairs,): whether all texts of a pair are among those of these `numbers`."""
        return np.array(
            [
                all(key in numbers for side in pair for key in self._keys(set_of(side)))
                for pair in pairs_of(first, second)
            ],
            dtype=bool,
        )

    def parts(self, population: Population | None) -> list[PopulationPart | None]:
        """Each member's part of a population; made once, and kept with it."""
        if population is None:
            return [None] * len(self.members)
        if len(population.lev_mean) != self.lev_size:
            raise OptionError(
                "the population was encoded by another model; encode it with this one"
            )
        sizes = tuple(member.lev_size for member in self.members)
        if sizes in population.memory:
            return list(population.memory[sizes])
        columns = zip(
            self.split(population.lev_mean),
            self.split(population.lev_mean_square),
            self.columns(population.cohort),
            strict=True,
        )
        parts: list[PopulationPart | None] = [
            PopulationPart(population.texts, mean, float(square.sum()), levs)
            for mean, square, levs in columns
        ]
        population.memory[sizes] = parts
        return list(parts)

    def columns(self, levs: AnyLevs) -> list[Rows]:
        """For each member its columns of LEVs (documents, lev_size), sparse if its LEVs are."""
        if levs.ndim != 2 or levs.shape[1] != self.lev_size:
            raise OptionError(f"LEVs of shape {levs.shape}; expected (pairs, {self.lev_size})")
        if isinstance(levs, Levs):
            sizes = [member.lev_size for member in self.members]
            if [part.shape[1] for part in levs.parts] == [*sizes, 1]:
                return list(levs.parts[:-1])
            if len(levs.parts) == 1 and isinstance(levs.parts[0], SparseRows):  # from a file
                owners = np.repeat(np.arange(len(sizes) + 1), [*sizes, 1])  # (lev_size,)
                parts = [levs.parts[0].columns(owners == at) for at in range(len(sizes))]
                return [
                    part if member.is_sparse else np.asarray(part)
                    for member, part in zip(self.members, parts, strict=True)
                ]
        return [
            SparseRows.of(columns) if member.is_sparse else columns
            for member, columns in zip(self.members, self.split(np.asarray(levs)), strict=True)
        ]

    def split(self, levs: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """For each member its columns (..., size) of plain LEVs (..., lev_size)."""
        ends = np.cumsum([member.lev_size for member in self.members])
        return np.split(levs, ends, axis=-1)[:-1]

    def dense_columns(self, levs: AnyLevs) -> FloatArray:
        """(documents, size): the columns of all members whose LEVs are not sparse."""
        parts = zip(self.members, self.columns(levs), strict=True)
        dense = [np.asarray(part, np.float64) for member, part in parts if not member.is_sparse]
        return np.concatenate([np.zeros((len(levs), 0)), *dense], axis=1)

    def lead_columns(self, levs: AnyLevs) -> FloatArray:
        """(documents, size): the leading member's columns of LEVs (documents, lev_size)."""
        return self.columns(levs)[self.lead].astype(np.float64)

    def conditions(
        self, first: Sides, second: Sides, population: Population | None = None
    ) -> Conditions:
        """Those of pairs of sides."""
        sides = [texts_and_lengths(side) for side in (first, second)]
        texts, log_tokens = (np.stack(told) for told in zip(*sides, strict=True))
        if texts.min(initial=1) == 0:
            raise OptionError("a side without documents; expected at least one")
        return Conditions.of(texts, log_tokens, *_size(population))

    def _with_companions(
        self, first: Sides, second: Sides, population: Population, even_if_strange: bool
    ) -> LogBayesFactors:
        """Pairs of texts of the population by their companions, others by the population alone."""
        inside = self.are_among(first, second, population.numbers)
        scale = self.scales.of(population)
        if inside.all():
            return self._weighed(self.scores(first, second, population), scale)
        strangers, own = np.flatnonzero(~inside), np.flatnonzero(inside)
        parts = [
            self(
                some_of(first, strangers),
                some_of(second, strangers),
                without_companions(population),
                even_if_strange=even_if_strange,
            )
        ]
        if len(own):
            scores = self.scores(some_of(first, own), some_of(second, own), population)
            parts.append(self._weighed(scores, scale))
        return LogBayesFactors.joined(parts)[np.argsort(np.concatenate([strangers, own]))]

    def _with_population(
        self,
        scores: Scores,
        alone: Callable[[IntArray], Scores],
        even_if_strange: bool = False,
    ) -> LogBayesFactors:
        """With a population; pairs of which it is of another genre by their scores `alone`.

        With `even_if_strange`, by the population as well, and it is told which they are.
        """
        factors = self._weighed(scores, self.scales.with_population)
        strange = self.scales.strange(scores)
        if even_if_strange:
            return replace(factors, strange=strange)
        if not strange.any():
            return factors
        without = self._weighed(alone(np.flatnonzero(strange)), self.scales.alone)
        return factors.replaced(strange, without)

    def _weighed(self, scores: Scores, scale: Scale) -> LogBayesFactors:
        """Fused, calibrated, within bounds."""
        raw = scale.fusion(scores)
        strange = np.zeros(len(raw), dtype=bool)
        if scale.calibration is None:
            nowhere = np.full(len(raw), np.inf)
            return LogBayesFactors(raw, raw, raw, -nowhere, nowhere, strange, False)
        unbounded = scale.calibration.unbounded(raw)
        lower, upper = scale.calibration.limits(scores.conditions)
        bounded = np.clip(unbounded, lower, upper)
        return LogBayesFactors(raw, unbounded, bounded, lower, upper, strange, True)

    def _scores(self, first: Sides, second: Sides, population: Population | None) -> Scores:
        """Those of some pairs at once."""
        conditions = self.conditions(first, second, population)
        measures = [
            member.measures(*sides, part)
            for member, sides, part in zip(
                self.members, self._sides(first, second), self.parts(population), strict=True
            )
        ]
        if population is not None and population.companions is not None:
            compared = self._compare_with_companions(first, second, population)
            measures = [
                replace(member, log_bayes_factor=row, standing=row)
                for member, row in zip(measures, compared, strict=True)
            ]
        for member in measures:
            values = np.array([member.log_bayes_factor, member.standing])
            if values.size and not -_LARGEST < values.min() <= values.max() < _LARGEST:
                raise out_of_range(" ".join(["the model", *self.name.split(), "gives scores"]))
        return Scores(tuple(measures), conditions)

    def _nothing(self) -> Scores:
        """Of no pairs."""
        nothing = Measures.of_factors(np.zeros(0))
        conditions = Conditions.of(np.zeros((2, 0)), np.zeros((2, 0)), 0, 0.0)
        return Scores((nothing,) * len(self.members), conditions)

    def _sides(self, first: Sides, second: Sides) -> list[tuple[MemberSides, MemberSides]]:
        """For each member its part of both; as tables, if each side of each pair has one text."""
        tables = [table_of(side) for side in (first, second)]
        if tables[0] is not None and tables[1] is not None:
            columns = [self.columns(table) for table in tables if table is not None]
            return [(one, other) for one, other in zip(*columns, strict=True)]
        parts = [[self.columns(set_of(levs)) for levs in side] for side in (first, second)]
        return [
            ([part[at] for part in parts[0]], [part[at] for part in parts[1]])
            for at in range(len(self.members))
        ]

    def _keys(self, levs: AnyLevs) -> list[bytes]:
        """To recognise each LEV by, plain or not."""
        return keys_of(Levs((*self.columns(levs), np.asarray(levs[:, -1:]))))

    def _departures(self, levs: AnyLevs, population: Population) -> list[Departures]:
        """For each member: how texts with these LEVs (documents, lev_size) depart from others."""
        columns = self.columns(levs)
        if not all(is_finite(part) for part in columns):
            raise OptionError("a LEV is not finite; expected numbers: encode its text again")
        parts = [part for part in self.parts(population) if part is not None]
        return [
            member.departures(rows, part)
            for member, rows, part in zip(self.members, columns, parts, strict=True)
        ]

    def _compare_with_companions(
        self, first: Sides, second: Sides, population: Population
    ) -> FloatArray:
        """(members, pairs): what each member says of sides that draw on their companions."""
        companions = population.companions
        assert companions is not None
        sides = [set_of(side) for pair in pairs_of(first, second) for side in pair]
        texts = joined(sides)
        styles = self._departures(texts, population)
        usual = self.scales.usual_separation or companions.separation
        weight = member_weights(companions.separation, usual)  # (members,)
        owners = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
        numbers = np.array([population.numbers.get(key, -1) for key in self._keys(texts)])
        return tempered(companions.compare(styles, owners, numbers)) * weight[:, None]


def square(pairs: FloatArray) -> FloatArray:
    """(documents, documents): of `all_pairs` (pairs,); NaN for a text and itself."""
    documents = round((1 + np.sqrt(1 + 8 * len(pairs))) / 2)
    table = np.full((documents, documents), np.nan)
    first, second = np.triu_indices(documents, 1)
    table[first, second] = table[second, first] = pairs
    return table


def out_of_range(given: str) -> ModelError:
    """The error of a model whose weights are numbers all, but lead out of their range."""
    return ModelError(
        f"{given} that are not numbers, or out of all bounds: it is damaged; fetch or train it "
        "again"
    )


def _size(population: Population | None) -> tuple[int, float]:
    """The texts of a population and the mean of their log tokens; zeros without one."""
    return (0, 0.0) if population is None else (population.texts, float(population.lev_mean[-1]))


def _in_parts(first: Sides, second: Sides) -> Iterator[tuple[int, int]]:
    """Where pairs begin and end that are scored together: as many texts as memory has room for."""
    if isinstance(first, np.ndarray | Levs) and isinstance(second, np.ndarray | Levs):
        plain = isinstance(first, np.ndarray) or isinstance(second, np.ndarray)
        at_once = _PAIRS_AT_ONCE if plain else _MORE_AT_ONCE
        for at in range(0, len(first), at_once):
            yield at, at + at_once
        return
    begin, most = 0, 0
    for at, sides in enumerate(pairs_of(first, second)):
        texts = sum(len(set_of(levs)) for levs in sides)
        if begin < at and max(most, texts) * (at + 1 - begin) > 2 * _PAIRS_AT_ONCE:
            yield begin, at
            begin, most = at, 0
        most = max(most, texts)
    if begin < len(first):
        yield begin, len(first)
