"""Encoding in worker processes, or in this one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from adhominem.arrays import Array32
from adhominem.errors import AdHominemError, InputError
from adhominem.processes import worker_pool
from adhominem.text.files import Document
from adhominem.text.readers import stop_or_skip
from adhominem.verify.verifier import Verifier, load

# Documents to their LEVs, in order; or to why one has none.
Encode = Callable[[Sequence[Document]], Iterator[Array32 | InputError]]


@contextmanager
def encoder(
    model: str | Path, verifier: Verifier, jobs: int, device: str = "cpu"
) -> Iterator[Encode]:
    """Encode here, or in so many worker processes."""
    if jobs == 1:
        yield lambda documents: iter(_encode_all(verifier, documents))
        return
    # Read by each worker's BLAS when it is loaded: with several threads each, they would wait for
    # one another most of the time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with worker_pool(jobs, _start_worker, str(model), device) as pool:

        def encode(documents: Sequence[Document]) -> Iterator[Array32 | InputError]:
            # Long ones first, dealt out: the shares take about equally long.
            order = sorted(range(len(documents)), key=lambda at: -len(documents[at].text))
            shares = [order[first::jobs] for first in range(min(jobs, len(order)))]
            levs: dict[int, Array32 | InputError] = {}
            try:
                done = pool.map(_work, [[documents[at] for at in share] for share in shares])
                for share, of_share in zip(shares, done, strict=True):
                    levs.update(zip(share, of_share, strict=True))
            except BrokenProcessPool:
                raise AdHominemError(
                    "a worker process was killed, perhaps for want of memory; try fewer --jobs"
                ) from None
            return (levs[at] for at in range(len(documents)))

        yield encode


def encode_documents(
    documents: Sequence[Document],
    encode: Encode,
    at_once: int,
    skipped: list[InputError] | None,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[list[Document], Array32]:
    """The documents that have LEVs, and these (documents, LEV size); so many encoded at a time.

    Why a document has none goes to `skipped`; without it, it is raised.
    """
    good, levs = [], []
    for begin in range(0, len(documents), at_once):
        batch = documents[begin : begin + at_once]
        encoded = zip(batch, encode(batch), strict=True)
        rows = (lev if isinstance(lev, InputError) else (text, lev) for text, lev in encoded)
        for document, lev in stop_or_skip(rows, skipped):
            good.append(document)
            levs.append(lev)
        on_documents(len(batch))
    return good, np.array(levs)


def _encode_all(verifier: Verifier, documents: Sequence[Document]) -> list[Array32 | InputError]:
    """The LEV of each document, or why it has none."""
    if not documents:
        return []
    try:
        return list(verifier.encode(documents))
    except InputError as error:
        if len(documents) == 1:
            return [error]
    middle = len(documents) // 2  # one of them is at fault: look in each half
    return _encode_all(verifier, documents[:middle]) + _encode_all(verifier, documents[middle:])


_worker: Verifier


def _start_worker(model: str, device: str) -> None:
    global _worker
    _worker = load(model, device=device)


def _work(documents: Sequence[Document]) -> list[Array32 | InputError]:
    return _encode_all(_worker, documents)
