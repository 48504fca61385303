"""How well texts were told apart into clusters, where their authors are known."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class ClusterMeasures:
    """Clusters beside the true authors; 1 is perfect everywhere."""

    texts: int  # whose authors are known
    authors: int
    clusters: int  # with such texts in them
    bcubed_precision: float  # how much of a text's cluster is by its author, on average
    bcubed_recall: float  # how much of its author's texts is in its cluster, on average
    bcubed_f: float  # the harmonic mean of both
    adjusted_rand_index: float  # of pairs; about 0 by chance


def measure_clusters(clusters: Sequence[Hashable], authors: Sequence[Hashable]) -> ClusterMeasures:
    """BCubed (Bagga and Baldwin 1998) and the adjusted Rand index (Hubert and Arabie 1985).

    Both sequences name, for each text, its group: by the clustering, and in truth.
    """
    if len(clusters) != len(authors) or not len(clusters):
        raise OptionError(
            f"clusters of {len(clusters)} texts, authors of {len(authors)}; expected as many, and "
            "at least one"
        )
    table = _cross_table(clusters, authors)  # (clusters, authors): texts in both
    of_cluster, of_author, texts = table.sum(axis=1), table.sum(axis=0), table.sum()
    precision = float((table**2 / of_cluster[:, None]).sum() / texts)
    recall = float((table**2 / of_author).sum() / texts)
    return ClusterMeasures(
        texts=int(texts),
        authors=len(of_author),
        clusters=len(of_cluster),
        bcubed_precision=precision,
        bcubed_recall=recall,
        bcubed_f=2 * precision * recall / (precision + recall),
        adjusted_rand_index=_adjusted_rand_index(table),
    )


def _cross_table(first: Sequence[Hashable], second: Sequence[Hashable]) -> FloatArray:
    rows, columns = (
        {name: at for at, name in enumerate(dict.fromkeys(s))} for s in (first, second)
    )
    table = np.zeros((len(rows), len(columns)))
    for one, other in zip(first, second, strict=True):
        table[rows[one], columns[other]] += 1
    return table


def _adjusted_rand_index(table: FloatArray) -> float:
    def pairs(counts: FloatArray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, one, other = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    texts = float(table.sum())
    expected = one * other / max(texts * (texts - 1) / 2, 1.0)
    most = (one + other) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)
