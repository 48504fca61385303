"""The relevant population from files: of any layout that can be read."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from adhominem.arrays import FloatArray, Levs
from adhominem.errors import InputError
from adhominem.jobs.workers import Encode, encode_documents
from adhominem.pairs.passages import Hashes, without_recurring
from adhominem.scoring.companions import MOST
from adhominem.scoring.population import Population
from adhominem.scoring.sides import Sides
from adhominem.text.files import Document
from adhominem.text.readers import read_documents
from adhominem.verify.verifier import Verifier

_MOST_TEXTS = 1_000  # more would hardly move the mean

Drawn = tuple[float, int, Document]  # a random number, the place among all documents, the document


def read_population(
    path: str | Path,
    encode: Encode,
    *,
    verifier: Verifier | None = None,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    on_documents: Callable[[int], None] = lambda count: None,
) -> Population:
    """The population of all texts at a path, or of so many of them drawn at random; each once.

    A `verifier` also says whether they are of several genres.
    Texts that cannot be read or have no word in them go to `skipped`; without it, the first such
    thing is raised.
    """
    encoded, levs, recurring, _ = _encoded(path, encode, _MOST_TEXTS, seed, skipped, on_documents)
    if verifier is None:
        return Population.of(levs, encoded)
    return verifier.population_of(levs, encoded, recurring)


@dataclass
class OwnPopulation:
    """A population whose own texts may be compared: these draw on companions in it.

    What its texts tell of each other takes long to find out, so it is only looked for when the
    first pair of them is compared.
    """

    population: Population
    levs: Levs | None  # of its texts, as long as companions may be looked for among them
    numbers: dict[bytes, int]  # of its texts: see `Scorer.numbers`
    companions: bool | None = None  # whether texts drew on some; None: no pair was in it

    @classmethod
    def read(
        cls,
        path: str | Path,
        encode: Encode,
        verifier: Verifier,
        *,
        companions: bool,
        seed: int = 0,
        skipped: list[InputError] | None = None,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> OwnPopulation:
        """As `read_population`; where `companions` may be looked for, of more texts."""
        calibrated = companions and verifier.scales.companions is not None
        most = MOST if calibrated else _MOST_TEXTS
        encoded, levs, recurring, whole = _encoded(path, encode, most, seed, skipped, on_documents)
        return cls(
            verifier.population_of(levs, encoded, recurring),
            levs if calibrated and whole else None,
            verifier.scorer.numbers(levs) if companions else {},
        )

    def score(self, verifier: Verifier, first: Sides, second: Sides) -> FloatArray:
        """(pairs,): the log Bayes factors."""
        if self.companions is None and verifier.scorer.are_among(first, second, self.numbers).any():
            if self.levs is not None:
                self.population = verifier.scorer.with_companions(self.population, self.levs)
            self.companions = self.population.companions is not None
            self.levs = None
        return verifier.score(first, second, self.population)


def _encoded(
    path: str | Path,
    encode: Encode,
    most: int,
    seed: int,
    skipped: list[InputError] | None,
    on_documents: Callable[[int], None],
) -> tuple[list[Document], Levs, Hashes, bool]:
    """The texts at a path, each once, their LEVs, what recurs in them, and whether these are all.

    If there are more than `most`, some are drawn at random. Passages that recur are taken out.
    """
    # By whomever: what a truth beside them lacks belongs to it, too.
    documents = read_documents(path, author_required=False, labelled=False, skipped=skipped)
    drawn, count = draw(_distinct(documents), most, seed)
    if count > most:
        drawn = heapq.nlargest(_MOST_TEXTS, drawn)
    texts, recurring = without_recurring(in_order(drawn))
    return *encode_documents(texts, encode, skipped, on_documents), recurring, count <= most


def _distinct(documents: Iterable[Document]) -> Iterator[Document]:
    seen: set[bytes] = set()
    for document in documents:
        key = blake2b(document.text.encode(), digest_size=16).digest()
        if key not in seen:
            seen.add(key)
            yield document


def draw(
    documents: Iterable[Document],
    most: int,
    seed: int,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[list[Drawn], int]:
    """At most so many documents at random, held in memory alone; and how many there were."""
    rng = np.random.default_rng(seed)
    drawn: list[Drawn] = []
    count = 0
    for document in documents:
        heapq.heappush(drawn, (rng.random(), count, document))
        if len(drawn) > most:
            heapq.heappop(drawn)
        count += 1
        on_documents(1)
    return drawn, count


def in_order(drawn: Iterable[Drawn]) -> list[Document]:
    """The documents that were drawn, in the order in which they were read."""
    return [document for _, _, document in sorted(drawn, key=lambda row: row[1])]
