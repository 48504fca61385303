"""Texts and names made safe to show: they cannot control a terminal or forge a line."""

from __future__ import annotations

import re
import unicodedata

# They change the direction of the following text: a text could make its surroundings unreadable.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LINE_ENDS = re.compile(r"\r\n?|[\n\v\f\x85\u2028\u2029]")
_CONTROL_PICTURES = 0x2400  # ␀, the first one
_TAB = "    "
LONGEST_LINE = 4_000
_END_OF_LINE = 1_000  # of these, at the end of a message, which says what to do


def harmless(text: str) -> str:
    """A text that cannot control a terminal, a font or the direction of writing.

    Line ends become \\n and tabs become spaces; every other control becomes a symbol for it.
    """
    lines = _LINE_ENDS.sub("\n", text).replace("\t", _TAB)
    if lines.isprintable():
        return lines
    return "".join(letter if letter == "\n" else _sign(letter) for letter in lines)


def one_line(text: str) -> str:
    """A name or a message as one line, with all controls spelt out: \\x1b[31m, \\n.

    Very long ones are cut in the middle: a message may quote an id of megabytes.
    """
    if len(text) <= LONGEST_LINE and text.isprintable():
        return text
    if (left_out := len(text) - LONGEST_LINE) > 0:
        text = f"{text[: -_END_OF_LINE - left_out]} [{left_out:,} letters] {text[-_END_OF_LINE:]}"
    return spelt_out(text)


def spelt_out(text: str) -> str:
    """A name or a message on one line of any length, with all controls spelt out."""
    if text.isprintable():  # marks that change the direction are not
        return text
    return "".join(
        letter.encode("unicode_escape").decode("ascii") if _commands(letter) else letter
        for letter in text
    )


def _sign(letter: str) -> str:
    if letter < " ":
        return chr(_CONTROL_PICTURES + ord(letter))
    if letter == "\x7f":
        return "␡"
    return "\N{REPLACEMENT CHARACTER}" if _commands(letter) else letter


def _commands(letter: str) -> bool:
    # Surrogates cannot be encoded; Zl and Zp are line ends.
    return letter in _TURNING or unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
