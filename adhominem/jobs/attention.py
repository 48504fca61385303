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
from adhominem.errors import InputError, NotFoundError
from adhominem.jobs.run import Corpora, Watch, reading, unwatched
from adhominem.paper.runtime import NetworkOutput
from adhominem.statistics import student_quantile
from adhominem.verify.verifier import load

# For each word: its tokens, its documents, its attention, the attention its frequency explains and,
# for the interval, the squares of these two, and their product.
Sums = FloatArray

_FEWEST_DOCUMENTS = 5  # that must contain a word: a ratio from fewer says more about the texts


@dataclass(frozen=True)
class WordAttention:
    """How much attention a token type gets in a corpus."""

    word: str
    tokens: int  # as the network that counts most of them has it
    documents: int  # that contain it
    ratio: float  # of its attention to what its frequency explains
    low: float  # 95 % interval of the ratio, over documents
    high: float


@dataclass(frozen=True)
class CorpusAttention:
    """The words of a corpus that occur in several documents, the highest ratio first."""

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
    """The words of corpora that get more or less attention than their frequency explains.

    Documents that cannot be read are appended to `skipped`; without it, the first of them raises.
    """
    verifier = load(model)
    networks = verifier.networks_with_attention()
    sums: dict[str, Sums] = defaultdict(lambda: np.zeros(7))
    documents = tokens = 0
    with reading(corpora, "reading", watch) as sources:
        for document in chain.from_iterable(
            source.documents(author_required=False, skipped=skipped) for source in sources
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
    """(tokens,): the share of a document's attention that each token got, among the tokens read.

    Tokens in two overlapping windows get the sum of both shares; attention to the contextual prefix
    is left out.
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
    """Add a document: the mean over networks of each word's attention, observed and expected.

    Networks may normalise texts differently, and then do not see the same words.
    """
    means: dict[str, tuple[int, float, float]] = {}
    for tokens, weights in attended:
        token_types, index, times = np.unique(tokens, return_inverse=True, return_counts=True)
        attention = np.bincount(index, weights) / len(attended)
        even = times / len(tokens) / len(attended)
        columns = zip(token_types.tolist(), times.tolist(), attention, even, strict=True)
        for token_type, count, share, expected in columns:
            before = means.get(token_type, (0, 0.0, 0.0))
            means[token_type] = max(before[0], count), before[1] + share, before[2] + expected
    for token_type, (count, share, expected) in means.items():
        sums[token_type] += (count, 1, share, expected, share**2, expected**2, share * expected)


def _word(word: str, sums: Sums) -> WordAttention:
    """A word's ratio of two sums over documents, with its interval by the delta method, in logs.

    The interval is based on Student's t, since there are few documents. It is still too narrow
    where a word's ratio varies much between documents: with 5 documents it covers about 90 %, not
    95. A word that occurs in one document has no spread, and its interval is infinite.
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
