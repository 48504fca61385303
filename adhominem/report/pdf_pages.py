"""The pages of a report in PDF."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any
from xml.etree.ElementTree import Element

from reportlab import platypus
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas

from adhominem.explain.explanation import Explanation
from adhominem.render import layout, summary
from adhominem.report.candidates import CandidatesReport
from adhominem.report.candidates_html import TITLE as CANDIDATES_TITLE
from adhominem.report.candidates_html import candidates_sections
from adhominem.report.html import TITLE, elements, sections
from adhominem.report.pdf_texts import (
    BOLD,
    MONO,
    SANS,
    Drawn,
    heat_map,
    legend,
    readable,
    register_fonts,
)
from adhominem.report.report import Report

_LEFT, _TOP, _BOTTOM = 18 * mm, 18 * mm, 20 * mm
_WIDE = A4[0] - 2 * _LEFT
_WIDTHS = {  # of the columns of the table in each section that has one
    "material": (0.1, 0.43, 0.25, 0.11, 0.11),
    "result": (0.4, 0.6),
    "validation": (0.2, 0.1, 0.35, 0.35),
    "population-texts": (0.08, 0.8, 0.12),
    "summary": (0.08, 0.32, 0.4, 0.2),  # of a report with several candidates, as those below
    "candidates": (0.08, 0.37, 0.1, 0.2, 0.25),
    "priors": (0.6, 0.2, 0.2),
    "candidates-validation": (0.3, 0.3, 0.3, 0.1),
}
_FOOT = 90  # characters of the line at the foot
_SPACE = re.compile("[ \n]+")
_RULE, _BEWARE, _EDGE = "#bbbbbb", "#fff6ea", "#8a4500"


def _style(name: str, size: float, font: str = SANS, **more: Any) -> ParagraphStyle:
    given = {"leading": size * 1.4, "spaceAfter": size * 0.6, "textColor": HexColor(layout.INK)}
    return ParagraphStyle(
        name, fontName=font, bulletFontName=font, fontSize=size, **{**given, **more}
    )


_BODY = _style("body", 9)
_STYLES = {
    "": _BODY,
    "number": _style("number", 16, BOLD, spaceAfter=4),
    "verbal": _style("verbal", 10.5),
    "strong": _style("strong", 9, BOLD),
    "note": _style("note", 7.5, textColor=HexColor("#444444")),
    "title": _style("title", 18, BOLD, spaceAfter=8),
    "section": _style("section", 12.5, BOLD, spaceBefore=10, spaceAfter=6, keepWithNext=1),
    "text": _style("text", 9.5, BOLD, spaceBefore=8, spaceAfter=4, keepWithNext=1),
    "bullet": _style("bullet", 9, leftIndent=12, bulletIndent=2, spaceAfter=3),
    "caption": _style("caption", 8, textColor=HexColor("#444444"), spaceAfter=2, keepWithNext=1),
    "name": _style("name", 9, BOLD, spaceAfter=0),
    "cell": _style("cell", 8.5, spaceAfter=0, leading=11),
    "head": _style("head", 8.5, BOLD, spaceAfter=0, leading=11),
    "figures": _style("figures", 8.5, spaceAfter=0, leading=11, alignment=TA_RIGHT),
    "figures-head": _style("figures-head", 8.5, BOLD, leading=11, alignment=TA_RIGHT),
    "code": _style("code", 7.5, MONO, spaceAfter=0),
}


def pdf_of(report: Report | CandidatesReport) -> bytes:
    """All pages: made twice, since the first one says how many there are."""
    register_fonts()
    pages, _ = _built(report, None)
    return _built(report, pages)[1]


def _built(report: Report | CandidatesReport, pages: int | None) -> tuple[int, bytes]:
    data = io.BytesIO()
    document = _Pages(data, report, pages)
    document.build(list(_story(report)))
    return document.page, data.getvalue()


class _Pages(platypus.BaseDocTemplate):
    """A4 with a line at the foot; sections are listed beside the pages."""

    def __init__(
        self, file: io.BytesIO, report: Report | CandidatesReport, pages: int | None
    ) -> None:
        of_candidates = isinstance(report, CandidatesReport)
        self._title = CANDIDATES_TITLE if of_candidates else TITLE
        super().__init__(
            file,
            pagesize=A4,
            title=f"{self._title}: {report.case}" if report.case else self._title,
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
        canvas.setFont(SANS, 7.5)
        canvas.setFillColor(HexColor("#444444"))
        of = f" of {self._pages}" if self._pages else ""
        canvas.drawRightString(A4[0] - _LEFT, 11 * mm, f"Page {document.page}{of}")
        named = " · ".join(filter(None, (self._title, self._report.case)))
        line = readable(named).replace("\n", " ")
        canvas.drawString(_LEFT, 11 * mm, line if len(line) <= _FOOT else f"{line[: _FOOT - 1]}…")

    def afterFlowable(self, flowable: platypus.Flowable) -> None:  # noqa: N802
        """Add a section's heading to the outline of the PDF; called by reportlab."""
        if isinstance(flowable, platypus.Paragraph) and flowable.style.name == "section":
            title = flowable.getPlainText()
            self.canv.bookmarkPage(title)
            self.canv.addOutlineEntry(title, title)


