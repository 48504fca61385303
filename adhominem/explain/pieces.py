"""A text cut into pieces that are shown alike, and laid out in lines.

The pieces of a text are the text: each character is in one of them, and only in one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from adhominem.explain.explanation import ExplainedText, Passage

# They turn the direction of all that follows: a text could make its surroundings unreadable.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINE_ENDS = re.compile(r"\r\n?|[\n\v\f\x85\u2028\u2029]")
_CONTROL_PICTURES = 0x2400  # ␀, the first of them
_TAB = "    "


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


def harmless(text: str) -> str:
    """A text in which nothing commands a terminal, a font or the direction of writing.

    Line ends become \\n and tabs become spaces; every other control is shown by a sign for it.
    """
    lines = _LINE_ENDS.sub("\n", text).replace("\t", _TAB)
    if lines.isprintable():
        return lines
    return "".join(letter if letter == "\n" else _sign(letter) for letter in lines)


def _sign(letter: str) -> str:
    if letter < " ":
        return chr(_CONTROL_PICTURES + ord(letter))
    if letter == "\x7f":
        return "␡"
    # Surrogates cannot be written at all.
    if letter in _TURNING or unicodedata.category(letter) in ("Cc", "Cs"):
        return "\N{REPLACEMENT CHARACTER}"
    return letter
