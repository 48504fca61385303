"""The n-grams that contribute most to a log Bayes factor, and their places.

A log Bayes factor consists of a product of both sides and a rest (`score.contributions`). The
product is a sum over n-grams: it supports one author where both sides have more of an n-gram than
usual, or both less. The rest, mostly against one author, is shared out among n-grams by the squared
departures of both sides from the usual. So an n-gram in which both depart alike supports one
author, and one in which only one side departs supports two.

The usual values are known in a profile, where an n-gram has its own dimension and the centre of the
genre a value in it. For another n-gram member, an n-gram is taken to be as far from usual as in the
profile. Only n-grams that occur are considered, not what both sides avoid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray, IntArray
from adhominem.ngrams.table import CHANNELS, Ngram
from adhominem.verify.comparison import Comparison
from adhominem.verify.ngram_texts import (
    NgramMember,
    Occurrences,
    are_names,
    group,
    letters,
    name_tokens,
    ngram_members,
    shown,
    spans_of,
)

_CANDIDATES = 400  # n-grams to be grouped where they occur in the same places
_SHOWN = 30
_EXAMPLES = 3  # examples of words with an n-gram, or of names


@dataclass(frozen=True)
class Place:
    """A span of characters in one of the texts of an explanation."""

    text: int  # index into the texts of the explanation
    start: int
    end: int


@dataclass(frozen=True)
class NgramContribution:
    """An n-gram and its contribution, with that of others that occur in the same places."""

    ngram: str  # as it is shown to people
    channel: str  # characters, tokens, bigrams or shaped_bigrams
    contribution: float  # to the log Bayes factor, in nats
    first: int  # number of occurrences in the texts of the first side
    second: int
    first_rate: float  # occurrences per 1,000 tokens
    second_rate: float
    usual_rate: float  # the rate that the model takes to be neither high nor low
    words: tuple[str, ...]  # examples of words that it is part of
    with_it: tuple[str, ...]  # the other n-grams in the same places, the strongest first
    places: tuple[Place, ...]


@dataclass(frozen=True)
class NgramContributions:
    """The contributions of the n-grams that occur."""

    habits: tuple[NgramContribution, ...]  # the strongest first, whatever their sign
    names: float  # total contribution of parts of names
    named: tuple[str, ...]  # some of the names, the most frequent first
    all: float  # total contribution


@dataclass(frozen=True)
class WeighedNgrams:
    """The n-grams that occur in a comparison, sorted by column, with their contributions."""

    profile: NgramMember
    columns: IntArray  # (n-grams,): of the profile's LEVs
    usual: FloatArray  # (n-grams,): value of the genre's centre
    contributions: FloatArray  # (n-grams,): to the log Bayes factor, in nats


def weigh_ngrams(comparison: Comparison) -> WeighedNgrams | None:
    """The contribution of each single n-gram; None without an n-gram profile."""
    members = list(ngram_members(comparison))
    profile = next((member for member in members if member.encoder.is_profile), None)
    if profile is None:
        return None
    columns = profile.columns[profile.encoder.has_own_dimension(profile.columns)]
    usual = profile.encoder.project_back(columns, profile.contribution.centre)  # (n-grams,)
    others = sum(of.contribution.value - of.contribution.product for of in members)
    contributions = _products(members, profile, columns, usual)
    contributions += others * _squares(profile, columns, usual)
    return WeighedNgrams(profile, columns, usual, contributions)


def explain_ngrams(comparison: Comparison) -> NgramContributions | None:
    """The contributions of n-grams, the strongest listed; None without an n-gram profile."""
    weighed = weigh_ngrams(comparison)
    if weighed is None:
        return None
    if not len(weighed.columns):
        return NgramContributions((), 0.0, (), 0.0)
    profile, columns = weighed.profile, weighed.columns
    contributions = weighed.contributions
    is_pair = columns >= profile.table.channels[2].start
    occurrences = Occurrences.of(profile.texts, columns, is_pair)
    name_like = name_tokens(profile.texts, profile.table.tokens)
    named = are_names(occurrences, name_like)
    left = np.flatnonzero(~named)
    strongest = left[np.argsort(-np.abs(contributions[left]), kind="stable")[:_CANDIDATES]]
    ngrams = {at: profile.table.ngram(int(columns[at])) for at in strongest.tolist()}
    telling = np.array([(letters(ngram), ngram.channel == 1) for ngram in ngrams.values()])
    telling = telling.reshape(-1, 2)  # (n-grams, 2), even if all are names
    groups = group(occurrences, strongest[np.lexsort(-telling.T[::-1])])
    groups.sort(key=lambda members: -abs(contributions[members].sum()))
    tokens = (token for text in profile.texts for token in text.tokens)
    names = Counter(token for token, is_name in zip(tokens, name_like, strict=True) if is_name)
    return NgramContributions(
        habits=tuple(_habit(weighed, ngrams, members) for members in groups[:_SHOWN]),
        names=float(contributions[named].sum()),
        named=tuple(name for name, _ in names.most_common(_EXAMPLES)),
        all=float(contributions.sum()),
    )


def _products(
    members: Sequence[NgramMember], profile: NgramMember, columns: IntArray, usual: FloatArray
) -> FloatArray:
    """Each n-gram's part (n-grams,) of the product of both sides."""
    total = np.zeros(len(columns))
    for member in members:
        here = columns if member is profile else member.columns_of(profile.table, columns)
        known = here >= 0
        for text, of_profile in zip(member.texts, profile.texts, strict=True):
            above = of_profile.values[columns[known]] - usual[known]
            # In units of the value of a single occurrence, which differs between members.
            units = np.maximum(of_profile.unit_values[columns[known]], 1e-12)
            levels = above / units * text.unit_values[here[known]]
            direction = member.contribution.directions[text.side][text.place]
            total[known] += levels * member.encoder.project_back(here[known], direction)
    return total


