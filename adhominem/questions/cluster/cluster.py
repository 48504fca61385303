"""How many people wrote some texts, and who wrote what: clusters by evidence.

Each text begins as a cluster of its own. The two clusters whose merger has the greatest posterior
odds are merged, again and again, as long as these odds are above 1:

    log posterior odds = log Bayes factor of the two clusters + log prior odds

The prior is that of `verify`, stated by the user: how probable it is that two clusters are by one
person, before they are read. So a partition of the texts among k people has the prior probability
((1 - p) / p) ** k, up to a constant. No number of authors and no threshold must be guessed.

The Bayes factors of all pairs with a text in each of two clusters are not independent: their sum
would be far too sure. Their mean counts as often as the square root of the number of pairs says,
once for two texts and five times for five texts beside five others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError
from adhominem.score.decision import LOG_10

PRIOR = 0.25  # that two clusters are by one person: what was tried is in docs/decisions.md
CLEAR = 10.0  # odds: an authorship that is this much more probable than not is clear


@dataclass(frozen=True)
class Merger:
    """Two clusters that become one."""

    first: tuple[int, ...]  # numbers of texts
    second: tuple[int, ...]
    log_odds: float  # posterior, that one person wrote both

    @property
    def texts(self) -> tuple[int, ...]:
        """Those of both."""
        return tuple(sorted(self.first + self.second))


@dataclass(frozen=True)
class Partition:
    """Texts by author, as far as the evidence goes."""

    clusters: tuple[tuple[int, ...], ...]  # numbers of texts; the largest first
    mergers: tuple[Merger, ...]  # all, down to one cluster; those after the first doubtful one
    # were not made
    fewest: int  # clusters, if all mergers were made that are not clearly wrong
    most: int  # if those were taken apart whose last merger is not clearly right


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Texts that seem to be by one person."""

    number: int  # from 1; the largest cluster first
    texts: tuple[int, ...]  # numbers of texts, from 0
    log10_odds: float | None  # posterior, that its two parts, merged last, are by one person
    nearest: int | None  # the cluster that it would be merged with next
    nearest_log10_odds: float | None  # posterior, that one person wrote both


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """How alike a text is to those of its cluster, and of the nearest other one."""

    log10_bayes_factor: float | None  # mean, with the other texts of its cluster; None: no others
    nearest: int | None  # the cluster, other than its own, with the greatest mean
    nearest_log10_bayes_factor: float | None


def merge_texts(
    log_bayes_factors: FloatArray,
    prior_same_author: float,
    groups: Sequence[tuple[int, ...]] | None = None,
) -> Partition:
    """Merge texts by their log Bayes factors (texts, texts), whose diagonal is not looked at.

    `groups` are texts that are known to be by one person: they begin as one cluster each.
    """
    if not 0 < prior_same_author < 1:
        raise OptionError(f"the prior is {prior_same_author}; expected more than 0, less than 1")
    texts = len(log_bayes_factors)
    if log_bayes_factors.shape != (texts, texts) or not texts:
        raise OptionError(f"Bayes factors of shape {log_bayes_factors.shape}; expected a square")
    groups = [(at,) for at in range(texts)] if groups is None else list(groups)
    inside = membership(groups, texts)  # (clusters, texts)
    sums = inside @ without_diagonal(log_bayes_factors) @ inside.T  # over pairs of texts
    sizes, left = inside.sum(axis=1), np.ones(len(groups), dtype=bool)
    mergers: list[Merger] = []
    clusters: list[tuple[int, ...]] | None = None
    odds = pooled(sums, sizes) + _log_odds(prior_same_author)  # (clusters, clusters)
    np.fill_diagonal(odds, -np.inf)
    while len(mergers) < len(inside) - 1:
        one, other = sorted(np.unravel_index(int(np.argmax(odds)), odds.shape))
        log_odds = float(odds[one, other])
        if log_odds <= 0 and clusters is None:
            clusters = [group for group, kept in zip(groups, left, strict=True) if kept]
        mergers.append(Merger(groups[one], groups[other], log_odds))
        groups[one] = mergers[-1].texts
        left[other] = False
        sums[one] += sums[other]
        sums[:, one] = sums[one]
        sizes[one] += sizes[other]
        row = pooled(sums[one : one + 1], sizes[one : one + 1], sizes)[0]  # (clusters,)
        row = np.where(left, row + _log_odds(prior_same_author), -np.inf)
        row[one] = -np.inf
        odds[one] = odds[:, one] = row
        odds[other] = odds[:, other] = -np.inf
    if clusters is None:
        clusters = [group for group, kept in zip(groups, left, strict=True) if kept]
    # Those before the first that is clearly wrong.
    made = next(
        (at for at, one in enumerate(mergers) if one.log_odds < -np.log(CLEAR)), len(mergers)
    )
    return Partition(
        clusters=tuple(sorted(clusters, key=lambda group: (-len(group), group))),
        mergers=tuple(mergers),
        fewest=len(inside) - made,
        most=_apart(clusters, mergers),
    )


