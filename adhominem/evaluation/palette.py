"""The style of all figures: colours and lines, in evaluations, maps and reports.

Whatever differs in colour also differs in something else: a line in its dashes, a mark in its
shape, an area in its hatching. So figures can be read in grey, and by colour-blind readers.
"""

from __future__ import annotations

Dashes = str | tuple[float, tuple[float, ...]]

# Okabe and Ito's colours, which the colour-blind can distinguish, each with the same dark enough
# for small text on white; not their yellow, too pale on white.
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
