"""A made-up map, for tests of what is drawn of it."""

from __future__ import annotations

import numpy as np

from adhominem.questions.corpus import MappedDocument
from adhominem.questions.map.corpus_map import CorpusMap, Projection, join_all, leaf_order

NASTY = '</script><b id="bad">&amp;'
AUTHORS = ("Ann", "Bob", NASTY, "")


def made(documents: int = 24, seed: int = 0) -> CorpusMap:
    """A map of documents by four authors, one of them unknown, each with a corner of its own."""
    rng = np.random.default_rng(seed)
    author = np.arange(documents) % 4
    places = rng.normal(size=(documents, 2)) + 6 * np.stack([author % 2, author // 2], axis=1)
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    table = 1.5 - distances / 2
    np.fill_diagonal(table, np.nan)
    joins = join_all(table)
    nearest = np.argsort(np.nan_to_num(distances + 99 * np.eye(documents)), axis=1)
    return CorpusMap(
        corpus="made up",
        documents=tuple(
            MappedDocument(f"{AUTHORS[at]}/text {number}", AUTHORS[at], 1_000 + number)
            for number, at in enumerate(author.tolist())
        ),
        log10_bayes_factors=table,
        nearest=tuple(tuple(row[: min(5, documents - 1)].tolist()) for row in nearest),
        projections=(
            Projection("PCA", places, (0.5, 0.25)),
            Projection("t-SNE", rng.normal(size=(documents, 2))),
        ),
        joins=joins,
        order=tuple(leaf_order(joins, table)),
        linkage="average",
        population="input",
        population_texts=documents,
        bounds=(-1.5, 2.0),
        calibrated=True,
        remarks=("something to keep in mind",),
        seed=0,
        model="general-en",
        model_sha256="0" * 64,
        version="1.2.3",
    )
