"""Office files: what of them is the author's text, and what a file that cannot be read says."""

from __future__ import annotations

import builtins
import io
import logging
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docx
import pypdf
import pytest
from docx.oxml import parse_xml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odf import dc, draw, office, opendocument, table, text
from odf.namespaces import XMLNS
from pypdf.errors import DependencyError

from adhominem.errors import (
    DamagedFileError,
    EmptyTextError,
    InputError,
    MissingExtraError,
    NotFoundError,
    TooLargeError,
)
from adhominem.text import office as office_module
from adhominem.text.files import OFFICE_SUFFIXES, read_bytes, reading_at_most
from adhominem.text.office import office_text

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT_WORD = "http://purl.oclc.org/ooxml/wordprocessingml/main"
NAMESPACES = (
    f'xmlns:w="{WORD}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
ODF = "urn:oasis:names:tc:opendocument:xmlns"


def read_office(path: Path) -> str:
    """The text of an office file, read in this process."""
    return office_text(read_bytes(path), path)


def repack(path: Path, changes: dict[str, bytes | None]) -> Path:
    """Replace members of a zip file, add them, or (None) take them out."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()} | changes
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            if data is not None:
                archive.writestr(name, data)
    return path


def member(path: Path, name: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


def w_r(words: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{words}</w:t></w:r>'


def w_p(*inside: str) -> str:
    return f"<w:p>{''.join(inside)}</w:p>"


def write_docx(path: Path, body: str = "") -> Path:
    """A file of python-docx's, with these elements of WordprocessingML as its body."""
    document = docx.Document()
    end = document.element.body.sectPr
    for element in parse_xml(f"<w:body {NAMESPACES}>{body}</w:body>"):
        end.addprevious(element)
    document.save(str(path))
    return path


def write_odt(path: Path, *elements: Any) -> Path:
    document = opendocument.OpenDocumentText()
    for element in elements:
        document.text.addElement(element)
    document.save(str(path))
    return path


def write_odt_xml(path: Path, body: str, before: str = "") -> Path:
    """An .odt with this XML as its body, for what odfpy's grammar does not let one write."""
    names = {"office": "office", "text": "text", "draw": "drawing"}
    declared = " ".join(f'xmlns:{name}="{ODF}:{full}:1.0"' for name, full in names.items())
    content = (
        f'{before}<office:document-content {declared} xmlns:svg="{ODF}:svg-compatible:1.0"'
        ' xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0">'
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return repack(write_odt(path), {"content.xml": content.encode()})


def pdf(*pages: bytes, encoding: str = "") -> bytes:
    """A PDF of pages with a line of text for each line; octal escapes as in PDF strings."""
    font = f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica {encoding} >>"
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        font.encode(),
    ]
    for number, page in enumerate(pages):
        shown = b"".join(b"(%b) Tj T* " % line for line in page.split(b"\n") if line)
        stream = b"BT /F1 12 Tf 14 TL 72 720 Td " + shown + b"ET"
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        ]
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table_at = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer\n<< /Size %d /Root 1 0 R >>\n" % (len(objects) + 1)
    return data + b"startxref\n%d\n%%%%EOF\n" % table_at


def write_pdf(path: Path, *pages: bytes, encoding: str = "") -> Path:
    path.write_bytes(pdf(*pages, encoding=encoding))
    return path


def encrypt(path: Path, password: str) -> Path:
    writer = pypdf.PdfWriter(clone_from=path)
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    with open(path, "wb") as file:
        writer.write(file)
    return path


def write_any(path: Path, words: str = "Some words.") -> Path:
    """A sound file of the format that the suffix says."""
    match path.suffix:
        case ".docx":
            return write_docx(path, w_p(w_r(words)))
        case ".odt":
            return write_odt(path, text.P(text=words))
        case _:
            return write_pdf(path, words.encode())


# --- .docx


