"""What each member of a model says of pairs of its own LEVs: one protocol, two ways.

    StyleScorer  by what is left of a LEV once it is moved to the centre of its genre (`Styles`)
    LayerScorer  by the two-covariance layer that a network was trained with

The centre that a pair is moved to depends on the pair, but it always is a mixture of the same few
points: the centres of the genres, and the mean of the population. So for single texts an isotropic
model needs only the products of LEVs with each other and with these points. Each LEV, of many
thousand numbers, is read once, and in all pairs of a corpus not once a pair.

All pairs of a corpus come in the order of `np.triu_indices(documents, 1)`: (0, 1), (0, 2), ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, FloatArray
from adhominem.errors import OptionError
from adhominem.scoring.styles import Centre, Styles, guess_share, unit
from adhominem.scoring.two_covariance import IsotropicTwoCovariance, TwoCovariance

IntArray = npt.NDArray[np.intp]
OnPairs = Callable[[int], None]

_COLUMNS_AT_ONCE = 4_096  # of LEVs, in double precision
_PAIRS_AT_ONCE = 8_192


def products(*tables: AnyFloats, origin: AnyFloats) -> FloatArray:
    """(rows, rows): the scalar products of all rows of tables, seen from an origin (columns,)."""
    rows = sum(map(len, tables))
    total = np.zeros((rows, rows))
    for columns in _columns(len(origin)):
        part = np.concatenate([table[:, columns].astype(np.float64) for table in tables])
        part -= origin[columns]
        total += part @ part.T
    return total


def _columns(count: int) -> Iterator[slice]:
    for at in range(0, count, _COLUMNS_AT_ONCE):
        yield slice(at, at + _COLUMNS_AT_ONCE)


def _pairs_in_parts(documents: int) -> Iterator[tuple[IntArray, IntArray]]:
    first, second = np.triu_indices(documents, 1)
    for at in range(0, len(first), _PAIRS_AT_ONCE):
        yield first[at : at + _PAIRS_AT_ONCE], second[at : at + _PAIRS_AT_ONCE]


@dataclass(frozen=True)
class _Geometry:
    """Of some pairs: products of their LEVs, and with the points; all seen from one origin."""

    squares: tuple[FloatArray, FloatArray]  # (pairs,) each: of the first texts, of the second
    product: FloatArray  # (pairs,): of the two
    to_points: tuple[FloatArray, FloatArray]  # (pairs, points) each

    @classmethod
    def of_pairs(cls, first: AnyFloats, second: AnyFloats, points: _Points) -> _Geometry:
        """Of first and second LEVs (pairs, lev_size)."""
        squares = np.zeros((2, len(first)))
        product = np.zeros(len(first))
        to_points = np.zeros((2, len(first), len(points.rows)))
        for columns in _columns(first.shape[1]):
            there = (points.rows[:, columns] - points.origin[columns]).T
            sides = [side[:, columns] - points.origin[columns] for side in (first, second)]
            for at, side in enumerate(sides):
                squares[at] += np.einsum("ij,ij->i", side, side)
                to_points[at] += side @ there
            product += np.einsum("ij,ij->i", *sides)
        if not np.isfinite(squares).all():
            raise OptionError("a LEV is not finite")
        return cls((squares[0], squares[1]), product, (to_points[0], to_points[1]))


@dataclass(frozen=True)
class _Mixture:
    """Of some pairs: their centres as mixtures of points, and where the texts lie from there."""

    weights: FloatArray  # (pairs, points)
    first: FloatArray  # (pairs,): the squared distance of the first text to the centre
    second: FloatArray
    both: FloatArray  # (pairs,): the scalar product of the two, seen from the centre


@dataclass(frozen=True)
class _Points:
    """The points whose mixtures are centres, and how they are mixed."""

    rows: FloatArray  # (points, lev_size): the centres of the genres, the population's mean
    origin: FloatArray  # (lev_size,): in their midst
    products: FloatArray  # (points, points), from there
    styles: Styles
    guess_share: float  # of the guess in the centre; the rest is the population's

    @classmethod
    def of(cls, styles: Styles, population: Centre | None) -> _Points:
        rows, share = styles.centres, 1.0
        if population is not None:
            rows, share = np.concatenate([rows, population[0][None]]), guess_share(population)
        origin = rows.mean(axis=0)
        return cls(rows, origin, products(rows, origin=origin), styles, share)

    def mixture(self, pairs: _Geometry) -> _Mixture:
        """The centres of some pairs."""
        to_points = pairs.to_points[0] + pairs.to_points[1]  # (pairs, points)
        genres = slice(len(self.styles.genres))
        # Less what is the same for all genres: the squared distances to the middle of the pair.
        guess = self.styles.mix(np.diag(self.products)[genres] - to_points[:, genres])
        weights = np.full(to_points.shape, 1 - self.guess_share)
        weights[:, genres] = self.guess_share * guess
        square = ((weights @ self.products) * weights).sum(axis=1)  # of the centre
        along = [(side * weights).sum(axis=1) for side in pairs.to_points]
        return _Mixture(
            weights,
            np.maximum(pairs.squares[0] - 2 * along[0] + square, 0),
            np.maximum(pairs.squares[1] - 2 * along[1] + square, 0),
            pairs.product - along[0] - along[1] + square,
        )


def _factors(
    styles: Styles,
    points: _Points,
    mixture: _Mixture,
    first: AnyFloats,
    second: AnyFloats,
    rows: tuple[IntArray, IntArray] | None = None,
) -> FloatArray:
    """(pairs,): of the LEVs (pairs, lev_size), or of these rows of them."""
    if isinstance(styles.two_covariance, IsotropicTwoCovariance):
        return _isotropic(styles.two_covariance, styles.usual, mixture)
    if rows is not None:
        first, second = first[rows[0]], second[rows[1]]
    centre = mixture.weights @ points.rows  # (pairs, lev_size), of few dimensions
    return styles.two_covariance.log_bayes_factor(
        *(unit(side - centre, styles.usual) for side in (first, second))
    )


def _isotropic(model: IsotropicTwoCovariance, usual: float, mixture: _Mixture) -> FloatArray:
    """(pairs,): the model's evidence takes sums of LEVs; here they come as their lengths."""
    lengths = [
        np.maximum(np.sqrt(square), max(usual, 1e-12)) for square in (mixture.first, mixture.second)
    ]
    squares = [mixture.first / lengths[0] ** 2, mixture.second / lengths[1] ** 2]
    missing = [np.maximum(0, 1 - square) for square in squares]
    product = mixture.both / (lengths[0] * lengths[1])
    together = np.maximum(squares[0] + squares[1] + 2 * product, 0)
    ones = np.ones(len(product))
    return (
        model.evidence(2 * ones, together, missing[0] + missing[1])
        - model.evidence(ones, squares[0], missing[0])
        - model.evidence(ones, squares[1], missing[1])
    )


