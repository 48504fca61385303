"""A model ready to run, alone or as one of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from adhominem.encoders.network.runtime import Encoded, NetworkEncoder
from adhominem.encoders.protocol import Encoder
from adhominem.errors import MissingExtraError, OptionError
from adhominem.models.files import reading
from adhominem.models.folder import AnyModel, Model
from adhominem.models.layout import WEIGHTS
from adhominem.scoring.members import LayerScorer, MemberScorer, StyleScorer
from adhominem.text.files import Document
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import prefix_tokens

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Levs = npt.NDArray[np.float32]


class Member:
    """One model: its tokenizer, its encoder, and what says how alike its LEVs are."""

    def __init__(self, model: AnyModel, tokenizer: Tokenizer, threads: int, device: str) -> None:
        self.name = model.folder.name
        self.tokenizer = tokenizer
        self.vocabulary = model.vocabulary
        self.typicality, self.styles = model.typicality, model.styles
        self.lev_size, self.knows_topics = model.config.lev_size, model.config.knows_topics
        self.encoder = _encoder(model, threads, device)
        self.windows = model.config.data.windows if isinstance(model, Model) else None
        self.scorer = _scorer(model)

    def encode(self, documents: Sequence[Document], tokens: Sequence[list[str]]) -> Levs:
        """(documents, lev_size): the LEVs of documents with these tokens."""
        topics = [self._topic(document) for document in documents]
        return self.encoder.encode(tokens, topics)

    def vary(
        self,
        document: Document,
        tokens: list[str],
        starts: IntArray,
        times: IntArray,
        attention: Encoded | None = None,
    ) -> Levs:
        """(variants, lev_size): see `encoders.protocol.Encoder.vary`.

        With the `attention` to the document, a network need not run anew for its windows.
        """
        topic = self._topic(document)
        if isinstance(self.encoder, NetworkEncoder):
            return self.encoder.vary(tokens, topic, starts, times, attention)
        return self.encoder.vary(tokens, topic, starts, times)

    def attend(self, document: Document, tokens: list[str]) -> Encoded | None:
        """Where the network looked; None if this is no network."""
        if not isinstance(self.encoder, NetworkEncoder):
            return None
        return self.encoder.attend([tokens], [self._topic(document)])

    def _topic(self, document: Document) -> list[str]:
        return prefix_tokens(document.topic, self.tokenizer) if self.knows_topics else []

    def atypicality(self, levs: FloatArray) -> FloatArray:
        """(documents,): above 1 is unlike the training texts."""
        return np.zeros(len(levs)) if self.typicality is None else self.typicality.atypicality(levs)


def _scorer(model: AnyModel) -> MemberScorer:
    """By its styles; a network that has none by the layer that it was trained with."""
    if model.styles is not None:
        return StyleScorer(model.styles)
    with reading(model.folder, WEIGHTS.name):
        if not isinstance(model, Model):
            raise ValueError("an n-gram model without styles")
        return LayerScorer(model.two_covariance(), model.project, model.config.lev_size)


def _encoder(model: AnyModel, threads: int, device: str) -> Encoder:
    """In NumPy; a network on a GPU by torch."""
    if not isinstance(model, Model):
        return model.encoder()
    return model.encoder(threads) if device == "cpu" else _device_runtime(model, device)


def _device_runtime(model: Model, device: str) -> Encoder:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "train", f"the device '{device}'") from None
    from adhominem.encoders.network.device import DeviceRuntime

    if device.partition(":")[0] != "cuda" or not torch.cuda.is_available():
        raise OptionError(
            f"the device is '{device}', but torch finds no such GPU; expected cpu or cuda"
        )
    return DeviceRuntime(
        model.network_weights(),
        model.vocabulary,
        model.config.data.windows,
        model.config.encoder,
        torch.device(device),
    )