def test_docx_gives_headings_paragraphs_lists_and_table_cells_in_order(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Title", 1)
    document.add_paragraph("First.")
    cells = document.add_table(1, 2).rows[0].cells
    cells[0].text, cells[1].text = "left", "right"
    cells[1].add_table(1, 1).rows[0].cells[0].text = "inner"
    document.add_paragraph("item", style="List Bullet")
    document.save(str(tmp_path / "a.docx"))
    assert read_office(tmp_path / "a.docx") == "Title\nFirst.\nleft\nright\ninner\nitem"


def test_docx_joins_runs_and_keeps_the_spaces_in_them(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", w_p(w_r("One "), w_r("  "), w_r("wo"), w_r("rd—“é”")))
    assert read_office(path) == "One   word—“é”"


def test_docx_leaves_empty_paragraphs_out(tmp_path: Path) -> None:
    path = write_docx(tmp_path / "a.docx", w_p() + w_p(w_r("a")) + w_p(w_r(" ")) + w_p(w_r("b")))
    assert read_office(path) == "a\nb"


def test_docx_gives_tabs_breaks_and_hyphens_as_characters(tmp_path: Path) -> None:
    inside = "<w:tab/><w:t>b</w:t><w:ptab/><w:br/><w:t>c</w:t><w:cr/><w:t>e</w:t><w:noBreakHyphen/>"
    path = write_docx(
        tmp_path / "a.docx",
        w_p(f"<w:r><w:t>a</w:t>{inside}<w:t>mail so</w:t><w:softHyphen/><w:t>ft</w:t></w:r>"),
    )
    assert read_office(path) == "a\tb\t\nc\ne-mail soft"


def test_docx_takes_the_tab_stops_of_the_ruler_for_no_tabs(tmp_path: Path) -> None:
    stops = '<w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr>'
    assert read_office(write_docx(tmp_path / "a.docx", w_p(stops, w_r("a")))) == "a"


def test_docx_gives_inserted_and_moved_text_but_not_what_was_there_before(tmp_path: Path) -> None:
    path = write_docx(
        tmp_path / "a.docx",
        w_p(
            w_r("It "),
            '<w:del w:id="1"><w:r><w:delText>was</w:delText><w:tab/></w:r></w:del>',
            f'<w:ins w:id="2">{w_r("is")}</w:ins>',
            f'<w:moveFrom w:id="3">{w_r(" here")}</w:moveFrom>',
            w_r(" now"),
            f'<w:moveTo w:id="4">{w_r(" there")}</w:moveTo>',
        ),
    )
    assert read_office(path) == "It is now there"


def test_docx_joins_paragraphs_whose_break_was_deleted(tmp_path: Path) -> None:
    def ends_with(change: str) -> str:
        return f'<w:pPr><w:rPr><w:{change} w:id="1"/></w:rPr></w:pPr>'

    path = write_docx(
        tmp_path / "a.docx",
        w_p(ends_with("del"), w_r("One "))
        + w_p(ends_with("moveFrom"), w_r("line"))
        + w_p(w_r("."))
        + w_p(ends_with("ins"), w_r("Two")),
    )
    assert read_office(path) == "One line.\nTwo"


def test_docx_gives_links_fields_and_content_controls_but_no_field_codes(tmp_path: Path) -> None:
    field = "<w:r><w:instrText>PAGEREF _Toc</w:instrText></w:r>"
    control = f"<w:sdt><w:sdtPr/><w:sdtContent>{w_p(w_r('control'))}</w:sdtContent></w:sdt>"
    path = write_docx(
        tmp_path / "a.docx",
        w_p(f"<w:hyperlink>{w_r('link')}</w:hyperlink>", field, w_r(" 7"))
        + control
        + w_p(f"<w:sdt><w:sdtContent>{w_r('in')}</w:sdtContent></w:sdt>", w_r("line"))
        + w_p(f"<w:smartTag>{w_r('smart')}</w:smartTag>"),
    )
    assert read_office(path) == "link 7\ncontrol\ninline\nsmart"


def test_docx_leaves_out_the_prompt_of_a_content_control_not_filled_in(tmp_path: Path) -> None:
    prompt = "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    path = write_docx(
        tmp_path / "a.docx", w_p(w_r("Name: "), prompt.format(w_r("Click or tap here")))
    )
    assert read_office(path) == "Name: "


def test_docx_gives_a_text_box_once_and_after_its_paragraph(tmp_path: Path) -> None:
    boxed = f"<w:txbxContent>{w_p(w_r('In the box.'))}{w_p(w_r('Too.'))}</w:txbxContent>"
    path = write_docx(
        tmp_path / "a.docx",
        w_p(
            w_r("Before"),
            "<w:r><mc:AlternateContent>"
            f'<mc:Choice Requires="wps"><wps:txbx>{boxed}</wps:txbx></mc:Choice>'
            f"<mc:Fallback><w:pict><v:textbox>{boxed}</v:textbox></w:pict></mc:Fallback>"
            "</mc:AlternateContent></w:r>",
            w_r(" and after."),
        )
        + w_p(f"<w:r><w:pict><v:textbox>{boxed}</v:textbox></w:pict></w:r>"),
    )
    assert read_office(path) == (
        "Before and after.\nIn the box.\nToo.\nIn the box.\nToo."  # the second has no fallback
    )


def test_docx_leaves_out_formulas_reading_aids_and_comments_in_the_xml(tmp_path: Path) -> None:
    ruby = f"<w:ruby><w:rt>{w_r('かん')}</w:rt><w:rubyBase>{w_r('漢')}</w:rubyBase></w:ruby>"
    formula = "<m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>"
    path = write_docx(tmp_path / "a.docx", w_p(f"<w:r>{ruby}</w:r>", formula, "<!-- no -->"))
    assert read_office(path) == "漢"


def test_docx_leaves_headers_footers_and_comments_out(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Body.")
    document.sections[0].header.paragraphs[0].text = "Header"
    document.sections[0].footer.paragraphs[0].text = "Footer"
    document.add_comment(paragraph.runs, text="Comment", author="A", initials="A")
    document.save(str(tmp_path / "a.docx"))
    assert read_office(tmp_path / "a.docx") == "Body."


def test_docx_is_read_though_parts_that_are_not_needed_are_missing(tmp_path: Path) -> None:
    path = repack(write_any(tmp_path / "a.docx"), {"word/styles.xml": None})
    with pytest.raises(KeyError):
        docx.Document(str(path))
    assert read_office(path) == "Some words."


def test_docx_is_read_with_the_main_document_under_another_name(tmp_path: Path) -> None:
    path = write_any(tmp_path / "a.docx")
    relations = member(path, "_rels/.rels").replace(b'"word/document.xml', b'"/word/document2.xml')
    document = member(path, "word/document.xml")
    changes = {"_rels/.rels": relations, "word/document2.xml": document, "word/document.xml": None}
    assert read_office(repack(path, changes)) == "Some words."


def test_docx_saved_as_strict_open_xml_is_read(tmp_path: Path) -> None:
    path = write_any(tmp_path / "a.docx")
    document = member(path, "word/document.xml").replace(WORD.encode(), STRICT_WORD.encode())
    assert read_office(repack(path, {"word/document.xml": document})) == "Some words."


# --- .odt


def test_odt_gives_headings_paragraphs_lists_and_table_cells_in_order(tmp_path: Path) -> None:
    items = text.List()
    item = text.ListItem()
    item.addElement(text.P(text="item"))
    items.addElement(item)
    grid, row = table.Table(), table.TableRow()
    for words in ("left", "right"):
        cell = table.TableCell()
        cell.addElement(text.P(text=words))
        row.addElement(cell)
    grid.addElement(row)
    path = write_odt(
        tmp_path / "a.odt",
        text.H(outlinelevel=1, text="Title"),
        text.P(text="First."),
        items,
        grid,
        text.P(),
        text.P(text="Last—“é”."),
    )
    assert read_office(path) == "Title\nFirst.\nitem\nleft\nright\nLast—“é”."


def test_odt_gives_spaces_tabs_and_breaks_as_typed(tmp_path: Path) -> None:
    paragraph = text.P()
    paragraph.addElement(text.S())
    paragraph.addText("a")
    paragraph.addElement(text.S(c=3))
    paragraph.addText("b")
    paragraph.addElement(text.Tab())
    paragraph.addElement(text.Span(text="c"))
    paragraph.addElement(text.LineBreak())
    paragraph.addElement(text.A(href="http://example.org", text="d"))
    assert read_office(write_odt(tmp_path / "a.odt", paragraph)) == " a   b\tc\nd"


def test_odt_collapses_the_white_space_of_the_xml(tmp_path: Path) -> None:
    path = write_odt_xml(
        tmp_path / "a.odt",
        "\n <text:p>\n  One\n\t<text:span>  line, </text:span> <text:s/>two.\n </text:p>\n ",
    )
    assert read_office(path) == "One line,  two."


def test_odt_does_not_fill_the_memory_with_a_forged_count_of_spaces(tmp_path: Path) -> None:
    path = write_odt_xml(tmp_path / "a.odt", '<text:p>a<text:s text:c="99999999999"/>b</text:p>')
    assert read_office(path) == "a" + 1000 * " " + "b"


def test_odt_leaves_out_deleted_text_comments_and_notes(tmp_path: Path) -> None:
    deleted = text.Deletion()
    deleted.addElement(text.P(text="deleted"))
    region = text.ChangedRegion(qattributes={(XMLNS, "id"): "c1"})
    region.addElement(deleted)
    changes = text.TrackedChanges()
    changes.addElement(region)
    comment = office.Annotation()
    comment.addElement(dc.Creator(text="Reviewer"))
    comment.addElement(text.P(text="comment"))
    note = text.Note(noteclass="footnote")
    note.addElement(text.NoteCitation(text="1"))
    body = text.NoteBody()
    body.addElement(text.P(text="footnote"))
    note.addElement(body)
    paragraph = text.P(text="Before")
    for element in (comment, text.Change(changeid="c1"), note):
        paragraph.addElement(element)
    paragraph.addText(" and after.")
    assert read_office(write_odt(tmp_path / "a.odt", changes, paragraph)) == "Before and after."


def test_odt_gives_a_text_box_after_its_paragraph(tmp_path: Path) -> None:
    box = draw.TextBox()
    box.addElement(text.P(text="In the box."))
    frame = draw.Frame()
    frame.addElement(box)
    paragraph = text.P(text="Before")
    paragraph.addElement(frame)
    paragraph.addText(" and after.")
    path = write_odt(tmp_path / "a.odt", paragraph)
    assert read_office(path) == "Before and after.\nIn the box."


def test_odt_leaves_out_pictures_with_their_descriptions_numbers_and_reading_aids(
    tmp_path: Path,
) -> None:
    path = write_odt_xml(
        tmp_path / "a.odt",
        "<text:h><text:number>1.</text:number>Title</text:h>"
        "<text:p>a<draw:frame><draw:image><office:binary-data>QUJD</office:binary-data>"
        "</draw:image><svg:title>A cat</svg:title><svg:desc>It sits.</svg:desc></draw:frame>b"
        "<text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>かん</text:ruby-text>"
        "</text:ruby><text:placeholder>&lt;Name&gt;</text:placeholder>"
        "<text:script>run()</text:script><loext:content-control>☐</loext:content-control></text:p>",
    )
    assert read_office(path) == "Title\nab漢☐"


def test_odt_leaves_out_a_chart_inside_and_goes_on_after_it(tmp_path: Path) -> None:
    inner = "<office:document><office:body><text:p>in</text:p></office:body></office:document>"
    path = write_odt_xml(
        tmp_path / "a.odt",
        f"<text:p>a<draw:object>{inner}</draw:object>b</text:p><text:p>c</text:p>",
    )
    assert read_office(path) == "ab\nc"


def test_odt_is_read_though_odfpy_does_not_know_its_styles(tmp_path: Path) -> None:
    path = write_odt_xml(tmp_path / "a.odt", "<text:p>a</text:p>")
    style = b'<style:style xmlns:style="%b:style:1.0" style:family="data-style"/>' % ODF.encode()
    styles = b"<office:automatic-styles>%b</office:automatic-styles><office:body>" % style
    content = member(path, "content.xml").replace(b"<office:body>", styles)
    repack(path, {"content.xml": content})
    with pytest.raises(ValueError, match="'data-style' not allowed"):
        opendocument.load(str(path))
    assert read_office(path) == "a"


def test_odt_of_which_only_the_content_is_sound_is_read(tmp_path: Path) -> None:
    path = repack(
        write_any(tmp_path / "a.odt"), {"styles.xml": b"<", "META-INF/manifest.xml": None}
    )
    assert read_office(path) == "Some words."


# --- .pdf


def test_pdf_gives_the_lines_of_all_pages(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", b"One\nline.", b"", b"Page three.")
    assert read_office(path) == "One\nline.\nPage three."


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"an exam-\nple", "an example"),
        (b"an exam- \nple", "an example"),
        (b"Jean-\nPaul", "Jean-\nPaul"),
        (b"1990-\n95", "1990-\n95"),
        (b"so -\nand on", "so -\nand on"),
        (b"caf\\351-\n\\351t\\351", "caféété"),
        (b"exam\\255\nple", "example"),  # a soft hyphen
        (b"exam-ple", "exam-ple"),
    ],
)
def test_pdf_joins_a_divided_word_only_before_a_small_letter(
    tmp_path: Path, lines: bytes, expected: str
) -> None:
    path = write_pdf(tmp_path / "a.pdf", lines, encoding="/Encoding /WinAnsiEncoding")
    assert read_office(path) == expected


