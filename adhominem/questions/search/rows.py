"""What is shown of a search and of links, on a terminal and on a page: rows and sentences."""

from __future__ import annotations

from adhominem.questions.search.link import NOT_A_VERDICT as NO_LINK_IS_A_VERDICT
from adhominem.questions.search.link import Links
from adhominem.questions.search.search import NOT_A_VERDICT, Searched, SearchResult
from adhominem.render.summary import signed
from adhominem.score.decision import show_probability
from adhominem.verify.cautions import listed

HIT_COLUMNS = [
    "hit",
    "author",
    "words",
    "log10 Bayes factor",
    "support",
    "probability",
    "false hits",
]
FALSE_HIT_COLUMNS = ["log10 Bayes factor, or more", "support", "expected", "measured by"]
LINK_COLUMNS = ["first", "second", "texts", "log10 Bayes factor", "support", "false so far"]
_MOST_GROUPS = 20


def hit_rows(searched: Searched) -> list[list[str]]:
    """A row for each hit; a star where nothing stronger can be said."""
    return [
        [
            hit.id,
            hit.author or "–",
            f"{hit.words:,}",
            signed(hit.log10_bayes_factor) + ("*" if hit.at_bound else ""),
            hit.verbal,
            "–"
            if hit.probability_same_author is None
            else show_probability(hit.probability_same_author),
            "–" if hit.expected_false_hits is None else expected(hit.expected_false_hits),
        ]
        for hit in searched.hits
    ]


def expected(number: float) -> str:
    """How many are to be expected, no finer than it is known."""
    if number == 0:
        return "none seen"
    if number < 0.1:
        return f"{number:.1g}"
    return f"{number:.1f}" if number < 10 else f"{float(f'{number:.2g}'):,.0f}"


def false_hit_rows(result: SearchResult) -> list[list[str]]:
    """A row for each strength."""
    return [
        [f"{row.log10_bayes_factor:g}", row.words, expected(row.expected), row.measured_by]
        for row in result.false_hits
    ]


def search_facts(result: SearchResult) -> dict[str, str]:
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


def link_rows(links: Links) -> list[list[str]]:
    """A row for each link."""
    return [
        [
            link.first,
            link.second,
            f"{link.first_texts:,} and {link.second_texts:,}",
            signed(link.log10_bayes_factor) + ("*" if link.at_bound else ""),
            link.verbal,
            f"{link.expected_false_share:.1%}",
        ]
        for link in links.links
    ]


def link_facts(links: Links) -> dict[str, str]:
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
