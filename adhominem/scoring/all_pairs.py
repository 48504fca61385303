"""The log Bayes factors of all pairs of many texts: what `Styles` says of them one by one.

The centre that a pair is moved to depends on the pair, but it always is a mixture of the same few
points: the centres of the kinds, and the mean of the population. So an isotropic model needs only
the products of LEVs with each other and with these points. Each LEV, of many thousand numbers, is
read once, and not once a pair.

Pairs come in the order of `np.triu_indices(documents, 1)`: (0, 1), (0, 2), ... (1, 2), ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.scoring.isotropic import IsotropicTwoCovariance
from adhominem.scoring.styles import _GUESSED_TEXTS, _SHARPNESS, Centre, Styles, unit
from adhominem.scoring.two_covariance import TwoCovariance

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
AnyFloats = npt.NDArray[np.floating]
OnPairs = Callable[[int], None]

_COLUMNS_AT_ONCE = 4_096  # of LEVs, in double precision
_PAIRS_AT_ONCE = 8_192


def style_factors(
    styles: Styles,
    levs: AnyFloats,
    population: Centre | None = None,
    *,
    on_pairs: OnPairs = lambda count: None,
) -> FloatArray:
    """(pairs,): `Styles.log_bayes_factor` of all pairs of the LEVs (documents, lev_size)."""
    geometry = _Geometry.of(styles, levs, population)
    parts = [np.zeros(0)]
    for first, second in _pairs_in_parts(len(levs)):
        mixture = geometry.mixture(first, second)
        if isinstance(styles.two_covariance, IsotropicTwoCovariance):
            found = _isotropic(styles.two_covariance, styles.usual, mixture)
        else:  # of few dimensions
            centre = mixture.weights @ geometry.points  # (pairs, lev_size)
            sides = (unit(levs[side] - centre, styles.usual) for side in (first, second))
            found = styles.two_covariance.log_bayes_factor(*sides)
        parts.append(found)
        on_pairs(len(first))
    return np.concatenate(parts)


def layer_factors(
    layer: TwoCovariance, levs: AnyFloats, *, on_pairs: OnPairs = lambda count: None
) -> FloatArray:
    """(pairs,): `TwoCovariance.log_bayes_factor` of all pairs of the LEVs (documents, lev_size)."""
    parts = [np.zeros(0)]
    for first, second in _pairs_in_parts(len(levs)):
        parts.append(layer.log_bayes_factor(levs[first], levs[second]))
        on_pairs(len(first))
    return np.concatenate(parts)


def style_context(styles: Styles, levs: AnyFloats, population: Centre | None = None) -> FloatArray:
    """(1, pairs): `Styles.context` of all pairs of the LEVs (documents, lev_size)."""
    pairs = len(levs) * (len(levs) - 1) // 2
    if population is not None or styles.whitening is None:
        return np.zeros((1, pairs))
    origin = styles.centres.mean(axis=0)
    texts, kinds = ((rows - origin) @ styles.whitening for rows in (levs, styles.centres))
    own, to_kinds = texts @ texts.T, texts @ kinds.T
    squares = np.square(kinds).sum(axis=1)
    parts = [np.zeros(0)]
    for first, second in _pairs_in_parts(len(levs)):
        middle = (own[first, first] + own[second, second] + 2 * own[first, second]) / 4
        rest = squares - to_kinds[first] - to_kinds[second]  # (pairs, kinds)
        nearest = np.maximum(middle + rest.min(axis=1), 0)
        parts.append(np.sqrt(2 * nearest / levs.shape[1]))
    return np.concatenate(parts)[None]


def products(*tables: AnyFloats, origin: AnyFloats) -> FloatArray:
    """(rows, rows): the scalar products of all rows of tables, seen from an origin (columns,)."""
    rows = sum(map(len, tables))
    found = np.zeros((rows, rows))
    for at in range(0, len(origin), _COLUMNS_AT_ONCE):
        some = slice(at, at + _COLUMNS_AT_ONCE)
        part = np.concatenate([table[:, some].astype(np.float64) for table in tables])
        part -= origin[some]
        found += part @ part.T
    return found


def _pairs_in_parts(documents: int) -> Iterator[tuple[IntArray, IntArray]]:
    first, second = np.triu_indices(documents, 1)
    for at in range(0, len(first), _PAIRS_AT_ONCE):
        yield first[at : at + _PAIRS_AT_ONCE], second[at : at + _PAIRS_AT_ONCE]


@dataclass(frozen=True)
class _Mixture:
    """Of some pairs: their centres as mixtures of points, and where the texts lie from there."""

    weights: FloatArray  # (pairs, points)
    first: FloatArray  # (pairs,): the squared distance of the first text to the centre
    second: FloatArray
    both: FloatArray  # (pairs,): the scalar product of the two, seen from the centre


@dataclass(frozen=True)
class _Geometry:
    """Products of LEVs and of the points whose mixtures are centres."""

    own: FloatArray  # (documents, documents)
    to_points: FloatArray  # (documents, points)
    of_points: FloatArray  # (points, points)
    points: FloatArray  # (points, lev_size): the centres of the kinds, the population's mean
    kinds: int
    sharpness: float  # of the guess of a kind
    guess_share: float  # of the guess in the centre; the rest is the population's

    @classmethod
    def of(cls, styles: Styles, levs: AnyFloats, population: Centre | None) -> _Geometry:
        points, share = styles.centres, 1.0
        if population is not None:
            mean, texts = population
            points = np.concatenate([points, mean[None]])
            share = _GUESSED_TEXTS / (texts + _GUESSED_TEXTS)
        # Any origin will do; from one in their midst little is lost to rounding.
        origin = points.mean(axis=0)
        found = products(levs, points, origin=origin)
        spread = np.square(styles.centres - styles.centres.mean(axis=0)).sum(axis=1).mean()
        n = len(levs)
        return cls(
            found[:n, :n],
            found[:n, n:],
            found[n:, n:],
            points,
            len(styles.kinds),
            _SHARPNESS * len(styles.kinds) / max(float(spread), 1e-300),
            share,
        )

    def mixture(self, first: IntArray, second: IntArray) -> _Mixture:
        """For the pairs of these documents."""
        to_points = self.to_points[first] + self.to_points[second]  # (pairs, points)
        kinds = slice(self.kinds)
        # Less what is the same for all kinds: the squared distances to the middle of the pair.
        distances = np.diag(self.of_points)[kinds] - to_points[:, kinds]
        guess = np.exp(-self.sharpness * (distances - distances.min(axis=1, keepdims=True)))
        guess /= guess.sum(axis=1, keepdims=True)
        weights = np.full((len(first), len(self.points)), 1 - self.guess_share)
        weights[:, kinds] = self.guess_share * guess
        square = ((weights @ self.of_points) * weights).sum(axis=1)  # of the centre
        along = [(self.to_points[side] * weights).sum(axis=1) for side in (first, second)]
        return _Mixture(
            weights,
            np.maximum(self.own[first, first] - 2 * along[0] + square, 0),
            np.maximum(self.own[second, second] - 2 * along[1] + square, 0),
            self.own[first, second] - along[0] - along[1] + square,
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
    evidence = [
        model._evidence(count, np.column_stack([np.sqrt(square), gone]))
        for count, square, gone in (
            (2 * ones, together, missing[0] + missing[1]),
            (ones, squares[0], missing[0]),
            (ones, squares[1], missing[1]),
        )
    ]
    return np.asarray(evidence[0] - evidence[1] - evidence[2])