def test_pdf_joins_a_word_divided_at_the_end_of_a_page(tmp_path: Path) -> None:
    assert read_office(write_pdf(tmp_path / "a.pdf", b"an exam-", b"ple")) == "an example"


def test_pdf_gives_ligatures_as_letters(tmp_path: Path) -> None:
    path = write_pdf(
        tmp_path / "a.pdf", b"\\256nd a \\257y", encoding="/Encoding /StandardEncoding"
    )
    with open(path, "rb") as file:
        assert pypdf.PdfReader(file).pages[0].extract_text() == "ﬁnd a ﬂy\n"
    assert read_office(path) == "find a fly"


def test_pdf_encrypted_with_an_empty_password_is_read(tmp_path: Path) -> None:
    path = encrypt(write_any(tmp_path / "a.pdf"), "")
    with open(path, "rb") as file:
        assert pypdf.PdfReader(file).is_encrypted
    assert read_office(path) == "Some words."


def test_pdf_with_a_cipher_that_is_not_installed_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: io.BytesIO) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    path = write_any(tmp_path / "a.pdf")
    monkeypatch.setattr(pypdf, "PdfReader", refuse)
    with pytest.raises(InputError) as caught:
        read_office(path)
    assert str(caught.value) == (
        f"{path}: the file is encrypted or packed in a way that needs a further library "
        "(cryptography>=3.1 is required for AES algorithm); install that, or save an "
        "unprotected copy"
    )


