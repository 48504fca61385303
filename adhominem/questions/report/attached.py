"""The data of a report that a PDF or a Word document carries: put in, and taken out again.

A PDF has them as an attached file, not packed, so that they are found without a PDF library. A
program that writes the PDF anew may pack them, or leave them out: then the report cannot be checked
by the copy. A Word document has them as custom XML, which Word keeps.
"""

from __future__ import annotations

import io
import lzma
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape
from zipfile import BadZipFile, ZipFile

from adhominem.errors import DamagedFileError, TooLargeError
from adhominem.render.templates import embedded_json

if TYPE_CHECKING:
    from docx.document import Document as WordDocument
    from reportlab.pdfgen.canvas import Canvas

NAME = "report.json"
_SPACE = "urn:adhominem:report:1"
_MOST_BYTES = 64 << 20  # of the data, unpacked
_MOST_REPORTS = 2  # that are looked for: a file with more than one is refused
_IN_PDF = re.compile(rb"<<([^<>]{0,300}/Type /EmbeddedFile\b[^<>]{0,300})>>\s{0,9}stream\r?\n")
_LENGTH = re.compile(rb"/Length (\d{1,9})\b")
_BEGIN, _END = f'<report xmlns="{_SPACE}">', "</report>"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/customXml"
_DAMAGE = (  # what unpacking raises
    BadZipFile,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    zlib.error,
)
_ITEM = re.compile(r"customXml/item\d{1,4}\.xml")


def data_of(report: Any) -> str:
    """The data of a report as ASCII without any character of markup: safe in every form."""
    return str(embedded_json(report.to_json(), indent=1, ensure_ascii=True))


def attach_to_pdf(canvas: Canvas, data: str) -> None:
    """Attach the data to the PDF that a canvas is for."""
    from reportlab.pdfbase.pdfdoc import PDFArray, PDFDictionary, PDFName, PDFStream, PDFString

    document: Any = canvas._doc  # type: ignore[attr-defined]
    content = data.encode("ascii")
    kind = {"Type": PDFName("EmbeddedFile"), "Subtype": "/application#2Fjson"}
    stream = PDFStream(PDFDictionary(kind), content + b"\n", filters=[])
    file = PDFDictionary(
        {
            "Type": PDFName("Filespec"),
            "F": PDFString(NAME),
            "UF": PDFString(NAME),
            "Desc": PDFString("The data of this report, for adhominem check-report"),
            "AFRelationship": PDFName("Data"),
            "EF": PDFDictionary({"F": document.Reference(stream, "report-data")}),
        }
    )
    files = PDFArray([PDFString(NAME), document.Reference(file, "report-file")])
    document.Catalog.Names = PDFDictionary({"EmbeddedFiles": PDFDictionary({"Names": files})})


def attached_to_pdf(data: bytes) -> list[str]:
    """The data of all reports that a PDF has attached."""
    contents: list[str] = []
    at = 0
    while len(contents) < _MOST_REPORTS and (match := _IN_PDF.search(data, at)):
        at = match.end()
        if length := _LENGTH.search(match[1]):  # what comes next may itself look like an end
            end = at + min(int(length[1]), _MOST_BYTES)
            contents.append(data[at:end].decode("ascii", "replace"))
            at = end
    return contents


def attach_to_docx(document: WordDocument, data: str) -> None:
    """Put the data into a Word document."""
    from docx.opc.part import Part

    content = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<report xmlns="{_SPACE}">{escape(data)}</report>'
    )
    package = document.part.package
    name = package.next_partname("/customXml/item%d.xml")  # a template may have one of its own
    part = Part(name, "application/xml", content.encode("ascii"), package)
    document.part.relate_to(part, _RELATION)


def attached_to_docx(data: bytes, path: Path) -> list[str]:
    """The data of all reports that a Word document holds."""
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            items = [item for item in archive.infolist() if _ITEM.fullmatch(item.filename)]
            if (size := sum(item.file_size for item in items)) > _MOST_BYTES:
                raise TooLargeError(
                    f"its data have {size:,} bytes; expected at most {_MOST_BYTES:,}, as a report "
                    "has them",
                    path,
                )
            contents: list[str] = []
            for item in items:
                data_in_item = archive.read(item).decode("utf-8", "replace")
                contents += texts_between(data_in_item, _BEGIN, _END)
                if len(contents) >= _MOST_REPORTS:
                    break
    except _DAMAGE as error:
        raise DamagedFileError(
            f"the file is damaged or no .docx file at all ({error}); fetch it again", path
        ) from None
    return contents


def texts_between(content: str, begin: str, end: str) -> list[str]:
    """What stands between a begin and its end, for the first two: going through it just once."""
    texts: list[str] = []
    at = 0
    while len(texts) < _MOST_REPORTS:
        start = content.find(begin, at)
        stop = -1 if start < 0 else content.find(end, start)
        if stop < 0:
            break
        texts.append(content[start + len(begin) : stop])
        at = stop
    return texts
