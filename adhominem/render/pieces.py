"""A text cut into pieces that are shown alike, and laid out in lines.

The pieces of a text are the text: each character is in one of them, and only in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adhominem.explain.explanation import ExplainedText, Passage


@dataclass(frozen=True)
class Piece:
    """Characters of one token, or between two."""

    start: int
    end: int
    passage: int | None  # its number; None between passages
    token: int | None  # its number within the passage; None between tokens


def pieces(text: ExplainedText) -> Iterator[Piece]:
    """All pieces of a text, in order."""
    at = 0

    def up_to(end: int, passage: int | None, token: int | None) -> Iterator[Piece]:
        nonlocal at
        end = min(max(end, at), len(text.text))
        if at < end:
            yield Piece(at, end, passage, token)
        at = end

    for number, passage in enumerate(text.passages):
        yield from up_to(passage.start, None, None)
        for order, token in enumerate(passage.tokens):
            yield from up_to(min(token.start, passage.end), number, None)
            yield from up_to(min(token.end, passage.end), number, order)
        yield from up_to(passage.end, number, None)
    yield from up_to(len(text.text), None, None)


def passage_weights(text: ExplainedText) -> list[float | None]:
    """Of each passage, its attention as a multiple of an even one; None where no network looked."""
    looked_at = sum(passage.attention is not None for passage in text.passages)
    return [
        None if passage.attention is None else passage.attention * looked_at
        for passage in text.passages
    ]


def token_weights(passage: Passage) -> list[float]:
    """Of each token, its attention as a multiple of an even one."""
    return [token.attention * len(passage.tokens) for token in passage.tokens]
