"""What the training texts of a model are like, so that others can be told from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray, IntArray

_TYPICAL = 0.99  # share of the training texts that lie within the limits
_FLAT = 1e-6  # of the largest variance: the least that a direction counts as having
_LEAST_ROOM = 1e-9  # that the other texts leave for one of them


@dataclass(frozen=True)
class Typicality:
    """What the training texts of a model are like: the limits of what is usual."""

    lev_mean: FloatArray  # (lev_size,)
    lev_whitening: FloatArray  # (lev_size, lev_size)
    distance_limit: FloatArray  # (): of a LEV from the mean, in standard deviations
    unknown_limit: FloatArray  # (): of the share of tokens that are not in the vocabulary
    shortest: FloatArray  # (): tokens of a text that is shorter than nearly all of them

    @classmethod
    def of(cls, levs: FloatArray, unknown_shares: FloatArray, lengths: IntArray) -> Typicality:
        """From some training texts: their LEVs, shares of unknown tokens, and tokens."""
        others, size = max(1, len(levs) - 1), levs.shape[1]
        mean = levs.mean(axis=0)
        variances, directions = np.linalg.eigh((levs - mean).T @ (levs - mean) / len(levs))
        deviations = np.sqrt(np.maximum(variances, max(_FLAT * variances.max(), 1e-30)))
        whitening = directions / deviations
        distances = _distances(levs, mean, whitening)
        # Each text has drawn the measure towards itself. By the measure of the others alone it is
        # farther away; in as many dimensions as there are texts, no limit can be told.
        distances /= np.sqrt(np.maximum(1 - size * distances**2 / others, _LEAST_ROOM))
        return cls(
            mean,
            whitening,
            np.array(max(np.quantile(distances, _TYPICAL), _FLAT)),
            np.array(np.quantile(unknown_shares, _TYPICAL)),
            np.array(np.quantile(lengths, 1 - _TYPICAL)),
        )

    def atypicality(self, levs: FloatArray) -> FloatArray:
        """(documents,): how far LEVs are from the usual; above 1, 99% of texts are nearer."""
        return _distances(levs, self.lev_mean, self.lev_whitening) / self.distance_limit


def _distances(levs: FloatArray, mean: FloatArray, whitening: FloatArray) -> FloatArray:
    """(documents,): Mahalanobis distances, a mean square a dimension."""
    return np.asarray(np.sqrt(np.square((levs - mean) @ whitening).mean(axis=1)))
