"""The genres that a model knows, the directions in which they differ, and texts' coordinates there.

For the three-level model a text is its coordinates in the directions in which genres differ, and
its scalar products with other texts in all others: see `PairGeometry`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, BoolArray, FloatArray
from adhominem.score.products import Cohort, PairProducts

USUAL_TOKENS = 650.0
_TOKENS = (60.0, 20_000.0)  # lengths beyond count as these
_SAME = 1e-8  # share of the squared lengths of two texts; closer together, they are copies
_FEWEST = 3  # texts that must remain in a population when one is left out of it
_USUAL = 0.5  # quantile of training texts' distances from their centre
_NARROW = 1e-6  # of the largest variance: directions with less are dropped
_FEWEST_GROUPED = 20  # texts: smaller sets easily seem to fall into two groups
_SMALLEST_GROUP = 0.1  # share of the texts
_CLEAR_GAP = 4.0  # between two groups, in standard deviations inside them
_FAR = 1.1  # multiple of the genres' distance from the middle of all


class PairRows:
    """A dataclass whose arrays, and those of nested dataclasses, have a row for each pair."""

    def __getitem__(self, chosen: slice | npt.NDArray[Any]) -> Self:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return type(self)(**{name: _chosen(getattr(self, name), chosen) for name in names})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The concatenated pairs of several records, padded with zeros for missing texts."""
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: _in_a_row([getattr(part, name) for part in parts]) for name in names})


