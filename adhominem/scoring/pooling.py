"""The pool-adjacent-violators algorithm: what a score should have said of its own pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Blocks:
    """Pairs in the order of their scores, pooled so that the share of same-author pairs rises.

    This is what the pool-adjacent-violators algorithm (PAV) makes of a score. Equal scores are
    always in one block.
    """

    same: FloatArray  # (blocks,): same-author pairs
    different: FloatArray  # (blocks,)
    lowest: FloatArray  # (blocks,): the lowest score
    highest: FloatArray  # (blocks,)

    @property
    def log_bayes_factor(self) -> FloatArray:
        """(blocks,): what the score should have said of its own pairs; the ends may be infinite."""
        with np.errstate(divide="ignore"):
            found = np.log(self.same / self.same.sum()) - np.log(
                self.different / self.different.sum()
            )
        return np.asarray(found)

    @property
    def misses(self) -> FloatArray:
        """(blocks + 1,): same-author pairs rejected where all up to a block are; rises."""
        return np.asarray(np.append(0.0, np.cumsum(self.same)) / self.same.sum())

    @property
    def false_alarms(self) -> FloatArray:
        """(blocks + 1,): different-author pairs accepted where all from a block on are; falls."""
        return np.asarray(1 - np.append(0.0, np.cumsum(self.different)) / self.different.sum())


def pool(scores: FloatArray, same_author: BoolArray) -> Blocks:
    """The PAV algorithm. Both classes must occur."""
    order = np.argsort(scores, kind="stable")
    ranked, labels = scores[order], same_author[order]
    begins = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    same = np.add.reduceat(labels.astype(np.float64), begins)
    counts = np.diff(np.append(begins, len(ranked)))
    # Runs of one label alone need no thought: they are joined before the loop.
    pure = np.where(same == 0, -1, np.where(same == counts, 1, 0))
    runs = np.flatnonzero(np.concatenate([[True], (pure[1:] != pure[:-1]) | (pure[1:] == 0)]))
    same_runs, count_runs = np.add.reduceat(same, runs), np.add.reduceat(counts, runs)
    stack: list[list[float]] = []  # same-author pairs, pairs, first run
    for at, (hits, size) in enumerate(zip(same_runs.tolist(), count_runs.tolist(), strict=True)):
        block = [hits, size, at]
        while stack and stack[-1][0] * block[1] >= block[0] * stack[-1][1]:
            before = stack.pop()
            block = [before[0] + block[0], before[1] + block[1], before[2]]
        stack.append(block)
    hits_, sizes, first = np.array(stack).T
    starts = begins[runs[first.astype(np.int64)]]
    ends = np.append(starts[1:], len(ranked)) - 1
    return Blocks(hits_, sizes - hits_, ranked[starts], ranked[ends])
