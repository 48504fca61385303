"""The pages of a report in PDF."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import takewhile
from typing import Any
from xml.etree.ElementTree import Element

from reportlab import platypus
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas

from adhominem.questions.report.candidates import AnyReport
from adhominem.questions.report.formats import attach_to_pdf, data_of
from adhominem.questions.report.page import (
    ANNEXES,
    PaperTable,
    elements,
    explanation_of,
    headline,
    sections,
    style_of,
    table_of,
    text_of,
    title_of,
)
from adhominem.questions.report.pdf_texts import (
    BOLD,
    MONO,
    SANS,
    VectorDrawing,
    heat_map,
    legend,
    readable,
    register_fonts,
    width,
)
from adhominem.render import layout
from adhominem.verify.explanation import Explanation

_LEFT, _TOP, _BOTTOM = 18 * mm, 15 * mm, 18 * mm
_WIDE = A4[0] - 2 * _LEFT
_MOST_TOGETHER = 1_200  # characters of a table that is not divided between pages
_ROOM = 46.0  # points for a heading and a few lines
_CELL = 8.3  # points of the letters in a table
_PADDING = 12.0  # of a cell, on both sides together
_FOOT = 90  # characters of the line at the foot
_RULE, _BEWARE, _EDGE = "#bbbbbb", "#fff6ea", "#8a4500"


def _style(name: str, size: float, font: str = SANS, **more: Any) -> ParagraphStyle:
    given = {"leading": size * 1.32, "spaceAfter": size * 0.45, "textColor": HexColor(layout.INK)}
    given |= {"allowWidows": 0, "allowOrphans": 0}  # no single line at the edge of a page
    return ParagraphStyle(
        name, fontName=font, bulletFontName=font, fontSize=size, **{**given, **more}
    )


_BODY = _style("body", 8.6)
_STYLES = {
    "": _BODY,
    "number": _style("number", 15, BOLD, spaceAfter=2, leading=18),
    "verbal": _style("verbal", 9.8),
    "strong": _style("strong", 8.6, BOLD),
    "note": _style("note", 7.2, textColor=HexColor("#444444")),
    "title": _style("title", 17, BOLD, spaceAfter=5),
    "section": _style("section", 11.5, BOLD, spaceBefore=7, spaceAfter=3),
    "text": _style("text", 9.5, BOLD, spaceBefore=8, spaceAfter=4, keepWithNext=1),
    "bullet": _style("bullet", 8.6, leftIndent=10, bulletIndent=1, spaceAfter=2),
    "caption": _style("caption", 7.6, textColor=HexColor("#444444"), spaceAfter=1),
    "name": _style("name", _CELL, BOLD, spaceAfter=0, leading=10.8),
    "cell": _style("cell", _CELL, spaceAfter=0, leading=10.8),
    "head": _style("head", _CELL, BOLD, spaceAfter=0, leading=10.8, splitLongWords=0),
    "figures": _style("figures", _CELL, spaceAfter=0, leading=10.8, alignment=TA_RIGHT),
    "figures-head": _style(
        "figures-head", _CELL, BOLD, leading=10.8, alignment=TA_RIGHT, splitLongWords=0
    ),
    "code": _style("code", 6.6, MONO, spaceAfter=0, leading=8.6),
    "signature": _style("signature", 8.3, spaceBefore=2, spaceAfter=0),
}


def pdf_of(report: AnyReport) -> bytes:
    """The bytes of a report as PDF, laid out twice, since the first page gives the page count."""
    register_fonts()
    pages, _ = _built(report, None)
    return _built(report, pages)[1]


def _built(report: AnyReport, pages: int | None) -> tuple[int, bytes]:
    data = io.BytesIO()
    document = _Pages(data, report, pages)
    document.build(list(_story(report)))
    return document.page, data.getvalue()


class _Pages(platypus.BaseDocTemplate):
    """A4 pages with a line at the foot; sections are in the outline."""

    def __init__(self, file: io.BytesIO, report: AnyReport, pages: int | None) -> None:
        self._title = title_of(report)
        super().__init__(
            file,
            pagesize=A4,
            title=headline(report),
            author=report.examiner,
            subject=self._title,
            creator=f"AdHominem {report.version}",
            lang="en",
            invariant=1,
            initialFontName=SANS,  # else Helvetica, which is in no file
        )
        self._report, self._pages = report, pages
        frame = platypus.Frame(_LEFT, _BOTTOM, _WIDE, A4[1] - _TOP - _BOTTOM, 0, 0, 0, 0)
        self.addPageTemplates(platypus.PageTemplate("page", [frame], onPage=self._foot))

    def _foot(self, canvas: Canvas, document: platypus.BaseDocTemplate) -> None:
        date = re.sub(r"\D", "", self._report.date)[:12]
        canvas.setDateFormatter(lambda *now: f"D:{date:0<14}Z")  # not that of the invariant clock
        if document.page == 1:
            attach_to_pdf(canvas, data_of(self._report))
        canvas.setFont(SANS, 7.5)
        canvas.setFillColor(HexColor("#444444"))
        of = f" of {self._pages}" if self._pages else ""
        canvas.drawRightString(A4[0] - _LEFT, 11 * mm, f"Page {document.page}{of}")
        named = " · ".join(filter(None, (self._title, self._report.case)))
        line = readable(named).replace("\n", " ")
        canvas.drawString(_LEFT, 11 * mm, line if len(line) <= _FOOT else f"{line[: _FOOT - 1]}…")

    def afterFlowable(self, flowable: platypus.Flowable) -> None:  # noqa: N802
        """Add a section's heading to the outline of the PDF; called by reportlab."""
        title = flowable.title if isinstance(flowable, _Boxed) else ""
        if isinstance(flowable, platypus.Paragraph) and flowable.style.name == "section":
            title = flowable.getPlainText()
        if title:
            self.canv.bookmarkPage(title)
            self.canv.addOutlineEntry(title, title)


