"""Token types and their numbers: a text is looked up once; encoders keep a row for each type."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise, repeat
from threading import Lock
from typing import Any, ClassVar, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray
from adhominem.compiled import compiled


class Chunks(Protocol):
    """A dictionary of chunks, which white space separates, with their token numbers as bytes."""

    def add(self, chunk: str, numbers: bytes, /) -> None:
        """Remember the numbers of a chunk."""

    def look_up(self, text: str, /) -> tuple[bytes, list[str]]:
        """The token numbers of a text's known chunks, concatenated, and the unknown chunks."""


class PythonChunks:
    """Chunks in Python's dictionary; `chunks.c` is faster."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}
        self.add = self._known.__setitem__

    def look_up(self, text: str) -> tuple[bytes, list[str]]:
        chunks = text.split()
        rows = list(map(self._known.get, chunks, repeat(b"")))  # every chunk has a token
        new = zip(chunks, rows, strict=True) if b"" in rows else ()
        return b"".join(rows), [chunk for chunk, row in new if not row]


def _new_chunks() -> Chunks:
    module = compiled("adhominem.text._chunks")
    if module is None:
        return PythonChunks()
    chunks: Chunks = module.Chunks(int.from_bytes(os.urandom(8), "little"))
    return chunks


class Lexicon:
    """Token types in order of first occurrence. It only grows.

    When it is large enough, its owner begins a new one.
    """

    def __init__(self) -> None:
        self.types: list[str] = []
        self.characters = 0  # of all types, and of `chunks`
        self._numbers: dict[str, int] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.types)

    @cached_property
    def chunks(self) -> Chunks:
        """The chunks whose tokens are known, for a tokenizer."""
        return _new_chunks()

    def number(self, tokens: Sequence[str]) -> IntArray:
        """(tokens,): the number of each token's type."""
        numbers = np.fromiter(map(self._numbers.get, tokens, repeat(-1)), np.int64, len(tokens))
        new = np.flatnonzero(numbers < 0)
        if len(new):
            missing = [tokens[at] for at in new.tolist()]
            self._add(missing)
            numbers[new] = list(map(self._numbers.__getitem__, missing))
        return numbers

    def add_chunks(self, chunks: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Remember chunks with their tokens."""
        names, tokens = zip(*chunks, strict=True)
        numbers = self.number(list(chain.from_iterable(tokens)))
        ends = np.cumsum(list(map(len, tokens))) * numbers.itemsize
        rows = numbers.tobytes()
        for name, (begin, end) in zip(names, pairwise([0, *ends.tolist()]), strict=True):
            self.chunks.add(name, rows[begin:end])
        self.characters += sum(map(len, names))

    def _add(self, tokens: Sequence[str]) -> None:
        with self._lock:
            for token in dict.fromkeys(tokens):
                if token not in self._numbers:  # another thread may have added it
                    self.types.append(token)  # first, since others may read a number at once
                    self._numbers[token] = len(self.types) - 1
                    self.characters += len(token)


@dataclass(frozen=True, eq=False)
class Numbered:
    """Tokenized documents, each token as the number of its type."""

    lexicon: Lexicon
    documents: Sequence[IntArray]  # (tokens,) for each document

    @classmethod
    def of(cls, documents: Sequence[Sequence[str]]) -> Numbered:
        """Documents given as strings, with a lexicon of their own."""
        lexicon = Lexicon()
        return cls(lexicon, [lexicon.number(tokens) for tokens in documents])

    @property
    def row(self) -> IntArray:
        """The numbers (tokens,) of all documents, concatenated."""
        return np.concatenate([np.zeros(0, np.int64), *self.documents])

    @property
    def lengths(self) -> IntArray:
        """The number of tokens (documents,) of each document."""
        return np.array([len(tokens) for tokens in self.documents], dtype=np.int64)

    def chosen(self, places: Iterable[int]) -> Numbered:
        """The documents at these places, in this order."""
        return Numbered(self.lexicon, [self.documents[at] for at in places])

    def numbered_by(self, lexicon: Lexicon) -> Numbered:
        """The documents, numbered by another lexicon."""
        if lexicon is self.lexicon:
            return self
        numbers = lexicon.number(self.lexicon.types)
        return Numbered(lexicon, [numbers[tokens] for tokens in self.documents])

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process gets: few arrays, and only the types that occur."""
        row, used = self.row, np.zeros(len(self.lexicon), np.bool_)
        used[row] = True
        types = " ".join(self.lexicon.types[number] for number in np.flatnonzero(used).tolist())
        return _sent, (types, (np.cumsum(used) - 1)[row].astype(np.uint32), self.lengths)


def _sent(types: str, tokens: npt.NDArray[np.uint32], lengths: IntArray) -> Numbered:
    """Documents from another process; no token contains a space."""
    lexicon = Lexicon()
    row = lexicon.number(types.split(" ") if types else [])[tokens]
    ends = pairwise([0, *np.cumsum(lengths).tolist()])
    return Numbered(lexicon, [row[begin:end] for begin, end in ends])


class GrowingTable(Protocol):
    """A table that rows can be appended to. Views of it that others hold stay valid."""

    size: int  # the number of rows

    @property
    def rows(self) -> Any:
        """A view of all rows."""

    def add(self, rows: Any) -> None:
        """Append rows."""


class KeptByType(ABC):
    """Tables of bounded size with a row for each token type; full tables are emptied.

    Other threads may read tables while they grow: existing rows do not change, and a larger table
    is a new array. Subclasses define the rows.
    """

    # The largest numbers of types, and of their characters, that are remembered; and of types that
    # are added at once.
    _MOST_TYPES: ClassVar[int]
    _MOST_CHARACTERS: ClassVar[int]
    _TYPES_AT_ONCE: ClassVar[int] = 4_096

    def __init__(self, *empty_tables: Callable[[], GrowingTable]) -> None:
        self._lock, self._empty_tables = Lock(), empty_tables
        self._forget()

    def _forget(self) -> None:
        self._known: dict[str, int] = {}
        self._characters = 0  # of all known types
        # For each lexicon the rows (types,) of its types, -1 if not yet known.
        self._rows: WeakKeyDictionary[Lexicon, IntArray] = WeakKeyDictionary()
        self._tables = [empty() for empty in self._empty_tables]

    @abstractmethod
    def _new_rows(self, types: list[str]) -> Sequence[Any]:
        """What to append to each of the tables for some types."""

    def _rows_of(self, lexicon: Lexicon, numbers: IntArray) -> tuple[IntArray, list[Any]]:
        """The row (tokens,) of each token, and the tables with these rows, which stay valid."""
        with self._lock:
            rows = self._rows.get(lexicon)
            if rows is None or len(rows) < len(lexicon):
                before = np.zeros(0, np.int64) if rows is None else rows
                rows = np.full(max(len(lexicon), 2 * len(before)), -1, np.int64)
                rows[: len(before)] = before
                self._rows[lexicon] = rows
            of_tokens = rows[numbers]
            new = of_tokens < 0
            if new.any():
                self._learn(lexicon, np.unique(numbers[new]), rows)
                if lexicon not in self._rows:  # the tables were emptied
                    self._learn(lexicon, np.unique(numbers), rows)
                of_tokens = rows[numbers]
            tables = [table.rows for table in self._tables]
            if not self._has_room(0, 0):  # this batch alone has more than the tables may hold
                self._forget()
            return of_tokens, tables

    def _learn(self, lexicon: Lexicon, missing: IntArray, rows: IntArray) -> None:
        """Add the rows of missing types, or empty the tables if there is no room."""
        types = [lexicon.types[number] for number in missing.tolist()]
        new = [token for token in types if token not in self._known]
        characters = sum(map(len, new))
        if self._known and not self._has_room(len(new), characters):
            self._forget()
            rows[:] = -1
            return
        if new:
            first = len(self._known)
            for at in range(0, len(new), self._TYPES_AT_ONCE):
                added = self._new_rows(new[at : at + self._TYPES_AT_ONCE])
                for table, of_types in zip(self._tables, added, strict=True):
                    table.add(of_types)
            self._known.update(zip(new, range(first, first + len(new)), strict=True))
            self._characters += characters
        rows[missing] = [self._known[token] for token in types]
        self._rows[lexicon] = rows

    def _has_room(self, types: int, characters: int) -> bool:
        there, letters = len(self._known) + types, self._characters + characters
        return there <= self._MOST_TYPES and letters <= self._MOST_CHARACTERS


class Growing:
    """A `GrowingTable` that is an array."""

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
        self._array = np.empty((1 << 10, *shape), dtype)
        self.size = 0

    def add(self, rows: npt.NDArray[Any]) -> None:
        last = self.size + len(rows)
        if last > len(self._array):
            size = max(last, 2 * len(self._array))
            grown = np.empty((size, *self._array.shape[1:]), self._array.dtype)
            grown[: self.size] = self.rows
            self._array = grown
        self._array[self.size : last] = rows
        self.size = last

    @property
    def rows(self) -> npt.NDArray[Any]:
        return self._array[: self.size]
