"""What all figures share, in evaluations, maps and reports: colours, lines, paper, legend, files.

Whatever differs in colour also differs in something else: a line in its dashes, a mark in its
shape, an area in its hatching. So figures can be read in grey, and by colour-blind readers.
matplotlib is imported when the first figure is drawn.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from adhominem.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from adhominem.evaluation.answers import Answers

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
GREY, PALE = "#666666", "#ececec"
# Seven colours and five lines have no common divisor: 35 systems get 35 styles, and two in a row
# differ in both.
LINES: tuple[Dashes, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1.5, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1)),
)

SMALL = 7.5  # points
UNIT = (-0.015, 1.015)  # limits of an axis from 0 to 1 that keeps lines at its ends visible
_WIDTH, _LEGEND_ROW, _TITLE = 5.6, 0.15, 0.3  # inches; the width of a page's text
_DIGITS = 6  # of places, as shares of the figure
_LONGEST_NAME = 48  # characters that fit into a line of the legend beside a number
_TWO_COLUMNS = 34  # the longest label that can stand beside another
_SETTINGS = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.4,
    "svg.hashsalt": "adhominem",  # ids that do not change from one writing to the next
    "svg.fonttype": "path",  # looks the same where the font is missing
}


@contextmanager
def house_style() -> Iterator[None]:
    """A context with matplotlib's defaults, whatever the user's are, and our settings."""
    try:
        from matplotlib import style
    except ImportError:
        raise MissingExtraError("matplotlib", "evaluate", "drawing figures") from None
    with style.context(["default", _SETTINGS]), warnings.catch_warnings():
        # A name in letters that the font lacks is drawn as boxes; tables have it right.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def png_of(figure: Figure) -> bytes:
    """A figure as a PNG with 150 pixels per inch."""
    return _saved(figure, format="png", dpi=150, metadata={"Software": None})


def svg_of(figure: Figure) -> bytes:
    """A figure as an SVG, without a date or anything else that changes."""
    return _saved(figure, format="svg", metadata={"Date": None, "Creator": None})


def _saved(figure: Figure, **options: object) -> bytes:
    data = io.BytesIO()
    with house_style():
        figure.savefig(data, **options)  # type: ignore[arg-type]
    return data.getvalue()


@dataclass(frozen=True)
class SystemStyle:
    """How a system is drawn, and its name in the legend."""

    name: str
    color: str
    linestyle: Dashes
    hollow: bool = False  # its marks: it has the colour of an earlier system

    @property
    def line(self) -> dict[str, Any]:
        """matplotlib's options for a curve of this system."""
        return {"color": self.color, "linestyle": self.linestyle}

    @property
    def marks(self) -> dict[str, Any]:
        """matplotlib's options for marks of this system, on a curve or alone."""
        inside, edge = ("white", self.color) if self.hollow else (self.color, "white")
        return {
            "markerfacecolor": inside,
            "markeredgecolor": edge,
            "markeredgewidth": 1 if self.hollow else 0.5,
        }


def system_styles(systems: Sequence[Answers]) -> list[SystemStyle]:
    """A style for each system. Names that look the same in print get a number."""
    names = [shorten(answers.name) for answers in systems]
    return [
        SystemStyle(
            f"{at + 1}: {name}" if names.count(name) > 1 else name,
            COLOURS[at % len(COLOURS)],
            LINES[at % len(LINES)],
            hollow=at >= len(COLOURS),
        )
        for at, name in enumerate(names)
    ]


def shorten(name: str, most: int = _LONGEST_NAME) -> str:
    """A name for a figure: on one line, and with its middle left out if it is long."""
    name = "".join(letter for letter in " ".join(name.split()) if letter.isprintable())
    if len(name) > most:
        half = (most - 1) // 2
        name = f"{name[:half]}…{name[-half:]}"
    return f" {name}" if name.startswith("_") else name  # matplotlib would leave it out


class Canvas:
    """A figure with its title above the panels, and its legend below, where it hides nothing."""

    def __init__(
        self,
        title: str,
        height: float,
        labels: Sequence[str] = (),
        *,
        heights: Sequence[float] = (1,),
    ) -> None:
        """`labels` are those of the legend, `heights` those of the panels beside each other."""
        from matplotlib.figure import Figure

        self._labels = labels
        longest = max((len(label) for label in labels), default=0)
        self._columns = 2 if len(labels) > 1 and longest <= _TWO_COLUMNS else 1
        below = ceil(len(labels) / self._columns) * _LEGEND_ROW + 0.1
        above = height + _TITLE
        self.figure = Figure(figsize=(_WIDTH, above + below))
        grid = self.figure.add_gridspec(2, 1, height_ratios=[above, below])
        self._panels = self.figure.add_subfigure(grid[0])
        self._legend = self.figure.add_subfigure(grid[1])
        self._panels.suptitle(title, fontsize=10.5, fontweight="bold")
        panels = self._panels.subplots(
            len(heights), sharex=True, squeeze=False, height_ratios=heights
        )
        self.axes: list[Axes] = list(panels.flat)
        for axes in self.axes:
            # Ticks are made when the figure is written, perhaps in someone else's style.
            axes.tick_params(labelsize=8)
            axes.grid(color="#b0b0b0", alpha=0.35, linewidth=0.6)
            axes.set_axisbelow(True)

    def finish(self, handles: Sequence[Artist]) -> Figure:
        """The figure with its legend, which has one handle per label."""
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        if handles:
            legend = self._legend.legend(
                handles,
                self._labels,
                loc="center",
                ncols=self._columns,
                fontsize=SMALL,
                frameon=False,
                handlelength=3.2,
                borderpad=0,
                labelspacing=0.35,
            )
            for text in legend.get_texts():
                text.set_parse_math(False)  # a dollar sign in a name is one
        # Compute the layout once, and fix it. The last digits of what matplotlib's solver finds
        # differ from call to call, and so would files of the same figure: places are rounded.
        ConstrainedLayoutEngine().execute(self.figure)
        for part in (self._panels, self._legend):
            part.bbox_relative.set_points(part.bbox_relative.get_points().round(_DIGITS))
            for text in part.texts:
                text.set_position(np.round(text.get_position(), _DIGITS).tolist())
        for axes in self.axes:
            axes.set_position(np.round(axes.get_position(original=True).bounds, _DIGITS).tolist())
        return self.figure


def nothing_to_draw(title: str) -> Figure:
    """A note in place of a figure that needs pairs of both classes."""
    canvas = Canvas(title, 1.2)
    (axes,) = canvas.axes
    axes.set_axis_off()
    text = "Nothing to draw: this needs same-author and different-author pairs."
    axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY)
    return canvas.finish(())
