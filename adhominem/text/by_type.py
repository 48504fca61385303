"""Tables with a row for each token type: what depends only on the type is computed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from adhominem.arrays import IntArray
from adhominem.text.tokenizer import Lexicon


class KeptByType(ABC):
    """Tables of bounded size with a row for each token type; full tables are emptied.

    Other threads may read tables while they grow: existing rows do not change, and a larger table
    is a new array. Subclasses define the rows.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._known: dict[str, int] = {}
        self._characters = 0  # of all known types
        # For each lexicon the rows (types,) of its types, -1 if not yet known.
        self._rows: WeakKeyDictionary[Lexicon, IntArray] = WeakKeyDictionary()
        self._clear()

    @abstractmethod
    def _limits(self) -> tuple[int, int]:
        """The largest numbers of types, and of their characters, that are remembered."""

    @abstractmethod
    def _clear(self) -> None:
        """Make new tables without rows."""

    @abstractmethod
    def _add(self, types: list[str]) -> None:
        """Add the rows of some types to the tables."""

    def _rows_of(self, lexicon: Lexicon, numbers: IntArray) -> IntArray:
        """The row (tokens,) of each token; call it and read the tables under the lock."""
        rows = self._rows.get(lexicon)
        if rows is None or len(rows) < len(lexicon):
            grown = np.full(max(len(lexicon), 0 if rows is None else 2 * len(rows)), -1, np.int64)
            if rows is not None:
                grown[: len(rows)] = rows
            rows = self._rows[lexicon] = grown
        of_tokens = rows[numbers]
        new = of_tokens < 0
        if new.any():
            self._learn(lexicon, np.unique(numbers[new]), rows)
            if lexicon not in self._rows:  # the tables were emptied
                self._learn(lexicon, np.unique(numbers), rows)
            of_tokens = rows[numbers]
        return np.asarray(of_tokens)

    def _learn(self, lexicon: Lexicon, missing: IntArray, rows: IntArray) -> None:
        """Add the rows of missing types, emptying the tables first if there is no room."""
        types = [lexicon.types[number] for number in missing.tolist()]
        new = [token for token in types if token not in self._known]
        characters = sum(map(len, new))
        if self._known and not self._has_room(len(new), characters):
            self._forget()
            rows[:] = -1
            return
        if new:
            first = len(self._known)
            self._add(new)
            self._known.update(zip(new, range(first, first + len(new)), strict=True))
            self._characters += characters
        rows[missing] = [self._known[token] for token in types]
        self._rows[lexicon] = rows

    def _has_room(self, types: int, characters: int) -> bool:
        most_types, most_characters = self._limits()
        return (
            len(self._known) + types <= most_types
            and self._characters + characters <= most_characters
        )

    def _forget_what_is_too_much(self) -> None:
        """Empty the tables if a single batch has exceeded their limits."""
        if not self._has_room(0, 0):
            self._forget()


class Growing:
    """An array that rows can be appended to. Views of it that others hold stay valid."""

    def __init__(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
        """Make an empty array whose rows have this shape."""
        self._array = np.empty((1 << 10, *shape), dtype)
        self.size = 0

    def add(self, rows: npt.NDArray[Any] | Sequence[Any]) -> None:
        """Append some rows."""
        last = self.size + len(rows)
        if last > len(self._array):
            grown = np.empty(
                (max(last, 2 * len(self._array)), *self._array.shape[1:]), self._array.dtype
            )
            grown[: self.size] = self._array[: self.size]
            self._array = grown
        self._array[self.size : last] = rows
        self.size = last

    @property
    def rows(self) -> npt.NDArray[Any]:
        """The rows added so far."""
        return self._array[: self.size]
