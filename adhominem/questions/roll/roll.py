"""Which part of a text is by whom: windows, each compared with every candidate, and smoothed.

    text ─ windows ─ log Bayes factors ─ blocks ─ hidden Markov model ─ passages and changes

Each window of the text has a Bayes factor for each candidate: did the candidate write it, or
somebody else of the population? Windows overlap, so one word would count several times: what a
window says is shared out among its blocks, and a block has the mean of what its windows say of it
(`Blocks.shared_out`). So the evidence of the whole text is counted once.

The states of the hidden Markov model are the candidates and, unless the circle of candidates is
closed, "neither"; all are equally probable at the beginning. The author changes with a stated rate,
once in a number of words on average. Without candidates, the states are styles that are found in
the text itself (`text_styles`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from adhominem.arrays import AnyFloats, BoolArray, FloatArray, Levs
from adhominem.errors import OptionError
from adhominem.questions.roll.blocks import Blocks
from adhominem.questions.roll.smoothing import Smoothed, smooth
from adhominem.records import Offered, Options, Within, with_schema
from adhominem.score.population import Population
from adhominem.score.scorer import Scorer

NEITHER = "neither"
_WIDE = 0.9  # share of a change's probability that its range holds
_LOG_10 = float(np.log(10))


@dataclass(frozen=True, kw_only=True)
class RollOptions(Options):
    """How a text is cut, and how often its author changes, before it is read."""

    words: Annotated[int, Within(20, 100_000), "Words of a window."] = 500
    step: Annotated[
        int, Within(1, 100_000), "Words from one window to the next, at most a window."
    ] = 100
    passage: Annotated[
        int,
        Within(1),
        Offered(served=Within(1, 10_000_000)),
        "Words from one change of author to the next, on average: a prior, yours to state.",
    ] = 2_000
    closed: Annotated[bool, "One of the candidates wrote every part: “neither” is ruled out."] = (
        False
    )

    ordered = (("step", "<=", "words"),)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Somebody who may have written the text, or a style that was found in it."""

    name: str
    texts: int
    words: int
    log10_bayes_factor: float | None  # of the text as a whole; None for a style


@dataclass(frozen=True, kw_only=True)
class Window:
    """A stretch of the text that was compared as one."""

    start: int  # in characters
    end: int
    word: int  # its first one, from 0
    words: int
    log10_bayes_factors: tuple[float, ...]  # one for each candidate


@dataclass(frozen=True, kw_only=True)
class Block:
    """A stretch of the text that has one author."""

    start: int  # in characters
    end: int
    word: int
    words: int
    state: int  # the most probable one
    probabilities: tuple[float, ...]  # one for each state


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Blocks in a row with the same most probable state."""

    start: int  # in characters
    end: int
    word: int
    words: int
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


@dataclass(frozen=True, kw_only=True)
class Rolled:
    """A text with what was made out of who wrote which part of it."""

    name: str
    text: str
    words: int
    options: RollOptions
    candidates: tuple[Candidate, ...]
    obstacle: str  # why no statement is made, with empty fields below; empty where one is
    states: tuple[str, ...]  # the candidates, and `neither` unless it is ruled out; or the styles
    are_styles: bool  # no candidates were given
    windows: tuple[Window, ...]
    blocks: tuple[Block, ...]
    passages: tuple[Passage, ...]
    changes: tuple[Change, ...]
    population: str  # where it was read; empty: none
    population_texts: int
    remarks: tuple[str, ...]
    model: str
    model_sha256: str
    version: str

    def to_json(self) -> dict[str, Any]:
        """As plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)


def window_factors(
    scorer: Scorer,
    windows: Levs,
    sides: Sequence[Levs],
    population: Population | None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> tuple[FloatArray, BoolArray]:
    """(windows, candidates): log Bayes factors, and whether the population was of another genre.

    `windows` is (windows, lev_size), and each of `sides` a candidate's LEVs (texts, lev_size).
    """
    scored = []
    for number, side in enumerate(sides, start=1):
        scored.append(
            scorer([window[None] for window in windows], [side] * len(windows), population)
        )
        on_progress(number / len(sides))
    return (
        np.stack([one.log_bayes_factor for one in scored], axis=1),
        np.stack([one.population_misfit for one in scored], axis=1),
    )


def smooth_blocks(
    blocks: Blocks, factors: FloatArray, options: RollOptions, *, neither: bool
) -> Smoothed:
    """The states of blocks, by the windows' log Bayes factors (windows, candidates).

    With `neither`, it is the last state: relative to it, Bayes factors say how likely others are.
    """
    likelihood = blocks.shared_out(factors)  # (blocks, candidates)
    if neither:
        likelihood = np.concatenate([likelihood, np.zeros((len(likelihood), 1))], axis=1)
    if likelihood.shape[1] < 2:
        raise OptionError("one state; expected two or more to tell apart")
    # From the middle of a block to the middle of the next: how probable one change or more is.
    distances = (blocks.words[:-1] + blocks.words[1:]) / 2
    return smooth(likelihood, 1 - np.exp(-distances / options.passage))


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


def make_changes(
    blocks: Sequence[Block], smoothed: Smoothed, options: RollOptions
) -> tuple[Change, ...]:
    """Where states change.

    A change is described by what surrounds it: no farther than a window, and not beyond
    the middle between it and the next one.
    """
    places = [begin for begin, _ in passage_ranges(blocks)[1:]]  # the block after each change
    words = np.array([block.word for block in blocks])
    changes = []
    for at, place in enumerate(places):
        before = places[at - 1] if at else 0
        after = places[at + 1] if at + 1 < len(places) else len(blocks)
        around = np.arange((before + place) // 2 + 1, (place + after + 1) // 2)
        around = around[np.abs(words[around] - words[place]) <= options.words]
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


def to_log10(log_bayes_factors: FloatArray) -> FloatArray:
    """Nats as people read them."""
    return np.asarray(log_bayes_factors / _LOG_10)
