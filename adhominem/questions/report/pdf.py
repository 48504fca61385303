"""A report as PDF, written from its blocks by reportlab.

The font is DejaVu from matplotlib, which covers most alphabets.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib
from reportlab import platypus
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.pdfdoc import PDFArray, PDFDictionary, PDFName, PDFStream, PDFString
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from adhominem.harmless import harmless
from adhominem.questions.report.candidates import AnyReport, common_part
from adhominem.questions.report.document import (
    Block,
    Facts,
    Figure,
    HeatMaps,
    PaperTable,
    Words,
    headline,
    paper_sections,
    title_of,
)
from adhominem.questions.report.formats import DATA_NAME, data_of
from adhominem.render import layout
from adhominem.render.drawings import drawing_png
from adhominem.verify.explanation import Explanation

SANS, BOLD, MONO = "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"
_LEFT, _TOP, _BOTTOM = 18 * mm, 15 * mm, 18 * mm
_WIDE = A4[0] - 2 * _LEFT
_ROOM = 46.0  # points for a heading and a few lines
_CELL = 8.3  # points of the letters in a table
_PADDING = 12.0  # of a cell, on both sides together
_FOOT = 90  # characters of the line at the foot
_RULE, _GREY = "#bbbbbb", "#444444"
_SHADES = {"summary": "#f4f4f4", "beware": "#fff6ea"}
_SCALE = 0.8  # of drawings


def _style(name: str, size: float, font: str = SANS, **more: Any) -> ParagraphStyle:
    given = {"leading": size * 1.32, "spaceAfter": size * 0.45, "textColor": HexColor(layout.INK)}
    given |= {"allowWidows": 0, "allowOrphans": 0}  # no single line at the edge of a page
    return ParagraphStyle(
        name, fontName=font, bulletFontName=font, fontSize=size, **{**given, **more}
    )


def _cell(name: str, font: str = SANS, **more: Any) -> ParagraphStyle:
    return _style(name, _CELL, font, spaceAfter=0, leading=10.8, **more)


_STYLES = {
    style.name: style
    for style in (
        _style("paragraph", 8.6),
        _style("number", 15, BOLD, spaceAfter=2, leading=18),
        _style("verbal", 9.8),
        _style("strong", 8.6, BOLD),
        _style("note", 7.2, textColor=HexColor(_GREY)),
        _style("title", 17, BOLD, spaceAfter=5),
        _style("section", 11.5, BOLD, spaceBefore=7, spaceAfter=3, keepWithNext=1),
        _style("text", 9.5, BOLD, spaceBefore=8, spaceAfter=4, keepWithNext=1),
        _style("bullet", 8.6, leftIndent=10, bulletIndent=1, spaceAfter=2),
        _style("caption", 7.6, textColor=HexColor(_GREY), spaceAfter=1, keepWithNext=1),
        _style("signature", 8.3, spaceBefore=2, spaceAfter=0),
        _style("code", 6.6, MONO, spaceAfter=0, leading=8.6),
        _style("passage", 8.5, leading=14, leftIndent=36, bulletFontSize=6.5, spaceAfter=1),
        _cell("subhead", BOLD),
        _cell("cell"),
        _cell("head", BOLD, splitLongWords=0),
        _cell("figures", alignment=TA_RIGHT),
        _cell("figures-head", BOLD, alignment=TA_RIGHT, splitLongWords=0),
    )
}


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


def pdf_of(report: AnyReport) -> bytes:
    """The bytes of a report as PDF, laid out twice, since the first page gives the page count."""
    register_fonts()
    pages, _ = _built(report, None)
    return _built(report, pages)[1]


def _built(report: AnyReport, pages: int | None) -> tuple[int, bytes]:
    data = io.BytesIO()
    document = _Pages(data, report, pages)
    story = list(_story(report))
    while isinstance(story[-1], platypus.Spacer):  # below a full page, it would begin an empty one
        del story[-1]
    document.build(story)
    return document.page, data.getvalue()


class _Pages(platypus.BaseDocTemplate):
    """A4 pages with a line at the foot; sections are in the outline."""

    def __init__(self, file: io.BytesIO, report: AnyReport, pages: int | None) -> None:
        self._title, common = title_of(report), common_part(report)
        super().__init__(
            file,
            pagesize=A4,
            title=headline(report),
            author=common.details.examiner,
            subject=self._title,
            creator=f"AdHominem {common.version}",
            lang="en",
            invariant=1,
            initialFontName=SANS,  # else Helvetica, which is in no file
        )
        self._report, self._common, self._pages = report, common, pages
        frame = platypus.Frame(_LEFT, _BOTTOM, _WIDE, A4[1] - _TOP - _BOTTOM, 0, 0, 0, 0)
        self.addPageTemplates(platypus.PageTemplate("page", [frame], onPage=self._foot))

    def _foot(self, canvas: Canvas, document: platypus.BaseDocTemplate) -> None:
        date = re.sub(r"\D", "", self._common.date)[:12]
        canvas.setDateFormatter(lambda *now: f"D:{date:0<14}Z")  # not that of the invariant clock
        if document.page == 1:
            _attach(canvas, data_of(self._report))
        canvas.setFont(SANS, 7.5)
        canvas.setFillColor(HexColor(_GREY))
        of = f" of {self._pages}" if self._pages else ""
        canvas.drawRightString(A4[0] - _LEFT, 11 * mm, f"Page {document.page}{of}")
        named = " · ".join(filter(None, (self._title, self._common.details.case)))
        line = readable(named).replace("\n", " ")
        canvas.drawString(_LEFT, 11 * mm, line if len(line) <= _FOOT else f"{line[: _FOOT - 1]}…")

    def afterFlowable(self, flowable: platypus.Flowable) -> None:  # noqa: N802
        """Add a section's heading to the outline of the PDF; called by reportlab."""
        if isinstance(flowable, platypus.Paragraph) and flowable.style.name == "section":
            title = flowable.getPlainText()
            self.canv.bookmarkPage(title)
            self.canv.addOutlineEntry(title, title)


