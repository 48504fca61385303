"""The measures of one pair with vectors written out, as the modules say it in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import asinh, exp, log, sqrt
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt

from adhominem.scoring.measures import Measures
from adhominem.scoring.styles import Styles
from adhominem.scoring.two_covariance import IsotropicTwoCovariance

FloatArray = npt.NDArray[np.float64]
NAMES = (
    "log_bayes_factor",
    "standing",
    "agreement",
    "remoteness",
    "kinship",
    "misfit",
    "spread",
)


def made_up_styles(size: int, genres: int = 3, seed: int = 0) -> Styles:
    """Genres that lie apart, and an isotropic model; half of `texts_of` are nearer than usual."""
    centres = np.random.default_rng(seed).normal(size=(genres, size))
    model = IsotropicTwoCovariance(size, 0.3, 17.0)
    return Styles(tuple(f"genre {at}" for at in range(genres)), centres, model, 0.85 * size**0.5)


def texts_of(rng: np.random.Generator, styles: Styles, count: int, genre: int = 0) -> FloatArray:
    """LEVs of texts by one author."""
    size = styles.centres.shape[1]
    author = rng.normal(size=size)
    noise = rng.normal(size=(count, size)) * rng.uniform(0.3, 1, (count, 1))
    return np.asarray(styles.centres[genre] + 0.5 * author + noise)


def off_diagonal(rows: FloatArray) -> float:
    """The mean of p_i . p_j over i != j."""
    return fmean(float(one @ other) for one, other in permutations(rows, 2))


@dataclass(frozen=True)
class View:
    """A centre: texts, or a guess, or both in shares."""

    mean: FloatArray  # of the population
    mean_square: float  # of it, without a text times itself
    guess: FloatArray
    share: float  # of the guess

    @classmethod
    def of(cls, population: FloatArray | None, guess: FloatArray, share: float) -> View:
        if population is None:
            return cls(guess, float(guess @ guess), guess, 1.0)
        return cls(population.mean(axis=0), off_diagonal(population), guess, share)

    def product(self, one: FloatArray, other: FloatArray) -> float:
        """Of two texts as seen from here."""
        centre = (1 - self.share) * self.mean + self.share * self.guess
        square = (
            (1 - self.share) ** 2 * self.mean_square
            + 2 * self.share * (1 - self.share) * float(self.mean @ self.guess)
            + self.share**2 * float(self.guess @ self.guess)
        )
        return float(one @ other - one @ centre - other @ centre) + square

    def length(self, text: FloatArray) -> float:
        return sqrt(max(self.product(text, text), 1e-9))


def slow_guess(styles: Styles, texts: FloatArray) -> FloatArray:
    """(genres,): shares, the smaller the farther the middle of the texts is from a genre."""
    middle = texts.mean(axis=0)
    spread = fmean(
        float(np.sum((one - styles.centres.mean(axis=0)) ** 2)) for one in styles.centres
    )
    weights = [exp(-7 * float(np.sum((middle - one) ** 2)) / spread) for one in styles.centres]
    return np.array([weight / sum(weights) for weight in weights])


def slow_kinship(styles: Styles, first: FloatArray, second: FloatArray, view: View) -> float:
    """The product of both sides' means in the directions of genres, which have length 1 there."""
    rows = styles.centres - styles.centres.mean(axis=0)
    axes = np.linalg.svd(rows, full_matrices=False)[2][:-1]  # (genres - 1, size): at right angles
    centre = (1 - view.share) * view.mean + view.share * view.guess
    shadows = [axes @ (side.mean(axis=0) - centre) for side in (first, second)]
    return float(shadows[0] @ shadows[1]) / fmean(float(row @ row) for row in rows)


def slow_measures(
    styles: Styles, first: FloatArray, second: FloatArray, population: FloatArray | None
) -> dict[str, float]:
    """Of one pair of sides (texts, size), and the texts of a population."""
    model = styles.two_covariance
    assert isinstance(model, IsotropicTwoCovariance)
    both = np.concatenate([first, second])
    shares = slow_guess(styles, both)
    guess = shares @ styles.centres
    share = 1.0 if population is None else 5 / (len(population) + 5)
    view = View.of(population, guess, share)

    def alike(one: FloatArray, other: FloatArray) -> float:
        """The product of two styles: of length 1, or shorter where the text is near."""
        lengths = [max(view.length(text), styles.usual) for text in (one, other)]
        return view.product(one, other) / lengths[0] / lengths[1]

    def square(texts: FloatArray) -> float:
        """The squared length of the sum of styles."""
        return sum(alike(one, other) for one in texts for other in texts)

    def evidence(texts: FloatArray) -> float:
        missing = sum(1 - alike(text, text) for text in texts)
        return float(model.evidence(np.array(len(texts)), np.array(square(texts)), missing))

    product = sum(alike(one, other) for one in first for other in second)
    likeness = product / sqrt(square(first) * square(second))
    usual = 1 / sqrt(model.independent)
    standing, spread = likeness / usual, 0.0
    if population is not None:
        standing = 0.0
        for side in (first, second):
            cosines = [
                slow_cosine(styles, view, side, sqrt(square(side)), population, number)
                for number in range(len(population))
            ]
            n = len(population)
            deviation = sqrt((n * stdev(cosines) ** 2 + 10 * usual**2) / (n + 10))
            standing += (likeness - fmean(cosines)) / deviation / 2
            spread += log(deviation / usual)
    middle = both.mean(axis=0)
    return {
        "log_bayes_factor": evidence(both) - evidence(first) - evidence(second),
        "standing": 4 * asinh(standing / 4),
        "agreement": slow_agreement([first, second], alike) / usual,
        "remoteness": sum(
            log(fmean(view.length(text) ** 2 for text in side)) for side in (first, second)
        ),
        "kinship": slow_kinship(styles, first, second, view),
        "misfit": 0.0
        if population is None
        else 2
        * log(
            View.of(population, guess, 0.0).length(middle)
            / View.of(None, guess, 1.0).length(middle)
        ),
        "spread": spread,
    }


def slow_cosine(
    styles: Styles,
    view: View,
    side: FloatArray,
    length: float,
    population: FloatArray,
    number: int,
) -> float:
    """Of a side and a text of the population, as if this were none of it."""
    others = np.delete(population, number, axis=0)
    from_others = View.of(others, view.guess, view.share)
    text = population[number]
    total = sum(
        from_others.product(one, text) / max(view.length(one), styles.usual) for one in side
    )
    return total / length / max(from_others.length(text), styles.usual)


def slow_agreement(sides: Sequence[FloatArray], alike: object) -> float:
    """The mean of the products of two texts of one side, with one more that is 0."""
    assert callable(alike)
    weighed, others = 0.0, 0
    for side in sides:
        if len(side) > 1:
            weighed += (len(side) - 1) * fmean(alike(a, b) for a, b in permutations(side, 2))
            others += len(side) - 1
    return weighed / (others + 1)


def assert_same(found: Measures, expected: Measures, tolerance: float = 1e-8) -> None:
    """Each measure of each pair."""
    for name in NAMES:
        np.testing.assert_allclose(
            getattr(found, name),
            getattr(expected, name),
            rtol=tolerance,
            atol=tolerance,
            err_msg=name,
        )