def _story(report: Report | CandidatesReport) -> Iterator[platypus.Flowable]:
    if isinstance(report, CandidatesReport):
        shown, explanation = candidates_sections(report), None
    else:
        shown, explanation = sections(report), report.explanation
    for section in elements(shown):
        name = section.get("id", "")
        if name in ("population-texts", "texts"):
            yield platypus.PageBreak()
        boxed = name == "summary"
        if boxed:
            yield platypus.HRFlowable(
                "100%", 1.5, color=HexColor(layout.INK), spaceBefore=6, spaceAfter=0
            )
        for element in section:
            yield from _element(element, name)
        if boxed:
            yield platypus.HRFlowable(
                "100%", 1.5, color=HexColor(layout.INK), spaceBefore=4, spaceAfter=6
            )
        if name == "texts" and explanation is not None:
            yield from _texts(explanation)


def _words(text: str, style: str = "", bullet: str | None = None) -> platypus.Paragraph:
    shown = escape(readable(text), quote=False).replace("\n", "<br/>")
    return platypus.Paragraph(shown, _STYLES[style], bulletText=bullet)


def _text(element: Element) -> str:
    return _SPACE.sub(" ", "".join(element.itertext())).strip(" ")


def _style_of(element: Element, usual: str = "") -> str:
    return element.get("class", "").removeprefix("report-") or usual


def _element(element: Element, section: str) -> Iterator[platypus.Flowable]:
    match element.tag:
        case "h1":
            yield _words(_text(element), "title")
        case "h2":
            yield _words(_text(element), "section")
        case "p":
            yield _words(_text(element), _style_of(element))
        case "ul":
            yield from (_words(_text(item), "bullet", "•") for item in element)
        case "dl":
            rows = [
                (_words(_text(name), "name"), _words(_text(fact), _style_of(fact, "cell")))
                for name, fact in zip(element[::2], element[1::2], strict=True)
            ]
            padding = ("BOTTOMPADDING", (0, 0), (-1, -1), 3.0)
            yield _grid(rows, (0.27, 0.73), [padding, ("LEFTPADDING", (0, 0), (0, -1), 0)])
            yield platypus.Spacer(0, 6)
        case "figure":
            drawing, caption = element
            shown = [Drawn(drawing, 0.9), platypus.Spacer(0, 4), _words(_text(caption), "note")]
            yield platypus.KeepTogether(shown)
        case "div" if element.get("class") == "report-beware":
            yield from _beware(element)
        case _:
            yield from _table_element(element, _WIDTHS.get(section, ()))


def _grid(
    rows: Sequence[tuple[platypus.Paragraph, ...]],
    shares: tuple[float, ...],
    commands: list[Any],
    heads: int = 0,
) -> platypus.Table:
    style = [
        ("FONTNAME", (0, 0), (-1, -1), SANS),  # else Helvetica is named, though nothing is in it
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("TOPPADDING", (0, 0), (-1, -1), 2.0),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.0),
        *commands,
    ]
    widths = [share * _WIDE for share in shares]
    # A cell may be higher than a page: names may be long.
    return platypus.Table(rows, widths, repeatRows=heads, style=style, splitInRow=1, hAlign="LEFT")


def _beware(element: Element) -> Iterator[platypus.Flowable]:
    rows = [(_words(_text(title), "name"),) for title in element.iter("h3")]
    rows += [(_words(_text(item), "bullet", "•"),) for item in element.iter("li")]
    commands = [
        ("BACKGROUND", (0, 0), (-1, -1), HexColor(_BEWARE)),
        ("LINEBEFORE", (0, 0), (0, -1), 3, HexColor(_EDGE)),
        ("LEFTPADDING", (0, 0), (-1, -1), 9.0),
    ]
    yield platypus.Spacer(0, 3)
    yield _grid(rows, (1.0,), commands)
    yield platypus.Spacer(0, 6)


