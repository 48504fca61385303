"""The pages of a search and of links: single HTML files that fetch nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adhominem.questions.question import Page, Table
from adhominem.questions.search import rows as search_rows
from adhominem.questions.search.link import NOT_A_VERDICT as NO_LINK_IS_A_VERDICT
from adhominem.questions.search.link import Links
from adhominem.questions.search.search import NOT_A_VERDICT, SearchResult
from adhominem.render.templates import asset, render_page

SEARCH_STYLES = (asset("evaluation.css"), asset("study.css"), asset("rank.css"))


def search_title(result: SearchResult) -> str:
    """What was searched for."""
    names = [one.name for one in result.searched]
    return f"Texts like {names[0]}" if len(names) == 1 else "Texts like these"


def _shown(result: SearchResult) -> dict[str, Any]:
    return {
        "note": NOT_A_VERDICT,
        "facts": search_rows.search_facts(result),
        "searched": [(one, search_rows.hit_rows(one)) for one in result.searched],
        "hit_columns": search_rows.HIT_COLUMNS,
        "texts": result.texts,
        "false_columns": search_rows.FALSE_HIT_COLUMNS,
        "false_rows": search_rows.false_hit_rows(result),
    }


def _lines(result: SearchResult, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """The hits for each text, and how many false ones to expect."""
    for one in result.searched:
        yield Table(one.name, search_rows.HIT_COLUMNS, search_rows.hit_rows(one))
        if one.copies:
            yield f"Left out, as the same text  {', '.join(one.copies)}"
    yield Table(
        f"False hits to expect among {result.texts:,} texts",
        search_rows.FALSE_HIT_COLUMNS,
        search_rows.false_hit_rows(result),
    )
    for name, fact in search_rows.search_facts(result).items():
        yield f"{name}  {fact}"


PAGE: Page[SearchResult] = Page(
    name="search",
    styles=SEARCH_STYLES,
    title=search_title,
    values=_shown,
    lines=_lines,
    warnings=lambda result: [caution for one in result.searched for caution in one.warnings],
)


def link_page(links: Links) -> str:
    """The links, and what they are worth."""
    return render_page(
        "links.html",
        SEARCH_STYLES,
        title="Accounts that may be one person",
        version=links.version,
        note=NO_LINK_IS_A_VERDICT,
        facts=search_rows.link_facts(links),
        columns=search_rows.LINK_COLUMNS,
        rows=search_rows.link_rows(links),
        warnings=links.warnings,
    )
