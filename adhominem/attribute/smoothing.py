"""A hidden Markov model over the blocks of a text: who wrote which of them.

In each block one of several states holds, and from one block to the next it stays or changes. Of
what a state says of a block, only its log likelihood relative to the others is needed: a log Bayes
factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError


@dataclass(frozen=True)
class Smoothed:
    """What is known of the states of blocks, all blocks considered."""

    probability: FloatArray  # (blocks, states): each row sums to 1
    change: FloatArray  # (blocks - 1,): how probable a change is between a block and the next


def smooth(log_likelihood: FloatArray, change: FloatArray) -> Smoothed:
    """Forwards and backwards.

    `log_likelihood` is (blocks, states). `change` (blocks - 1,) is how probable it is, beforehand,
    that the state changes between a block and the next; all other states are then equally probable,
    and in the first block all are.
    """
    blocks, states = log_likelihood.shape
    if change.shape != (blocks - 1,) or states < 2:
        raise OptionError(f"{blocks} blocks, {states} states, {len(change)} changes between them")
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
    total = _log_sum(forward[-1], 0)
    probability = np.exp(forward + backward - total)
    staying = [
        np.exp(
            forward[at] + np.diag(steps[at]) + log_likelihood[at + 1] + backward[at + 1] - total
        ).sum()
        for at in range(blocks - 1)
    ]
    return Smoothed(
        probability=probability / probability.sum(axis=1, keepdims=True),
        change=np.clip(1 - np.array(staying), 0, 1),
    )


def _log_sum(values: FloatArray, axis: int) -> FloatArray:
    """The logarithm of the sum of exponentials."""
    most = values.max(axis=axis, keepdims=True)
    total = np.log(np.exp(values - most).sum(axis=axis, keepdims=True)) + most
    return np.asarray(total.squeeze(axis))
