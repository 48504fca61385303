"""How texts depart from a centre: vectors of length 1, of which only cosines are asked for.

Sparse rows less a centre would be sparse no more. So the centre is kept beside them: of
(a - c) . (b - c) each part is known without it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adhominem.arrays import Array32, FloatArray, IntArray, Rows, SparseRows
from adhominem.scoring.rows import products, row_products, squares

_LEAST = 1e-30  # length; what is shorter stays short
_ROUNDING = 1e-12  # of the squares that a squared length is the difference of


@dataclass(frozen=True)
class Departures:
    """Texts as they are seen from one centre."""

    rows: Rows  # (texts, size)
    along: FloatArray  # (texts,): their products with the centre
    square: float  # of the centre
    lengths: FloatArray  # (texts,)

    @classmethod
    def of(cls, rows: Rows, centre: FloatArray | None = None) -> Departures:
        """Of rows (texts, size) from a centre (size,), or from nought."""
        if centre is not None and not isinstance(rows, SparseRows):
            rows, centre = rows - centre, None
        along, square, whole = np.zeros(len(rows)), 0.0, squares(rows)
        if centre is not None:
            along, square = products(rows, centre[None])[:, 0], float(centre @ centre)
        lengths = whole - 2 * along + square
        lengths[lengths < _ROUNDING * (whole + square)] = 0  # at the centre
        return cls(rows, along, square, np.maximum(np.sqrt(lengths), _LEAST))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, chosen: IntArray) -> Departures:
        return Departures(self.rows[chosen], self.along[chosen], self.square, self.lengths[chosen])

    def cosines(self, others: Departures) -> Array32:
        """(texts, others): with texts that are seen from the same centre."""
        rows = self.rows if others is self else others.rows
        table = products(self.rows, rows)
        table -= self.along[:, None]
        table -= others.along
        table += self.square
        table /= self.lengths[:, None]
        table /= others.lengths
        return table.astype(np.float32)  # as exact as what comes of it needs to be

    def cosines_among(self, first: IntArray, second: IntArray) -> FloatArray:
        """(pairs,): of the texts of pairs, by number."""
        product = row_products(self.rows[first], self.rows[second])
        product += self.square - self.along[first] - self.along[second]
        return np.asarray(product / (self.lengths[first] * self.lengths[second]))
