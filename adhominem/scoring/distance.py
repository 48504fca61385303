"""The distance of two LEVs: metric learning alone, a score beside the Bayes factor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray


def squared_distance(first: npt.ArrayLike, second: npt.ArrayLike) -> FloatArray:
    """(pairs, lev_size) twice to (pairs,): the paper's d, the square of the Euclidean distance.

    Its root is a pseudo-metric; the square itself does not obey the triangle inequality.
    """
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.asarray((difference**2).sum(axis=-1))
