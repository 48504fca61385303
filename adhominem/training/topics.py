"""What training texts are about: vectors of their content words, by which hard pairs are chosen.

Two texts of one author on distant topics, and texts of several authors on one topic: a model that
goes by the topic gets both wrong.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from adhominem.arrays import Array32
from adhominem.text.corpus import PackedCorpus

_FREQUENT = 1_000  # token types that say little of a topic
_RAREST = 5  # occurrences of a type in all texts: rarer ones are of one text alone
_SIZE = 256  # of a vector: cosines are right within some .06
_DOCUMENTS_AT_ONCE = 2_000


def content_vectors(corpus: PackedCorpus, device: torch.device, seed: int = 0) -> Array32:
    """(documents, size): of length 1, from the mean of each text's corpus.

    Each content word has a random direction, and counts by how rare it is.
    """
    counts = np.bincount(corpus.tokens, minlength=len(corpus.types))  # (types,)
    rank = np.empty(len(counts), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    topical = (rank >= _FREQUENT) & (counts >= _RAREST)
    weights = np.where(topical, np.log(len(corpus.tokens) / np.maximum(counts, 1)), 0)
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(len(counts), _SIZE, generator=generator).to(device)
    weight = torch.from_numpy(weights.astype(np.float32)).to(device)
    parts = [
        _sums(corpus, at, min(at + _DOCUMENTS_AT_ONCE, len(corpus)), directions, weight)
        for at in range(0, len(corpus), _DOCUMENTS_AT_ONCE)
    ]
    vectors = functional.normalize(torch.cat(parts), dim=1).cpu().numpy()
    for number in np.unique(corpus.labels.corpus):
        here = corpus.labels.corpus == number
        vectors[here] -= vectors[here].mean(axis=0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)


def _sums(corpus: PackedCorpus, begin: int, end: int, directions: Tensor, weight: Tensor) -> Tensor:
    """(documents, size): the sum over the tokens of each of these documents."""
    first = corpus.offsets[begin]
    tokens = corpus.tokens[first : corpus.offsets[end]].astype(np.int64)
    types = torch.from_numpy(tokens).to(directions.device)
    offsets = torch.from_numpy(corpus.offsets[begin:end] - first).to(directions.device)
    sums: Tensor = functional.embedding_bag(
        types, directions, offsets, mode="sum", per_sample_weights=weight[types]
    )
    return sums
