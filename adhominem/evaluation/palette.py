"""The one style of all figures: colours, lines, shapes, in evaluations, maps and reports.

Whatever is told by a colour is told by something else, too: a line by its dashes, a mark by its
shape, an area by its hatching. So a figure can be read in grey, and by the colour-blind.
"""

from __future__ import annotations

from math import cos, pi, sin

Dashes = str | tuple[float, tuple[float, ...]]

# Okabe and Ito's colours, which the colour-blind tell apart, each with the same dark enough for
# small text on white; not their yellow, too pale on white.
INKS = {
    "#0072B2": "#0072B2",
    "#D55E00": "#C35600",
    "#009E73": "#008460",
    "#CC79A7": "#A46086",
    "#000000": "#000000",
    "#56B4E9": "#38789E",
    "#E69F00": "#9B6A00",
}
COLOURS = tuple(INKS)
SAME, DIFFERENT = COLOURS[:2]  # the two classes of pairs
GREY, PALE, INK = "#666666", "#ececec", "#1a1a1a"
# Seven colours and five lines have no common divisor: 35 systems get 35 styles, and two in a row
# differ in both.
LINES: tuple[Dashes, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1.5, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
)


def _polygon(corners: int, size: float) -> str:
    """A regular one, with a corner above, as a path of an SVG."""
    angles = [2 * pi * at / corners for at in range(corners)]
    places = [f"{size * sin(angle):.3f},{-size * cos(angle):.3f}" for angle in angles]
    return f"M{'L'.join(places)}Z"


# Paths of about 2 units. Sixteen shapes and seven colours have no common divisor: 112 authors get
# 112 marks, of which no two in a row have a colour or a shape in common; 112 more are hollow.
SHAPES = (
    "M-1,0A1,1 0 1,0 1,0A1,1 0 1,0 -1,0Z",  # a circle
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.2L1.15,.85H-1.15Z",
    "M0,-1.35L1.1,0L0,1.35L-1.1,0Z",
    "M0,1.2L1.15,-.85H-1.15Z",
    "M-.42,-1.2H.42V-.42H1.2V.42H.42V1.2H-.42V.42H-1.2V-.42H-.42Z",
    "M0.000,-1.400L0.341,-0.469L1.331,-0.433L0.552,0.179L0.823,1.133L0.000,0.580"
    "L-0.823,1.133L-0.552,0.179L-1.331,-0.433L-0.341,-0.469Z",  # a star
    "M-1,-1.1H1L-1,1.1H1Z",  # an hourglass
    "M-1.2,0L.85,-1.15V1.15Z",
    "M1.2,0L-.85,-1.15V1.15Z",
    "M-1.1,-1V1L1.1,-1V1Z",  # a bow tie
    "M-1.35,-.45H1.35V.45H-1.35Z",
    "M-.45,-1.35H.45V1.35H-.45Z",
    "M-1.15,.6A1.15,1.15 0 0,1 1.15,.6Z",  # half a disc
    _polygon(5, 1.25),
    _polygon(6, 1.2),
)
UNKNOWN_SHAPE = (  # a cross that leans
    "M-1.15,-.6L-.6,-1.15L0,-.55L.6,-1.15L1.15,-.6L.55,0"
    "L1.15,.6L.6,1.15L0,.55L-.6,1.15L-1.15,.6L-.55,0Z"
)
