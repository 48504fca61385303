"""What every baseline can do, and what all of them need for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from adhominem.errors import MissingExtraError, MissingFieldError, OptionError
from adhominem.text.pan import Pair

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """What a baseline says of some pairs."""

    value: FloatArray  # (pairs,): PAN's answers, in [0, 1]; 0.5 is no answer
    log_bayes_factor: FloatArray | None = None  # (pairs,), in nats; None: it knows no probabilities

    def __post_init__(self) -> None:
        if self.value.ndim != 1 or not ((self.value >= 0) & (self.value <= 1)).all():
            raise ValueError("value must be (pairs,), from 0 to 1")
        if self.log_bayes_factor is not None and self.log_bayes_factor.shape != self.value.shape:
            raise ValueError("value and log_bayes_factor must be of one length")


class Baseline(Protocol):
    """Learns from pairs whose truth is known; then answers for others."""

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Learn; both classes must occur."""

    def predict(self, pairs: Sequence[Pair]) -> Predictions:
        """An answer for each pair, which does not depend on the other pairs."""


def known_truth(pairs: Sequence[Pair]) -> BoolArray:
    """(pairs,): `same_author` of training pairs; refused where one is not known, or all agree."""
    labels = [pair.same_author for pair in pairs]
    if None in labels:
        raise MissingFieldError(
            f"whether the training pair '{pairs[labels.index(None)].id}' is by one author is not "
            "known; expected a truth.jsonl beside the pairs"
        )
    same_author = np.array(labels, dtype=bool)
    same = int(same_author.sum())
    if not 0 < same < len(labels):
        raise OptionError(
            f"{same} of {len(labels)} training pairs are by one author; expected some, but not all"
        )
    return same_author


def distinct_texts(pairs: Sequence[Pair]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Each text once, and which two of them make each pair: (2, pairs)."""
    place: dict[str, int] = {}
    sides = [
        [place.setdefault(document.text, len(place)) for document in (pair.first, pair.second)]
        for pair in pairs
    ]
    return list(place), np.array(sides, dtype=np.int64).reshape(-1, 2).T


def fitted(part: Item | None) -> Item:
    """What `fit` has left behind."""
    if part is None:
        raise OptionError("this baseline has learnt nothing yet; call fit before predict")
    return part


def evaluation_library(module: str, name: str, needed_for: str) -> Any:
    """A module of the extra `evaluate`, imported when first needed."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(name, "evaluate", needed_for) from None
