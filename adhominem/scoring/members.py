"""What each member of a model says of its own LEVs: one protocol, two ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from adhominem.scoring.many_pairs import (
    OnPairs,
    layer_factors,
    pair_context,
    pair_factors,
    style_context,
    style_factors,
)
from adhominem.scoring.styles import Centre, Styles
from adhominem.scoring.two_covariance import TwoCovariance

FloatArray = npt.NDArray[np.float64]
AnyFloats = npt.NDArray[np.floating[Any]]
Sides = AnyFloats | Sequence[AnyFloats]  # (pairs, lev_size), one text a side; or sets of LEVs


class MemberScorer(Protocol):
    """What one member says of its own LEVs, with a population's centre or without one."""

    @property
    def lev_size(self) -> int:
        """The size of the LEVs that it takes."""

    def scores(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(pairs,): the log Bayes factors of pairs of sides."""

    def context(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """(contexts, pairs): what else tells how much a score is worth."""

    def all_pairs(
        self, levs: AnyFloats, centre: Centre | None, on_pairs: OnPairs
    ) -> tuple[FloatArray, FloatArray]:
        """(pairs,) and (contexts, pairs): of all pairs of LEVs (documents, lev_size)."""

    def style(self, levs: FloatArray, centre: Centre) -> FloatArray:
        """(documents, size): how texts depart from a population of their genre."""

    def without(self, genre: str, nearest: int) -> MemberScorer:
        """The same, as if a genre, and so many most like it, had not been known."""


@dataclass(frozen=True)
class StyleScorer:
    """By what is left of a LEV once it is moved to the centre of its genre."""

    styles: Styles

    @property
    def lev_size(self) -> int:
        """The size of the LEVs that it takes."""
        return int(self.styles.centres.shape[1])

    def scores(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """See `MemberScorer`; many pairs of single texts at once."""
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            return pair_factors(self.styles, first, second, centre)
        return self.styles.log_bayes_factor(_doubles(first), _doubles(second), centre)

    def context(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """See `MemberScorer`: the genre_atypicality of the texts."""
        if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
            return pair_context(self.styles, first, second, centre)
        return self.styles.context(_doubles(first), _doubles(second), centre)

    def all_pairs(
        self, levs: AnyFloats, centre: Centre | None, on_pairs: OnPairs
    ) -> tuple[FloatArray, FloatArray]:
        """See `MemberScorer`."""
        factors = style_factors(self.styles, levs, centre, on_pairs=on_pairs)
        return factors, style_context(self.styles, levs, centre)

    def style(self, levs: FloatArray, centre: Centre) -> FloatArray:
        """See `MemberScorer`."""
        return self.styles.style(levs, centre)

    def without(self, genre: str, nearest: int) -> StyleScorer:
        """See `MemberScorer`."""
        return StyleScorer(self.styles.without(genre, nearest))


@dataclass(frozen=True)
class LayerScorer:
    """By the layer that a network was trained with; a population's mean is moved to its mean."""

    layer: TwoCovariance
    project: Callable[[FloatArray], FloatArray]  # what the layer sees of LEVs
    lev_size: int

    def scores(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """See `MemberScorer`."""
        moved = [
            self.moved(side, centre)
            if isinstance(side, np.ndarray)
            else [self.moved(levs, centre) for levs in side]
            for side in (first, second)
        ]
        return self.layer.log_bayes_factor(*moved)

    def context(self, first: Sides, second: Sides, centre: Centre | None) -> FloatArray:
        """See `MemberScorer`: nothing is known of it."""
        return np.zeros((0, len(first)))

    def all_pairs(
        self, levs: AnyFloats, centre: Centre | None, on_pairs: OnPairs
    ) -> tuple[FloatArray, FloatArray]:
        """See `MemberScorer`."""
        factors = layer_factors(self.layer, self.moved(levs, centre), on_pairs=on_pairs)
        return factors, np.zeros((0, len(factors)))

    def style(self, levs: FloatArray, centre: Centre) -> FloatArray:
        """See `MemberScorer`."""
        return self.moved(levs, centre) - self.layer.author_mean

    def without(self, genre: str, nearest: int) -> LayerScorer:
        """See `MemberScorer`: it knows of no genres."""
        return self

    def moved(self, levs: AnyFloats, centre: Centre | None) -> FloatArray:
        """(documents, size): what the layer sees of LEVs (documents, lev_size)."""
        seen = self.project(levs.astype(np.float64))
        if centre is None:
            return seen
        return seen - self.project(centre[0][None]) + self.layer.author_mean


def _doubles(sides: Sides) -> list[FloatArray]:
    return [levs.astype(np.float64) for levs in sides]
