"""A hidden Markov model over the blocks of a text: who wrote which of them.

In each block one of several states holds, and from one block to the next it stays or changes. Of
what a state says of a block, only its log likelihood relative to the others is needed: a log Bayes
factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError


@dataclass(frozen=True)
class Smoothed:
    """What is known of the states of blocks, all blocks considered; logarithms are of densities."""

    log_likelihood: FloatArray  # (blocks, states): as it was given
    log_stay: FloatArray  # (blocks - 1,): that the state stays between a block and the next, before
    forward: FloatArray  # (blocks, states): of all up to a block, and its state
    backward: FloatArray  # (blocks, states): of all after a block, given its state

    @cached_property
    def probability(self) -> FloatArray:
        """(blocks, states): each row sums to 1."""
        values = np.exp(self.forward + self.backward - self._total)
        return np.asarray(values / values.sum(axis=1, keepdims=True))

    @cached_property
    def change(self) -> FloatArray:
        """(blocks - 1,): how probable a change is between a block and the next."""
        pairs = [self.unchanged(at, at + 1) for at in range(len(self.log_stay))]
        return 1 - np.array(pairs)

    def unchanged(self, first: int, last: int) -> float:
        """How probable it is that one state holds from a block to another one after it."""
        inside = self.log_likelihood[first + 1 : last + 1].sum(axis=0)  # (states,)
        ways = self.forward[first] + inside + self.log_stay[first:last].sum() + self.backward[last]
        return min(float(np.exp(_log_sum(ways, 0) - self._total)), 1.0)

    @cached_property
    def _total(self) -> FloatArray:
        return _log_sum(self.forward[-1], 0)


def smooth(log_likelihood: FloatArray, change: FloatArray) -> Smoothed:
    """Forwards and backwards.

    `log_likelihood` is (blocks, states). `change` (blocks - 1,) is how probable it is, beforehand,
    that the state changes between a block and the next; all other states are then equally probable,
    and in the first block all are.
    """
    blocks, states = log_likelihood.shape
    if change.shape != (blocks - 1,) or states < 2:
        raise OptionError(
            f"{blocks} blocks, {states} states, {len(change)} changes between them; expected a "
            "block or more, two states or more, and a change between any two blocks"
        )
    if not ((change > 0) & (change < 1)).all() or not np.isfinite(log_likelihood).all():
        raise OptionError("expected changes with a probability between 0 and 1, finite likelihoods")
    stay = np.eye(states)
    steps = [
        np.log(stay * (1 - one) + (1 - stay) * one / (states - 1)) for one in change.tolist()
    ]  # (states, states) each: from a state to the next
    forward = np.zeros((blocks, states))
    backward = np.zeros((blocks, states))
    forward[0] = log_likelihood[0] - np.log(states)
    for at in range(1, blocks):
        forward[at] = log_likelihood[at] + _log_sum(forward[at - 1][:, None] + steps[at - 1], 0)
    for at in range(blocks - 2, -1, -1):
        backward[at] = _log_sum(steps[at] + log_likelihood[at + 1] + backward[at + 1], 1)
    return Smoothed(log_likelihood, np.log1p(-change), forward, backward)


def _log_sum(values: FloatArray, axis: int) -> FloatArray:
    """The logarithm of the sum of exponentials."""
    most = values.max(axis=axis, keepdims=True)
    total = np.log(np.exp(values - most).sum(axis=axis, keepdims=True)) + most
    return np.asarray(total.squeeze(axis))