def cluster_originals(
    log_bayes_factors: FloatArray, prior_same_author: float, first: Sequence[int]
) -> tuple[Partition, tuple[Cluster, ...], list[Neighbours]]:
    """Clusters of texts that may be copies: `first` has, for each text, the first one equal to it.

    Only these first ones count. A copy is in the cluster of its original, and described like it.
    """
    different = sorted(set(first))
    factors = log_bayes_factors[np.ix_(different, different)]
    partition = merge_texts(factors, prior_same_author)
    of_different, neighbours = describe_clusters(partition, factors, prior_same_author)
    place_of = {text: place for place, text in enumerate(different)}
    places = [place_of[text] for text in first]  # (texts,)
    clusters = tuple(
        replace(cluster, texts=tuple(at for at, place in enumerate(places) if place in inside))
        for cluster in of_different
        for inside in [set(cluster.texts)]
    )
    return partition, clusters, [neighbours[place] for place in places]


def membership(groups: Sequence[tuple[int, ...]], texts: int) -> FloatArray:
    """(groups, texts): 1 where a text is in a group."""
    inside = np.zeros((len(groups), texts))
    for at, group in enumerate(groups):
        inside[at, list(group)] = 1
    return inside


def without_diagonal(table: FloatArray) -> FloatArray:
    """(texts, texts): of a text with itself nothing is known."""
    return np.where(np.eye(len(table), dtype=bool), 0.0, table)


def pooled(sums: FloatArray, sizes: FloatArray, others: FloatArray | None = None) -> FloatArray:
    """(clusters, others): log Bayes factors of clusters, from the sums over pairs of texts."""
    pairs = sizes[:, None] * (sizes if others is None else others)
    return np.asarray(sums / np.sqrt(pairs))


def describe_clusters(
    partition: Partition, log_bayes_factors: FloatArray, prior_same_author: float
) -> tuple[tuple[Cluster, ...], list[Neighbours]]:
    """The clusters with what holds them together, and the neighbours of each text."""
    count = len(partition.clusters)
    inside = membership(partition.clusters, len(log_bayes_factors))  # (clusters, texts)
    table = without_diagonal(log_bayes_factors)
    sizes = inside.sum(axis=1)
    odds = pooled(inside @ table @ inside.T, sizes) + _log_odds(prior_same_author)
    np.fill_diagonal(odds, -np.inf)
    last = {merger.texts: merger.log_odds for merger in partition.mergers}
    clusters = tuple(
        Cluster(
            number=at + 1,
            texts=group,
            log10_odds=last[group] / LOG_10 if len(group) > 1 else None,
            nearest=int(odds[at].argmax()) + 1 if count > 1 else None,
            nearest_log10_odds=float(odds[at].max()) / LOG_10 if count > 1 else None,
        )
        for at, group in enumerate(partition.clusters)
    )
    others = sizes[:, None] - inside  # (clusters, texts): texts beside the one at hand
    means = (inside @ table) / np.maximum(others, 1) / LOG_10  # (clusters, texts)
    away = np.where(inside > 0, -np.inf, means)
    neighbours = [
        Neighbours(
            log10_bayes_factor=float(means[at, text]) if sizes[at] > 1 else None,
            nearest=int(away[:, text].argmax()) + 1 if count > 1 else None,
            nearest_log10_bayes_factor=float(away[:, text].max()) if count > 1 else None,
        )
        for text, at in enumerate(inside.argmax(axis=0).tolist())
    ]
    return clusters, neighbours


def _log_odds(probability: float) -> float:
    return float(np.log(probability) - np.log1p(-probability))


def _apart(clusters: Sequence[tuple[int, ...]], mergers: Sequence[Merger]) -> int:
    """How many clusters are left if they are taken apart until all are clearly right.

    A merger of many texts may be clear where the mergers of a few that came before were not.
    """
    merged = {merger.texts: merger for merger in mergers}
    parts, whole = list(clusters), 0
    while parts:
        merger = merged.get(parts.pop())
        if merger is None or merger.log_odds >= np.log(CLEAR):
            whole += 1
        else:
            parts += [merger.first, merger.second]
    return whole
