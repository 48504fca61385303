"""What speaks for one candidate over another: the habits and passages of the disputed text.

The disputed text is compared with both, against the same population. What an n-gram or a passage of
it contributes to the one log Bayes factor, less what it contributes to the other, is what it has to
say between the two candidates. Only n-grams that the disputed text has are looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.ngrams.table import CHANNELS
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.explanation import ExplainedText, explain_text
from adhominem.verify.ngram_contributions import (
    WeighedNgrams,
    name_tokens,
    shown,
    strongest_groups,
    weigh_ngrams,
)
from adhominem.verify.verifier import Verifier

_STRONGEST = 200  # n-grams that are put together where they stand in the same places
_SHOWN = 10  # for each of the two candidates
_EXAMPLES = 3  # of words with an n-gram
_MOST_TEXTS = 20  # of a candidate


@dataclass(frozen=True, kw_only=True)
class VersusNgram:
    """An n-gram of the disputed text, and for whom it speaks; rates are for 1,000 tokens."""

    ngram: str  # as it is shown to people
    channel: str
    contribution: float  # in nats: above 0 it speaks for the first candidate, below for the second
    disputed_rate: float
    first_rate: float
    second_rate: float
    words: tuple[str, ...]  # some that it is part of, where it is a part of words
    with_it: int  # how many more stand in the same places


@dataclass(frozen=True, kw_only=True)
class VersusPassage:
    """A passage of a disputed text, in characters."""

    text: int  # index into the disputed texts of the case
    start: int
    end: int
    words: str  # what stands there, up to the next passage
    contribution: float  # as of an n-gram


@dataclass(frozen=True, kw_only=True)
class Versus:
    """Two candidates, and what in the disputed text speaks for the one over the other."""

    first: str
    second: str
    ngrams: tuple[VersusNgram, ...]  # the strongest first; none without an n-gram profile
    passages: tuple[VersusPassage, ...]  # in the order of the text


def explain_versus(
    verifier: Verifier,
    disputed: Sequence[Exhibit],
    candidates: Mapping[str, Sequence[Document]],
    population: Population | None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> tuple[Versus, ...]:
    """The first of some candidates against each of the others."""
    texts: dict[str, list[ExplainedText]] = {}  # the disputed ones, compared with each candidate
    weighed: dict[str, WeighedNgrams | None] = {}
    for name, documents in candidates.items():
        comparison = verifier.compare(
            list(disputed), list(documents[:_MOST_TEXTS]), population, attention=True
        )
        texts[name] = [
            explain_text(comparison, "first", 0, number, text)
            for number, text in enumerate(comparison.sides[0])
        ]
        weighed[name] = weigh_ngrams(comparison)
        on_progress(len(texts) / len(candidates))
    first, *others = texts
    return tuple(
        Versus(
            first=first,
            second=other,
            ngrams=_ngrams(weighed[first], weighed[other]),
            passages=tuple(_passages(texts[first], texts[other])),
        )
        for other in others
    )


def _passages(
    first: Sequence[ExplainedText], second: Sequence[ExplainedText]
) -> Iterator[VersusPassage]:
    """The passages of the disputed texts, each with the white space behind it."""
    for number, (text, same_text) in enumerate(zip(first, second, strict=True)):
        ends = [*(passage.start for passage in text.passages[1:]), len(text.text)]
        for one, other, end in zip(text.passages, same_text.passages, ends, strict=True):
            yield VersusPassage(
                text=number,
                start=one.start,
                end=one.end,
                words=text.text[one.start : end],
                contribution=one.contribution - other.contribution,
            )


def _ngrams(first: WeighedNgrams | None, second: WeighedNgrams | None) -> tuple[VersusNgram, ...]:
    """The strongest habits of the disputed text, for either candidate."""
    if first is None or second is None or first.profile.table is not second.profile.table:
        return ()  # candidates in two languages have no n-gram in common
    texts = [text for text in first.profile.texts if text.side == 0]
    here = np.unique(np.concatenate([text.columns for text in texts]))
    columns = np.intersect1d(here, np.intersect1d(first.columns, second.columns))
    if not len(columns):
        return ()
    of_first, of_second = (
        side.contributions[np.searchsorted(side.columns, columns)] for side in (first, second)
    )
    difference = of_first - of_second  # (n-grams,)
    table = first.profile.table
    name_like = name_tokens(texts, table.tokens)
    groups, _ = strongest_groups(texts, table, columns, difference, name_like, _STRONGEST)
    firsts = [members[0] for members in groups]
    ngrams = dict(zip(firsts, table.ngrams(columns[firsts]), strict=True))
    totals = [float(difference[members].sum()) for members in groups]
    order = sorted(range(len(groups)), key=lambda at: -abs(totals[at]))
    chosen = [at for at in order if totals[at] > 0][:_SHOWN]
    chosen += [at for at in order if totals[at] < 0][:_SHOWN]
    return tuple(
        VersusNgram(
            ngram=shown(ngrams[groups[at][0]]),
            channel=CHANNELS[ngrams[groups[at][0]].channel],
            contribution=totals[at],
            disputed_rate=_rate(first, columns[groups[at][0]], 0),
            first_rate=_rate(first, columns[groups[at][0]], 1),
            second_rate=_rate(second, columns[groups[at][0]], 1),
            words=_words(first, columns[groups[at][0]], ngrams[groups[at][0]].channel),
            with_it=len(groups[at]) - 1,
        )
        for at in sorted(chosen, key=lambda at: -abs(totals[at]))
    )


def _rate(weighed: WeighedNgrams, column: int, side: int) -> float:
    texts = [text for text in weighed.profile.texts if text.side == side]
    count = sum(len(text.tokens_with(int(column))) for text in texts)
    return 1_000 * count / sum(len(text.tokens) for text in texts)


def _words(weighed: WeighedNgrams, column: int, channel: int) -> tuple[str, ...]:
    """Words of the disputed text that a character n-gram is part of."""
    if channel != 0:
        return ()
    words = Counter(
        text.tokens[at]
        for text in weighed.profile.texts
        if text.side == 0
        for at in text.tokens_with(int(column)).tolist()
    )
    return tuple(word for word, _ in words.most_common(_EXAMPLES))
