"""PAN's second baseline: how well a model of one text compresses the other.

After Teahan and Harper (2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import numpy as np

from adhominem.errors import OptionError
from adhominem.evaluation.baselines.logistic import Logistic
from adhominem.evaluation.baselines.protocol import (
    FloatArray,
    Predictions,
    evaluation_library,
    fitted,
    known_truth,
)
from adhominem.evaluation.pan import best_delta
from adhominem.processes import worker_pool
from adhominem.scoring.decision import without_weak_answers
from adhominem.text.pan import Pair

_MEMORY = 64 << 20  # at order 5, 16 MB of text fill less than a quarter of it
_ORDERS = range(2, 65)  # that PPMd knows
_PAIRS_AT_ONCE = 16  # to a worker


@dataclass(kw_only=True, eq=False)
class Compression:
    """Two cross entropies a pair, each of one text under the other's model; logistic regression.

    The model is PPM (variant H of PPMd) on the bytes of the text as it is. Unlike PAN's own, it
    goes on learning while it reads the second text, as compressors do. With `jobs` above 1, a
    script must keep the calls under `if __name__ == "__main__":`.
    """

    order: int = 5  # bytes of context
    jobs: int = 1  # processes
    _logistic: Logistic | None = field(init=False, repr=False, default=None)
    _delta: float = field(init=False, repr=False, default=0.0)

    def __post_init__(self) -> None:
        if self.order not in _ORDERS:
            raise OptionError(f"order is {self.order}; expected {_ORDERS[0]} to {_ORDERS[-1]}")
        if self.jobs < 1:
            raise OptionError(f"jobs is {self.jobs}; expected 1 or more")

    def fit(self, pairs: Sequence[Pair]) -> Self:
        """Learn what the cross entropies tell, and how near to 0.5 no answer is best."""
        same_author = known_truth(pairs)
        logistic = Logistic()
        features = _features(self.cross_entropies(pairs))
        self._logistic = logistic.fit(features, same_author)
        self._delta = best_delta(logistic.probability(features), same_author)
        return self

    def cross_entropies(self, pairs: Sequence[Pair]) -> FloatArray:
        """(pairs, 2): bits a byte of the second text after the first, and the other way round."""
        _encoder()  # what is missing is missed here, not in a worker
        both_ways = partial(_both_ways, self.order)
        texts = [pair.first.text for pair in pairs], [pair.second.text for pair in pairs]
        if self.jobs == 1:
            found = list(map(both_ways, *texts))
        else:
            with worker_pool(self.jobs) as pool:
                found = list(pool.map(both_ways, *texts, chunksize=_PAIRS_AT_ONCE))
        return np.array(found, dtype=np.float64).reshape(-1, 2)

    def predict(self, pairs: Sequence[Pair]) -> Predictions:
        """The probability at the training pairs' prior, without the weak answers."""
        logistic = fitted(self._logistic)
        features = _features(self.cross_entropies(pairs))
        return Predictions(
            value=without_weak_answers(logistic.probability(features), self._delta),
            log_bayes_factor=logistic.log_bayes_factor(features),
        )


def cross_entropy(first: bytes, second: bytes, order: int = 5) -> float:
    """Bits a byte of `second` under a model that has read `first`."""
    encoder = _encoder()(order, _MEMORY)
    encoder.encode(first)
    return 8 * len(encoder.encode(second)) / len(second)


def _both_ways(order: int, first: str, second: str) -> tuple[float, float]:
    one, other = first.encode("utf-8"), second.encode("utf-8")
    return cross_entropy(one, other, order), cross_entropy(other, one, order)


def _encoder() -> type:
    """Variant H: it writes no end mark, whose cost would depend on the text's last words."""
    library = evaluation_library("pyppmd", "pyppmd", "the compression baseline")
    encoder: type = library.Ppmd7Encoder
    return encoder


def _features(cross_entropies: FloatArray) -> FloatArray:
    """(pairs, 2): mean and absolute difference, so that the order of a pair does not matter."""
    first, second = cross_entropies.T
    return np.stack([(first + second) / 2, np.abs(first - second)], axis=1)
