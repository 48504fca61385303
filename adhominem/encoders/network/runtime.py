"""The trained network at inference: documents to LEVs in NumPy, without torch.

The same computation as `encoders.network.network.Network` (a test compares them), arranged so that
nothing is done twice: what the window BiLSTM gets to see of a token is computed once per token
type and kept, and the windows of many documents go through the recurrence together, sorted by
length, so that no step is spent on padding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from adhominem.arrays import Array32, IntArray
from adhominem.encoders.by_type import Growing, KeptByType
from adhominem.encoders.protocol import spliced
from adhominem.text.lexicon import Lexicon, Numbered
from adhominem.text.vocabulary import (
    PADDING,
    Vocabulary,
    WindowOptions,
    WindowTable,
    spread_windows,
)

Weights = Mapping[str, Array32]

# Writes what a step of so many sequences adds to the gates: (step, sequences, direction, out).
StepInputs = Callable[[int, int, int, Array32], None]

# Vector instructions may raise flags for lanes that hold nothing of ours.
_QUIET = np.errstate(all="ignore")
_FEWEST_ROWS = 128  # of a product: BLAS adds up a few rows in another order than many


def product(rows: Array32, weight: Array32) -> Array32:
    """rows @ weight, the same for a row whatever stands beside it."""
    n = len(rows)
    if n >= _FEWEST_ROWS:
        return np.asarray(rows @ weight)
    padded = np.zeros((_FEWEST_ROWS, rows.shape[1]), dtype=np.float32)
    padded[:n] = rows
    return np.asarray(padded @ weight)[:n]


class BiLSTM:
    """Both directions over sequences of different lengths, the longest first.

    A sigmoid is 0.5 (tanh(x / 2) + 1): with the halves folded into the weights, one tanh serves
    all four gates. The gates stand in the order input, forget, output, cell.
    """

    def __init__(self, weights: Weights, name: str) -> None:
        both = [self._direction(weights, f"{name}.lstm.%s_l0{end}") for end in ("", "_reverse")]
        taken, self._recurrent, bias = zip(*both, strict=True)  # each for both directions
        self.size = len(self._recurrent[0])  # (size, 4 * size)
        self.weight = np.concatenate(taken, axis=1)  # (inputs, 2 * 4 * size)
        self.bias = np.concatenate(bias)  # (2 * 4 * size,)

    @staticmethod
    def _direction(weights: Weights, name: str) -> tuple[Array32, Array32, Array32]:
        taken, recurrent = weights[name % "weight_ih"], weights[name % "weight_hh"]
        bias = weights[name % "bias_ih"] + weights[name % "bias_hh"]
        size = recurrent.shape[1]
        order = np.concatenate([np.arange(2 * size), np.arange(3 * size, 4 * size)])
        order = np.concatenate([order, np.arange(2 * size, 3 * size)])  # torch's cell gate is third
        halves = np.repeat(np.array([0.5, 0.5, 0.5, 1.0], np.float32), size)
        # The last input says "padding" in training. Here there is none: see `run`.
        return (
            np.ascontiguousarray((taken[order, :-1] * halves[:, None]).T),
            # The state is twice as large as it should be, which saves a multiplication a step.
            np.ascontiguousarray((0.5 * recurrent[order] * halves[:, None]).T),
            bias[order] * halves,
        )

    @_QUIET
    def run(self, step_inputs: StepInputs, lengths: IntArray, steps: int) -> Array32:
        """(steps, sequences, 2 * size): twice the hidden states; zeros behind a sequence's end."""
        size, sequences = self.size, len(lengths)
        active = np.searchsorted(-lengths, -np.arange(steps), side="left").tolist()
        rows = max(sequences, _FEWEST_ROWS)
        hidden = np.empty((steps, rows, 2 * size), dtype=np.float32)
        for of_step, n in zip(hidden, active, strict=True):
            of_step[n:] = 0
        gates = np.empty((rows, 4 * size), dtype=np.float32)
        inputs = np.empty_like(gates)
        squashed = np.empty((rows, size), dtype=np.float32)
        by_gate = np.empty((4, rows, size), dtype=np.float32)  # each one contiguous, unlike `gates`
        for direction, recurrent in enumerate(self._recurrent):
            cell = np.zeros((rows, size), dtype=np.float32)
            columns = slice(direction * size, (direction + 1) * size)
            before = None  # what is hidden of the step before
            for at in range(steps) if direction == 0 else reversed(range(steps)):
                n = active[at]  # the sequences that have this step
                if not n:
                    continue
                if before is None:
                    step_inputs(at, n, direction, gates[:n])
                else:
                    step_inputs(at, n, direction, inputs[:n])
                    m = max(n, _FEWEST_ROWS)
                    np.matmul(before[:m], recurrent, out=gates[:m])
                    gates[:n] += inputs[:n]
                z, c, s = by_gate[:, :n], cell[:n], squashed[:n]
                np.tanh(gates[:n].reshape(n, 4, size).transpose(1, 0, 2), out=z)
                z[:3] += 1  # twice the input, forget and output gates
                c *= z[1]
                np.multiply(z[0], z[3], out=s)
                c += s
                c *= 0.5
                np.tanh(c, out=s)
                before = hidden[at, :, columns]
                np.multiply(z[2], s, out=before[:n])
        return hidden[:, :sequences]


