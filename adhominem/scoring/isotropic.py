"""The two-covariance model of LEVs of unit length in very many dimensions.

With thousands of dimensions there are too few authors to estimate a covariance matrix. What can be
estimated is how alike two texts of one author are on the whole, and in how many independent
directions texts of different authors vary. So both covariances are multiples of the identity,
scaled as if there were only that many dimensions: the Bayes factor of two texts is then a straight
line in their product.

A LEV may be shorter than 1 (see `scoring.styles.unit`): what is missing counts as noise that it has
to itself, so that a short LEV says less, not that its author is near the mean.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError
from adhominem.scoring.two_covariance import FloatArray, Side, TwoCovariance

_LEAST_SHARE = 1e-3  # of the variance that is between authors, or within
_MOST_COMPARED = 3_000  # texts: some million pairs of different authors


class IsotropicTwoCovariance(TwoCovariance):
    """Two covariances that are multiples of the identity."""

    def __init__(self, lev_size: int, between_share: float, independent: float) -> None:
        """`between_share` of the variance is between authors; `independent` directions vary."""
        super().__init__()
        if not (0 < between_share < 1 and independent > 0):
            raise OptionError(
                f"between_share {between_share}, independent {independent}; expected a share "
                "and a positive number"
            )
        self.between_share, self.independent = between_share, independent
        self.author_mean = np.zeros(lev_size)
        self.spread = np.full(lev_size, (1 - between_share) / between_share)
        self._scale = float(np.sqrt(independent / (1 - between_share)))

    @property
    def projection(self) -> FloatArray:
        """(lev_size, lev_size): to diagonal coordinates. Large; nothing here makes use of it."""
        return self._scale * np.eye(self.lev_size)

    @projection.setter
    def projection(self, value: FloatArray) -> None:
        raise OptionError("an isotropic model is made by `of`, not by `fit`")

    @classmethod
    def of(cls, styles: npt.ArrayLike, authors: npt.ArrayLike) -> IsotropicTwoCovariance:
        """From texts (documents, lev_size) of unit length with known authors."""
        rows, names = np.asarray(styles, dtype=np.float32), np.asarray(authors)
        some = np.random.default_rng(0).permutation(len(rows))[:_MOST_COMPARED]
        cosines = rows[some] @ rows[some].T  # (documents, documents)
        other = names[some][:, None] != names[some]
        _, index, counts = np.unique(names, return_inverse=True, return_counts=True)
        sums = np.zeros((len(counts), rows.shape[1]))
        np.add.at(sums, index, rows)
        several = counts > 1
        if not several.any() or not other.any():
            raise OptionError("expected two authors or more, and one of them with two documents")
        n = counts[several]
        own = np.bincount(index, np.square(rows).sum(axis=1))[several]
        alike = (np.square(sums[several]).sum(axis=1) - own) / (n * (n - 1))  # mean product
        share = float(np.clip(alike.mean(), _LEAST_SHARE, 1 - _LEAST_SHARE))
        return cls(rows.shape[1], share, float(1 / np.var(cosines[other])))

    def _statistics(self, side: Side) -> tuple[FloatArray, FloatArray]:
        """(sets,) documents in each set, and (sets, lev_size + 1) their sum and missing squares."""
        counts, sums = super()._statistics(side)
        sets = [np.atleast_2d(levs) for levs in side]  # type: ignore[union-attr]
        missing = [max(0.0, float((1 - np.square(levs).sum(axis=1)).sum())) for levs in sets]
        return counts, np.column_stack([sums, missing])

    def _diagonal(self, deviations: FloatArray) -> FloatArray:
        return deviations

    def _evidence(self, count: FloatArray, total: FloatArray) -> FloatArray:
        spread = self.spread[0]
        squares = self._scale**2 * (np.square(total[:, :-1]).sum(axis=1) + total[:, -1])
        return np.asarray(
            0.5 * (squares / (spread + count) - self.independent * np.log1p(count / spread))
        )
