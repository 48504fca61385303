"""Clusters for people: the sentences that the terminal shows, too, and a page.

The page is a single HTML file that fetches nothing from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adhominem.questions.cluster.cluster import Cluster, ClusteredText, Clustering
from adhominem.questions.question import Page
from adhominem.render.summary import signed
from adhominem.render.templates import asset
from adhominem.score.decision import show_probability

NOT_A_VERDICT = (
    "Odds are not a verdict. They rest on the prior, which is yours to state, and on the Bayes "
    "factors of many pairs of texts, pooled by a rule of thumb: they are not calibrated. Texts "
    "that were not put together may still be by one person."
)
_MOST_AUTHORS = 4  # known ones that are named beside a cluster


@dataclass(frozen=True)
class ShownText:
    """A text of a cluster."""

    text: ClusteredText
    beside: str  # its mean log10 Bayes factor with the rest of its cluster
    other: str  # the same with the nearest other cluster
    is_doubtful: bool  # whether that cluster is nearer


@dataclass(frozen=True)
class ShownCluster:
    """A cluster of several texts, or a text that stands alone."""

    cluster: Cluster
    odds: str  # that its two halves are by one person
    probability: str
    nearest_odds: str
    authors: str  # the known ones, with how many texts each has here
    texts: list[ShownText]


def cluster_title(clustering: Clustering) -> str:
    """What was asked."""
    return f"How many people wrote {clustering.corpus}?"


def headline(clustering: Clustering) -> str:
    """How many texts and authors, and how far that is open."""
    fewest, most = clustering.fewest_authors, clustering.most_authors
    people = "1 author" if clustering.authors == 1 else f"{clustering.authors:,} authors"
    between = ""
    if fewest != most:
        open_mergers = "if mergers with odds between 1:10 and 10:1 are left open"
        between = f" (from {fewest:,} to {most:,}, {open_mergers})"
    return f"{len(clustering.texts):,} texts, {people}{between}"


def measured(clustering: Clustering) -> str:
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
    """Odds as people say them; a Bayes factor is no finer than this."""
    value = 10 ** abs(log10_odds)
    number = f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"
    return f"{number}:1" if log10_odds >= 0 else f"1:{number}"


def probability(log10_odds: float) -> str:
    """Odds as a probability to a hundredth."""
    return show_probability(1 / (1 + 10 ** -max(-300.0, log10_odds)), 2)


def _values(clustering: Clustering) -> dict[str, Any]:
    shown = [_shown(clustering, cluster) for cluster in clustering.clusters]
    return {
        "clustering": clustering,
        "headline": headline(clustering),
        "measured": measured(clustering),
        "groups": [one for one in shown if len(one.texts) > 1],
        "alone": [one for one in shown if len(one.texts) == 1],
        "known": any(text.author for text in clustering.texts),
        "not_a_verdict": NOT_A_VERDICT,
    }


def _shown(clustering: Clustering, cluster: Cluster) -> ShownCluster:
    texts = [clustering.texts[at] for at in cluster.texts]
    counts: dict[str, int] = {}
    for text in texts:
        if text.author:
            counts[text.author] = counts.get(text.author, 0) + 1
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    named = [f"{author} {count:,}" for author, count in ordered[:_MOST_AUTHORS]]
    if len(ordered) > _MOST_AUTHORS:
        named.append(f"{len(ordered) - _MOST_AUTHORS:,} more")
    merged, nearest = cluster.log10_odds, cluster.nearest_log10_odds
    return ShownCluster(
        cluster,
        "" if merged is None else odds(merged),
        "" if merged is None else probability(merged),
        "" if nearest is None else odds(nearest),
        ", ".join(named),
        [_text(text) for text in texts],
    )


def _text(text: ClusteredText) -> ShownText:
    beside, other = text.log10_bayes_factor, text.nearest_log10_bayes_factor
    return ShownText(
        text,
        "" if beside is None else signed(beside),
        "" if other is None else signed(other),
        beside is not None and other is not None and other > beside,
    )


def _lines(clustering: Clustering, values: Mapping[str, Any]) -> Iterator[str]:
    """The clusters with their texts, and what they rest on."""
    yield headline(clustering)
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
            beside, other = text.log10_bayes_factor, text.nearest_log10_bayes_factor
            doubt = ""
            if beside is not None and other is not None and other > beside:
                doubt = f"  (nearer to {text.nearest}: {other:+.2f} beside {beside:+.2f})"
            yield f"     {text.name}{by}{doubt}"
    yield ""
    if measures := measured(clustering):
        yield measures
    yield (
        f"Prior  {clustering.prior_same_author:g} that two texts, or two clusters, are by one "
        f"person; population {clustering.population} ({clustering.population_texts:,} texts)"
    )


PAGE: Page[Clustering] = Page(
    name="cluster",
    styles=(asset("evaluation.css"), asset("study.css"), asset("cluster.css")),
    title=cluster_title,
    values=_values,
    lines=_lines,
    remarks=lambda clustering: clustering.remarks,
)
