"""An explanation as HTML: a page of its own, or a fragment inside another one.

The fragments have no style attributes and no handlers: what they look like comes from `STYLE`, what
they do from `SCRIPT`, so that they may be shown under a content security policy that forbids
everything inline. A text is there once, as the user gave it; between the views only the rules that
apply to it change, which works without the script, too.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from adhominem.explain.explanation import Explanation
from adhominem.harmless import on_page
from adhominem.render.colours import (
    DIFFERENT_COLOURS,
    DIFFERENT_LINE,
    LEVELS,
    MOST_TIMES_EVEN,
    PASSAGE_COLOURS,
    SAME_COLOURS,
    SAME_LINE,
    SIDED_LEVELS,
    TOKEN_COLOURS,
    contribution_class,
    contribution_level,
    strongest_of,
)
from adhominem.render.html_summary import PAGE_STYLE, footer, summary
from adhominem.render.html_text import Mark, as_html, heat_map
from adhominem.render.summary import (
    CHANNELS,
    NGRAM_CONTRIBUTION,
    NO_ATTENTION,
    NOT_WHY,
    contributed,
    speaks_for,
    title,
)

__all__ = ["SCRIPT", "STYLE", "explanation_fragment", "explanation_page", "heat_map"]

_VIEWS = {
    "attention": "Attention",
    "contributions": "Same or different authors",
    "ngrams": "N-grams",
    "plain": "Plain",
}


def _palette() -> str:
    rules = [f".heat .t{at} {{ background: {each}; }}" for at, each in enumerate(TOKEN_COLOURS)]
    for name, colours in (("w", PASSAGE_COLOURS), ("t", TOKEN_COLOURS)):
        rules += [f".{name}{at} {{ --{name}: {each}; }}" for at, each in enumerate(colours)]
    for name, stroke, edge, colours in (
        ("same", "solid", SAME_LINE, SAME_COLOURS),
        ("diff", "dotted", DIFFERENT_LINE, DIFFERENT_COLOURS),
    ):
        rules += [
            f".{name}{at} {{ --side: {each}; --stroke: {stroke}; --edge: {edge}; }}"
            for at, each in enumerate(colours, 1)
        ]
    return "\n".join(rules)


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


STYLE = f"{_palette()}\n{_beside('heat_map.css')}"
SCRIPT = _beside("heat_map.js")


def explanation_page(explanation: Explanation) -> str:
    """A page of its own, which fetches nothing and lets no script run but its own."""
    style = f"{PAGE_STYLE}\n{STYLE}"
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(SCRIPT)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = on_page(title(explanation.verification))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{head}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{head}</h1>
{summary(explanation.verification)}
<h2>What made it so</h2>
{explanation_fragment(explanation)}
</main>
{footer(explanation.verification)}
<script>{SCRIPT}</script>
</body>
</html>
"""


def explanation_fragment(explanation: Explanation) -> str:
    """Both sides' texts, with the switch between the views, legends and the table of n-grams."""
    strongest = strongest_of(
        passage.contribution for text in explanation.texts for passage in text.passages
    )
    strongest_ngram = strongest_of(each.contribution for each in explanation.ngrams)
    levels = [contribution_level(each.contribution, strongest_ngram) for each in explanation.ngrams]
    shown: dict[str, list[str]] = {"first": [], "second": []}
    for index, text in enumerate(explanation.texts):
        marks = [
            Mark(place.start, place.end, number, levels[number])
            for number, each in enumerate(explanation.ngrams)
            for place in each.places
            if place.text == index
        ]
        shown[text.side].append(
            f"<h3>{on_page(text.name)} <small>{text.side} side</small></h3>\n"
            f"{heat_map(text, strongest=strongest, marks=marks)}"
        )
    sides = "\n".join(
        f'<section class="side">\n{"".join(texts)}\n</section>' for texts in shown.values()
    )
    return f"""<div class="explanation">
{_switch(explanation)}
{_legends(explanation, strongest)}
{_table(explanation, levels)}
<div class="texts">
{sides}
</div>
<div class="places" hidden><output></output><button type="button" value="-1">Previous</button>\
<button type="button" value="1">Next</button><button type="button" value="0">Close</button></div>
</div>"""


def _views(explanation: Explanation) -> list[str]:
    there = {"attention": explanation.has_attention, "ngrams": bool(explanation.ngrams)}
    return [view for view in _VIEWS if there.get(view, True)]


