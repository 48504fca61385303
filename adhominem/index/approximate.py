"""Approximate log Bayes factors of one text with many: what a search computes from LEVs.

The population of an index is large, so c is the same for all of its texts. A member's score of two
single texts is then a quadratic form: a constant, squares of either, and products of both, with
weights that depend only on the texts' lengths. So all terms of a single text are computed once
(`Points`), with its usual scores with others (the S-norm); for a pair of texts, only the product of
their LEVs is new. The effect of a text on its own population is left out, except for its scores
with the population's other texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np

from adhominem.arrays import (
    AnyFloats,
    AnyLevs,
    Array32,
    BoolArray,
    FloatArray,
    IntArray,
    Rows,
)
from adhominem.index.engine import by_shard
from adhominem.index.files import InFile, Stored
from adhominem.score.decision import ensemble_log_bayes_factor
from adhominem.score.genres import PairRows, noise_of
from adhominem.score.members import GenreMember, LayerMember
from adhominem.score.population import Population
from adhominem.score.products import MemberTexts, PopulationPart, products
from adhominem.score.scorer import Scorer
from adhominem.score.three_level import CentredPairs, Terms, genre_posterior

_LENGTHS = np.linspace(np.log(60), np.log(20_000), 128)  # log tokens that weights are computed for
_HIT = 2.0  # deviations above what is usual: codes are right for such texts


# A member's score of two texts


class TextTerms(NamedTuple):
    """The terms of a member's score that depend on one text alone, as in `Points`."""

    to_centre: FloatArray
    scales: FloatArray
    squares: FloatArray
    places: FloatArray
    against: FloatArray  # (texts, cohort): log Bayes factors with texts of the population
    kept: BoolArray | None  # (texts, cohort): which of these are not the text itself


@dataclass(frozen=True, eq=False)
class PairWeights:
    """The weights of squares and products of two texts, in nats, for their lengths."""

    constant: FloatArray  # (pairs,)
    square: FloatArray  # (pairs,): of the first text, in the rest
    product: FloatArray  # (pairs,): of both
    place_square: FloatArray  # (pairs, directions): of the first text
    place_product: FloatArray  # (pairs, directions)


class GenreForm:
    """The score of a member with a population, by the three-level model, as a quadratic form."""

    def __init__(self, member: GenreMember, part: PopulationPart, shares: FloatArray) -> None:
        """`shares` (1, genres + 1) are the probabilities of the population's genre."""
        self.member, self._part, self._shares = member, part, shares
        self.unit = member.genres.usual  # of a LEV
        # Nothing is left out of a population for its mean, so this is c as most texts have it.
        self._c = self._comparison(part.mean[None], part.log_tokens[:1]).centre

    def _comparison(self, rows: Rows, log_tokens: FloatArray) -> CentredPairs:
        """The comparison of each text with itself."""
        numbers = np.arange(len(log_tokens))[:, None]
        pairs = self.member.pairs(MemberTexts(rows, log_tokens), numbers, numbers, self._part)
        shares = np.repeat(self._shares, len(numbers), axis=0)
        return CentredPairs(self.member.levels, pairs, shares)

    @cached_property
    def basis(self) -> FloatArray:
        """(directions, lev_size): the directions that genres differ in; zeros for one genre."""
        basis = self.member.genres.basis
        return basis if len(basis) else np.zeros((1, self.member.lev_size))

    @cached_property
    def centre(self) -> FloatArray:
        """(lev_size,): c."""
        genres, c = self.member.genres, self._c
        apart = self._part.mean - genres.middle
        apart = apart - (apart @ self.basis.T) @ self.basis
        along = self.unit * (c.mean[0] @ self.basis)
        return np.asarray(genres.middle + along + c.pull[0] * apart)

    def terms(self, rows: Rows, log_tokens: FloatArray) -> TextTerms:
        """The terms of texts (texts, lev_size) with these log lengths (texts,)."""
        comparison = self._comparison(rows, log_tokens)
        scales = comparison.scale[:, 0]
        population = comparison.pairs.population
        assert population is not None
        to_centre = products(rows, self.centre[None])[:, 0] - 0.5 * self.centre @ self.centre
        return TextTerms(
            to_centre,
            scales,
            comparison.rest[:, 0, 0] * scales**2,
            comparison.genre[:, 0] * scales[:, None],
            comparison.against()[0],
            population.kept,
        )

    def weights(self, first: FloatArray, second: FloatArray) -> PairWeights:
        """The weights of pairs of texts with these log lengths, (pairs,) for each side."""
        levels, size = self.member.levels, self.member.genres.directions
        part, rest = levels.genre_part, levels.rest
        noises = noise_of(first), noise_of(second)
        texts = [rest.text + rest.length * noise for noise in noises]
        of_rest = Terms.of(rest.author, self._c.rest_variance, *texts)
        texts = [(part.text + part.length * noise)[:, None] / size for noise in noises]
        of_genre = Terms.of(part.author / size, self._c.variance, *texts)
        share = part.directions / size
        return PairWeights(
            rest.directions * of_rest.constant + share * of_genre.constant.sum(axis=1),
            rest.directions * of_rest.first,
            rest.directions * of_rest.across,
            share * of_genre.first,
            share * of_genre.across,
        )


