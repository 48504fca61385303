"""Fonts, drawings and heat maps in a PDF.

The font is DejaVu from matplotlib, which covers most alphabets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element

import matplotlib
from reportlab.lib.colors import HexColor
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus.flowables import Flowable

from adhominem.harmless import harmless
from adhominem.questions.report.page import elements
from adhominem.render import layout, summary
from adhominem.render.templates import render
from adhominem.verify.explanation import ExplainedText

SANS, BOLD, MONO = "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"
_LETTERS, _SMALL, _ROW = 8.5, 6.5, 14.0  # points
_NUMBER, _BAR, _GAP = 36.0, 5.0, 6.0  # the columns before the text
_UNDERLINE = 1.5


@cache
def register_fonts() -> frozenset[int]:
    """Register the fonts with reportlab, and return the characters that all of them have."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    fonts = [TTFont(name, folder / f"{name}.ttf") for name in (SANS, BOLD, MONO)]
    for font in fonts:
        pdfmetrics.registerFont(font)
    return frozenset.intersection(*(frozenset(font.face.charToGlyph) for font in fonts))


def readable(text: str) -> str:
    """A harmless text; characters that the fonts lack are given as code points, so none is lost."""
    letters = register_fonts()
    return "".join(
        letter if letter == "\n" or ord(letter) in letters else f"[U+{ord(letter):04X}]"
        for letter in harmless(text)
    )


def width(text: str, size: float, font: str = SANS) -> float:
    """The width of a line of text, in points."""
    return float(pdfmetrics.stringWidth(text, font, size))


class VectorDrawing(Flowable):
    """An SVG made of the elements of `drawing.html`: lines, boxes, dots and labels."""

    def __init__(self, svg: Element, scale: float = 1.0) -> None:
        super().__init__()
        self._svg, self._scale = svg, scale
        self._width, self._height = map(float, svg.get("viewbox", "").split()[2:])

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """The width and height of the drawing; called by reportlab."""
        return self._width * self._scale, self._height * self._scale

    def draw(self) -> None:
        """Draw the SVG on the page; reportlab counts from below."""
        canvas = self.canv
        canvas.saveState()
        canvas.scale(self._scale, self._scale)
        canvas.translate(0, self._height)
        for item in self._svg:
            _draw(canvas, item)
        canvas.restoreState()


def _draw(canvas: Canvas, item: Element) -> None:
    def number(name: str) -> float:
        return float(item.get(name, 0))

    if item.tag == "polyline":
        canvas.setStrokeColor(HexColor(item.attrib["stroke"]))
        canvas.setLineWidth(number("stroke-width"))
        canvas.setDash(list(map(float, item.get("stroke-dasharray", "").split())))
        path = canvas.beginPath()
        for at, point in enumerate(item.get("points", "").split()):
            x, y = map(float, point.split(","))
            (path.lineTo if at else path.moveTo)(x, -y)
        canvas.drawPath(path)
        return
    canvas.setFillColor(HexColor(item.attrib["fill"]))
    if item.tag == "rect":
        x, y, wide, high = map(number, ("x", "y", "width", "height"))
        canvas.rect(x, -y - high, wide, high, 0, 1)
    elif item.tag == "circle":
        canvas.setStrokeColor(HexColor(item.attrib["stroke"]))
        canvas.setLineWidth(1)
        canvas.setDash([])
        canvas.circle(number("cx"), -number("cy"), number("r"), 1, 1)
    else:
        canvas.setFont(BOLD if item.get("font-weight") else SANS, number("font-size"))
        write = {
            "start": canvas.drawString,
            "middle": canvas.drawCentredString,
            "end": canvas.drawRightString,
        }[item.get("text-anchor", "start")]
        write(number("x"), -number("y"), readable(item.text or ""))


def legend(has_attention: bool) -> VectorDrawing:
    """A drawing that explains the colours."""
    scales: list[tuple[str, Sequence[str], str]] = [
        (
            "different authors",
            (*reversed(layout.DIFFERENT_COLOURS), *layout.SAME_COLOURS),
            "one author",
        )
    ]
    if has_attention:
        scales.append(
            ("less attention to a passage", layout.PASSAGE_COLOURS, "more (bar on the left)")
        )
        scales.append(("less attention to a word", layout.TOKEN_COLOURS, "more (line below it)"))
    (svg,) = elements(render("legend.svg", scales=scales))
    return VectorDrawing(svg)


def heat_map(text: ExplainedText, strongest: float, wide: float) -> Iterator[Flowable]:
    """A text, one line at a time, so that it may continue over any number of pages."""
    left = _NUMBER + _BAR + _GAP
    levels = layout.passage_levels(text, strongest)
    laid_out = layout.lines(
        text,
        wide - left,
        lambda letters: width(letters, _LETTERS),
        lambda piece, shown: readable(shown),
    )
    for line in laid_out:
        amount = ""
        if line.passage is not None and line.begins:
            amount = summary.contributed(text.passages[line.passage].contribution)
        yield _TextLine(line, amount, None if line.passage is None else levels[line.passage])


class _TextLine(Flowable):
    """A line: the contribution of a passage that starts here, its attention, its letters."""

    def __init__(self, line: layout.Line, amount: str, levels: layout.PassageLevels | None) -> None:
        super().__init__()
        self._line, self._amount, self._levels = line, amount, levels

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """The width and height of the line; an empty one is half as high."""
        return availWidth, _ROW if self._line.runs else _ROW / 2

    def draw(self) -> None:
        """Draw the line on the page."""
        canvas, base, levels = self.canv, 4.0, self._levels
        left = x = _NUMBER + _BAR + _GAP
        if self._amount:
            canvas.setFillColor(HexColor("#444444"))
            canvas.setFont(SANS, _SMALL)
            canvas.drawRightString(_NUMBER - 4, base, self._amount)
        if levels is not None and levels.attention is not None:
            _fill(canvas, layout.PASSAGE_COLOURS[levels.attention], _NUMBER, 0, _BAR, _ROW)
        if levels is not None and levels.contribution:
            side = layout.contribution_colour(levels.contribution)
            _fill(canvas, side, left - 1, 1, width(self._line.text, _LETTERS) + 2, _ROW - 2)
        for run in self._line.runs:
            wide = width(run.text, _LETTERS)
            if levels is not None and run.token is not None and levels.tokens[run.token]:
                colour = layout.TOKEN_COLOURS[levels.tokens[run.token]]
                _fill(canvas, colour, x, base - _UNDERLINE - 1.6, wide, _UNDERLINE)
            x += wide
        canvas.setFillColor(HexColor(layout.INK))
        canvas.setFont(SANS, _LETTERS)
        canvas.drawString(left, base, self._line.text)


def _fill(canvas: Canvas, colour: str, x: float, y: float, wide: float, high: float) -> None:
    canvas.setFillColor(HexColor(colour))
    canvas.rect(x, y, wide, high, 0, 1)
