"""The leak check: what a pair set gives away without a look at the style.

In PAN 2020's large set, two texts of one fandom are always by different authors:
a system that learns this looks good and knows nothing. A set is sound if neither
the topics nor the lengths of a pair tell its label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.evaluation.ranking import auc

# Beyond this distance from chance, a rule of thumb beats some published systems.
_TOLERANCE = 0.1


@dataclass(frozen=True)
class Leak:
    """How well one shallow property ranks the pairs; 0.5 is chance, below it ranks backwards."""

    name: str
    auc: float

    @property
    def leaks(self) -> bool:
        """Whether the label can be guessed from this property."""
        return abs(self.auc - 0.5) > _TOLERANCE


def check_leaks(
    *,
    same_author: npt.NDArray[np.bool_],
    same_topic: npt.NDArray[np.bool_],
    first_length: npt.NDArray[np.integer],
    second_length: npt.NDArray[np.integer],
) -> list[Leak]:
    """The AUC of each shallow property alone; all arrays are (pairs,)."""
    ratio = np.abs(np.log(first_length / second_length))
    return [
        Leak("same topic", auc(same_topic, same_author)),
        Leak("like lengths", auc(-ratio, same_author)),
        Leak("shorter text's length", auc(np.minimum(first_length, second_length), same_author)),
    ]
