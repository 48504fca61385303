"""Levels and colours of heat maps: one definition for the page, the terminal, LaTeX and pictures.

Attention is a share, and so it is compared with an even one: 1 over the number of passages of the
text, or of tokens of the passage. Level 0 is less than even, level 1 about even, and with each
level more it is √2 times as much, so that two levels are a doubling; from 13 times an even share on
it is 9. A text that is looked at evenly is pale, whatever its length.

A contribution has a sign and five levels, fifths of the strongest one that is shown. Nothing that
the eye must tell apart differs in its hue alone: passages have bars and tokens have backgrounds,
and the two signs have two styles of line.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite, log, log2

LEVELS = 10  # of attention
MOST_TIMES_EVEN = 13  # from about here on, attention has the last level
SIDED_LEVELS = 5  # of contributions, for either sign
INK, PAPER = "#1a1a1a", "#ffffff"

# Bars: no text stands on them, so they may be dark.
PASSAGE_COLOURS: tuple[str, ...] = (
    *("#ffffff", "#e4eef8", "#cfe1f2", "#b3d0ea", "#92bde0"),
    *("#6ca6d4", "#4a8ec5", "#2f75b3", "#1a5c9d", "#0a4584"),
)
# Backgrounds: ink must be read on the deepest.
TOKEN_COLOURS: tuple[str, ...] = (
    *("#ffffff", "#fff1ec", "#fee4da", "#fdd3c4", "#fdc1ac"),
    *("#fcac93", "#fb967a", "#f98063", "#f4694f", "#ea523f"),
)
# Teal and orange, after ColorBrewer's BrBG and PuOr: the colour-blind tell them apart.
SAME_COLOURS: tuple[str, ...] = ("#e2f3f0", "#bfe5df", "#96d3ca", "#69bfb4", "#3faa9d")
DIFFERENT_COLOURS: tuple[str, ...] = ("#feedd3", "#fdd9a8", "#fcc077", "#f4a548", "#e58a1f")
SAME_LINE, DIFFERENT_LINE = "#01665e", "#8a4500"

_NEGLIGIBLE = 0.001 * log(10)  # nats; where the strongest is weaker, nothing is coloured
# Terminals of 256 colours have few pale ones; the nearest by the numbers have another hue.
_OF_256: dict[str, int] = {
    INK: 234,
    **dict(zip(PASSAGE_COLOURS, (231, 189, 153, 153, 111, 75, 69, 33, 26, 25), strict=True)),
    **dict(zip(TOKEN_COLOURS, (231, 231, 224, 224, 217, 217, 210, 210, 203, 203), strict=True)),
    **dict(zip(SAME_COLOURS, (195, 159, 116, 80, 37), strict=True)),
    **dict(zip(DIFFERENT_COLOURS, (230, 223, 222, 215, 208), strict=True)),
}


def attention_level(times_even: float) -> int:
    """0 to 9, of a share divided by an even one."""
    if not times_even > 0:
        return 0
    if not isfinite(times_even):
        return LEVELS - 1
    return min(max(round(2 * log2(times_even)) + 1, 0), LEVELS - 1)


def contribution_level(contribution: float, strongest: float) -> int:
    """-5 (for different authors) to 5 (for one author); 0 is next to nothing.

    `strongest` is the greatest contribution of those shown together, whatever its sign.
    """
    if not isfinite(contribution) or strongest < _NEGLIGIBLE:
        return 0
    level = round(SIDED_LEVELS * abs(contribution) / strongest)
    return min(level, SIDED_LEVELS) * (1 if contribution > 0 else -1)


def strongest_of(contributions: Iterable[float]) -> float:
    """The size of the strongest contribution; those that are no numbers are left out."""
    return max((abs(each) for each in contributions if isfinite(each)), default=0.0)


def contribution_colour(level: int) -> str:
    """The background of a level of -5 to 5."""
    if level == 0:
        return PAPER
    return SAME_COLOURS[level - 1] if level > 0 else DIFFERENT_COLOURS[-level - 1]


def contribution_class(level: int) -> str:
    """The name of a level of -5 to 5 in style sheets and LaTeX: same1 to same5, diff1 to diff5."""
    if level == 0:
        return ""
    return f"same{level}" if level > 0 else f"diff{-level}"


def rgb(colour: str) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, of a colour like #1a2b3c."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def colour_of_256(colour: str) -> int:
    """The number of one of the colours above in terminals that have 256."""
    return _OF_256[colour]
