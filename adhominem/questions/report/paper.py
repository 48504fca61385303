"""The elements of a report as paper needs them: words, and tables with widths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

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
    """All words of an element, with single spaces."""
    return _SPACE.sub(" ", "".join(element.itertext())).strip(" ")


def style_of(element: Element) -> str:
    """The class of an element: what kind of words these are; empty for plain ones."""
    return element.get("class", "").partition(" ")[0].removeprefix("report-")


def table_of(element: Element) -> PaperTable:
    """What a `div.report-table` holds."""
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
