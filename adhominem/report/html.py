"""A report as one page: a single HTML file that fetches nothing, and prints well on A4.

Its data stand in it for machines, too: `check_report` reads them there.
"""

from __future__ import annotations

import re
from pathlib import Path

from adhominem.errors import InputError, OptionError
from adhominem.records import parsed_json
from adhominem.render.html import SCRIPT, STYLE, explanation_fragment
from adhominem.render.templates import asset, embedded_json, render_page
from adhominem.report.report import Report
from adhominem.report.words import headline, sections
from adhominem.scoring.decision import VerbalScale
from adhominem.text.files import read_text

_DATA = re.compile(
    '<script type="application/json" id="adhominem-report">(.*?)</script>', re.DOTALL
)


def report_page(report: Report) -> str:
    """A report as an HTML page; the same report gives the same page."""
    explained = report.explanation
    shown = "" if explained is None else explanation_fragment(explained)
    return render_page(
        "report.html",
        (asset("report.css"), STYLE),
        SCRIPT,
        title=headline(report),
        report=report,
        sections=sections(report, shown),
        data=embedded_json(report.to_json(), indent=1),
    )


def report_in_page(path: Path) -> tuple[Report, str]:
    """The report whose data a page holds, and the page."""
    if path.suffix.lower() == ".pdf":
        raise InputError("a PDF has no data to check; expected the .html of the same report", path)
    page = read_text(path)
    matches = _DATA.findall(page)
    if len(matches) != 1:
        raise InputError(
            "this is no report by AdHominem, or it is damaged: its data are not in it; expected "
            "the .html that `adhominem report` wrote",
            path,
        )
    try:
        report = Report.from_json(parsed_json(matches[0]))
        VerbalScale(report.settings.scale)
        return report, page
    except (ValueError, RecursionError, OptionError) as error:
        raise InputError(
            f"the data of this report are damaged, or of another version ({str(error)[:300]}); "
            "fetch the report again, or check it with the version that wrote it",
            path,
        ) from None
