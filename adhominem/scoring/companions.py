"""Many texts that are compared with each other: what they tell of each other, beside their mean.

Companions. Most authors of such texts have written several of them. One text of 500 words shows its
author's style with much noise; with other texts of the same author there is less. Nobody says which
these are, but some can be told: two texts that are nearest to each other among hundreds, and by
far. So each text is moved a little towards its companions before it is compared.

Company. Where no author has more than the two texts of a pair, as in many test sets, there are no
companions, and those that are near by chance would mislead. That shows in each text's *second*
nearest, which is then as near as chance has it. If it is nearer than is usual for two texts an
author, most authors have several.

Cohort. How alike two texts are is seen against how alike each of them is to all the others: some
texts are like many.

Clearness. A member of a model counts by how clearly it, too, sets apart the pairs that are nearest
to each other for the other members: where it does not, this is no genre for it.

A text has no companions among strangers: texts that are a little nearer by chance would be taken
for some. So all this is for texts that are compared with each other, not for a population of
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, Array32, BoolArray, FloatArray
from adhominem.errors import OptionError
from adhominem.scoring.departures import Departures

IntArray = npt.NDArray[np.intp]
# Each companion: whose it is, in rising order, which text it is, and its weight.
_Companions = tuple[IntArray, IntArray, FloatArray]

FEWEST, MOST = 20, 3_000  # texts among which companions are looked for
_BY_CHANCE = 0.5  # texts near enough to a text by chance, if nearness had a normal distribution
_WEIGHT = 0.3  # of a companion, for each deviation that it is nearer than that
_LARGEST_WEIGHT = 0.5  # the text itself has 1
_RANKS = 4.0  # so many texts that are nearer lower the weight to 1/e
_KEPT_RANKS = 32  # with more, it is none: next to nothing is left of the weight
_COPY = 0.9  # cosine from which on a text is a copy, not one more text of the author
_NEAREST = 2  # each text's nearest ones, by which the separation of a member is judged
_LEAST_SEPARATION = 0.1
_FEWEST_OTHERS = 10  # texts that make a cohort
_LEAST_DEVIATION = 0.005  # of cosines with a cohort
_SAME_RANK = 1e-3  # deviations: a difference that comes from rounding
_DEVIATION = 1.4826  # in median absolute deviations
_LEAST = 1e-15  # length
_PRODUCTS_AT_ONCE = _ROWS_AT_ONCE = 256


class Companions:
    """Texts that are compared with each other."""

    def __init__(self, styles: Sequence[Departures | AnyFloats]) -> None:
        """`styles` (texts, size) are each member's: how the texts depart from their centre."""
        self.texts = len(styles[0])
        if not FEWEST <= self.texts <= MOST:
            raise OptionError(
                f"{self.texts:,} texts to look for companions among; expected {FEWEST} to {MOST:,}"
            )
        self._styles = _departures(styles)
        self._cosines = [there.cosines(there) for there in self._styles]  # (texts, texts) each
        self.separation, deviations = _separation(self._cosines)  # (members,) each
        self._weights = np.array(self.separation, np.float32) ** 2 / np.array(
            deviations, np.float32
        )
        near = self._joined(self._cosines)
        self._middles, self._deviations = _spread(near)  # (texts,) each
        standard = self._standardised(near, self._middles, self._deviations)
        standard[self._are_copies(near)] = -np.inf
        self._nearest = _largest(standard)  # (texts, ranks)
        self._near_enough = NormalDist().inv_cdf(1 - _BY_CHANCE / self.texts)
        self._companions = self._companions_in(standard, self._nearest)
        second = np.maximum(self._nearest[:, 1].astype(np.float64) - self._near_enough, 0)
        self.company = float(second.mean())  # how much nearer than by chance, in deviations
        self._lengths = [self._moved_lengths(cosines) for cosines in self._cosines]  # (texts,) each

    def compare(
        self,
        styles: Sequence[Departures | AnyFloats],
        sides: npt.NDArray[np.integer],
        numbers: IntArray | None = None,
    ) -> FloatArray:
        """(members, pairs): how alike two sides are, in deviations of what both are used to.

        `styles` (texts, size) are each member's. `sides` (texts,) says whose they are, in rising
        order: 0 and 1 are the sides of the first pair, 2 and 3 those of the second. No text of a
        pair, and no copy of one, is a companion of another or in their cohort; but other texts of
        the cohort may have them for companions. `numbers` (texts,) says which text of the
        population each is, or -1: what is known of it is not computed again.
        """
        pairs = (int(sides[-1]) + 1) // 2 if len(sides) else 0
        if not pairs:
            return np.zeros((len(styles), 0))
        tables = _departures(styles)
        cosines = [self._cosines_of(at, table, numbers) for at, table in enumerate(tables)]
        near = self._joined(cosines)  # (texts, texts of the population)
        begins = np.searchsorted(sides, 2 * np.arange(pairs))
        copies = np.logical_or.reduceat(self._are_copies(near), begins)  # (pairs, population)
        standard = self._standardised(near, *_spread(near))
        standard[copies[sides // 2]] = -np.inf
        companions = self._companions_in(standard, _largest(standard))
        others = ~copies  # (pairs, population)
        others[others.sum(axis=1) < _FEWEST_OTHERS] = True  # copies all: none stands out of them
        others = np.repeat(others, 2, axis=0)  # (sides, population)
        return np.array(
            [
                self._standing(at, table, there, companions, sides, others)
                for at, (table, there) in enumerate(zip(tables, cosines, strict=True))
            ]
        )

    def _standing(
        self,
        member: int,
        styles: Departures,
        cosines: Array32,
        companions: _Companions,
        sides: npt.NDArray[np.integer],
        others: BoolArray,
    ) -> FloatArray:
        """(pairs,): what a member says of sides whose texts are moved to their companions.

        A text that is moved is u + sum of w p, with its companions p. All that is asked for are
        products, and these come from those of u with texts of the population, `cosines` (texts,
        population), and of these with each other.
        """
        first, second = _inside(sides // 2)  # (products,) each: of texts of one pair
        weights = np.zeros_like(cosines)
        weights[companions[0], companions[1]] = companions[2]
        moved = cosines + _mixed(companions, self._cosines[member], len(cosines))
        inside = styles.cosines_among(first, second)
        for at in range(0, len(first), _PRODUCTS_AT_ONCE):
            part = slice(at, at + _PRODUCTS_AT_ONCE)
            one, other = first[part], second[part]
            inside[part] += np.einsum("ij,ij->i", cosines[one], weights[other])
            inside[part] += np.einsum("ij,ij->i", weights[one], moved[other])
        lengths = np.sqrt(np.maximum(inside[first == second], _LEAST**2))  # (texts,)
        inside /= lengths[first] * lengths[second]
        # Products of sides, each the sum of its texts.
        count = int(sides[-1]) + 1
        between = np.bincount(2 * sides[first] + sides[second] % 2, inside, 2 * count).reshape(
            -1, 2, 2
        )  # (pairs, 2, 2)
        squared = np.maximum(np.einsum("pss->ps", between), _LEAST**2)  # (pairs, 2)
        alike = between[:, 0, 1] / np.sqrt(squared[:, 0] * squared[:, 1])  # (pairs,)
        moved /= lengths.astype(np.float32)[:, None]
        if len(moved) > count:
            moved = np.add.reduceat(moved, np.searchsorted(sides, np.arange(count)))
        moved /= np.sqrt(squared).reshape(-1, 1).astype(np.float32)  # (sides, population)
        there = moved.T + _mixed(self._companions, moved.T, self.texts)
        there /= self._lengths[member][:, None]  # (population, sides): with those moved, too
        mean, deviation = _cohort(there.T, others)  # (sides,) each
        standing = (np.repeat(alike, 2) - mean) / deviation
        return np.asarray(0.5 * (standing[0::2] + standing[1::2]))

    def _cosines_of(self, member: int, styles: Departures, numbers: IntArray | None) -> Array32:
        """(texts, population)"""
        there = self._styles[member]
        if numbers is None:
            return styles.cosines(there)
        table = self._cosines[member][numbers]
        new = np.flatnonzero(numbers < 0)
        if len(new):
            table[new] = styles[new].cosines(there)
        return table

    def _moved_lengths(self, cosines: Array32) -> Array32:
        """(texts,): the lengths of a member's texts, once they are moved to their companions."""
        rows, columns, weights = self._companions
        moved = _mixed(self._companions, cosines, self.texts)
        moved += cosines
        lengths = np.diag(moved).astype(np.float64)
        lengths += np.bincount(rows, weights * moved[rows, columns], self.texts)
        return np.sqrt(np.maximum(lengths, _LEAST**2)).astype(np.float32)

    def _joined(self, cosines: Sequence[Array32]) -> Array32:
        """(texts, population): how near texts are for all members together."""
        near = np.zeros_like(cosines[0])
        for cosine, weight in zip(cosines, self._weights, strict=True):
            for rows in _in_parts(len(near)):
                near[rows] += cosine[rows] * weight
        return near

    def _are_copies(self, near: Array32) -> BoolArray:
        """(texts, population): which are one and the same text, or nearly."""
        return np.asarray(near > _COPY * self._weights.sum())

    def _standardised(self, near: Array32, middles: Array32, deviations: Array32) -> Array32:
        """(texts, population): how near, in deviations of what both are used to."""
        standard = np.empty_like(near)
        for rows in _in_parts(len(near)):
            theirs = (near[rows] - self._middles) / self._deviations
            ours = (near[rows] - middles[rows, None]) / deviations[rows, None]
            standard[rows] = 0.5 * (ours + theirs)
        return standard

    def _companions_in(self, standard: Array32, largest: Array32) -> _Companions:
        """Each companion: whose it is, in rising order, which text it is, and its weight.

        `largest` are the largest values of each row of `standard`.
        """
        rows, columns = np.nonzero(standard > self._near_enough)
        nearness = standard[rows, columns].astype(np.float64)
        nearer = np.maximum(  # how many texts are nearer to the text, and to its companion
            *(
                (ranked > nearness[:, None] + _SAME_RANK).sum(axis=1)
                for ranked in (largest[rows], self._nearest[columns])
            )
        )
        weights = np.minimum(_LARGEST_WEIGHT, _WEIGHT * (nearness - self._near_enough))
        weights *= np.exp(-nearer / _RANKS)
        kept = nearer < _KEPT_RANKS
        return rows[kept], columns[kept], weights[kept]


def _mixed(companions: _Companions, table: Array32, rows: int) -> Array32:
    """(rows, size): of each row the sum of its companions' rows in a table, each by its weight."""
    owners, columns, weights = companions
    mixed = np.zeros((rows, table.shape[1]), np.float32)
    begins = np.searchsorted(owners, np.arange(rows + 1))
    for row in np.flatnonzero(np.diff(begins)).tolist():
        part = slice(begins[row], begins[row + 1])
        mixed[row] = weights[part].astype(np.float32) @ table[columns[part]]
    return mixed


def _inside(pairs: npt.NDArray[np.integer]) -> tuple[IntArray, IntArray]:
    """All two texts of one pair, by number: of texts whose pairs (texts,) rise."""
    counts = np.bincount(pairs)[pairs]  # (texts,): how many texts its pair has
    first = np.repeat(np.arange(len(pairs)), counts)
    begins = np.searchsorted(pairs, pairs)  # (texts,): where the pair of each begins
    ends = np.cumsum(counts)
    second = np.arange(len(first)) - np.repeat(ends - counts, counts) + begins[first]
    return first, second


def _departures(styles: Sequence[Departures | AnyFloats]) -> list[Departures]:
    return [table if isinstance(table, Departures) else Departures.of(table) for table in styles]


def member_weights(separation: Sequence[float], usual: Sequence[float]) -> FloatArray:
    """(members,): the weight of each member, 1 on average, by its separation and the usual."""
    weights = np.array(separation) / np.array(usual)
    return np.asarray(weights / weights.mean())


def _separation(cosines: Sequence[Array32]) -> tuple[tuple[float, ...], list[float]]:
    """How clearly each member sets the others' nearest pairs apart, in deviations; and these."""
    upper = ~np.tri(len(cosines[0]), dtype=np.bool_)
    middles, deviations = [], []
    for cosine in cosines:
        values = cosine[upper]
        middles.append(np.median(values))
        values -= middles[-1]
        deviation = _DEVIATION * float(np.median(np.abs(values, out=values), overwrite_input=True))
        deviations.append(max(deviation, 1e-12))

    def standard(member: int) -> Array32:  # made when it is asked for: it may be large
        return np.asarray((cosines[member] - middles[member]) / np.float32(deviations[member]))

    together = np.zeros_like(cosines[0])
    for member in range(len(cosines)):
        together += standard(member)
    separation = []
    for member in range(len(cosines)):
        # A single member is asked of its own pairs: nothing depends on it.
        others = together - standard(member) if len(cosines) > 1 else together
        pairs = _nearest_pairs(others)
        clear = float(np.median(standard(member)[pairs])) if pairs.any() else 0.0
        separation.append(max(clear, _LEAST_SEPARATION))
    return tuple(separation), deviations


def _nearest_pairs(near: Array32) -> BoolArray:
    """(texts, texts): which two are among each other's nearest."""
    middles, deviations = _spread(near)
    standard = (near - middles) / deviations
    among = np.zeros(near.shape, dtype=bool)
    for rows in _in_parts(len(near)):
        part = -standard[rows] - standard[:, rows].T  # both ways
        part[np.arange(len(part)), np.arange(len(near))[rows]] = np.inf
        nearest = np.argpartition(part, _NEAREST, axis=1)[:, :_NEAREST]
        np.put_along_axis(among[rows], nearest, True, axis=1)
    return np.asarray(among & among.T)


def _spread(near: Array32) -> tuple[Array32, Array32]:
    """Twice (texts,): how near texts are to a text as a rule, and the deviation from that."""
    middles, deviations = (np.zeros(len(near), near.dtype) for _ in range(2))
    for rows in _in_parts(len(near)):
        middles[rows] = np.median(near[rows], axis=1)
        deviations[rows] = np.median(np.abs(near[rows] - middles[rows, None]), axis=1)
    return middles, np.maximum(_DEVIATION * deviations, 1e-12).astype(near.dtype)


def _cohort(cosines: Array32, others: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Twice (sides,): the mean of a side's cosines with the others, and their deviation."""
    counts = others.sum(axis=1)
    means = np.where(others, cosines, 0).sum(axis=1, dtype=np.float64) / counts
    rest = np.where(others, cosines - means[:, None], 0)
    deviations = np.sqrt(np.square(rest).sum(axis=1) / counts)
    return means, np.maximum(deviations, _LEAST_DEVIATION)


def _largest(values: Array32) -> Array32:
    """(rows, ranks): the largest values of each row, the largest first."""
    kept = min(_KEPT_RANKS, values.shape[1])
    largest = np.zeros((len(values), kept), values.dtype)
    for rows in _in_parts(len(values)):
        part = np.partition(-values[rows], kept - 1, axis=1)[:, :kept]
        largest[rows] = -np.sort(part, axis=1)
    return largest


def _in_parts(rows: int) -> Iterator[slice]:
    """A few rows of a large table at a time."""
    return (slice(at, min(at + _ROWS_AT_ONCE, rows)) for at in range(0, rows, _ROWS_AT_ONCE))