def _switch(explanation: Explanation) -> str:
    views = _views(explanation)
    # A browser would remember the view of the last visit, and not what is written here.
    buttons = "".join(
        f'<label><input type="radio" name="explanation-view" value="{view}" autocomplete="off"'
        f"{' checked' if view == views[0] else ''}>{_VIEWS[view]}</label>"
        for view in views
    )
    return f"<fieldset><legend>Show</legend>{buttons}</fieldset>"


def _legends(explanation: Explanation, strongest: float) -> str:
    attention = [f"w{at}" for at in range(LEVELS)], [f"t{at}" for at in range(LEVELS)]
    sided = [contribution_class(at) for at in range(-SIDED_LEVELS, SIDED_LEVELS + 1) if at]
    less, more = sided[:SIDED_LEVELS], sided[SIDED_LEVELS:]
    keys = (
        '<span class="keys">Point at a passage for its numbers, or go to one with the tab key and '
        "on with the arrow keys.</span>"
    )
    seen = f"""<div class="how attention">
<p>Blue says how much of the attention a passage got, by the bar before and below it; red says how
much of its passage's attention a token got. <strong>{NOT_WHY}</strong> {keys}</p>
<ul class="scale">
<li>passage: less than an even share {_swatches(attention[0])} {MOST_TIMES_EVEN} times as much</li>
<li>token: less than an even share {_swatches(attention[1])} {MOST_TIMES_EVEN} times as much</li>
</ul>
</div>"""
    deepest = contributed(strongest).lstrip("+")
    return f"""{seen if explanation.has_attention else f"<p>{NO_ATTENTION}</p>"}
<div class="how contributions">
<p>Teal with a solid line, and +: the passage speaks for one author. Orange with a dotted line, and
−: for different authors. A contribution is the log10 Bayes factor with the passage, less that
without it; contributions do not add up to the whole. {keys}</p>
<ul class="scale">
<li>different authors {_swatches(less)}{_swatches(more)} one author; the deepest is {deepest}</li>
</ul>
</div>
<div class="how ngrams">
<p>Marked are the places of the {len(explanation.ngrams)} n-grams (words, or parts of words, in a
row) that contribute most: teal with a solid line for one author, orange with a dotted line for
different authors. {NGRAM_CONTRIBUTION} Where several overlap, the strongest gives the colour. In an
n-gram, … is any other word, and ‹…ed› one that ends so. Choose one in the table to see where it
stands.</p>
</div>"""


def _swatches(names: Sequence[str]) -> str:
    shown = "".join(f'<span class="{each}"></span>' for each in names)
    return f'<span class="swatches">{shown}</span>'


def _table(explanation: Explanation, levels: Sequence[int]) -> str:
    if not explanation.ngrams:
        return ""
    rows = []
    for number, (each, level) in enumerate(zip(explanation.ngrams, levels, strict=True)):
        gram, amount = as_html(each.ngram), contributed(each.contribution)
        side = speaks_for(each.contribution)
        shown, found = f'<span class="gram">{gram}</span>', ""
        if each.places:
            shown = f'<button type="button" class="gram">{gram}</button>'
            said = f"“{each.ngram}” contributes {amount}, speaks for {side}"
            found = f' data-ngram="{number}" data-said="{as_html(said)}"'
        rows.append(
            f'<tr{found}><th scope="row">{shown}</th>'
            f"<td>{as_html(CHANNELS.get(each.channel, each.channel))}</td><td>{side}</td>"
            f'<td><span class="amount {contribution_class(level)}">{amount}</span></td>'
            f"<td>{each.first:,}</td><td>{each.second:,}</td></tr>"
        )
    heads = "".join(
        f'<th scope="col">{each}</th>'
        for each in (
            "n-gram",
            "what it is",
            "speaks for",
            "contribution",
            "first side",
            "second side",
        )
    )
    body = "\n".join(rows)
    # It can be scrolled where it is too wide, by the keyboard, too.
    return f"""<section class="ngrams">
<div class="table" role="region" aria-label="N-grams" tabindex="0">
<table>
<caption>The n-grams that contribute most; contributions to the log10 Bayes factor, and how often
they occur on either side</caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>
</section>"""


def _hash(inline: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}"
