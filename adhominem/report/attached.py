"""The data of a report that a PDF or a Word document carries: put in, and taken out again.

A PDF has them as an attached file, not packed, so that they are found without a PDF library. A
program that writes the PDF anew may pack them, or leave them out: then the report cannot be checked
by the copy. A Word document has them as custom XML, which Word keeps.
"""

from __future__ import annotations

import io
import re
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
_IN_PDF = re.compile(rb"<<([^<>]*/Type /EmbeddedFile\b[^<>]*)>>\s*stream\r?\n")
_LENGTH = re.compile(rb"/Length (\d{1,9})\b")
_IN_XML = re.compile(rf'<report xmlns="{_SPACE}">(.*?)</report>', re.DOTALL)
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/customXml"
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
    contents = []
    for match in _IN_PDF.finditer(data):
        if length := _LENGTH.search(match[1]):  # what comes next may itself look like an end
            contents.append(
                data[match.end() : match.end() + int(length[1])].decode("ascii", "replace")
            )
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
            contents = []
            for entry in archive.infolist():
                if _ITEM.fullmatch(entry.filename):
                    if entry.file_size > _MOST_BYTES:
                        raise TooLargeError(
                            f"its data have {entry.file_size:,} bytes; expected at most "
                            f"{_MOST_BYTES:,}, as a report has them",
                            path,
                        )
                    with archive.open(entry) as file:
                        contents.append(file.read(_MOST_BYTES).decode("utf-8", "replace"))
    except (BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise DamagedFileError(
            f"the file is damaged or no .docx file at all ({error}); fetch it again", path
        ) from None
    return [match for content in contents for match in _IN_XML.findall(content)]
