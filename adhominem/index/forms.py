"""What a member says of two single texts, as a quadratic form of both.

The population of an index is large, so c is the same for all of its texts. The log Bayes factor of
two of them is then a constant, squares of either, and products of both, with weights that depend on
nothing but the texts' lengths. So what is known of each text by itself is computed once (`Seen`).
What a text does to its own population is left out, except for what it has with others in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from adhominem.arrays import BoolArray, FloatArray, Rows
from adhominem.score.genres import noise_of
from adhominem.score.members import GenreMember, LayerMember, MemberScorer
from adhominem.score.products import MemberTexts, PopulationPart, products
from adhominem.score.three_level import Comparison, Terms


@dataclass(frozen=True, eq=False)
class Seen:
    """Some texts as a member sees them."""

    to_centre: FloatArray  # (texts,): the product with c, less half the square of c
    scales: FloatArray  # (texts,): what distance from c is multiplied by
    squares: FloatArray  # (texts,): squared distance from c in the rest, times that
    places: FloatArray  # (texts, directions): coordinates, times that
    against: FloatArray  # (texts, cohort): log Bayes factors with texts of the population
    kept: BoolArray | None  # (texts, cohort): which of these are not the text itself


@dataclass(frozen=True, eq=False)
class Weighing:
    """What squares and products of two texts count, in nats, by their lengths."""

    constant: FloatArray  # (pairs,)
    square: FloatArray  # (pairs,): of the first text, in the rest
    product: FloatArray  # (pairs,): of both
    place_square: FloatArray  # (pairs, directions): of the first text
    place_product: FloatArray  # (pairs, directions)


class Form(Protocol):
    """A member with a population."""

    unit: float  # of a LEV

    @property
    def centre(self) -> FloatArray:
        """(lev_size,): c."""

    @property
    def basis(self) -> FloatArray:
        """(directions, lev_size): of the coordinates, at right angles."""

    def seen(self, rows: Rows, log_tokens: FloatArray) -> Seen:
        """Texts (texts, lev_size) of such lengths (texts,)."""

    def weighing(self, first: FloatArray, second: FloatArray) -> Weighing:
        """What counts in pairs of texts of such lengths, (pairs,) log tokens each."""


def forms_of(
    members: Sequence[MemberScorer], population: Sequence[PopulationPart | None]
) -> list[Form]:
    """Those of all members, each with its part of a population."""
    forms: list[Form] = []
    for member, part in zip(members, population, strict=True):
        assert part is not None
        assert isinstance(member, GenreMember | LayerMember)
        forms.append(
            GenreForm(member, part) if isinstance(member, GenreMember) else LayerForm(member, part)
        )
    return forms


class GenreForm:
    """A member that goes by the three-level model."""

    def __init__(self, member: GenreMember, part: PopulationPart) -> None:
        self.member, self._part = member, part
        self.unit = member.genres.usual
        # Nothing is left out of a population for its mean, so this is c as most texts have it.
        seen = self._comparison(part.mean[None], part.log_tokens[:1])
        self._c = seen.centre

    def _comparison(self, rows: Rows, log_tokens: FloatArray) -> Comparison:
        """Of each text with itself."""
        texts = np.arange(len(log_tokens))[:, None]
        pairs = self.member.pairs(MemberTexts(rows, log_tokens), texts, texts, self._part)
        return Comparison(self.member.levels, pairs)

    @cached_property
    def basis(self) -> FloatArray:
        """(directions, lev_size): those in which genres differ; zeros if only one is known."""
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

    def seen(self, rows: Rows, log_tokens: FloatArray) -> Seen:
        """Texts (texts, lev_size) of such lengths (texts,)."""
        comparison = self._comparison(rows, log_tokens)
        scales = comparison.scale[:, 0]
        population = comparison.pairs.population
        assert population is not None
        to_centre = products(rows, self.centre[None])[:, 0] - 0.5 * self.centre @ self.centre
        return Seen(
            to_centre,
            scales,
            comparison.rest[:, 0, 0] * scales**2,
            comparison.genre[:, 0] * scales[:, None],
            comparison.against(0),
            population.kept,
        )

    def weighing(self, first: FloatArray, second: FloatArray) -> Weighing:
        """What counts in pairs of texts of such lengths, (pairs,) log tokens each."""
        levels, size = self.member.levels, self.member.genres.directions
        part, rest = levels.genre_part, levels.rest
        noises = noise_of(first), noise_of(second)
        texts = [rest.text + rest.length * noise for noise in noises]
        of_rest = Terms.of(rest.author, self._c.rest_variance, *texts)
        texts = [(part.text + part.length * noise)[:, None] / size for noise in noises]
        of_genre = Terms.of(part.author / size, self._c.variance, *texts)
        share = part.directions / size
        return Weighing(
            rest.directions * of_rest.constant + share * of_genre.constant.sum(axis=1),
            rest.directions * of_rest.first,
            rest.directions * of_rest.across,
            share * of_genre.first,
            share * of_genre.across,
        )


class LayerForm:
    """A network that goes by its own layer: coordinates are all of what that sees, scaled."""

    def __init__(self, member: LayerMember, part: PopulationPart) -> None:
        self.member, self._part, self.unit = member, part, 1.0

    @property
    def centre(self) -> FloatArray:
        """(lev_size,): zeros, as products of LEVs count for nothing."""
        return np.zeros(self.member.lev_size)

    @property
    def basis(self) -> FloatArray:
        """(directions, lev_size): zeros likewise."""
        return np.zeros((self.member.layer.lev_size, self.member.lev_size))

    def seen(self, rows: Rows, log_tokens: FloatArray) -> Seen:
        """Texts (texts, lev_size) of such lengths (texts,)."""
        texts = np.arange(len(rows))[:, None]
        evidence = self.member.evidence(MemberTexts(rows, log_tokens), texts, texts, self._part)
        assert evidence.against is not None
        project, zeros = self.member.project, np.zeros(len(rows))
        moved = project(rows.astype(np.float64)) - project(self._part.mean[None])
        places = moved @ self.member.layer.projection.T
        return Seen(zeros, zeros + 1, zeros, places, evidence.against[0], evidence.kept)

    def weighing(self, first: FloatArray, second: FloatArray) -> Weighing:
        """What counts in pairs of texts, however long they are: first and second (pairs,)."""
        ratio, weight = self.member.layer.precision_ratio, self.member.weight
        zeros = 0 * (first + second)
        constant = weight * (np.log1p(1 / ratio) - 0.5 * np.log1p(2 / ratio)).sum()
        square = 0.5 * weight * (1 / (ratio + 2) - 1 / (ratio + 1))
        each = np.ones((len(zeros), 1))
        return Weighing(
            zeros + constant, zeros, zeros, each * square, each * (weight / (ratio + 2))
        )
