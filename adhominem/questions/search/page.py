"""How a search and links are shown, on pages that fetch nothing from anywhere and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adhominem.questions.question import Page, Table
from adhominem.questions.search.link import NOT_A_VERDICT as NO_LINK_IS_A_VERDICT
from adhominem.questions.search.link import Link, Links
from adhominem.questions.search.search import NOT_A_VERDICT, Hit, Searched, SearchResult
from adhominem.render.summary import signed
from adhominem.render.templates import asset
from adhominem.score.decision import NONE as NO_SUPPORT
from adhominem.score.decision import show_probability
from adhominem.verify.cautions import listed

SEARCH_STYLES = (asset("evaluation.css"), asset("study.css"), asset("rank.css"))
_HIT_COLUMNS = (
    "hit",
    "author",
    "words",
    "log10 Bayes factor",
    "support",
    "probability",
    "false hits",
)
_MOST_GROUPS = 20


def _hit_row(hit: Hit) -> list[str]:
    probability, false = hit.probability_same_author, hit.expected_false_hits
    return [
        hit.id,
        hit.author or "–",
        f"{hit.words:,}",
        signed(hit.log10_bayes_factor) + "*" * hit.at_bound,  # nothing stronger can be said
        _support(hit),
        "–" if probability is None else show_probability(probability),
        "–" if false is None else _expected(false),
    ]


def _support(evidence: Hit | Link) -> str:
    """The words of the scale; they have no sign of their own."""
    is_against = evidence.log10_bayes_factor < 0 and evidence.verbal != NO_SUPPORT
    return evidence.verbal + " against" * is_against


def _expected(number: float) -> str:
    """How many are to be expected, no finer than it is known."""
    if number == 0:
        return "none seen"
    if number < 0.1:
        return f"{number:.1g}"
    return f"{number:.1f}" if number < 10 else f"{float(f'{number:.2g}'):,.0f}"


def _hits(searched: Searched) -> Table:
    return Table(searched.name, _HIT_COLUMNS, [_hit_row(hit) for hit in searched.hits])


def _false_hits(result: SearchResult) -> Table:
    return Table(
        f"False hits to expect among {result.texts:,} texts",
        ("log10 Bayes factor, or more", "support", "expected", "measured by"),
        [
            [f"{row.log10_bayes_factor:g}", row.words, _expected(row.expected), row.measured_by]
            for row in result.false_hits
        ],
    )


def _search_facts(result: SearchResult) -> dict[str, str]:
    """What the hits are worth, given the number of texts."""
    facts = {
        "Prior": f"{result.prior_same_author:.3g} for each text of the index: as if the author of "
        "one of them were as likely as that of any other",
        "Needed": f"a log10 Bayes factor of {result.log10_needed:.1f} for a hit to be as probable "
        "as not; whatever else speaks for it, outside the texts, counts towards that",
        "False hits": f"measured on {result.measured}",
    }
    if result.trials:
        facts["Searches"] = (
            f"{result.trials:,} for texts of the index by authors with other texts in it: the "
            f"first hit was by the author in {result.first:,}, one of the first ten in "
            f"{result.among_ten:,}"
        )
    if any(hit.at_bound for one in result.searched for hit in one.hits):
        facts["*"] = "the calibration supports nothing stronger under these conditions"
    facts["Model"] = f"{result.model}, SHA-256 {result.model_sha256}"
    facts["Note"] = NOT_A_VERDICT
    return facts


def _search_values(result: SearchResult) -> dict[str, Any]:
    return {
        "note": NOT_A_VERDICT,
        "facts": _search_facts(result),
        "searched": [(one, _hits(one)) for one in result.searched],
        "false_hits": _false_hits(result),
    }


def _search_lines(result: SearchResult, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """The hits for each text, and how many false ones to expect."""
    for one in result.searched:
        yield _hits(one)
        if one.copies:
            yield f"Left out, as the same text  {', '.join(one.copies)}"
    yield _false_hits(result)
    for name, fact in _search_facts(result).items():
        yield f"{name}  {fact}"


def _search_title(result: SearchResult) -> str:
    names = [one.name for one in result.searched]
    return f"Texts like {names[0]}" if len(names) == 1 else "Texts like these"


PAGE: Page[SearchResult] = Page(
    name="search",
    styles=SEARCH_STYLES,
    title=_search_title,
    values=_search_values,
    lines=_search_lines,
    warnings=lambda result: [caution for one in result.searched for caution in one.warnings],
)


def _link_table(links: Links) -> Table:
    return Table(
        f"{len(links.links):,} links",
        ("first", "second", "texts", "log10 Bayes factor", "support", "false so far"),
        [
            [
                link.first,
                link.second,
                f"{link.first_texts:,} and {link.second_texts:,}",
                signed(link.log10_bayes_factor) + "*" * link.at_bound,
                _support(link),
                f"{link.expected_false_share:.1%}",
            ]
            for link in links.links
        ],
    )


def _link_facts(links: Links) -> dict[str, str]:
    """How the links were found, and what they are worth."""
    facts = {
        "Searched": f"{links.texts:,} texts of {links.accounts:,} accounts; {links.looked_at:,} "
        "pairs of accounts came up",
        "False links": f"at most {links.rate:.0%} of those listed are expected to be false, judged "
        f"by {links.drawn:,} pairs of accounts drawn at random; where links are stronger than all "
        "of these, that is an extrapolation",
    }
    for number, group in enumerate(links.groups[:_MOST_GROUPS], start=1):
        if len(group.accounts) > 2:
            facts[f"Group {number}"] = (
                f"{', '.join(group.accounts)}; the weakest link has a log10 Bayes factor of "
                f"{signed(group.weakest_log10_bayes_factor)}"
            )
    if links.sharing:
        pairs = listed([" and ".join(pair) for pair in links.sharing])
        facts["Not linked"] = f"accounts whose texts share passages, as by quoting: {pairs}"
    facts["Model"] = f"{links.model}, SHA-256 {links.model_sha256}"
    facts["Note"] = NO_LINK_IS_A_VERDICT
    return facts


def _link_values(links: Links) -> dict[str, Any]:
    return {
        "version": links.version,
        "note": NO_LINK_IS_A_VERDICT,
        "facts": _link_facts(links),
        "links": _link_table(links),
        "warnings": links.warnings,
    }


def _link_lines(links: Links, values: Mapping[str, Any]) -> Iterator[str | Table]:
    yield _link_table(links)
    for name, fact in _link_facts(links).items():
        yield f"{name}  {fact}"


LINK_PAGE: Page[Links] = Page(
    name="links",
    template="links.html",
    styles=SEARCH_STYLES,
    title=lambda links: "Accounts that may be one person",
    values=_link_values,
    lines=_link_lines,
    warnings=lambda links: links.warnings,
)
