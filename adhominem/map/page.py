"""The map of a corpus as one page for people: a single HTML file that fetches nothing.

The pictures are drawn by the page's script from data in the page, which are JSON without a single
"<"; scripts and styles run only if the page's policy has their hash, so that no text of a corpus
can become one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from adhominem.map.corpus_map import CorpusMap, Projection
from adhominem.render.templates import asset, embedded_json, render_page
from adhominem.text.writing import write_whole

_SCRIPT = ("common.js", "points.js", "tree.js", "both.js", "controls.js")
# Okabe and Ito's colours, as in the figures of an evaluation, and the same dark enough for small
# text on white. Seven colours and eight shapes have no common divisor: 56 authors get 56 markers,
# and two in a row differ in both; 56 more are hollow.
_COLORS = {
    "#0072B2": "#0072B2",
    "#D55E00": "#C35600",
    "#009E73": "#008460",
    "#CC79A7": "#A46086",
    "#000000": "#000000",
    "#56B4E9": "#38789E",
    "#E69F00": "#9B6A00",
}
_SHAPES = (
    "M-1,0A1,1 0 1,0 1,0A1,1 0 1,0 -1,0Z",  # a circle
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.2L1.15,.85H-1.15Z",
    "M0,-1.35L1.1,0L0,1.35L-1.1,0Z",
    "M0,1.2L1.15,-.85H-1.15Z",
    "M-.42,-1.2H.42V-.42H1.2V.42H.42V1.2H-.42V.42H-1.2V-.42H-.42Z",
    "M0.000,-1.400L0.341,-0.469L1.331,-0.433L0.552,0.179L0.823,1.133L0.000,0.580"
    "L-0.823,1.133L-0.552,0.179L-1.331,-0.433L-0.341,-0.469Z",  # a star
    "M-1,-1.1H1L-1,1.1H1Z",  # an hourglass
)
_UNKNOWN = (  # a cross that leans
    "M-1.15,-.6L-.6,-1.15L0,-.55L.6,-1.15L1.15,-.6L.55,0"
    "L1.15,.6L.6,1.15L0,.55L-.6,1.15L-1.15,.6L-.55,0Z"
)
_GREY = "#666666"
_JOINED = {
    "average": "the mean of all pairs with a text in each",
    "complete": "the least of all pairs with a text in each",
    "single": "the greatest of all pairs with a text in each",
}
_CAPTIONS = {
    "PCA": "Principal components: the two directions in which these texts differ most. Texts that "
    "lie close together here may be far apart in all the other directions.",
    "t-SNE": "t-SNE keeps neighbours together. Distances between groups, their sizes and the "
    "directions mean nothing; another seed gives another picture.",
    "UMAP": "UMAP keeps neighbours together. Distances between groups, their sizes and the "
    "directions mean little; another seed gives another picture.",
}


@dataclass(frozen=True)
class Marker:
    """How the documents of an author are drawn."""

    author: str  # empty: those of whom no author is known
    color: str
    ink: str  # the same colour, dark enough for text
    path: str  # of the mark, about 2 units wide
    hollow: bool
    known: bool = True


def markers(authors: Sequence[str]) -> list[Marker]:
    """A marker for each of these names, in alphabetical order; the unknown author comes last."""
    names = sorted(set(authors) - {""}, key=lambda name: (name.casefold(), name))
    filled = len(_COLORS) * len(_SHAPES)
    made = []
    for at, name in enumerate(names):
        color, ink = list(_COLORS.items())[at % len(_COLORS)]
        made.append(Marker(name, color, ink, _SHAPES[at % len(_SHAPES)], at // filled % 2 == 1))
    if "" in authors:
        made.append(Marker("", _GREY, _GREY, _UNKNOWN, hollow=False, known=False))
    return made


def write_map_page(drawn: CorpusMap, path: str | Path) -> None:
    """Write the page of a map to a file, whole or not at all."""
    with write_whole(Path(path)) as file:
        # A file's name may hold bytes that are no text; nothing else may.
        file.write(map_page(drawn).encode("utf-8", "replace").decode("utf-8"))


def map_page(drawn: CorpusMap) -> str:
    """The page of a map as HTML."""
    parts = "".join(asset(f"map/{name}") for name in _SCRIPT)
    known = markers([document.author for document in drawn.documents])
    documents = len(drawn.documents)
    return render_page(
        "map.html",
        (asset("map.css"),),
        f'"use strict";\n(() => {{\n{parts}}})();\n',  # one scope for all names
        title=f"Map of {drawn.corpus}" if drawn.corpus else "Map of a corpus",
        drawn=drawn,
        markers=known,
        authors=sum(marker.known for marker in known),
        unnamed=sum(not document.author for document in drawn.documents),
        counts=Counter(document.author for document in drawn.documents),
        population_name=Path(drawn.population).resolve().name,  # where it lies stays private
        pairs=documents * (documents - 1) // 2,
        joined=_JOINED[drawn.linkage],
        caption=_CAPTIONS[drawn.projections[0].name],
        data=_data(drawn, known),
    )


def _data(drawn: CorpusMap, known: Sequence[Marker]) -> Markup:
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
        "markers": [asdict(marker) for marker in known],
        "projections": [_projection(projection) for projection in drawn.projections],
        "joins": [
            [join.first, join.second, round(join.likeness, 4), join.size] for join in drawn.joins
        ],
        "order": drawn.order,
        "joined": _JOINED[drawn.linkage],
    }
    return embedded_json(data, ensure_ascii=False, separators=(",", ":"))


def _short(name: str, author: str) -> str:
    """A document's name without its author's, where it begins with it: for small places."""
    for separator in ("/", "_-_", "_"):
        if author and name.startswith(prefix := f"{author}{separator}") and name != prefix:
            return name.removeprefix(prefix)
    return name


def _projection(projection: Projection) -> dict[str, Any]:
    titles = ["", ""]
    if projection.shares is not None:
        titles = [
            f"component {axis} ({share:.1%} of the variance)"
            for axis, share in enumerate(projection.shares, 1)
        ]
    return {
        "name": projection.name,
        "places": projection.places.round(4).tolist(),
        "x": titles[0],
        "y": titles[1],
        "caption": _CAPTIONS[projection.name],
    }
