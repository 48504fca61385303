"""The limits within which a model's training texts lie, to recognise unusual texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray, IntArray

_TYPICAL = 0.99  # share of the training texts that lie within the limits
_FLAT = 1e-6  # of the largest variance: the smallest variance of a direction
_LEAST_ROOM = 1e-9  # smallest remainder when a text is left out


@dataclass(frozen=True)
class Typicality:
    """The mean, whitening and limits of the training texts' LEVs, and their lengths."""

    lev_mean: FloatArray  # (lev_size,)
    lev_whitening: FloatArray  # (lev_size, lev_size)
    distance_limit: FloatArray  # (): of a LEV from the mean, in standard deviations
    unknown_limit: FloatArray  # (): of the share of tokens that are not in the vocabulary
    shortest: FloatArray  # (): tokens; nearly all training texts are longer

    @classmethod
    def of(cls, levs: FloatArray, unknown_shares: FloatArray, lengths: IntArray) -> Typicality:
        """Limits from training texts: their LEVs, shares of unknown tokens, and lengths."""
        others, size = max(1, len(levs) - 1), levs.shape[1]
        mean = levs.mean(axis=0)
        variances, directions = np.linalg.eigh((levs - mean).T @ (levs - mean) / len(levs))
        deviations = np.sqrt(np.maximum(variances, max(_FLAT * variances.max(), 1e-30)))
        whitening = directions / deviations
        distances = _distances(levs, mean, whitening)
        # Each text has drawn the measure towards itself. Measured by the others alone it is farther
        # away; with as many dimensions as texts, no limit can be determined.
        distances /= np.sqrt(np.maximum(1 - size * distances**2 / others, _LEAST_ROOM))
        return cls(
            mean,
            whitening,
            np.array(max(np.quantile(distances, _TYPICAL), _FLAT)),
            np.array(np.quantile(unknown_shares, _TYPICAL)),
            np.array(np.quantile(lengths, 1 - _TYPICAL)),
        )

    def atypicality(self, levs: FloatArray) -> FloatArray:
        """The atypicality (documents,) of LEVs; 99% of the training texts are below 1."""
        return _distances(levs, self.lev_mean, self.lev_whitening) / self.distance_limit


def _distances(levs: FloatArray, mean: FloatArray, whitening: FloatArray) -> FloatArray:
    """The Mahalanobis distances (documents,), as a root mean square over dimensions."""
    return np.asarray(np.sqrt(np.square((levs - mean) @ whitening).mean(axis=1)))
