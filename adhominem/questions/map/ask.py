"""Which texts of a corpus are alike: the question, and how it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

import adhominem
from adhominem.jobs.run import Run
from adhominem.questions.cluster.cluster import PRIOR, Cluster, cluster_originals
from adhominem.questions.corpus import MOST_DOCUMENTS, POPULATION_OF_CORPUS, compare_corpus
from adhominem.questions.map.corpus_map import (
    LINKAGES,
    LOG_10,
    CorpusMap,
    join_all,
    leaf_order,
    lev_products,
    nearest_of,
    projections,
)
from adhominem.questions.question import Input, Output, Question, Texts
from adhominem.records import Offered, OneOf, Within
from adhominem.verify.verifier import Verifier

_TIES = 1e-6


@dataclass(frozen=True, kw_only=True)
class WhatIsAlike(Question):
    """Draw a corpus: which texts are alike, as a map and as a tree.

    The page is one file for a browser and needs nothing else. The tree joins texts by their Bayes
    factors. The map is by principal components, and by t-SNE where scikit-learn is installed.
    """

    name: ClassVar[str] = "map"
    runs_on: ClassVar[tuple[str, ...]] = ("device", "jobs")
    output: ClassVar[Output] = Output("The page to write, an .html file.", is_required=True)
    usage: ClassVar[str] = """
    CORPUS is a folder of texts, a folder with one folder an author, or a .jsonl file; authors need
    not be known.

    \b
        adhominem map novels/ -o map.html
        adhominem map novels/ -o map.html --clusters
        adhominem map novels/ -o map.html --population other-novels/ --linkage complete
    """

    texts: Annotated[Texts, Input(metavar="CORPUS", most="limit", is_corpus=True)]
    population: Annotated[
        Texts | None,
        Input(
            option="--population",
            option_help=POPULATION_OF_CORPUS,
            metavar="PATH|input|none",
        ),
    ] = None
    linkage: Annotated[
        str,
        OneOf(*LINKAGES),
        "How alike two groups are: their mean, least or greatest Bayes factor.",
    ] = "average"
    clusters: Annotated[
        bool, "Also draw the groups that `cluster` finds: colours are then groups."
    ] = False
    prior_same_author: Annotated[
        float,
        Within(above=0, below=1),
        Offered(option="--prior"),
        "For --clusters: how probable it is that two texts are by one person, before they are "
        "read.",
    ] = PRIOR
    limit: Annotated[int, Within(1), "Most documents; a larger corpus is sampled at random."] = (
        MOST_DOCUMENTS
    )
    seed: Annotated[int, Within(0), "Repeats a run."] = 0

    def answer(self, verifier: Verifier, run: Run) -> CorpusMap:
        """The map; t-SNE is added if scikit-learn is installed."""
        compared = compare_corpus(verifier, run, self.texts, self.population)
        scored, population = compared.scored, compared.population
        factors = compared.table(scored.log_bayes_factor)
        unbounded = compared.table(scored.unbounded)
        log10 = factors / LOG_10
        # Bounds make strong Bayes factors equal. The unbounded ones decide their order:
        # they count for a millionth, too little to show in a number.
        largest = max(float(np.nanmax(np.abs(unbounded), initial=0)), 1.0)
        ranked = log10 + _TIES * unbounded / largest
        joins = join_all(ranked, self.linkage)
        clusters: tuple[Cluster, ...] = ()
        if self.clusters:
            _, clusters, _ = cluster_originals(factors, self.prior_same_author, compared.originals)
        bounds = None
        if scored.calibrated:  # those of each pair depend on the lengths of its texts
            lowest, highest = scored.lower_bound.min(initial=0), scored.upper_bound.max(initial=0)
            bounds = (float(lowest) / LOG_10, float(highest) / LOG_10)
        with run.watch("drawing") as on_picture:
            products = lev_products(verifier.scorer.columns(compared.levs), population)
            pictures = projections(products, self.seed, on_picture)
        return CorpusMap(
            corpus=compared.name,
            documents=compared.listed,
            log10_bayes_factors=log10,
            nearest=nearest_of(ranked),
            projections=pictures,
            joins=joins,
            order=tuple(leaf_order(joins, ranked)),
            linkage=self.linkage,
            population=compared.population_name,
            population_texts=0 if population is None else population.texts,
            bounds=bounds,
            calibrated=scored.calibrated,
            remarks=compared.remarks(verifier, "they say nothing about who wrote them"),
            seed=self.seed,
            model=verifier.name,
            model_sha256=verifier.sha256,
            version=adhominem.__version__,
            language=verifier.main_language,
            language_given=verifier.language_given,
            clusters=clusters,
            prior_same_author=self.prior_same_author if self.clusters else None,
        )
