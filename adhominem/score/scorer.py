"""The one path from LEVs to a log Bayes factor: members, their sum, calibration, bounds.

    LEVs of two sides ─ each member's evidence ─ added up and weighed ─ within bounds

A side is one text or several by one author; sides come as a pair, as many pairs, or as all pairs
of a corpus. A LEV here is the concatenation of the members' LEVs and, last, the logarithm of the
number of tokens, on which a text's variance depends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adhominem.arrays import AnyLevs, BoolArray, FloatArray, IntArray, Levs, Rows, in_columns
from adhominem.errors import ModelError, OptionError
from adhominem.paper.successor import STAGES
from adhominem.score.calibration import (
    OTHERS,
    Calibration,
    Conditions,
    LogBayesFactors,
    Scores,
    Weights,
)
from adhominem.score.contributions import Contribution
from adhominem.score.decision import ensemble_log_bayes_factor
from adhominem.score.genres import PairGeometry
from adhominem.score.members import (
    GenreMember,
    LayerMember,
    MemberScorer,
    SuccessorMember,
    blocks_of,
    evidence_of,
)
from adhominem.score.population import Population
from adhominem.score.products import MemberTexts, PopulationPart, Sides, numbered
from adhominem.score.three_level import Evidence, genre_posterior

OnPairs = Callable[[int], None]

_LARGEST = 1e30  # beyond any LEV and score; much larger numbers would overflow
_PAIRS_AT_ONCE = 256  # scored together: a plain LEV may have many thousands of numbers
_MORE_AT_ONCE = 4_096  # likewise, for sparse LEVs
_OF_ALL_AT_ONCE = 8_192  # pairs of a corpus


@dataclass(frozen=True)
class Scorer:
    """The members of a model with their calibration: from LEVs to log Bayes factors."""

    members: tuple[MemberScorer, ...]
    calibration: Calibration | None = None
    lead: int = 0  # the member whose LEVs show the genre
    name: str = ""  # the model's name, for errors

    @classmethod
    def of(
        cls,
        members: Sequence[MemberScorer],
        calibration: Calibration | None,
        lead: int = 0,
        name: str = "",
    ) -> Scorer:
        """A scorer of members with the parameters of a calibration."""
        if calibration is not None:
            calibration.check(name, len(members))
            fitted = zip(members, calibration.members, calibration.layer_weights, strict=True)
            members = [_with_parameters(*one) for one in fitted]
        return cls(tuple(members), calibration, lead, name)

    @property
    def lev_size(self) -> int:
        """The size of a LEV: that of all members, plus one for the logarithm of its tokens."""
        return sum(member.lev_size for member in self.members) + 1

    @property
    def weights(self) -> Weights:
        """The weights of the calibration, or the default ones."""
        return Weights() if self.calibration is None else self.calibration.weights

    def __call__(
        self,
        first: Sides,
        second: Sides,
        population: Population | None = None,
        *,
        despite_misfit: bool = False,
    ) -> LogBayesFactors:
        """The log Bayes factors of pairs of LEVs, or of pairs of sets of LEVs.

        A population that seems to be of another genre than a pair is not used for that pair. With
        `despite_misfit` it is used and the misfit reported: pairs that are ranked must all be
        compared with the same population.
        """
        parts = self.parts(population)
        chunks = self._chunks(first, second)
        factors = [self._factors(*chunk, parts, despite_misfit) for chunk in chunks]
        return LogBayesFactors.joined(factors) if factors else self.weighed(self._nothing())

    def among(
        self,
        texts: Sequence[MemberTexts],
        first: IntArray,
        second: IntArray,
        population: IntArray | None = None,
        *,
        despite_misfit: bool = False,
    ) -> LogBayesFactors:
        """The log Bayes factors of pairs among texts whose products are known: see `tables`.

        Sides (pairs, texts) and population (texts,) are given by the indices of their texts.
        """
        parts = _parts_among(texts, population)
        return self._factors(texts, first, second, parts, despite_misfit)

    def all_pairs(
        self,
        levs: AnyLevs,
        population: Population | None = None,
        *,
        on_pairs: OnPairs = lambda count: None,
    ) -> LogBayesFactors:
        """The log Bayes factors of all pairs of LEVs (documents, lev_size), as `np.triu_indices`.

        `on_pairs` is called with the number of pairs done.
        """
        parts = []
        first, second = np.triu_indices(len(levs), 1)
        for at in range(0, len(first), _OF_ALL_AT_ONCE):
            one, other = first[at : at + _OF_ALL_AT_ONCE], second[at : at + _OF_ALL_AT_ONCE]
            parts.append(self(levs[one], levs[other], population))
            on_pairs(len(one))
        return LogBayesFactors.joined(parts) if parts else self([], [], population)

    def scores(self, first: Sides, second: Sides, population: Population | None = None) -> Scores:
        """The evidence of each member on pairs, and the conditions of each pair."""
        if len(first) != len(second):
            raise OptionError(
                f"{len(first)} first sides, {len(second)} second ones; expected as many"
            )
        parts = self.parts(population)
        scores = [self._scores(*chunk, parts) for chunk in self._chunks(first, second)]
        return Scores.joined(scores) if scores else self._nothing()

    def stages(self, first: Sides, second: Sides) -> dict[str, FloatArray]:
        """The probabilities (pairs,) of each stage of the paper's successor, the members' means.

        Those of O2D2 are UAL's, and 0.5 where at least half of the members find a pair
        undecidable. Empty unless all members are such models; a population is not used.
        """
        members = [member for member in self.members if isinstance(member, SuccessorMember)]
        if len(members) < len(self.members) or not len(first):
            return {}
        parts = [
            [member.stages(one, *numbers) for member, one in zip(members, texts, strict=True)]
            for texts, *numbers in self._chunks(first, second)
        ]
        means = {
            name: np.concatenate([np.mean([one[name] for one in part], axis=0) for part in parts])
            for name in STAGES
        }
        return means | {"O2D2": np.where(means["O2D2"] >= 0.5, 0.5, means["UAL"])}

    def undecidable(self, first: Sides, second: Sides) -> BoolArray:
        """Which pairs (pairs,) of sides a model of the paper's successor leaves open."""
        return np.asarray(self.stages(first, second).get("O2D2", np.ones(len(first))) == 0.5)

    def _chunks(
        self, first: Sides, second: Sides
    ) -> Iterator[tuple[list[MemberTexts], IntArray, IntArray]]:
        """Chunks of pairs that are scored together: their texts, and each side's by index."""
        if len(first) != len(second):
            raise OptionError(
                f"{len(first)} first sides, {len(second)} second ones; expected as many"
            )
        for at in _in_parts(first, second):
            levs, one, other = numbered(first[at], second[at])
            yield self.texts(levs), one, other

    def _factors(
        self,
        texts: Sequence[MemberTexts],
        first: IntArray,
        second: IntArray,
        population: Sequence[PopulationPart | None],
        despite_misfit: bool,
    ) -> LogBayesFactors:
        """The log Bayes factors within bounds, without the population where it does not fit."""
        scores = self._scores(texts, first, second, population)
        factors, misfit = self.weighed(scores), scores.fit < 0
        if despite_misfit:
            return replace(factors, population_misfit=misfit)
        if not misfit.any():
            return factors
        nobody = _parts_among(texts, None)
        alone = self._scores(texts, first[misfit], second[misfit], nobody)
        return factors.replaced(misfit, self.weighed(alone))

    def _scores(
        self,
        texts: Sequence[MemberTexts],
        first: IntArray,
        second: IntArray,
        population: Sequence[PopulationPart | None],
    ) -> Scores:
        """The evidence of each member on pairs of sides (pairs, texts), given by index."""
        pairs = self._pairs(texts, first, second, population)
        count = 0 if population[0] is None else population[0].texts
        return self._scores_of(pairs, texts, first, second, count)

    def _pairs(
        self,
        texts: Sequence[MemberTexts],
        first: IntArray,
        second: IntArray,
        population: Sequence[PopulationPart | None],
    ) -> list[PairGeometry | Evidence]:
        """What each member takes of pairs of sides."""
        return [
            member.pairs(one, first, second, part)
            for member, one, part in zip(self.members, texts, population, strict=True)
        ]

    def _scores_of(
        self,
        pairs: Sequence[PairGeometry | Evidence],
        texts: Sequence[MemberTexts],
        first: IntArray,
        second: IntArray,
        population_texts: int,
    ) -> Scores:
        evidence = evidence_of(self.members, pairs, self.weights.unknown_log_odds)
        for one in evidence:
            values = one.log_bayes_factor
            if values.size and not -_LARGEST < values.min() <= values.max() < _LARGEST:
                raise out_of_range(" ".join(["the model", *self.name.split(), "gives scores"]))
        conditions = Conditions.of(texts[0].log_tokens, first, second, population_texts)
        return Scores.of(evidence, conditions, self.lead)

    def contributions(
        self, first: AnyLevs, second: AnyLevs, population: Population | None = None
    ) -> list[Contribution]:
        """Each member's contribution to the log Bayes factor of one pair, sides (texts, lev_size).

        The contributions add up to the log Bayes factor without bounds.
        """
        levs, *numbers = numbered([first], [second])
        texts, populations = self.texts(levs), self.parts(population)
        pairs = self._pairs(texts, numbers[0], numbers[1], populations)
        count = 0 if population is None else population.texts
        scores = self._scores_of(pairs, texts, numbers[0], numbers[1], count)
        slope = 1.0 if self.calibration is None else float(self.weights.slope(scores)[0])
        sides = numbers[0][0], numbers[1][0]
        blocks = blocks_of(self.members, pairs)
        shares = genre_posterior(blocks, self.weights.unknown_log_odds) if blocks else None
        parts: list[Contribution] = []
        for member, one, pair, part in zip(self.members, texts, pairs, populations, strict=True):
            if isinstance(member, LayerMember):
                parts.append(member.contribution(one, sides, part, slope))
            elif isinstance(pair, PairGeometry) and shares is not None:
                parts.append(member.contribution(one, pair, sides, part, shares, slope))
        # What is not a product of both sides is shared out like the members' constants.
        products = np.array([part.product for part in parts])
        constants = np.abs([float(one[0]) for one in scores.members] - products / slope) + 1e-9
        left = float(self.unbounded(scores)[0]) - products.sum()
        values = products + left * constants / constants.sum()
        return [part.with_value(float(value)) for part, value in zip(parts, values, strict=True)]

    def texts(self, levs: AnyLevs) -> list[MemberTexts]:
        """LEVs (texts, lev_size), split into the columns of each member."""
        members = [(member.lev_size, member.is_sparse) for member in self.members]
        columns, log_tokens = in_columns(levs, members)
        return [MemberTexts(rows, log_tokens) for rows in columns]

    def tables(self, levs: AnyLevs, like: Sequence[MemberTexts] | None = None) -> list[MemberTexts]:
        """LEVs as `texts` returns them, with all products, for `among`.

        Products that do not depend on the scorer are taken from another scorer's, `like`.
        """
        others = [None] * len(self.members) if like is None else like
        rows = zip(self.members, self.texts(levs), others, strict=True)
        return [member.with_products(texts, other) for member, texts, other in rows]

    def without(self, genre: str) -> Scorer:
        """A copy of the scorer that does not know one genre."""
        return replace(self, members=tuple(member.without(genre) for member in self.members))

    def parts(self, population: Population | None) -> list[PopulationPart | None]:
        """Each member's part of a population, computed once and kept with the population."""
        if population is None:
            return [None] * len(self.members)
        if len(population.lev_mean) != self.lev_size:
            raise OptionError(
                "the population was encoded by another model; encode it with this one"
            )
        sizes = tuple(member.lev_size for member in self.members)
        if sizes not in population.memory:
            means = np.split(population.lev_mean, np.cumsum(sizes))[:-1]
            population.memory[sizes] = [
                PopulationPart(
                    population.texts, population.authors, part.levs, part.log_tokens, mean
                )
                for part, mean in zip(self.texts(population.cohort), means, strict=True)
            ]
        return list(population.memory[sizes])

    def columns(self, levs: AnyLevs) -> list[Rows]:
        """Each member's columns of LEVs (documents, lev_size), sparse if its LEVs are."""
        return [part.levs for part in self.texts(levs)]

    def dense_columns(self, levs: AnyLevs) -> FloatArray:
        """The columns (documents, size) of all members whose LEVs are dense."""
        parts = zip(self.members, self.columns(levs), strict=True)
        dense = [np.asarray(part, np.float64) for member, part in parts if not member.is_sparse]
        return np.concatenate(dense, axis=1) if dense else np.zeros((len(levs), 0))

    def lead_columns(self, levs: AnyLevs) -> FloatArray:
        """The leading member's columns (documents, size) of LEVs (documents, lev_size)."""
        return self.columns(levs)[self.lead].astype(np.float64)

    def genre_shares(self, levs: AnyLevs) -> dict[str, float]:
        """The probability of each known genre for texts (texts, lev_size), the most probable first.

        The difference from 1 is the probability of an unknown genre.
        """
        blocks = [
            (member.levels, member.genre_of(texts))
            for member, texts in zip(self.members, self.texts(levs), strict=True)
            if isinstance(member, GenreMember)
        ]
        if not blocks:
            return {}
        shares = genre_posterior(blocks, self.weights.unknown_log_odds)[0, :-1]
        order = np.argsort(-shares, kind="stable")
        names = blocks[0][1].genres.names
        return {names[at]: round(float(shares[at]), 3) for at in order}

    def seeming_authors(self, levs: AnyLevs) -> float:
        """The number of people who seem to have written texts (texts, lev_size).

        Each text counts as 1 / n, where n texts including itself seem to be by its author.
        """
        if len(levs) < 2 or self.calibration is None:
            return float(len(levs))
        factors = square(self.all_pairs(levs).log_bayes_factor)  # (texts, texts)
        np.fill_diagonal(factors, -np.inf)
        same = 1 / (1 + np.exp(OTHERS - np.clip(factors, -50, 50)))
        return float((1 / (1 + same.sum(axis=1))).sum())

    def unbounded(self, scores: Scores) -> FloatArray:
        """The log Bayes factors (pairs,) without bounds.

        For an uncalibrated model, they come from the mean of the members' probabilities: the
        paper's ensemble.
        """
        if self.calibration is None:
            return ensemble_log_bayes_factor(scores.members)
        return self.weights(scores)

    def weighed(self, scores: Scores) -> LogBayesFactors:
        """The log Bayes factors of scores within bounds, whether or not the population fits."""
        unbounded = self.unbounded(scores)
        no_pair = np.zeros(len(unbounded), dtype=bool)
        if self.calibration is None:
            nowhere = np.full(len(unbounded), np.inf)
            return LogBayesFactors(
                unbounded,
                unbounded,
                -nowhere,
                nowhere,
                no_pair,
                no_pair,
                False,
                scores.conditions,
            )
        lower, upper = self.calibration.limits(scores.conditions)
        log_odds, two_genres = self.weights.one_genre(scores), no_pair
        bounded = unbounded
        if log_odds is not None:
            two_genres = log_odds < 0
            bounded = np.where(two_genres, 0.0, if_one_genre(unbounded, log_odds))
        bounded = np.clip(bounded, lower, upper)
        return LogBayesFactors(
            unbounded, bounded, lower, upper, no_pair, two_genres, True, scores.conditions
        )

    def _nothing(self) -> Scores:
        """The scores of no pairs."""
        conditions = Conditions(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))
        return Scores((np.zeros(0),) * len(self.members), None, None, np.zeros(0), conditions)


