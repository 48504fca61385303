"""The trained network at inference: documents to LEVs on a CPU, without torch.

The computation equals that of `network.Network` (a test compares them), but nothing is done
twice: the input of the window BiLSTM is computed once per token type and kept, and the windows of
many documents go through the recurrence together, sorted by length, so that no step is spent on
padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from adhominem.arrays import Array32, IntArray
from adhominem.paper.recurrence import Kernel, Pooling, Product, Sequences, Weights, choose_kernel
from adhominem.text.lexicon import Growing, KeptByType, Lexicon, Numbered
from adhominem.text.vocabulary import (
    PADDING,
    UNKNOWN,
    Vocabulary,
    WindowOptions,
    WindowTable,
    spread_windows,
)

_WINDOWS_AT_ONCE = 256  # in one recurrence, whose state fits into a core's cache
_VARIANTS_AT_ONCE = 128  # of a document, through its second BiLSTM


class TypeInputs(KeptByType):
    """The inputs of the gates in both directions, for each token type."""

    _MOST_TYPES = 1 << 16  # some 100 MB
    _MOST_CHARACTERS = 1 << 20

    def __init__(
        self, weights: Weights, vocabulary: Vocabulary, lstm: Pooling, kernel: Kernel
    ) -> None:
        self._vocabulary = vocabulary
        self._word_vectors = weights["word_vectors.weight"]
        self._character_vectors = weights["characters.embedding.weight"]
        filters = weights["characters.convolution.weight"]  # (filters, size, width)
        self._width = filters.shape[2]
        fields = np.ascontiguousarray(filters.transpose(2, 1, 0)).reshape(-1, len(filters))
        self._times_filters = Product(fields, kernel)  # (size * width, filters)
        self._filter_bias = weights["characters.convolution.bias"]
        words, spellings = np.split(lstm.weight, [self._word_vectors.shape[1]])
        self._times_word_weight = Product(words, kernel)  # (word, inputs)
        self._times_spelling_weight = Product(spellings, kernel)  # (filters, inputs)
        self._bias = lstm.bias  # (inputs,)
        self._prefix_vectors = weights.get("prefixes.weight")  # (prefixes, word)
        # (inputs,) each: most types are unknown words, and most documents have no topic.
        self._unknown_inputs, self._no_topic_inputs = self._inputs(
            np.stack([self._word_vectors[UNKNOWN], weights["no_topic"]])
        )
        # Per direction, contiguous: otherwise each step would copy it.
        direction = partial(Growing, (len(self._bias) // 2,), np.float32)
        super().__init__(direction, direction)

    def look_up(
        self, lexicon: Lexicon, numbers: IntArray
    ) -> tuple[IntArray, tuple[Array32, Array32]]:
        """The row of each token, (tokens,), and the table of each direction, (types, inputs)."""
        rows, (forward, backward) = self._rows_of(lexicon, numbers)
        return rows, (forward, backward)

    def _new_rows(self, types: list[str]) -> list[Array32]:
        ids = self._vocabulary.token_ids(types)
        of_words = np.repeat(self._unknown_inputs[None], len(types), axis=0)
        known = np.flatnonzero(ids != UNKNOWN)
        if len(known):
            of_words[known] = self._inputs(self._word_vectors[ids[known]])
        spelled = self._spellings(self._vocabulary.character_ids(types))
        inputs = self._times_spelling_weight(spelled)
        inputs += of_words
        return np.split(inputs, 2, axis=1)

    def _inputs(self, vectors: Array32) -> Array32:
        """The inputs (vectors, inputs) from word vectors, with the bias."""
        return np.asarray(self._times_word_weight(vectors) + self._bias)

    def _spellings(self, characters: npt.NDArray[np.int32]) -> Array32:
        """The CNN's output (types, filters) for ids (types, characters), ignoring padding."""
        beside = self._width - 1
        padded = np.pad(characters, ((0, 0), (beside, beside)), constant_values=PADDING)
        vectors = self._character_vectors[padded]  # (types, characters + 2 * beside, size)
        places = characters.shape[1] + beside
        # (types, places, size * width): the input of a filter at each place, flattened.
        size = vectors.shape[2]
        fields = sliding_window_view(vectors.reshape(len(vectors), -1), self._width * size, 1)
        fields = np.ascontiguousarray(fields[:, ::size])
        filtered = self._times_filters(fields.reshape(-1, fields.shape[2]))
        filtered = filtered.reshape(len(vectors), places, -1)  # (types, places, filters)
        count = (characters != PADDING).sum(axis=1)
        beyond = np.arange(places) >= (count + beside)[:, None]  # only padding
        filtered[beyond] = -np.inf
        return np.asarray(np.tanh(filtered.max(axis=1) + self._filter_bias))  # tanh rises

    def prefixes(self, topics: Sequence[Sequence[str]]) -> tuple[Array32, Array32]:
        """The inputs (documents, inputs) per direction from the mean of each topic's prefixes."""
        inputs = np.repeat(self._no_topic_inputs[None], len(topics), axis=0)
        rows = list(map(self._vocabulary.prefix_rows, topics))
        given = [at for at, found in enumerate(rows) if found]
        if given and self._prefix_vectors is not None:
            means = [self._prefix_vectors[rows[at]].mean(axis=0) for at in given]
            inputs[given] = self._inputs(np.stack(means))
        first, second = np.split(inputs, 2, axis=1)
        return np.ascontiguousarray(first), np.ascontiguousarray(second)


