"""Whether a text is running prose of a kind that a model knows, and if not, how it departs from it.

A model is made for prose: another language, source code, lists, tables, verse and badly read scans
get a number from it, too, but a meaningless one. They are recognised by rates of the text itself
(`text.prose_rates`), not by its LEV, since a LEV shows what an encoder was trained to see.

Each rate of a text is compared with its mean in a genre, in standard deviations within genres. A
short text varies more: its variance is that of long ones and a part that falls with its length.
Only departures that make a text less like prose count: a text is not foreign because it lacks
figures. The departures of all rates make one distance. The distance to the nearest genre, divided
by a limit, is the atypicality of a text; about 99% of the texts of a genre lie within the limit,
even if the genre is unknown. Most of the others are foreign indeed: the verses of a novel, the
program in a post.

`MachineLook` tells whether a text looks as if a machine had written it. A language model is not an
author that known texts could reveal: on somebody's topic it passes for them, and two of its texts
pass for one person's. A logistic regression learns to separate LEVs of texts by machines from those
of texts by people in several genres. Its limit is so high that in each genre, even one absent from
training, hardly any text by a person lies beyond it. So a text beyond the limit looks
machine-written, but a text within it may be machine-written, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np

from adhominem.arrays import AnyFloats, BoolArray, FloatArray, IntArray
from adhominem.errors import OptionError
from adhominem.records import Longest, NotNegative, Positive
from adhominem.statistics import logistic
from adhominem.text.prose_rates import RATES, ProseLexicon, prose_rates

FALSE_ALARMS = 0.02  # largest share of a genre's texts by people that lie beyond the limit
SHORTEST = 200  # tokens: shorter texts are not judged
_RIDGE = 1.0  # how many texts a squared weight counts as, for features of unit deviation
_FOLDS = 4  # of the genres


@dataclass(frozen=True, eq=False)
class MachineLook:
    """A linear score of how machine-written a LEV looks; above 0, it lies beyond the limit."""

    weights: FloatArray  # (size,): of the dense part of a LEV
    constant: float  # less the limit

    def scores(self, levs: AnyFloats) -> FloatArray:
        """The scores (documents,) of LEVs (documents, size)."""
        return np.asarray(levs.astype(np.float64) @ self.weights + self.constant)

    def beyond(self, levs: AnyFloats, log_tokens: AnyFloats) -> BoolArray:
        """Which documents (documents,) look machine-written; short texts never do."""
        return np.asarray((self.scores(levs) > 0) & (log_tokens >= np.log(SHORTEST) - 1e-6))

    @classmethod
    def fit(
        cls,
        machines: Sequence[FloatArray],
        people: Mapping[str, FloatArray],
        false_alarms: float = FALSE_ALARMS,
    ) -> tuple[MachineLook, dict[str, float]]:
        """The fitted detector, and the share of each genre's texts by people that it flags.

        LEVs are (documents, size), one array per machine and per genre. All machines have equal
        weight, as have all genres. The limit is the largest that any genre needs to stay below
        `FALSE_ALARMS` when it is left out of the regression; a quarter is left out at a time.
        """
        if not people or not machines:
            raise OptionError("expected texts by machines and by people, at least one of each")
        names = list(people)
        unseen: dict[str, FloatArray] = {}
        for fold in range(min(_FOLDS, len(names))):
            chosen = names[fold::_FOLDS]
            rest = [people[name] for name in names if name not in chosen]
            weights, constant = _regression(machines, rest or list(people.values()))
            unseen |= {name: people[name] @ weights + constant for name in chosen}
        limit = max(
            float(np.quantile(scores, 1 - false_alarms, method="higher"))
            for scores in unseen.values()
        )
        weights, constant = _regression(machines, list(people.values()))
        shares = {name: float(np.mean(unseen[name] > limit)) for name in names}
        return cls(weights, constant - limit), shares


def _regression(
    machines: Sequence[FloatArray], people: Sequence[FloatArray]
) -> tuple[FloatArray, float]:
    """The weights (size,) and the constant of a logistic regression.

    Machines and people have half of the weight each, shared equally among their groups.
    """
    groups = [*machines, *people]
    rows = np.concatenate(groups).astype(np.float64)  # (documents, size)
    sizes = [len(group) for group in groups]
    is_machine = np.repeat(np.arange(len(groups)) < len(machines), sizes)
    of_group = np.repeat([1 / max(1, size) for size in sizes], sizes)
    counts = of_group / np.where(is_machine, len(machines), len(people))
    deviation = np.sqrt(np.average(np.square(rows - np.average(rows, 0, counts)), 0, counts))
    # The ridge holds all numbers on one scale, where `logistic` gives each its own.
    scales = deviation.mean() / np.maximum(rows.std(axis=0), 1e-12)
    ridge = _RIDGE / len(rows) * np.square(scales)
    constant, *weights = logistic(rows.T, is_machine, of_group, ridge)
    return np.array(weights), float(constant)


# Rates that are lower in foreign text, and rates that may be either; the others are higher.
_LESS = ("common_words", "sentence_ends")
_EITHER = ("repetition", "word_length")
_SIGNS = np.array([-1 if rate in _LESS else 0 if rate in _EITHER else 1 for rate in RATES])
_IS_SHARE = np.array([rate != "word_length" for rate in RATES])

_POWER = 3  # of the norm: one large departure counts for more than several small ones
_WITHIN = 0.99  # share of a genre's texts that lie within the limit
_TRIMMED = 0.04  # share of a genre's texts, the farthest: many are not prose
_ROUNDS = 3  # of fitting and trimming
_LONG = 300  # tokens: means are taken over texts of this length or more
_LENGTHS = (130, 230, 500, 1_000)  # tokens: limits between classes of length
_FEWEST = 20  # texts per class of length for a variance
_LEAST_DEVIATION = 0.02  # of a rate's root
_LEAST_LIMIT = 1.0  # in case all texts are alike

Row = Annotated[tuple[float, ...], Longest(len(RATES))]


@dataclass(frozen=True)
class Departure:
    """How far a text is from prose, and the rate that departs most."""

    atypicality: float  # above 1, the text is foreign
    rate: str  # one of `RATES`
    value: float
    usual: float  # in the nearest genre
    genre: str


@dataclass(frozen=True)
class ProseSamples:
    """The rates of training texts, or of parts of them."""

    genres: tuple[str, ...]
    genre: IntArray  # (samples,): index of the genre
    tokens: IntArray  # (samples,): number of tokens
    rates: FloatArray  # (samples, rates)

    def without(self, genre: str) -> ProseSamples:
        """The samples of all genres but one."""
        at = self.genres.index(genre) if genre in self.genres else -1
        kept = self.genre != at
        return ProseSamples(
            tuple(name for name in self.genres if name != genre),
            self.genre[kept] - (self.genre[kept] > at if at >= 0 else 0),
            self.tokens[kept],
            self.rates[kept],
        )


@dataclass(frozen=True, kw_only=True)
class Prose:
    """The usual rates of running prose in each genre, and the limit of departure."""

    lexicon: ProseLexicon
    genres: Annotated[tuple[str, ...], Longest(1_000)]
    usual: Annotated[tuple[Row, ...], Longest(1_000)]  # (genres, rates): the mean roots
    variance: Annotated[tuple[Positive, ...], Longest(len(RATES))]  # of a long text's roots
    sampling: Annotated[tuple[NotNegative, ...], Longest(len(RATES))]  # of short texts: times 1 / n
    limit: Positive  # of the distance

    def __post_init__(self) -> None:
        rows = {len(row) for row in (*self.usual, self.variance, self.sampling)}
        if rows != {len(RATES)} or len(self.usual) != len(self.genres) or not self.genres:
            raise OptionError(
                f"what prose is like has rows of {sorted(rows)} rates for {len(self.genres)} "
                f"genres; expected {len(RATES)} rates, and a row of means for each genre"
            )

    @classmethod
    def fit(cls, samples: ProseSamples, lexicon: ProseLexicon) -> Prose:
        """The description of prose fitted to training texts of several lengths.

        99% of a genre's texts lie within the limit when that genre is left out; it is the geometric
        mean over all genres, since some contain more texts that are not prose.
        """
        limits = []
        for at, genre in enumerate(samples.genres):
            others = samples.without(genre) if len(samples.genres) > 1 else samples
            chosen = samples.genre == at
            model = cls._fitted(others, lexicon)
            distances = model.distances(samples.rates[chosen], samples.tokens[chosen])
            limits.append(max(float(np.quantile(distances, _WITHIN)), _LEAST_LIMIT))
        limit = float(np.exp(np.log(limits).mean()))
        return replace(cls._fitted(samples, lexicon), limit=round(limit, 6))

    @classmethod
    def _fitted(cls, samples: ProseSamples, lexicon: ProseLexicon) -> Prose:
        """The means and variances over texts that are prose: the farthest are left out."""
        roots, kept = _roots(samples.rates), np.ones(len(samples.rates), dtype=bool)
        for _ in range(_ROUNDS):
            means = _means(samples, roots, kept)
            within = _sided(roots - means[samples.genre])[kept]
            variance, sampling = _variances(within, samples.tokens[kept])
            model = cls(
                lexicon=lexicon,
                genres=samples.genres,
                usual=tuple(map(tuple, means.round(6).tolist())),
                variance=tuple(variance.round(9).tolist()),
                sampling=tuple(sampling.round(9).tolist()),
                limit=1.0,
            )
            distances = model.distances(samples.rates, samples.tokens)
            for at in range(len(samples.genres)):
                chosen = samples.genre == at
                farthest = np.quantile(distances[chosen], 1 - _TRIMMED)
                kept[chosen] = distances[chosen] <= farthest
        return model

    def distances(self, rates: FloatArray, tokens: IntArray) -> FloatArray:
        """The distances (texts,) to the nearest genre, from rates (texts, rates) and lengths."""
        nearest = np.full(len(rates), np.inf)
        for genre in range(len(self.genres)):  # one at a time: there may be many texts
            departures = self._departures(rates, tokens, genre)
            nearest = np.minimum(nearest, _norm(departures))
        return nearest

    def foreign(self, texts: Sequence[str], tokens: Sequence[Sequence[str]]) -> BoolArray:
        """Which texts (texts,) with these tokens are farther from prose than the limit."""
        return np.asarray(self.distances(*self._rates(texts, tokens)) > self.limit)

    def _rates(
        self, texts: Sequence[str], tokens: Sequence[Sequence[str]]
    ) -> tuple[FloatArray, IntArray]:
        """The rates (texts, rates) of texts with these tokens, and their lengths (texts,)."""
        pairs = zip(texts, tokens, strict=True)
        rates = np.array([prose_rates(text, words, self.lexicon) for text, words in pairs])
        return rates, np.array([max(1, len(words)) for words in tokens])

    def departures(self, texts: Sequence[str], tokens: Sequence[Sequence[str]]) -> list[Departure]:
        """The departure from prose of each text with these tokens."""
        rates, counts = self._rates(texts, tokens)
        return [
            self._departure(rates[at : at + 1], counts[at : at + 1]) for at in range(len(rates))
        ]

    def _departure(self, rates: FloatArray, count: IntArray) -> Departure:
        """The departure of a text with these rates (1, rates) and number of tokens (1,)."""
        by_genre = self._departures(rates, count, slice(None))  # (genres, rates)
        distances = _norm(by_genre)
        nearest = int(np.argmin(distances))
        rate = int(np.argmax(by_genre[nearest]))
        root = self.usual[nearest][rate]
        return Departure(
            atypicality=float(distances[nearest]) / self.limit,
            rate=RATES[rate],
            value=float(rates[0, rate]),
            usual=root**2 if _IS_SHARE[rate] else float(np.exp(root)),
            genre=self.genres[nearest],
        )

    def _departures(self, rates: FloatArray, tokens: IntArray, genre: int | slice) -> FloatArray:
        """The standardised departures (texts, rates) from a genre, or of one text from several."""
        means, variance, sampling = self._arrays
        deviation = np.sqrt(variance + sampling / tokens[:, None])
        return np.asarray(_sided(_roots(rates) - means[genre]) / deviation)

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return np.array(self.usual), np.array(self.variance), np.array(self.sampling)


def _roots(rates: FloatArray) -> FloatArray:
    """Rates (texts, rates) with stable variance: roots of shares, the logarithm of a length."""
    return np.where(_IS_SHARE, np.sqrt(rates), np.log(np.maximum(rates, 1)))


def _sided(departures: FloatArray) -> FloatArray:
    """The departures (texts, rates) in the direction of foreign text."""
    return np.where(_SIGNS == 0, np.abs(departures), np.maximum(_SIGNS * departures, 0))


def _norm(departures: FloatArray) -> FloatArray:
    """The distances (texts,) that departures (texts, rates) make."""
    return np.asarray((departures**_POWER).sum(axis=1) ** (1 / _POWER))


def _means(samples: ProseSamples, roots: FloatArray, kept: BoolArray) -> FloatArray:
    """The means (genres, rates) over long texts, or over all if a genre has none."""
    rows = []
    for genre in range(len(samples.genres)):
        chosen = kept & (samples.genre == genre)
        long = chosen & (samples.tokens >= _LONG)
        rows.append(roots[long if long.any() else chosen].mean(axis=0))
    return np.array(rows)


def _variances(departures: FloatArray, tokens: IntArray) -> tuple[FloatArray, FloatArray]:
    """The variances (rates,) of long texts, and the variances (rates,) added for one token.

    They are the constant and slope of a line through the mean squares over 1 / tokens.
    """
    lengths = np.searchsorted(_LENGTHS, tokens, side="right")  # (texts,)
    groups = [lengths == group for group in np.unique(lengths)]
    groups = [group for group in groups if group.sum() >= _FEWEST] or [tokens > 0]
    inverse = np.array([(1 / tokens[group]).mean() for group in groups])  # (groups,)
    squares = np.array([np.square(departures[group]).mean(axis=0) for group in groups])
    if len(groups) == 1:
        variance, sampling = squares[0], np.zeros_like(squares[0])
    else:
        line = np.stack([np.ones_like(inverse), inverse], axis=1)  # (groups, 2)
        variance, sampling = np.linalg.lstsq(line, squares, rcond=None)[0]
    least = np.maximum(squares.min(axis=0) / 2, _LEAST_DEVIATION**2)
    return np.maximum(variance, least), np.maximum(sampling, 0)
