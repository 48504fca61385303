"""The pages of a search and of links: single HTML files that fetch nothing from anywhere."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from adhominem.questions.search import rows as search_rows
from adhominem.questions.search.link import NOT_A_VERDICT as NO_LINK_IS_A_VERDICT
from adhominem.questions.search.link import Links
from adhominem.questions.search.search import NOT_A_VERDICT, SearchResult
from adhominem.render.templates import asset, markup, render_page

SEARCH_STYLES = (asset("evaluation.css"), asset("study.css"), asset("rank.css"))


def search_page(result: SearchResult) -> str:
    """What was searched for, the hits, and how many false ones to expect."""
    return render_page(
        "search.html",
        SEARCH_STYLES,
        title=search_title(result),
        version=result.version,
        **_shown(result),
    )


def search_fragment(result: SearchResult) -> Markup:
    """What the page has below its heading, for another page with the same styles."""
    return markup("search_result.html", **_shown(result))


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
