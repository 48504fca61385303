"""A corpus as a map: each document a point, and a tree of those that are alike.

Two measures are drawn, and they are not the same:

    points  the LEVs of the members of the model, each moved to the mean of the population (or of
            the corpus) and brought to unit length. Two dimensions hold a part of what is in them.
    tree    the log10 Bayes factor of each pair of documents, as `adhominem verify` reports it

For the tree, the two groups that are most alike are joined, again and again, until one is left. The
likeness of two groups is

    average   the mean over all pairs with a text in each (UPGMA)
    complete  the least
    single    the greatest

Joins can be labelled with the number that they were made by, here a log10 Bayes factor: the mean,
least or greatest one of pairs of texts, and not the Bayes factor of one author having written both
groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray, Rows
from adhominem.errors import OptionError
from adhominem.questions.cluster.cluster import Cluster
from adhominem.questions.corpus import MappedDocument
from adhominem.records import to_json, with_schema
from adhominem.score.population import Population
from adhominem.score.products import column_means, products
from adhominem.text.language import InLanguage

LINKAGES = ("average", "complete", "single")


@dataclass(frozen=True)
class Join:
    """Two groups that become one. Indices below `documents` are documents, the others joins."""

    first: int
    second: int
    likeness: float
    size: int  # documents in both


def join_all(likeness: npt.ArrayLike, linkage: str = "average") -> tuple[Join, ...]:
    """The joins, the most alike first, from a symmetric (documents, documents) table.

    The algorithm follows chains of nearest neighbours: n^2 steps and one copy of the table. These
    linkages never make a join that is more alike than one inside it, so the order in which joins
    are found does not matter.
    """
    if linkage not in LINKAGES:
        raise OptionError(f"the linkage is {linkage!r}; expected {', '.join(LINKAGES)}")
    table = np.array(likeness, dtype=np.float64)
    n = len(table)
    if table.shape != (n, n) or not np.array_equal(table, table.T, equal_nan=True):
        raise OptionError(f"likeness of shape {table.shape}; expected a symmetric table")
    np.fill_diagonal(table, -np.inf)
    if np.isnan(table).any():
        raise OptionError("a likeness is not a number; expected finite ones")
    sizes = np.ones(n)
    inside = np.full(n, np.inf)  # the least likeness within each group
    pairs: list[tuple[float, int, int]] = []  # the likeness, and a document of each group
    chain: list[int] = []
    left = np.ones(n, dtype=bool)
    while len(pairs) < n - 1:
        if not chain:
            chain = [int(np.argmax(left))]
        last = chain[-1]
        nearest = int(np.argmax(table[last]))
        # Of several that are as near, the one we came from, or the chain would not end.
        if len(chain) > 1 and table[last, chain[-2]] >= table[last, nearest]:
            nearest = chain[-2]
        if len(chain) < 2 or nearest != chain[-2]:
            chain.append(nearest)
            continue
        del chain[-2:]
        kept, gone = sorted((last, nearest))
        # By rounding, a mean of equal numbers may be greater than they are.
        inside[kept] = min(table[kept, gone], inside[kept], inside[gone])
        pairs.append((float(inside[kept]), kept, gone))
        row = _joined(table, sizes, kept, gone, linkage)
        row[~left] = row[kept] = row[gone] = -np.inf
        table[kept], table[:, kept] = row, row
        table[gone] = table[:, gone] = -np.inf
        sizes[kept] += sizes[gone]
        left[gone] = False
    return _numbered(sorted(pairs, key=lambda pair: -pair[0]), n)


def _joined(
    table: FloatArray, sizes: FloatArray, first: int, second: int, linkage: str
) -> FloatArray:
    """(documents,): the likeness of the union of two groups to each other group."""
    if linkage == "complete":
        return np.asarray(np.minimum(table[first], table[second]))
    if linkage == "single":
        return np.asarray(np.maximum(table[first], table[second]))
    total = sizes[first] * table[first] + sizes[second] * table[second]
    return np.asarray(total / (sizes[first] + sizes[second]))


def _numbered(pairs: Sequence[tuple[float, int, int]], documents: int) -> tuple[Join, ...]:
    """Joins with the groups numbered; each pair names a document of either group."""
    group = np.arange(documents)
    joins: list[Join] = []
    for likeness, one, other in pairs:
        first, second = sorted((int(group[one]), int(group[other])))
        inside = (group == first) | (group == second)
        group[inside] = documents + len(joins)
        joins.append(Join(first, second, likeness, int(inside.sum())))
    return tuple(joins)


def leaf_order(joins: Sequence[Join], likeness: npt.ArrayLike) -> list[int]:
    """The documents from the top of the drawing to its bottom, without crossing branches.

    Each join can be drawn either way up. It is turned so that the documents that meet in its middle
    are alike.
    """
    table = np.asarray(likeness, dtype=np.float64)
    orders: list[list[int]] = [[at] for at in range(len(joins) + 1)]
    for join in joins:
        first, second = orders[join.first], orders[join.second]
        ways = [
            (table[upper[-1], lower[0]], upper, lower)
            for upper in (first, first[::-1])
            for lower in (second, second[::-1])
        ]
        _, upper, lower = max(ways, key=lambda way: way[0])  # the first of equals
        orders.append(upper + lower)
        orders[join.first] = orders[join.second] = []
    return orders[-1]


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
class CorpusMap(InLanguage):
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
