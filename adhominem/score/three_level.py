"""The paper's two-covariance model with a level above it and one below: genre, author, text.

    y = c + x + e      c  the genre:   one that the model knows, or any other; texts of a relevant
                                       population are more texts of the same c
                       x  the author:  N(0, author)
                       e  the text:    N(0, text + length * sqrt(650 / tokens))

`compare` returns the log Bayes factor of two sets of texts: the difference of two Gaussian log
densities, "one x made all of them" against "two did", with c integrated out. Everything is in
closed form, for any number of texts a side and any population, none included. With c known and
lengths alike it is the paper's score.

The members of a model are blocks of one LEV. A text has one genre, so its probability is inferred
from all blocks together (`genre_posterior`); given that, their log Bayes factors are added up.

A LEV has two parts. In the directions in which known genres differ, c varies much, and a
genre that the model does not know may lie anywhere; in all others c hardly varies. Inside a part
all directions count alike, so scalar products of LEVs are all that is needed. The directions are
not independent, as a Gaussian model assumes: each part has an effective number of `directions`, by
which the mean evidence of a direction is multiplied.

A variance is the total over the directions of a part, in units of the squared distance of a typical
training text from the centre of its genre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from adhominem.arrays import BoolArray, FloatArray
from adhominem.records import NotNegative, Positive
from adhominem.score.genres import PairGeometry, PairRows

_LEAST = 1e-8  # variance, squared length


@dataclass(frozen=True, kw_only=True)
class PartVariances:
    """The variances of one part of a LEV: the genre directions, or all others."""

    author: Positive  # between authors of one genre: the trace of the paper's B^-1
    text: Positive  # between long texts of one author: the trace of W^-1
    length: Positive  # added by the shortness of a text: its value at 650 tokens
    directions: NotNegative  # effective number of independent ones


@dataclass(frozen=True, kw_only=True)
class ThreeLevelParameters:
    """All parameters of one member. The defaults are near those of the shipped model."""

    genre_part: PartVariances = PartVariances(author=0.4, text=0.5, length=0.15, directions=12.0)
    rest: PartVariances = PartVariances(author=0.25, text=0.45, length=0.15, directions=10.0)
    known_genre: Positive = 0.15  # variance of c around the centre of a known genre, genre part
    unknown_genre: Positive = 1.5  # of an unknown genre, times the spread of the known ones
    known_genre_rest: Positive = 0.05  # like `known_genre`, for the rest
    unknown_genre_rest: Positive = 0.3
    genre_spread: Positive = 0.2  # of texts around c, for inferring it: times the variances above
    genre_sharpness: NotNegative = 0.2  # exponent of the evidence for a genre
    length_power: float = 0.6  # 1: each text is scaled to its expected distance from c; 0: none is


Block = tuple[ThreeLevelParameters, PairGeometry]  # one member's part of LEVs


@dataclass(frozen=True)
class Centre:
    """The posterior of c for each pair, a Gaussian whose variances are totals over a part."""

    mean: FloatArray  # (pairs, directions): genre part
    variance: FloatArray  # (pairs, directions)
    pull: FloatArray  # (pairs,): weight of the population's mean in the mean of the rest
    rest_variance: FloatArray  # (pairs,)

    @classmethod
    def of(cls, levels: ThreeLevelParameters, pairs: PairGeometry, shares: FloatArray) -> Centre:
        """The mixture over genres as one Gaussian, updated by the population.

        `shares` (pairs, genres + 1) are the probabilities of each known genre, and of any other.
        """
        genres, population = pairs.genres, pairs.population
        rest, size = levels.rest, genres.directions
        places, spread_of_genres = genres.places, levels.unknown_genre * genres.variances
        mean = shares[:, :-1] @ places
        variance = levels.known_genre / size + shares[:, :-1] @ np.square(places) - np.square(mean)
        variance = np.maximum(variance + shares[:, -1:] * spread_of_genres, _LEAST)
        rest_variance = levels.known_genre_rest + shares[:, -1] * levels.unknown_genre_rest
        pull = np.zeros(len(shares))
        if population is not None:
            near, spread = _texts_of_genre(levels, pairs)
            precision = 1 / variance + 1 / spread[:, None]
            mean = (mean / variance + near / spread[:, None]) / precision
            variance = 1 / precision
            text = rest.text + rest.length * population.noise
            noise_of_mean = rest.author / population.authors + text / population.texts
            pull = rest_variance / (rest_variance + noise_of_mean)
            rest_variance = (1 - pull) * rest_variance
        return cls(mean, variance, pull, rest_variance)


def _texts_of_genre(
    levels: ThreeLevelParameters, pairs: PairGeometry
) -> tuple[FloatArray, FloatArray]:
    """The mean (pairs, directions) of the texts that show c, and its variance (pairs,).

    These are the population or, without one, the compared texts themselves.
    """
    part, size, population = levels.genre_part, pairs.genres.directions, pairs.population
    if population is None:
        return _mean_text(part, size, pairs.genre, pairs.noise, pairs.present)
    text = part.text + part.length * population.noise
    return population.mean, (part.author / population.authors + text / population.texts) / size


def _mean_text(
    part: PartVariances, size: int, genre: FloatArray, noise: FloatArray, present: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """The mean (pairs, directions) of texts by one author, and its variance (pairs,) around c."""
    texts = present.sum(axis=1)  # (pairs,)
    near = (genre * present[:, :, None]).sum(axis=1) / texts[:, None]
    length = part.length * (noise * present).sum(axis=1) / texts
    return near, (part.author + (part.text + length) / texts) / size


def genre_log_likelihoods(levels: ThreeLevelParameters, pairs: PairGeometry) -> FloatArray:
    """log p(texts | genre), (pairs, genres + 1): of each known genre and, last, of any other.

    One member's part of it, to the power of its exponent.
    """
    genres = pairs.genres
    places, size = genres.places, genres.directions
    near, spread = _texts_of_genre(levels, pairs)
    around = levels.genre_spread * spread[:, None]
    nearby = levels.known_genre / size + around  # (pairs, 1)
    apart = np.square(near).sum(axis=1, keepdims=True) - 2 * near @ places.T
    apart += np.square(places).sum(axis=1)  # (pairs, genres)
    of_known = apart / nearby + size * np.log(nearby)
    far = levels.known_genre / size + levels.unknown_genre * genres.variances + around
    of_unknown = (np.square(near) / far + np.log(far)).sum(axis=1, keepdims=True)
    both = np.concatenate([of_known, of_unknown], axis=1)
    return np.asarray(-0.5 * levels.genre_sharpness * both)


def genre_posterior(blocks: Sequence[Block], unknown_log_odds: float) -> FloatArray:
    """The probabilities (pairs, genres + 1) of each known genre, last of any other.

    Texts have one genre, whichever member it is inferred from: log likelihoods are added up.
    `unknown_log_odds` are the prior odds of a genre that the model does not know.
    """
    logits = np.sum([genre_log_likelihoods(*block) for block in blocks], axis=0)
    logits[:, -1] += unknown_log_odds
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def one_genre(
    levels: ThreeLevelParameters, pairs: PairGeometry, unknown_log_odds: float
) -> FloatArray:
    """The log Bayes factor (pairs,), in nats, of one c for both sides against one for each.

    Only directions in which genres differ count, and each side has its own author.
    """
    part, genres = levels.genre_part, pairs.genres
    size, places = genres.directions, genres.places
    near, spread = zip(
        *(_mean_text(part, size, pairs.genre, pairs.noise, side) for side in pairs.in_side),
        strict=True,
    )
    u, v = near  # (pairs, directions)
    known = levels.known_genre / size
    around = [levels.genre_spread * variance[:, None] for variance in spread]
    one, other = (known + variance for variance in around)  # (pairs, 1)
    lengths = np.square(places).sum(axis=1)  # (genres,)
    first, second = (
        np.square(at).sum(axis=1, keepdims=True) - 2 * at @ places.T + lengths for at in near
    )  # (pairs, genres)
    across = (u * v).sum(axis=1, keepdims=True) - (u + v) @ places.T + lengths
    both = one * other - known**2  # determinant
    together = (other * first + one * second - 2 * known * across) / both + size * np.log(both)
    alone = [first / one + size * np.log(one), second / other + size * np.log(other)]
    # For an unknown genre, direction by direction.
    broad = known + levels.unknown_genre * genres.variances  # (directions,)
    one, other = (broad + variance for variance in around)  # (pairs, directions)
    both = one * other - broad**2
    of_both = (other * u**2 + one * v**2 - 2 * broad * u * v) / both + np.log(both)
    of_each = [u**2 / one + np.log(one), v**2 / other + np.log(other)]
    prior = np.append(np.zeros(len(places)), unknown_log_odds)
    prior -= np.logaddexp.reduce(prior)

    def log_density(of_known: FloatArray, of_unknown: FloatArray) -> FloatArray:
        terms = np.concatenate([of_known, of_unknown.sum(axis=1, keepdims=True)], axis=1)
        return np.asarray(np.logaddexp.reduce(prior - 0.5 * terms, axis=1))

    two = [log_density(*side) for side in zip(alone, of_each, strict=True)]
    return log_density(together, of_both) - two[0] - two[1]


@dataclass(frozen=True)
class Evidence(PairRows):
    """The evidence of one member on some pairs, in nats."""

    log_bayes_factor: FloatArray  # (pairs,)
    against: tuple[FloatArray, FloatArray] | None = None  # (pairs, cohort): each side, each text
    kept: BoolArray | None = None  # (pairs, cohort): which texts are not the pair's own
    fit: FloatArray | None = None  # (pairs,): how much better the population fits than none
    one_genre: FloatArray | None = None  # (pairs,): see `one_genre`; without a population

    def times(self, weight: float) -> Evidence:
        """The evidence, multiplied by a weight."""
        against = self.against
        scaled = None if against is None else (weight * against[0], weight * against[1])
        return replace(self, log_bayes_factor=weight * self.log_bayes_factor, against=scaled)


class CentredPairs:
    """Both sides of some pairs, as departures from the centre c that they share."""

    def __init__(
        self, levels: ThreeLevelParameters, pairs: PairGeometry, shares: FloatArray
    ) -> None:
        self.levels, self.genres, self.pairs = levels, pairs.genres, pairs
        self.centre = centre = Centre.of(levels, pairs, shares)
        part, rest, size = levels.genre_part, levels.rest, pairs.genres.directions
        self.genre = pairs.genre - centre.mean[:, None]  # (pairs, texts, directions)
        self.rest = pairs.rest  # (pairs, texts, texts)
        population = pairs.population
        if population is not None:
            pull = centre.pull[:, None]
            along = pull * population.to_mean  # (pairs, texts)
            square = (centre.pull**2 * population.mean_square)[:, None, None]
            self.rest = self.rest - along[:, :, None] - along[:, None, :] + square
        text, genre_text = (
            rest.text + rest.length * pairs.noise,
            part.text + part.length * pairs.noise,
        )
        expected = (centre.rest_variance + size * centre.variance.mean(axis=1))[:, None]
        expected = expected + rest.author + text + part.author + genre_text  # (pairs, texts)
        squares = np.einsum("ptt->pt", self.rest) + np.square(self.genre).sum(axis=2)
        # Texts farther from c than expected do not count for more: the tails are not Gaussian.
        self.scale = (expected / np.maximum(squares, _LEAST)) ** (levels.length_power / 2)
        self.side_variance: list[tuple[FloatArray, FloatArray]] = []  # (pairs,) of rest, of genre
        self.weights: list[tuple[FloatArray, FloatArray]] = []  # (pairs, texts)
        for side in pairs.in_side:
            precisions = [np.where(side, 1 / variance, 0) for variance in (text, genre_text)]
            totals = [np.maximum(precision.sum(axis=1), _LEAST) for precision in precisions]
            self.side_variance.append((1 / totals[0], 1 / totals[1]))
            scaled = [self.scale * p / t[:, None] for p, t in zip(precisions, totals, strict=True)]
            self.weights.append((scaled[0], scaled[1]))
        # Each side is the mean of its texts, weighted by their precisions.
        self.sides = [
            np.einsum("pt,ptr->pr", weights, self.genre) for _, weights in self.weights
        ]  # (pairs, directions)

    def rest_product(self, one: int, other: int) -> FloatArray:
        """The products (pairs,) of two sides in the directions in which genres do not differ."""
        first, second = self.weights[one][0], self.weights[other][0]
        return np.asarray(np.einsum("ps,pst,pt->p", first, self.rest, second))

    def pair_terms(self) -> tuple[Terms, Terms]:
        """The terms of the evidence: of the genre part, by direction, and of the rest."""
        part, rest, size = self.levels.genre_part, self.levels.rest, self.genres.directions
        one, other = self.side_variance
        genre = Terms.of(
            part.author / size,
            self.centre.variance,
            one[1][:, None] / size,
            other[1][:, None] / size,
        )
        return genre, Terms.of(rest.author, self.centre.rest_variance, one[0], other[0])

    def log_bayes_factor(self) -> FloatArray:
        """The log Bayes factors (pairs,) in nats."""
        genre, rest = self.pair_terms()
        first, second = self.sides
        genre_part = genre.evidence(first**2, second**2, first * second).mean(axis=1)
        rest_part = rest.evidence(
            self.rest_product(0, 0), self.rest_product(1, 1), self.rest_product(0, 1)
        )
        directions = self.levels.genre_part.directions, self.levels.rest.directions
        return np.asarray(directions[0] * genre_part + directions[1] * rest_part)

    def log_density(self) -> FloatArray:
        """The log density (pairs,) of the mean of all texts of a pair given c, up to a constant.

        Like the evidence for a genre, it is of the directions in which genres differ alone, and to
        the power of the same exponent.
        """
        part, levels, size = self.levels.genre_part, self.levels, self.genres.directions
        present = self.pairs.present.astype(np.float64)
        shares = present / present.sum(axis=1, keepdims=True)  # (pairs, texts)
        weight = shares.max(axis=1)
        noise = (shares * self.pairs.noise).sum(axis=1) * weight  # (pairs,)
        squares = np.square(np.einsum("pt,ptr->pr", shares, self.genre))  # (pairs, directions)
        spread = (part.author + part.text * weight + part.length * noise)[:, None] / size
        spread = levels.genre_spread * spread + self.centre.variance
        distance = (squares / spread + np.log(spread)).sum(axis=1)
        return np.asarray(-0.5 * levels.genre_sharpness * distance)

    def against(self) -> tuple[FloatArray, FloatArray]:
        """The log Bayes factors (pairs, cohort) of each side with each text of the population.

        The text is left out of the population; all its texts are taken to have the mean length.
        """
        population, levels, size = self.pairs.population, self.levels, self.genres.directions
        assert population is not None
        part, rest, centre = levels.genre_part, levels.rest, self.centre
        n, noise = population.texts[:, None], population.noise[:, None]  # (pairs, 1)
        authors = population.authors[:, None]
        text, genre_text = rest.text + rest.length * noise, part.text + part.length * noise
        # The mean without the text, and the variance of c given it.
        squares, to_mean = population.cohort_squares, population.cohort_to_mean
        before = (centre.rest_variance / (1 - centre.pull))[:, None]  # without a population
        mean_variance = (rest.author / authors + text / n) * n / (n - 1)
        pull = before / (before + mean_variance)
        rest_variance = (1 - pull) * before
        mean_square = n**2 * population.mean_square[:, None] - 2 * n * to_mean + squares
        mean_square = mean_square / (n - 1) ** 2  # (pairs, cohort)
        others_to_mean = (n * to_mean - squares) / (n - 1)
        far = np.maximum(squares - 2 * pull * others_to_mean + pull**2 * mean_square, _LEAST)
        # In the genre part, the centre without a text is linear in that text, and so are departures
        # from it; what is needed are sums of their products over the directions.
        mean_variance = (part.author / authors + genre_text / n) * n / size  # times n
        precision = 1 / centre.variance - 1 / mean_variance  # (pairs, directions)
        constant, slope = centre.mean / centre.variance / precision, -1 / mean_variance / precision
        variance = 1 / precision
        of_text = -constant, 1 - slope
        genre_terms, forms = [], [(of_text, of_text, np.ones_like(variance))]
        for (_, weights), (_, of_side) in zip(self.weights, self.side_variance, strict=True):
            at, share = np.einsum("pt,ptr->pr", weights, self.pairs.genre), weights.sum(axis=1)
            of_mean = at - share[:, None] * constant, -share[:, None] * slope
            terms = Terms.of(
                part.author / size, variance, of_side[:, None] / size, genre_text / size
            )
            genre_terms.append(terms.constant.sum(axis=1, keepdims=True))
            forms.append((of_mean, of_mean, terms.first))
            forms.append((of_text, of_text, terms.second))
            forms.append((of_mean, of_text, terms.across))
        genre_far, *products = np.moveaxis(_quadratic_forms(forms, population.powers), 2, 0)
        expected = rest_variance + variance.sum(axis=1)[:, None]
        expected = expected + rest.author + text + part.author + genre_text
        scale = (expected / np.maximum(far + genre_far, _LEAST)) ** (levels.length_power / 2)
        against = []
        for side, (weights, _) in enumerate(self.weights):
            total = weights.sum(axis=1)[:, None]
            to_cohort = np.einsum("pt,ptc->pc", weights, population.to_cohort)
            along = (weights * population.to_mean).sum(axis=1)[:, None]
            along = (n * along - to_cohort) / (n - 1)  # product with the mean without the text
            product = to_cohort - pull * along
            product += total * (pull**2 * mean_square - pull * others_to_mean)
            square = np.einsum("ps,pst,pt->p", weights, self.pairs.rest, weights)[:, None]
            square = square - 2 * total * pull * along + (total * pull) ** 2 * mean_square
            terms = Terms.of(rest.author, rest_variance, self.side_variance[side][0][:, None], text)
            rest_part = terms.evidence(square, far * scale**2, product * scale)
            first, second, across = products[3 * side : 3 * side + 3]
            genre_part = genre_terms[side] + first + second * scale**2 + across * scale
            against.append(rest.directions * rest_part + part.directions / size * genre_part)
        return against[0], against[1]


_Line = tuple[FloatArray, FloatArray]  # (pairs, directions): constant and slope


def _quadratic_forms(
    forms: Sequence[tuple[_Line, _Line, FloatArray]], powers: FloatArray
) -> FloatArray:
    """Sums over directions (pairs, cohort, forms) of weight * (a + b y) * (c + d y).

    `powers` are the coordinates y of the population's texts, and their squares.
    """
    constant = np.stack([(w * one[0] * two[0]).sum(axis=1) for one, two, w in forms], axis=-1)
    linear = [w * (one[0] * two[1] + one[1] * two[0]) for one, two, w in forms]
    square = [w * one[1] * two[1] for one, two, w in forms]
    factors = np.concatenate([np.stack(linear, -1), np.stack(square, -1)], axis=1)
    if powers.ndim == 2:  # the same population for all pairs: one product of matrices
        pairs, size, count = factors.shape
        flat = powers @ factors.transpose(1, 0, 2).reshape(size, pairs * count)
        sums = flat.reshape(len(powers), pairs, count).transpose(1, 0, 2)
    else:
        sums = powers @ factors
    return np.asarray(constant[:, None] + sums)


@dataclass(frozen=True)
class Terms:
    """The log Bayes factor of two sides in one direction, a quadratic form of both.

    `constant + first u^2 + second v^2 + across u v`: the difference of the log densities of (u, v),
    whose covariance is `shared + author` for one author and `shared` for two.
    """

    constant: FloatArray
    first: FloatArray
    second: FloatArray
    across: FloatArray

    @classmethod
    def of(
        cls,
        author: float,
        shared: FloatArray,
        first: FloatArray | float,
        second: FloatArray | float,
    ) -> Terms:
        """The terms from the variances of authors, of c, and of each side's mean text."""
        one, other = shared + author + first, shared + author + second
        same = one * other - (shared + author) ** 2  # determinants
        different = one * other - shared**2
        less = 0.5 * (1 / different - 1 / same)
        return cls(
            0.5 * (np.log(different) - np.log(same)),
            np.asarray(less * other),
            np.asarray(less * one),
            np.asarray((shared + author) / same - shared / different),
        )

    def evidence(self, first: FloatArray, second: FloatArray, across: FloatArray) -> FloatArray:
        """The log Bayes factors from the squares of both sides and their product."""
        return np.asarray(
            self.constant + self.first * first + self.second * second + self.across * across
        )