class LayerForm:
    """The score of a network with a population, by its own layer, as a quadratic form.

    The scaled coordinates are all that it needs.
    """

    def __init__(self, member: LayerMember, part: PopulationPart) -> None:
        self.member, self._part, self.unit = member, part, 1.0
        # Products of LEVs have no weight.
        self.centre = np.zeros(member.lev_size)
        self.basis = np.zeros((member.layer.lev_size, member.lev_size))

    def terms(self, rows: Rows, log_tokens: FloatArray) -> TextTerms:
        """The terms of texts (texts, lev_size) with these log lengths (texts,)."""
        numbers = np.arange(len(rows))[:, None]
        texts = MemberTexts(rows, log_tokens)
        evidence = self.member.evidence(texts, numbers, numbers, self._part)
        assert evidence.against is not None
        project, zeros = self.member.project, np.zeros(len(rows))
        moved = project(rows.astype(np.float64)) - project(self._part.mean[None])
        places = moved @ self.member.layer.projection.T
        return TextTerms(zeros, zeros + 1, zeros, places, evidence.against[0], evidence.kept)

    def weights(self, first: FloatArray, second: FloatArray) -> PairWeights:
        """The weights of pairs of texts, which do not depend on their lengths (pairs,)."""
        ratio, weight = self.member.layer.precision_ratio, self.member.weight
        zeros = 0 * (first + second)
        constant = weight * (np.log1p(1 / ratio) - 0.5 * np.log1p(2 / ratio)).sum()
        square = 0.5 * weight * (1 / (ratio + 2) - 1 / (ratio + 1))
        ones = np.ones((len(zeros), 1))
        return PairWeights(
            zeros + constant, zeros, zeros, ones * square, ones * (weight / (ratio + 2))
        )


QuadraticForm = GenreForm | LayerForm


# What is kept of each text


@dataclass(frozen=True, eq=False)
class Points(PairRows, Stored):
    """What scores need of each text, beside its LEV."""

    to_centre: Annotated[Array32, InFile("f4", "texts members")]  # product with c, less c²/2
    scales: Annotated[Array32, InFile("f4", "texts members")]  # of the distance from c
    squares: Annotated[Array32, InFile("f4", "texts members")]  # of it, in the rest
    log_tokens: Annotated[Array32, InFile("f4", "texts")]
    usual: Annotated[Array32, InFile("f4", "texts")]  # mean score with texts by others
    deviations: Annotated[Array32, InFile("f4", "texts")]
    places: Annotated[AnyFloats, InFile("f2", "texts directions")]  # coordinates, scaled


