"""A report as a Word document (.docx), which an examiner can edit.

Its words are those of the page and the PDF: the same elements, in Word's own styles, so that its
navigation, styles and spelling check work as in any document.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from docx import Document
from docx.document import Document as WordDocument
from docx.enum.table import WD_TABLE_ALIGNMENT
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_BREAK
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.shared import Inches, Mm, Pt, RGBColor
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph

from adhominem.harmless import harmless
from adhominem.questions.report.candidates import AnyReport
from adhominem.questions.report.formats import attach_to_docx, data_of
from adhominem.questions.report.page import (
    ANNEXES,
    elements,
    explanation_of,
    headline,
    sections,
    style_of,
    table_of,
    text_of,
)
from adhominem.render import layout, summary
from adhominem.render.drawing_png import drawing_png
from adhominem.verify.explanation import Explanation

_WIDE = 174.0  # mm of text on A4
_BEWARE, _BOX = "FFF6EA", "F4F4F4"
_LONGEST_PROPERTY = 255  # characters: python-docx refuses more
_EPOCH = (1980, 1, 1, 0, 0, 0)
# What comes after a border and a shade among the properties of a paragraph: Word wants an order.
_AFTER_SHADE = ("tabs", "suppressAutoHyphens", "spacing", "ind", "contextualSpacing", "jc", "rPr")
_UNWRITABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def docx_of(report: AnyReport) -> bytes:
    """The complete document, with the data of the report; the same report gives the same bytes."""
    document = Document()
    _set_up(document, report)
    explanation = explanation_of(report)
    annexed = False
    for section in elements(sections(report)):
        name = section.get("id", "")
        if name in ANNEXES and not annexed:
            annexed = True
            document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        for element in section:
            if style_of(element) == "heat" and explanation is not None:
                _heat_maps(document, explanation)
            else:
                _element(document, element, boxed=name == "summary")
    attach_to_docx(document, data_of(report))
    return _packed(document)


def _set_up(document: WordDocument, report: AnyReport) -> None:
    page = document.sections[0]
    page.page_width, page.page_height = Mm(210), Mm(297)
    page.left_margin = page.right_margin = page.top_margin = Mm(18)
    page.bottom_margin = Mm(20)
    styles = document.styles
    for name, size, before, after in (
        ("Normal", 9.5, 0, 4),
        ("Title", 20, 0, 6),
        ("Heading 1", 13, 10, 4),
        ("Heading 2", 11, 6, 3),
        ("List Bullet", 9.5, 0, 2),
        ("Caption", 8.5, 4, 2),
    ):
        style = styles[name]
        style.font.name, style.font.size = "Arial", Pt(size)
        style.font.color.rgb = RGBColor(0x1A, 0x1A, 0x1A)
        style.font.bold = name.startswith(("Title", "Heading"))
        style.paragraph_format.space_before = Pt(before)
        style.paragraph_format.space_after = Pt(after)
        if (fonts := style.element.find(f".//{qn('w:rFonts')}")) is not None:
            for kind in [*fonts.attrib]:
                if "heme" in kind:  # else the font of Word's theme is taken
                    del fonts.attrib[kind]
            fonts.set(qn("w:eastAsia"), "Arial")
    properties = document.core_properties
    properties.title, properties.author = (
        _plain(text)[:_LONGEST_PROPERTY] for text in (headline(report), report.examiner)
    )
    properties.comments = f"Written by AdHominem {report.version}"
    digits = f"{re.sub(r'[^0-9]', '', report.date)[:12]:0<12}"
    moment = datetime.strptime(digits, "%Y%m%d%H%M").replace(tzinfo=UTC)
    properties.created = properties.modified = moment
    properties.last_modified_by = ""
    foot = page.footer.paragraphs[0]
    foot.add_run(f"{_plain(headline(report))}\t\tPage ")
    _field(foot, "PAGE")
    foot.add_run(" of ")
    _field(foot, "NUMPAGES")
    for run in foot.runs:
        run.font.size = Pt(8)


def _field(paragraph: Paragraph, code: str) -> None:
    """A number that Word keeps up to date."""
    for kind, text in (("begin", ""), ("", code), ("end", "")):
        run = paragraph.add_run()
        if kind:
            part = OxmlElement("w:fldChar")
            part.set(qn("w:fldCharType"), kind)
        else:
            part = OxmlElement("w:instrText")
            part.text = text
        run._r.append(part)


def _plain(text: str) -> str:
    """A text without characters that XML cannot contain or that control the reader's program."""
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", harmless(text))


def _element(document: WordDocument, element: Element, *, boxed: bool) -> None:
    match element.tag:
        case "h1":
            document.add_paragraph(_plain(text_of(element)), "Title")
        case "h2":
            document.add_paragraph(_plain(text_of(element)), "Heading 1")
        case "p":
            _shade(_paragraph(document, element), _BOX if boxed else "")
        case "ul":
            for item in element:
                document.add_paragraph(_plain(text_of(item)), "List Bullet")
        case "dl":
            _facts(document, element)
        case "figure":
            drawing, caption = element
            data, inches = drawing_png(drawing)
            document.add_picture(io.BytesIO(data), width=Inches(min(inches, _WIDE / 25.4)))
            document.add_paragraph(_plain(text_of(caption)), "Caption")
        case "div" if style_of(element) == "beware":
            for item in element.iter():
                if item.tag == "h3":
                    paragraph = document.add_paragraph()
                    paragraph.add_run(_plain(text_of(item))).bold = True
                    _shade(paragraph, _BEWARE)
                elif item.tag == "li":
                    _shade(document.add_paragraph(_plain(text_of(item)), "List Bullet"), _BEWARE)
        case _:
            _table(document, element)