class Attention:
    """v' tanh(W h + b), a softmax over the steps of each sequence, the weighted mean."""

    def __init__(self, weights: Weights, name: str) -> None:
        # Half of it, for hidden states that are twice as large.
        self._weight = np.ascontiguousarray(0.5 * weights[f"{name}.hidden.weight"].T)
        self._bias = weights[f"{name}.hidden.bias"]
        self._score = weights[f"{name}.score.weight"][0]

    @_QUIET
    def mean(self, hidden: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        """(sequences, size), and the attention (sequences, steps), of twice the hidden states."""
        steps, sequences, size = hidden.shape
        inner = product(hidden.reshape(-1, size), self._weight)
        inner += self._bias
        np.tanh(inner, out=inner)
        scores = np.einsum("ij,j->i", inner, self._score).reshape(steps, sequences)
        scores[np.arange(steps)[:, None] >= lengths] = -np.inf
        scores -= scores.max(axis=0)
        attention = np.exp(scores, out=scores)
        attention /= attention.cumsum(axis=0)[-1]
        mean = np.einsum("sn,snd->nd", attention, hidden)
        mean *= 0.5
        return mean, attention.T


_MOST_TYPES = 1 << 16  # kept, some 100 MB; then it forgets them all and starts again
_MOST_CHARACTERS = 1 << 20  # of their spellings
_TYPES_AT_ONCE = 4_096


class TypeInputs(KeptByType):
    """Token types to the inputs of the gates, in both directions."""

    def __init__(
        self, weights: Weights, vocabulary: Vocabulary, weight: Array32, bias: Array32
    ) -> None:
        self._vocabulary = vocabulary
        self._word_vectors = weights["word_vectors.weight"]
        self._no_topic = weights["no_topic"]
        self._character_vectors = weights["characters.embedding.weight"]
        filters = weights["characters.convolution.weight"]  # (filters, size, width)
        self._width = filters.shape[2]
        self._filters = np.ascontiguousarray(filters.transpose(2, 1, 0)).reshape(-1, len(filters))
        self._filter_bias = weights["characters.convolution.bias"]
        # (word, inputs), (filters, inputs) and (inputs,)
        self._word_weight, self._filter_weight = np.split(weight, [self._word_vectors.shape[1]])
        self._bias = bias
        super().__init__()

    def _limits(self) -> tuple[int, int]:
        return _MOST_TYPES, _MOST_CHARACTERS

    def _clear(self) -> None:
        half = len(self._bias) // 2
        # For each direction: contiguous, or each step would copy it.
        self._tables = Growing((half,), np.float32), Growing((half,), np.float32)

    def look_up(
        self, lexicon: Lexicon, numbers: IntArray
    ) -> tuple[IntArray, tuple[Array32, Array32]]:
        """The row of each token, (tokens,), and the table of each direction, (types, inputs)."""
        with self._lock:
            rows = self._rows_of(lexicon, numbers)
            first, second = self._tables
            tables = first.rows, second.rows
            self._forget_what_is_too_much()
        return rows, tables

    def _add(self, types: list[str]) -> None:
        for at in range(0, len(types), _TYPES_AT_ONCE):
            part = types[at : at + _TYPES_AT_ONCE]
            spelled = self._spellings(self._vocabulary.character_ids(part))
            inputs = product(spelled, self._filter_weight)
            inputs += self._of_words(self._vocabulary.token_ids(part))
            for table, half in zip(self._tables, np.split(inputs, 2, axis=1), strict=True):
                table.add(half)

    def _of_words(self, ids: npt.NDArray[np.int32]) -> Array32:
        """(types, inputs): what the word vectors of these ids add; most types are unknown words."""
        words, of_type = np.unique(ids, return_inverse=True)
        inputs = product(self._word_vectors[words], self._word_weight) + self._bias
        return np.asarray(inputs[of_type])

    def _spellings(self, characters: npt.NDArray[np.int32]) -> Array32:
        """(types, filters): the CNN of ids (types, characters); padding never is the maximum."""
        beside = self._width - 1
        padded = np.pad(characters, ((0, 0), (beside, beside)), constant_values=PADDING)
        vectors = self._character_vectors[padded]  # (types, characters + 2 * beside, size)
        places = characters.shape[1] + beside
        # (types, places, size * width): what a filter sees from each place on, in a row.
        seen = sliding_window_view(vectors.reshape(len(vectors), -1), self._filters.shape[0], 1)
        seen = np.ascontiguousarray(seen[:, :: vectors.shape[2]])
        filtered = product(seen.reshape(-1, seen.shape[2]), self._filters)
        filtered = filtered.reshape(len(vectors), places, -1)  # (types, places, filters)
        count = (characters != PADDING).sum(axis=1)
        beyond = np.arange(places) >= (count + beside)[:, None]  # sees padding alone
        filtered[beyond] = -np.inf
        return np.asarray(np.tanh(filtered.max(axis=1) + self._filter_bias))  # tanh rises

    def prefixes(self, topics: Sequence[Sequence[str]]) -> tuple[Array32, Array32]:
        """(documents, inputs) for each direction: the mean word vector of each topic's tokens."""
        vectors = np.stack(
            [
                self._word_vectors[self._vocabulary.token_ids(topic)].mean(axis=0)
                if len(topic)
                else self._no_topic
                for topic in topics
            ]
        )
        inputs = product(vectors, self._word_weight) + self._bias
        first, second = np.split(inputs, 2, axis=1)
        return np.ascontiguousarray(first), np.ascontiguousarray(second)


_WINDOWS_AT_ONCE = 256  # in one recurrence: its state fits into a core's cache
_VARIANTS_AT_ONCE = 128  # of a document, through its second BiLSTM


@dataclass(frozen=True)
class Encoded:
    """The LEVs of some documents, and where the network looked."""

    levs: Array32  # (documents, lev_size)
    windows: WindowTable
    window_vectors: Array32  # (windows, size): what the first BiLSTM makes of them
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

    def encode(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Array32:
        """(documents, lev_size): the LEVs of tokenized documents with tokenized topics."""
        return self.encode_numbered(Numbered.of(documents), topics)

    def encode_numbered(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> Array32:
        """(documents, lev_size): the same of documents whose tokens are numbers."""
        levs = np.zeros((len(texts.documents), len(self._lev_bias)), dtype=np.float32)
        order = np.argsort(-texts.lengths, kind="stable")  # like lengths together, longest first
        for at in range(0, len(order), self._documents_at_once):
            rows = order[at : at + self._documents_at_once]
            levs[rows] = self._attend(texts.chosen(rows), [topics[n] for n in rows]).levs
        return levs

    def vary(
        self,
        tokens: Sequence[str],
        topic: Sequence[str],
        starts: IntArray,
        times: IntArray,
        attention: Encoded | None = None,
    ) -> Array32:
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
            places = table.token_places(np.array([len(tokens)]), self._windows.width)
            vectors, _ = self._window_vectors(Numbered.of([tokens]), [topic], table, places)
        else:
            vectors = attention.window_vectors
        levs = np.zeros((len(times), self.lev_size), dtype=np.float32)
        lengths = times.sum(axis=1)
        order = np.argsort(-lengths, kind="stable")  # the longest first
        for at in range(0, len(order), _VARIANTS_AT_ONCE):
            chosen = order[at : at + _VARIANTS_AT_ONCE]
            rows = np.concatenate([np.repeat(np.arange(len(vectors)), times[n]) for n in chosen])
            levs[chosen] = self._document_vectors(vectors[rows], lengths[chosen])[0]
        return levs

    def attend(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Encoded:
        """The LEVs of a few documents, the longest first, and the attention."""
        return self._attend(Numbered.of(documents), topics)

    def _attend(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> Encoded:
        lengths = texts.lengths
        table = spread_windows(lengths, self._windows)
        places = table.token_places(lengths, self._windows.width)
        vectors, attention = self._window_vectors(texts, topics, table, places)
        levs, window_attention = self._document_vectors(vectors, np.bincount(table.documents))
        return Encoded(levs, table, vectors, attention, window_attention)

    def _window_vectors(
        self,
        texts: Numbered,
        topics: Sequence[Sequence[str]],
        table: WindowTable,
        places: IntArray,
    ) -> tuple[Array32, Array32]:
        """(windows, size), and the attention (windows, 1 + tokens), of tokens at these places."""
        numbers = texts.row[places]  # (windows, tokens)
        rows, tables = self._types.look_up(texts.lexicon, numbers.ravel())
        tokens = rows.reshape(places.shape)
        prefixes = self._types.prefixes(topics)
        vectors = np.empty((len(tokens), 2 * self._window_lstm.size), dtype=np.float32)
        attention = np.empty((len(tokens), 1 + places.shape[1]), dtype=np.float32)

        def run(chosen: IntArray) -> None:
            """Some windows, the longest first."""
            ids = np.ascontiguousarray(tokens[chosen].T)  # (tokens, windows): a step in a row
            owners = table.documents[chosen]

            def step_inputs(at: int, n: int, direction: int, out: Array32) -> None:
                if at == 0:
                    np.take(prefixes[direction], owners[:n], axis=0, out=out, mode="clip")
                else:
                    np.take(tables[direction], ids[at - 1, :n], axis=0, out=out, mode="clip")

            lengths = 1 + table.counts[chosen]
            hidden = self._window_lstm.run(step_inputs, lengths, attention.shape[1])
            vectors[chosen], attention[chosen] = self._token_attention.mean(hidden, lengths)

        order = np.argsort(-table.counts, kind="stable")
        pieces = np.array_split(order, -(-len(order) // _WINDOWS_AT_ONCE))
        if self._threads == 1 or len(pieces) == 1:
            for piece in pieces:
                run(piece)
        else:  # NumPy lets go of the interpreter while it computes
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(run, pieces))
        return vectors, attention

    def _document_vectors(self, windows: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        """(documents, lev_size) and (documents, windows), of documents with ever fewer windows."""
        inputs = product(windows, self._document_lstm.weight) + self._document_lstm.bias
        tables = [np.ascontiguousarray(half) for half in np.split(inputs, 2, axis=1)]
        begins = np.cumsum(lengths) - lengths  # (documents,)

        def step_inputs(at: int, n: int, direction: int, out: Array32) -> None:
            np.take(tables[direction], begins[:n] + at, axis=0, out=out, mode="clip")

        hidden = self._document_lstm.run(step_inputs, lengths, int(lengths.max()))
        documents, attention = self._window_attention.mean(hidden, lengths)
        return np.tanh(product(documents, self._lev_weight) + self._lev_bias), attention
