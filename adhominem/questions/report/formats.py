"""A report as a file: HTML, PDF or Word. Each holds the data of the report, too, for its check.

.html   in a <script> element that is data
.pdf    as an attached file, report.json
.docx   as custom XML, which Word keeps when the document is edited and saved
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from adhominem.errors import InputError, MissingExtraError, OptionError
from adhominem.questions.report.attached import attached_to_docx, attached_to_pdf, texts_between
from adhominem.questions.report.candidates import CandidatesReport
from adhominem.questions.report.html import report_page
from adhominem.questions.report.report import Report
from adhominem.questions.report.shown import AnyReport
from adhominem.records import parsed_json
from adhominem.score.decision import VerbalScale
from adhominem.text.files import read_bytes, readable
from adhominem.text.streams import text_in
from adhominem.text.writing import replaced_file

_BEGIN, _END = '<script type="application/json" id="adhominem-report">', "</script>"


@dataclass(frozen=True)
class StoredReport:
    """A report as it was read from a file, and the bytes of the file."""

    path: Path
    report: AnyReport
    data: bytes


@dataclass(frozen=True)
class Form:
    """A form of a report: what it needs, how it is written, and where its data are."""

    libraries: tuple[str, ...]
    media_type: str
    write: Callable[[AnyReport], bytes]
    data_in: Callable[[bytes, Path], list[str]]  # the JSON of all reports in it


def report_bytes(report: AnyReport, form: str) -> bytes:
    """A report in the form that the ending of a file stands for; always the same bytes."""
    return form_of(f"report{form}").write(report)


def write_report(report: AnyReport, path: str | Path) -> None:
    """Write a report, whole or not at all, in the form that its name says."""
    path = Path(path)
    data = form_of(path).write(report)
    with replaced_file(path) as partial:
        partial.write_bytes(data)


def form_of(path: str | Path) -> Form:
    """The form that a name stands for; an error where it is none, or cannot be written here."""
    suffix = Path(path).suffix.lower()
    if (form := FORMS.get(suffix)) is None:
        raise OptionError(f"{path} is no .html, .pdf or .docx; expected one of these")
    for library in form.libraries:
        try:
            import_module(library)
        except ImportError:
            raise MissingExtraError(library, "report", f"writing a {suffix}") from None
    return form


def read_report(path: str | Path) -> StoredReport:
    """The report whose data a file holds; an InputError if it holds none, or damaged ones."""
    path = Path(path)
    form = FORMS.get(path.suffix.lower(), FORMS[".html"])
    with readable(path):
        data = read_bytes(path)
    contents = form.data_in(data, path)
    if len(contents) != 1:
        raise InputError(
            "this is no report by AdHominem, or it is damaged: its data are not in it; expected "
            "the .html, .pdf or .docx that `adhominem report` wrote",
            path,
        )
    try:
        return StoredReport(path, _read(parsed_json(contents[0])), data)
    except (ValueError, RecursionError, OptionError) as error:
        raise InputError(
            f"the data of this report are damaged, or of another version ({str(error)[:300]}); "
            "fetch the report again, or check it with the version that wrote it",
            path,
        ) from None


def _read(data: Any) -> AnyReport:
    of_candidates = isinstance(data, dict) and "propositions" in data
    report = (CandidatesReport if of_candidates else Report).from_json(data)
    VerbalScale(report.settings.scale)
    return report


def _page(report: AnyReport) -> bytes:
    return report_page(report).encode("utf-8")


def _pdf(report: AnyReport) -> bytes:
    from adhominem.questions.report.pdf_pages import pdf_of

    return pdf_of(report)


def _docx(report: AnyReport) -> bytes:
    from adhominem.questions.report.word import docx_of

    return docx_of(report)


def _in_page(data: bytes, path: Path) -> list[str]:
    return texts_between(text_in(data, path), _BEGIN, _END)


def _in_pdf(data: bytes, path: Path) -> list[str]:
    return attached_to_pdf(data)


def _in_docx(data: bytes, path: Path) -> list[str]:
    return attached_to_docx(data, path)


_HTML = Form((), "text/html", _page, _in_page)
FORMS: Mapping[str, Form] = {
    ".html": _HTML,
    ".htm": _HTML,
    # matplotlib has the letters.
    ".pdf": Form(("reportlab", "matplotlib"), "application/pdf", _pdf, _in_pdf),
    ".docx": Form(
        ("docx", "matplotlib"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        _docx,
        _in_docx,
    ),
}
