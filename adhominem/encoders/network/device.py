"""The trained network at inference on a GPU, by torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch

from adhominem.encoders.network.network import Batch, Network
from adhominem.encoders.network.options import EncoderOptions
from adhominem.encoders.network.runtime import Encoded
from adhominem.encoders.protocol import spliced
from adhominem.text.vocabulary import Vocabulary, WindowOptions, spread_windows

Array = npt.NDArray[np.float32]

_DOCUMENTS_AT_ONCE = 256
_VARIANTS_AT_ONCE = 128  # of a document, through its second BiLSTM


class DeviceRuntime:
    """An encoder like `encoders.network.runtime.Runtime`, on a device of torch's."""

    def __init__(
        self,
        weights: Mapping[str, Array],
        vocabulary: Vocabulary,
        windows: WindowOptions,
        options: EncoderOptions,
        device: torch.device,
    ) -> None:
        self._vocabulary, self._windows, self._device = vocabulary, windows, device
        network = Network(len(vocabulary.token_types), len(vocabulary.characters), options)
        network.load_state_dict(
            {name: torch.from_numpy(value.copy()) for name, value in weights.items()}
        )
        self._network = network.to(device).eval()

    @torch.no_grad()
    def encode(self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]) -> Array:
        """(documents, lev_size): the LEVs of tokenized documents with tokenized topics."""
        lengths = np.array([len(tokens) for tokens in documents], dtype=np.int64)
        levs = np.zeros((len(documents), self._network.options.lev_size), dtype=np.float32)
        order = np.argsort(-lengths, kind="stable")  # like lengths together
        for at in range(0, len(order), _DOCUMENTS_AT_ONCE):
            batch_rows = order[at : at + _DOCUMENTS_AT_ONCE]
            batch = self._batch([documents[n] for n in batch_rows], [topics[n] for n in batch_rows])
            levs[batch_rows] = self._network(batch).levs.cpu().numpy()
        return levs

    @torch.no_grad()
    def vary(
        self,
        tokens: Sequence[str],
        topic: Sequence[str],
        starts: npt.NDArray[np.int64],
        times: npt.NDArray[np.int64],
        attention: Encoded | None = None,
    ) -> Array:
        """(variants, lev_size): the LEVs of a document with passages left out or repeated."""
        table = spread_windows(np.array([len(tokens)]), self._windows)
        if not np.array_equal(starts, table.starts):
            variants = spliced(tokens, starts, times)
            return self.encode(variants, [topic] * len(variants))
        batch, network = self._batch([tokens], [topic]), self._network
        if attention is None:
            vectors, _ = self._window_vectors(batch)
        else:
            vectors = torch.from_numpy(attention.window_vectors).to(self._device)
        levs = []
        for at in range(0, len(times), _VARIANTS_AT_ONCE):
            repeats = times[at : at + _VARIANTS_AT_ONCE]
            lengths = repeats.sum(axis=1)
            rows = np.concatenate([np.repeat(np.arange(len(starts)), row) for row in repeats])
            owners = np.repeat(np.arange(len(repeats)), lengths)
            positions = np.arange(len(rows)) - (np.cumsum(lengths) - lengths)[owners]
            varied = replace(
                batch,
                window_documents=torch.from_numpy(owners).to(self._device),
                window_positions=torch.from_numpy(positions).to(self._device),
                max_windows=int(lengths.max()),
                documents=len(repeats),
            )
            varied_levs, _ = network.document_vectors(
                vectors[torch.from_numpy(rows).to(self._device)], varied, None
            )
            levs.append(varied_levs.cpu().numpy())
        return np.concatenate(levs)

    @torch.no_grad()
    def attend(
        self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]
    ) -> Encoded:
        """The LEVs of a few documents, the longest first, and the attention."""
        table = spread_windows(np.array([len(tokens) for tokens in documents]), self._windows)
        batch = self._batch(documents, topics)
        vectors, attention = self._window_vectors(batch)
        levs, window_attention = self._network.document_vectors(vectors, batch, None)
        return Encoded(
            levs.cpu().numpy(),
            table,
            vectors.cpu().numpy(),
            attention.cpu().numpy(),
            window_attention.cpu().numpy(),
        )

    def _window_vectors(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """(windows, size), and the attention (windows, 1 + tokens)."""
        network = self._network
        types = network.type_vectors(batch.type_words, batch.type_characters)
        return network.window_vectors(types, network.prefix_vectors(batch), batch, None)

    def _batch(self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]) -> Batch:
        lexicon: dict[str, int] = {}
        numbered = [lexicon.setdefault(token, len(lexicon)) for token in chain(*documents)]
        lengths = np.array([len(tokens) for tokens in documents], dtype=np.int64)
        table = spread_windows(lengths, self._windows)
        owners = np.repeat(np.arange(len(topics)), [len(topic) for topic in topics])
        types = list(lexicon)
        arrays = {
            "type_words": self._vocabulary.token_ids(types),
            "type_characters": self._vocabulary.character_ids(types),
            "tokens": np.array(numbered)[table.token_places(lengths, self._windows.width)],
            "token_counts": table.counts,
            "window_documents": table.documents,
            "window_positions": table.positions,
            "topic_words": self._vocabulary.token_ids(list(chain(*topics))),
            "topic_documents": owners,
        }
        return Batch(
            **{
                name: torch.from_numpy(array.astype(np.int64)).to(self._device)
                for name, array in arrays.items()
            },
            max_windows=int(table.positions.max()) + 1,
            documents=len(documents),
        )
