"""The trained network at inference on a GPU, by torch.

What depends only on a token type is computed once, and stays on the device: a text is sent as the
numbers of its types. Windows are cut there, too, and nothing waits for the device until all LEVs
are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adhominem.arrays import Array32, IntArray
from adhominem.paper.config import EncoderOptions
from adhominem.paper.network import Batch, Network, on_device
from adhominem.paper.runtime import Runtime
from adhominem.text.lexicon import KeptByType, Lexicon, Numbered
from adhominem.text.vocabulary import Vocabulary, WindowOptions, WindowTable, spread_windows

_WINDOWS_AT_ONCE = 1 << 15  # some 7 GB for the paper's network; fewer on small devices
_BYTES_OF_A_WINDOW = 1 << 20  # four times its need: other programs may use the device


class DeviceRuntime(Runtime):
    """An encoder like `Runtime` that runs on a torch device."""

    def __init__(
        self,
        weights: Mapping[str, Array32],
        vocabulary: Vocabulary,
        windows: WindowOptions,
        options: EncoderOptions,
        device: torch.device,
    ) -> None:
        super().__init__(weights, vocabulary, windows)
        self._vocabulary, self._device = vocabulary, device
        sizes = len(vocabulary.token_types), len(vocabulary.characters)
        network = Network(*sizes, options, len(vocabulary.prefixes))
        network.load_state_dict(
            {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
        )
        self._network = network.to(device).eval()
        self._type_vectors = _TypeVectors(self._network, vocabulary, device)
        self._windows_at_once = _WINDOWS_AT_ONCE
        if device.type == "cuda":
            memory = torch.cuda.get_device_properties(device).total_memory
            self._windows_at_once = min(_WINDOWS_AT_ONCE, memory // _BYTES_OF_A_WINDOW)

    def encode_numbered(self, texts: Numbered, topics: Sequence[Sequence[str]]) -> Array32:
        """The LEVs (documents, lev_size) of documents whose tokens are numbers."""
        lengths = texts.lengths
        if not len(lengths):
            return np.zeros((0, self.lev_size), np.float32)
        order = np.argsort(-lengths, kind="stable")  # similar lengths together, longest first
        levs = []
        with _exact():
            for rows in self._together(lengths[order]):
                chosen = texts.chosen(order[rows])
                table = spread_windows(chosen.lengths, self._windows)
                of_chosen = [topics[at] for at in order[rows]]
                place, shape, windows, _ = self._run_windows(chosen, of_chosen, table)
                levs.append(self._network.document_vectors(windows, place, shape, None)[0])
            encoded = torch.cat(levs).cpu().numpy()  # waits for the device
        return np.asarray(encoded[np.argsort(order)])

    def _together(self, lengths: IntArray) -> Iterator[slice]:
        """Slices of documents, the longest first, that go through the network together."""
        windows = np.minimum(1 + lengths // self._windows.hop, self._windows.max_windows)
        begin = 0
        while begin < len(lengths):
            # Counted as if all were as long as the first one, to which they are padded.
            end = begin + max(1, self._windows_at_once // int(windows[begin]))
            yield slice(begin, end)
            begin = end

    def _window_vectors(
        self, texts: Numbered, topics: Sequence[Sequence[str]], table: WindowTable
    ) -> tuple[Array32, Array32]:
        with _exact():
            *_, windows, attention = self._run_windows(texts, topics, table)
            return windows.cpu().numpy(), attention.cpu().numpy()

    def document_vectors(self, windows: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        documents = np.repeat(np.arange(len(lengths)), lengths)
        positions = np.arange(len(documents)) - (np.cumsum(lengths) - lengths)[documents]
        with _exact():
            levs, attention = self._network.document_vectors(
                torch.from_numpy(windows).to(self._device),
                (self._send(documents), self._send(positions)),
                (len(lengths), int(lengths.max())),
                None,
            )
            return levs.cpu().numpy(), attention.cpu().numpy()

    def _run_windows(
        self, texts: Numbered, topics: Sequence[Sequence[str]], table: WindowTable
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int], Tensor, Tensor]:
        """Place and shape of a batch; its window vectors and attention (windows, 1 + tokens)."""
        lengths, width = texts.lengths, self._windows.width
        rows, types = self._type_vectors.look_up(texts.lexicon, texts.row)
        of_topics = list(map(self._vocabulary.prefix_rows, topics))
        documents = np.repeat(np.arange(len(topics)), list(map(len, of_topics)))
        chosen = np.array(list(chain(*of_topics)), dtype=np.int64), documents
        begins = np.cumsum(lengths) - lengths
        batch = Batch.cut(self._send(rows), begins, table, width, chosen)
        prefixes = self._network.prefix_vectors(batch)
        windows, attention = self._network.window_vectors(types, prefixes, batch, None)
        return batch.place, batch.shape, windows, attention

    def _send(self, values: npt.NDArray[np.integer]) -> Tensor:
        return on_device(values, self._device)


class _TypeVectors(KeptByType):
    """A table on the device with the network's vector of each token type."""

    _MOST_TYPES = 1 << 17  # some 170 MB for the paper's network
    _MOST_CHARACTERS = 1 << 21
    _TYPES_AT_ONCE = 1 << 14

    def __init__(self, network: Network, vocabulary: Vocabulary, device: torch.device) -> None:
        self._network, self._vocabulary, self._device = network, vocabulary, device
        options = network.options
        size = options.word_vector_size + options.character_filters
        super().__init__(lambda: _GrowingTensor(size, device))

    def look_up(self, lexicon: Lexicon, numbers: IntArray) -> tuple[IntArray, Tensor]:
        """The row of each token, (tokens,), and the table of rows, (types, size)."""
        rows, (table,) = self._rows_of(lexicon, numbers)
        return rows, table

    def _new_rows(self, types: list[str]) -> list[Tensor]:
        words = on_device(self._vocabulary.token_ids(types), self._device)  # (types,)
        characters = on_device(self._vocabulary.character_ids(types), self._device)
        return [self._network.type_vectors(words, characters)]


class _GrowingTensor:
    """A `GrowingTable` on a device."""

    def __init__(self, columns: int, device: torch.device) -> None:
        self._table = torch.zeros(1 << 10, columns, device=device)
        self.size = 0

    def add(self, rows: Tensor) -> None:
        last = self.size + len(rows)
        if last > len(self._table):  # a new table: others may still read the old one
            grown = self._table.new_zeros(max(last, 2 * len(self._table)), self._table.shape[1])
            grown[: self.size] = self.rows
            self._table = grown
        self._table[self.size : last] = rows
        self.size = last

    @property
    def rows(self) -> Tensor:
        return self._table[: self.size]


@contextmanager
def _exact() -> Iterator[None]:
    """A context without gradients, in float32 where cuDNN would use fewer bits by default."""
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        yield
