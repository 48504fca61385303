"""A report as a single page, and the elements of the page that paper formats are made from.

The page is a single HTML file that fetches nothing, and prints well on A4. Its words are those of
`report_sections.html`, in every format of a report: a PDF and a Word document are made of the same
elements. It contains its data for machines, too, where `read_report` finds them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from xml.etree.ElementTree import Element, TreeBuilder

from markupsafe import Markup

from adhominem.questions.report.candidate_words import CANDIDATES_TITLE, candidates_sections
from adhominem.questions.report.candidates import AnyReport, CandidatesReport
from adhominem.questions.report.report import FULL_ANNEX
from adhominem.questions.report.words import TITLE, two_sides_sections
from adhominem.render.html import SCRIPT, STYLE, explanation_fragment
from adhominem.render.templates import asset, embedded_json, render_page
from adhominem.verify.explanation import Explanation, at_sentences

ANNEXES = (  # the ids of their sections
    "annex-material",
    "annex-population",
    "annex-validation",
    "annex-calibration",
    "annex-method",
    "annex-passages",
    "texts",
)
_SPACE = re.compile("[ \n]+")


def report_page(report: AnyReport) -> str:
    """A report as an HTML page; the same report gives the same page."""
    explained = explanation_of(report) if report.settings.annex == FULL_ANNEX else None
    heat_maps = "" if explained is None else explanation_fragment(explained)
    return render_page(
        "report.html",
        (asset("report.css"), *([STYLE] if heat_maps else [])),
        SCRIPT if heat_maps else "",
        title=headline(report),
        report=report,
        sections=sections(report, heat_maps),
        data=embedded_json(report.to_json(), indent=1),
    )


def title_of(report: AnyReport) -> str:
    """The title of all reports of this kind."""
    return CANDIDATES_TITLE if isinstance(report, CandidatesReport) else TITLE


def headline(report: AnyReport) -> str:
    """The title of the report with its case."""
    title = title_of(report)
    return f"{title}: {report.case}" if report.case else title


def sections(report: AnyReport, heat_maps: str = "") -> Markup:
    """The head and all sections of a report as HTML; `heat_maps` are those of a page."""
    if isinstance(report, CandidatesReport):
        return candidates_sections(report)
    return two_sides_sections(report, heat_maps)


def explanation_of(report: AnyReport) -> Explanation | None:
    """The explanation in a report on two sides, if any, with sentences as passages."""
    if isinstance(report, CandidatesReport) or report.explanation is None:
        return None
    return at_sentences(report.explanation)


def elements(html: str) -> list[Element]:
    """The elements of one of our pages, or of a part of it, for paper formats."""
    reader = _Reader()
    reader.feed(f"<main>{html}</main>")
    reader.close()
    return list(reader.tree.close())


class _Reader(HTMLParser):
    """Parses HTML into a tree of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = TreeBuilder()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        self.tree.data(data)


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table of a report."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]  # below each row; empty if there are none
    kinds: tuple[str, ...]  # of the columns: figures, code, or empty
    widths: tuple[float, ...]  # of the columns, as shares


def text_of(element: Element) -> str:
    """The words of an element, with single spaces."""
    return _SPACE.sub(" ", "".join(element.itertext())).strip(" ")


def style_of(element: Element) -> str:
    """The class of an element, which names the style of its words; empty for plain ones."""
    return element.get("class", "").partition(" ")[0].removeprefix("report-")


def table_of(element: Element) -> PaperTable:
    """The table in a `div.report-table`."""
    heads = list(element.iter("th"))
    heads = [head for head in heads if head.get("scope") == "col"]
    rows, notes = [], []
    for body in element.iter("tbody"):
        row, *note = body.iter("tr")
        rows.append(tuple(text_of(cell) for cell in row))
        notes += [text_of(below[1]) for below in note]
    (caption,) = element.iter("caption")
    (table,) = element.iter("table")
    widths = [float(width) for width in table.get("data-widths", "").split()]
    if not widths:  # numbers beside a name, as many as there are
        widths = [40, *[60 / (len(heads) - 1)] * (len(heads) - 1)]
    return PaperTable(
        caption=text_of(caption),
        heads=tuple(text_of(head) for head in heads),
        rows=tuple(rows),
        notes=tuple(notes),
        kinds=tuple(map(style_of, heads)),
        widths=tuple(width / sum(widths) for width in widths),
    )
