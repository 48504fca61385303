"""A heat map as a picture. matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from adhominem.errors import MissingExtraError
from adhominem.evaluation.plot_style import house_style
from adhominem.explain.explanation import ExplainedText, Explanation
from adhominem.render import layout, summary
from adhominem.text.writing import replaced_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# In points, 72 an inch.
_WIDTH, _EDGE = 620.0, 28.0
_BAR, _MARGIN = 9.0, 52.0  # a passage's bar, and where its text begins
_LEADING = 1.65  # of a line, as a multiple of its letters
_BODY, _SMALL, _HEAD, _NUMBER = 9.0, 7.5, 10.5, 17.0
_GREY, _DPI = "#555555", 150
_MOST_LINES = 160  # of all texts together: the picture ends somewhere


def png_heat_map(explanation: Explanation, path: Path) -> None:
    """Write the picture: the number, the texts, or their beginnings, and how to read them."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise MissingExtraError("matplotlib", "evaluate", "a PNG picture") from None
    # In the house style, letters that the font lacks are boxes, without a warning; with hinting,
    # letters would not be as wide as they are said to be.
    with house_style(), rc_context({"text.hinting": "none"}):
        sheet = _Sheet()
        _draw(explanation, sheet)
        with replaced_file(path) as partial:
            sheet.figure().savefig(partial, format="png", dpi=_DPI, metadata={"Software": None})


@cache
def _measure(size: float, bold: bool = False) -> Callable[[str], float]:
    """A function that measures how wide a text is in this font size, in points."""
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    weight = "bold" if bold else "normal"
    font = FT2Font(findfont(FontProperties(family="DejaVu Sans", weight=weight)))
    font.set_size(size, 72)

    @cache
    def width(letter: str) -> float:
        glyph = font.load_glyph(font.get_char_index(ord(letter)))  # 0, a box, if there is none
        return float(glyph.linearHoriAdvance) / 65_536

    return lambda text: sum(map(width, text))


@dataclass
class _Sheet:
    """Text and boxes, from the top down; how high it is shows when all are there."""

    y: float = _EDGE
    texts: list[tuple[float, float, str, float, str, bool]] = field(default_factory=list)
    boxes: list[tuple[float, float, float, float, str]] = field(default_factory=list)

    def write(
        self, x: float, text: str, size: float, colour: str = layout.INK, bold: bool = False
    ) -> None:
        """Put text on the current line, beginning at `x`."""
        if text.strip():
            self.texts.append((x, self.y, text, size, colour, bold))

    def box(self, x: float, width: float, colour: str, height: float, gap: float = 0) -> None:
        """Put a coloured box behind the current line, with a gap at its top."""
        self.boxes.append((x, self.y - height * 0.73 + gap, width, height - gap, colour))

    def prose(self, text: str, size: float, colour: str = layout.INK, bold: bool = False) -> None:
        """Add a paragraph below what is there, wrapped to the width of the sheet."""
        whole = ExplainedText("", "", text, ())
        for line in layout.lines(whole, _WIDTH - 2 * _EDGE, _measure(size, bold)):
            self.y += size * 1.35
            self.write(_EDGE, line.text, size, colour, bold)
        self.y += 0.4 * size

    def figure(self) -> Figure:
        """The sheet as a matplotlib figure."""
        from matplotlib.collections import PatchCollection
        from matplotlib.figure import Figure
        from matplotlib.patches import Rectangle

        height = self.y + _EDGE
        figure = Figure(figsize=(_WIDTH / 72, height / 72), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, _WIDTH)
        axes.set_ylim(height, 0)
        colours = [colour for *_, colour in self.boxes]
        patches = [Rectangle((x, y), width, high) for x, y, width, high, _ in self.boxes]
        axes.add_collection(PatchCollection(patches, facecolor=colours, edgecolor="none"))
        for x, y, text, size, colour, bold in self.texts:
            axes.text(
                x,
                y,
                text,
                fontsize=size,
                color=colour,
                fontweight="bold" if bold else "normal",
                verticalalignment="baseline",
                parse_math=False,  # a dollar sign is one
            )
        return figure


def _draw(explanation: Explanation, sheet: _Sheet) -> None:
    verification = explanation.verification
    number = f"log10 Bayes factor {summary.signed(verification.log10_bayes_factor)}"
    sheet.prose(summary.title(verification), _HEAD, bold=True)
    sheet.prose(number, _NUMBER, bold=True)
    for sentence in (verification.verbal, summary.NOT_A_VERDICT, summary.probability(verification)):
        sheet.prose(sentence, _BODY)
    strongest = layout.strongest_passage(explanation)
    width = _WIDTH - _EDGE - _MARGIN - _EDGE
    laid_out = [list(layout.lines(text, width, _measure(_BODY))) for text in explanation.texts]
    quotas = _quotas([len(rows) for rows in laid_out])
    for text, rows, most in zip(explanation.texts, laid_out, quotas, strict=True):
        sheet.y += 8
        sheet.prose(f"{text.name} ({text.side} side)", _BODY, bold=True)
        _draw_text(text, rows[:most], layout.passage_levels(text, strongest), sheet)
        if most < len(rows):
            sheet.y += 4
            note = f"Shown are {most:,} of {len(rows):,} lines; the page (HTML) has them all."
            sheet.prose(note, _SMALL, _GREY)
    sheet.y += 8
    sheet.prose(summary.caption(explanation), _SMALL, _GREY)
    sheet.prose(f"Model {verification.model}, AdHominem {verification.version}.", _SMALL, _GREY)


def _draw_text(
    text: ExplainedText, rows: Sequence[layout.Line], levels: Sequence[layout.Levels], sheet: _Sheet
) -> None:
    measure = _measure(_BODY)
    height = _BODY * _LEADING
    for line in rows:
        sheet.y += height
        tokens: tuple[int, ...] = ()
        x = _EDGE + _MARGIN
        if line.passage is not None:
            tokens = levels[line.passage].tokens
            sheet.box(_EDGE, _BAR, levels[line.passage].bar, height, 1.5 if line.begins else 0)
            if line.begins:
                amount = summary.contributed(text.passages[line.passage].contribution)
                right = x - 6 - _measure(_SMALL)(amount)
                sheet.write(right, amount, _SMALL, _GREY)
        for run in line.runs:
            wide = measure(run.text)
            if run.token is not None and tokens[run.token]:
                sheet.box(x, wide, layout.TOKEN_COLOURS[tokens[run.token]], height * 0.9)
            sheet.write(x, run.text, _BODY)
            x += wide


def _quotas(wanted: Sequence[int]) -> list[int]:
    """How many lines of each text are shown: what short texts leave goes to long ones."""
    quotas = [0] * len(wanted)
    left = _MOST_LINES
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for done, at in enumerate(order):
        quotas[at] = min(wanted[at], max(1, left // (len(wanted) - done)))
        left -= quotas[at]
    return quotas
