"""The packed corpus: texts as numbers in one memory-mapped file, made once.

    FOLDER/corpus.json    format, counts, normalisation steps, hash of the tokens
    FOLDER/tokens.bin     the token type of every token, little-endian uint32
    FOLDER/tables.npz     where each document begins, its labels, and all strings

A token is stored as its *type*, not as a vocabulary id: the vocabulary is chosen
later, from the training authors alone, and can be changed without reading the texts
again. Reading a corpus needs only NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np
import numpy.typing as npt

from adhominem.arrays import BoolArray, IntArray
from adhominem.errors import CorpusError
from adhominem.records import parsed_json
from adhominem.text.files import Document, note_input, open_regular, path_of

FORMAT = 1
LABELS = ("author", "topic", "work", "corpus")
UNKNOWN_LABEL = -1  # an unknown topic or work
Index = npt.NDArray[np.int32]
TOKEN_DTYPE = np.dtype("<u4")

# What a damaged or missing file raises while it is read.
_DAMAGE = (
    *(OSError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(EOFError, RuntimeError, MemoryError, BadZipFile),
)
_LARGEST_DESCRIPTION = 2**26  # bytes
_LARGEST_TABLES = 2**40
_FEWEST_TOKENS = 10  # of texts that are not equal by chance
_HEAD = 32  # tokens by which candidates for equal texts are found

_STRINGS = ("ids", "types", *(f"{label}_names" for label in LABELS))
_TABLES = {
    "offsets": np.dtype("<i8"),
    "topic_tokens": TOKEN_DTYPE,
    "topic_offsets": np.dtype("<i8"),
    "same_author": np.dtype(np.bool_),
    **{label: np.dtype("<i4") for label in LABELS},
    **{f"{name}.utf8": np.dtype(np.uint8) for name in _STRINGS},
    **{f"{name}.offsets": np.dtype("<i8") for name in _STRINGS},
}
Tables = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Labels:
    """Author, topic, work and corpus of each document: an index into names, or `UNKNOWN_LABEL`."""

    author_names: list[str]
    topic_names: list[str]
    work_names: list[str]
    corpus_names: list[str]
    author: Index  # (documents,)
    topic: Index  # (documents,)
    work: Index  # (documents,)
    corpus: Index  # (documents,)

    def __post_init__(self) -> None:
        for label in LABELS:
            index, names = getattr(self, label), getattr(self, f"{label}_names")
            if index.shape != self.author.shape or index.max(initial=-1) >= len(names):
                raise ValueError(f"the {label} labels do not fit {len(names)} names")

    def __len__(self) -> int:
        return len(self.author)

    def select(self, documents: npt.NDArray[np.integer]) -> Labels:
        """The labels of some documents, with the names unchanged."""
        return replace(self, **{label: getattr(self, label)[documents] for label in LABELS})


class LabelCollector:
    """Collects the labels of a stream of documents."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, int]] = {label: {} for label in LABELS}
        self._indices: dict[str, list[int]] = {label: [] for label in LABELS}

    def add(self, document: Document, corpus: str) -> None:
        values = (document.author, document.topic, document.work, corpus)
        for label, value in zip(LABELS, values, strict=True):
            names = self._names[label]
            known = value or label in ("author", "corpus")
            index = names.setdefault(value, len(names)) if known else UNKNOWN_LABEL
            self._indices[label].append(index)

    def labels(self) -> Labels:
        names = {f"{label}_names": list(self._names[label]) for label in LABELS}
        indices = {label: np.array(self._indices[label], dtype=np.int32) for label in LABELS}
        return Labels(**names, **indices)  # type: ignore[arg-type]


