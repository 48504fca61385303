"""The relevant population from files in any layout that can be read."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from adhominem.errors import InputError
from adhominem.jobs.workers import Encode, encode_documents
from adhominem.pairs.passages import without_recurring
from adhominem.score.population import Population
from adhominem.text.files import Document
from adhominem.text.readers import read_documents
from adhominem.verify.verifier import Verifier

_MOST_TEXTS = 1_000  # more would hardly move the mean

# a random number, the index among all documents, the document
SampledDocument = tuple[float, int, Document]


def read_population(
    path: str | Path,
    encode: Encode,
    *,
    verifier: Verifier | None = None,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    on_documents: Callable[[int], None] = lambda count: None,
) -> Population:
    """The population of the distinct texts at a path, or of a random sample of them.

    With a `verifier`, the population also records whether its texts are of several genres. Passages
    that recur are removed. Texts that cannot be read, or contain no word, are appended to
    `skipped`; without it, the first of them raises.
    """
    # By any author: texts that the truth beside them lacks are included, too.
    documents = read_documents(path, author_required=False, labelled=False, skipped=skipped)
    drawn, _ = draw(distinct(documents), _MOST_TEXTS, seed)
    texts, recurring = without_recurring(in_order(drawn))
    encoded, levs = encode_documents(texts, encode, skipped, on_documents)
    if verifier is None:
        return Population.of(levs, encoded)
    return verifier.population_of(levs, encoded, recurring)


def distinct(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents without those whose text came before."""
    hashes: set[str] = set()
    for document in documents:
        if document.sha256 not in hashes:
            hashes.add(document.sha256)
            yield document


def draw(
    documents: Iterable[Document],
    most: int,
    seed: int,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[list[SampledDocument], int]:
    """At most `most` documents at random, held in memory, and how many there were in all."""
    rng = np.random.default_rng(seed)
    drawn: list[SampledDocument] = []
    count = 0
    for document in documents:
        heapq.heappush(drawn, (rng.random(), count, document))
        if len(drawn) > most:
            heapq.heappop(drawn)
        count += 1
        on_documents(1)
    return drawn, count


def in_order(drawn: Iterable[SampledDocument]) -> list[Document]:
    """The sampled documents, in the order in which they were read."""
    return [document for _, _, document in sorted(drawn, key=lambda row: row[1])]
