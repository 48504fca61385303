"""Explain a comparison: where the network looked, and what speaks for or against one author.

A text is shown in *passages*. A passage is what a window adds to those before it: neighbouring
windows overlap by a few tokens, passages do not, so nothing is shown twice. All places are
character positions in the text as the user gave it.

Attention says where the network looked, not why the comparison came out as it did. For that, the
log Bayes factor is decomposed (`score.contributions`), starting from zero, where the texts favour
neither proposition: into passages, and once more into n-grams (`Balance`).

The contribution of a passage is what the product of both sides loses when the passage is left out
and all else is kept. The rest of the text's contribution is shared out by length. So the
contributions of all passages add up to the log Bayes factor.

The paper's figure shows *windows* instead (`AttendedWindow`): each as a network read it, with the
contextual prefix first, so that a token in two windows is there twice, with its attention in each.

On paper, passages begin at sentences (`at_sentences`): the contribution of a passage is shared
evenly among its characters, and a new passage, of as many sentences as it takes to be long enough,
has the sum over its characters. So the total of all passages stays the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from adhominem.arrays import Array32, FloatArray, IntArray
from adhominem.records import with_schema
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import SideTexts
from adhominem.text.sentences import sentence_starts, word_spans
from adhominem.verify.ngram_contributions import Balance, NgramContribution, explain_ngrams
from adhominem.verify.verification import ComparedSides, ComparedText, Verification
from adhominem.verify.verifier import Verifier

SHORTEST = 200  # characters of a passage; a longer sentence stays whole
LONGEST = 1_200  # where no sentence ends, a passage ends with a window


@dataclass(frozen=True)
class TokenAttention:
    """A token and its share of its passage's attention."""

    start: int
    end: int
    attention: float  # share; sums to 1 over a passage, or over a window and its prefix


@dataclass(frozen=True)
class ExplainedPassage:
    """A stretch of a text, with its contribution and its attention."""

    start: int
    end: int
    contribution: float  # to the log Bayes factor, in nats
    attention: float | None  # share of the document's; None without a network
    tokens: tuple[TokenAttention, ...] = ()  # empty where no network read it


@dataclass(frozen=True)
class ExplainedText:
    """A text of one side, with its passages in order, possibly separated by white space."""

    side: str  # first or second
    name: str
    text: str
    passages: tuple[ExplainedPassage, ...]


@dataclass(frozen=True)
class AttendedWindow:
    """The tokens that a network read together, with the attention that it paid to them."""

    network: str  # the member's name
    start: int
    end: int
    attention: float  # share; sums to 1 over the windows of a network
    prefix: str  # such as <Harry Potter>; empty if the network knows no topics
    prefix_attention: float
    tokens: tuple[TokenAttention, ...]


@dataclass(frozen=True)
class TextInWindows(ExplainedText):
    """A text with its windows, network by network; they may overlap."""

    windows: tuple[AttendedWindow, ...]


