"""The map of a corpus as one page for people: a single HTML file that fetches nothing.

The pictures are drawn by the script in script/ from data in the page. Names of documents and
authors go through `html.escape`, or stand in the data as JSON without a single "<"; scripts and
styles run only if their hash is the one written here, so that no text of a corpus can become one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from adhominem.harmless import on_page
from adhominem.map.corpus_map import CorpusMap, Projection
from adhominem.map.markers import Marker, markers
from adhominem.text.writing import write_whole

_SCRIPT = ("common.js", "points.js", "tree.js", "both.js", "controls.js")
_LONG_TREE = 100  # documents; a tree of more is printed over several pages
_LONG_LEGEND = 30  # authors; a legend of more is scrolled
_IN_TABLE = 3  # nearest documents named in the table

_JOINED = {
    "average": "the mean of all pairs with a text in each",
    "complete": "the least of all pairs with a text in each",
    "single": "the greatest of all pairs with a text in each",
}
_HOLDS = {
    "average": "on average",
    "complete": "of the two texts that are least alike",
    "single": "even of the two texts that are most alike",
}
_CAPTIONS = {
    "PCA": "Principal components: the two directions in which these texts differ most. Texts that "
    "lie close together here may be far apart in all the other directions.",
    "t-SNE": "t-SNE keeps neighbours together. Distances between groups, their sizes and the "
    "directions mean nothing; another seed gives another picture.",
    "UMAP": "UMAP keeps neighbours together. Distances between groups, their sizes and the "
    "directions mean little; another seed gives another picture.",
}


def write_map_page(drawn: CorpusMap, path: str | Path) -> None:
    """Write the page."""
    with write_whole(Path(path)) as file:
        # A file's name may hold bytes that are no text; nothing else may.
        file.write(map_page(drawn).encode("utf-8", "replace").decode("utf-8"))


def map_page(drawn: CorpusMap) -> str:
    """The page as text."""
    room = files("adhominem.map")
    style = (room / "page.css").read_text("utf-8")
    parts = [(room / "script" / name).read_text("utf-8") for name in _SCRIPT]
    script = f'"use strict";\n(() => {{\n{"".join(parts)}}})();\n'  # one room for all names
    known = markers([document.author for document in drawn.documents])
    title = f"Map of {drawn.corpus}" if drawn.corpus else "Map of a corpus"
    # Nothing is fetched, and of scripts and styles only these two are obeyed.
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{on_page(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{on_page(title)}</h1>
{_what_was_drawn(drawn, known)}
<p id="unscripted"><strong>The pictures are drawn by the script in this page, which your browser
does not run. All documents stand in the table below.</strong></p>
{_pictures(drawn, known)}
{_how_to_read(drawn)}
{_table(drawn)}
</main>
<footer><p>Written by AdHominem {on_page(drawn.version)} with the model {on_page(drawn.model)}
(SHA-256 {on_page(drawn.model_sha256)}); {drawn.linkage} linkage, seed {drawn.seed}. This page holds
names and numbers, no texts, and fetches nothing from anywhere.</p></footer>
<script type="application/json" id="data">{_data(drawn, known)}</script>
<script>{script}</script>
</body>
</html>
"""


