"""Letters, drawings and heat maps in a PDF.

The letters are those of matplotlib's DejaVu, which has most alphabets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import matplotlib
from reportlab.lib.colors import HexColor
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus.flowables import Flowable

from adhominem.explain.explanation import ExplainedText
from adhominem.harmless import harmless
from adhominem.render.layout import (
    DIFFERENT_COLOURS,
    INK,
    PASSAGE_COLOURS,
    SAME_COLOURS,
    TOKEN_COLOURS,
    Levels,
    Line,
    contribution_colour,
    lines,
    passage_levels,
)
from adhominem.render.summary import contributed
from adhominem.report.tippett import Box, Dot, Drawing, Label, Stroke

SANS, BOLD, MONO = "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"
_LETTERS, _SMALL, _ROW = 8.5, 6.5, 14.0  # points
_NUMBER, _BAR, _GAP = 36.0, 5.0, 6.0  # the columns before the text
_UNDERLINE = 1.5


@cache
def register_fonts() -> frozenset[int]:
    """Make them known to reportlab; the letters that all of them have."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    fonts = [TTFont(name, folder / f"{name}.ttf") for name in (SANS, BOLD, MONO)]
    for font in fonts:
        pdfmetrics.registerFont(font)
    return frozenset.intersection(*(frozenset(font.face.charToGlyph) for font in fonts))


def readable(text: str) -> str:
    """A harmless text; letters that the fonts lack are named by number, so that none is lost."""
    letters = register_fonts()
    return "".join(
        letter if letter == "\n" or ord(letter) in letters else f"[U+{ord(letter):04X}]"
        for letter in harmless(text)
    )


def width(text: str, size: float, font: str = SANS) -> float:
    """The width of a line of text, in points."""
    return float(pdfmetrics.stringWidth(text, font, size))


class Drawn(Flowable):
    """A drawing."""

    def __init__(self, drawing: Drawing, scale: float = 1.0) -> None:
        super().__init__()
        self._drawing, self._scale = drawing, scale

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """How large it is."""
        return self._drawing.width * self._scale, self._drawing.height * self._scale

    def draw(self) -> None:
        """On the page; reportlab counts from below."""
        canvas = self.canv
        canvas.saveState()
        canvas.scale(self._scale, self._scale)
        for item in self._drawing.items:
            _draw(canvas, item, self._drawing.height)
        canvas.restoreState()


def _draw(canvas: Canvas, item: Stroke | Box | Dot | Label, height: float) -> None:
    if isinstance(item, Stroke):
        canvas.setStrokeColor(HexColor(item.colour))
        canvas.setLineWidth(item.width)
        canvas.setDash(list(item.dash))
        (x, y), *rest = item.points
        path = canvas.beginPath()
        path.moveTo(x, height - y)
        for x, y in rest:
            path.lineTo(x, height - y)
        canvas.drawPath(path)
        return
    canvas.setFillColor(HexColor(item.colour))
    if isinstance(item, Box):
        canvas.rect(item.x, height - item.y - item.height, item.width, item.height, 0, 1)
    elif isinstance(item, Dot):
        canvas.setStrokeColor(HexColor("#ffffff"))
        canvas.setLineWidth(1)
        canvas.setDash([])
        canvas.circle(item.x, height - item.y, item.radius, 1, 1)
    else:
        canvas.setFont(BOLD if item.bold else SANS, item.size)
        write = {
            "start": canvas.drawString,
            "middle": canvas.drawCentredString,
            "end": canvas.drawRightString,
        }[item.anchor]
        write(item.x, height - item.y, readable(item.text))


def legend(has_attention: bool) -> Drawing:
    """Which colour means what."""
    rows: list[tuple[str, Sequence[str], str]] = [
        ("different authors", (*reversed(DIFFERENT_COLOURS), *SAME_COLOURS), "one author")
    ]
    if has_attention:
        rows.append(("less attention to a passage", PASSAGE_COLOURS, "more (bar on the left)"))
        rows.append(("less attention to a word", TOKEN_COLOURS, "more (line below it)"))
    items: list[Stroke | Box | Dot | Label] = []
    left, step = 130.0, 14.0
    for at, (before, colours, after) in enumerate(rows):
        y = at * 15.0
        items.append(Label(left - 6, y + 9, before, "end", 7.5))
        for place, colour in enumerate(colours):
            items.append(Box(left + place * step, y + 1, step, 10, colour))
        right = left + len(colours) * step
        edge = ((left, y + 1), (right, y + 1), (right, y + 11), (left, y + 11), (left, y + 1))
        items.append(Stroke(edge, "#888888", 0.5))
        items.append(Label(right + 6, y + 9, after, "start", 7.5))
    return Drawing(400, 15.0 * len(rows), tuple(items), "")


def heat_map(text: ExplainedText, strongest: float, wide: float) -> Iterator[Flowable]:
    """A text, a line at a time, so that it may go on over any number of pages."""
    left = _NUMBER + _BAR + _GAP
    levels = passage_levels(text, strongest)
    laid_out = lines(
        text,
        wide - left,
        lambda letters: width(letters, _LETTERS),
        lambda piece, shown: readable(shown),
    )
    for line in laid_out:
        amount = ""
        if line.passage is not None and line.begins:
            amount = contributed(text.passages[line.passage].contribution)
        yield _TextLine(line, amount, None if line.passage is None else levels[line.passage])


class _TextLine(Flowable):
    """A line: the contribution of a passage that begins here, its attention, its letters."""

    def __init__(self, line: Line, amount: str, levels: Levels | None) -> None:
        super().__init__()
        self._line, self._amount, self._levels = line, amount, levels

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """How large it is; an empty line is half as high."""
        return availWidth, _ROW if self._line.runs else _ROW / 2

    def draw(self) -> None:
        """On the page."""
        canvas, base, levels = self.canv, 4.0, self._levels
        left = x = _NUMBER + _BAR + _GAP
        if self._amount:
            canvas.setFillColor(HexColor("#444444"))
            canvas.setFont(SANS, _SMALL)
            canvas.drawRightString(_NUMBER - 4, base, self._amount)
        if levels is not None and levels.attention is not None:
            _fill(canvas, PASSAGE_COLOURS[levels.attention], _NUMBER, 0, _BAR, _ROW)
        if levels is not None and levels.contribution:
            side = contribution_colour(levels.contribution)
            _fill(canvas, side, left - 1, 1, width(self._line.text, _LETTERS) + 2, _ROW - 2)
        for run in self._line.runs:
            wide = width(run.text, _LETTERS)
            if levels is not None and run.token is not None and levels.tokens[run.token]:
                colour = TOKEN_COLOURS[levels.tokens[run.token]]
                _fill(canvas, colour, x, base - _UNDERLINE - 1.6, wide, _UNDERLINE)
            x += wide
        canvas.setFillColor(HexColor(INK))
        canvas.setFont(SANS, _LETTERS)
        canvas.drawString(left, base, self._line.text)


def _fill(canvas: Canvas, colour: str, x: float, y: float, wide: float, high: float) -> None:
    canvas.setFillColor(HexColor(colour))
    canvas.rect(x, y, wide, high, 0, 1)