Sides = AnyFloats | Sequence[AnyFloats]  # (pairs, lev_size), one text a side; or sets of LEVs


class MemberScorer(Protocol):
    """What one member says of its own LEVs, with a population's centre or without one."""

    @property
    def lev_size(self) -> int:
        """The size of the LEVs that it takes."""

    def scores(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of sides."""

    def context(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(contexts, pairs): what else tells how much a score is worth."""

    def all_pairs(
        self, levs: AnyFloats, centre: Centre | None, on_pairs: OnPairs
    ) -> tuple[FloatArray, FloatArray]:
        """(pairs,) and (contexts, pairs): of all pairs of LEVs (documents, lev_size)."""

    def style(self, levs: FloatArray, centre: Centre) -> FloatArray:
        """(documents, size): how texts depart from a population of their genre."""

    def without(self, genre: str, nearest: int) -> MemberScorer:
        """This scorer as if a genre, and so many of those most like it, were unknown."""


@dataclass(frozen=True)
class StyleScorer:
    """By what is left of a LEV once it is moved to the centre of its genre."""

    styles: Styles

    @property
    def lev_size(self) -> int:
        """The size of the LEVs that it takes."""
        return int(self.styles.centres.shape[1])

    def scores(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(pairs,): `Styles.log_bayes_factor` of pairs of sides; single texts in one go."""
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            points = _Points.of(self.styles, centre)
            mixture = points.mixture(_Geometry.of_pairs(first, second, points))
            return _factors(self.styles, points, mixture, first, second)
        return self.styles.log_bayes_factor(_doubles(first), _doubles(second), centre)

    def context(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(1, pairs): the `genre_atypicality` of each pair; with a population, zeros."""
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and centre is None:
            middles = 0.5 * (first.astype(np.float64) + second)
            return self.styles.genre_atypicality(self.styles.whitened(middles), 2)[None]
        return self.styles.context(_doubles(first), _doubles(second), centre)

    def all_pairs(
        self, levs: AnyFloats, centre: Centre | None, on_pairs: OnPairs
    ) -> tuple[FloatArray, FloatArray]:
        """(pairs,) and (1, pairs): scores and context of all pairs of LEVs."""
        points, count = _Points.of(self.styles, centre), len(levs)
        # Any origin will do; from one in the midst of the points little is lost to rounding.
        table = products(levs, points.rows, origin=points.origin)
        between, to_points, squares = table[:count, :count], table[:count, count:], np.diag(table)
        whitened = self.styles.whitened(levs) if centre is None else np.zeros((count, 0))
        scores, context = [np.zeros(0)], [np.zeros(0)]
        for first, second in _pairs_in_parts(count):
            geometry = _Geometry(
                (squares[first], squares[second]),
                between[first, second],
                (to_points[first], to_points[second]),
            )
            mixture, rows = points.mixture(geometry), (first, second)
            scores.append(_factors(self.styles, points, mixture, levs, levs, rows))
            middles = 0.5 * (whitened[first] + whitened[second])
            context.append(
                self.styles.genre_atypicality(middles, 2)
                if centre is None
                else np.zeros(len(first))
            )
            on_pairs(len(first))
        return np.concatenate(scores), np.concatenate(context)[None]

    def style(self, levs: FloatArray, centre: Centre) -> FloatArray:
        """(documents, size): how texts depart from a population of their genre."""
        return self.styles.style(levs, centre)

    def without(self, genre: str, nearest: int) -> StyleScorer:
        """This scorer as if a genre, and so many of those most like it, were unknown."""
        return StyleScorer(self.styles.without(genre, nearest))


@dataclass(frozen=True)
class LayerScorer:
    """By the layer that a network was trained with; a population's mean is moved to its mean."""

    layer: TwoCovariance
    project: Callable[[FloatArray], FloatArray]  # what the layer sees of LEVs
    lev_size: int

    def scores(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of sides."""
        moved = [
            self.moved(side, centre)
            if isinstance(side, np.ndarray)
            else [self.moved(levs, centre) for levs in side]
            for side in (first, second)
        ]
        return self.layer.log_bayes_factor(*moved)

    def context(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(0, pairs): the layer knows nothing else of them."""
        return np.zeros((0, len(first)))

    def all_pairs(
        self, levs: AnyFloats, centre: Centre | None, on_pairs: OnPairs
    ) -> tuple[FloatArray, FloatArray]:
        """(pairs,) and (0, pairs): the log Bayes factors of all pairs, without a context."""
        seen, scores = self.moved(levs, centre), [np.zeros(0)]
        for first, second in _pairs_in_parts(len(levs)):
            scores.append(self.layer.log_bayes_factor(seen[first], seen[second]))
            on_pairs(len(first))
        return np.concatenate(scores), np.zeros((0, sum(map(len, scores))))

    def style(self, levs: FloatArray, centre: Centre) -> FloatArray:
        """(documents, size): how texts depart from a population."""
        return self.moved(levs, centre) - self.layer.author_mean

    def without(self, genre: str, nearest: int) -> LayerScorer:
        """This scorer itself: it knows no genres."""
        return self

    def moved(self, levs: AnyFloats, centre: Centre | None) -> FloatArray:
        """(documents, size): what the layer sees of LEVs (documents, lev_size)."""
        seen = self.project(levs.astype(np.float64))
        if centre is None:
            return seen
        return seen - self.project(centre[0][None]) + self.layer.author_mean


def _doubles(sides: Sides) -> list[FloatArray]:
    return [levs.astype(np.float64) for levs in sides]