class _Boxed(platypus.Flowable):
    """An invisible marker before a box with a heading, which reportlab does not announce."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def draw(self) -> None:
        """Draw nothing."""


def _story(report: AnyReport) -> Iterator[platypus.Flowable]:
    explanation = explanation_of(report)
    annexed = False
    for section in elements(sections(report)):
        name = section.get("id", "")
        if name in ANNEXES and not annexed:
            annexed = True
            yield platypus.PageBreak()
        flowables: list[platypus.Flowable] = []
        for element in section:
            if style_of(element) == "heat" and explanation is not None:
                flowables += _heat_maps(explanation)
            else:
                flowables += _element(element)
        if name == "summary":
            yield from _boxed(flowables)
        else:
            yield from _with_heading(flowables)


def _with_heading(flowables: list[platypus.Flowable]) -> list[platypus.Flowable]:
    """A heading, kept together with the first lines of what follows it."""
    if len(flowables) > 1 and isinstance(flowables[1], platypus.KeepTogether):
        together = flowables[1]._content  # type: ignore[attr-defined]
        return [platypus.KeepTogether([flowables[0], *together]), *flowables[2:]]
    return [platypus.CondPageBreak(_ROOM), *flowables]


def _boxed(flowables: list[platypus.Flowable]) -> list[platypus.Flowable]:
    """The words of a summary in a box; warnings, which may be long, stay outside.

    A summary that begins with a table, which may be long, too, is set between two lines.
    """
    words: list[Any] = list(
        takewhile(lambda flowable: isinstance(flowable, platypus.Paragraph), flowables)
    )
    if len(words) == 1:
        line = platypus.HRFlowable("100%", 1.2, color=HexColor(layout.INK), spaceAfter=0)
        return [line, *flowables, line]
    commands = [
        ("BOX", (0, 0), (-1, -1), 1.2, HexColor(layout.INK)),
        ("LEFTPADDING", (0, 0), (-1, -1), 8.0),
        ("TOPPADDING", (0, 1), (-1, -1), 0.0),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 4.0),
    ]
    box = _grid([(flowable,) for flowable in words], (_WIDE,), commands)
    return [_Boxed(words[0].getPlainText()), box, platypus.Spacer(0, 5), *flowables[len(words) :]]


def _words(text: str, style: str = "", bullet: str | None = None) -> platypus.Paragraph:
    shown = escape(readable(text), quote=False).replace("\n", "<br/>")
    return platypus.Paragraph(shown, _STYLES[style], bulletText=bullet)


def _element(element: Element) -> Iterator[platypus.Flowable]:
    match element.tag:
        case "h1":
            yield _words(text_of(element), "title")
        case "h2":
            yield _words(text_of(element), "section")
        case "p" if style_of(element) == "signature":
            line = platypus.HRFlowable("45%", 0.8, color=HexColor(layout.INK), hAlign="LEFT")
            signed = _words(text_of(element), "signature")
            yield platypus.KeepTogether([platypus.Spacer(0, 15), line, signed])
        case "p":
            yield _words(text_of(element), style_of(element))
        case "ul":
            yield from (_words(text_of(item), "bullet", "•") for item in element)
            yield platypus.Spacer(0, 3)
        case "dl":
            rows = [
                (_words(text_of(name), "name"), _words(text_of(fact), style_of(fact) or "cell"))
                for name, fact in zip(element[::2], element[1::2], strict=True)
            ]
            if rows:
                commands = [("LEFTPADDING", (0, 0), (0, -1), 0)]
                yield _grid(rows, (0.25 * _WIDE, 0.75 * _WIDE), commands)
                yield platypus.Spacer(0, 4)
        case "figure":
            drawing, caption = element
            shown = [
                VectorDrawing(drawing, 0.8),
                platypus.Spacer(0, 4),
                _words(text_of(caption), "note"),
            ]
            yield platypus.KeepTogether(shown)
        case "div" if style_of(element) == "beware":
            yield from _beware(element)
        case _:
            yield from _table(element)


def _grid(
    rows: Sequence[tuple[platypus.Flowable, ...]],
    widths: Sequence[float],
    commands: list[Any],
    heads: int = 0,
) -> platypus.Table:
    style = [
        ("FONTNAME", (0, 0), (-1, -1), SANS),  # else Helvetica is named, though nothing is in it
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("TOPPADDING", (0, 0), (-1, -1), 1.4),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1.8),
        *commands,
    ]
    # A cell may be higher than a page: names may be long.
    return platypus.Table(rows, widths, repeatRows=heads, style=style, splitInRow=1, hAlign="LEFT")


def _beware(element: Element) -> Iterator[platypus.Flowable]:
    rows = [(_words(text_of(title), "name"),) for title in element.iter("h3")]
    rows += [(_words(text_of(item), "bullet", "•"),) for item in element.iter("li")]
    commands = [
        ("BACKGROUND", (0, 0), (-1, -1), HexColor(_BEWARE)),
        ("LINEBEFORE", (0, 0), (0, -1), 3, HexColor(_EDGE)),
        ("LEFTPADDING", (0, 0), (-1, -1), 9.0),
    ]
    yield platypus.Spacer(0, 3)
    yield _grid(rows, (_WIDE,), commands)
    yield platypus.Spacer(0, 6)


def _table(element: Element) -> Iterator[platypus.Flowable]:
    """Rows of cells; a note may follow each row."""
    table = table_of(element)
    shown = [
        tuple(
            _words(head, "figures-head" if kind == "figures" else "head")
            for kind, head in zip(table.kinds, table.heads, strict=True)
        )
    ]
    commands: list[Any] = [("LINEBELOW", (0, 0), (-1, 0), 1, HexColor(layout.INK))]
    empty = _words("")
    for number, row in enumerate(table.rows):
        shown.append(
            tuple(_words(cell, kind or "cell") for kind, cell in zip(table.kinds, row, strict=True))
        )
        if table.notes:
            shown.append((empty, _words(table.notes[number], "code"), *[empty] * (len(row) - 2)))
            last = len(shown) - 1
            commands += [("SPAN", (1, last), (-1, last)), ("NOSPLIT", (0, last - 1), (-1, last))]
        end = len(shown) - 1
        commands.append(("LINEBELOW", (0, end), (-1, end), 0.5, HexColor(_RULE)))
    grid = _grid(shown, column_widths(table), commands, heads=1)
    above = _words(table.caption, "caption")
    letters = sum(len(cell) for row in table.rows for cell in (*row, *table.notes))
    fits = letters <= _MOST_TOGETHER
    if fits:
        yield platypus.KeepTogether([above, grid])
    else:
        yield from (platypus.CondPageBreak(_ROOM), above, grid)
    yield platypus.Spacer(0, 6)


def column_widths(table: PaperTable) -> list[float]:
    """The widths of the columns in points; no column is narrower than its head's longest word."""
    least = [
        max(width(word, _CELL, BOLD) for word in [*head.split(), ""]) + _PADDING
        for head in table.heads
    ]
    given = [share * _WIDE for share in table.widths]
    lacking = [max(0.0, need - wide) for need, wide in zip(least, given, strict=True)]
    spare = [max(0.0, wide - need) for need, wide in zip(least, given, strict=True)]
    part = min(1.0, sum(lacking) / max(sum(spare), 1e-9))
    return [
        wide + lack - part * more for wide, lack, more in zip(given, lacking, spare, strict=True)
    ]


def _heat_maps(explanation: Explanation) -> Iterator[platypus.Flowable]:
    yield legend(explanation.has_attention)
    strongest = layout.strongest_passage(explanation)
    for text in explanation.texts:
        yield _words(f"{text.name} ({text.side} side)", "text")
        yield from heat_map(text, strongest, _WIDE)
    yield platypus.Spacer(0, 12)