def if_one_genre(log_bayes_factor: FloatArray, log_odds: FloatArray) -> FloatArray:
    """The log Bayes factors (pairs,), allowing for the chance that the sides differ in genre.

    1 + p (BF - 1), where p is the probability of one genre if two people wrote them; across two
    genres the Bayes factor is 1.
    """
    return np.asarray(
        np.logaddexp(log_bayes_factor - np.logaddexp(0, -log_odds), -np.logaddexp(0, log_odds))
    )


def square(pairs: FloatArray) -> FloatArray:
    """The symmetric matrix (documents, documents) of `all_pairs` (pairs,), NaN on its diagonal."""
    documents = round((1 + np.sqrt(1 + 8 * len(pairs))) / 2)
    table = np.full((documents, documents), np.nan)
    first, second = np.triu_indices(documents, 1)
    table[first, second] = table[second, first] = pairs
    return table


def out_of_range(given: str) -> ModelError:
    """The ModelError for finite weights that lead to overflow."""
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


def _parts_among(
    texts: Sequence[MemberTexts], population: IntArray | None
) -> list[PopulationPart | None]:
    """Each member's part of a population, given by the indices (texts,) of its texts."""
    return [None if population is None else PopulationPart.among(one, population) for one in texts]


def _in_parts(first: Sides, second: Sides) -> Iterator[slice]:
    """Slices of pairs that are scored together, limited by the memory that their texts take."""
    if isinstance(first, np.ndarray | Levs) and isinstance(second, np.ndarray | Levs):
        plain = isinstance(first, np.ndarray) or isinstance(second, np.ndarray)
        at_once = _PAIRS_AT_ONCE if plain else _MORE_AT_ONCE
        yield from (slice(at, at + at_once) for at in range(0, len(first), at_once))
        return
    begin, most = 0, 0
    lengths = [len(levs) if levs.ndim == 2 else 1 for levs in (*first, *second)]
    for at, both in enumerate(zip(lengths[: len(first)], lengths[len(first) :], strict=True)):
        texts = sum(both)
        if begin < at and max(most, texts) * (at + 1 - begin) > 2 * _PAIRS_AT_ONCE:
            yield slice(begin, at)
            begin, most = at, 0
        most = max(most, texts)
    if begin < len(first):
        yield slice(begin, len(first))
