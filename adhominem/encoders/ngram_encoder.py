"""The n-gram encoder at inference: counts, weights, a projection; in NumPy.

The same computation as in `training.ngrams` (a test compares them). The projection is either a
matrix, kept as whole numbers of eight bits with a scale for each n-gram, or a *profile*: each
n-gram has one dimension, its own if it is important, or one that many rare ones share with random
signs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from adhominem.encoders.ngrams import NgramCounter, NgramTable

Array = npt.NDArray[np.float32]
Weights = Mapping[str, npt.NDArray[np.generic]]

_STEPS = 127  # of eight bits, on each side of zero


class NgramEncoder:
    """The n-gram encoder of one model, ready to run."""

    def __init__(self, table: NgramTable, weights: Weights, lev_size: int, longest: int) -> None:
        """A text of more than `longest` tokens is read in parts, whose LEVs are averaged."""
        self.lev_size, self._longest = lev_size, longest
        self._counter = NgramCounter(table)
        self._starts = [channel.start for channel in table.channels]
        self._weights = weights["weights"].astype(np.float32)  # (columns,)
        self._projection = weights.get("projection")  # (columns, lev_size), eight bits
        if self._projection is not None:
            self._scale = weights["projection_scale"].astype(np.float32)  # (columns,)
        else:
            self._dimension = weights["dimension"].astype(np.int64)  # (columns,)
            self._sign = weights["sign"].astype(np.float32)  # (columns,)

    def encode(self, documents: Sequence[Sequence[str]], topics: Sequence[Sequence[str]]) -> Array:
        """(documents, lev_size): the LEVs of tokenized documents; topics are not used."""
        levs = np.zeros((len(documents), self.lev_size), dtype=np.float32)
        for at, tokens in enumerate(documents):
            parts = max(1, -(-len(tokens) // self._longest))
            ends = np.linspace(0, len(tokens), parts + 1).astype(int)
            for begin, end in pairwise(ends):
                levs[at] += self._lev(tokens[begin:end]) / parts
        return levs

    def weigh(self, tokens: Sequence[str]) -> tuple[npt.NDArray[np.int64], Array]:
        """The n-grams of a text, by their columns, and the weighted value of each."""
        counts = self._counter.count(tokens)
        columns = np.flatnonzero(counts)
        values = (1 + np.log(counts[columns])) * self._weights[columns]
        firsts = np.searchsorted(columns, self._starts)
        squares = np.add.reduceat(np.append(values**2, 0), firsts)
        sizes = np.diff([*firsts, len(columns)])
        lengths = np.sqrt(np.maximum(squares, 1e-24) * len(self._starts))
        return columns, (values / np.repeat(lengths, sizes)).astype(np.float32)

    def _lev(self, tokens: Sequence[str]) -> Array:
        columns, values = self.weigh(tokens)
        if self._projection is not None:
            rows = self._projection[columns].astype(np.float32)  # (n-grams, lev_size)
            return np.asarray((values * self._scale[columns]) @ rows)
        signed = values * self._sign[columns]
        return np.bincount(self._dimension[columns], signed, self.lev_size).astype(np.float32)


def eight_bits(projection: Array) -> tuple[npt.NDArray[np.int8], Array]:
    """A projection (columns, lev_size) as whole numbers, and the scale (columns,) of each row."""
    scale = np.maximum(np.abs(projection).max(axis=1) / _STEPS, 1e-30).astype(np.float32)
    return np.rint(projection / scale[:, None]).astype(np.int8), scale


def shared_dimensions(
    importance: npt.NDArray[np.floating], lev_size: int, seed: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """The dimension and the sign of each n-gram: the most important ones have their own."""
    rng = np.random.default_rng(seed)
    own = len(importance) if len(importance) <= lev_size else lev_size * 3 // 4
    order = np.argsort(-importance, kind="stable")
    dimension = np.empty(len(importance), dtype=np.int32)
    sign = np.ones(len(importance), dtype=np.int8)
    dimension[order[:own]] = np.arange(own)
    rest = len(importance) - own
    if rest:
        dimension[order[own:]] = rng.integers(own, lev_size, rest)
        sign[order[own:]] = rng.choice(np.array([-1, 1], np.int8), rest)
    return dimension, sign
