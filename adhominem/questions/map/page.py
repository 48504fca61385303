"""The map of a corpus as a page for people: a single HTML file that fetches nothing.

The pictures are drawn by the page's script from data in the page, which are JSON without a single
"<"; scripts and styles run only if the page's policy has their hash, so that no text of a corpus
can become one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from markupsafe import Markup

from adhominem.harmless import spelt_out
from adhominem.questions.map.corpus_map import CorpusMap, Projection
from adhominem.questions.map.groups import DocumentMarkers, draw_documents
from adhominem.questions.question import Page, Table
from adhominem.render.templates import asset, embedded_json
from adhominem.text.files import real_path

_SCRIPTS = ("common.js", "groups.js", "points.js", "tree.js", "both.js", "controls.js")
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
}


def map_page(corpus_map: CorpusMap) -> str:
    """The page of a map as HTML."""
    return PAGE.whole(corpus_map)


def _values(corpus_map: CorpusMap) -> dict[str, Any]:
    # What a template shows is made harmless there, but not what a script shows.
    harmless = (
        replace(document, name=spelt_out(document.name), author=spelt_out(document.author))
        for document in corpus_map.documents
    )
    corpus_map = replace(corpus_map, documents=tuple(harmless))
    markers = draw_documents(corpus_map)
    documents = len(corpus_map.documents)
    return {
        "corpus_map": corpus_map,
        "markers": markers,
        "authors": _authors(corpus_map),
        "unnamed": sum(not document.author for document in corpus_map.documents),
        "population_name": real_path(corpus_map.population).name,  # where it lies stays private
        "pairs": documents * (documents - 1) // 2,
        "joined": _JOINED[corpus_map.linkage],
        "caption": _CAPTIONS[corpus_map.projections[0].name],
        "data": _data(corpus_map, markers),
    }


def _authors(corpus_map: CorpusMap) -> int:
    return len({document.author for document in corpus_map.documents} - {""})


def _lines(corpus_map: CorpusMap, values: Mapping[str, Any]) -> Iterator[Table]:
    """How much was drawn."""
    pictures = ", ".join([projection.name for projection in corpus_map.projections] + ["tree"])
    counts = [len(corpus_map.documents), _authors(corpus_map), corpus_map.population_texts]
    columns = ["", "documents", "authors", "population", "pictures"]
    yield Table(str(values["output"]), columns, [["", *counts, pictures]])


def _data(corpus_map: CorpusMap, markers: DocumentMarkers) -> Markup:
    """The data that the script draws, as JSON that no browser can mistake for markup."""
    factors = corpus_map.log10_bayes_factors
    documents = [
        {
            "name": document.name,
            "short": _short(document.name, document.author),
            "label": _label(document.name, document.author),
            "author": document.author,
            "marker": markers.marker_of[at],
            "entry": markers.entry_of[at],
            "group": markers.group_of[at],
            "words": document.words,
            "nearest": [[other, round(float(factors[at, other]), 3)] for other in nearest],
        }
        for at, (document, nearest) in enumerate(
            zip(corpus_map.documents, corpus_map.nearest, strict=True)
        )
    ]
    data = {
        "documents": documents,
        "markers": [asdict(marker) for marker in markers.markers],
        "legend": [
            {
                "color": entry.marker.color,
                "known": entry.marker.known,
                "outlined": entry.outlined,
            }
            for entry in markers.legend
        ],
        "projections": [_projection(projection) for projection in corpus_map.projections],
        "joins": [
            [join.first, join.second, round(join.likeness, 4), join.size]
            for join in corpus_map.joins
        ],
        "order": corpus_map.order,
        "joined": _JOINED[corpus_map.linkage],
    }
    return embedded_json(data, ensure_ascii=False, separators=(",", ":"))


def _short(name: str, author: str) -> str:
    """A document's name without its author's name in front: for small places."""
    for separator in ("/", "_-_", "_"):
        if author and name.startswith(prefix := f"{author}{separator}") and name != prefix:
            return name.removeprefix(prefix)
    return name


def _label(name: str, author: str) -> str:
    """The label beside a point: the author, and which of their texts it is."""
    short = _short(name, author)
    return short if author.casefold() in short.casefold() else f"{author}: {short}"


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


_SCRIPT = "".join(asset(f"map/{name}") for name in _SCRIPTS)
PAGE: Page[CorpusMap] = Page(
    name="map",
    template="map.html",
    styles=(asset("map.css"),),
    script=f'"use strict";\n(() => {{\n{_SCRIPT}}})();\n',  # one scope for all names
    images="data:",  # a picture that is saved as PNG is drawn by way of one
    title=lambda corpus_map: f"Map of {corpus_map.corpus}",
    values=_values,
    lines=_lines,
    remarks=lambda corpus_map: corpus_map.remarks,
)
