"""The relevant population from files: of any layout that can be read."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np

from adhominem.errors import InputError
from adhominem.jobs.workers import Encode
from adhominem.scoring.companions import MOST
from adhominem.scoring.population import Population
from adhominem.text.files import Document
from adhominem.text.readers import read_documents
from adhominem.verify.verifier import Verifier

_MOST_TEXTS = 1_000  # more would hardly move the mean
_AT_ONCE = 200


def read_population(
    path: str | Path,
    encode: Encode,
    *,
    verifier: Verifier | None = None,
    companions: bool = False,
    seed: int = 0,
    skipped: list[InputError] | None = None,
    on_documents: Callable[[int], None] = lambda count: None,
) -> Population:
    """The population of all texts at a path, or of so many of them drawn at random; each once.

    A `verifier` also says of what genres they are. With `companions`, it is these texts that are
    compared: they may have some, if they are few enough.
    Texts that cannot be read or have no word in them go to `skipped`; without it, the first such
    thing is raised.
    """
    rng = np.random.default_rng(seed)
    most = MOST if companions else _MOST_TEXTS
    kept: list[tuple[float, int, Document]] = []
    seen: set[bytes] = set()
    found = read_documents(path, author_required=False, labelled=False, skipped=skipped)
    for document in found:  # by whomever: what a truth beside them lacks belongs to it, too
        key = blake2b(document.text.encode(), digest_size=16).digest()
        if key in seen:
            continue
        seen.add(key)
        heapq.heappush(kept, (rng.random(), len(seen), document))
        if len(kept) > most:
            heapq.heappop(kept)
    if len(seen) > MOST:
        companions, kept = False, heapq.nlargest(_MOST_TEXTS, kept)
    documents = [document for _, _, document in sorted(kept, key=lambda each: each[1])]
    levs, texts = [], []
    for at in range(0, len(documents), _AT_ONCE):
        some = documents[at : at + _AT_ONCE]
        for document, lev in zip(some, encode(some), strict=True):
            if not isinstance(lev, InputError):
                levs.append(lev)
                texts.append(document.text)
            elif skipped is None:
                raise lev
            else:
                skipped.append(lev)
        on_documents(len(some))
    if verifier is None:
        return Population.of(np.array(levs), texts)
    return verifier.population_of(np.array(levs), texts, companions=companions)
