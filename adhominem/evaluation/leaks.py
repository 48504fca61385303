"""The leak check: what a pair set gives away without a look at the style.

In PAN 2020's large set, two texts of one fandom are always by different authors:
a system that learns this looks good and knows nothing. A set is sound if neither
the topics nor the lengths of a pair tell its label.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray
from adhominem.evaluation.pan import auc

# From chance. In PAN 2020, less than a fifth of the different-author pairs share a fandom:
# this leak lies but 0.09 from chance, and taught systems that no two such texts match.
_TOLERANCE = 0.05


@dataclass(frozen=True)
class Leak:
    """How well one shallow property ranks the pairs; 0.5 is chance, below it ranks backwards."""

    name: str
    auc: float
    noise: float  # how far from chance it may come by chance

    @property
    def leaks(self) -> bool:
        """Whether the label can be guessed from this property."""
        return abs(self.auc - 0.5) > max(_TOLERANCE, self.noise)

    @property
    def verdict(self) -> str:
        """The result in a word or two; pairs of one class alone tell nothing."""
        return "LEAKS" if self.leaks else "ok" if isfinite(self.auc) else "cannot tell"


def check_leaks(
    *,
    same_author: BoolArray,
    same_topic: BoolArray,
    first_length: npt.NDArray[np.integer],
    second_length: npt.NDArray[np.integer],
) -> list[Leak]:
    """The AUC of each shallow property alone; all arrays are (pairs,)."""
    shorter = np.minimum(first_length, second_length)
    properties = {
        "same topic": same_topic,
        "like lengths": shorter / np.maximum(first_length, second_length),
        "shorter text's length": shorter,
    }
    same, different = int(same_author.sum()), int((~same_author).sum())
    # Two standard errors of the AUC of a property that has nothing to do with the label.
    noise = 2 * sqrt((same + different + 1) / (12 * max(1, same * different)))
    return [Leak(name, auc(values, same_author), noise) for name, values in properties.items()]
