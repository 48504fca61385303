"""A report as one page: a single HTML file that fetches nothing, and prints well on A4.

Its data stand in it for machines, too: `check_report` reads them there.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

from adhominem.errors import InputError, OptionError
from adhominem.harmless import on_page
from adhominem.records import parsed_json
from adhominem.render.html import SCRIPT, STYLE, explanation_fragment
from adhominem.report.blocks import (
    Block,
    Bullets,
    Facts,
    Figure,
    Paragraph,
    Section,
    Table,
)
from adhominem.report.report import Report
from adhominem.report.tippett import as_svg
from adhominem.report.words import TITLE, head, headline, sections
from adhominem.scoring.verbal import VerbalScale
from adhominem.text.files import read_text

_PAGE_STYLE = Path(__file__).with_name("report.css").read_text("utf-8")
_OPEN, _CLOSE = '<script type="application/json" id="adhominem-report">', "</script>"
_DATA = re.compile(f"{re.escape(_OPEN)}(.*?){_CLOSE}", re.DOTALL)


def report_page(report: Report) -> str:
    """The page, the same for the same report."""
    style = f"{_PAGE_STYLE}\n{STYLE}"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    shown = "\n".join(_section(section) for section in sections(report))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="AdHominem {on_page(report.version)}">
<title>{on_page(headline(report))}</title>
<style>{style}</style>
</head>
<body>
<main>
<header>
<h1>{TITLE}</h1>
{_block(head(report))}
</header>
{shown}
</main>
<footer><p>Written by AdHominem {on_page(report.version)}, {on_page(report.date)}.</p></footer>
{_OPEN}{_data(report)}{_CLOSE}
<script>{SCRIPT}</script>
</body>
</html>
"""


def report_in_page(path: Path) -> tuple[Report, str]:
    """The report whose data a page holds, and the page."""
    if path.suffix.lower() == ".pdf":
        raise InputError("a PDF has no data to check; expected the .html of the same report", path)
    page = read_text(path)
    found = _DATA.findall(page)
    if len(found) != 1:
        raise InputError(
            "this is no report by AdHominem, or it is damaged: its data are not in it; expected "
            "the .html that `adhominem report` wrote",
            path,
        )
    try:
        report = Report.from_json(parsed_json(found[0]))
        VerbalScale(report.settings.scale)
        return report, page
    except (ValueError, RecursionError, OptionError) as error:
        raise InputError(
            f"the data of this report are damaged, or of another version ({str(error)[:300]}); "
            "fetch the report again, or check it with the version that wrote it",
            path,
        ) from None


def _data(report: Report) -> str:
    """As JSON in which nothing ends the element: neither a tag nor a comment begins in it."""
    text = json.dumps(report.to_json(), indent=1, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _section(section: Section) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    return f"""<section id="{section.name}">
<h2>{on_page(section.title)}</h2>
{blocks}
</section>"""


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return _paragraph(block)
        case Bullets():
            return _bullets(block)
        case Facts():
            return _facts(block)
        case Table():
            return _table(block)
        case Figure():
            caption = on_page(block.caption)
            return (
                f"<figure>\n{as_svg(block.drawing)}\n<figcaption>{caption}</figcaption>\n</figure>"
            )
        case _:
            return explanation_fragment(block.explanation)


def _paragraph(paragraph: Paragraph) -> str:
    text = on_page(paragraph.text)
    if paragraph.style == "number":
        name, _, number = text.rpartition(" ")
        return f'<p class="report-number">{name} <strong>{number}</strong></p>'
    css_class = f' class="report-{paragraph.style}"' if paragraph.style else ""
    return f"<p{css_class}>{text}</p>"


def _bullets(bullets: Bullets) -> str:
    items = "\n".join(f"<li>{on_page(item)}</li>" for item in bullets.items)
    listed = f"<ul>\n{items}\n</ul>"
    if not bullets.title:
        return listed
    return f'<div class="report-beware">\n<h3>{on_page(bullets.title)}</h3>\n{listed}\n</div>'


def _facts(facts: Facts) -> str:
    rows = []
    for name, text in facts.rows:
        code = ' class="report-code"' if name in facts.code else ""
        rows.append(f"<dt>{on_page(name)}</dt><dd{code}>{on_page(text)}</dd>")
    listed = "\n".join(rows)
    return f'<dl class="report-facts">\n{listed}\n</dl>'


def _table(table: Table) -> str:
    right = ' class="report-figures"'
    heads = "".join(
        f'<th scope="col"{right if at >= table.numbers_from else ""}>{on_page(each)}</th>'
        for at, each in enumerate(table.heads)
    )
    bodies = []
    for at, (first, *cells) in enumerate(table.rows):
        shown = "".join(
            f"<td{right if place >= table.numbers_from else ''}>{on_page(cell)}</td>"
            for place, cell in enumerate(cells, start=1)
        )
        body = f'<tr><th scope="row">{on_page(first)}</th>{shown}</tr>'
        if table.notes:
            body += (
                f'\n<tr class="report-hash"><td></td><td colspan="{len(table.heads) - 1}" '
                f'class="report-code">{on_page(table.notes[at])}</td></tr>'
            )
        bodies.append(f"<tbody>\n{body}\n</tbody>")
    rows = "\n".join(bodies)
    # It can be scrolled where it is too wide, by the keyboard, too.
    name = "report-table report-long" if table.notes else "report-table"
    return f"""<div class="{name}" role="region" aria-label="{on_page(table.caption)}" tabindex="0">
<table>
<caption>{on_page(table.caption)}</caption>
<thead><tr>{heads}</tr></thead>
{rows}
</table>
</div>"""


def _hash(inline: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}"