@pytest.mark.parametrize("pages", [(), (b"",), (b"", b"")])
def test_pdf_without_text_is_taken_for_a_scan(tmp_path: Path, pages: tuple[bytes, ...]) -> None:
    path = write_pdf(tmp_path / "a.pdf", *pages)
    with pytest.raises(EmptyTextError) as caught:
        read_office(path)
    assert str(caught.value) == (
        f"{path}: the PDF holds no text, probably only images of pages; run OCR on it first"
    )


@pytest.mark.parametrize(
    "error", [KeyError("/Root"), ValueError(), RecursionError("deep"), AssertionError("odd")]
)
def test_whatever_pypdf_raises_is_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(page: pypdf.PageObject) -> str:
        raise error

    path = write_any(tmp_path / "a.pdf")
    monkeypatch.setattr(pypdf.PageObject, "extract_text", fail)
    with pytest.raises(DamagedFileError) as caught:
        read_office(path)
    assert caught.value.path == str(path)
    assert caught.value.__cause__ is error
    assert f"({type(error).__name__}: " in caught.value.problem


def test_memory_that_runs_out_is_an_error_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(page: pypdf.PageObject) -> str:
        raise MemoryError

    path = write_any(tmp_path / "a.pdf")
    monkeypatch.setattr(pypdf.PageObject, "extract_text", fail)
    with pytest.raises(TooLargeError, match=r"a\.pdf: it fills the memory; save its text alone"):
        read_office(path)


