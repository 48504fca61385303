"""The one path from LEVs to a log Bayes factor: members, their sum, calibration, bounds.

    LEVs of two sides ─ each member's evidence ─ added up and weighed ─ within bounds

A side is one text or several by one author; sides come as a pair, as many pairs, or as all pairs
of a corpus. A LEV here is those of the members in a row, of which each sees its own, and last the
logarithm of the number of tokens: what a text adds to its LEV depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyLevs, FloatArray, IntArray, Levs, Rows, SparseRows
from adhominem.errors import ModelError, OptionError
from adhominem.score.calibration import Calibration, Conditions, Scores, Weights
from adhominem.score.contributions import Contribution
from adhominem.score.decision import ensemble_log_bayes_factor
from adhominem.score.factors import LogBayesFactors
from adhominem.score.members import GenreMember, LayerMember, MemberScorer, PopulationPart
from adhominem.score.members import Sides as MemberSides
from adhominem.score.population import Population
from adhominem.score.products import Table
from adhominem.score.sides import (
    Sides,
    log_tokens_of,
    pairs_of,
    set_of,
    some_of,
    table_of,
    texts_and_lengths,
)
from adhominem.score.three_level import Evidence

OnPairs = Callable[[int], None]

_LARGEST = 1e30  # no LEV and no score comes near; much larger numbers end as infinite
_PAIRS_AT_ONCE = 256  # scored together: a plain LEV may have many thousand numbers
_MORE_AT_ONCE = 4_096  # the same of LEVs of which zeros are not kept
_OTHER_AUTHOR = float(
    np.log(20)
)  # log odds, prior, that two texts of a population have two authors
_TABLE_AT_ONCE = 8_192  # pairs of a table of products


@dataclass(frozen=True)
class Scorer:
    """The members of a model, and what their evidence is worth."""

    members: tuple[MemberScorer, ...]
    calibration: Calibration | None = None
    lead: int = 0  # the member by whose LEVs genres are told
    name: str = ""  # of the model, for errors

    @classmethod
    def of(
        cls,
        members: Sequence[MemberScorer],
        calibration: Calibration | None,
        lead: int = 0,
        name: str = "",
    ) -> Scorer:
        """Members with the parameters that a calibration has for them."""
        if calibration is not None:
            calibration.check(name, len(members))
            fitted = zip(members, calibration.members, calibration.layer_weights, strict=True)
            members = [_with_parameters(*one) for one in fitted]
        return cls(tuple(members), calibration, lead, name)

    @property
    def lev_size(self) -> int:
        """The size of a LEV: that of all members together, and the logarithm of its tokens."""
        return sum(member.lev_size for member in self.members) + 1

    @property
    def weights(self) -> Weights:
        """Those of the calibration."""
        return Weights() if self.calibration is None else self.calibration.weights

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
        `even_if_strange`: see `among`.
        """
        scores = self.scores(first, second, population)

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

        With `even_if_strange`, a population that seems to be of another genre is used, and the
        answer says so: where pairs are ranked, all must be seen against the same one.
        """
        return self._with_population(
            self.scores_among(tables, log_tokens, first, second, population),
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

        `on_pairs` hears of each pair once.
        """
        parts = []
        first, second = np.triu_indices(len(levs), 1)
        for at in range(0, len(first), _TABLE_AT_ONCE):
            one, other = first[at : at + _TABLE_AT_ONCE], second[at : at + _TABLE_AT_ONCE]
            parts.append(self(levs[one], levs[other], population))
            on_pairs(len(one))
        return LogBayesFactors.joined(parts) if parts else self([], [], population)

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
        return _joined(parts) if parts else self._nothing()

    def contributions(
        self, first: AnyLevs, second: AnyLevs, population: Population | None = None
    ) -> list[Contribution]:
        """Each member's share of the log Bayes factor of one pair of sides (texts, lev_size).

        They add up to it, as it is without bounds.
        """
        scores = self.scores([first], [second], population)
        log_tokens = _log_tokens([first], [second])
        slope = 1.0 if self.calibration is None else float(self.weights.slope(scores)[0])
        parts = [
            member.contribution(one, other, log_tokens, part, slope)
            for member, one, other, part in zip(
                self.members,
                self.columns(first),
                self.columns(second),
                self.parts(population),
                strict=True,
            )
        ]
        # What is no product of both sides is shared out as the members' own constants are.
        products = np.array([part.product for part in parts])
        constants = np.abs([float(one[0]) for one in scores.members] - products / slope) + 1e-9
        left = float(self.unbounded(scores)[0]) - products.sum()
        values = products + left * constants / constants.sum()
        return [part.of_value(float(value)) for part, value in zip(parts, values, strict=True)]

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
        )
        evidence = [
            member.evidence_among(table, log_tokens, first, second, population)
            for member, table in zip(self.members, tables, strict=True)
        ]
        return _scores_of(evidence, conditions, self.lead)

    def without(self, genre: str) -> Scorer:
        """This scorer as if a genre were unknown."""
        return replace(self, members=tuple(member.without(genre) for member in self.members))

    def parts(self, population: Population | None) -> list[PopulationPart | None]:
        """Each member's part of a population; made once, and kept with it."""
        if population is None:
            return [None] * len(self.members)
        if len(population.lev_mean) != self.lev_size:
            raise OptionError(
                "the population was encoded by another model; encode it with this one"
            )
        sizes = tuple(member.lev_size for member in self.members)
        if sizes not in population.memory:
            log_tokens = log_tokens_of(population.cohort)
            columns = zip(
                self.split(population.lev_mean), self.columns(population.cohort), strict=True
            )
            population.memory[sizes] = [
                PopulationPart(population.texts, population.authors, mean, levs, log_tokens)
                for mean, levs in columns
            ]
        return list(population.memory[sizes])

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

    def genre_shares(self, levs: AnyLevs) -> dict[str, float]:
        """Of which known genre texts (texts, lev_size) are, if of one: the likeliest first.

        What is missing to 1 is the probability of a genre that is not known.
        """
        member = self.members[self.lead]
        if not isinstance(member, GenreMember):
            return {}
        shares = member.genre_shares(self.columns(levs)[self.lead], log_tokens_of(levs))[:-1]
        order = np.argsort(-shares, kind="stable")
        return {member.genres.names[at]: round(float(shares[at]), 3) for at in order}

    def seeming_authors(self, levs: AnyLevs) -> float:
        """By how many people texts (texts, lev_size) seem to be.

        Each counts as one over how many texts, itself among them, seem to be by its author.
        """
        if len(levs) < 2 or self.calibration is None:
            return float(len(levs))
        factors = square(self.all_pairs(levs).log_bayes_factor)  # (texts, texts)
        np.fill_diagonal(factors, -np.inf)
        same = 1 / (1 + np.exp(_OTHER_AUTHOR - np.clip(factors, -50, 50)))
        return float((1 / (1 + same.sum(axis=1))).sum())

    def conditions(
        self, first: Sides, second: Sides, population: Population | None = None
    ) -> Conditions:
        """Those of pairs of sides."""
        sides = [texts_and_lengths(side) for side in (first, second)]
        texts, log_tokens = (np.stack(of_sides) for of_sides in zip(*sides, strict=True))
        if texts.min(initial=1) == 0:
            raise OptionError("a side without documents; expected at least one")
        return Conditions.of(texts, log_tokens, 0 if population is None else population.texts)

    def unbounded(self, scores: Scores) -> FloatArray:
        """(pairs,): the log Bayes factors without bounds.

        Before a model is calibrated, they are those of the mean of its members' probabilities, the
        paper's ensemble.
        """
        if self.calibration is None:
            return ensemble_log_bayes_factor(scores.members)
        return self.weights(scores)

    def _with_population(
        self, scores: Scores, alone: Callable[[IntArray], Scores], even_if_strange: bool
    ) -> LogBayesFactors:
        """Within bounds; by their scores `alone` where the population is of another genre.

        With `even_if_strange`, by the population as well, and the answer says which they are.
        """
        factors, strange = self.weighed(scores), scores.fit < 0
        if even_if_strange:
            return replace(factors, strange=strange)
        if not strange.any():
            return factors
        return factors.replaced(strange, self.weighed(alone(np.flatnonzero(strange))))

    def weighed(self, scores: Scores) -> LogBayesFactors:
        """The log Bayes factors of scores, within bounds, whatever the population is like."""
        unbounded = self.unbounded(scores)
        strange = np.zeros(len(unbounded), dtype=bool)
        if self.calibration is None:
            nowhere = np.full(len(unbounded), np.inf)
            return LogBayesFactors(unbounded, unbounded, -nowhere, nowhere, strange, strange, False)
        lower, upper = self.calibration.limits(scores.conditions)
        log_odds, two_genres = self.weights.one_genre(scores), strange
        bounded = unbounded
        if log_odds is not None:
            two_genres = log_odds < 0
            bounded = np.where(two_genres, 0.0, if_one_genre(unbounded, log_odds))
        bounded = np.clip(bounded, lower, upper)
        return LogBayesFactors(unbounded, bounded, lower, upper, strange, two_genres, True)

    def _scores(self, first: Sides, second: Sides, population: Population | None) -> Scores:
        """Those of some pairs at once."""
        conditions = self.conditions(first, second, population)
        log_tokens = _log_tokens(first, second)
        evidence = [
            member.evidence(*sides, log_tokens, part)
            for member, sides, part in zip(
                self.members, self._sides(first, second), self.parts(population), strict=True
            )
        ]
        for one in evidence:
            values = one.log_bayes_factor
            if values.size and not -_LARGEST < values.min() <= values.max() < _LARGEST:
                raise out_of_range(" ".join(["the model", *self.name.split(), "gives scores"]))
        return _scores_of(evidence, conditions, self.lead)

    def _nothing(self) -> Scores:
        """Of no pairs."""
        conditions = Conditions.of(np.zeros((2, 0)), np.zeros((2, 0)), 0)
        return Scores((np.zeros(0),) * len(self.members), None, None, np.zeros(0), conditions)

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


