"""A report as a Word document (.docx), which an examiner can edit.

It is written from the same blocks as the PDF, in Word's own styles, so that navigation, styles and
spelling check work as in any document.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from docx import Document
from docx.document import Document as WordDocument
from docx.enum.table import WD_TABLE_ALIGNMENT
from docx.enum.text import WD_ALIGN_PARAGRAPH, WD_BREAK
from docx.opc.part import Part
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Mm, Pt, RGBColor
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph
from docx.text.run import Run

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
)
from adhominem.questions.report.formats import WORD_DATA, WORD_RELATION, data_of
from adhominem.render import layout
from adhominem.render.drawings import drawing_png
from adhominem.verify.explanation import Explanation

_WIDE = 174.0  # mm of text on A4
_SHADES = {"summary": "F4F4F4", "beware": "FFF6EA"}
_LONGEST_PROPERTY = 255  # characters: python-docx refuses more
_EPOCH = (1980, 1, 1, 0, 0, 0)
_STYLES = {"title": "Title", "section": "Heading 1", "bullet": "List Bullet"}
_UNWRITABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def docx_of(report: AnyReport) -> bytes:
    """The complete document, with the data of the report; the same report gives the same bytes."""
    document = Document()
    _set_up(document, report)
    annexed = False
    for section in paper_sections(report):
        if section.is_annex and not annexed:
            annexed = True
            document.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        for block in section.blocks:
            _write(document, block)
    _attach(document, data_of(report))
    return _packed(document)


def _attach(document: WordDocument, data: str) -> None:
    """Put the data into the document as custom XML, which Word keeps."""
    begin, end = WORD_DATA
    content = f'<?xml version="1.0" encoding="UTF-8"?>\n{begin}{escape(data)}{end}'
    package = document.part.package
    name = package.next_partname("/customXml/item%d.xml")  # a template may have one of its own
    part = Part(name, "application/xml", content.encode("ascii"), package)
    document.part.relate_to(part, WORD_RELATION)


def _set_up(document: WordDocument, report: AnyReport) -> None:
    common, page = common_part(report), document.sections[0]
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
        _plain(text)[:_LONGEST_PROPERTY] for text in (headline(report), common.details.examiner)
    )
    properties.comments = f"Written by AdHominem {common.version}"
    digits = f"{re.sub(r'[^0-9]', '', common.date)[:12]:0<12}"
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


def _write(document: WordDocument, block: Block) -> None:
    match block:
        case Words():
            _words(document, block)
        case Facts(rows):
            _facts(document, rows)
        case Figure(drawing, caption):
            data, wide, _ = drawing_png(drawing)
            document.add_picture(io.BytesIO(data), width=min(Pt(wide), Mm(_WIDE)))
            document.add_paragraph(_plain(caption), "Caption")
        case HeatMaps(explanation):
            _heat_maps(document, explanation)
        case PaperTable():
            _table(document, block)


def _words(document: WordDocument, words: Words) -> None:
    if words.style == "signature":
        document.add_paragraph("_" * 40).paragraph_format.space_before = Pt(36)
    run = document.add_paragraph(style=_STYLES.get(words.kind)).add_run(_plain(words.text))
    match words.style:
        case "number":
            run.font.size, run.bold = Pt(16), True
        case "verbal":
            run.font.size = Pt(11)
        case "strong":
            run.bold = True
        case "note":
            run.font.size = Pt(8)
        case _ if words.kind == "subhead":
            run.bold = True
    if words.shade:
        _shade(run, _SHADES[words.shade])


def _shade(run: Run, colour: str) -> None:
    shade = OxmlElement("w:shd")
    for name, value in (("val", "clear"), ("color", "auto"), ("fill", colour)):
        shade.set(qn(f"w:{name}"), value)
    run._r.get_or_add_rPr().append(shade)


def _facts(document: WordDocument, facts: Sequence[tuple[str, str, str]]) -> None:
    table = document.add_table(len(facts), 2)
    for row, (name, fact, style) in zip(table.rows, facts, strict=True):
        _fill(row.cells[0], name, bold=True)
        _fill(row.cells[1], fact, code=style == "code")
    _set_widths(table, (0.25, 0.75))
    document.add_paragraph().paragraph_format.space_after = Pt(0)


def _table(document: WordDocument, shown: PaperTable) -> None:
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
    for text, passages in layout.heat_maps(explanation):
        document.add_paragraph(f"{_plain(text.name)} ({text.side} side)", "Heading 2")
        paragraph = document.add_paragraph()
        for passage in passages:
            if passage.amount:
                paragraph.add_run(f"[{passage.amount}] ").font.size = Pt(7)
            run = paragraph.add_run(_plain("".join(shown for shown, _ in passage.runs)))
            if passage.levels is not None and passage.levels.contribution:
                colour = layout.contribution_colour(passage.levels.contribution)
                _shade(run, colour.removeprefix("#"))
            paragraph.add_run(" ")


def _packed(document: WordDocument) -> bytes:
    """The document with the same date on all its parts, so that its bytes are always the same."""
    written, packed = io.BytesIO(), io.BytesIO()
    document.save(written)
    with ZipFile(written) as source, ZipFile(packed, "w", ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(ZipInfo(entry.filename, _EPOCH), source.read(entry), ZIP_DEFLATED)
    return packed.getvalue()
