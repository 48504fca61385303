"""The trained network at inference on a GPU, by torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch

from adhominem.arrays import Array32, IntArray
from adhominem.encoders.network.network import Batch, Network
from adhominem.encoders.network.options import EncoderOptions
from adhominem.encoders.network.runtime import Runtime
from adhominem.text.lexicon import Numbered
from adhominem.text.vocabulary import Vocabulary, WindowOptions, WindowTable


class DeviceRuntime(Runtime):
    """An encoder like `Runtime`, whose recurrences run on a device of torch's."""

    _documents_at_once = 256

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
        network = Network(len(vocabulary.token_types), len(vocabulary.characters), options)
        network.load_state_dict(
            {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
        )
        self._network = network.to(device).eval()

    @torch.no_grad()
    def _window_vectors(
        self,
        texts: Numbered,
        topics: Sequence[Sequence[str]],
        table: WindowTable,
        places: IntArray,
    ) -> tuple[Array32, Array32]:
        vocabulary, network = self._vocabulary, self._network
        numbers, tokens = np.unique(texts.row[places], return_inverse=True)
        types = [texts.lexicon.types[number] for number in numbers.tolist()]
        batch = Batch(
            type_words=self._send(vocabulary.token_ids(types)),
            type_characters=self._send(vocabulary.character_ids(types)),
            tokens=self._send(tokens.reshape(places.shape)),
            token_counts=self._send(table.counts),
            window_documents=self._send(table.documents),
            window_positions=self._send(table.positions),
            max_windows=int(table.positions.max()) + 1,
            topic_words=self._send(vocabulary.token_ids(list(chain(*topics)))),
            topic_documents=self._send(np.repeat(np.arange(len(topics)), list(map(len, topics)))),
            documents=len(texts.documents),
        )
        vectors, attention = network.window_vectors(
            network.type_vectors(batch.type_words, batch.type_characters),
            network.prefix_vectors(batch),
            batch,
            None,
        )
        return vectors.cpu().numpy(), attention.cpu().numpy()

    @torch.no_grad()
    def _document_vectors(self, windows: Array32, lengths: IntArray) -> tuple[Array32, Array32]:
        documents = np.repeat(np.arange(len(lengths)), lengths)
        positions = np.arange(len(documents)) - (np.cumsum(lengths) - lengths)[documents]
        levs, attention = self._network.document_vectors(
            torch.from_numpy(windows).to(self._device),
            (self._send(documents), self._send(positions)),
            (len(lengths), int(lengths.max())),
            None,
        )
        return levs.cpu().numpy(), attention.cpu().numpy()

    def _send(self, values: npt.NDArray[np.integer]) -> torch.Tensor:
        return torch.from_numpy(values.astype(np.int64)).to(self._device)