def _chosen(value: Any, rows: slice | npt.NDArray[Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_chosen(one, rows) for one in value)
    return value[rows] if isinstance(value, np.ndarray | PairRows) else value


def _in_a_row(values: Sequence[Any]) -> Any:
    """The concatenated arrays of several records; other values are equal in all."""
    first = values[0]
    if isinstance(first, tuple):
        return tuple(_in_a_row(column) for column in zip(*values, strict=True))
    if isinstance(first, PairRows):
        return type(first).joined(values)
    if not isinstance(first, np.ndarray):
        return first
    shape = np.max([array.shape for array in values], axis=0)[1:]
    widths = [[(0, 0), *((0, n) for n in shape - array.shape[1:])] for array in values]
    return np.concatenate(
        [np.pad(array, w) if np.any(w) else array for array, w in zip(values, widths, strict=True)]
    )


@dataclass(frozen=True, kw_only=True)
class Group:
    """A group of texts that is clearly separate from the others."""

    share: float  # of all texts
    genre: str  # the model's nearest genre


@dataclass(frozen=True)
class Genres:
    """The centre of each known genre, and how widely texts are spread around it."""

    names: tuple[str, ...]
    centres: FloatArray  # (genres, lev_size): the mean LEV of each genre
    usual: float  # the median distance of training texts from their centre

    @classmethod
    def fit(cls, levs: AnyFloats, corpora: npt.NDArray[np.integer], names: Sequence[str]) -> Genres:
        """Genres from the training LEVs (documents, lev_size), taking each corpus as one genre."""
        present = np.unique(corpora)
        centres = np.array([levs[corpora == corpus].mean(axis=0) for corpus in present], np.float64)
        rest = levs - centres[np.searchsorted(present, corpora)]
        usual = float(np.quantile(np.linalg.norm(rest, axis=1), _USUAL))
        return cls(tuple(names[corpus] for corpus in present), centres, usual)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def middle(self) -> FloatArray:
        """The mean (lev_size,) of all centres."""
        return np.asarray(self.centres.mean(axis=0))

    @property
    def middle_square(self) -> float:
        """The squared length of `middle`."""
        return float(self.middle @ self.middle)

    @cached_property
    def _middle_products(self) -> FloatArray:
        """The products (genres,) of the centres with their middle."""
        return np.asarray(self.centres @ self.middle)

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        """The map (genres, directions) from products to coordinates; variances (directions,)."""
        from_middle = self.centres - self.middle
        variances, vectors = np.linalg.eigh(from_middle @ from_middle.T)
        kept = variances > _NARROW * max(variances[-1], 1e-300)
        kept[0] &= len(self) > 1  # deviations from a mean add up to 0, so the smallest is void
        kept[0] = False
        variances, vectors = variances[kept][::-1], vectors[:, kept][:, ::-1]
        return vectors / np.sqrt(variances), variances / len(self)

    @property
    def directions(self) -> int:
        """The number of directions in which genres differ; at least one, so that means exist."""
        return max(1, int(self._axes[0].shape[1]))

    @cached_property
    def variances(self) -> FloatArray:
        """The variances (directions,) of the centres, in units of the usual distance."""
        return self._filled(self._axes[1] / self.usual**2)

    @cached_property
    def places(self) -> FloatArray:
        """The coordinates (genres, directions) of the centres."""
        return self.coordinates(self.centres @ self.centres.T)

    @cached_property
    def basis(self) -> FloatArray:
        """An orthonormal basis (directions, lev_size) of the genre directions."""
        return np.asarray(self._axes[0].T @ (self.centres - self.middle))

    def coordinates(self, to_genres: FloatArray) -> FloatArray:
        """The coordinates (..., directions) of LEVs from products (..., genres) with centres."""
        from_middle = to_genres - self._middle_products
        axes = self._axes[0]
        # The directions are orthogonal to what all centres have in common.
        return self._filled(
            (from_middle - from_middle.mean(axis=-1, keepdims=True)) @ axes / self.usual
        )

    def to_middle(self, to_genres: FloatArray) -> FloatArray:
        """The products (...) of LEVs with the middle, from those (..., genres) with the centres."""
        return np.asarray(to_genres.mean(axis=-1))

    def _filled(self, values: FloatArray) -> FloatArray:
        """The values, or one zero where there are no directions, as with a single genre."""
        if values.shape[-1]:
            return np.asarray(values)
        return np.zeros((*values.shape[:-1], 1))

    def with_centres(self, centres: Mapping[str, FloatArray]) -> Genres:
        """A copy with further genres; those of the same names are replaced."""
        kept = [at for at, name in enumerate(self.names) if name not in centres]
        names = (*(self.names[at] for at in kept), *centres)
        rows = np.concatenate([self.centres[kept], np.array(list(centres.values()))])
        return replace(self, names=names, centres=rows)

    def without(self, name: str) -> Genres:
        """A copy without one genre; the only genre stays."""
        if name not in self.names or len(self) == 1:
            return self
        kept = [at for at, one in enumerate(self.names) if one != name]
        return replace(self, names=tuple(self.names[at] for at in kept), centres=self.centres[kept])

    def nearest(self, levs: AnyFloats) -> str:
        """The genre whose centre is nearest to the mean of LEVs (documents, lev_size)."""
        distances = np.square(self.centres - levs.mean(axis=0)).sum(axis=1)
        return self.names[int(distances.argmin())]

    def groups(self, levs: FloatArray) -> tuple[Group, ...]:
        """The two groups that texts (documents, lev_size) fall into, the larger one first.

        Empty if they do not: texts of one genre differ too, and those of two centuries differ
        more. So the groups must be far apart compared with the spread within them, and farther than
        the model's genres are from their common middle, in the directions in which genres differ.
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
        spread = self._axes[1].sum()  # mean squared distance of the genres from the middle
        if gap < max(_CLEAR_GAP * within**0.5, _FAR * spread**0.5):
            return ()
        return tuple(
            Group(share=len(part) / len(levs), genre=self.nearest(levs[part])) for part in parts
        )


def _best_cut(values: FloatArray) -> int:
    """The index that cuts sorted values into the two parts with the smallest variances."""
    count = len(values)
    least = max(2, round(_SMALLEST_GROUP * count))
    cuts = np.arange(least, count - least + 1)
    sums = np.cumsum(values)[cuts - 1]  # (cuts,): of the values before each cut
    gaps = sums / cuts - (values.sum() - sums) / (count - cuts)
    return int(cuts[np.argmax(cuts * (count - cuts) * np.square(gaps))])


# Coordinates of texts


def noise_of(log_tokens: FloatArray) -> FloatArray:
    """The factor by which length scales a text's variance: 1 at 650 tokens, smaller if longer."""
    return np.asarray(np.sqrt(USUAL_TOKENS / np.clip(np.exp(log_tokens), *_TOKENS)))


@dataclass(frozen=True)
class PairGeometry(PairRows):
    """Coordinates of the texts of some pairs for one member, relative to the middle of the genres.

    `genre` are coordinates in the directions in which genres differ, `rest` scalar products in the
    remaining ones. The population's mean leaves out the texts of the pair itself.
    """

    genres: Genres
    in_side: tuple[BoolArray, BoolArray]  # (pairs, texts) each: which texts a side has
    noise: FloatArray  # (pairs, texts): see `noise_of`
    genre: FloatArray  # (pairs, texts, directions)
    rest: FloatArray  # (pairs, texts, texts)
    population: PopulationGeometry | None

    @classmethod
    def of(
        cls, genres: Genres, pairs: PairProducts, log_tokens: FloatArray, cohort: Cohort | None
    ) -> PairGeometry:
        """The geometry from products of LEVs; `log_tokens` (pairs, texts) are the lengths."""
        present = pairs.in_side[0] | pairs.in_side[1]  # (pairs, texts)
        genre = genres.coordinates(pairs.to_genres) * present[:, :, None]
        to_middle = genres.to_middle(pairs.to_genres) * present  # (pairs, texts)
        rest = pairs.between - to_middle[:, :, None] - to_middle[:, None, :] + genres.middle_square
        rest *= present[:, :, None] & present[:, None, :]
        rest /= genres.usual**2
        rest -= genre @ genre.transpose(0, 2, 1)
        population = None
        if cohort is not None:
            population = PopulationGeometry.of(genres, pairs, cohort, genre, to_middle)
        return cls(genres, pairs.in_side, noise_of(log_tokens), genre, rest, population)

    @classmethod
    def of_side(cls, genres: Genres, to_genres: FloatArray, log_tokens: FloatArray) -> PairGeometry:
        """One pair with one side, from products (texts, genres): enough for inferring its genre."""
        texts = len(to_genres)
        present, nothing = np.ones((1, texts), dtype=bool), np.zeros((1, texts), dtype=bool)
        genre, noise = genres.coordinates(to_genres)[None], noise_of(log_tokens)[None]
        return cls(genres, (present, nothing), noise, genre, np.zeros((1, texts, texts)), None)

    @property
    def present(self) -> BoolArray:
        """A mask (pairs, texts) of the texts that are not padding."""
        return self.in_side[0] | self.in_side[1]


@dataclass(frozen=True)
class PopulationGeometry(PairRows):
    """Coordinates of a population for one member, for each pair without the pair's own texts."""

    texts: FloatArray  # (pairs,)
    authors: FloatArray  # (pairs,): several texts by one person say less about c
    noise: FloatArray  # (pairs,): of its texts on average
    mean: FloatArray  # (pairs, directions)
    mean_square: FloatArray  # (pairs,): rest
    to_mean: FloatArray  # (pairs, texts): rest
    kept: BoolArray  # (pairs, cohort): which cohort texts are not the pair's own
    cohort: FloatArray  # (cohort, directions); or (pairs, cohort, directions), if it differs
    cohort_squares: FloatArray  # (cohort,), or (pairs, cohort): rest
    cohort_to_mean: FloatArray  # (pairs, cohort): rest
    to_cohort: FloatArray  # (pairs, texts, cohort): rest
    inside: FloatArray  # (pairs, texts): how many copies of a text stood in the population

    @cached_property
    def powers(self) -> FloatArray:
        """The coordinates `cohort` and their squares, (..., 2 directions)."""
        return np.concatenate([self.cohort, np.square(self.cohort)], axis=-1)

    @classmethod
    def of(
        cls,
        genres: Genres,
        pairs: PairProducts,
        cohort: Cohort,
        genre: FloatArray,
        to_middle: FloatArray,
    ) -> PopulationGeometry:
        """The geometry from products of LEVs."""
        others = Others.of(pairs, cohort)
        unit, square = genres.usual**2, genres.middle_square
        mean = genres.coordinates(others.mean_to_genres)  # (pairs, directions)
        middle = genres.to_middle(others.mean_to_genres)  # (pairs,)
        coordinates = genres.coordinates(cohort.to_genres)  # (cohort, directions)
        cohort_middle = genres.to_middle(cohort.to_genres)  # (cohort,)

        def rest(
            products: FloatArray, one: FloatArray, other: FloatArray, inside: FloatArray
        ) -> FloatArray:
            return (products - one - other + square) / unit - inside

        return cls(
            texts=others.texts,
            authors=others.texts * (cohort.authors / cohort.texts),
            noise=np.full(len(pairs), float(noise_of(cohort.log_tokens).mean())),
            mean=mean,
            mean_square=rest(others.square, middle, middle, np.square(mean).sum(axis=1)),
            to_mean=rest(
                others.to_mean, to_middle, middle[:, None], np.einsum("ptr,pr->pt", genre, mean)
            ),
            kept=others.kept,
            cohort=coordinates,
            cohort_squares=rest(
                cohort.squares, cohort_middle, cohort_middle, np.square(coordinates).sum(axis=1)
            ),
            cohort_to_mean=rest(
                others.cohort_to_mean, cohort_middle, middle[:, None], mean @ coordinates.T
            ),
            to_cohort=rest(
                pairs.to_cohort, to_middle[:, :, None], cohort_middle, genre @ coordinates.T
            ),
            inside=others.inside,
        )

    @classmethod
    def joined(cls, parts: Sequence[PopulationGeometry]) -> PopulationGeometry:
        """The concatenated pairs of several geometries, whose cohorts are equally large."""
        return super().joined([part._by_pair() for part in parts])

    def _by_pair(self) -> PopulationGeometry:
        """A copy in which the cohort is repeated for each pair."""
        if self.cohort.ndim == 3:
            return self
        return replace(
            self,
            cohort=np.broadcast_to(self.cohort, (len(self.texts), *self.cohort.shape)),
            cohort_squares=np.broadcast_to(self.cohort_squares, self.kept.shape),
        )


@dataclass(frozen=True)
class Others:
    """The population of each pair: all texts but those of the pair itself.

    Texts that belong to their own population would otherwise be compared with themselves.
    """

    texts: FloatArray  # (pairs,): number of texts
    square: FloatArray  # (pairs,): squared length of their mean
    to_mean: FloatArray  # (pairs, texts): products of the pair's texts with that mean
    mean_to_genres: FloatArray  # (pairs, genres)
    kept: BoolArray  # (pairs, cohort): which cohort texts are not the pair's own
    cohort_to_mean: FloatArray  # (pairs, cohort)
    inside: FloatArray  # (pairs, texts): how many copies of each text stand in the population

    @classmethod
    def of(cls, pairs: PairProducts, cohort: Cohort) -> Others:
        """The other texts; a pair's own texts are recognised by their distance of zero."""
        n, present = cohort.texts, pairs.in_side[0] | pairs.in_side[1]
        squares = np.einsum("ptt->pt", pairs.between)[:, :, None] + cohort.squares
        copies = squares - 2 * pairs.to_cohort <= _SAME * squares  # (pairs, texts, cohort)
        copies &= present[:, :, None]
        taken = np.zeros_like(copies[:, 0])  # (pairs, cohort)
        for of_text in copies.transpose(1, 0, 2):  # each cohort text is a copy of one text at most
            of_text &= ~taken
            taken |= of_text
        copies &= (n - copies.sum(axis=(1, 2)) >= _FEWEST)[:, None, None]
        inside = copies.sum(axis=2).astype(np.float64)  # (pairs, texts)
        copied = copies.any(axis=1)  # (pairs, cohort)
        left = n - copied.sum(axis=1).astype(np.float64)  # (pairs,)
        # The mean of the others is the sum of all less that of the copies.
        with_all = copied @ cohort.to_mean  # (pairs,)
        among = np.einsum("ps,pst,pt->p", inside, pairs.between, inside)
        to_copied = np.einsum("ps,pst->pt", inside, pairs.between)  # (pairs, texts)
        cohort_to_copied = np.einsum("pt,ptc->pc", inside, pairs.to_cohort)  # (pairs, cohort)
        return cls(
            texts=left,
            square=(n**2 * cohort.square - 2 * n * with_all + among) / left**2,
            to_mean=(n * pairs.to_mean - to_copied) / left[:, None],
            mean_to_genres=(n * cohort.mean_to_genres - copied @ cohort.to_genres) / left[:, None],
            kept=~copied,
            cohort_to_mean=(n * cohort.to_mean - cohort_to_copied) / left[:, None],
            inside=inside,
        )