def if_one_genre(log_bayes_factor: FloatArray, log_odds: FloatArray) -> FloatArray:
    """(pairs,): of texts that are of one genre with such odds; of two, they say nothing.

    1 + p (BF - 1), where p is the probability of one genre if two people wrote them.
    """
    return np.asarray(
        np.logaddexp(log_bayes_factor - np.logaddexp(0, -log_odds), -np.logaddexp(0, log_odds))
    )


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


def _with_parameters(
    member: MemberScorer, levels: Any, layer_weight: float
) -> GenreMember | LayerMember:
    if isinstance(member, GenreMember) and levels is not None:
        return replace(member, levels=levels)
    if isinstance(member, LayerMember) and levels is None:
        return replace(member, weight=layer_weight)
    raise ModelError(
        "the calibration has parameters for other members than the model; calibrate it again"
    )


def _scores_of(evidence: Sequence[Evidence], conditions: Conditions, lead: int) -> Scores:
    """The members' evidence together."""
    against = None
    if all(one.against is not None for one in evidence):
        first, second = (
            np.sum([one.against[side] for one in evidence if one.against is not None], axis=0)
            for side in (0, 1)
        )
        against = first, second
    fits = [one.fit for one in evidence if one.fit is not None]
    return Scores(
        tuple(one.log_bayes_factor for one in evidence),
        against,
        next((one.kept for one in evidence if one.kept is not None), None),
        np.asarray(np.sum(fits, axis=0)) if fits else np.zeros(len(conditions)),
        conditions,
        evidence[lead].one_genre,
    )