@dataclass(frozen=True)
class Explanation:
    """A comparison with the contributions of its passages and n-grams."""

    verification: Verification

    @property
    def language_note(self) -> str:
        """The language and how it is known: see `Verification`."""
        return self.verification.language_note

    texts: tuple[ExplainedText, ...]  # of the first side, then of the second
    ngrams: tuple[NgramContribution, ...]  # the strongest first, whatever their sign
    balance: Balance

    @property
    def has_attention(self) -> bool:
        """Whether a network read the texts."""
        return any(
            passage.attention is not None for text in self.texts for passage in text.passages
        )

    def to_json(self) -> dict[str, Any]:
        """The explanation as plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)


def explain_texts(
    verifier: Verifier,
    first: SideTexts,
    second: SideTexts,
    *,
    population: Population | None = None,
    prior_same_author: float = 0.5,
    delta: float = 0.125,
    scale: VerbalScale | None = None,
    in_windows: bool = False,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Explanation:
    """The comparison of two sides, as by `Verifier.verify`, with all contributions to it.

    With `in_windows`, the texts are `TextInWindows`. `on_progress` is called with the share of the
    work done.
    """
    if in_windows:
        verifier.networks_with_attention()  # or an error, before any text is read
    comparison = verifier.compare(first, second, population, attention=True)
    verification = verifier.judge(comparison, prior_same_author, delta, scale)
    explanation = explain_comparison(comparison, verification, on_progress)
    if not in_windows:
        return explanation
    pairs = zip(explanation.texts, comparison.texts, strict=True)
    return replace(
        explanation,
        texts=tuple(TextInWindows(**vars(text), windows=windows_of(read)) for text, read in pairs),
    )


def explain_comparison(
    comparison: ComparedSides,
    verification: Verification,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Explanation:
    """The explanation of a comparison whose attention was kept."""
    steps = len(comparison.texts) + 1
    texts = []
    for side, (name, texts_of_side) in enumerate(
        zip(("first", "second"), comparison.sides, strict=True)
    ):
        for number, text in enumerate(texts_of_side):
            texts.append(explain_text(comparison, name, side, number, text))
            on_progress(len(texts) / steps)
    ngrams, balance = explain_ngrams(comparison)
    on_progress(1.0)
    return Explanation(verification, tuple(texts), ngrams, balance)


def explain_text(
    comparison: ComparedSides, name: str, side: int, number: int, text: ComparedText
) -> ExplainedText:
    """A text of a side, called `name`, with the contribution of each passage."""
    tokenized = text.tokens(comparison.lead)
    starts = comparison.passages(text)
    ends = np.append(starts[1:], len(tokenized.tokens))
    contributions = _contributions(comparison, side, number, ends - starts)
    attention = _attention(comparison, text, starts)
    passages = []
    for at, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        tokens: tuple[TokenAttention, ...] = ()
        if attention is not None:
            shares = attention[1][at].tolist()
            spans = tokenized.spans[start : start + len(shares)].tolist()
            tokens = tuple(
                TokenAttention(begin, last, share)
                for (begin, last), share in zip(spans, shares, strict=True)
            )
        passages.append(
            ExplainedPassage(
                int(tokenized.spans[start, 0]),
                int(tokenized.spans[end - 1, 1]),
                float(contributions[at]),
                None if attention is None else float(attention[0][at]),
                tokens,
            )
        )
    return ExplainedText(name, text.document.id, text.document.text, tuple(passages))


def _contributions(
    comparison: ComparedSides, side: int, number: int, tokens: IntArray
) -> FloatArray:
    """The contributions (passages,) of a text's passages, which have `tokens` (passages,)."""
    sizes = tokens / tokens.sum()  # (passages,): shares
    times = 1 - np.eye(len(tokens), dtype=np.int64)  # leave out one at a time
    if len(tokens) == 1:
        times = np.ones_like(times)  # a text of one passage stays as it is
    total = np.zeros(len(tokens))
    losses = comparison.losses(side, number, times)
    for contribution, lost in zip(comparison.contributions, losses, strict=True):
        share = contribution.shares(side)[number]
        total += lost + sizes * (share - lost.sum())
    return total


def _attention(
    comparison: ComparedSides, text: ComparedText, starts: IntArray
) -> tuple[FloatArray, list[FloatArray]] | None:
    """The networks' mean attention: shares of the passages, and of the tokens in each passage.

    Each sums to 1. Unread passages have no tokens; None without a network.
    """
    passage_shares, token_shares = [], []
    for network, encoded in text.attention.items():
        if network.tokenizer is not comparison.lead.tokenizer:  # its tokens are not those shown
            continue
        if np.array_equal(encoded.windows.starts, starts):
            passage_shares.append(encoded.window_attention[0].astype(np.float64))
            token_shares.append(
                _token_shares(encoded.token_attention[:, 1:], starts, encoded.windows.counts)
            )
    if not passage_shares:
        return None
    tokens = [np.asarray(np.mean(shares, axis=0)) for shares in zip(*token_shares, strict=True)]
    return np.mean(passage_shares, axis=0), tokens


