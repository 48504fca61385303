"""A report as PDF, on A4, without a browser. reportlab is imported when one is written."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from adhominem.errors import MissingExtraError
from adhominem.report.candidates import CandidatesReport
from adhominem.report.report import Report
from adhominem.text.writing import replaced_file


def write_report_pdf(report: Report | CandidatesReport, path: Path) -> None:
    """Write it, whole or not at all; the same report gives the same bytes."""
    check_pdf()
    from adhominem.report.pdf_pages import pdf_of

    data = pdf_of(report)
    with replaced_file(path) as partial:
        partial.write_bytes(data)


def check_pdf() -> None:
    """Raise where something is missing that a PDF needs: before all is computed for it."""
    for library in ("reportlab", "matplotlib"):  # the latter has the letters
        try:
            import_module(library)
        except ImportError:
            raise MissingExtraError(library, "report", "writing a PDF") from None