def _table_element(element: Element, widths: tuple[float, ...]) -> Iterator[platypus.Flowable]:
    rows = [[_text(cell) for cell in row] for row in element.iter("tr")]
    if not widths:  # numbers beside a name, as many as there are
        widths = (0.4, *[0.6 / (len(rows[0]) - 1)] * (len(rows[0]) - 1))
    heads = list(element.iter("th"))[: len(widths)]
    numbers_from = sum(not head.get("class") for head in heads)
    notes = [row[1] for row in rows if len(row) == 2 < len(widths)]
    rows = [row for row in rows if len(row) == len(widths)]
    (caption,) = element.iter("caption")
    yield from _table(_text(caption), rows[0], rows[1:], numbers_from, widths, notes)


def _table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers_from: int,
    widths: tuple[float, ...],
    notes: Sequence[str] = (),
) -> Iterator[platypus.Flowable]:
    """Rows of cells; those from `numbers_from` on are numbers. A note may follow each row."""
    shown = [
        tuple(
            _words(head, "figures-head" if at >= numbers_from else "head")
            for at, head in enumerate(heads)
        )
    ]
    commands: list[Any] = [("LINEBELOW", (0, 0), (-1, 0), 1, HexColor(layout.INK))]
    empty = _words("")
    for number, row in enumerate(rows):
        shown.append(
            tuple(
                _words(cell, "figures" if at >= numbers_from else "cell")
                for at, cell in enumerate(row)
            )
        )
        if notes:
            shown.append((empty, _words(notes[number], "code"), *[empty] * (len(row) - 2)))
            last = len(shown) - 1
            commands += [("SPAN", (1, last), (-1, last)), ("NOSPLIT", (0, last - 1), (-1, last))]
        end = len(shown) - 1
        commands.append(("LINEBELOW", (0, end), (-1, end), 0.5, HexColor(_RULE)))
    grid = _grid(shown, widths, commands, heads=1)
    above = _words(caption, "caption")
    yield from [above, grid] if notes else [platypus.KeepTogether([above, grid])]
    yield platypus.Spacer(0, 8)


def _texts(explanation: Explanation) -> Iterator[platypus.Flowable]:
    yield _words(
        "The number beside a passage is what it contributes to the log10 Bayes factor. On teal, "
        "and with a plus, it speaks for one author; on orange, and with a minus, for different "
        "authors. " + summary.PASSAGE_CONTRIBUTION
    )
    yield _words(summary.NOT_WHY if explanation.has_attention else summary.NO_ATTENTION)
    yield legend(explanation.has_attention)
    strongest = layout.strongest_passage(explanation)
    for text in explanation.texts:
        yield _words(f"{text.name} ({text.side} side)", "text")
        yield from heat_map(text, strongest, _WIDE)
    yield platypus.Spacer(0, 12)
    yield from _table(
        "What the log10 Bayes factor is the sum of. All passages together are the sum without the "
        "starting point.",
        ("part", "what it is", "amount"),
        [(name, said, amount) for name, amount, said in summary.balance(explanation)],
        2,
        (0.2, 0.66, 0.14),
    )
    yield from _ngrams(explanation)


def _ngrams(explanation: Explanation) -> Iterator[platypus.Flowable]:
    if not explanation.ngrams:
        return
    yield from _table(
        "The n-grams (words, or parts of words, in a row) that contribute most to the log10 Bayes "
        f"factor. {summary.NGRAM_CONTRIBUTION} {summary.RATES}",
        ("n-gram", "what it is", "speaks for", "contribution", "first", "second", "usual"),
        [
            (
                ngram.ngram,
                summary.described(ngram),
                summary.speaks_for(ngram.contribution),
                summary.contributed(ngram.contribution),
                f"{ngram.first:,} ({summary.rate(ngram.first_rate)})",
                f"{ngram.second:,} ({summary.rate(ngram.second_rate)})",
                summary.rate(ngram.usual_rate),
            )
            for ngram in explanation.ngrams
        ],
        3,
        (0.16, 0.25, 0.16, 0.13, 0.11, 0.11, 0.08),
    )
