"""What a network in training says of a dev set."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from adhominem.evaluation.dev import PairScores
from adhominem.text.corpus import PackedCorpus
from adhominem.text.labels import UNKNOWN_LABEL
from adhominem.text.vocabulary import Vocabulary
from adhominem.text.windows import WindowOptions, spread_windows
from adhominem.training.data import DeviceCorpus
from adhominem.training.network_loop import diverged
from adhominem.training.siamese import SiameseModel

_DOCUMENTS_AT_ONCE = 200


class DevSet:
    """Pairs on the device that trains."""

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
            some = documents[order[at : at + _DOCUMENTS_AT_ONCE]]
            windows = spread_windows(data.lengths[some], data.options)
            topics = data.labels.topic[some]
            if not with_topics:
                topics = np.full_like(topics, UNKNOWN_LABEL)
            levs.append(model.encode(data.batch(some, windows, topics)))
    back = torch.from_numpy(np.argsort(order)).to(data.device)
    return torch.cat(levs)[back]