POINTS = tuple(field.name for field in fields(Points))  # as they are written


class PointTable:
    """The points of all texts of an index, as they are written for each shard.

    A search reads a few thousand of them, scattered over the index: so those of one text lie side
    by side, but for the places, which are large.
    """

    def __init__(self, shards: Sequence[Points]) -> None:
        columns = [
            np.column_stack([getattr(part, name) for name in POINTS[:-1]]) for part in shards
        ]
        self._columns = np.concatenate(columns)  # (texts, 3 * members + 3)
        self._places = [part.places for part in shards]
        self._members = shards[0].scales.shape[1]

    def __getitem__(self, numbers: IntArray) -> Points:
        ends = self._members * np.arange(1, 4)
        to_centre, scales, squares, of_texts = np.split(self._columns[numbers], ends, axis=1)
        places = np.empty((len(numbers), self._places[0].shape[1]), np.float32)
        for shard, chosen, rows in by_shard(self._places, numbers):
            places[chosen] = shard[rows]
        tokens, usual, deviations = of_texts.T
        return Points(to_centre, scales, squares, tokens, usual, deviations, places)


@dataclass(frozen=True, eq=False)
class ApproximateScorer:
    """Scores texts, given by their points, against the population of an index."""

    scorer: Scorer
    population: Population

    @cached_property
    def forms(self) -> list[QuadraticForm]:
        """The quadratic form of each member's score of two texts."""
        members, parts = self.scorer.members, self.scorer.parts(self.population)
        shares = self._genre_shares()
        forms: list[QuadraticForm] = []
        for member, part in zip(members, parts, strict=True):
            assert part is not None
            if isinstance(member, GenreMember):
                forms.append(GenreForm(member, part, shares))
            else:
                forms.append(LayerForm(member, part))
        return forms

    def _genre_shares(self) -> FloatArray:
        """The probabilities (1, genres + 1) of the population's genre."""
        number, blocks = np.zeros((1, 1), np.int64), []
        for member, part in zip(
            self.scorer.members, self.scorer.parts(self.population), strict=True
        ):
            if isinstance(member, GenreMember) and part is not None:
                mean = MemberTexts(part.mean[None], part.log_tokens[:1])
                blocks.append((member.levels, member.pairs(mean, number, number, part)))
        odds = self.scorer.weights.unknown_log_odds
        return genre_posterior(blocks, odds) if blocks else np.ones((1, 1))

    @cached_property
    def columns(self) -> list[slice]:
        """The columns of each member among the places of all."""
        ends = np.cumsum([0, *(len(form.basis) for form in self.forms)]).tolist()
        return [slice(*part) for part in pairwise(ends)]

    @cached_property
    def _units(self) -> Array32:
        """(members,): the unit that each member's LEVs are scaled by."""
        return np.array([form.unit for form in self.forms], np.float32)

    def points(self, levs: AnyLevs) -> Points:
        """The points of texts with these LEVs (texts, lev_size)."""
        texts = self.scorer.texts(levs)
        tokens = texts[0].log_tokens
        terms = [
            form.terms(part.levs, tokens) for form, part in zip(self.forms, texts, strict=True)
        ]
        against = np.sum([term.against for term in terms], axis=0)  # (texts, cohort)
        kept = next((term.kept for term in terms if term.kept is not None), None)
        of_members = (np.stack(column, axis=1) for column in list(zip(*terms, strict=True))[:3])
        usual = self.scorer.weights.usual(against, kept)
        places = np.concatenate([term.places for term in terms], axis=1)
        return Points(*(part.astype(np.float32) for part in (*of_members, tokens, *usual, places)))

    def scores(self, point: Points, products: Array32, points: Points) -> FloatArray:
        """(texts,): the log Bayes factors of one text, given as a point, with others.

        `products` (texts, members) are the scalar products of their LEVs.
        """
        along = [points.places[:, part] @ point.places[0, part] for part in self.columns]
        rest = (products - points.to_centre - point.to_centre) / self._units**2
        rest = rest * points.scales * point.scales - np.stack(along, axis=1)
        return self.scores_of_rest(point, rest, points)

    def scores_of_rest(self, point: Points, rest: Array32, points: Points) -> FloatArray:
        """(texts,): like `scores`, from scaled products (texts, members) of LEVs minus c."""
        length = _nearest_length(point.log_tokens)
        lengths = _nearest_length(points.log_tokens)  # (texts,)
        members = []
        for at, (form, part) in enumerate(zip(self.forms, self.columns, strict=True)):
            mine, theirs = point.places[0, part], points.places[:, part]
            # From texts of each length with this one, and from this one with each of them.
            here = form.weights(_LENGTHS, _LENGTHS[length])
            back = form.weights(_LENGTHS[length], _LENGTHS)
            alone = back.square * point.squares[0, at] + back.place_square @ mine**2
            by_length = np.stack([here.constant + alone, here.square, here.product])
            constant, square, product = by_length[:, lengths]  # (texts,) each
            of_place = here.place_square.astype(np.float32)[lengths] * theirs
            of_place += (here.place_product * mine).astype(np.float32)[lengths]
            of_places = np.einsum("td,td->t", of_place, theirs)
            members.append(
                constant + square * points.squares[:, at] + product * rest[:, at] + of_places
            )
        if self.scorer.calibration is None:
            return np.asarray(ensemble_log_bayes_factor(members))
        usual = [(side.usual, side.deviations) for side in (point, points)]
        total = np.asarray(np.sum(members, axis=0))
        return self.scorer.weights.weigh(total, usual, self.population.texts)

    # As an inner product, for codes

    def factors(self, points: Points) -> tuple[Array32, Array32]:
        """(texts, members), (texts, directions): multipliers of scaled differences from c.

        The products of these approximate a pair's score beyond what each text adds by itself.
        """
        slopes = np.full(len(points.usual), 1 / len(self.forms))
        if self.scorer.calibration is not None:
            usual = [(points.usual, points.deviations)] * 2
            at = points.usual + _HIT * points.deviations
            low, high = (
                self.scorer.weights.weigh(at + step, usual, self.population.texts)
                for step in (-0.5, 0.5)
            )
            slopes = np.maximum(high - low, 0)
        lengths = _nearest_length(points.log_tokens)
        alike = [form.weights(_LENGTHS, _LENGTHS) for form in self.forms]
        rest = np.stack([one.product for one in alike], axis=1)[lengths]
        places = np.concatenate([one.place_product for one in alike], axis=1)[lengths]
        by_text = slopes[:, None]
        return (
            np.sqrt(np.maximum(rest, 0) * by_text).astype(np.float32),
            np.sqrt(np.maximum(places, 0) * by_text).astype(np.float32),
        )

    def bias(self, points: Points) -> Array32:
        """(texts,): what a text adds by itself: its score with a usual text that is unlike it."""
        rest = np.zeros(points.scales.shape, np.float32)
        return self.scores_of_rest(self._usual_text, rest, points).astype(np.float32)

    @cached_property
    def _usual_text(self) -> Points:
        """A text with the average values of the population; it lies at c."""
        points = self.points(self.population.cohort)
        means = (getattr(points, name).mean(axis=0, keepdims=True) for name in POINTS)
        return replace(Points(*means), places=np.zeros_like(points.places[:1]))


def _nearest_length(log_tokens: AnyFloats) -> IntArray:
    """(texts,): the index of the nearest of `_LENGTHS`."""
    place = (log_tokens - _LENGTHS[0]) / (_LENGTHS[1] - _LENGTHS[0])
    return np.asarray(np.clip(np.rint(place), 0, len(_LENGTHS) - 1), np.int64)