def _joined(parts: Sequence[Scores]) -> Scores:
    """The scores of several sets of pairs in a row, all with one population or none."""
    if len(parts) == 1:
        return parts[0]
    against = None
    if parts[0].against is not None:
        first, second = (
            np.concatenate([part.against[side] for part in parts if part.against is not None])
            for side in (0, 1)
        )
        against = first, second
    kept = [part.kept for part in parts if part.kept is not None]
    one_genre = [part.one_genre for part in parts if part.one_genre is not None]
    return Scores(
        tuple(np.concatenate(one) for one in zip(*(part.members for part in parts), strict=True)),
        against,
        np.concatenate(kept) if kept else None,
        np.concatenate([part.fit for part in parts]),
        Conditions.joined([part.conditions for part in parts]),
        np.concatenate(one_genre) if one_genre else None,
    )


def _log_tokens(first: Sides, second: Sides) -> FloatArray:
    """(pairs, texts): of the texts of both sides, the first side's first; zeros where none is."""
    tables = [table_of(side) for side in (first, second)]
    if tables[0] is not None and tables[1] is not None:
        return np.stack([log_tokens_of(table) for table in tables if table is not None], axis=1)
    rows = [
        np.concatenate([log_tokens_of(set_of(side)) for side in pair])
        for pair in pairs_of(first, second)
    ]
    lengths = np.zeros((len(rows), max(map(len, rows), default=0)))
    for row, values in zip(lengths, rows, strict=True):
        row[: len(values)] = values
    return lengths


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