def _hash(source: str) -> str:
    digest = base64.b64encode(sha256(source.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _data(drawn: CorpusMap, known: Sequence[Marker]) -> str:
    """What the script draws, as JSON that no browser can take for markup."""
    numbers = {marker.author: number for number, marker in enumerate(known)}
    factors = drawn.log10_bayes_factors
    documents = [
        {
            "name": document.name,
            "short": _short(document.name, document.author),
            "author": document.author,
            "marker": numbers[document.author],
            "words": document.words,
            "note": "Unlike the training texts." if document.unlike_training else "",
            "nearest": [[other, round(float(factors[at, other]), 3)] for other in nearest],
        }
        for at, (document, nearest) in enumerate(zip(drawn.documents, drawn.nearest, strict=True))
    ]
    data = {
        "documents": documents,
        "markers": [{**asdict(marker), "known": marker.known} for marker in known],
        "projections": [_projection(each) for each in drawn.projections],
        "joins": [
            [join.first, join.second, round(join.likeness, 4), join.size] for join in drawn.joins
        ],
        "order": drawn.order,
        "joined": _JOINED[drawn.linkage],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _short(name: str, author: str) -> str:
    """A document's name without its author's, where it begins with it: for small places."""
    for separator in ("/", "_-_", "_"):
        if author and name.startswith(prefix := f"{author}{separator}") and name != prefix:
            return name.removeprefix(prefix)
    return name


def _projection(each: Projection) -> dict[str, Any]:
    titles = ["", ""]
    if each.shares is not None:
        titles = [
            f"component {axis} ({share:.1%} of the variance)"
            for axis, share in enumerate(each.shares, 1)
        ]
    return {
        "name": each.name,
        "places": each.places.round(4).tolist(),
        "x": titles[0],
        "y": titles[1],
        "caption": _CAPTIONS[each.name],
    }


def _what_was_drawn(drawn: CorpusMap, known: Sequence[Marker]) -> str:
    authors = sum(marker.known for marker in known)
    unnamed = sum(not document.author for document in drawn.documents)
    said = _count(len(drawn.documents), "document")
    if not authors:
        said += " without authors' names"
    elif unnamed:
        named = len(drawn.documents) - unnamed
        said += f" ({named:,} by {_count(authors, 'author')}, {unnamed:,} without a name)"
    else:
        said += f" by {_count(authors, 'author')}"
    match drawn.population:
        case "input":
            population = (
                f"The corpus is its own relevant population ({drawn.population_texts:,} texts)."
            )
        case "none":
            population = "No relevant population was used: the genre is guessed."
        case place:
            name = on_page(Path(place).resolve().name)  # where it lies is nobody's business
            population = f"The relevant population is {name} ({drawn.population_texts:,} texts)."
    noted = "".join(f"<li>{on_page(_sentence(text))}</li>" for text in drawn.remarks)
    return f"""<p>{said}, compared by the model {on_page(drawn.model)}. {population}</p>
<p><strong>A Bayes factor is not a verdict, and a cluster is no proof.</strong> These pictures show
which texts the model finds alike. Texts may be alike because one person wrote them, and also
because of what they are about, when they were written and for whom.</p>
{f"<p>To be kept in mind:</p><ul>{noted}</ul>" if noted else ""}"""


def _pictures(drawn: CorpusMap, known: Sequence[Marker]) -> str:
    choices = "".join(
        f'<button type="button" data-projection="{at}" aria-pressed="{str(at == 0).lower()}">'
        f"{on_page(each.name)}</button>"
        for at, each in enumerate(drawn.projections)
    )
    counts = {marker.author: 0 for marker in known}
    for document in drawn.documents:
        counts[document.author] += 1
    legend = "\n".join(
        f'<li><button type="button" data-marker="{at}" aria-pressed="false">{_mark(marker)}'
        f"<span>{on_page(marker.author or 'not named')} "
        f"<small>{counts[marker.author]:,}</small></span>"
        "</button></li>"
        for at, marker in enumerate(known)
    )
    many = " many" if len(known) > _LONG_LEGEND else ""
    length = "" if len(drawn.documents) > _LONG_TREE else " short"
    return f"""<div class="bar">
<label for="search">Find <input type="search" id="search" placeholder="a document or author"
autocomplete="off"></label>
<span class="found" id="found" role="status"></span>
</div>
<div class="pictures" id="pictures">
<figure class="map">
<div class="head"><h3>Map</h3>
<span class="choice" role="group" aria-label="Projection">{choices}</span>
<label><input type="checkbox" id="names"> names</label>
<button type="button" id="closer" aria-label="Zoom in">+</button>
<button type="button" id="farther" aria-label="Zoom out">−</button>
<button type="button" id="whole">whole</button>
<button type="button" id="save-map">save SVG</button></div>
<svg class="drawn" id="map" role="group"
aria-label="Map of the documents; arrow keys go to the next one"></svg>
<figcaption id="caption">{on_page(_CAPTIONS[drawn.projections[0].name])}</figcaption>
<ul class="legend{many}" aria-label="Authors; press to light up">
{legend}
<li><button type="button" id="clear" hidden>show all</button></li>
</ul>
</figure>
<figure class="tree{length}">
<div class="head"><h3>Tree</h3><button type="button" id="save-tree">save SVG</button></div>
<div class="both">
<svg class="drawn axis" id="axis" aria-hidden="true"></svg>
<svg class="drawn" id="tree" role="group"
aria-label="Tree of the documents; arrow keys go to the next one"></svg>
</div>
<figcaption>Two groups are joined at a log10 Bayes factor: {_JOINED[drawn.linkage]}. A branch has an
author's colour where all its documents bear that name.</figcaption>
</figure>
</div>
<div class="card" id="card" hidden></div>"""


def _mark(marker: Marker) -> str:
    fill, edge, width = ("#fff", marker.color, 0.4) if marker.hollow else (marker.color, "none", 0)
    return (
        f'<svg class="mark" viewBox="-1.5 -1.5 3 3" aria-hidden="true"><path d="{marker.path}" '
        f'fill="{fill}" stroke="{edge}" stroke-width="{width}"/></svg>'
    )


def _how_to_read(drawn: CorpusMap) -> str:
    pairs = len(drawn.documents) * (len(drawn.documents) - 1) // 2
    said = [
        (
            "The Bayes factor",
            "says how much more probable two texts are if one person wrote both than if two did; "
            "+1 on the axis of the tree means ten times, −1 a tenth, and 0 that the texts speak "
            "for neither. It becomes a probability of one author only together with a prior, which "
            "belongs to the case and not to the texts."
            + (
                f" The model reports no log10 Bayes factor below {_signed(drawn.bounds[0])} or "
                f"above {_signed(drawn.bounds[1])}, for which it has seen too few pairs; where "
                "numbers are equal, the scores behind them decide what is joined first."
                if drawn.bounds
                else ""
            ),
        ),
        (
            "The tree",
            "joins whatever is left until all is one: that there are branches shows nothing yet. "
            "Where a branch begins at its name means nothing, either; what counts is where two "
            f"meet. To the right of 0 the model holds {_HOLDS[drawn.linkage]} that different "
            "people wrote them.",
        ),
        (
            "The map",
            "has two dimensions, the model has "
            "many more. It is drawn from the texts' linguistic embedding vectors and not from the "
            "Bayes factors, so that it need not agree with the tree; where they differ, the tree "
            "is nearer to the evidence.",
        ),
        (
            "Of many pairs, some mislead.",
            f"There are {pairs:,} here, and the highest of so many is high by chance, too. Do not "
            "look for the pair that suits you: ask first, then compare two texts with "
            "<code>adhominem verify</code>, which also says what speaks against trusting the "
            "number.",
        ),
    ]
    agreement = drawn.agreement
    if agreement.one_name or agreement.two_names:
        parts = []
        if agreement.one_name:
            above = _share(agreement.one_name_above, agreement.one_name)
            parts.append(
                f"of the {agreement.one_name:,} pairs under one name, {above} have a Bayes factor "
                "above 1"
            )
        if agreement.two_names:
            below = _share(agreement.two_names_below, agreement.two_names)
            parts.append(
                f"of the {agreement.two_names:,} under two names, {below} have one below 1"
            )
        text = "; ".join(parts)
        said.append(("The names and the Bayes factors:", f"{text}."))
    if drawn.population == "input":
        said.append(
            (
                "The population",
                "is the corpus itself: what most of these texts have in common counts as usual for "
                "their genre. If one person wrote many of them, that person&#x27;s habits count as "
                "usual, too. If there are several genres, or of several times, those of one "
                "genre are alike beside the others, whoever wrote them. In either case give other "
                "texts of one genre (<code>--population</code>), or draw each genre by itself.",
            )
        )
    paragraphs = "\n".join(f"<p><strong>{head}</strong> {text}</p>" for head, text in said)
    return f"""<h2>How to read it</h2>
{paragraphs}
<p class="help">Point at a document, or go to it with the tab and arrow keys, and it is shown in
both pictures, with lines to those that are most alike. A click or the enter key holds it, escape
lets it go. Ctrl and the mouse wheel, two fingers, or + and − zoom; then the map can be pulled
about. A branch of the tree shows the documents below it.</p>"""


def _table(drawn: CorpusMap) -> str:
    factors = drawn.log10_bayes_factors
    rows = []
    for at in drawn.order:
        document = drawn.documents[at]
        nearest = "<br>".join(
            f"{on_page(drawn.documents[other].name)} {_signed(float(factors[at, other]))}"
            for other in drawn.nearest[at][:_IN_TABLE]
        )
        author = on_page(document.author) if document.author else "not named"
        rows.append(
            f'<tr><th scope="row">{on_page(document.name)}</th><td>{author}</td>'
            f'<td class="number">{document.words:,}</td><td>{nearest or "–"}</td></tr>'
        )
    body = "\n".join(rows)
    return f"""<details>
<summary>All documents as a table</summary>
<div class="table" role="region" aria-label="All documents" tabindex="0">
<table>
<caption>In the order of the tree; with the documents that are most alike, and the log10 Bayes
factor</caption>
<thead><tr><th scope="col">document</th><th scope="col">author</th>
<th scope="col" class="number">words</th><th scope="col">most alike</th></tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>
</details>"""


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.0%})"


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
