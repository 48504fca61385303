"""A hidden Markov model over the blocks of a text: who wrote which of them, and where it changes.

In each block one of several states holds, and from one block to the next it stays or changes. Of
what a state says of a block, only its log likelihood relative to the others is needed: a log Bayes
factor.

The states are the candidates and, unless the circle of candidates is closed, "neither"; all are
equally probable at the beginning. The author changes with a stated rate, once in a number of words
on average. Without candidates, the states are styles that are found in the text itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adhominem.arrays import AnyFloats, FloatArray
from adhominem.errors import OptionError
from adhominem.questions.roll.windows import Blocks, Stretch

_WIDE = 0.9  # share of a change's probability that its range holds


@dataclass(frozen=True, kw_only=True)
class Block(Stretch):
    """A stretch of the text that has one author."""

    state: int  # the most probable one
    probabilities: tuple[float, ...]  # one for each state


@dataclass(frozen=True, kw_only=True)
class Passage(Stretch):
    """Blocks in a row with the same most probable state."""

    state: int
    probability: float | None  # of this state, the mean over its words; None: there is no other
    log10_bayes_factors: tuple[float, ...]  # of the passage as one text, with each candidate


@dataclass(frozen=True, kw_only=True)
class Change:
    """Where one passage ends and the next begins."""

    word: int  # the first one after it
    earliest: int  # words between which it lies, with a probability of 0.9 if it is there at all
    latest: int
    before: int  # states
    after: int
    probability: float  # that there is a change near here, to whatever state


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
    if not ((change > 0) & (change < 1)).all():
        raise OptionError("the author changes in every block, or in none; expected a rate between")
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


def smooth_blocks(blocks: Blocks, factors: FloatArray, passage: int, *, neither: bool) -> Smoothed:
    """The states of blocks, by the windows' log Bayes factors (windows, candidates).

    The author changes every `passage` words on average. With `neither`, it is the last state:
    relative to it, Bayes factors say how likely others are.
    """
    likelihood = blocks.shared_out(factors)  # (blocks, candidates)
    if neither:
        likelihood = np.concatenate([likelihood, np.zeros((len(likelihood), 1))], axis=1)
    # From the middle of a block to the middle of the next: how probable one change or more is.
    distances = (blocks.words[:-1] + blocks.words[1:]) / 2
    return smooth(likelihood, 1 - np.exp(-distances / passage))


def make_blocks(blocks: Blocks, probability: FloatArray) -> tuple[Block, ...]:
    """The blocks with their probabilities (blocks, states)."""
    return tuple(
        Block(
            start=start,
            end=end,
            word=word,
            words=words,
            state=int(row.argmax()),
            probabilities=tuple(row.tolist()),
        )
        for (start, end), word, words, row in zip(
            blocks.spans.tolist(),
            blocks.word_starts[:-1].tolist(),
            blocks.words.tolist(),
            probability,
            strict=True,
        )
    )


def passage_ranges(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Where blocks of one state begin and end."""
    starts = [at for at in range(len(blocks)) if not at or blocks[at].state != blocks[at - 1].state]
    return list(zip(starts, [*starts[1:], len(blocks)], strict=True))


def make_passages(blocks: Sequence[Block], log10_bayes_factors: AnyFloats) -> tuple[Passage, ...]:
    """Blocks by state; `log10_bayes_factors` (passages, candidates) are of each as one text."""
    passages = []
    for (begin, end), factors in zip(passage_ranges(blocks), log10_bayes_factors, strict=True):
        inside, state = blocks[begin:end], blocks[begin].state
        words = sum(block.words for block in inside)
        weighed = sum(block.words * block.probabilities[state] for block in inside)
        passages.append(
            Passage(
                start=inside[0].start,
                end=inside[-1].end,
                word=inside[0].word,
                words=words,
                state=state,
                probability=weighed / words if len(inside[0].probabilities) > 1 else None,
                log10_bayes_factors=tuple(float(factor) for factor in factors),
            )
        )
    return tuple(passages)


def make_changes(blocks: Sequence[Block], smoothed: Smoothed, reach: int) -> tuple[Change, ...]:
    """Where states change.

    A change is described by what surrounds it: no farther than `reach` words, and not beyond
    the middle between it and the next one.
    """
    places = [begin for begin, _ in passage_ranges(blocks)[1:]]  # the block after each change
    words = np.array([block.word for block in blocks])
    changes = []
    for at, place in enumerate(places):
        before = places[at - 1] if at else 0
        after = places[at + 1] if at + 1 < len(places) else len(blocks)
        around = np.arange((before + place) // 2 + 1, (place + after + 1) // 2)
        around = around[np.abs(words[around] - words[place]) <= reach]
        around = around if place in around else np.array([place])
        mass = smoothed.change[around - 1]
        shares = np.cumsum(mass) / mass.sum()
        low = int(np.searchsorted(shares, (1 - _WIDE) / 2))
        high = min(int(np.searchsorted(shares, 1 - (1 - _WIDE) / 2)), len(around) - 1)
        changes.append(
            Change(
                word=blocks[place].word,
                earliest=int(words[around[low]]),
                latest=int(words[around[high]]),
                before=blocks[place - 1].state,
                after=blocks[place].state,
                probability=1 - smoothed.unchanged(int(around[0]) - 1, int(around[-1])),
            )
        )
    return tuple(changes)
