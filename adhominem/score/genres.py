"""The genres that a model knows: where their texts lie, and in which directions they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, FloatArray

_USUAL = 0.5  # share of training texts that are nearer to their centre than is usual
_NARROW = 1e-6  # of the largest variance: directions with less of it are none
_FEWEST_GROUPED = 20  # texts: among fewer, two groups are soon seen
_SMALLEST_GROUP = 0.1  # share of the texts
_CLEAR_GAP = 4.0  # between two groups, in standard deviations inside them
_FAR = 1.1  # times as far as genres are from the middle of all


@dataclass(frozen=True, kw_only=True)
class Group:
    """Texts that lie together, apart from others."""

    share: float  # of all texts
    genre: str  # the genre of the model that they are nearest to


@dataclass(frozen=True)
class Genres:
    """Where the texts of each known genre lie."""

    names: tuple[str, ...]
    centres: FloatArray  # (genres, lev_size): the mean LEV of each
    usual: float  # how far half of the training texts are from their centre, or farther

    @classmethod
    def fit(cls, levs: AnyFloats, corpora: npt.NDArray[np.integer], names: Sequence[str]) -> Genres:
        """From the training LEVs (documents, lev_size): each corpus is a genre."""
        present = np.unique(corpora)
        centres = np.array([levs[corpora == corpus].mean(axis=0) for corpus in present], np.float64)
        rest = levs - centres[np.searchsorted(present, corpora)]
        usual = float(np.quantile(np.linalg.norm(rest, axis=1), _USUAL))
        return cls(tuple(names[corpus] for corpus in present), centres, usual)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def middle(self) -> FloatArray:
        """(lev_size,): the mean of all centres."""
        return np.asarray(self.centres.mean(axis=0))

    @property
    def middle_square(self) -> float:
        """The squared length of the middle."""
        return float(self.middle @ self.middle)

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """(genres, directions): makes coordinates of products with the centres; (directions,)."""
        from_middle = self.centres - self.middle
        variances, vectors = np.linalg.eigh(from_middle @ from_middle.T)
        kept = variances > _NARROW * max(variances[-1], 1e-300)
        kept[0] &= len(self) > 1  # the smallest is none: distances from a mean add up to 0
        kept[0] = False
        variances, vectors = variances[kept][::-1], vectors[:, kept][:, ::-1]
        return vectors / np.sqrt(variances), variances / len(self)

    @property
    def directions(self) -> int:
        """In how many directions genres differ; at least one, for means over directions."""
        return max(1, int(self._axes[0].shape[1]))

    @cached_property
    def variances(self) -> FloatArray:
        """(directions,): of the centres, in units of the usual distance."""
        return self._filled(self._axes[1] / self.usual**2)

    @cached_property
    def places(self) -> FloatArray:
        """(genres, directions): the coordinates of the centres."""
        return self.coordinates(self.centres @ self.centres.T)

    @cached_property
    def basis(self) -> FloatArray:
        """(directions, lev_size): at right angles, of length 1."""
        return np.asarray(self._axes[0].T @ (self.centres - self.middle))

    def coordinates(self, to_genres: FloatArray) -> FloatArray:
        """(..., directions): of LEVs by their products (..., genres) with the centres."""
        from_middle = to_genres - self.centres @ self.middle
        axes = self._axes[0]
        # The directions are at right angles to what all centres have in common.
        return self._filled(
            (from_middle - from_middle.mean(axis=-1, keepdims=True)) @ axes / self.usual
        )

    def to_middle(self, to_genres: FloatArray) -> FloatArray:
        """(...): the products of LEVs with the middle, by those (..., genres) with the centres."""
        return np.asarray(to_genres.mean(axis=-1))

    def _filled(self, values: FloatArray) -> FloatArray:
        """A model that knows one genre has one direction, in which nothing lies."""
        if values.shape[-1]:
            return np.asarray(values)
        return np.zeros((*values.shape[:-1], 1))

    def with_centres(self, centres: Mapping[str, FloatArray]) -> Genres:
        """These genres and further ones, or others in place of those of the same names."""
        kept = [at for at, name in enumerate(self.names) if name not in centres]
        names = (*(self.names[at] for at in kept), *centres)
        rows = np.concatenate([self.centres[kept], np.array(list(centres.values()))])
        return replace(self, names=names, centres=rows)

    def without(self, name: str) -> Genres:
        """These genres as if this one were unknown; the last genre stays."""
        if name not in self.names or len(self) == 1:
            return self
        kept = [at for at, one in enumerate(self.names) if one != name]
        return replace(self, names=tuple(self.names[at] for at in kept), centres=self.centres[kept])

    def nearest(self, levs: AnyFloats) -> str:
        """The genre whose centre is nearest to the mean of LEVs (documents, lev_size)."""
        distances = np.square(self.centres - levs.mean(axis=0)).sum(axis=1)
        return self.names[int(distances.argmin())]

    def groups(self, levs: FloatArray) -> tuple[Group, ...]:
        """The two groups that texts (documents, lev_size) fall apart into, the larger one first.

        None where they do not: texts of one genre differ, too, and those of two centuries differ
        more. So the groups must be far apart compared with the spread inside them, and farther than
        the genres of the model are from the middle of all, in the directions in which these differ.
        """
        if len(levs) < _FEWEST_GROUPED or len(self) < 2:
            return ()
        among = (levs - levs.mean(axis=0)) @ self.basis.T  # (documents, directions)
        along = among @ np.linalg.svd(among, full_matrices=False)[2][0]  # (documents,)
        order = np.argsort(along, kind="stable")
        cut = _best_cut(along[order])
        parts = sorted((order[:cut], order[cut:]), key=len, reverse=True)
        gap = abs(float(along[parts[0]].mean() - along[parts[1]].mean()))
        within = sum(float(along[part].var()) * len(part) for part in parts) / (len(levs) - 2)
        spread = self._axes[1].sum()  # how far genres are from the middle, squared, on average
        if gap < max(_CLEAR_GAP * within**0.5, _FAR * spread**0.5):
            return ()
        return tuple(
            Group(share=len(part) / len(levs), genre=self.nearest(levs[part])) for part in parts
        )


def _best_cut(values: FloatArray) -> int:
    """Where rising values are cut in two so that those of either part differ least."""
    count = len(values)
    least = max(2, round(_SMALLEST_GROUP * count))
    cuts = np.arange(least, count - least + 1)
    sums = np.cumsum(values)[cuts - 1]  # (cuts,): of the values before each cut
    gaps = sums / cuts - (values.sum() - sums) / (count - cuts)
    return int(cuts[np.argmax(cuts * (count - cuts) * np.square(gaps))])
