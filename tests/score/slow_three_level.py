"""The three-level model as the textbook has it: one Gaussian over all texts, stacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adhominem.score.genres import Genres
from adhominem.score.members import MemberScorer, evidence_of
from adhominem.score.products import MemberTexts, PopulationPart, Sides, numbered
from adhominem.score.three_level import Evidence, PartVariances, ThreeLevelParameters

FloatArray = npt.NDArray[np.float64]
ALL_KNOWN, NONE_KNOWN = -1e4, 1e4  # log odds


def made_up_genres(size: int, genres: int = 3, seed: int = 0) -> Genres:
    """Genres that lie apart, and as far from 0."""
    centres = np.random.default_rng(seed).normal(size=(genres, size)) + 1
    return Genres(tuple(f"genre {at}" for at in range(genres)), centres, 0.85 * size**0.5)


def texts_of(
    rng: np.random.Generator, genres: Genres, count: int, genre: int = 0, author: float = 0.7
) -> FloatArray:
    """(count, size): LEVs of texts by one author, some nearer to the author's mean than others."""
    size = genres.centres.shape[1]
    noise = rng.normal(size=(count, size)) * rng.uniform(0.3, 1, (count, 1))
    return np.asarray(genres.centres[genre] + author * rng.normal(size=size) + noise)


def exact_levels(genres: Genres, seed: int = 0) -> ThreeLevelParameters:
    """Random parameters with which it is a plain Gaussian model.

    Directions are independent, texts keep their lengths, and all genres are equally probable.
    """
    rng = np.random.default_rng(seed)
    inside, size = genres.directions, genres.centres.shape[1]

    def part(directions: int) -> PartVariances:
        author, text, length = rng.uniform(0.1, 1, 3)
        return PartVariances(author=author, text=text, length=length, directions=float(directions))

    known, unknown, known_rest, unknown_rest = rng.uniform(0.1, 1, 4)
    return ThreeLevelParameters(
        genre_part=part(inside),
        rest=part(size - inside),
        known_genre=known,
        unknown_genre=2 * unknown,
        known_genre_rest=known_rest,
        unknown_genre_rest=unknown_rest,
        genre_sharpness=0.0,
        length_power=0.0,
    )


@dataclass(frozen=True)
class SlowModel:
    """Covariances of whole LEVs, in units of the usual distance, from the middle of the genres."""

    genres: Genres
    levels: ThreeLevelParameters

    def _spread(self, inside: float, outside: float) -> FloatArray:
        """(size, size): variances, totals over the genre directions and over all others."""
        rows = self.genres.centres - self.genres.centres.mean(axis=0)
        count, size = len(rows) - 1, rows.shape[1]
        basis = np.linalg.svd(rows)[2][:count]
        within = basis.T @ basis
        return np.asarray(
            within * inside / max(count, 1) + (np.eye(size) - within) * outside / (size - count)
        )

    def of_parts(self, name: str) -> FloatArray:
        """(size, size): a variance that both parts have."""
        return self._spread(getattr(self.levels.genre_part, name), getattr(self.levels.rest, name))

    def genre(self, unknown: float) -> FloatArray:
        """(size, size): of c, if it is of a genre that is not known with some probability."""
        levels = self.levels
        places = (self.genres.centres - self.genres.centres.mean(axis=0)) / self.genres.usual
        apart = places.T @ places / len(places)
        rest = levels.known_genre_rest + unknown * levels.unknown_genre_rest
        within = (1 - unknown) + unknown * levels.unknown_genre
        return self._spread(levels.known_genre, rest) + within * apart

    def log_density(
        self, texts: FloatArray, tokens: FloatArray, authors: Sequence[int], unknown: float
    ) -> float:
        """log p of texts (texts, size) of one c, by these authors."""
        rows = (texts - self.genres.centres.mean(axis=0)) / self.genres.usual
        names = np.array(authors)
        noise = np.sqrt(650 / np.clip(tokens, 60, 20_000))
        covariance = (
            np.kron(np.ones((len(rows), len(rows))), self.genre(unknown))
            + np.kron(names[:, None] == names, self.of_parts("author"))
            + np.kron(np.eye(len(rows)), self.of_parts("text"))
            + np.kron(np.diag(noise), self.of_parts("length"))
        )
        stacked = rows.ravel()
        distance = stacked @ np.linalg.solve(covariance, stacked)
        determinant = np.linalg.slogdet(covariance)[1]
        return float(-0.5 * (distance + determinant + len(stacked) * np.log(2 * np.pi)))

    def log_bayes_factor(
        self,
        first: FloatArray,
        second: FloatArray,
        tokens: FloatArray,
        unknown: float = 0.0,
        population: tuple[FloatArray, FloatArray, Sequence[int]] | None = None,
    ) -> float:
        """Of two sides (texts, size); `population` are more texts, their tokens and authors."""
        same, different = self.log_densities(first, second, tokens, unknown, population)
        return same - different

    def log_densities(
        self,
        first: FloatArray,
        second: FloatArray,
        tokens: FloatArray,
        unknown: float = 0.0,
        population: tuple[FloatArray, FloatArray, Sequence[int]] | None = None,
    ) -> tuple[float, float]:
        """Of both sides together, and of the population: by one author, or by two."""
        texts, authors = np.concatenate([first, second]), [0] * len(first)
        more: list[int] = []
        if population is not None:
            texts = np.concatenate([texts, population[0]])
            tokens = np.concatenate([tokens, population[1]])
            more = [2 + author for author in population[2]]
        same, different = (
            self.log_density(texts, tokens, [*authors, *[author] * len(second), *more], unknown)
            for author in (0, 1)
        )
        return same, different


def said_by(
    member: MemberScorer,
    texts: MemberTexts,
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    population: PopulationPart | None,
    unknown_log_odds: float = 1.0,
) -> Evidence:
    """The evidence of a model with a single member."""
    pairs = member.pairs(texts, first, second, population)
    return evidence_of([member], [pairs], unknown_log_odds)[0]


def pairs_of(
    first: Sides, second: Sides, log_tokens: npt.ArrayLike
) -> tuple[MemberTexts, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """What members take: texts, and their numbers of both sides of each pair.

    `log_tokens` (pairs, texts) are those of the first side's texts, then of the second's.
    """
    levs, one, other = numbered(first, second)
    lengths = np.zeros(len(levs))
    for row, *sides in zip(np.asarray(log_tokens), one, other, strict=True):
        numbers = np.concatenate(sides)
        numbers = numbers[numbers >= 0]
        lengths[numbers] = row[: len(numbers)]
    return MemberTexts(levs, lengths), one, other
