"""Clusters for people: a page, a single HTML file that fetches nothing, and the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from adhominem.questions.cluster.ask import ClusteredText, Clustering
from adhominem.questions.cluster.cluster import Cluster
from adhominem.questions.question import Page
from adhominem.render.summary import signed
from adhominem.render.templates import asset
from adhominem.score.decision import show_probability

_NOT_A_VERDICT = (
    "Odds are not a verdict. They rest on the prior, which is yours to state, and on the Bayes "
    "factors of many pairs of texts, pooled by a rule of thumb: they are not calibrated. Texts "
    "that were not put together may still be by one person."
)
_MOST_AUTHORS = 4  # known ones that are named beside a cluster


def _headline(clustering: Clustering) -> str:
    """How many texts and authors, and how far that is open."""
    fewest, most = clustering.fewest_authors, clustering.most_authors
    people = "1 author" if clustering.authors == 1 else f"{clustering.authors:,} authors"
    between = ""
    if fewest != most:
        open_mergers = "if mergers with odds between 1:10 and 10:1 are left open"
        between = f" (from {fewest:,} to {most:,}, {open_mergers})"
    return f"{len(clustering.texts):,} texts, {people}{between}"


def _measured(clustering: Clustering) -> str:
    """How well the clusters agree with the known authors; empty where none is known."""
    measures = clustering.measures
    if measures is None:
        return ""
    return (
        f"Against the known authors ({measures.authors:,}, of {measures.texts:,} texts): "
        f"BCubed precision {measures.bcubed_precision:.3f}, "
        f"recall {measures.bcubed_recall:.3f}, F {measures.bcubed_f:.3f}; "
        f"adjusted Rand index {measures.adjusted_rand_index:.3f}"
    )


def odds(log10_odds: float) -> str:
    """Odds as people say them; a Bayes factor is not more precise than this."""
    value = 10 ** abs(log10_odds)
    number = f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"
    return f"{number}:1" if log10_odds >= 0 else f"1:{number}"


def probability(log10_odds: float) -> str:
    """Odds as a probability to a hundredth."""
    return show_probability(1 / (1 + 10 ** -max(-300.0, log10_odds)), 2)


def _values(clustering: Clustering) -> dict[str, Any]:
    return {
        "headline": _headline(clustering),
        "measured": _measured(clustering),
        "groups": [one for one in clustering.clusters if len(one.texts) > 1],
        "alone": [one for one in clustering.clusters if len(one.texts) == 1],
        "known": any(text.author for text in clustering.texts),
        "authors": partial(_authors, clustering),
        "is_doubtful": _is_doubtful,
        "odds": odds,
        "probability": probability,
        "signed": signed,
        "not_a_verdict": _NOT_A_VERDICT,
    }


def _authors(clustering: Clustering, cluster: Cluster) -> str:
    """The known authors of a cluster, and how many texts each has in it."""
    counts = Counter(clustering.texts[at].author for at in cluster.texts)
    del counts[""]
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    named = [f"{author} {count:,}" for author, count in ordered[:_MOST_AUTHORS]]
    if len(ordered) > _MOST_AUTHORS:
        named.append(f"{len(ordered) - _MOST_AUTHORS:,} more")
    return ", ".join(named)


def _is_doubtful(text: ClusteredText) -> bool:
    """Whether another cluster is nearer than its own."""
    here, there = text.log10_bayes_factor, text.nearest_log10_bayes_factor
    return here is not None and there is not None and there > here


def _lines(clustering: Clustering, values: Mapping[str, Any]) -> Iterator[str]:
    """The clusters with their texts, and what they rest on."""
    yield _headline(clustering)
    for cluster in clustering.clusters:
        about = "1 text" if len(cluster.texts) == 1 else f"{len(cluster.texts):,} texts"
        if cluster.log10_odds is not None:
            about += f", whose two halves are by one person with odds of {odds(cluster.log10_odds)}"
        if cluster.nearest is not None and cluster.nearest_log10_odds is not None:
            nearest = odds(cluster.nearest_log10_odds)
            about += f"; nearest is {cluster.nearest}, the same person with odds of {nearest}"
        yield ""
        yield f"{cluster.number}  {about}"
        for at in cluster.texts:
            text = clustering.texts[at]
            by = f", by {text.author}" if text.author else ""
            doubt = ""
            if _is_doubtful(text):
                here, there = text.log10_bayes_factor, text.nearest_log10_bayes_factor
                doubt = f"  (nearer to {text.nearest}: {there:+.2f} beside {here:+.2f})"
            yield f"     {text.name}{by}{doubt}"
    yield ""
    if measures := _measured(clustering):
        yield measures
    yield (
        f"Prior  {clustering.prior_same_author:g} that two texts, or two clusters, are by one "
        f"person; population {clustering.population} ({clustering.population_texts:,} texts)"
    )


PAGE: Page[Clustering] = Page(
    name="cluster",
    styles=(asset("evaluation.css"), asset("study.css"), asset("cluster.css")),
    title=lambda clustering: f"How many people wrote {clustering.corpus}?",
    values=_values,
    lines=_lines,
    remarks=lambda clustering: clustering.remarks,
)
