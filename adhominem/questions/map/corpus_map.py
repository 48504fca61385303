"""A corpus as a map: each document a point, and a tree of those that are alike.

Two measures are drawn, and they are not the same:

    points  the LEVs of the members of the model, each moved to the mean of the population (or of
            the corpus) and brought to unit length. Two dimensions hold a part of what is in them.
    tree    the log10 Bayes factor of each pair of documents, as `adhominem verify` reports it
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

import adhominem
from adhominem.arrays import AnyLevs, BoolArray, FloatArray, Rows
from adhominem.errors import OptionError
from adhominem.pairs.passages import originals
from adhominem.questions.cluster.cluster import Cluster, cluster_originals
from adhominem.questions.map.tree import Join, join_all, leaf_order
from adhominem.records import to_json, with_schema
from adhominem.score.calibration import LogBayesFactors
from adhominem.score.population import Population
from adhominem.score.products import column_means, products
from adhominem.score.scorer import square
from adhominem.text.files import Document
from adhominem.verify.cautions import cautions_of_many, listed
from adhominem.verify.verifier import Verifier

_NEAREST = 5  # documents that are named beside a document
_FEWEST_NEIGHBOURS = 10  # documents: of fewer, there are no neighbourhoods to draw
_SHORT_WORDS = 500  # of a text: below, there is little evidence in it
_LONG_WORDS = 4_000  # of a text: above, its genre is louder than its author, without a population
_DIGITS = 4  # of places and Bayes factors that are written
_TIES = 1e-6
_LOG_10 = float(np.log(10))

# Shows how far a piece of work is: what it is, and how much there is of it if that is known.
Watch = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True)
class MappedDocument:
    """A document as a point of the map."""

    name: str
    author: str  # empty where unknown
    words: int
    unlike_training: bool  # farther from the training texts than nearly all of them


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


def map_documents(
    verifier: Verifier,
    documents: Sequence[Document],
    levs: AnyLevs,
    *,
    corpus: str = "",
    population: Population | None = None,
    population_name: str = "",
    linkage: str = "average",
    prior_same_author: float | None = None,
    seed: int = 0,
    remarks: Sequence[str] = (),
    watch: Watch = lambda what, total: nullcontext(lambda count: None),
) -> CorpusMap:
    """The map of documents from their LEVs (documents, lev_size).

    With a `prior_same_author`, documents are grouped by evidence, as `cluster` does. `remarks`
    precede those that are made here. t-SNE is added if scikit-learn is installed.
    """
    if not documents:
        raise OptionError("there is no document to draw; expected one or more")
    if len(documents) != len(levs):
        raise OptionError(f"{len(documents)} documents, {len(levs)} LEVs; expected as many")
    parts = verifier.scorer.columns(levs)
    no_statement = verifier.no_statement_on(documents)  # (documents,)
    foreign = verifier.foreign(documents, levs) & ~no_statement
    mapped = tuple(
        MappedDocument(
            document.id or f"document {at}",
            document.author.strip(),
            len(document.text.split()),
            bool(unlike),
        )
        for at, (document, unlike) in enumerate(zip(documents, foreign, strict=True), start=1)
    )
    pairs = len(documents) * (len(documents) - 1) // 2
    with watch("comparing", pairs) as on_pairs:
        scored = verifier.scorer.all_pairs(levs, population, on_pairs=on_pairs)
    unbounded = stated(scored.unbounded, no_statement)
    factors = stated(scored.log_bayes_factor, no_statement)
    log10 = factors / _LOG_10
    # Bounds make strong Bayes factors equal. The unbounded ones decide their order:
    # they count for a millionth, too little to show in a number.
    ranked = log10 + _TIES * unbounded / max(float(np.nanmax(np.abs(unbounded), initial=0)), 1.0)
    joins = join_all(ranked, linkage)
    clusters: tuple[Cluster, ...] = ()
    if prior_same_author is not None:
        _, clusters, _ = cluster_originals(
            factors, prior_same_author, originals([document.text for document in documents])
        )
    bounds = None
    if scored.calibrated:  # those of each pair depend on the lengths of its texts
        lowest = scored.lower_bound.min(initial=0.0)
        highest = scored.upper_bound.max(initial=0.0)
        bounds = (float(lowest) / _LOG_10, float(highest) / _LOG_10)
    with watch("drawing", None) as on_picture:
        pictures = projections(lev_products(parts, population), seed, on_picture)
    cautions = [
        *remarks,
        *remarks_on_foreign(
            [document.name for document in compress(mapped, no_statement)],
            "they say nothing about who wrote them",
        ),
        *remarks_of(mapped, documents, population is not None),
        *remarks_on_population(verifier, population, scored),
    ]
    return CorpusMap(
        corpus=corpus,
        documents=mapped,
        log10_bayes_factors=log10,
        nearest=_nearest(ranked),
        projections=pictures,
        joins=joins,
        order=tuple(leaf_order(joins, ranked)),
        linkage=linkage,
        population=population_name or ("none" if population is None else "given"),
        population_texts=0 if population is None else population.texts,
        bounds=bounds,
        calibrated=scored.calibrated,
        remarks=tuple(cautions),
        seed=seed,
        model=verifier.name,
        model_sha256=verifier.sha256,
        version=adhominem.__version__,
        clusters=clusters,
        prior_same_author=prior_same_author,
    )


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


def _nearest(ranked: FloatArray) -> tuple[tuple[int, ...], ...]:
    table = np.where(np.isnan(ranked), -np.inf, ranked)
    most = min(_NEAREST, len(table) - 1)
    return tuple(tuple(np.argsort(-row, kind="stable")[:most].tolist()) for row in table)


def stated(log_bayes_factors: FloatArray, no_statement: BoolArray) -> FloatArray:
    """(texts, texts): log Bayes factors from those of all pairs (pairs,); 0 without a statement."""
    factors = square(log_bayes_factors)
    factors[no_statement] = factors[:, no_statement] = 0.0
    np.fill_diagonal(factors, np.nan)
    return factors


def remarks_on_foreign(names: Sequence[str], meaning: str) -> Iterator[str]:
    """A remark on texts without a statement, and what that means for the result."""
    if names:
        yield (
            "no statement is made on texts that are not running prose of a kind that the model "
            f"knows: {listed(names)}; the Bayes factors of all pairs with them are 1, so {meaning}"
        )


def remarks_of(
    mapped: Sequence[MappedDocument], documents: Sequence[Document], has_population: bool
) -> list[str]:
    """Cautions for readers of the map: short or foreign texts, copies, no population."""
    remarks = []
    if short := [document.name for document in mapped if document.words < _SHORT_WORDS]:
        remarks.append(
            f"there is little evidence in texts of fewer than {_SHORT_WORDS} words: {listed(short)}"
        )
    if foreign := [document.name for document in mapped if document.unlike_training]:
        remarks.append(
            f"the Bayes factors may not hold for texts unlike the training texts: {listed(foreign)}"
        )
    long = sum(document.words > _LONG_WORDS for document in mapped)
    if long and not has_population:
        remarks.append(
            f"{long:,} texts of more than {_LONG_WORDS:,} words without a population: what such "
            "texts of a genre have in common speaks louder than who wrote them"
        )
    copies = [
        f"{mapped[at].name} = {mapped[before].name}"
        for at, before in enumerate(originals([document.text for document in documents]))
        if before != at
    ]
    if copies:
        remarks.append(f"copies of one text say nothing about who wrote it: {listed(copies)}")
    return remarks


def remarks_on_population(
    verifier: Verifier, population: Population | None, scored: LogBayesFactors
) -> Iterator[str]:
    """Cautions about the population, and about pairs that do not lie among its texts."""
    names, misleading = verifier.genre_names, verifier.misleading()
    changed = verifier.changed
    for caution in cautions_of_many(scored.calibrated, population, names, misleading, changed):
        yield caution.message
    if scored.population_misfit.any():
        yield (
            f"{np.mean(scored.population_misfit):.0%} of the pairs do not lie among the texts of "
            "the population, and were compared without it"
        )