def _paragraph(document: WordDocument, element: Element) -> Paragraph:
    paragraph = document.add_paragraph()
    run = paragraph.add_run(_plain(text_of(element)))
    match style_of(element):
        case "number":
            run.font.size, run.bold = Pt(16), True
        case "verbal":
            run.font.size = Pt(11)
        case "strong":
            run.bold = True
        case "note":
            run.font.size = Pt(8)
        case "signature":
            paragraph.paragraph_format.space_before = Pt(36)
            _border(paragraph)
    return paragraph


def _shade(paragraph: Paragraph, colour: str) -> None:
    if colour:
        _insert(paragraph, _shading(colour))


def _shading(colour: str) -> BaseOxmlElement:
    shade = OxmlElement("w:shd")
    for name, value in (("val", "clear"), ("color", "auto"), ("fill", colour)):
        shade.set(qn(f"w:{name}"), value)
    return shade


def _insert(paragraph: Paragraph, part: BaseOxmlElement) -> None:
    properties = paragraph._p.get_or_add_pPr()
    properties.insert_element_before(part, *(f"w:{name}" for name in _AFTER_SHADE))


def _border(paragraph: Paragraph) -> None:
    """A line above a paragraph, for a signature."""
    borders, top = OxmlElement("w:pBdr"), OxmlElement("w:top")
    for name, value in (("val", "single"), ("sz", "6"), ("space", "2"), ("color", "1A1A1A")):
        top.set(qn(f"w:{name}"), value)
    borders.append(top)
    _insert(paragraph, borders)
    paragraph.paragraph_format.right_indent = Mm(0.55 * _WIDE)


def _facts(document: WordDocument, element: Element) -> None:
    pairs = list(zip(element[::2], element[1::2], strict=True))
    if not pairs:
        return
    table = document.add_table(len(pairs), 2)
    for row, (name, fact) in zip(table.rows, pairs, strict=True):
        _fill(row.cells[0], text_of(name), bold=True)
        _fill(row.cells[1], text_of(fact), code=style_of(fact) == "code")
    _set_widths(table, (0.25, 0.75))
    document.add_paragraph().paragraph_format.space_after = Pt(0)


def _table(document: WordDocument, element: Element) -> None:
    shown = table_of(element)
    document.add_paragraph(_plain(shown.caption), "Caption").paragraph_format.keep_with_next = True
    table = document.add_table(1, len(shown.heads), "Table Grid")
    table.alignment = WD_TABLE_ALIGNMENT.LEFT
    for at, head in enumerate(shown.heads):
        _fill(table.rows[0].cells[at], head, bold=True, right=shown.kinds[at] == "figures")
    header = OxmlElement("w:tblHeader")
    header.set(qn("w:val"), "true")
    table.rows[0]._tr.get_or_add_trPr().append(header)
    for number, row in enumerate(shown.rows):
        cells = table.add_row().cells
        for at, cell in enumerate(row):
            kind = shown.kinds[at]
            _fill(cells[at], cell, right=kind == "figures", code=kind == "code")
        if shown.notes:
            cells = table.add_row().cells
            _fill(cells[1].merge(cells[-1]), shown.notes[number], code=True)
    _set_widths(table, shown.widths)
    document.add_paragraph().paragraph_format.space_after = Pt(0)


def _fill(
    cell: _Cell, text: str, *, bold: bool = False, right: bool = False, code: bool = False
) -> None:
    paragraph = cell.paragraphs[0]
    paragraph.paragraph_format.space_after = Pt(1)
    run = paragraph.add_run(_plain(text))
    run.bold, run.font.size = bold, Pt(7.5 if code else 9)
    if code:
        run.font.name = "Courier New"
    if right:
        paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT


def _set_widths(table: Table, shares: Sequence[float]) -> None:
    table.autofit = False
    for column, share in zip(table.columns, shares, strict=True):
        column.width = Mm(share * _WIDE)
    for row in table.rows:
        for cell, share in zip(row._tr.tc_lst, shares, strict=False):
            if cell.grid_span == 1:  # one that goes over several is as wide as they are
                cell.width = Mm(share * _WIDE)


def _heat_maps(document: WordDocument, explanation: Explanation) -> None:
    """The texts, each passage after its number, on the colour of its contribution."""
    strongest = layout.strongest_passage(explanation)
    for text in explanation.texts:
        document.add_paragraph(f"{_plain(text.name)} ({text.side} side)", "Heading 2")
        paragraph = document.add_paragraph()
        levels = layout.passage_levels(text, strongest)
        for passage, level in zip(text.passages, levels, strict=True):
            number = paragraph.add_run(f"[{summary.contributed(passage.contribution)}] ")
            number.font.size = Pt(7)
            run = paragraph.add_run(_plain(text.text[passage.start : passage.end]))
            if level.contribution:
                colour = layout.contribution_colour(level.contribution).removeprefix("#")
                run._r.get_or_add_rPr().append(_shading(colour))
            paragraph.add_run(" ")


def _packed(document: WordDocument) -> bytes:
    """The document with the same date on all its parts, so that its bytes are always the same."""
    written, packed = io.BytesIO(), io.BytesIO()
    document.save(written)
    with ZipFile(written) as source, ZipFile(packed, "w", ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(ZipInfo(entry.filename, _EPOCH), source.read(entry), ZIP_DEFLATED)
    return packed.getvalue()
