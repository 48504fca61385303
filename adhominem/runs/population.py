"""The relevant population from files: texts of the kind at hand, of any layout that can be read."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from pathlib import Path

import numpy as np

from adhominem.errors import EmptyTextError, InputError
from adhominem.runs.workers import Encode
from adhominem.scoring.population import Population
from adhominem.text.document import Document
from adhominem.text.readers import read_documents

_MOST_TEXTS = 1_000  # more would hardly move the mean
_AT_ONCE = 200


def read_population(
    path: str | Path,
    encode: Encode,
    *,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    on_documents: Callable[[int], None] = lambda count: None,
) -> Population:
    """The population of all texts at a path, or of so many of them drawn at random.

    Texts that cannot be read or have no word in them go to `skipped`; without it, the first such
    thing is raised.
    """
    rng = np.random.default_rng(seed)
    kept: list[tuple[float, int, Document]] = []
    for at, document in enumerate(read_documents(path, author_required=False, skipped=skipped)):
        heapq.heappush(kept, (rng.random(), at, document))
        if len(kept) > _MOST_TEXTS:
            heapq.heappop(kept)
    documents = [document for _, _, document in sorted(kept, key=lambda each: each[1])]
    levs, texts = [], []
    for at in range(0, len(documents), _AT_ONCE):
        some = documents[at : at + _AT_ONCE]
        for document, lev in zip(some, encode(some), strict=True):
            if not isinstance(lev, EmptyTextError):
                levs.append(lev)
                texts.append(document.text)
            elif skipped is None:
                raise lev
            else:
                skipped.append(lev)
        on_documents(len(some))
    return Population.of(np.array(levs), texts)
