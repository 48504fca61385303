"""How the documents of each author are drawn: colour and shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

# Okabe and Ito's colours, as in the figures of an evaluation. Seven colours and eight shapes have
# no common divisor: 56 authors get 56 markers, and two in a row differ in both; 56 more are hollow.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
_STAR = "L".join(
    f"{(1.4 if at % 2 == 0 else 0.58) * sin(at * pi / 5):.3f},"
    f"{-(1.4 if at % 2 == 0 else 0.58) * cos(at * pi / 5):.3f}"
    for at in range(10)
)
_SHAPES = (
    "M-1,0A1,1 0 1,0 1,0A1,1 0 1,0 -1,0Z",  # a circle
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.2L1.15,.85H-1.15Z",
    "M0,-1.35L1.1,0L0,1.35L-1.1,0Z",
    "M0,1.2L1.15,-.85H-1.15Z",
    "M-.42,-1.2H.42V-.42H1.2V.42H.42V1.2H-.42V.42H-1.2V-.42H-.42Z",
    f"M{_STAR}Z",
    "M-1,-1.1H1L-1,1.1H1Z",  # an hourglass
)
_UNKNOWN = (  # a cross that leans
    "M-1.15,-.6L-.6,-1.15L0,-.55L.6,-1.15L1.15,-.6L.55,0"
    "L1.15,.6L.6,1.15L0,.55L-.6,1.15L-1.15,.6L-.55,0Z"
)
_GREY = "#666666"
_READABLE = 4.5  # contrast with white that small text needs (WCAG)


@dataclass(frozen=True)
class Marker:
    """How the documents of an author are drawn."""

    author: str  # empty: those of whom no author is known
    color: str
    ink: str  # the same colour, dark enough for text
    path: str  # of the mark, about 2 units wide
    hollow: bool

    @property
    def known(self) -> bool:
        return bool(self.author)


def markers(authors: Sequence[str]) -> list[Marker]:
    """A marker for each of these names, in alphabetical order; the unknown author comes last."""
    names = sorted(set(authors) - {""}, key=lambda name: (name.casefold(), name))
    made = [
        Marker(
            name,
            _COLORS[at % len(_COLORS)],
            _ink(_COLORS[at % len(_COLORS)]),
            _SHAPES[at % len(_SHAPES)],
            at // (len(_COLORS) * len(_SHAPES)) % 2 == 1,
        )
        for at, name in enumerate(names)
    ]
    if "" in authors:
        made.append(Marker("", _GREY, _ink(_GREY), _UNKNOWN, False))
    return made


def contrast_with_white(color: str) -> float:
    """The contrast ratio of the web's guidelines: 1 for white, 21 for black."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    red, green, blue = linear
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


def _ink(color: str) -> str:
    """A colour, darkened until small text in it can be read."""
    while contrast_with_white(color) < _READABLE:
        channels = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
        color = "#" + "".join(f"{int(channel * 0.96):02X}" for channel in channels)
    return color