def _attach(canvas: Canvas, data: str) -> None:
    """Attach the data of the report, not packed, to the PDF that a canvas draws."""
    document: Any = canvas._doc  # type: ignore[attr-defined]
    kind = {"Type": PDFName("EmbeddedFile"), "Subtype": "/application#2Fjson"}
    stream = PDFStream(PDFDictionary(kind), data.encode("ascii") + b"\n", filters=[])
    file = PDFDictionary(
        {
            "Type": PDFName("Filespec"),
            "F": PDFString(DATA_NAME),
            "UF": PDFString(DATA_NAME),
            "Desc": PDFString("The data of this report, for adhominem check-report"),
            "AFRelationship": PDFName("Data"),
            "EF": PDFDictionary({"F": document.Reference(stream, "report-data")}),
        }
    )
    files = PDFArray([PDFString(DATA_NAME), document.Reference(file, "report-file")])
    document.Catalog.Names = PDFDictionary({"EmbeddedFiles": PDFDictionary({"Names": files})})


def _story(report: AnyReport) -> Iterator[platypus.Flowable]:
    annexed = False
    for section in paper_sections(report):
        if section.is_annex and not annexed:
            annexed = True
            yield platypus.PageBreak()
        for shade, blocks in groupby(section.blocks, lambda block: getattr(block, "shade", "")):
            flowables = [flowable for block in blocks for flowable in _flowables(block)]
            if shade:
                background = ("BACKGROUND", (0, 0), (-1, -1), HexColor(_SHADES[shade]))
                rows = [(flowable,) for flowable in flowables]
                flowables = [_grid(rows, (_WIDE,), [background]), platypus.Spacer(0, 6)]
            yield from flowables


