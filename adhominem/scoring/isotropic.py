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

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.errors import OptionError
from adhominem.scoring.two_covariance import FloatArray, Side, sums_of_sides

_LEAST_SHARE = 1e-3  # of the variance that is between authors, or within
_MOST_COMPARED = 3_000  # texts: some million pairs of different authors


@dataclass(frozen=True)
class IsotropicTwoCovariance:
    """Two covariances that are multiples of the identity, and an author mean of zero."""

    lev_size: int
    between_share: float  # of the variance that is between authors
    independent: float  # directions in which texts vary

    def __post_init__(self) -> None:
        if not (0 < self.between_share < 1 and self.independent > 0):
            raise OptionError(
                f"between_share {self.between_share}, independent {self.independent}; expected a "
                "share and a positive number"
            )

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

    def log_bayes_factor(self, first: Side, second: Side) -> FloatArray:
        """(pairs,): as `TwoCovariance.log_bayes_factor`."""
        counts, sums, missing = zip(*map(self._statistics, (first, second)), strict=True)
        if len(counts[0]) != len(counts[1]):
            raise OptionError(f"{len(counts[0])} first sides, {len(counts[1])} second sides")
        squares = [np.square(total).sum(axis=1) for total in (*sums, sums[0] + sums[1])]
        return (
            self.evidence(counts[0] + counts[1], squares[2], missing[0] + missing[1])
            - self.evidence(counts[0], squares[0], missing[0])
            - self.evidence(counts[1], squares[1], missing[1])
        )

    def evidence(self, count: FloatArray, square: FloatArray, missing: FloatArray) -> FloatArray:
        """(sets,): log p(LEVs), less a term that is the same for one author and for two.

        Of so many LEVs, all that is asked for is the squared length of their sum, and how much
        their own squared lengths fall short of 1 in all.
        """
        spread = (1 - self.between_share) / self.between_share
        squares = self.independent / (1 - self.between_share) * (square + missing)
        return np.asarray(
            0.5 * (squares / (spread + count) - self.independent * np.log1p(count / spread))
        )

    def _statistics(self, side: Side) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(sets,) documents in each, (sets, lev_size) their sum, (sets,) what lengths lack."""
        counts, sums = sums_of_sides(side, self.lev_size)
        sets = [np.atleast_2d(levs) for levs in side]  # type: ignore[union-attr]
        missing = [max(0.0, float((1 - np.square(levs).sum(axis=1)).sum())) for levs in sets]
        return counts, sums, np.array(missing)
