"""Clusters measured against the true authors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.evaluation.pan import measure_clusters

GROUPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


@given(GROUPS)
def test_bcubed_is_what_bagga_and_baldwin_say(groups: list[tuple[int, int]]) -> None:
    clusters, authors = zip(*groups, strict=True)
    precision = recall = 0.0
    for cluster, author in groups:
        both = sum(pair == (cluster, author) for pair in groups)
        precision += both / clusters.count(cluster) / len(groups)
        recall += both / authors.count(author) / len(groups)
    told = measure_clusters(clusters, authors)
    assert told.bcubed_precision == pytest.approx(precision)
    assert told.bcubed_recall == pytest.approx(recall)
    assert told.bcubed_f == pytest.approx(2 * precision * recall / (precision + recall))


@given(GROUPS)
def test_the_adjusted_rand_index_is_that_of_scikit_learn(groups: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    clusters, authors = zip(*groups, strict=True)
    told = measure_clusters(clusters, authors).adjusted_rand_index
    assert told == pytest.approx(metrics.adjusted_rand_score(authors, clusters), abs=1e-9)


def test_names_of_groups_do_not_matter() -> None:
    told = measure_clusters([3, 3, 1, 1], ["a", "a", "b", "b"])
    assert (told.bcubed_f, told.adjusted_rand_index) == (1, 1)
    assert (told.texts, told.authors, told.clusters) == (4, 2, 2)


def test_groups_of_other_texts_are_refused() -> None:
    with pytest.raises(OptionError):
        measure_clusters([1, 2], ["a"])
    with pytest.raises(OptionError):
        measure_clusters([], [])
