"""A report as a document: one page of HTML, and the blocks that paper formats are written from.

The page is a single file that fetches nothing, and prints well on A4. It contains its data for
machines, too, where `read_report` finds them. A PDF and a Word document are written from its
blocks (words, facts, tables, figures), so that the words of all formats are the same: those of
`report_sections.html`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element, fromstring

from adhominem.questions.report.candidates import AnyReport, CandidatesReport, common_part
from adhominem.questions.report.report import FULL_ANNEX
from adhominem.questions.report.words import CANDIDATES_TITLE, TITLE, sections_of
from adhominem.render.html import SCRIPT, STYLE, explanation_fragment
from adhominem.render.templates import asset, embedded_json, render_page
from adhominem.verify.explanation import Explanation, at_sentences

_SPACE = re.compile("[ \n]+")
_NOT_XML = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True)
class Words:
    """A heading, a paragraph or an item of a list."""

    kind: Literal["title", "section", "subhead", "paragraph", "bullet"]
    text: str
    style: str = ""  # number, verbal, strong, note or signature
    shade: str = ""  # summary or beware


@dataclass(frozen=True)
class Facts:
    """Names of facts, each with the fact and its style: empty, or code."""

    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A table of a report."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]  # below each row; empty if there are none
    kinds: tuple[str, ...]  # of the columns: figures, code, or empty
    widths: tuple[float, ...]  # of the columns, as shares


@dataclass(frozen=True)
class Figure:
    """A drawing in SVG with its caption."""

    drawing: Element
    caption: str


@dataclass(frozen=True)
class HeatMaps:
    """The texts with what their passages contribute."""

    explanation: Explanation


Block = Words | Facts | PaperTable | Figure | HeatMaps


@dataclass(frozen=True)
class Section:
    """A section of a report, with its heading as its first block."""

    name: str  # its id on the page; empty for the head of the report
    blocks: tuple[Block, ...]

    @property
    def is_annex(self) -> bool:
        """Whether it follows the pages that are read first."""
        return self.name.startswith("annex-") or self.name == "texts"


def report_page(report: AnyReport) -> str:
    """A report as an HTML page; the same report gives the same page."""
    explained = explanation_of(report) if report.settings.annex == FULL_ANNEX else None
    heat_maps = "" if explained is None else explanation_fragment(explained)
    return render_page(
        "report.html",
        (asset("report.css"), *([STYLE] if heat_maps else [])),
        SCRIPT if heat_maps else "",
        title=headline(report),
        common=common_part(report),
        sections=sections_of(report, heat_maps),
        data=embedded_json(report.to_json(), indent=1),
    )


def title_of(report: AnyReport) -> str:
    """The title of all reports of this kind."""
    return CANDIDATES_TITLE if isinstance(report, CandidatesReport) else TITLE


def headline(report: AnyReport) -> str:
    """The title of the report with its case."""
    title, case = title_of(report), common_part(report).details.case
    return f"{title}: {case}" if case else title


def explanation_of(report: AnyReport) -> Explanation | None:
    """The explanation in a report on two sides, if any, with sentences as passages."""
    if isinstance(report, CandidatesReport) or report.explanation is None:
        return None
    return at_sentences(report.explanation)


def paper_sections(report: AnyReport) -> list[Section]:
    """The report as paper formats write it."""
    explanation, sections = explanation_of(report), []
    for section in section_elements(report):
        name, blocks = section.get("id", ""), list[Block]()
        for element in section:
            if _style_of(element) != "heat":
                blocks += _blocks(element, name)
            elif explanation is not None:
                blocks.append(HeatMaps(explanation))
        sections.append(Section(name, tuple(blocks)))
    return sections


def section_elements(report: AnyReport) -> Element:
    """The head and all sections of a report as elements of HTML, which is XML, too."""
    html = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", sections_of(report))
    return fromstring(f"<main>{html}</main>")


def _blocks(element: Element, section: str) -> Iterator[Block]:
    style = _style_of(element)
    match element.tag:
        case "h1":
            yield Words("title", _text_of(element))
        case "h2":
            yield Words("section", _text_of(element))
        case "p":
            shade = "summary" if section == "summary" else ""
            yield Words("paragraph", _text_of(element), style, shade)
        case "ul":
            yield from (Words("bullet", _text_of(item)) for item in element)
        case "dl" if len(element):
            pairs = zip(element[::2], element[1::2], strict=True)
            yield Facts(
                tuple((_text_of(name), _text_of(fact), _style_of(fact)) for name, fact in pairs)
            )
        case "figure":
            drawing, caption = element
            yield Figure(drawing, _text_of(caption))
        case "div" if style == "beware":
            yield from (Words("subhead", _text_of(h3), "", style) for h3 in element.iter("h3"))
            yield from (Words("bullet", _text_of(item), "", style) for item in element.iter("li"))
        case "div":
            yield _table_of(element)


def _text_of(element: Element) -> str:
    """The words of an element, with single spaces."""
    return _SPACE.sub(" ", "".join(element.itertext())).strip(" ")


def _style_of(element: Element) -> str:
    """The class of an element, which names the style of its words; empty for plain ones."""
    return element.get("class", "").partition(" ")[0].removeprefix("report-")


def _table_of(element: Element) -> PaperTable:
    """The table in a `div.report-table`."""
    heads = [head for head in element.iter("th") if head.get("scope") == "col"]
    rows, notes = [], []
    for body in element.iter("tbody"):
        row, *note = body.iter("tr")
        rows.append(tuple(map(_text_of, row)))
        notes += [_text_of(below[1]) for below in note]
    (caption,) = element.iter("caption")
    (table,) = element.iter("table")
    widths = [float(width) for width in table.get("data-widths", "").split()]
    if not widths:  # numbers beside a name, as many as there are
        widths = [40, *[60 / (len(heads) - 1)] * (len(heads) - 1)]
    return PaperTable(
        caption=_text_of(caption),
        heads=tuple(map(_text_of, heads)),
        rows=tuple(rows),
        notes=tuple(notes),
        kinds=tuple(map(_style_of, heads)),
        widths=tuple(width / sum(widths) for width in widths),
    )
