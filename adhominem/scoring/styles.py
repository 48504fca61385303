"""From LEVs to what is compared: how a text departs from others of its kind.

A LEV tells what kind of text it is of (a blog, a sermon) louder than who wrote it. So it is moved
to the centre of its kind and brought to unit length; what is left is the author's. The centre is
the mean of a *relevant population*, texts of that kind by anybody. Where none is given, it is
guessed from the kinds of text that the model was trained on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.scoring.isotropic import IsotropicTwoCovariance
from adhominem.scoring.two_covariance import TwoCovariance

FloatArray = npt.NDArray[np.float64]

_LARGEST_FULL = 200  # dimensions that covariance matrices are estimated for
_SHARPNESS = 1.0  # of the guess
_GUESSED_TEXTS = 5  # that the guess counts as, beside those of a population


@dataclass(frozen=True)
class Styles:
    """The kinds of text in training, and the two-covariance model of what is left without them."""

    kinds: tuple[str, ...]
    centres: FloatArray  # (kinds, lev_size): the mean LEV of each
    two_covariance: TwoCovariance

    @classmethod
    def fit(
        cls,
        levs: npt.NDArray[np.floating],
        authors: npt.NDArray[np.integer],
        corpora: npt.NDArray[np.integer],
        names: list[str],
    ) -> Styles:
        """From the training LEVs (documents, lev_size): each corpus is a kind of text."""
        present = np.unique(corpora)
        centres = np.array([levs[corpora == each].mean(axis=0) for each in present], np.float64)
        styles = unit(levs - centres[np.searchsorted(present, corpora)])
        model: TwoCovariance
        if levs.shape[1] > _LARGEST_FULL:
            model = IsotropicTwoCovariance.of(styles, authors)
        else:
            several = np.bincount(authors)[authors] > 1
            model = TwoCovariance(max_iterations=30).fit(styles[several], authors[several])
        return cls(tuple(names[each] for each in present), centres, model)

    def guess(self, levs: FloatArray) -> FloatArray:
        """(kinds,): how much each kind of training text takes part in the centre of these LEVs.

        The LEVs are taken to be of one kind. The more texts there are, the surer the guess.
        """
        mean = levs.mean(axis=0)
        distances = np.square(self.centres - mean).sum(axis=1)  # (kinds,)
        rest = distances - distances.min()
        scale = np.square(self.centres - self.centres.mean(axis=0)).sum(axis=1).mean()
        weights = np.exp(-_SHARPNESS * len(self.kinds) * rest / max(scale, 1e-300))
        return np.asarray(weights / weights.sum())

    def centre(self, levs: FloatArray, population: tuple[FloatArray, int] | None) -> FloatArray:
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
        first: FloatArray,
        second: FloatArray,
        population: tuple[FloatArray, int] | None = None,
    ) -> FloatArray:
        """(pairs,): of two LEVs each, with the mean LEV of a population and its texts if known."""
        centres = np.array(
            [self.centre(np.stack(pair), population) for pair in zip(first, second, strict=True)]
        ).reshape(first.shape)
        sides = (unit(first - centres), unit(second - centres))
        return self.two_covariance.log_bayes_factor(*sides)

    def log_bayes_factor_of_sets(
        self,
        first: FloatArray,
        second: FloatArray,
        population: tuple[FloatArray, int] | None = None,
    ) -> FloatArray:
        """(1,): of all LEVs of one side, and all of the other."""
        centre = self.centre(np.concatenate([first, second]), population)
        sides = ([unit(first - centre)], [unit(second - centre)])
        return self.two_covariance.log_bayes_factor(*sides)


def unit(levs: npt.NDArray[np.floating]) -> FloatArray:
    """(documents, lev_size): brought to length 1; a LEV of nothing stays nothing."""
    lengths = np.linalg.norm(levs, axis=1, keepdims=True)
    return np.asarray(levs / np.maximum(lengths, 1e-12))
