"""From LEVs to what is compared: how a text departs from others of its kind.

A LEV tells what kind of text it is of (a blog, a sermon) louder than who wrote it. So it is moved
to the centre of its kind and brought to unit length; what is left is the author's. The centre is
the mean of a *relevant population*, texts of that kind by anybody. Where none is given, it is
guessed from the kinds of text that the model was trained on.

Two more numbers say how much a score is worth, the *context* of a comparison:

    noise    the logarithm of how far the texts are from the centre: short texts are far
    novelty  how far the texts as a whole are from the nearest kind of training text; texts of a
             kind that the model does not know resemble each other, whoever wrote them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adhominem.scoring.isotropic import IsotropicTwoCovariance
from adhominem.scoring.two_covariance import TwoCovariance

FloatArray = npt.NDArray[np.float64]
Centre = tuple[FloatArray, int]  # the mean LEV of a population, and how many texts it is of

_LARGEST_FULL = 100  # dimensions that covariance matrices are estimated for
_LARGEST_WHITENED = 2_048  # dimensions that novelty is measured in
_SHRINKAGE = 0.5  # of the covariance within kinds to a multiple of the identity
_SHARPNESS = 1.0  # of the guess
_GUESSED_TEXTS = 5  # that the guess counts as, beside those of a population


@dataclass(frozen=True)
class Styles:
    """The kinds of text in training, and the two-covariance model of what is left without them."""

    kinds: tuple[str, ...]
    centres: FloatArray  # (kinds, lev_size): the mean LEV of each
    two_covariance: TwoCovariance
    whitening: FloatArray | None = None  # (lev_size, lev_size): of the variation within kinds

    @classmethod
    def fit(
        cls,
        levs: npt.NDArray[np.floating],
        authors: npt.NDArray[np.integer],
        corpora: npt.NDArray[np.integer],
        names: Sequence[str],
    ) -> Styles:
        """From the training LEVs (documents, lev_size): each corpus is a kind of text."""
        present = np.unique(corpora)
        centres = np.array([levs[corpora == each].mean(axis=0) for each in present], np.float64)
        rest = levs - centres[np.searchsorted(present, corpora)]
        styles = unit(rest)
        model: TwoCovariance
        if levs.shape[1] > _LARGEST_FULL:
            model = IsotropicTwoCovariance.of(styles, authors)
        else:
            several = np.bincount(authors)[authors] > 1
            model = TwoCovariance(max_iterations=30).fit(styles[several], authors[several])
        kinds = tuple(names[each] for each in present)
        small = levs.shape[1] <= _LARGEST_WHITENED
        return cls(kinds, centres, model, _whitening(rest) if small else None)

    def without(self, kind: str) -> Styles:
        """The same as if this kind of text had not been known; the only one stays."""
        if self.kinds == (kind,) or kind not in self.kinds:
            return self
        kept = [each != kind for each in self.kinds]
        names = tuple(each for each in self.kinds if each != kind)
        return replace(self, kinds=names, centres=self.centres[kept])

    def guess(self, levs: FloatArray) -> FloatArray:
        """(kinds,): how much each kind of training text takes part in the centre of these LEVs.

        The LEVs are taken to be of one kind.
        """
        mean = levs.mean(axis=0)
        distances = np.square(self.centres - mean).sum(axis=1)  # (kinds,)
        rest = distances - distances.min()
        scale = np.square(self.centres - self.centres.mean(axis=0)).sum(axis=1).mean()
        weights = np.exp(-_SHARPNESS * len(self.kinds) * rest / max(scale, 1e-300))
        return np.asarray(weights / weights.sum())

    def centre(self, levs: FloatArray, population: Centre | None) -> FloatArray:
        """(lev_size,): of the kind that these LEVs are of.

        A population's mean, as far as it has texts enough; the guess counts as a few more texts.
        """
        guess = self.guess(levs) @ self.centres
        if population is None:
            return np.asarray(guess)
        mean, texts = population
        return np.asarray((texts * mean + _GUESSED_TEXTS * guess) / (texts + _GUESSED_TEXTS))

    def log_bayes_factor(
        self,
        first: Sequence[FloatArray],
        second: Sequence[FloatArray],
        population: Centre | None = None,
    ) -> FloatArray:
        """(pairs,): of the LEVs (documents, lev_size) of each first and second side."""
        sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
        for pair in zip(first, second, strict=True):
            centre = self.centre(np.concatenate(pair), population)
            for side, levs in zip(sides, pair, strict=True):
                side.append(unit(levs - centre))
        return self.two_covariance.log_bayes_factor(*sides)

    def context(
        self,
        first: Sequence[FloatArray],
        second: Sequence[FloatArray],
        population: Centre | None = None,
    ) -> FloatArray:
        """(2, pairs): noise and novelty; with a population, no kind of text is novel."""
        found = np.zeros((2, len(first)))
        for at, pair in enumerate(zip(first, second, strict=True)):
            levs = np.concatenate(pair)
            rest = levs - self.centre(levs, population)
            found[0, at] = 0.5 * np.log(max(np.square(rest).sum(axis=1).mean(), 1e-300))
            if population is None:
                found[1, at] = self.novelty(levs)
        return found

    def novelty(self, levs: FloatArray) -> float:
        """How far these texts as a whole are from the nearest kind, in standard deviations."""
        if self.whitening is None:
            return 0.0
        rest = (levs.mean(axis=0) - self.centres) @ self.whitening  # (kinds, lev_size)
        nearest = np.square(rest).sum(axis=1).min()
        return float(np.sqrt(nearest * len(levs) / levs.shape[1]))


def unit(levs: npt.NDArray[np.floating]) -> FloatArray:
    """(documents, lev_size): brought to length 1; a LEV of nothing stays nothing."""
    lengths = np.linalg.norm(levs, axis=1, keepdims=True)
    return np.asarray(levs / np.maximum(lengths, 1e-12))


def _whitening(rest: npt.NDArray[np.floating]) -> FloatArray:
    """(lev_size, lev_size): to unit variance, as far as the variation is known."""
    covariance = rest.T @ rest / len(rest)
    mean = np.trace(covariance) / len(covariance)
    shrunk = (1 - _SHRINKAGE) * covariance + _SHRINKAGE * mean * np.eye(len(covariance))
    variances, directions = np.linalg.eigh(shrunk)
    return np.asarray(directions / np.sqrt(np.maximum(variances, 1e-30)))
