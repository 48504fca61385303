"""The packed corpus: texts as numbers in one memory-mapped file, made once.

    FOLDER/corpus.json    format, counts, normalisation steps, hash of the tokens
    FOLDER/tokens.bin     the token type of every token, little-endian uint32
    FOLDER/tables.npz     where each document begins, its labels, and all strings

A token is kept as its *type*, not as a vocabulary id: the vocabulary is chosen
later, from the training authors alone, and can be changed without a second look
at the texts. Reading needs NumPy and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from adhominem.errors import CorpusError
from adhominem.text.inputs import note_input
from adhominem.text.labels import KINDS, Labels

FORMAT = 1
TOKEN_DTYPE = np.dtype("<u4")

# What a damaged or missing file raises while it is read.
_DAMAGE = (OSError, ValueError, TypeError, KeyError, EOFError, RuntimeError, BadZipFile)


@dataclass(frozen=True)
class PackedCorpus:
    """Documents as token types, with what is known of each."""

    tokens: npt.NDArray[np.uint32]  # (tokens,): types, all documents in a row; memory-mapped
    offsets: npt.NDArray[np.int64]  # (documents + 1,): where each document begins
    labels: Labels
    ids: list[str]  # (documents,)
    types: list[str]  # (types,): the token types as strings, in order of appearance
    topic_tokens: npt.NDArray[np.uint32]  # the contextual prefixes as types, all topics in a row
    topic_offsets: npt.NDArray[np.int64]  # (topics + 1,)
    description: dict[str, Any]  # what corpus.json says
    same_author: npt.NDArray[np.bool_] | None = None  # (pairs,): of a pair set, for 2i and 2i + 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """(documents,): tokens in each document."""
        return np.diff(self.offsets)

    def document(self, index: int) -> npt.NDArray[np.uint32]:
        """(tokens,): the token types of one document."""
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    def prefix(self, topic: int) -> npt.NDArray[np.uint32]:
        """(tokens,): the token types of a topic's contextual prefix."""
        return self.topic_tokens[self.topic_offsets[topic] : self.topic_offsets[topic + 1]]

    def count_types(
        self, documents: Sequence[int] | npt.NDArray[np.integer]
    ) -> npt.NDArray[np.int64]:
        """(types,): how often each token type occurs in these documents (the training authors')."""
        counts = np.zeros(len(self.types), dtype=np.int64)
        for index in documents:
            np.add.at(counts, self.document(int(index)), 1)
        return counts

    @classmethod
    def open(cls, folder: str | Path) -> PackedCorpus:
        """Open what `prepare` wrote; the tokens stay on disk until they are used."""
        folder = Path(folder)
        description = _read_description(folder)
        for name in ("corpus.json", "tables.npz", "tokens.bin"):
            note_input(folder / name)
        try:
            # Opened here: given a path, NumPy leaves a damaged file open.
            with (
                open(folder / "tables.npz", "rb") as file,
                np.load(file, allow_pickle=False) as tables,
            ):
                corpus = cls(
                    tokens=_map_tokens(folder / "tokens.bin", description["tokens"]),
                    offsets=tables["offsets"],
                    labels=Labels(
                        **{f"{kind}_names": _strings(tables, f"{kind}_names") for kind in KINDS},  # type: ignore[arg-type]
                        **{kind: tables[kind] for kind in KINDS},
                    ),
                    ids=_strings(tables, "ids"),
                    types=_strings(tables, "types"),
                    topic_tokens=tables["topic_tokens"],
                    topic_offsets=tables["topic_offsets"],
                    description=description,
                    same_author=tables.get("same_author"),
                )
        except _DAMAGE as error:
            raise _damaged(folder, f"{type(error).__name__}: {error}") from None
        if not len(corpus) == len(corpus.ids) == len(corpus.labels) == description.get("documents"):
            raise _damaged(folder, "the number of documents differs between its files")
        if corpus.offsets[-1] != len(corpus.tokens):
            raise _damaged(folder, "the number of tokens differs between its files")
        return corpus


def is_packed(folder: str | Path) -> bool:
    """Whether this folder holds a prepared corpus."""
    return (Path(folder) / "corpus.json").is_file()


def pack_strings(name: str, strings: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Strings as two arrays, since NumPy stores text either padded or pickled."""
    encoded = [string.encode("utf-8") for string in strings]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {f"{name}.utf8": np.frombuffer(b"".join(encoded), np.uint8), f"{name}.offsets": ends}


def _strings(tables: Any, name: str) -> list[str]:
    data, ends = tables[f"{name}.utf8"].tobytes(), tables[f"{name}.offsets"].tolist()
    return [data[a:b].decode("utf-8") for a, b in pairwise(ends)]


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / "corpus.json"
    if not path.is_file():
        raise CorpusError(
            f"{folder} holds no prepared corpus (there is no corpus.json). "
            f"Make one with: adhominem prepare TEXTS -o {folder}"
        )
    try:
        description: dict[str, Any] = json.loads(path.read_text("utf-8"))
        written_as = description["format"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"corpus.json: {error!r}") from None
    if written_as != FORMAT:
        raise CorpusError(
            f"{folder} is a corpus of format {written_as}; this version reads format {FORMAT}. "
            "Upgrade AdHominem, or prepare the corpus again."
        )
    return description


def _map_tokens(path: Path, count: int) -> npt.NDArray[np.uint32]:
    if path.stat().st_size != count * TOKEN_DTYPE.itemsize:
        raise ValueError(f"tokens.bin has {path.stat().st_size} bytes, expected {count * 4}")
    return np.memmap(path, TOKEN_DTYPE, "r") if count else np.zeros(0, TOKEN_DTYPE)


def _damaged(folder: Path, why: str) -> CorpusError:
    return CorpusError(f"the corpus in {folder} is damaged ({why}). Prepare it again.")
