"""The map of a corpus as a page for people: a single HTML file that fetches nothing.

The pictures are drawn by the page's script from data in the page, which are JSON without a single
"<"; scripts and styles run only if the page's policy has their hash, so that no text of a corpus
can become one.

Each author has a marker. With groups that were found by evidence, a group has a colour, and an
author a shape, which shows where the names and the evidence disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import cos, pi, sin
from typing import Any

from markupsafe import Markup

from adhominem.evaluation.figure_style import COLOURS, GREY, INKS
from adhominem.harmless import spelt_out
from adhominem.questions.cluster.page import odds, probability
from adhominem.questions.map.corpus_map import CorpusMap, Projection
from adhominem.questions.question import Page, Table
from adhominem.render.templates import asset, embedded_json
from adhominem.text.files import real_path


def _polygon(corners: int, size: float) -> str:
    """A regular polygon with a corner at the top, as an SVG path."""
    angles = [2 * pi * at / corners for at in range(corners)]
    places = [f"{size * sin(angle):.3f},{-size * cos(angle):.3f}" for angle in angles]
    return f"M{'L'.join(places)}Z"


# Paths of about 2 units. Sixteen shapes and seven colours have no common divisor: 112 authors get
# 112 marks, and no two in a row have a colour or a shape in common; 112 more are hollow.
SHAPES = (
    "M-1,0A1,1 0 1,0 1,0A1,1 0 1,0 -1,0Z",  # a circle
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1.2L1.15,.85H-1.15Z",
    "M0,-1.35L1.1,0L0,1.35L-1.1,0Z",
    "M0,1.2L1.15,-.85H-1.15Z",
    "M-.42,-1.2H.42V-.42H1.2V.42H.42V1.2H-.42V.42H-1.2V-.42H-.42Z",
    "M0.000,-1.400L0.341,-0.469L1.331,-0.433L0.552,0.179L0.823,1.133L0.000,0.580"
    "L-0.823,1.133L-0.552,0.179L-1.331,-0.433L-0.341,-0.469Z",  # a star
    "M-1,-1.1H1L-1,1.1H1Z",  # an hourglass
    "M-1.2,0L.85,-1.15V1.15Z",
    "M1.2,0L-.85,-1.15V1.15Z",
    "M-1.1,-1V1L1.1,-1V1Z",  # a bow tie
    "M-1.35,-.45H1.35V.45H-1.35Z",
    "M-.45,-1.35H.45V1.35H-.45Z",
    "M-1.15,.6A1.15,1.15 0 0,1 1.15,.6Z",  # half a disc
    _polygon(5, 1.25),
    _polygon(6, 1.2),
)
UNKNOWN_SHAPE = (  # a cross that leans
    "M-1.15,-.6L-.6,-1.15L0,-.55L.6,-1.15L1.15,-.6L.55,0"
    "L1.15,.6L.6,1.15L0,.55L-.6,1.15L-1.15,.6L-.55,0Z"
)


@dataclass(frozen=True)
class Marker:
    """The marker for the documents of an author, or for those of an author in a group."""

    author: str  # empty: those of whom no author is known
    color: str
    ink: str  # the same colour, dark enough for text
    path: str  # of the mark, about 2 units wide
    hollow: bool
    known: bool = True


@dataclass(frozen=True)
class Entry:
    """A line of the legend, which highlights its documents."""

    marker: Marker
    name: str
    about: str  # how many documents, and with a group how sure it is
    outlined: bool  # whether an outline is drawn around its documents


@dataclass(frozen=True)
class DocumentMarkers:
    """All markers, and which of them each document has."""

    markers: list[Marker]
    marker_of: list[int]  # (documents,)
    legend: list[Entry]
    entry_of: list[int]  # (documents,): the line of the legend that lights it up
    group_of: list[str]  # (documents,): the group in words; empty without groups
    shapes: list[Marker]  # of the authors, where a colour is that of a group
    repeated: bool  # whether several authors have one shape


def markers(authors: Sequence[str]) -> list[Marker]:
    """A marker for each of these names, in alphabetical order; the unknown author comes last."""
    names = sorted(set(authors) - {""}, key=lambda name: (name.casefold(), name))
    filled = len(COLOURS) * len(SHAPES)
    made = []
    for at, name in enumerate(names):
        color = COLOURS[at % len(COLOURS)]
        path, hollow = SHAPES[at % len(SHAPES)], at // filled % 2 == 1
        made.append(Marker(name, color, INKS[color], path, hollow))
    if "" in authors:
        made.append(Marker("", GREY, GREY, UNKNOWN_SHAPE, hollow=False, known=False))
    return made


def draw_documents(corpus_map: CorpusMap) -> DocumentMarkers:
    """The markers by group, if documents are grouped, and by author otherwise."""
    return _by_group(corpus_map) if corpus_map.clusters else _by_author(corpus_map)


def _by_author(corpus_map: CorpusMap) -> DocumentMarkers:
    authors = [document.author for document in corpus_map.documents]
    known, counts = markers(authors), Counter(authors)
    place = {marker.author: at for at, marker in enumerate(known)}
    marker_of = [place[author] for author in authors]
    legend = [
        Entry(marker, marker.author or "not named", f"{counts[marker.author]:,}", outlined=False)
        for marker in known
    ]
    repeated = len(known) > len({marker.path for marker in known})
    return DocumentMarkers(known, marker_of, legend, marker_of, [""] * len(authors), [], repeated)


def _by_group(corpus_map: CorpusMap) -> DocumentMarkers:
    authors = [document.author for document in corpus_map.documents]
    shape_of = {
        marker.author: marker.path if marker.known else SHAPES[0] for marker in markers(authors)
    }
    if len(shape_of) == 1:  # one author, or none is known: nothing to tell by shapes
        shape_of = dict.fromkeys(shape_of, SHAPES[0])
    legend: list[Entry] = []
    entry_of, group_of = [-1] * len(authors), [""] * len(authors)
    several = [cluster for cluster in corpus_map.clusters if len(cluster.texts) > 1]
    for at, cluster in enumerate(several):
        color = COLOURS[at % len(COLOURS)]
        hollow = at // len(COLOURS) % 2 == 1
        assert cluster.log10_odds is not None
        count, sure = f"{len(cluster.texts):,} texts", probability(cluster.log10_odds)
        marker = Marker("", color, INKS[color], SHAPES[0], hollow)
        legend.append(Entry(marker, f"group {cluster.number}", f"{count}, {sure}", outlined=True))
        for text in cluster.texts:
            entry_of[text] = at
            group_of[text] = (
                f"group {cluster.number}: {count}, by one person with odds of "
                f"{odds(cluster.log10_odds)}"
            )
    if alone := [text for text, at in enumerate(entry_of) if at < 0]:
        marker = Marker("", GREY, GREY, SHAPES[0], hollow=False, known=False)
        legend.append(Entry(marker, "alone", f"{len(alone):,}", outlined=False))
        for text in alone:
            entry_of[text], group_of[text] = len(legend) - 1, "in no group"
    places = list(zip(entry_of, authors, strict=True))
    distinct = list(dict.fromkeys(places))
    made = [
        replace(legend[entry].marker, author=author, path=shape_of[author])
        for entry, author in distinct
    ]
    marker_of = [distinct.index(place) for place in places]
    shapes = [Marker(author, GREY, GREY, path, hollow=False) for author, path in shape_of.items()]
    repeated = len(shapes) > len({marker.path for marker in shapes})
    shapes = shapes if len(shapes) > 1 else []
    return DocumentMarkers(made, marker_of, legend, entry_of, group_of, shapes, repeated)


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
