"""From LEVs to what is compared: how a text departs from others of its genre.

A LEV shows the genre of a text (a blog, a sermon) more clearly than its author. So it is moved
to the centre of its genre and brought to unit length; what is left is the author's. The centre is
the mean of a *relevant population*, texts of that genre by anybody. Where none is given, it is
guessed from the genres that the model was trained on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from adhominem.arrays import AnyFloats, FloatArray, IntArray
from adhominem.scoring.two_covariance import BayesFactorModel, IsotropicTwoCovariance, TwoCovariance

_LARGEST_FULL = 100  # dimensions that covariance matrices are estimated for
_SHARPNESS = 1.0  # of the guess
_USUAL = 0.5  # share of training texts that are nearer to their centre than is usual
_TYPICAL = 0.99  # share of the training texts that lie within the limits
_FLAT = 1e-6  # of the largest variance: the least that a direction counts as having
_LEAST_ROOM = 1e-9  # that the other texts leave for one of them
_GUESSED_TEXTS = 5  # that the guess counts as, beside those of a population


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

    def with_genres(self, centres: Mapping[str, FloatArray]) -> Styles:
        """These styles with further genres, or others in place of those of the same names."""
        kept = [at for at, genre in enumerate(self.genres) if genre not in centres]
        genres = (*(self.genres[at] for at in kept), *centres)
        rows = np.concatenate([self.centres[kept], np.array(list(centres.values()))])
        return replace(self, genres=genres, centres=rows)

    def without(self, genre: str, nearest: int = 0) -> Styles:
        """These styles as if this genre, and so many of those most like it, were unknown.

        The last genre stays.
        """
        if genre not in self.genres:
            return self
        centre = self.centres[self.genres.index(genre)]
        far = np.argsort(-np.square(self.centres - centre).sum(axis=1), kind="stable")
        kept = np.sort(far[: max(1, len(far) - 1 - nearest)])
        return replace(
            self, genres=tuple(self.genres[at] for at in kept), centres=self.centres[kept]
        )

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
        scale = np.square(self.centres - self.centres.mean(axis=0)).sum(axis=1).mean()
        weights = np.exp(-_SHARPNESS * len(self.genres) * rest / max(float(scale), 1e-300))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    def shares(self, levs: FloatArray) -> dict[str, float]:
        """What share of texts (documents, lev_size) is nearest to each genre; the largest first."""
        distances = np.square(self.centres).sum(axis=1) - 2 * levs @ self.centres.T
        counts = np.bincount(distances.argmin(axis=1), minlength=len(self.genres))
        order = np.argsort(-counts, kind="stable")
        return {self.genres[at]: float(counts[at] / len(levs)) for at in order if counts[at]}

    def centre(self, levs: FloatArray, population: FloatArray | None, texts: int = 0) -> FloatArray:
        """(lev_size,): of the genre that these LEVs are of.

        A population's mean, as far as it has texts enough; the guess counts as a few more texts.
        """
        guess = np.asarray(self.guess(levs) @ self.centres)
        if population is None:
            return guess
        share = guess_share(texts)
        return np.asarray((1 - share) * population + share * guess)

    def style(self, levs: FloatArray, population: FloatArray, texts: int) -> FloatArray:
        """(documents, lev_size): how texts depart from a population of so many, of their genre."""
        return unit(levs - self.centre(population[None], population, texts), self.usual)


def guess_share(texts: int) -> float:
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
