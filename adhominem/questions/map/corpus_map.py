"""A corpus as a map: each document a point, and a tree of those that are alike.

Two measures are drawn, and they are not the same:

    points  the LEVs of the members of the model, each moved to the mean of the population (or of
            the corpus) and brought to unit length. Two dimensions hold a part of what is in them.
    tree    the log10 Bayes factor of each pair of documents, as `adhominem verify` reports it
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adhominem.arrays import FloatArray, Rows
from adhominem.questions.cluster.cluster import Cluster
from adhominem.questions.corpus import MappedDocument
from adhominem.questions.map.tree import Join
from adhominem.records import to_json, with_schema
from adhominem.score.population import Population
from adhominem.score.products import column_means, products

LOG_10 = float(np.log(10))
_NEAREST = 5  # documents that are named beside a document
_FEWEST_NEIGHBOURS = 10  # documents: of fewer, there are no neighbourhoods to draw
_DIGITS = 4  # of places and Bayes factors that are written


@dataclass(frozen=True, eq=False)
class Projection:
    """The documents in two dimensions."""

    name: str  # PCA or t-SNE
    places: FloatArray  # (documents, 2)
    shares: tuple[float, float] | None = None  # of the variance, that each axis of a PCA holds


@dataclass(frozen=True)
class Agreement:
    """How far Bayes factors and authors' names agree, in pairs of documents."""

    one_name: int  # pairs under one name
    one_name_above: int  # of these, with a Bayes factor above 1
    two_names: int
    two_names_below: int  # of them, with a Bayes factor below 1


@dataclass(frozen=True, kw_only=True, eq=False)
class CorpusMap:
    """All data that the pictures of a corpus are drawn from."""

    corpus: str
    documents: tuple[MappedDocument, ...]
    log10_bayes_factors: FloatArray  # (documents, documents); NaN on the diagonal
    nearest: tuple[tuple[int, ...], ...]  # to each document: the highest Bayes factors first
    projections: tuple[Projection, ...]  # PCA first
    joins: tuple[Join, ...]  # by log10 Bayes factor
    order: tuple[int, ...]  # of the documents beside the tree
    linkage: str
    population: str  # `input` for the documents themselves; `none`; or its path
    population_texts: int  # 0: none
    bounds: tuple[float, float] | None  # log10 Bayes factors beyond are not reported
    calibrated: bool
    remarks: tuple[str, ...]
    seed: int
    model: str
    model_sha256: str
    version: str
    clusters: tuple[Cluster, ...] = ()  # groups by evidence, if requested
    prior_same_author: float | None = None  # that the groups rest on

    @cached_property
    def agreement(self) -> Agreement:
        """How far Bayes factors and names agree, over all pairs whose authors are named."""
        first, second = np.triu_indices(len(self.documents), 1)
        names = np.array([document.author for document in self.documents])
        known = (names[first] != "") & (names[second] != "")
        first, second = first[known], second[known]
        same_name = names[first] == names[second]
        factors = self.log10_bayes_factors[first, second]
        return Agreement(
            int(same_name.sum()),
            int((factors[same_name] > 0).sum()),
            int((~same_name).sum()),
            int((factors[~same_name] < 0).sum()),
        )

    def to_json(self) -> dict[str, Any]:
        """The map as plain lists, numbers and strings; only Bayes factors below the diagonal."""
        table = self.log10_bayes_factors.round(_DIGITS)
        data = to_json(self)
        nearest = data.pop("nearest")
        for row, document, others in zip(table, data["documents"], nearest, strict=True):
            document["nearest"] = [
                {"document": other, "log10_bayes_factor": float(row[other])} for other in others
            ]
        for projection in data["projections"]:
            projection["places"] = projection["places"].round(_DIGITS).tolist()
            projection["shares_of_variance"] = projection.pop("shares")
        for join in data["joins"]:
            join["log10_bayes_factor"] = round(join.pop("likeness"), _DIGITS)
            join["documents"] = join.pop("size")
        data["log10_bayes_factors"] = [row[:at].tolist() for at, row in enumerate(table)]
        return with_schema({**data, "agreement": self.agreement})


def lev_products(parts: Sequence[Rows], population: Population | None) -> FloatArray:
    """(documents, documents): scalar products of the LEVs that the points represent.

    `parts` are the LEVs (documents, lev_size) of each member. Each is centred and scaled to unit
    length, so that no member outweighs another by the size of its numbers.
    """
    total = np.zeros((len(parts[0]), len(parts[0])))
    at = 0
    for part in parts:
        size = part.shape[1]
        origin = column_means(part) if population is None else population.lev_mean[at : at + size]
        along = products(part, origin[None])[:, 0]  # (documents,)
        table = products(part, part) - along - along[:, None] + origin @ origin
        lengths = np.sqrt(np.maximum(np.diag(table), 1e-24))
        total += table / lengths / lengths[:, None] / len(parts)
        at += size
    return total


def projections(
    table: FloatArray, seed: int, on_picture: Callable[[int], None] = lambda count: None
) -> tuple[Projection, ...]:
    """All projections of documents with these scalar products (documents, documents)."""
    pca = principal_components(table)
    drawn = [pca]
    on_picture(1)
    if len(table) < _FEWEST_NEIGHBOURS:
        return (pca,)
    squares = np.diag(table)
    distances = np.sqrt(np.maximum(squares + squares[:, None] - 2 * table, 0))
    np.fill_diagonal(distances, 0)
    start = pca.places / max(float(pca.places[:, 0].std()), 1e-12)
    with warnings.catch_warnings(action="ignore"):  # about choices that are deliberate here
        places = _t_sne(distances, start, seed)
    if places is not None and np.isfinite(places).all():
        drawn.append(Projection("t-SNE", places))
        on_picture(1)
    return tuple(drawn)


def principal_components(table: FloatArray) -> Projection:
    """The first two principal components of rows with these scalar products (rows, rows)."""
    means = table.mean(axis=0)
    centred = table - means - means[:, None] + means.mean()
    variances, directions = np.linalg.eigh(centred)
    total = max(float(np.trace(centred)), 0.0)
    if total < 1e-12 * len(table):  # one document, or copies of one
        return Projection("PCA", np.zeros((len(table), 2)), (0.0, 0.0))
    places = np.zeros((len(table), 2))
    shares = [0.0, 0.0]
    for axis in range(min(2, len(table) - 1)):
        variance = max(float(variances[-1 - axis]), 0.0)
        direction = directions[:, -1 - axis]
        # Either sign would do: that of the largest is positive.
        direction = direction * np.sign(direction[np.argmax(np.abs(direction))])
        places[:, axis] = direction * np.sqrt(variance)
        shares[axis] = variance / total
    return Projection("PCA", places, (shares[0], shares[1]))


def _t_sne(distances: FloatArray, start: FloatArray, seed: int) -> FloatArray | None:
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError:
        return None
    model = TSNE(
        metric="precomputed",
        init=1e-4 * start,  # what is far apart in the PCA tends to stay so
        perplexity=min(30.0, (len(distances) - 1) / 3),
        random_state=seed,
    )
    with threadpool_limits(1):  # its threads wait for each other: on a busy machine, for minutes
        return np.asarray(model.fit_transform(distances), dtype=np.float64)


def nearest_of(ranked: FloatArray) -> tuple[tuple[int, ...], ...]:
    """For each document the indices of those that are most alike."""
    table = np.where(np.isnan(ranked), -np.inf, ranked)
    most = min(_NEAREST, len(table) - 1)
    return tuple(tuple(np.argsort(-row, kind="stable")[:most].tolist()) for row in table)