@dataclass(frozen=True)
class PackedCorpus:
    """Documents as token types, with their labels."""

    tokens: npt.NDArray[np.uint32]  # (tokens,): types, all documents concatenated; memory-mapped
    offsets: IntArray  # (documents + 1,): where each document begins
    labels: Labels
    ids: list[str]  # (documents,)
    types: list[str]  # (types,): the token types as strings, in order of appearance
    topic_tokens: npt.NDArray[np.uint32]  # types of the contextual prefixes of all topics
    topic_offsets: IntArray  # (topics + 1,)
    description: dict[str, Any]  # the contents of corpus.json
    same_author: BoolArray | None = None  # (pairs,): for a pair set, of documents 2i and 2i + 1

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> IntArray:
        """(documents,): tokens in each document."""
        return np.diff(self.offsets)

    def document(self, index: int) -> npt.NDArray[np.uint32]:
        """(tokens,): the token types of one document."""
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    @cached_property
    def topics(self) -> list[list[str]]:
        """The tokens of each topic's contextual prefix."""
        tokens = [self.types[number] for number in self.topic_tokens.tolist()]
        return [tokens[begin:end] for begin, end in pairwise(self.topic_offsets.tolist())]

    def count_types(self, documents: Sequence[int] | npt.NDArray[np.integer]) -> IntArray:
        """The counts (types,) of each token type in these documents (the training authors')."""
        counts = np.zeros(len(self.types), dtype=np.int64)
        for index in documents:
            np.add.at(counts, self.document(int(index)), 1)
        return counts

    def also_in(self, other: PackedCorpus) -> list[int]:
        """The documents whose tokens are those of a document in another corpus.

        Documents of few tokens are left out: a "Thank you!" may be anybody's.
        """
        numbers = {token_type: number for number, token_type in enumerate(other.types)}
        theirs = np.array([numbers.get(t, len(numbers)) for t in self.types], dtype=np.int64)
        heads, other_heads = self._heads(theirs), other._heads(np.arange(len(other.types)))
        by_head: dict[int, list[int]] = {}
        for at in np.flatnonzero(np.isin(other_heads, heads)).tolist():
            by_head.setdefault(int(other_heads[at]), []).append(at)
        alike = np.isin(heads, other_heads) & (self.lengths >= _FEWEST_TOKENS)  # (documents,)
        return [
            at
            for at in np.flatnonzero(alike).tolist()
            if any(
                np.array_equal(theirs[self.document(at)], other.document(candidate))
                for candidate in by_head[int(heads[at])]
            )
        ]

    def _heads(self, numbers: IntArray) -> npt.NDArray[np.uint64]:
        """A hash (documents,) of each length and first tokens, by the numbers (types,) of types."""
        hashes = self.lengths.astype(np.uint64)
        for place in range(_HEAD):  # the last token again where a document is shorter
            tokens = self.tokens[np.minimum(self.offsets[:-1] + place, self.offsets[1:] - 1)]
            hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + numbers[tokens].astype(np.uint64)
        return hashes

    @classmethod
    def open(cls, folder: str | Path) -> PackedCorpus:
        """The corpus that `prepare` wrote; the tokens stay on disk until they are used."""
        folder = path_of(folder)
        description = _read_description(folder)
        for name in ("corpus.json", "tables.npz", "tokens.bin"):
            note_input(folder / name)
        try:
            tables = _read_tables(folder / "tables.npz")
            corpus = cls(
                tokens=_map_tokens(folder / "tokens.bin", description["tokens"]),
                offsets=tables["offsets"],
                labels=Labels(
                    **{f"{label}_names": _strings(tables, f"{label}_names") for label in LABELS},  # type: ignore[arg-type]
                    **{label: tables[label] for label in LABELS},  # type: ignore[arg-type]
                ),
                ids=_strings(tables, "ids"),
                types=_strings(tables, "types"),
                topic_tokens=tables["topic_tokens"],
                topic_offsets=tables["topic_offsets"],
                description=description,
                same_author=tables.get("same_author"),
            )
            corpus._check()
        except _DAMAGE as error:
            raise _damaged(folder, f"{type(error).__name__}: {error}") from None
        return corpus

    def _check(self) -> None:
        """Raise ValueError unless the files are consistent, and every index refers to a name."""
        documents, topics = len(self.ids), len(self.labels.topic_names)
        if not len(self) == documents == len(self.labels) == self.description["documents"]:
            raise ValueError("the number of documents differs between its files")
        if not _are_offsets(self.offsets, documents, len(self.tokens)):
            raise ValueError("the number of tokens differs between its files")
        if not _are_offsets(self.topic_offsets, topics, len(self.topic_tokens)):
            raise ValueError("the topics do not fit their tokens")
        if self.same_author is not None and 2 * len(self.same_author) != documents:
            raise ValueError(f"{len(self.same_author)} pairs of {documents} documents")
        for label in LABELS:
            least = UNKNOWN_LABEL if label in ("topic", "work") else 0
            if getattr(self.labels, label).min(initial=0) < least:
                raise ValueError(f"a document with a {label} of no name")
        for tokens in (self.tokens, self.topic_tokens):
            if tokens.max(initial=0) >= max(1, len(self.types)):
                raise ValueError("a token of no type")


