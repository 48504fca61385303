"""Prepare: read the texts once, write them as a packed corpus.

This process reads; worker processes normalise and tokenize. Batches are returned
in the order in which they were sent, so the result does not depend on the number of
workers, and only a few are in progress at a time, so memory stays bounded.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray
from adhominem.errors import (
    EmptyTextError,
    InputError,
    MissingFieldError,
    NotFoundError,
    OptionError,
)
from adhominem.processes import worker_pool
from adhominem.text.corpus import (
    FORMAT,
    LABELS,
    TOKEN_DTYPE,
    LabelCollector,
    Labels,
    PackedCorpus,
    pack_strings,
)
from adhominem.text.files import Document
from adhominem.text.lexicon import Lexicon, Numbered
from adhominem.text.normalisation import Normaliser
from adhominem.text.pan import Pair
from adhominem.text.readers import (
    Corpora,
    Source,
    Watch,
    check_names,
    read_pairs,
    reading,
    unwatched,
)
from adhominem.text.streams import stop_or_skip
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import prefix_tokens
from adhominem.text.writing import write_folder

_BATCH_CHARACTERS = 1 << 20
_LONGEST_TYPE = 64  # characters; longer tokens (links, screams) are cut


def prepare(
    corpora: Corpora,
    output: str | Path,
    *,
    normaliser: Normaliser | None = None,
    jobs: int = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> PackedCorpus:
    """Read, normalise and tokenize every document, and write the packed corpus.

    With `jobs` above 1, a script must keep the call under `if __name__ == "__main__":`.
    """
    with reading(corpora, "preparing", watch) as sources:
        check_names(sources)
        streams = [(source, source.documents(skipped=skipped)) for source in sources]
        return _pack(streams, Path(output), normaliser or Normaliser(), jobs, skipped)


def prepare_pairs(
    path: str | Path,
    output: str | Path,
    *,
    normaliser: Normaliser | None = None,
    jobs: int = 1,
    skipped: list[InputError] | None = None,
    watch: Watch = unwatched,
) -> PackedCorpus:
    """Pack a pair set with its truth: documents 2i and 2i + 1 are the i-th pair.

    A pair is left out if either of its texts cannot be used.
    """
    normaliser = normaliser or Normaliser()
    same_author: list[bool] = []

    def usable(pair: Pair) -> Pair | InputError:
        for document in (pair.first, pair.second):
            if not normaliser(document.text).strip():
                return _invisible(document, source)
        return pair

    def documents() -> Iterator[Document]:
        pairs = read_pairs(source.path, skipped=skipped)
        for pair in stop_or_skip(map(usable, pairs), skipped):
            if pair.same_author is None:
                problem = "a pair set without truth.jsonl beside it; expected one"
                raise MissingFieldError(problem, source.path)
            same_author.append(pair.same_author)
            yield pair.first
            yield pair.second

    with reading([path], "preparing", watch) as (source,):
        return _pack([(source, documents())], Path(output), normaliser, jobs, None, same_author)


def _invisible(document: Document, source: Source) -> EmptyTextError:
    """The error for zero-width characters alone: visible to Python, to nobody else."""
    problem = f"'{document.id}' has no visible character; leave it out"
    return EmptyTextError(problem, source.path)


def _pack(
    streams: Sequence[tuple[Source, Iterator[Document]]],
    output: Path,
    normaliser: Normaliser,
    jobs: int,
    skipped: list[InputError] | None,
    same_author: list[bool] | None = None,
) -> PackedCorpus:
    if jobs < 1:
        raise OptionError(f"jobs is {jobs}; expected 1 or more")
    with write_folder(output) as folder, open(folder / "tokens.bin", "wb") as file:
        packer = _Packer(file, Tokenizer(normaliser))
        for source, documents in streams:
            with closing(_tokenized(documents, normaliser, jobs)) as batches:
                for batch, tokens in batches:
                    rows = zip(batch, tokens.lengths.tolist(), strict=True)
                    good = (
                        (document, length) if length else _invisible(document, source)
                        for document, length in rows
                    )
                    packer.add(source, stop_or_skip(good, skipped), tokens)
        if not packer.ids:
            place = streams[0][0].path if streams else None
            raise NotFoundError("no document could be read; expected one or more", place)
        packer.write(folder, [source for source, _ in streams], same_author)
    return PackedCorpus.open(output)


class _Packer:
    """Writes batches with one lexicon to one file, and collects the tables."""

    def __init__(self, file: BinaryIO, tokenizer: Tokenizer) -> None:
        self._file, self._tokenizer = file, tokenizer
        self._hash = sha256()
        self._lexicon = Lexicon()
        self._labels = LabelCollector()
        self._lengths: list[int] = []
        self.ids: list[str] = []

    def add(
        self, source: Source, documents: Iterable[tuple[Document, int]], batch: Numbered
    ) -> None:
        """Write the tokens of a batch; the documents, with their lengths, are those to keep."""
        row, types = batch.row, batch.lexicon.types
        # Types are numbered in the order of the texts, independent of the batches.
        firsts = np.full(len(types), -1)
        firsts[row[::-1]] = np.arange(len(row))[::-1]
        used = np.flatnonzero(firsts >= 0)
        to_global = np.empty(len(types), TOKEN_DTYPE)
        used = used[np.argsort(firsts[used])]
        to_global[used] = self._numbers(types[number] for number in used.tolist())
        data = to_global[row].tobytes()
        self._file.write(data)
        self._hash.update(data)
        for document, length in documents:
            self._labels.add(document, source.name)
            self._lengths.append(length)
            self.ids.append(document.id)

    def _numbers(self, types: Iterable[str]) -> IntArray:
        return self._lexicon.number([token_type[:_LONGEST_TYPE] for token_type in types])

    def write(self, folder: Path, sources: list[Source], same_author: list[bool] | None) -> None:
        labels = self._labels.labels()
        prefixes = [prefix_tokens(topic, self._tokenizer) for topic in labels.topic_names]
        topic_tokens = self._numbers(chain.from_iterable(prefixes))
        strings = {"ids": self.ids, "types": self._lexicon.types}
        strings |= {f"{label}_names": getattr(labels, f"{label}_names") for label in LABELS}
        arrays: dict[str, npt.NDArray[np.generic]] = {
            "offsets": np.cumsum([0, *self._lengths], dtype=np.int64),
            "topic_tokens": topic_tokens.astype(TOKEN_DTYPE),
            "topic_offsets": np.cumsum([0, *map(len, prefixes)], dtype=np.int64),
            **{label: getattr(labels, label) for label in LABELS},
        }
        if same_author is not None:
            arrays["same_author"] = np.array(same_author, dtype=bool)
        for name, values in strings.items():
            arrays |= pack_strings(name, values)
        np.savez(folder / "tables.npz", **arrays)  # type: ignore[arg-type]
        description = {
            "format": FORMAT,
            "documents": len(self.ids),
            "authors": len(labels.author_names),
            "topics": len(labels.topic_names),
            "works": len(labels.work_names),
            "tokens": sum(self._lengths),
            "types": len(self._lexicon),
            "tokens_sha256": self._hash.hexdigest(),
            "normalisation": list(self._tokenizer.normaliser.steps),
            "corpora": [self._describe(source, labels) for source in sources],
        }
        (folder / "corpus.json").write_text(json.dumps(description, indent=2) + "\n", "utf-8")

    def _describe(self, source: Source, labels: Labels) -> dict[str, str | int]:
        here = np.zeros(len(labels), dtype=bool)
        if source.name in labels.corpus_names:
            here = labels.corpus == labels.corpus_names.index(source.name)
        return {
            "name": source.name,
            "layout": source.layout.value,
            "authors": len(np.unique(labels.author[here])),
            "documents": int(here.sum()),
            "tokens": int(np.array(self._lengths, dtype=np.int64)[here].sum()),
        }


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _tokenized(
    documents: Iterable[Document], normaliser: Normaliser, jobs: int
) -> Generator[tuple[list[Document], Numbered], None, None]:
    """Batches of documents in their order, tokenized here or by `jobs` workers."""
    if jobs == 1:
        _start_worker(normaliser)
        for batch in _batches(documents):
            yield batch, _tokenize_batch([document.text for document in batch])
        return
    under_way: deque[tuple[list[Document], Future[Numbered]]] = deque()
    with worker_pool(jobs, _start_worker, normaliser) as pool:
        for batch in _batches(documents):
            texts = [document.text for document in batch]
            under_way.append((batch, pool.submit(_tokenize_batch, texts)))
            if len(under_way) >= 2 * jobs:
                done, future = under_way.popleft()
                yield done, future.result()
        for done, future in under_way:
            yield done, future.result()


_tokenizer: Tokenizer  # of this worker process


def _start_worker(normaliser: Normaliser) -> None:
    global _tokenizer
    _tokenizer = Tokenizer(normaliser)


def _tokenize_batch(texts: list[str]) -> Numbered:
    lexicon = _tokenizer.lexicon()
    return Numbered(lexicon, [_tokenizer.numbers(text, lexicon) for text in texts])
