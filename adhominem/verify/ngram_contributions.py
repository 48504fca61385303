"""Which n-grams contribute most to a log Bayes factor, and where they stand.

A log Bayes factor has a product of both sides, and all else (`score.contributions`). The product
is a sum over n-grams: it speaks for one author where both sides have more of an n-gram than is
usual, or both less. All else, mostly against one author, is shared out among n-grams by the squares
of how far both sides depart from the usual. So an n-gram in which both depart alike speaks for one
author, and one in which only one of them does, for two.

What is usual is known to a profile, where an n-gram has a dimension of its own, and the centre of
the genre a value there. Another n-gram member takes the n-gram to be as far from usual as the
profile does. Only n-grams that occur are looked at; what both sides avoid is not.
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

_CANDIDATES = 400  # that are put together where they stand in the same places
_SHOWN = 30
_EXAMPLES = 3  # of words with an n-gram, or of names


@dataclass(frozen=True)
class Place:
    """A place in one of the texts of an explanation, in characters."""

    text: int  # index into the texts of the explanation
    start: int
    end: int


@dataclass(frozen=True)
class NgramContribution:
    """An n-gram, and what it contributes together with others that stand in the same places."""

    ngram: str  # as it is shown to people
    channel: str  # characters, tokens, bigrams or shaped_bigrams
    contribution: float  # to the log Bayes factor, in nats
    first: int  # how often it occurs in the texts of the first side
    second: int
    first_rate: float  # the same for every 1,000 tokens
    second_rate: float
    usual_rate: float  # as which it would be neither frequent nor rare, by the model
    words: tuple[str, ...]  # some that it is part of, where it is a part of words
    with_it: tuple[str, ...]  # the other n-grams in the same places, the strongest first
    places: tuple[Place, ...]


@dataclass(frozen=True)
class NgramContributions:
    """What the n-grams that occur contribute."""

    habits: tuple[NgramContribution, ...]  # the strongest first, whatever their sign
    names: float  # what parts of names contribute in all
    named: tuple[str, ...]  # some of the names, the most frequent first
    all: float  # what all of them contribute


@dataclass(frozen=True)
class WeighedNgrams:
    """The n-grams that occur in a comparison, in the order of their columns, and their parts."""

    profile: NgramMember
    columns: IntArray  # (n-grams,): of the profile
    usual: FloatArray  # (n-grams,): what the centre of the genre has of each
    contributions: FloatArray  # (n-grams,): to the log Bayes factor, in nats


def weigh_ngrams(comparison: Comparison) -> WeighedNgrams | None:
    """What each n-gram contributes by itself; None without an n-gram profile."""
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
    """What n-grams contribute, and which most; None without an n-gram profile."""
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
    telling = telling.reshape(-1, 2)  # (n-grams, 2), be there none but names
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
    """(n-grams,): what each of the profile's n-grams has in the product of both sides."""
    total = np.zeros(len(columns))
    for member in members:
        here = columns if member is profile else member.columns_of(profile.table, columns)
        known = here >= 0
        for text, of_profile in zip(member.texts, profile.texts, strict=True):
            above = of_profile.values[columns[known]] - usual[known]
            # In units of what an n-gram has that occurs once: those differ between members.
            units = np.maximum(of_profile.unit_values[columns[known]], 1e-12)
            levels = above / units * text.unit_values[here[known]]
            direction = member.contribution.directions[text.side][text.place]
            total[known] += levels * member.encoder.project_back(here[known], direction)
    return total


def _squares(profile: NgramMember, columns: IntArray, usual: FloatArray) -> FloatArray:
    """(n-grams,): the share of each in the squares of how far both sides are from the usual."""
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
    """Some n-grams in the same places, named after the first, which shows most of them."""
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