def evidence(levels: ThreeLevelParameters, pairs: PairGeometry, shares: FloatArray) -> Evidence:
    """One member's evidence; with a population, also on each side with each text of it.

    `shares` (pairs, genres + 1) are the probabilities of each known genre, and of any other.
    """
    comparison = CentredPairs(levels, pairs, shares)
    factors = comparison.log_bayes_factor()
    if pairs.population is None:
        return Evidence(factors)
    return Evidence(factors, comparison.against(), pairs.population.kept)


def compare(blocks: Sequence[Block], unknown_log_odds: float) -> list[Evidence]:
    """The evidence of each member, and what it says of the genre of the pairs."""
    if not blocks:
        return []
    shares = genre_posterior(blocks, unknown_log_odds)
    compared = [evidence(*block, shares) for block in blocks]
    if blocks[0][1].population is None:
        of_genre = (one_genre(*block, unknown_log_odds) for block in blocks)
        return [replace(one, one_genre=of) for one, of in zip(compared, of_genre, strict=True)]
    alone = [(levels, replace(pairs, population=None)) for levels, pairs in blocks]
    shares_alone = genre_posterior(alone, unknown_log_odds)
    densities = (
        [CentredPairs(*block, of).log_density() for block in of_blocks]
        for of_blocks, of in ((blocks, shares), (alone, shares_alone))
    )
    return [
        replace(one, fit=with_population - without)
        for one, with_population, without in zip(compared, *densities, strict=True)
    ]
