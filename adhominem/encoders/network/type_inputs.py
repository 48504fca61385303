"""What the window BiLSTM gets to see of a token, computed once per token type and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt

from adhominem.encoders.network.recurrence import product
from adhominem.text.vocabulary import PADDING, Vocabulary

Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
Weights = Mapping[str, npt.NDArray[np.float32]]

_MOST_TYPES = 1 << 16  # kept, some 100 MB; then it forgets them all and starts again
_MOST_CHARACTERS = 1 << 20  # of their spellings
_TYPES_AT_ONCE = 4_096


class TypeInputs:
    """Token types to the inputs of the gates, in both directions."""

    def __init__(
        self, weights: Weights, vocabulary: Vocabulary, weight: Array, bias: Array
    ) -> None:
        self._vocabulary = vocabulary
        self._word_vectors = weights["word_vectors.weight"]
        self._no_topic = weights["no_topic"]
        self._character_vectors = weights["characters.embedding.weight"]
        filters = weights["characters.convolution.weight"]  # (filters, size, width)
        self._width = filters.shape[2]
        self._filters = np.ascontiguousarray(filters.transpose(2, 1, 0)).reshape(-1, len(filters))
        self._filter_bias = weights["characters.convolution.bias"]
        self._weight, self._bias = weight, bias  # (word + filters, inputs) and (inputs,)
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._known: dict[str, int] = {}
        self._characters = 0  # that are known
        self._tables = self._room(1 << 10)

    def _room(self, types: int) -> tuple[Array, Array]:
        """For each direction: contiguous, or each step would copy it."""
        half = self._weight.shape[1] // 2
        return np.empty((types, half), np.float32), np.empty((types, half), np.float32)

    def look_up(self, tokens: Sequence[str]) -> tuple[IntArray, tuple[Array, Array]]:
        """The row of each token, (tokens,), and the table of each direction, (types, inputs)."""
        with self._lock:
            new = list(set(tokens).difference(self._known))
            if (
                len(self._known) + len(new) > _MOST_TYPES
                or self._characters + sum(map(len, new)) > _MOST_CHARACTERS
            ):
                self._forget()
                new = list(set(tokens))
            for at in range(0, len(new), _TYPES_AT_ONCE):
                self._add(new[at : at + _TYPES_AT_ONCE])
            rows = np.fromiter(map(self._known.__getitem__, tokens), np.int64, len(tokens))
            tables = self._tables
            if len(self._known) > _MOST_TYPES or self._characters > _MOST_CHARACTERS:
                self._forget()  # these tokens alone are too much
            return rows, tables

    def _add(self, types: list[str]) -> None:
        first, last = len(self._known), len(self._known) + len(types)
        if last > len(self._tables[0]):  # a new table: others may still read the old one
            grown = self._room(max(last, 2 * len(self._tables[0])))
            for table, old in zip(grown, self._tables, strict=True):
                table[:first] = old[:first]
            self._tables = grown
        words = self._word_vectors[self._vocabulary.token_ids(types)]  # (types, size)
        inputs = (
            product(np.concatenate([words, self._spellings(types)], axis=1), self._weight)
            + self._bias
        )
        for table, half in zip(self._tables, np.split(inputs, 2, axis=1), strict=True):
            table[first:last] = half
        self._characters += sum(map(len, types))
        self._known.update(zip(types, range(first, last), strict=True))

    def _spellings(self, types: list[str]) -> Array:
        """(types, filters): the character CNN; padding never wins the maximum."""
        characters = self._vocabulary.character_ids(types)  # (types, characters)
        beside = self._width - 1
        padded = np.pad(characters, ((0, 0), (beside, beside)), constant_values=PADDING)
        vectors = self._character_vectors[padded]  # (types, characters + 2 * beside, size)
        places = characters.shape[1] + beside
        found: Array = sum(
            (
                vectors[:, at : at + places] @ part
                for at, part in enumerate(np.split(self._filters, self._width))
            ),
            start=self._filter_bias,
        )  # (types, places, filters)
        count = (characters != PADDING).sum(axis=1)
        beyond = np.arange(places) >= (count + beside)[:, None]  # sees padding alone
        found[beyond] = -np.inf
        return np.asarray(np.tanh(found.max(axis=1)))  # tanh rises: the largest stays the largest

    def prefixes(self, topics: Sequence[Sequence[str]]) -> tuple[Array, Array]:
        """(documents, inputs) for each direction: the mean word vector of each topic's tokens."""
        vectors = np.stack(
            [
                self._word_vectors[self._vocabulary.token_ids(topic)].mean(axis=0)
                if len(topic)
                else self._no_topic
                for topic in topics
            ]
        )
        inputs = product(vectors, self._weight[: vectors.shape[1]]) + self._bias
        first, second = np.split(inputs, 2, axis=1)
        return np.ascontiguousarray(first), np.ascontiguousarray(second)