@dataclass(frozen=True)
class NetworkOutput:
    """The LEVs of some documents, and the network's attention."""

    levs: Array32  # (documents, lev_size)
    windows: WindowTable
    window_vectors: Array32  # (windows, size): output of the first BiLSTM
    token_attention: Array32  # (windows, 1 + tokens): the contextual prefix first
    window_attention: Array32  # (documents, windows)


class Runtime:
    """The network of one model, ready to run."""

    _documents_at_once = 64  # whose windows are in memory together

    def __init__(
        self,
        weights: Mapping[str, Array32],
        vocabulary: Vocabulary,
        windows: WindowOptions,
        threads: int = 1,
    ) -> None:
        self._windows = windows
        self._threads = threads
        kernel = choose_kernel()
        self._pool_tokens = Pooling(weights, "window_lstm", "token_attention", kernel)
        self._pool_windows = Pooling(weights, "document_lstm", "window_attention", kernel)
        self._times_lev_weight = Product(weights["lev.weight"].T, kernel)
        self._lev_bias = weights["lev.bias"]
        self._times_window_weight = Product(self._pool_windows.weight, kernel)
        self._types = TypeInputs(weights, vocabulary, self._pool_tokens, kernel)

    @property
    def lev_size(self) -> int:
        """The size of a LEV."""
        return len(self._lev_bias)

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Array32:
        """The LEVs (documents, lev_size) of tokenized documents with tokenized topics."""
        return self.encode_numbered(Numbered.of(documents), topics)

    def encode_numbered(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> Array32:
        """The LEVs (documents, lev_size) of documents whose tokens are numbers."""
        levs = np.zeros((len(texts.documents), len(self._lev_bias)), dtype=np.float32)
        order = np.argsort(-texts.lengths, kind="stable")  # similar lengths together, longest first
        for at in range(0, len(order), self._documents_at_once):
            rows = order[at : at + self._documents_at_once]
            levs[rows] = self._attend(texts.chosen(rows), [topics[n] for n in rows]).levs
        return levs

    def attend(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> NetworkOutput:
        """The LEVs of a few documents, the longest first, with the attention."""
        return self._attend(Numbered.of(documents), topics)

    def windows_of(
        self, tokens: Sequence[str], topic: Sequence[str]
    ) -> tuple[WindowTable, Array32]:
        """The windows of one document, and their vectors (windows, size)."""
        table = spread_windows(np.array([len(tokens)]), self._windows)
        return table, self._window_vectors(Numbered.of([tokens]), [topic], table)[0]

    def _attend(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> NetworkOutput:
        table = spread_windows(texts.lengths, self._windows)
        vectors, attention = self._window_vectors(texts, topics, table)
        levs, window_attention = self.document_vectors(vectors, np.bincount(table.documents))
        return NetworkOutput(levs, table, vectors, attention, window_attention)

    def _window_vectors(
        self, texts: Numbered, topics: Sequence[Sequence[str]], table: WindowTable
    ) -> tuple[Array32, Array32]:
        """Window vectors (windows, size) and attention (windows, 1 + tokens) of these windows."""
        places = table.token_places(texts.lengths, self._windows.width)  # (windows, tokens)
        numbers = texts.row[places]
        rows, tables = self._types.look_up(texts.lexicon, numbers.ravel())
        # (windows, 1 + tokens): first comes the prefix of a window's document, from another table.
        rows = np.column_stack([table.documents, rows.reshape(places.shape)])
        prefixes = self._types.prefixes(topics)
        vectors = np.empty((len(rows), 2 * self._pool_tokens.size), dtype=np.float32)
        attention = np.empty(rows.shape, dtype=np.float32)

        def run(chosen: IntArray) -> None:
            """Run some windows, the longest first."""
            windows = Sequences(
                tables=tables, heads=prefixes, rows=rows[chosen], lengths=1 + table.counts[chosen]
            )
            vectors[chosen], attention[chosen] = self._pool_tokens(windows)

        order = np.argsort(-table.counts, kind="stable")
        pieces = np.array_split(order, -(-len(order) // _WINDOWS_AT_ONCE))
        if self._threads == 1 or len(pieces) == 1:
            for piece in pieces:
                run(piece)
        else:  # both kernels release the interpreter's lock
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(run, pieces))
        return vectors, attention

    def document_vectors(self, windows: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        """LEVs (documents, lev_size) and attention (documents, windows), most windows first."""
        lstm = self._pool_windows
        inputs = self._times_window_weight(windows) + lstm.bias
        first, second = (np.ascontiguousarray(half) for half in np.split(inputs, 2, axis=1))
        begins = np.cumsum(lengths) - lengths  # (documents,)
        # (documents, windows): padded with the document's last window.
        rows = begins[:, None] + np.minimum(np.arange(lengths.max()), lengths[:, None] - 1)
        documents, attention = self._pool_windows(
            Sequences(tables=(first, second), rows=rows, lengths=lengths)
        )
        return np.tanh(self._times_lev_weight(documents) + self._lev_bias), attention


class NetworkVariants:
    """The variants of one document for a network, with passages left out or repeated.

    If the passages are those of the document's windows, windows are only left out of the input of
    the second BiLSTM, and the first BiLSTM runs once.
    """

    def __init__(
        self,
        runtime: Runtime,
        tokens: Sequence[str],
        topic: Sequence[str],
        starts: IntArray,
        attention: NetworkOutput | None = None,
    ) -> None:
        """Passages begin at the tokens `starts` (passages,).

        `attention` is the result of `attend` for this document alone, if available.
        """
        self._runtime, self._tokens, self._topic, self._starts = runtime, tokens, topic, starts
        if attention is None:
            windows, vectors = runtime.windows_of(tokens, topic)
        else:
            windows, vectors = attention.windows, attention.window_vectors
        self._vectors = vectors if np.array_equal(starts, windows.starts) else None

    def levs(self, times: IntArray) -> Array32:
        """The LEVs (variants, lev_size); `times` (variants, passages) repeats the passages.

        All ones is the document itself; no variant may be empty.
        """
        if self._vectors is None:
            variants = spliced(self._tokens, self._starts, times)
            return self._runtime.encode(variants, [self._topic] * len(variants))
        levs = np.zeros((len(times), self._runtime.lev_size), dtype=np.float32)
        lengths = times.sum(axis=1)
        order = np.argsort(-lengths, kind="stable")  # the longest first
        every = np.arange(len(self._vectors))
        for at in range(0, len(order), _VARIANTS_AT_ONCE):
            chosen = order[at : at + _VARIANTS_AT_ONCE]
            rows = np.concatenate([np.repeat(every, times[n]) for n in chosen])
            levs[chosen] = self._runtime.document_vectors(self._vectors[rows], lengths[chosen])[0]
        return levs


def spliced(tokens: Sequence[str], starts: IntArray, times: IntArray) -> list[list[str]]:
    """The tokens of each variant of a document."""
    ends = np.append(starts[1:], len(tokens))
    passages = [tokens[start:end] for start, end in zip(starts, ends, strict=True)]
    return [
        [token for at, count in enumerate(row) for _ in range(count) for token in passages[at]]
        for row in times
    ]