def _squares(profile: NgramMember, columns: IntArray, usual: FloatArray) -> FloatArray:
    """Each n-gram's share (n-grams,) of the squared departures of both sides from the usual."""
    part = profile.contribution
    sides = np.stack([-usual, -usual])  # (sides, n-grams)
    for text in profile.texts:
        sides[text.side] += part.text_shares[text.side][text.place] * text.values[columns]
    means = (shares @ levs for shares, levs in zip(part.text_shares, part.levs, strict=True))
    whole = sum(float(np.square(mean - part.centre).sum()) for mean in means)
    return np.asarray(np.square(sides).sum(axis=0) / max(whole, 1e-300))


def _habit(
    weighed: WeighedNgrams, ngrams: Mapping[int, Ngram], members: list[int]
) -> NgramContribution:
    """The joint contribution of n-grams in the same places, named after the first."""
    profile, usual, contributions = weighed.profile, weighed.usual, weighed.contributions
    first, *others = members
    ngram, column = ngrams[first], weighed.columns[first]
    counts, sizes = [0, 0], [0, 0]
    expected = 0.0
    places: list[Place] = []
    words: Counter[str] = Counter()
    for number, text in enumerate(profile.texts):
        at = text.tokens_with(int(column))
        counts[text.side] += len(at)
        sizes[text.side] += len(text.tokens)
        expected += float(text.usual_counts(column[None], usual[first : first + 1])[0])
        places += [Place(number, *span) for span in spans_of(ngram, text, at)]
        words.update(text.tokens[token] for token in at.tolist())
    most = [word for word, _ in words.most_common(_EXAMPLES)] if ngram.channel == 0 else []
    also = (shown(ngrams[at]) for at in sorted(others, key=lambda at: -abs(contributions[at])))
    return NgramContribution(
        ngram=shown(ngram),
        channel=CHANNELS[ngram.channel],
        contribution=float(contributions[members].sum()),
        first=counts[0],
        second=counts[1],
        first_rate=1_000 * counts[0] / sizes[0],
        second_rate=1_000 * counts[1] / sizes[1],
        usual_rate=1_000 * expected / sum(sizes),
        words=tuple(most),
        with_it=tuple(dict.fromkeys(name for name in also if name != shown(ngram))),
        places=tuple(places),
    )
