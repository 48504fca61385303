"""A report as one page: a single HTML file that fetches nothing, and prints well on A4.

Its words are those of `report_sections.html`, in every form of a report. Its data stand in it for
machines, too: `read_report` reads them there.
"""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree.ElementTree import Element, TreeBuilder

from markupsafe import Markup

from adhominem.questions.report import several, two_sides
from adhominem.questions.report.candidates import CandidatesReport
from adhominem.questions.report.report import FULL_ANNEX
from adhominem.questions.report.shown import AnyReport
from adhominem.render.html import SCRIPT, STYLE, explanation_fragment
from adhominem.render.templates import asset, embedded_json, render_page
from adhominem.verify.sentences import at_sentences


def report_page(report: AnyReport) -> str:
    """A report as an HTML page; the same report gives the same page."""
    explained = None if isinstance(report, CandidatesReport) else report.explanation
    heat_maps = ""
    if explained is not None and report.settings.annex == FULL_ANNEX:
        heat_maps = explanation_fragment(at_sentences(explained))
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
    """What a report of its kind is called."""
    return several.TITLE if isinstance(report, CandidatesReport) else two_sides.TITLE


def headline(report: AnyReport) -> str:
    """The title of the whole report."""
    title = title_of(report)
    return f"{title}: {report.case}" if report.case else title


def sections(report: AnyReport, heat_maps: str = "") -> Markup:
    """The head and all sections of a report as HTML; `heat_maps` are those of a page."""
    if isinstance(report, CandidatesReport):
        return several.candidates_sections(report)
    return two_sides.two_sides_sections(report, heat_maps)


def elements(html: str) -> list[Element]:
    """The elements of one of our pages, or of a part of it, for paper."""
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
