"""Companions: the texts among many that look to be by the author of a text.

Where many texts are compared with each other, most authors have written several of them. One text
of 500 words shows its author's style with much noise; with other texts of the same author there is
less. Nobody says which these are, but some can be told: two texts that are nearest to each other
among hundreds, and by far. So each text is moved a little towards its companions before it is
compared with the other side.

What is near is judged by all members of a model together. A member counts by how clearly it, too,
sets apart the pairs that are nearest to each other for the other members: where it does not, this
is no kind of text for it.

A text has no companions among strangers, only texts that are a little nearer by chance, and these
do harm. So companions are looked for among the texts that are compared, never in a population of
others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError

Array = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
AnyFloats = npt.NDArray[np.floating]

FEWEST, MOST = 20, 3_000  # texts among which companions are looked for
_BY_CHANCE = 0.5  # texts near enough to a text by chance, if nearness had a normal distribution
_WEIGHT = 0.3  # of a companion, for each deviation that it is nearer than that
_LARGEST_WEIGHT = 0.5  # the text itself has 1
_RANKS = 4.0  # so many texts that are nearer lower the weight to 1/e
_KEPT_RANKS = 32  # with more, nothing is left of it
_COPY = 0.9  # cosine from which on a text is a copy, not one more text of the author
_NEAREST = 2  # each text's nearest ones, by which the clearness of a member is judged
_LEAST_CLEARNESS = 0.1
_SAME_RANK = 1e-3  # deviations: a difference that comes from rounding
_DEVIATION = 1.4826  # in median absolute deviations


class Companions:
    """Texts to look for companions among."""

    def __init__(self, styles: Sequence[AnyFloats]) -> None:
        """`styles` (texts, size) are each member's: how the texts depart from their centre."""
        self.texts = len(styles[0])
        if not FEWEST <= self.texts <= MOST:
            raise OptionError(
                f"{self.texts:,} texts to look for companions among; expected {FEWEST} to {MOST:,}"
            )
        tables = [np.asarray(table, dtype=np.float32) for table in styles]
        products = [table @ table.T for table in tables]  # (texts, texts) each
        weights = _member_weights(products)
        near = sum(
            (product * weight for product, weight in zip(products, weights, strict=True)),
            start=np.zeros_like(products[0]),
        )  # (texts, texts)
        self._scales = [float(np.sqrt(weight)) for weight in weights]
        self._joined = _joined(tables, self._scales)  # its products are `near`
        ends = np.cumsum([table.shape[1] for table in tables]).tolist()
        self._parts = [slice(begin, end) for begin, end in pairwise([0, *ends])]
        self._lengths = np.sqrt(np.diag(near))  # (texts,)
        self._middles, self._deviations = _spread(near)  # (texts,) each
        standard = self._standardised(near, self._middles, self._deviations)
        standard[self._are_copies(near, self._lengths)] = -np.inf
        self._nearest = _largest(standard)  # (texts, ranks)
        self._near_enough = NormalDist().inv_cdf(1 - _BY_CHANCE / self.texts)

    def enrich(
        self, styles: Sequence[AnyFloats], groups: npt.NDArray[np.integer]
    ) -> list[FloatArray]:
        """The styles (texts, size) of each member, moved towards the texts' companions.

        Texts of one group, which have the same number in `groups` (texts,) and stand in a row, are
        compared with each other: none of them, and no copy of one, is a companion of another.
        """
        moved = [np.array(table, dtype=np.float64) for table in styles]
        if not len(groups):
            return moved
        rows, columns, weights = self._find(styles, groups)
        firsts = np.searchsorted(rows, np.arange(len(groups) + 1))
        for table, part, scale in zip(moved, self._parts, self._scales, strict=True):
            for row, (begin, end) in enumerate(pairwise(firsts)):
                if begin == end:
                    continue
                companions = self._joined[columns[begin:end], part]  # (companions, size)
                length = np.linalg.norm(table[row])
                table[row] += weights[begin:end] @ companions / scale
                table[row] *= length / max(float(np.linalg.norm(table[row])), 1e-300)
        return moved

    def _find(
        self, styles: Sequence[AnyFloats], groups: npt.NDArray[np.integer]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
        """Each companion: whose it is, which text it is, and its weight."""
        joined = _joined(styles, self._scales)
        near = joined @ self._joined.T  # (texts, texts of the population)
        standard = self._standardised(near, *_spread(near))
        copies = self._are_copies(near, np.linalg.norm(joined, axis=1))
        _, begins, group = np.unique(groups, return_index=True, return_inverse=True)
        standard[np.logical_or.reduceat(copies, begins)[group]] = -np.inf
        rows, columns = np.nonzero(standard > self._near_enough)
        found = standard[rows, columns].astype(np.float64)[:, None]
        nearer = [  # how many texts are nearer to it, and to its companion
            (ranked > found + _SAME_RANK).sum(axis=1)
            for ranked in (_largest(standard)[rows], self._nearest[columns])
        ]
        weights = np.minimum(_LARGEST_WEIGHT, _WEIGHT * (found[:, 0] - self._near_enough))
        return rows, columns, weights * np.exp(-np.maximum(*nearer) / _RANKS)

    def _standardised(self, near: Array, middles: Array, deviations: Array) -> Array:
        """(texts, texts of the population): how near, in deviations of what both are used to."""
        theirs = (near - self._middles) / self._deviations
        return np.asarray(0.5 * ((near - middles[:, None]) / deviations[:, None] + theirs))

    def _are_copies(self, near: Array, lengths: AnyFloats) -> BoolArray:
        """(texts, texts of the population)."""
        return np.asarray(near > _COPY * lengths[:, None] * self._lengths)


def _joined(styles: Sequence[AnyFloats], scales: Sequence[float]) -> Array:
    """(texts, sizes): the members' styles in a row, each by its scale."""
    parts = [
        np.asarray(table, dtype=np.float32) * np.float32(scale)
        for table, scale in zip(styles, scales, strict=True)
    ]
    return np.concatenate(parts, axis=1)


def _member_weights(products: Sequence[Array]) -> list[np.float32]:
    """How much each member's products (texts, texts) count."""
    upper = np.triu_indices(len(products[0]), 1)
    standards, deviations = [], []
    for product in products:
        values = product[upper]
        middle = np.median(values)
        deviations.append(max(_DEVIATION * float(np.median(np.abs(values - middle))), 1e-12))
        standards.append((product - middle) / np.float32(deviations[-1]))
    together = sum(standards, start=np.zeros_like(products[0]))
    weights = []
    for standard, deviation in zip(standards, deviations, strict=True):
        clearness = 1.0
        if len(products) > 1:
            pairs = _nearest_pairs(together - standard)
            clearness = float(np.median(standard[pairs])) if pairs.any() else 0.0
        weights.append(np.float32(max(clearness, _LEAST_CLEARNESS) ** 2 / deviation))
    return weights


def _nearest_pairs(near: Array) -> BoolArray:
    """(texts, texts): which two are among each other's nearest."""
    middles, deviations = _spread(near)
    standard = (near - middles) / deviations
    standard += standard.T
    np.fill_diagonal(standard, -np.inf)
    nearest = np.argpartition(-standard, _NEAREST, axis=1)[:, :_NEAREST]
    among = np.zeros(near.shape, dtype=bool)
    np.put_along_axis(among, nearest, True, axis=1)
    return np.asarray(among & among.T)


def _spread(near: Array) -> tuple[Array, Array]:
    """Twice (texts,): how near texts are to a text as a rule, and the deviation from that."""
    middles = np.median(near, axis=1)
    deviations = np.median(np.abs(near - middles[:, None]), axis=1)
    return middles, np.maximum(_DEVIATION * deviations, 1e-12).astype(near.dtype)


def _largest(values: Array) -> Array:
    """(rows, ranks): the largest values of each row, the largest first."""
    kept = min(_KEPT_RANKS, values.shape[1])
    return -np.sort(np.partition(-values, kept - 1, axis=1)[:, :kept], axis=1)