def test_what_pypdf_mends_goes_to_the_log_if_there_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(b"Some words.")[:-2])
    with caplog.at_level(logging.WARNING, "pypdf"):
        assert read_office(path) == "Some words."
    assert [record.getMessage() for record in caplog.records] == ["EOF marker seems truncated"]


def test_what_pypdf_mends_is_not_printed_where_there_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(b"Some words.")[:-2])
    program = (
        "import pathlib, sys; from adhominem.text.office import office_text; "
        "path = pathlib.Path(sys.argv[1]); print(office_text(path.read_bytes(), path))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("Some words.\n", "")


# --- all of them


@pytest.mark.parametrize("suffix", OFFICE_SUFFIXES)
def test_a_suffix_in_capitals_is_read_as_well(tmp_path: Path, suffix: str) -> None:
    path = write_any(tmp_path / f"a{suffix}").rename(tmp_path / f"A{suffix.upper()}")
    assert read_office(path) == "Some words."


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.rtf"
    path.write_text("{\\rtf1}")
    with pytest.raises(InputError) as caught:
        read_office(path)
    assert str(caught.value) == f"{path}: expected a file ending in .docx, .odt, .pdf"


@pytest.mark.parametrize("suffix", OFFICE_SUFFIXES)
def test_a_missing_file_and_a_folder_are_not_found(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(NotFoundError, match="there is no such file") as missing:
        read_office(tmp_path / f"a{suffix}")
    assert missing.value.path == str(tmp_path / f"a{suffix}")
    (tmp_path / f"b{suffix}").mkdir()
    with pytest.raises(NotFoundError, match="this is a folder") as folder:
        read_office(tmp_path / f"b{suffix}")
    assert folder.value.path == str(tmp_path / f"b{suffix}")


@pytest.mark.parametrize("suffix", [".docx", ".odt"])
@pytest.mark.parametrize("words", ["", " \u00a0"])
def test_a_document_without_visible_text_is_empty(tmp_path: Path, suffix: str, words: str) -> None:
    path = write_any(tmp_path / f"a{suffix}", words)
    with pytest.raises(EmptyTextError) as caught:
        read_office(path)
    assert str(caught.value) == (
        f"{path}: the document holds no text; expected at least one paragraph"
    )


def without(*modules: str) -> Callable[..., Any]:
    """An import that does not find these."""
    genuine = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.split(".")[0] in modules:
            raise ModuleNotFoundError(f"No module named '{name}'")
        return genuine(name, *rest)

    return refuse


def test_a_missing_library_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_any(tmp_path / "a.pdf")
    monkeypatch.setattr(builtins, "__import__", without("pypdf"))
    with pytest.raises(MissingExtraError) as caught:
        read_office(path)
    assert str(caught.value) == (
        "reading .pdf files needs the library 'pypdf', which is not installed. "
        "Install it with: pip install --editable '.[documents]' (in your clone of the repository)"
    )


@pytest.mark.parametrize("suffix", [".docx", ".odt"])
def test_docx_and_odt_need_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = write_any(tmp_path / f"a{suffix}")
    monkeypatch.setattr(builtins, "__import__", without("docx", "lxml", "odf", "defusedxml"))
    assert read_office(path) == "Some words."


def test_importing_the_module_imports_none_of_the_libraries() -> None:
    program = (
        "import sys; import adhominem.text.office; "
        "print({'docx', 'odf', 'pypdf', 'lxml', 'defusedxml'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def cut_in_half(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def fill_with_words(path: Path) -> None:
    path.write_bytes(b"This is not what its name says.")


def make_empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("suffix", OFFICE_SUFFIXES)
@pytest.mark.parametrize("damage", [cut_in_half, fill_with_words, make_empty])
def test_a_damaged_file_says_what_is_wrong_and_what_to_do(
    tmp_path: Path, suffix: str, damage: Callable[[Path], None]
) -> None:
    path = write_any(tmp_path / f"a{suffix}")
    damage(path)
    with pytest.raises(DamagedFileError) as caught:
        read_office(path)
    assert caught.value.path == str(path)
    assert caught.value.__cause__ is not None
    reason = f"{type(caught.value.__cause__).__name__}: {caught.value.__cause__}"
    assert caught.value.problem == (
        f"the file is damaged or not a {suffix} file at all ({reason}); fetch it again, "
        "or open it in the program that wrote it and save it again"
    )


@pytest.mark.parametrize(
    ("suffix", "part"),
    [(".docx", "_rels/.rels"), (".docx", "word/document.xml"), (".odt", "content.xml")],
)
@pytest.mark.parametrize("content", [None, b"", b"<a><b></a>", b"\xff\xfe\x00", b"<a:b/>"])
def test_a_file_without_its_main_part_or_with_it_broken_is_damaged(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    suffix: str,
    part: str,
    content: bytes | None,
) -> None:
    path = repack(write_any(tmp_path / f"a{suffix}"), {part: content})
    with pytest.raises(DamagedFileError, match="the file is damaged or no") as caught:
        read_office(path)
    assert caught.value.path == str(path)
    assert tuple(capfd.readouterr()) == ("", "")  # odfpy's own loader prints the broken XML


@pytest.mark.parametrize("part", ["word/document.xml", "content.xml"])
def test_xml_cut_off_in_mid_text_is_damage_not_half_a_text(tmp_path: Path, part: str) -> None:
    path = write_any(tmp_path / ("a.odt" if part == "content.xml" else "a.docx"))
    content = member(path, part)
    cut = content.index(b"Some words.") + len(b"Some wo")
    with pytest.raises(DamagedFileError):
        read_office(repack(path, {part: content[:cut]}))


def test_a_docx_that_names_no_main_document_is_damaged(tmp_path: Path) -> None:
    path = repack(write_any(tmp_path / "a.docx"), {"_rels/.rels": b"<Relationships/>"})
    with pytest.raises(DamagedFileError) as caught:
        read_office(path)
    assert str(caught.value) == (f"{path}: the file names no main document; save it again as .docx")


def test_docx_is_read_however_deep_it_is_nested(tmp_path: Path) -> None:
    path = write_any(tmp_path / "a.docx")
    deep = "<w:smartTag>" * 5_000 + w_r("x") + "</w:smartTag>" * 5_000
    document = f"<w:document {NAMESPACES}>{w_p(deep)}</w:document>".encode()
    assert read_office(repack(path, {"word/document.xml": document})) == "x"


def test_odt_is_read_however_deep_it_is_nested(tmp_path: Path) -> None:
    deep = "<text:span>" * 50_000 + "x" + "</text:span>" * 50_000
    assert read_office(write_odt_xml(tmp_path / "a.odt", f"<text:p>{deep}</text:p>")) == "x"


@pytest.mark.parametrize("target", ["SYSTEM '{url}'", "'inner'"])
def test_docx_with_entities_is_refused_and_nothing_is_fetched(tmp_path: Path, target: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    path = write_any(tmp_path / "a.docx")
    doctype = f"<!DOCTYPE w [<!ENTITY e {target.format(url=secret.as_uri())}>]>"
    document = f"{doctype}<w:document {NAMESPACES}>{w_p(w_r('a&e;b'))}</w:document>"
    with pytest.raises(DamagedFileError) as caught:
        read_office(repack(path, {"word/document.xml": document.encode()}))
    assert str(caught.value) == (
        f"{path}: the file declares an XML document type, which no office program does; "
        "save it again"
    )


@pytest.mark.parametrize("target", ["SYSTEM '{url}'", "'inner'"])
def test_odt_with_entities_is_refused_and_nothing_is_fetched(tmp_path: Path, target: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    doctype = f"<!DOCTYPE d [<!ENTITY e {target.format(url=secret.as_uri())}>]>"
    path = write_odt_xml(tmp_path / "a.odt", "<text:p>a&e;b</text:p>", before=doctype)
    with pytest.raises(DamagedFileError, match="declares an XML document type") as caught:
        read_office(path)
    assert caught.value.path == str(path)


MAIN_PARTS = [(".docx", "word/document.xml"), (".odt", "content.xml")]


@pytest.mark.parametrize(("suffix", "part"), MAIN_PARTS)
def test_xml_that_unpacks_to_more_than_the_limit_is_refused_and_pictures_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, part: str
) -> None:
    odd = {"picture.png": bytes(1_000_000), "META-INF/manifest.xml": None}
    path = repack(write_any(tmp_path / f"a{suffix}"), odd)
    size = len(member(path, part))
    monkeypatch.setattr(office_module, "_XML_PER_TEXT", 0)
    monkeypatch.setattr(office_module, "_MOST_XML", size)
    assert read_office(path) == "Some words."
    monkeypatch.setattr(office_module, "_MOST_XML", size - 1)
    with pytest.raises(TooLargeError, match=f"unpacked, its {part} has more than") as caught:
        read_office(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("suffix", OFFICE_SUFFIXES)
def test_a_text_of_more_bytes_than_one_may_have_is_refused(tmp_path: Path, suffix: str) -> None:
    path = write_any(tmp_path / f"a{suffix}", "Some words.")
    with reading_at_most(11):
        assert read_office(path) == "Some words."
    with (
        reading_at_most(10),
        pytest.raises(TooLargeError, match=r"has more than 10 bytes; .* limit with --max-bytes"),
    ):
        read_office(path)


@pytest.mark.parametrize(("suffix", "part"), MAIN_PARTS)
@pytest.mark.parametrize(
    ("name", "value", "xml"),
    [
        ("_MOST_ELEMENTS", 1000, "<a/>" * 1000),
        ("_MOST_NAMES", 1000, "".join(f"<a{number}/>" for number in range(1000))),
        ("_LONGEST_TAG", 1000, f"<a b='{'c' * 3_000_000}'/>"),
        ("_LONGEST_NAMESPACE", 300, f"<a xmlns='{'c' * 301}'/>"),
    ],
)
def test_xml_that_no_office_program_writes_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    part: str,
    name: str,
    value: int,
    xml: str,
) -> None:
    path = repack(write_any(tmp_path / f"a{suffix}"), {part: f"<x>{xml}</x>".encode()})
    monkeypatch.setattr(office_module, name, value)
    with pytest.raises(DamagedFileError, match="its XML has more than") as caught:
        read_office(path)
    assert caught.value.path == str(path)


@pytest.mark.parametrize(("suffix", "part"), MAIN_PARTS)
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_packed_by_another_method_is_refused(
    tmp_path: Path, suffix: str, part: str, method: int
) -> None:
    path = write_any(tmp_path / f"a{suffix}")
    content = member(path, part)
    repack(path, {part: None})
    with zipfile.ZipFile(path, "a", method) as archive:
        archive.writestr(part, content)
    with pytest.raises(DamagedFileError, match="packed by an odd method"):
        read_office(path)


def test_a_zip_of_more_parts_than_any_office_file_has_is_refused_before_they_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_any(tmp_path / "a.docx")
    path.write_bytes(path.read_bytes() + 100_001 * b"PK\1\2")
    monkeypatch.setattr(office_module, "ZipFile", lambda *details: pytest.fail("listed"))
    with pytest.raises(DamagedFileError, match="more than 100,000 parts"):
        read_office(path)


def test_an_understated_size_in_the_zip_is_damage_not_a_way_round_the_limit(
    tmp_path: Path,
) -> None:
    path = repack(write_any(tmp_path / "a.odt"), {"content.xml": b"<a>" + bytes(1_000_000)})
    size = (1_000_003).to_bytes(4, "little")
    data = path.read_bytes()
    assert data.count(size) == 2
    path.write_bytes(data.replace(size, (3).to_bytes(4, "little")))
    with pytest.raises(DamagedFileError, match="Bad CRC-32") as caught:
        read_office(path)
    assert caught.value.path == str(path)


def test_a_docx_with_a_password_says_to_save_an_unprotected_copy(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504))
    with pytest.raises(InputError) as caught:
        read_office(path)
    assert str(caught.value) == (
        f"{path}: the file is protected by a password, or of a Word before 2007; "
        "save an unprotected copy as .docx and read that"
    )


def protected_odt(path: Path) -> Path:
    entry = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    manifest = f'<manifest:manifest xmlns:manifest="{ODF}:manifest:1.0">{entry}</manifest:manifest>'
    return repack(
        write_any(path), {"META-INF/manifest.xml": manifest.encode(), "content.xml": bytes(99)}
    )


def protected_pdf(path: Path) -> Path:
    return encrypt(write_any(path), "secret")


@pytest.mark.parametrize(("name", "write"), [("a.odt", protected_odt), ("a.pdf", protected_pdf)])
def test_a_file_with_a_password_says_to_save_an_unprotected_copy(
    tmp_path: Path, name: str, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path / name)
    with pytest.raises(InputError) as caught:
        read_office(path)
    assert type(caught.value) is InputError
    assert str(caught.value) == (
        f"{path}: the file is protected by a password; save an unprotected copy and read that"
    )


@pytest.mark.parametrize("suffix", OFFICE_SUFFIXES)
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(place=st.floats(0, 1, exclude_max=True), noise=st.binary(max_size=8), cut=st.booleans())
def test_a_file_with_noise_in_it_is_read_or_refused_with_its_path(
    tmp_path: Path, suffix: str, place: float, noise: bytes, cut: bool
) -> None:
    sound = tmp_path / f"sound{suffix}"
    data = (sound if sound.exists() else write_any(sound)).read_bytes()
    at = int(place * len(data))
    path = tmp_path / f"noisy{suffix}"
    path.write_bytes(data[:at] + noise + (b"" if cut else data[at + len(noise) :]))
    try:
        assert read_office(path).strip()
    except InputError as error:
        assert error.path == str(path)  # noqa: PT017


def test_the_main_document_is_found_whatever_the_namespace_of_its_relation(tmp_path: Path) -> None:
    path = write_any(tmp_path / "a.docx")
    named = member(path, "_rels/.rels")
    bare = named.replace(
        b' xmlns="http://schemas.openxmlformats.org/package/2006/relationships"', b""
    )
    assert bare != named
    repack(path, {"_rels/.rels": bare})
    assert read_office(path) == "Some words."