def windows_of(text: ComparedText) -> tuple[AttendedWindow, ...]:
    """The windows of a text whose attention was kept, of all networks."""
    windows = []
    for network, encoded in text.attention.items():
        spans = text.tokens(network).spans.tolist()
        prefix = f"<{text.document.topic or 'no topic'}>" if network.knows_topics else ""
        for start, count, attention, shares in zip(
            encoded.windows.starts.tolist(),
            encoded.windows.counts.tolist(),
            encoded.window_attention[0].tolist(),
            encoded.token_attention.tolist(),
            strict=True,
        ):
            within = spans[start : start + count]
            tokens = tuple(
                TokenAttention(begin, end, share)
                for (begin, end), share in zip(within, shares[1 : 1 + count], strict=True)
            )
            begin, end = within[0][0], within[-1][1]
            windows.append(
                AttendedWindow(network.name, begin, end, attention, prefix, shares[0], tokens)
            )
    return tuple(windows)


def _token_shares(attention: Array32, starts: IntArray, counts: IntArray) -> list[FloatArray]:
    """The attention to each token, as shares that sum to 1 in a passage.

    `attention` is (windows, tokens). A token in two overlapping windows occurs once, in its
    passage, with the mean of both.
    """
    last = int((starts + counts).max())
    total, times = np.zeros(last), np.zeros(last)
    for row, start, count in zip(attention, starts, counts, strict=True):
        total[start : start + count] += row[:count]
        times[start : start + count] += 1
    mean = total / np.maximum(times, 1)
    shares = []
    for start, end, count in zip(starts, np.append(starts[1:], last), counts, strict=True):
        attended = mean[start : min(end, start + count)]
        shares.append(attended / max(float(attended.sum()), 1e-300))
    return shares


def at_sentences(explanation: Explanation) -> Explanation:
    """A copy of an explanation whose passages begin at sentences."""
    return replace(explanation, texts=tuple(map(_recut, explanation.texts)))


def _recut(text: ExplainedText) -> ExplainedText:
    if not text.passages:
        return text
    first, last = text.passages[0].start, text.passages[-1].end
    starts = _chosen(text, first, last)
    tokens = [  # each with its share of the attention to the whole text
        (token, (passage.attention or 0.0) * token.attention)
        for passage in text.passages
        for token in passage.tokens
    ]
    places = [token.start for token, _ in tokens]
    attended = all(passage.attention is not None for passage in text.passages)
    passages = []
    for start, end in pairwise([*starts, last + 1]):
        within = tokens[bisect_left(places, start) : bisect_left(places, end)]
        weight = sum(part for _, part in within)
        passages.append(
            ExplainedPassage(
                start,
                start + len(text.text[start : min(end, last)].rstrip()),
                sum(
                    _share(passage, start, end) * passage.contribution for passage in text.passages
                ),
                weight if attended else None,
                tuple(
                    TokenAttention(token.start, token.end, part / weight if weight else 0.0)
                    for token, part in within
                ),
            )
        )
    return replace(text, passages=tuple(passages))


def _chosen(text: ExplainedText, first: int, last: int) -> list[int]:
    """The characters at which the new passages begin."""
    spans = word_spans(text.text)
    begins = [
        start
        for start in spans[sentence_starts(text.text, spans), 0].tolist()
        if first < start < last
    ]
    windows = [passage.start for passage in text.passages]
    chosen = [first]
    for start in [*begins, last]:
        while (
            start - chosen[-1] > LONGEST
            and (at := windows[max(0, bisect_right(windows, chosen[-1] + LONGEST) - 1)])
            > chosen[-1]
        ):
            chosen.append(at)
        if start < last and start - chosen[-1] >= SHORTEST and last - start >= SHORTEST // 2:
            chosen.append(start)
    return chosen


def _share(passage: ExplainedPassage, start: int, end: int) -> float:
    """The share of a passage that lies between two characters."""
    length = max(1, passage.end - passage.start)  # an empty passage counts as one character
    return max(0, min(passage.start + length, end) - max(passage.start, start)) / length
