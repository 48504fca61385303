"""How alike two sides are, seen from the centre of their genre, and what that is worth.

likeness    the cosine of the two sides' styles
standing    the likeness in deviations of what each side has with texts by others (score
            normalisation, S-norm); without a population, in the usual deviations. Large ones
            grow as their logarithm: a quotation that two texts share would else outweigh all
agreement   how alike the texts of one side are among themselves, in usual deviations: what is
            to be expected of one more text by their author; 0 where each side has one text
remoteness  how far both sides are from the centre: the logarithm of their squared distances
kinship     how alike the two sides are in what genres differ in: seen from the right centre they
            are not, whoever wrote them, so this tells of a genre that was guessed badly
misfit      by how much the texts are nearer to the guessed genre than to the population, as a
            logarithm: above 0 the population may well be of another genre
spread      how much both sides' likenesses with texts by others vary: the logarithm of their
            deviations, in usual ones; 0 without a population
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from adhominem.arrays import BoolArray, FloatArray
from adhominem.scoring.products import Cohort, Others, PairProducts
from adhominem.scoring.styles import Styles, guess_share
from adhominem.scoring.two_covariance import IsotropicTwoCovariance

_USUAL_TEXTS = 10  # of a population, as which the usual deviation counts beside that of its texts
_FAR = 4.0  # deviations: a standing beyond grows as its logarithm
_LEAST = 1e-9  # squared length of a style
_NEAREST = 0.05  # times the usual distance: nearer to the centre than that no text counts as being


@dataclass(frozen=True)
class Measures:
    """What one member says of some pairs: (pairs,) each."""

    log_bayes_factor: FloatArray  # of the member's two-covariance model, in nats
    standing: FloatArray
    agreement: FloatArray
    remoteness: FloatArray
    kinship: FloatArray
    misfit: FloatArray
    spread: FloatArray

    @classmethod
    def of_factors(cls, log_bayes_factor: FloatArray) -> Measures:
        """Of a member that knows nothing else."""
        nothing = np.zeros(len(log_bayes_factor))
        return cls(log_bayes_factor, log_bayes_factor, *[nothing] * 5)

    @classmethod
    def joined(cls, parts: list[Measures]) -> Measures:
        """Those of several sets of pairs in a row."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        return cls(
            **{
                field.name: np.concatenate([getattr(part, field.name) for part in parts])
                for field in fields(cls)
            }
        )

    def __getitem__(self, chosen: slice | BoolArray) -> Measures:
        return Measures(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    def __len__(self) -> int:
        return len(self.standing)


def measure_styles(
    styles: Styles, model: IsotropicTwoCovariance, pairs: PairProducts, cohort: Cohort | None
) -> Measures:
    """The measures of pairs by their products."""
    seen = Seen.of(styles, pairs, cohort)
    centres, squares, scale = seen.centres, seen.squares, seen.scale
    product, lengths = seen.product, seen.lengths
    sides, either = pairs.of_side, pairs.of_side[0] | pairs.of_side[1]
    counts = [side.sum(axis=1).astype(np.float64) for side in sides]
    selves = squares * scale**2
    missing = [np.maximum(0, side * (1 - selves)).sum(axis=1) for side in sides]
    factors = (
        model.evidence(counts[0] + counts[1], np.maximum(lengths[0] + lengths[1] + 2 * product, 0),
                       missing[0] + missing[1])
        - model.evidence(counts[0], lengths[0], missing[0])
        - model.evidence(counts[1], lengths[1], missing[1])
    )  # fmt: skip
    likeness = seen.likeness
    usual = model.independent**-0.5
    standing, spread = likeness / usual, np.zeros(len(likeness))
    if cohort is not None and centres.others is not None:
        standing, others = np.zeros(len(likeness)), centres.seen_cohort(cohort)
        for side, length in zip(sides, lengths, strict=True):
            scaled = np.where(side, scale, 0)
            mean, deviation = centres.with_others(styles, pairs, others, scaled, length)
            n = centres.others.texts
            shrunk = np.sqrt((n * deviation**2 + _USUAL_TEXTS * usual**2) / (n + _USUAL_TEXTS))
            standing += 0.5 * (likeness - mean) / shrunk
            spread += np.log(shrunk / usual)
    return Measures(
        log_bayes_factor=factors,
        standing=tempered(standing),
        agreement=_agreement(lengths, selves, sides, counts) / usual,
        remoteness=np.log(pairs.mean(squares, 0) * pairs.mean(squares, 1)),
        kinship=centres.kinship(styles, pairs),
        misfit=centres.misfit(pairs, either),
        spread=spread,
    )


def tempered(standing: FloatArray) -> FloatArray:
    """Standings of which large ones grow as their logarithm."""
    return np.asarray(_FAR * np.arcsinh(standing / _FAR))


@dataclass(frozen=True)
class Seen:
    """Pairs as they are seen from their centres."""

    centres: Centres
    squares: FloatArray  # (pairs, texts): of each text's length
    scale: FloatArray  # (pairs, texts): what a text is multiplied by before texts are added up
    product: FloatArray  # (pairs,): of both sides, each the sum of its texts
    lengths: tuple[FloatArray, FloatArray]  # (pairs,) each: the square of a side's

    @classmethod
    def of(cls, styles: Styles, pairs: PairProducts, cohort: Cohort | None) -> Seen:
        """From the products of pairs."""
        centres = Centres.of(styles, pairs, cohort)
        first, second = pairs.of_side
        seen = (
            pairs.between
            - centres.along[:, :, None]
            - centres.along[:, None, :]
            + centres.square[:, None, None]
        )  # (pairs, texts, texts): from the centre
        least = max((_NEAREST * styles.usual) ** 2, _LEAST)
        squares = np.maximum(np.einsum("ptt->pt", seen), least)
        # A very long text is near the centre, since its noise averages out. It is not stretched to
        # length 1: it would count for more than texts of the usual size can show.
        scale = np.where(first | second, 1 / np.maximum(np.sqrt(squares), styles.usual), 0)
        unit = seen * scale[:, :, None] * scale[:, None, :]
        product = np.einsum("ps,pst,pt->p", first, unit, second)
        lengths = [np.maximum(np.einsum("ps,pst,pt->p", s, unit, s), _LEAST) for s in pairs.of_side]
        return cls(centres, squares, scale, product, (lengths[0], lengths[1]))

    @property
    def likeness(self) -> FloatArray:
        """(pairs,): the cosine of both sides.

        Products without a text times itself need not fit together where a text is all but at the
        centre: what would be no cosine is the nearest one.
        """
        return np.clip(self.product / np.sqrt(self.lengths[0] * self.lengths[1]), -1, 1)


def _agreement(
    lengths: tuple[FloatArray, FloatArray],
    selves: FloatArray,
    sides: tuple[BoolArray, BoolArray],
    counts: list[FloatArray],
) -> FloatArray:
    """(pairs,): the mean cosine of two texts of one side; few of them count for less."""
    total, others = np.zeros(len(selves)), np.zeros(len(selves))
    for length, side, count in zip(lengths, sides, counts, strict=True):
        total += (length - (side * selves).sum(axis=1)) / count
        others += count - 1
    return np.where(others > 0, total / (others + 1), 0.0)


@dataclass(frozen=True)
class SeenCohort:
    """The texts of a cohort from the centre of each pair, without them."""

    along: FloatArray  # (pairs, cohort): their products with the centre, less the centre's square
    lengths: FloatArray  # (pairs, cohort)


@dataclass(frozen=True)
class Centres:
    """Where each pair is seen from: the guessed genre and the population, in shares."""

    guess: FloatArray  # (pairs, genres): shares
    guess_share: FloatArray  # (pairs,): of the guess in the centre; the rest is the population's
    to_guess: FloatArray  # (pairs, texts): products of texts with the guessed genre
    guess_square: FloatArray  # (pairs,)
    along: FloatArray  # (pairs, texts): products of texts with the centre
    square: FloatArray  # (pairs,): of the centre
    others: Others | None  # the population

    @classmethod
    def of(cls, styles: Styles, pairs: PairProducts, cohort: Cohort | None) -> Centres:
        """From the products of pairs."""
        either = pairs.of_side[0] | pairs.of_side[1]
        count = either.sum(axis=1)[:, None]
        middle = (pairs.to_genres * either[:, :, None]).sum(axis=1) / count  # (pairs, genres)
        # Less what is the same for all genres: the squared length of the middle of the pair.
        guess = styles.mix(np.diag(styles.products) - 2 * middle)
        to_guess = np.einsum("ptg,pg->pt", pairs.to_genres, guess)
        guess_square = np.einsum("pg,gh,ph->p", guess, styles.products, guess)
        if cohort is None:
            ones = np.ones(len(guess))
            return cls(guess, ones, to_guess, guess_square, to_guess, guess_square, None)
        others = Others.of(pairs, cohort)
        share = guess_share(others.texts)  # (pairs,)
        square = (
            (1 - share) ** 2 * others.square
            + 2 * share * (1 - share) * (guess * others.mean_to_genres).sum(axis=1)
            + share**2 * guess_square
        )
        along = (1 - share)[:, None] * others.to_mean + share[:, None] * to_guess
        return cls(guess, share, to_guess, guess_square, along, square, others)

    def seen_cohort(self, cohort: Cohort) -> SeenCohort:
        """The cohort's texts as each pair sees them.

        Each is compared as if it were none of the population, which would lie nearer to it than to
        others. So the mean is that of all but one, the text of the cohort.
        """
        others = self.others
        assert others is not None
        n, share = others.texts[:, None], self.guess_share[:, None]  # (pairs, 1)
        to_guess = self.guess @ cohort.to_genres.T  # (pairs, cohort): its texts with the guess
        mean_to_guess = (self.guess * others.mean_to_genres).sum(axis=1)[:, None]  # (pairs, 1)
        to_rest = n * others.cohort_to_mean - cohort.squares  # (pairs, cohort)
        there = (1 - share) / (n - 1) * to_rest + share * to_guess
        # The square of the centre: of the rest, of the guess, and twice their product.
        square = -2 * (1 - share) ** 2 / ((n - 1) * (n - 2)) * to_rest
        square -= 2 * share * (1 - share) / (n - 1) * to_guess
        square += (
            (1 - share) ** 2 * n * others.square[:, None] / (n - 2)
            + 2 * share * (1 - share) * n * mean_to_guess / (n - 1)
            + share**2 * self.guess_square[:, None]
        )
        there -= square
        lengths = np.sqrt(np.maximum(cohort.squares - 2 * there - square, _LEAST))
        return SeenCohort(there, lengths)

    def with_others(
        self,
        styles: Styles,
        pairs: PairProducts,
        seen: SeenCohort,
        scaled: FloatArray,
        length: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """(pairs,) twice: the mean and the deviation of a side's cosines with the cohort's texts.

        `scaled` (pairs, texts) brings the texts of the side to their length, `length` (pairs,) is
        the square of their sum's.
        """
        others = self.others
        assert others is not None
        n, share = others.texts, self.guess_share  # (pairs,)
        # Of what both have in common with a text of the cohort, its part in the mean is not.
        cosines = np.einsum(
            "pt,ptc->pc", (1 + (1 - share) / (n - 1))[:, None] * scaled, pairs.to_cohort
        )  # (pairs, cohort)
        along = (1 - share) * n / (n - 1) * (scaled * others.to_mean).sum(axis=1)
        along += share * (scaled * self.to_guess).sum(axis=1)
        cosines -= scaled.sum(axis=1)[:, None] * seen.along
        cosines -= along[:, None]
        cosines /= np.maximum(seen.lengths, styles.usual)
        cosines /= np.sqrt(length)[:, None]
        np.clip(cosines, -1, 1, out=cosines)
        kept = others.kept.sum(axis=1)  # (pairs,)
        cosines *= others.kept
        mean = cosines.sum(axis=1) / kept
        cosines -= mean[:, None]
        cosines *= others.kept
        return mean, np.sqrt(np.einsum("pc,pc->p", cosines, cosines) / (kept - 1))

    def kinship(self, styles: Styles, pairs: PairProducts) -> FloatArray:
        """(pairs,): the product of both sides' means, only in the directions of the genres."""
        share = self.guess_share[:, None]
        centre = share * (self.guess @ styles.products)  # (pairs, genres): products with genres
        if self.others is not None:
            centre += (1 - share) * self.others.mean_to_genres
        first, second = (
            np.einsum("pt,ptg->pg", side, pairs.to_genres) / side.sum(axis=1)[:, None] - centre
            for side in pairs.of_side
        )
        return np.asarray(np.einsum("pg,gh,ph->p", first, styles.among_genres, second))

    def misfit(self, pairs: PairProducts, either: BoolArray) -> FloatArray:
        """(pairs,): see above; zeros without a population."""
        if self.others is None:
            return np.zeros(len(either))
        count = either.sum(axis=1)
        middle = np.einsum("ps,pst,pt->p", either, pairs.between, either) / count**2
        to_mean = (either * self.others.to_mean).sum(axis=1) / count
        from_mean = middle - 2 * to_mean + self.others.square
        from_guess = middle - 2 * (either * self.to_guess).sum(axis=1) / count + self.guess_square
        return np.asarray(np.log(np.maximum(from_mean, _LEAST) / np.maximum(from_guess, _LEAST)))
