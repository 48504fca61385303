"""From LEVs to what is compared: how a text departs from others of its genre.

A LEV shows the genre of a text (a blog, a sermon) more clearly than its author. So it is moved
to the centre of its genre and brought to unit length; what is left is the author's. The centre is
the mean of a *relevant population*, texts of that genre by anybody. Where none is given, it is
guessed from the genres that the model knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, FloatArray, IntArray
from adhominem.scoring.two_covariance import BayesFactorModel, IsotropicTwoCovariance, TwoCovariance

_LARGEST_FULL = 100  # dimensions that covariance matrices are estimated for
_SHARPNESS = 7.0  # of the guess: see `Styles.mix`
_USUAL = 0.5  # share of training texts that are nearer to their centre than is usual
_TYPICAL = 0.99  # share of the training texts that lie within the limits
_NARROW = 1e-4  # of the largest spread of genres: in directions with less of it they hardly differ
_FLAT = 1e-6  # of the largest variance: the least that a direction counts as having
_LEAST_ROOM = 1e-9  # that the other texts leave for one of them
_GUESSED_TEXTS = 5  # that the guess counts as, beside those of a population
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
class Styles:
    """The genres in training, and the two-covariance model of what is left without them."""

    genres: tuple[str, ...]
    centres: FloatArray  # (genres, lev_size): the mean LEV of each
    two_covariance: BayesFactorModel
    usual: float  # how far half of the training texts are from their centre, or farther

    @classmethod
    def fit(
        cls,
        levs: AnyFloats,
        authors: npt.NDArray[np.integer],
        corpora: npt.NDArray[np.integer],
        names: Sequence[str],
    ) -> Styles:
        """From the training LEVs (documents, lev_size): each corpus is a genre."""
        present = np.unique(corpora)
        centres = np.array([levs[corpora == corpus].mean(axis=0) for corpus in present], np.float64)
        rest = levs - centres[np.searchsorted(present, corpora)]
        usual = float(np.quantile(np.linalg.norm(rest, axis=1), _USUAL))
        styles = unit(rest, usual)
        model: BayesFactorModel
        if levs.shape[1] > _LARGEST_FULL:
            model = IsotropicTwoCovariance.of(styles, authors)
        else:
            several = np.bincount(authors)[authors] > 1
            model = TwoCovariance(max_iterations=30).fit(styles[several], authors[several])
        return cls(tuple(names[corpus] for corpus in present), centres, model, usual)

    @cached_property
    def products(self) -> FloatArray:
        """(genres, genres): the scalar products of the centres."""
        return np.asarray(self.centres @ self.centres.T)

    @cached_property
    def spread(self) -> float:
        """How far the genres are from the middle of all, squared, on average."""
        return float(np.square(self.centres - self.centres.mean(axis=0)).sum(axis=1).mean())

    @cached_property
    def among_genres(self) -> FloatArray:
        """(genres, genres): makes a product of two LEVs' products with the genres' centres.

        It is that of the LEVs' shadows in the directions in which the genres differ, where genres
        are 1 apart from their middle on average.
        """
        from_middle = np.eye(len(self.genres)) - 1 / len(self.genres)
        among = from_middle @ self.products @ from_middle
        inverse = np.linalg.pinv(among, _NARROW, hermitian=True)
        return np.asarray(from_middle @ inverse @ from_middle / max(self.spread, 1e-300))

    def with_genres(self, centres: Mapping[str, FloatArray]) -> Styles:
        """These styles with further genres, or others in place of those of the same names."""
        kept = [at for at, genre in enumerate(self.genres) if genre not in centres]
        genres = (*(self.genres[at] for at in kept), *centres)
        rows = np.concatenate([self.centres[kept], np.array(list(centres.values()))])
        return replace(self, genres=genres, centres=rows)

    def without(self, genre: str) -> Styles:
        """These styles as if this genre were unknown; the last genre stays."""
        if genre not in self.genres or len(self.genres) == 1:
            return self
        kept = [at for at, name in enumerate(self.genres) if name != genre]
        genres = tuple(self.genres[at] for at in kept)
        return replace(self, genres=genres, centres=self.centres[kept])

    def guess(self, levs: FloatArray) -> FloatArray:
        """(genres,): how much each genre takes part in the centre of these LEVs.

        The LEVs are taken to be of one genre.
        """
        return self.mix(np.square(self.centres - levs.mean(axis=0)).sum(axis=1))

    def mix(self, distances: FloatArray) -> FloatArray:
        """(..., genres): shares by the squared distances (..., genres) to the centres.

        What is added to all distances of a row makes no difference.
        """
        rest = distances - distances.min(axis=-1, keepdims=True)
        weights = np.exp(-_SHARPNESS * rest / max(self.spread, 1e-300))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def groups(self, levs: FloatArray) -> tuple[Group, ...]:
        """The two groups that texts (documents, lev_size) fall apart into, the larger one first.

        None where they do not: texts of one genre differ, too, and those of two centuries differ
        more. So the groups must be far apart compared with the spread inside them, and farther than
        the genres of the model are from the middle of all, in the directions in which these differ.
        """
        if len(levs) < _FEWEST_GROUPED or len(self.genres) < 2:
            return ()
        among = (levs - levs.mean(axis=0)) @ self._directions.T  # (documents, genres - 1)
        along = among @ np.linalg.svd(among, full_matrices=False)[2][0]  # (documents,)
        order = np.argsort(along, kind="stable")
        cut = _best_cut(along[order])
        parts = sorted((order[:cut], order[cut:]), key=len, reverse=True)
        gap = abs(float(along[parts[0]].mean() - along[parts[1]].mean()))
        within = sum(float(along[part].var()) * len(part) for part in parts) / (len(levs) - 2)
        if gap < max(_CLEAR_GAP * within**0.5, _FAR * self.spread**0.5):
            return ()
        return tuple(
            Group(
                share=len(part) / len(levs),
                genre=self.genres[int(self.guess(levs[part]).argmax())],
            )
            for part in parts
        )

    @cached_property
    def _directions(self) -> FloatArray:
        """(genres - 1, lev_size): those in which the genres differ, at right angles."""
        rows = self.centres - self.centres.mean(axis=0)
        return np.asarray(np.linalg.svd(rows, full_matrices=False)[2][:-1])

    def centre(self, levs: FloatArray, population: FloatArray | None, texts: int = 0) -> FloatArray:
        """(lev_size,): of the genre that these LEVs are of.

        A population's mean, as far as it has texts enough; the guess counts as a few more texts.
        """
        guess = np.asarray(self.guess(levs) @ self.centres)
        if population is None:
            return guess
        share = guess_share(texts)
        return np.asarray((1 - share) * population + share * guess)


def _best_cut(values: FloatArray) -> int:
    """Where rising values are cut in two so that those of either part differ least."""
    count = len(values)
    least = max(2, round(_SMALLEST_GROUP * count))
    cuts = np.arange(least, count - least + 1)
    sums = np.cumsum(values)[cuts - 1]  # (cuts,): of the values before each cut
    gaps = sums / cuts - (values.sum() - sums) / (count - cuts)
    return int(cuts[np.argmax(cuts * (count - cuts) * np.square(gaps))])


@overload
def guess_share(texts: int) -> float: ...
@overload
def guess_share(texts: FloatArray) -> FloatArray: ...
def guess_share(texts: int | FloatArray) -> float | FloatArray:
    """Of the guessed genre in the centre of a population: the guess counts as a few more texts."""
    return _GUESSED_TEXTS / (texts + _GUESSED_TEXTS)


def unit(levs: AnyFloats, usual: float = 0.0) -> FloatArray:
    """(documents, lev_size): brought to length 1, but not stretched if shorter than usual.

    A very long text is near the centre, since its noise averages out. At full length it would
    count for more than texts of the usual size, by which the scores are judged, can show.
    """
    lengths = np.linalg.norm(levs, axis=1, keepdims=True)
    return np.asarray(levs / np.maximum(lengths, max(usual, 1e-12)))


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
