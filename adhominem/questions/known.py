"""The known texts of the candidates: their LEVs, as far as memory goes, and who else could be it.

With thousands of candidates not all LEVs are held at once: a LEV may have many thousand numbers.
The first so many are kept, and the rest is encoded again where it is needed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from adhominem.arrays import Levs, joined
from adhominem.score.population import FEWEST
from adhominem.text.files import Document

Encode = Callable[[Sequence[Document]], tuple[list[Document], Levs]]  # those that can be, in order

MOST_POPULATION = 200  # texts: more would hardly change a Bayes factor
_MOST_KEPT = 1_500  # LEVs
_TEXTS_AT_ONCE = 400  # of candidates who are compared together


class LevStore:
    """Texts to LEVs; the first of them are kept, and what has no LEV is asked for only once."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._kept: dict[int, Levs] = {}  # (1, lev_size), by the identity of a document
        self._without: set[int] = set()

    def __call__(self, documents: Sequence[Document]) -> tuple[list[Document], Levs]:
        """Those that have a LEV, in order, and these (documents, lev_size)."""
        asked = [text for text in documents if id(text) not in self._without]
        new = [text for text in asked if id(text) not in self._kept]
        fresh: dict[int, Levs] = {}
        if new:
            good, levs = self._encode(new)
            fresh = {id(text): levs[at : at + 1].copy() for at, text in enumerate(good)}
            self._without |= {id(text) for text in new} - set(fresh)
            for key, lev in fresh.items():
                if len(self._kept) < _MOST_KEPT:
                    self._kept[key] = lev
        rows = [(text, fresh.get(id(text), self._kept.get(id(text)))) for text in asked]
        good = [text for text, lev in rows if lev is not None]
        return good, joined([Levs(()), *(lev for _, lev in rows if lev is not None)])


def in_turn(
    candidates: Mapping[str, Sequence[Document]], most: int, rng: np.random.Generator
) -> list[tuple[str, Document]]:
    """At most so many texts with their candidates: one of each, then one more of each."""
    shuffled = {name: rng.permutation(len(texts)) for name, texts in candidates.items()}
    drawn: list[tuple[str, Document]] = []
    for turn in range(max(map(len, shuffled.values()))):
        names = [name for name, order in shuffled.items() if turn < len(order)]
        for at in rng.permutation(len(names)).tolist():
            if len(drawn) == most:
                return drawn
            name = names[at]
            drawn.append((name, candidates[name][int(shuffled[name][turn])]))
    return drawn


def enough_others(names: Sequence[str]) -> tuple[int, int]:
    """How many texts, by these candidates, are by others than one of them: fewest and most.

    Twice 0 if for somebody these are too few for a population.
    """
    counts = np.unique(np.array(names), return_counts=True)[1] if names else np.zeros(1, int)
    fewest, most = len(names) - int(counts.max()), len(names) - int(counts.min())
    return (fewest, most) if fewest >= FEWEST else (0, 0)


def in_batches(
    candidates: Mapping[str, Sequence[Document]],
) -> Iterator[list[tuple[str, Sequence[Document]]]]:
    """Candidates with their texts, as many as are compared together."""
    batch: list[tuple[str, Sequence[Document]]] = []
    texts = 0
    for name, documents in candidates.items():
        if batch and texts + len(documents) > _TEXTS_AT_ONCE:
            yield batch
            batch, texts = [], 0
        batch.append((name, documents))
        texts += len(documents)
    if batch:
        yield batch
