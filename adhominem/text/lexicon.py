"""Token types by number: a text is looked up once, and what encoders keep by type is arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from threading import Lock

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray


class Lexicon:
    """Token types in the order in which they were first seen. It only grows.

    Nothing is ever forgotten in it: whoever keeps one begins a new one when it is large enough.
    """

    def __init__(self) -> None:
        self.types: list[str] = []
        self.characters = 0  # of all types, and of `chunks`
        # What white space leaves together, for a tokenizer: the numbers of its tokens, as bytes.
        self.chunks: dict[str, bytes] = {}
        self._numbers: dict[str, int] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.types)

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
        parts = (rows[begin:end] for begin, end in pairwise([0, *ends.tolist()]))
        self.chunks.update(zip(names, parts, strict=True))
        self.characters += sum(map(len, names))

    def _add(self, tokens: Sequence[str]) -> None:
        with self._lock:
            for token in dict.fromkeys(tokens):
                if token not in self._numbers:  # as it may have come to be meanwhile
                    self.types.append(token)  # first, since others may read a number at once
                    self._numbers[token] = len(self.types) - 1
                    self.characters += len(token)


@dataclass(frozen=True, eq=False)
class Numbered:
    """Tokenized documents, each token as the number of its type."""

    lexicon: Lexicon
    documents: Sequence[IntArray]  # of each, (tokens,)

    @classmethod
    def of(cls, documents: Sequence[Sequence[str]]) -> Numbered:
        """Documents given as strings, with a lexicon of their own."""
        lexicon = Lexicon()
        return cls(lexicon, [lexicon.number(tokens) for tokens in documents])

    @property
    def row(self) -> IntArray:
        """(tokens,): those of all documents in a row."""
        return np.concatenate([np.zeros(0, np.int64), *self.documents])

    @property
    def lengths(self) -> IntArray:
        """(documents,): how many tokens each has."""
        return np.array([len(tokens) for tokens in self.documents], dtype=np.int64)

    def packed(self) -> PackedTexts:
        """The same without the lexicon, for another process."""
        used = np.zeros(len(self.lexicon), np.bool_)
        row = self.row
        used[row] = True
        numbers = np.flatnonzero(used)
        tokens = (np.cumsum(used) - 1)[row].astype(np.uint32)
        types = " ".join(self.lexicon.types[number] for number in numbers.tolist())
        return PackedTexts(types, tokens, self.lengths)

    def chosen(self, places: Iterable[int]) -> Numbered:
        """The documents at these places, in this order."""
        return Numbered(self.lexicon, [self.documents[at] for at in places])


@dataclass(frozen=True, eq=False)
class PackedTexts:
    """Tokenized documents with their token types: a few arrays, which are quickly sent."""

    types: str  # with spaces in between, which no token has inside
    tokens: npt.NDArray[np.uint32]  # (tokens,): of all documents in a row, each as its type's place
    lengths: IntArray  # (documents,)

    def numbered(self, lexicon: Lexicon) -> Numbered:
        """The documents in the numbers of a lexicon."""
        row = lexicon.number(self.types.split(" ") if self.types else [])[self.tokens]
        ends = np.cumsum(self.lengths).tolist()
        return Numbered(lexicon, [row[begin:end] for begin, end in pairwise([0, *ends])])