def is_packed(folder: str | Path) -> bool:
    """Whether this folder holds a prepared corpus."""
    return (path_of(folder) / "corpus.json").is_file()


def pack_strings(name: str, strings: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Strings as two arrays, since NumPy stores text either padded or pickled."""
    encoded = [string.encode("utf-8") for string in strings]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {f"{name}.utf8": np.frombuffer(b"".join(encoded), np.uint8), f"{name}.offsets": ends}


def _read_tables(path: Path) -> Tables:
    """The one-dimensional arrays of the tables, which must not be larger than their file."""
    file, _ = open_regular(path, _LARGEST_TABLES)
    with file, ZipFile(file) as packed:
        names = {name.removesuffix(".npy") for name in packed.namelist()}
        return {name: _row(packed, name) for name in _TABLES if name in names}


def _row(packed: ZipFile, name: str) -> npt.NDArray[Any]:
    """One array of the tables; its size is checked before memory is allocated."""
    about = packed.getinfo(f"{name}.npy")
    if about.compress_type != ZIP_STORED or about.file_size != about.compress_size:
        raise ValueError(f"{name} is compressed; expected it as it is")
    with packed.open(about) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError(f"{name} is an array of version {version}")
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        if dtype != _TABLES[name] or len(shape) != 1:
            raise ValueError(f"{name} is {dtype} of shape {shape}; expected a row {_TABLES[name]}")
        data = file.read()
    if len(data) != shape[0] * dtype.itemsize:
        raise ValueError(f"{name} has {len(data)} bytes for {shape[0]} numbers")
    return np.frombuffer(data, dtype)


def _strings(tables: Tables, name: str) -> list[str]:
    data, ends = tables[f"{name}.utf8"].tobytes(), tables[f"{name}.offsets"]
    if not _are_offsets(ends, len(ends) - 1, len(data)):
        raise ValueError(f"the {name} do not fit their letters")
    return [data[a:b].decode("utf-8") for a, b in pairwise(ends.tolist())]


def _are_offsets(ends: IntArray, count: int, length: int) -> bool:
    """Whether `ends` cuts the range from 0 to `length` into `count` consecutive parts."""
    if len(ends) != count + 1 or int(ends[0]) != 0 or int(ends[-1]) != length:
        return False
    return bool((np.diff(ends) >= 0).all())


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / "corpus.json"
    if not path.is_file():
        raise CorpusError(
            f"{folder} holds no prepared corpus (there is no corpus.json). "
            f"Make one with: adhominem prepare TEXTS -o {folder}"
        )
    try:
        with open_regular(path, _LARGEST_DESCRIPTION)[0] as file:
            description: dict[str, Any] = parsed_json(file.read(_LARGEST_DESCRIPTION))
        written_as = description["format"]
        corpora = description.get("corpora", [])
        counts = [description.get("documents"), description.get("tokens")]
        counts += [row[name] for row in corpora for name in ("authors", "documents", "tokens")]
        if not all(type(count) is int and count >= 0 for count in counts):
            raise ValueError("a count is not a number")
        names = [*(row["name"] for row in corpora), *description.get("normalisation", [])]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("a name is not a string")
    except _DAMAGE as error:
        raise _damaged(folder, f"corpus.json: {error!r}") from None
    if written_as != FORMAT:
        raise CorpusError(
            f"{folder} is a corpus of format {str(written_as)[:100]}; this version reads format "
            f"{FORMAT}. Use the version that wrote it, or prepare it again."
        )
    return description


def _map_tokens(path: Path, count: int) -> npt.NDArray[np.uint32]:
    file, size = open_regular(path, count * TOKEN_DTYPE.itemsize)
    file.close()
    if size != count * TOKEN_DTYPE.itemsize:
        raise ValueError(f"tokens.bin has {size} bytes, expected {count * 4}")
    return np.memmap(path, TOKEN_DTYPE, "r") if count else np.zeros(0, TOKEN_DTYPE)


def _damaged(folder: Path, why: str) -> CorpusError:
    return CorpusError(f"the corpus in {folder} is damaged ({why[:300]}). Prepare it again.")
