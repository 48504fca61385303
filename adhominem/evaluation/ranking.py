"""How well a score ranks same-author pairs above different-author ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def auc(scores: npt.ArrayLike, same_author: npt.ArrayLike) -> float:
    """The area under the ROC curve: how often a same-author pair scores higher; ties count half.

    NaN where one of the classes is empty.
    """
    values = np.asarray(scores, dtype=np.float64)
    positive = np.asarray(same_author, dtype=bool)
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2  # the mean rank of each distinct value, from 1
    wins = rank[inverse][positive].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))
