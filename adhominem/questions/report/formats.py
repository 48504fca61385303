"""A report as a file: HTML, PDF or Word. Each holds the data of the report, too, for its check.

.html   in a <script> element that is data
.pdf    as an attached file, report.json, not packed, so that it is found without a PDF library. A
        program that writes the PDF again may pack it, or leave it out: then the report cannot be
        checked by that copy
.docx   as custom XML, which Word keeps when the document is edited and saved
"""

from __future__ import annotations

import io
import lzma
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from adhominem.errors import (
    DamagedFileError,
    InputError,
    MissingExtraError,
    OptionError,
    TooLargeError,
)
from adhominem.questions.report.candidates import AnyReport, CandidatesReport
from adhominem.questions.report.document import report_page
from adhominem.questions.report.report import Report
from adhominem.records import SCHEMA, from_json, parsed_json
from adhominem.render.templates import embedded_json
from adhominem.score.decision import VerbalScale
from adhominem.text.files import read_bytes, readable
from adhominem.text.streams import text_in
from adhominem.text.writing import replaced_file

_IN_PAGE = ('<script type="application/json" id="adhominem-report">', "</script>")
DATA_NAME = "report.json"  # of the file that is attached to a PDF
_MOST_BYTES = 64 << 20  # of the data, unpacked
_MOST_REPORTS = 2  # to look for: a file with more than one is refused
_IN_PDF = re.compile(rb"<<([^<>]{0,300}/Type /EmbeddedFile\b[^<>]{0,300})>>\s{0,9}stream\r?\n")
_LENGTH = re.compile(rb"/Length (\d{1,9})\b")
WORD_DATA = ('<report xmlns="urn:adhominem:report:1">', "</report>")
WORD_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/customXml"
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


@dataclass(frozen=True)
class StoredReport:
    """A report that was read from a file, with the bytes of the file."""

    path: Path
    report: AnyReport
    data: bytes


@dataclass(frozen=True)
class Form:
    """A file format of a report: what it requires, how it is written, and where its data are."""

    libraries: tuple[str, ...]
    media_type: str
    write: Callable[[AnyReport], bytes]
    data_in: Callable[[bytes, Path], list[str]]  # the JSON of all reports in it


def report_bytes(report: AnyReport, form: str) -> bytes:
    """A report in the format of a file's ending; always the same bytes."""
    return form_of(f"report{form}").write(report)


def write_report(report: AnyReport, path: str | Path) -> None:
    """Write a report, whole or not at all, in the format of its file's ending."""
    path = Path(path)
    data = form_of(path).write(report)
    with replaced_file(path) as partial:
        partial.write_bytes(data)


def form_of(path: str | Path) -> Form:
    """The format of a file's ending; raises if there is none, or it cannot be written here."""
    suffix = Path(path).suffix.lower()
    if (form := FORMS.get(suffix)) is None:
        raise OptionError(f"{path} does not end in .html, .pdf or .docx; expected one of these")
    for library in form.libraries:
        try:
            import_module(library)
        except ImportError:
            raise MissingExtraError(library, "report", f"writing a {suffix}") from None
    return form


def read_report(path: str | Path) -> StoredReport:
    """The report in a file's data; an InputError if there are none, or they are damaged."""
    path = Path(path)
    form = FORMS.get(path.suffix.lower(), FORMS[".html"])
    with readable(path):
        data = read_bytes(path)
    contents = form.data_in(data, path)
    if len(contents) != 1:
        raise InputError(
            "this is not a report by AdHominem, or it is damaged: its data are not in it; expected "
            "the .html, .pdf or .docx that `adhominem report` wrote",
            path,
        )
    try:
        return StoredReport(path, report_of(parsed_json(contents[0])), data)
    except (ValueError, RecursionError, OptionError) as error:
        raise InputError(
            f"the data of this report are damaged, or of another version ({str(error)[:300]}); "
            "fetch the report again, or check it with the version that wrote it",
            path,
        ) from None


def report_of(data: Any) -> AnyReport:
    """The report whose `to_json` returned the data; anything else raises an OptionError."""
    cls: Any = CandidatesReport if isinstance(data, dict) and "propositions" in data else Report
    report: AnyReport = from_json(cls, data, "report", schema=SCHEMA)
    VerbalScale(report.settings.scale)
    return report


def data_of(report: Any) -> str:
    """The data of a report as ASCII without any character of markup: safe in every format."""
    return str(embedded_json(report.to_json(), indent=1, ensure_ascii=True))


def attached_to_pdf(data: bytes) -> list[str]:
    """The data of all reports attached to a PDF."""
    contents: list[str] = []
    at = 0
    while len(contents) < _MOST_REPORTS and (match := _IN_PDF.search(data, at)):
        at = match.end()
        if length := _LENGTH.search(match[1]):  # what comes next may itself look like an end
            end = at + min(int(length[1]), _MOST_BYTES)
            contents.append(data[at:end].decode("ascii", "replace"))
            at = end
    return contents


def attached_to_docx(data: bytes, path: Path) -> list[str]:
    """The data of all reports in a Word document."""
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
                contents += texts_between(data_in_item, *WORD_DATA)
                if len(contents) >= _MOST_REPORTS:
                    break
    except _DAMAGE as error:
        raise DamagedFileError(
            f"the file is damaged or not a .docx file at all ({error}); fetch it again", path
        ) from None
    return contents


def texts_between(content: str, begin: str, end: str) -> list[str]:
    """The texts between `begin` and `end`, for the first two occurrences, in a single pass."""
    parts = (part.partition(end) for part in content.split(begin, _MOST_REPORTS)[1:])
    return [text for text, is_ended, _ in parts if is_ended]


def _pdf(report: AnyReport) -> bytes:
    from adhominem.questions.report.pdf import pdf_of

    return pdf_of(report)


def _docx(report: AnyReport) -> bytes:
    from adhominem.questions.report.word import docx_of

    return docx_of(report)


_HTML = Form(
    (),
    "text/html",
    lambda report: report_page(report).encode("utf-8"),
    lambda data, path: texts_between(text_in(data, path), *_IN_PAGE),
)
FORMS: Mapping[str, Form] = {
    ".html": _HTML,
    ".htm": _HTML,
    ".pdf": Form(
        ("reportlab", "matplotlib"),  # which has the letters
        "application/pdf",
        _pdf,
        lambda data, path: attached_to_pdf(data),
    ),
    ".docx": Form(
        ("docx", "matplotlib"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        _docx,
        attached_to_docx,
    ),
}
