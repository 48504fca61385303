"""Documents on the training device: the tokens live there, and windows are cut there.

And what a network in training says of them: LEVs as at inference, and the scores of a dev set.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adhominem.encoders.network.network import Batch
from adhominem.errors import DivergedError
from adhominem.evaluation.pan import PairScores
from adhominem.text.corpus import UNKNOWN_LABEL, PackedCorpus
from adhominem.text.vocabulary import (
    PADDING,
    UNKNOWN,
    Vocabulary,
    WindowOptions,
    WindowTable,
    spread_windows,
)
from adhominem.training.network_model import SiameseModel

_DOCUMENTS_AT_ONCE = 200
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class DeviceCorpus:
    """A packed corpus in the numbers of a vocabulary, on the device that trains."""

    def __init__(
        self,
        corpus: PackedCorpus,
        vocabulary: Vocabulary,
        options: WindowOptions,
        device: torch.device,
    ) -> None:
        self.labels = corpus.labels
        self.lengths = corpus.lengths  # (documents,)
        self.options = options
        self.device = device
        self._offsets = corpus.offsets
        words = vocabulary.token_ids(corpus.types)  # (types,)
        self._tokens = torch.from_numpy(corpus.tokens.astype(np.int32)).to(device)
        self._hidden = len(words)  # one more type: of a hidden token, which has no spelling
        self._words = torch.from_numpy(np.append(words, UNKNOWN)).to(device)
        characters = vocabulary.character_ids(corpus.types)  # (types, characters)
        spellings = np.pad(characters, ((0, 1), (0, 0)), constant_values=PADDING)
        self._characters = torch.from_numpy(spellings).to(device)
        self._topic_words = words[corpus.topic_tokens]  # of all topics in a row
        self._topic_offsets = corpus.topic_offsets

    def batch(
        self,
        documents: IntArray,
        windows: WindowTable,
        topics: npt.NDArray[np.int32],
        hidden: BoolArray | None = None,
    ) -> Batch:
        """Documents with these windows and topics; nothing waits for the device but the types.

        `hidden` (documents, tokens) says which tokens nobody is to see, from the first one of a
        document's windows, which follow each other.
        """
        starts = self._send(self._offsets[documents][windows.documents] + windows.starts)
        counts = self._send(windows.counts)
        place = torch.arange(self.options.width, device=self.device)
        place = place.minimum(counts[:, None] - 1)  # behind the end: the last token once more
        types_at = self._tokens[starts[:, None] + place]  # (windows, tokens)
        if hidden is not None:
            owner = self._send(windows.documents)[:, None]  # (windows, 1)
            since = self._send(windows.positions * self.options.hop)[:, None]
            unseen = torch.from_numpy(hidden).to(self.device)[owner, since + place]
            types_at = types_at.masked_fill(
                unseen, self._hidden
            )  # in all windows that a token is in
        types, tokens = torch.unique(types_at, return_inverse=True)
        topic_words, topic_documents = self._prefixes(topics)
        return Batch(
            type_words=self._words[types].long(),
            type_characters=self._characters[types].long(),
            tokens=tokens,
            token_counts=counts,
            window_documents=self._send(windows.documents),
            window_positions=self._send(windows.positions),
            max_windows=int(windows.positions.max()) + 1,
            topic_words=self._send(topic_words),
            topic_documents=self._send(topic_documents),
            documents=len(documents),
        )

    def _prefixes(self, topics: npt.NDArray[np.int32]) -> tuple[IntArray, IntArray]:
        """Vocabulary ids of the topics' tokens, and the document of each."""
        known = np.flatnonzero(topics != UNKNOWN_LABEL)
        begins = self._topic_offsets[topics[known]]
        sizes = self._topic_offsets[topics[known] + 1] - begins
        documents = np.repeat(known, sizes)
        inside = np.arange(len(documents)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self._topic_words[np.repeat(begins, sizes) + inside].astype(np.int64), documents

    def _send(self, values: IntArray) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64))
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor


class DevSet:
    """The pairs of a dev set, on the device that trains."""

    def __init__(
        self,
        pairs: PackedCorpus,
        vocabulary: Vocabulary,
        windows: WindowOptions,
        device: torch.device,
        with_topics: bool = True,
    ) -> None:
        assert pairs.same_author is not None
        self.same_author = pairs.same_author  # (pairs,)
        self._data = DeviceCorpus(pairs, vocabulary, windows, device)
        self._with_topics = with_topics

    @torch.no_grad()
    def score(self, model: SiameseModel) -> PairScores:
        """The Bayes factor and the distance of each pair."""
        levs = self.encode(model)  # (documents, lev_size)
        styles = model.project(levs)
        factors = model.two_covariance(styles[0::2], styles[1::2])  # (pairs,)
        distance = (levs[0::2] - levs[1::2]).square().sum(1)  # (pairs,)
        units = torch.nn.functional.normalize(levs - levs.mean(0), dim=1)
        cosine = (units[0::2] * units[1::2]).sum(1)  # (pairs,)
        if not bool(torch.isfinite(factors).all() and torch.isfinite(distance).all()):
            raise diverged("a dev score is no number")
        return PairScores(
            factors.double().cpu().numpy(),
            distance.double().cpu().numpy(),
            self.same_author,
            cosine.double().cpu().numpy(),
        )

    def encode(self, model: SiameseModel, with_topics: bool = True) -> torch.Tensor:
        """(documents, lev_size): the LEVs, as at inference; without the topics if asked for."""
        everything = np.arange(len(self._data.lengths))
        return encode_documents(
            model, self._data, everything, with_topics=with_topics and self._with_topics
        )


@torch.no_grad()
def encode_documents(
    model: SiameseModel,
    data: DeviceCorpus,
    documents: npt.NDArray[np.int64],
    with_topics: bool = True,
) -> torch.Tensor:
    """(documents, lev_size): the LEVs of some documents of a corpus, as at inference."""
    model.eval()
    order = np.argsort(data.lengths[documents], kind="stable")  # like lengths: little padding
    levs = []
    with torch.autocast(data.device.type, torch.bfloat16, enabled=data.device.type == "cuda"):
        for at in range(0, len(order), _DOCUMENTS_AT_ONCE):
            batch = documents[order[at : at + _DOCUMENTS_AT_ONCE]]
            windows = spread_windows(data.lengths[batch], data.options)
            topics = data.labels.topic[batch]
            if not with_topics:
                topics = np.full_like(topics, UNKNOWN_LABEL)
            levs.append(model.encode(data.batch(batch, windows, topics)))
    back = torch.from_numpy(np.argsort(order)).to(data.device)
    return torch.cat(levs)[back]


def diverged(what: str) -> DivergedError:
    """The error for training that left the range of numbers; it says how to go on."""
    return DivergedError(
        f"training diverged ({what}). The last checkpoint is from before that: "
        "go on with --resume and a lower training.learning_rate"
    )
