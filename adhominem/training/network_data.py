"""Documents on the training device: the tokens live there, and windows are cut there.

And what a network in training says of them: LEVs as at inference, and the scores of a dev set.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from adhominem.arrays import FloatArray, IntArray
from adhominem.errors import DivergedError
from adhominem.evaluation.pan import PairScores
from adhominem.paper.network import Batch
from adhominem.text.corpus import UNKNOWN_LABEL, PackedCorpus
from adhominem.text.vocabulary import Vocabulary, WindowOptions, WindowTable, spread_windows
from adhominem.training.network_model import SiameseModel, squared_distance

_DOCUMENTS_AT_ONCE = 200


class DeviceCorpus:
    """A packed corpus in the numbers of a vocabulary, on the device that trains."""

    def __init__(
        self,
        corpus: PackedCorpus,
        vocabulary: Vocabulary,
        options: WindowOptions,
        device: torch.device,
        *,
        with_topics: bool = True,
    ) -> None:
        self.labels, self.same_author = corpus.labels, corpus.same_author
        self.with_topics = with_topics  # as at inference, where no topics are hidden at random
        self.lengths = corpus.lengths  # (documents,)
        self.options = options
        self.device = device
        self._offsets = corpus.offsets
        words = vocabulary.token_ids(corpus.types)  # (types,)
        self._tokens = torch.from_numpy(corpus.tokens.astype(np.int32)).to(device)
        self._words = torch.from_numpy(words).to(device)
        characters = vocabulary.character_ids(corpus.types)  # (types, characters)
        self._characters = torch.from_numpy(characters).to(device)
        self._topic_words = words[corpus.topic_tokens]  # of all topics in a row
        self._topic_offsets = corpus.topic_offsets

    def batch(
        self, documents: IntArray, windows: WindowTable, topics: npt.NDArray[np.int32]
    ) -> Batch:
        """Documents with these windows and topics; nothing waits for the device but the types."""
        starts = self._send(self._offsets[documents][windows.documents] + windows.starts)
        counts = self._send(windows.counts)
        place = torch.arange(self.options.width, device=self.device)
        place = place.minimum(counts[:, None] - 1)  # behind the end: the last token once more
        types_at = self._tokens[starts[:, None] + place]  # (windows, tokens)
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


@torch.no_grad()
def score_pairs(model: SiameseModel, data: DeviceCorpus) -> PairScores:
    """The Bayes factor, the distance and the cosine of each pair of a dev set."""
    assert data.same_author is not None
    levs = encode_documents(model, data, np.arange(len(data.lengths)))  # (documents, lev_size)
    styles = model.project(levs)
    factors = model.two_covariance(styles[0::2], styles[1::2])  # (pairs,)
    distance = squared_distance(levs[0::2], levs[1::2])  # (pairs,)
    units = torch.nn.functional.normalize(levs - levs.mean(0), dim=1)
    cosine = (units[0::2] * units[1::2]).sum(1)  # (pairs,)
    if not bool(torch.isfinite(factors).all() and torch.isfinite(distance).all()):
        raise diverged("a dev score is no number")

    def numbers(scores: Tensor) -> FloatArray:
        return scores.double().cpu().numpy()

    return PairScores(numbers(factors), numbers(distance), data.same_author, numbers(cosine))


@torch.no_grad()
def encode_documents(model: SiameseModel, data: DeviceCorpus, documents: IntArray) -> Tensor:
    """(documents, lev_size): the LEVs of some documents of a corpus, as at inference."""
    model.eval()
    order = np.argsort(data.lengths[documents], kind="stable")  # like lengths: little padding
    levs = []
    with torch.autocast(data.device.type, torch.bfloat16, enabled=data.device.type == "cuda"):
        for at in range(0, len(order), _DOCUMENTS_AT_ONCE):
            batch = documents[order[at : at + _DOCUMENTS_AT_ONCE]]
            windows = spread_windows(data.lengths[batch], data.options)
            topics = data.labels.topic[batch]
            if not data.with_topics:
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
