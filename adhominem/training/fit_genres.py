"""Genres, and what is typical of training texts, fitted to the LEVs of a trained encoder."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adhominem.arrays import Array32, BoolArray, IntArray
from adhominem.model.member import AnyModel
from adhominem.score.genres import Genres
from adhominem.score.typicality import Typicality
from adhominem.text.corpus import PackedCorpus

_DOCUMENTS = 2_500  # of a corpus, that genres are fitted to
_BYTES = 600_000_000  # of LEVs at once, where a LEV is large
_AT_ONCE = 200
_TYPICALITY_DOCUMENTS = 2_000  # to which typicality is fitted


def fit_genres(
    model: AnyModel, corpus: PackedCorpus, on_documents: Callable[[int], None]
) -> Genres:
    """The genres of a training corpus, fitted to a model's LEVs."""
    return genres_of(corpus, *training_levs(model, corpus, on_documents))


def genres_of(corpus: PackedCorpus, levs: Array32, documents: IntArray) -> Genres:
    """The genres fitted to the LEVs of these documents."""
    labels = corpus.labels
    return Genres.fit(levs, labels.corpus[documents], labels.corpus_names)


def training_levs(
    model: AnyModel,
    corpus: PackedCorpus,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[Array32, IntArray]:
    """The LEVs of some training texts, and which texts these are: whole authors of each corpus."""
    encoder = model.encoder()
    documents = genre_documents(corpus, encoder.lev_size)
    parts = []
    for at in range(0, len(documents), _AT_ONCE):
        batch = documents[at : at + _AT_ONCE]
        tokens = [
            [corpus.types[number] for number in corpus.document(int(document))]
            for document in batch
        ]
        parts.append(encoder.encode(tokens, [[] for _ in batch]))
        on_documents(len(batch))
    return np.concatenate(parts), documents


def genre_documents(corpus: PackedCorpus, lev_size: int) -> IntArray:
    """The training texts of each corpus that genres are fitted to."""
    genres = np.unique(corpus.labels.corpus)
    most = min(_DOCUMENTS, _BYTES // (4 * lev_size * len(genres)))
    return np.concatenate([whole_authors(corpus, genre, most) for genre in genres])


def whole_authors(corpus: PackedCorpus, genre: int, most: int, seed: int = 0) -> IntArray:
    """Up to `most` documents of one of the corpora, always all documents of an author."""
    labels = corpus.labels
    documents = np.flatnonzero(labels.corpus == genre)
    order = np.random.default_rng(seed).permutation(len(labels.author_names))
    return documents[np.argsort(order[labels.author[documents]], kind="stable")][:most]


def reference_documents(count: int) -> IntArray:
    """The indices of the training texts, out of `count`, that typicality is fitted to."""
    return np.random.default_rng(0).permutation(count)[:_TYPICALITY_DOCUMENTS]


def fit_typicality(
    corpus: PackedCorpus, documents: IntArray, levs: Array32, unknown: BoolArray
) -> Typicality:
    """What is typical of training texts: their LEVs and their shares of `unknown` types."""
    shares = [float(unknown[corpus.document(int(at))].mean()) for at in documents]
    return Typicality.of(levs.astype(np.float64), np.array(shares), corpus.lengths[documents])
