"""Drawings and heat maps in a PDF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reportlab.lib.colors import HexColor
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus.flowables import Flowable

from adhominem.explain.explanation import ExplainedText
from adhominem.render.colours import (
    DIFFERENT_COLOURS,
    INK,
    PASSAGE_COLOURS,
    SAME_COLOURS,
    TOKEN_COLOURS,
    attention_level,
    contribution_colour,
    contribution_level,
)
from adhominem.render.lines import Line, lines
from adhominem.render.pieces import passage_weights, token_weights
from adhominem.render.summary import contributed
from adhominem.report.pdf_fonts import BOLD, SANS, readable, width
from adhominem.report.tippett import Box, Dot, Drawing, Label, Stroke

_LETTERS, _SMALL, _ROW = 8.5, 6.5, 14.0  # points
_NUMBER, _BAR, _GAP = 36.0, 5.0, 6.0  # the columns before the text
_UNDERLINE = 1.5


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
    weights = passage_weights(text)
    laid_out = lines(
        text,
        wide - left,
        lambda letters: width(letters, _LETTERS),
        lambda piece, shown: readable(shown),
    )
    for line in laid_out:
        weight = None if line.passage is None else weights[line.passage]
        yield _TextLine(text, line, weight, strongest)


class _TextLine(Flowable):
    """A line: the contribution of a passage that begins here, its attention, its letters."""

    def __init__(
        self, text: ExplainedText, line: Line, weight: float | None, strongest: float
    ) -> None:
        super().__init__()
        self._line, self._weight = line, weight
        self._passage = None if line.passage is None else text.passages[line.passage]
        self._strongest = strongest

    def wrap(self, availWidth: float, availHeight: float) -> tuple[float, float]:  # noqa: N803
        """How large it is; an empty line is half as high."""
        return availWidth, _ROW if self._line.runs else _ROW / 2

    def draw(self) -> None:
        """On the page."""
        canvas, base = self.canv, 4.0
        if self._passage is None:
            levels: list[int] = []
            side = None
        else:
            levels = [attention_level(each) for each in token_weights(self._passage)]
            level = contribution_level(self._passage.contribution, self._strongest)
            side = contribution_colour(level) if level else None
            if self._line.begins:
                canvas.setFillColor(HexColor("#444444"))
                canvas.setFont(SANS, _SMALL)
                amount = contributed(self._passage.contribution)
                canvas.drawRightString(_NUMBER - 4, base, amount)
        if self._weight is not None:
            _fill(canvas, PASSAGE_COLOURS[attention_level(self._weight)], _NUMBER, 0, _BAR, _ROW)
        left = x = _NUMBER + _BAR + _GAP
        if side is not None:
            _fill(canvas, side, left - 1, 1, width(self._line.text, _LETTERS) + 2, _ROW - 2)
        for run in self._line.runs:
            wide = width(run.text, _LETTERS)
            if run.token is not None and levels[run.token]:
                colour = TOKEN_COLOURS[levels[run.token]]
                _fill(canvas, colour, x, base - _UNDERLINE - 1.6, wide, _UNDERLINE)
            x += wide
        canvas.setFillColor(HexColor(INK))
        canvas.setFont(SANS, _LETTERS)
        canvas.drawString(left, base, self._line.text)


def _fill(canvas: Canvas, colour: str, x: float, y: float, wide: float, high: float) -> None:
    canvas.setFillColor(HexColor(colour))
    canvas.rect(x, y, wide, high, 0, 1)
