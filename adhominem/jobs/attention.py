"""Which words the networks of a model look at, in a whole corpus.

A token's weight is the attention of its window times that of the token in it. If a network looked
at all tokens alike, a word would get attention by its frequency. The *ratio* says how much more it
gets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import InputError, NotFoundError, OptionError
from adhominem.jobs.inputs import Corpora, Watch, reading, unwatched
from adhominem.paper.runtime import NetworkOutput
from adhominem.statistics import student_quantile
from adhominem.verify.verifier import load

# Of a word: its tokens, its documents, the attention it gets, the attention it would get by its
# frequency; and for the interval the squares of these two, and their product.
Sums = FloatArray

_FEWEST_DOCUMENTS = 5  # that a word must stand in: a ratio of fewer says more of the text


@dataclass(frozen=True)
class WordAttention:
    """How much attention a token type gets in a corpus."""

    word: str
    tokens: int  # of the network that sees most of them
    documents: int  # that it stands in
    ratio: float  # of its attention to what its frequency explains
    low: float  # 95 % interval of the ratio, over documents
    high: float


@dataclass(frozen=True)
class CorpusAttention:
    """All words of a corpus that stand in several documents, the highest ratio first."""

    model: str
    documents: int
    tokens: int
    words: tuple[WordAttention, ...]


def attention_of(
    model: str | Path,
    corpora: Corpora,
    *,
    fewest_documents: int = _FEWEST_DOCUMENTS,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> CorpusAttention:
    """Read corpora, and say which words get more or less attention than their frequency explains.

    What cannot be read goes to `skipped`; without it, the first such text is an error.
    """
    verifier = load(model)
    networks = [member for member in verifier.members if member.windows is not None]
    if not networks:
        raise OptionError(
            f"the model {verifier.name} has no network, and only networks have attention; "
            "expected one trained with a network's preset"
        )
    sums: dict[str, Sums] = defaultdict(lambda: np.zeros(7))
    documents = tokens = 0
    with reading(corpora, "reading", watch) as (sources, on_bytes):
        for document in chain.from_iterable(
            source.documents(author_required=False, skipped=skipped, on_bytes=on_bytes)
            for source in sources
        ):
            attended = []  # the tokens that each network sees, and their weights
            for member in networks:
                words = member.tokenizer.tokens(document.text)
                encoded = member.attend(document, words) if words else None
                if encoded is not None:
                    attended.append((words, token_weights(encoded, len(words))))
            if not attended:
                continue
            _add(sums, attended)
            documents += 1
            tokens += max(len(words) for words, _ in attended)
    if not documents:
        raise NotFoundError("no text in the corpus; expected at least one")
    rows = [_word(word, of) for word, of in sums.items() if of[1] >= fewest_documents]
    rows.sort(key=lambda row: (-row.ratio, row.word))
    return CorpusAttention(verifier.name, documents, tokens, tuple(rows))


def token_weights(encoded: NetworkOutput, tokens: int) -> FloatArray:
    """(tokens,): the share of a document's attention that each token got, of what was read.

    Tokens of two overlapping windows get both shares; what the contextual prefix got is left out.
    """
    weights = np.zeros(tokens)
    rows = zip(
        encoded.window_attention[0],
        encoded.token_attention[:, 1:],
        encoded.windows.starts,
        encoded.windows.counts,
        strict=True,
    )
    for of_window, row, start, count in rows:
        weights[start : start + count] += float(of_window) * row[:count]
    return np.asarray(weights / max(float(weights.sum()), 1e-300))


def _add(sums: dict[str, Sums], attended: Sequence[tuple[list[str], FloatArray]]) -> None:
    """A document: what a word gets, and would get by its frequency, is the mean of the networks.

    Networks may normalise texts in different ways, and then do not see the same words.
    """
    means: dict[str, tuple[int, float, float]] = {}
    for tokens, weights in attended:
        token_types, index, times = np.unique(tokens, return_inverse=True, return_counts=True)
        attention = np.bincount(index, weights) / len(attended)
        even = times / len(tokens) / len(attended)
        columns = zip(token_types.tolist(), times.tolist(), attention, even, strict=True)
        for token_type, count, got, expected in columns:
            before = means.get(token_type, (0, 0.0, 0.0))
            means[token_type] = max(before[0], count), before[1] + got, before[2] + expected
    for token_type, (count, got, expected) in means.items():
        sums[token_type] += (count, 1, got, expected, got**2, expected**2, got * expected)


def _word(word: str, sums: Sums) -> WordAttention:
    """The ratio of two sums over documents, and its interval by the delta method, in logs.

    The spread is that of few documents, so the interval is Student's. It still is too narrow where
    a word's ratio differs much between documents: of 5 documents about 90 % are inside, not 95.
    A word of one document has no spread, and its interval no end.
    """
    tokens, documents, attention, even, squares, even_squares, products = sums.tolist()
    ratio = attention / even
    rest = squares - 2 * ratio * products + ratio**2 * even_squares
    free = int(documents) - 1
    low, high = 0.0, float("inf")
    if free:
        spread = max(0.0, rest * documents / free) ** 0.5 / even
        # A word of two documents may get an exponent beyond any number.
        factor = float(np.exp(min(700.0, student_quantile(free) * spread / max(ratio, 1e-300))))
        low, high = ratio / factor, ratio * factor
    return WordAttention(word, int(tokens), int(documents), ratio, low, high)
