"""The trained network at inference: documents to LEVs in NumPy, without torch.

The same computation as `encoders.network.Network` (a test compares them), arranged so that
nothing is done twice: what the window BiLSTM gets to see of a token is computed once per token
type and kept, and the windows of many documents go through the recurrence together, sorted by
length, so that no step is spent on padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, compress
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from adhominem.encoders.network.recurrence import Attention, BiLSTM, product
from adhominem.encoders.network.type_inputs import TypeInputs
from adhominem.encoders.protocol import Encoder, spliced
from adhominem.text.vocabulary import Vocabulary, WindowOptions, WindowTable, spread_windows

Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

_WINDOWS_AT_ONCE = 512  # in one recurrence: its state fits into a core's cache
_DOCUMENTS_AT_ONCE = 64  # whose windows are in memory together
_VARIANTS_AT_ONCE = 128  # of a document, through its second BiLSTM


@dataclass(frozen=True)
class Encoded:
    """The LEVs of some documents, and where the network looked."""

    levs: Array  # (documents, lev_size)
    windows: WindowTable
    window_vectors: Array  # (windows, size): what the first BiLSTM makes of them
    token_attention: Array  # (windows, 1 + tokens): the contextual prefix first
    window_attention: Array  # (documents, windows)


@runtime_checkable
class NetworkEncoder(Encoder, Protocol):
    """An encoder that is a network, and can tell where it looked."""

    def attend(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Encoded:
        """The LEVs of a few documents, the longest first, and the attention."""
        ...

    def vary(
        self,
        tokens: Sequence[str],
        topic: Sequence[str],
        starts: IntArray,
        times: IntArray,
        attention: Encoded | None = None,
    ) -> Array:
        """See `Encoder.vary`; `attention`, of this document alone, saves running its windows."""
        ...


class Runtime:
    """The network of one model, ready to run."""

    def __init__(
        self,
        weights: Mapping[str, Array],
        vocabulary: Vocabulary,
        windows: WindowOptions,
        threads: int = 1,
    ) -> None:
        self._windows = windows
        self._threads = threads
        self._window_lstm = BiLSTM(weights, "window_lstm")
        self._document_lstm = BiLSTM(weights, "document_lstm")
        self._token_attention = Attention(weights, "token_attention")
        self._window_attention = Attention(weights, "window_attention")
        self._lev_weight, self._lev_bias = weights["lev.weight"].T, weights["lev.bias"]
        lstm = self._window_lstm
        self._types = TypeInputs(weights, vocabulary, lstm.weight, lstm.bias)

    @property
    def lev_size(self) -> int:
        """The size of a LEV."""
        return len(self._lev_bias)

    def encode(self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]) -> Array:
        """(documents, lev_size): the LEVs of tokenized documents with tokenized topics."""
        lengths = np.array([len(tokens) for tokens in documents], dtype=np.int64)
        levs = np.zeros((len(documents), len(self._lev_bias)), dtype=np.float32)
        order = np.argsort(-lengths, kind="stable")  # like lengths together, the longest first
        for at in range(0, len(order), _DOCUMENTS_AT_ONCE):
            some = order[at : at + _DOCUMENTS_AT_ONCE]
            levs[some] = self.attend([documents[n] for n in some], [topics[n] for n in some]).levs
        return levs

    def vary(
        self,
        tokens: Sequence[str],
        topic: Sequence[str],
        starts: IntArray,
        times: IntArray,
        attention: Encoded | None = None,
    ) -> Array:
        """(variants, lev_size): the LEVs of a document with passages left out or repeated.

        Where the passages are those of its windows, a window that is left out is one that the
        second BiLSTM does not get to see, and the first BiLSTM has run but once: `attention` is
        what `attend` said of this document alone, if it was asked.
        """
        table = spread_windows(np.array([len(tokens)]), self._windows)
        if not np.array_equal(starts, table.starts):
            variants = spliced(tokens, starts, times)
            return self.encode(variants, [topic] * len(variants))
        if attention is None:
            vectors, _ = self._window_vectors([tokens], [topic], table)
        else:
            vectors = attention.window_vectors
        levs = np.zeros((len(times), self.lev_size), dtype=np.float32)
        lengths = times.sum(axis=1)
        order = np.argsort(-lengths, kind="stable")  # the longest first
        for at in range(0, len(order), _VARIANTS_AT_ONCE):
            some = order[at : at + _VARIANTS_AT_ONCE]
            rows = np.concatenate([np.repeat(np.arange(len(vectors)), times[n]) for n in some])
            levs[some] = self._document_vectors(vectors[rows], lengths[some])[0]
        return levs

    def attend(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Encoded:
        """The LEVs of a few documents, the longest first, and the attention."""
        lengths = np.array([len(tokens) for tokens in documents], dtype=np.int64)
        table = spread_windows(lengths, self._windows)
        vectors, attention = self._window_vectors(documents, topics, table)
        levs, window_attention = self._document_vectors(vectors, np.bincount(table.documents))
        return Encoded(levs, table, vectors, attention, window_attention)

    def _window_vectors(
        self,
        documents: Sequence[Sequence[str]],
        topics: Sequence[Sequence[str]],
        table: WindowTable,
    ) -> tuple[Array, Array]:
        """(windows, size), and the attention (windows, 1 + tokens)."""
        lengths = np.array([len(tokens) for tokens in documents], dtype=np.int64)
        places = table.token_places(lengths, self._windows.width)  # (windows, tokens)
        needed = np.zeros(lengths.sum(), dtype=np.bool_)  # (tokens,) of all documents in a row
        needed[places] = True
        rows = np.zeros(len(needed), dtype=np.int64)
        rows[needed], tables = self._types.look_up(list(compress(chain(*documents), needed)))
        prefixes = self._types.prefixes(topics)
        tokens = rows[places]
        vectors = np.empty((len(tokens), 2 * self._window_lstm.size), dtype=np.float32)
        attention = np.empty((len(tokens), 1 + self._windows.width), dtype=np.float32)

        def run(some: IntArray) -> None:
            """Some windows, the longest first."""
            ids = np.ascontiguousarray(tokens[some].T)  # (tokens, windows): a step in a row
            owners = table.documents[some]

            def step_inputs(at: int, n: int, direction: int, out: Array) -> None:
                if at == 0:
                    np.take(prefixes[direction], owners[:n], axis=0, out=out, mode="clip")
                else:
                    np.take(tables[direction], ids[at - 1, :n], axis=0, out=out, mode="clip")

            lengths = 1 + table.counts[some]
            hidden = self._window_lstm.run(step_inputs, lengths, attention.shape[1])
            vectors[some], attention[some] = self._token_attention.mean(hidden, lengths)

        order = np.argsort(-table.counts, kind="stable")
        pieces = np.array_split(order, -(-len(order) // _WINDOWS_AT_ONCE))
        if self._threads == 1 or len(pieces) == 1:
            for piece in pieces:
                run(piece)
        else:  # NumPy lets go of the interpreter while it computes
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(run, pieces))
        return vectors, attention

    def _document_vectors(self, windows: Array, lengths: IntArray) -> tuple[Array, Array]:
        """(documents, lev_size) and (documents, windows), of documents with ever fewer windows."""
        inputs = product(windows, self._document_lstm.weight) + self._document_lstm.bias
        tables = [np.ascontiguousarray(half) for half in np.split(inputs, 2, axis=1)]
        begins = np.cumsum(lengths) - lengths  # (documents,)

        def step_inputs(at: int, n: int, direction: int, out: Array) -> None:
            np.take(tables[direction], begins[:n] + at, axis=0, out=out, mode="clip")

        hidden = self._document_lstm.run(step_inputs, lengths, int(lengths.max()))
        documents, attention = self._window_attention.mean(hidden, lengths)
        return np.tanh(product(documents, self._lev_weight) + self._lev_bias), attention