def _flowables(block: Block) -> Iterator[platypus.Flowable]:
    match block:
        case Words("bullet", text):
            yield _words(text, "bullet", "•")
        case Words(_, text, "signature"):
            line = platypus.HRFlowable("45%", 0.8, color=HexColor(layout.INK), hAlign="LEFT")
            signed = [platypus.Spacer(0, 15), line, _words(text, "signature")]
            yield platypus.KeepTogether(signed)
        case Words(kind, text, style):
            yield _words(text, style or kind)
        case Facts(facts):
            rows = [
                (_words(name, "subhead"), _words(fact, style or "cell"))
                for name, fact, style in facts
            ]
            yield _grid(rows, (0.25 * _WIDE, 0.75 * _WIDE), [("LEFTPADDING", (0, 0), (0, -1), 0)])
            yield platypus.Spacer(0, 4)
        case Figure(drawing, caption):
            data, wide, high = drawing_png(drawing)
            picture = platypus.Image(io.BytesIO(data), _SCALE * wide, _SCALE * high)
            shown = [picture, platypus.Spacer(0, 4), _words(caption, "note")]
            yield platypus.KeepTogether(shown)
        case HeatMaps(explanation):
            yield from _heat_maps(explanation)
        case PaperTable():
            yield _words(block.caption, "caption")
            yield _table(block)
            yield platypus.Spacer(0, 6)


def _words(text: str, style: str, bullet: str | None = None) -> platypus.Paragraph:
    return platypus.Paragraph(_marked_up(text), _STYLES[style], bulletText=bullet)


def _marked_up(text: str) -> str:
    return escape(readable(text), quote=False).replace("\n", "<br/>")


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


def _table(table: PaperTable) -> platypus.Table:
    """Rows of cells; a note may follow each row."""
    heads = [
        _words(head, "figures-head" if kind == "figures" else "head")
        for kind, head in zip(table.kinds, table.heads, strict=True)
    ]
    rows, empty = [tuple(heads)], _words("", "cell")
    commands: list[Any] = [("LINEBELOW", (0, 0), (-1, 0), 1, HexColor(layout.INK))]
    for number, row in enumerate(table.rows):
        cells = zip(table.kinds, row, strict=True)
        rows.append(tuple(_words(cell, kind or "cell") for kind, cell in cells))
        if table.notes:
            note = _words(table.notes[number], "code")
            rows.append((empty, note, *[empty] * (len(row) - 2)))
            last = len(rows) - 1
            commands += [("SPAN", (1, last), (-1, last)), ("NOSPLIT", (0, last - 1), (-1, last))]
        end = len(rows) - 1
        commands.append(("LINEBELOW", (0, end), (-1, end), 0.5, HexColor(_RULE)))
    return _grid(rows, column_widths(table), commands, heads=1)


def column_widths(table: PaperTable) -> list[float]:
    """The widths of the columns in points; no column is narrower than its head's longest word."""
    least = [
        max(pdfmetrics.stringWidth(word, BOLD, _CELL) for word in [*head.split(), ""]) + _PADDING
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
    """A legend and the texts: passages on their colours, with bars and lines for attention."""
    sides = (*reversed(layout.DIFFERENT_COLOURS), *layout.SAME_COLOURS)
    scales = [("different authors", sides, "one author")]
    if explanation.has_attention:
        scales += [
            ("less attention to a passage", layout.PASSAGE_COLOURS, "more (bar at its beginning)"),
            ("less attention to a word", layout.TOKEN_COLOURS, "more (line below it)"),
        ]
    for before, colours, after in scales:
        steps = "".join(_on("\N{NO-BREAK SPACE}" * 4, colour) for colour in colours)
        yield platypus.Paragraph(f"{before} {steps} {after}", _STYLES["note"])
    for text, passages in layout.heat_maps(explanation):
        yield _words(f"{text.name} ({text.side} side)", "text")
        for passage in passages:
            shown, amount = _passage(passage), passage.amount or None
            yield platypus.Paragraph(shown, _STYLES["passage"], bulletText=amount)
    yield platypus.Spacer(0, 12)


def _passage(passage: layout.ShownPassage) -> str:
    """The markup of a passage."""
    shown = ""
    for letters, level in passage.runs:
        run = _marked_up(letters)
        if level:
            run = f'<u color="{layout.TOKEN_COLOURS[level]}" width="1.5" offset="-2.2">{run}</u>'
        shown += run
    levels = passage.levels
    if levels is None:
        return shown
    if levels.contribution:
        shown = _on(shown, layout.contribution_colour(levels.contribution))
    if levels.attention is not None:
        colour = layout.PASSAGE_COLOURS[levels.attention]
        shown = f'<font color="{colour}">\N{FULL BLOCK}</font> {shown}'
    return shown


def _on(shown: str, colour: str) -> str:
    return f'<font backColor="{colour}">{shown}</font>'
