"""Clusters by evidence, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import made_up_rows, write_rows

from adhominem import answer
from adhominem.cli import main
from adhominem.errors import InputError, OptionError
from adhominem.questions.cluster.cluster import describe_clusters, merge_texts


def symmetric(rng: np.random.Generator, texts: int) -> np.ndarray:
    table = rng.normal(size=(texts, texts)) * 3
    table = table + table.T
    np.fill_diagonal(table, np.nan)
    return table


def slowly(table: np.ndarray, prior: float) -> set[tuple[int, ...]]:
    """The same mergers, with the Bayes factors of all pairs looked up each time."""
    groups = [(at,) for at in range(len(table))]

    def odds(first: tuple[int, ...], second: tuple[int, ...]) -> float:
        pairs = [table[one, other] for one in first for other in second]
        return float(np.mean(pairs) * len(pairs) ** 0.5 + np.log(prior / (1 - prior)))

    while len(groups) > 1:
        best = max(
            ((one, other) for one in groups for other in groups if one < other),
            key=lambda pair: odds(*pair),
        )
        if odds(*best) <= 0:
            break
        groups = [group for group in groups if group not in best]
        groups.append(tuple(sorted(best[0] + best[1])))
    return set(groups)


@pytest.mark.parametrize("seed", range(6))
def test_the_merger_with_the_greatest_odds_is_made_until_none_is_above_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, prior = symmetric(rng, 12), float(rng.uniform(0.1, 0.7))
    assert set(merge_texts(table, prior).clusters) == slowly(table, prior)


def test_clear_evidence_gives_the_true_authors() -> None:
    authors = np.array([0, 0, 0, 1, 1, 2])
    table = np.where(authors[:, None] == authors, 4.0, -4.0)
    partition = merge_texts(table, 0.25)
    assert partition.clusters == ((0, 1, 2), (3, 4), (5,))
    assert (partition.fewest, partition.most) == (3, 3)
    assert len(partition.mergers) == 5
    clusters, told = describe_clusters(partition, table, 0.25)
    assert [cluster.nearest is not None for cluster in clusters] == [True] * 3
    assert clusters[0].log10_odds is not None
    assert clusters[0].log10_odds > 1
    assert clusters[2].log10_odds is None
    assert told[0].log10_bayes_factor == pytest.approx(4 / np.log(10))
    assert told[5].log10_bayes_factor is None
    assert told[5].nearest_log10_bayes_factor == pytest.approx(-4 / np.log(10))


def test_a_cluster_whose_last_merger_is_clear_is_not_taken_apart_for_its_first_ones() -> None:
    table = np.full((4, 4), 1.8)  # two texts: odds of 6:1; two beside two: 37:1
    partition = merge_texts(table, 0.5)
    assert partition.clusters == ((0, 1, 2, 3),)
    assert (partition.fewest, partition.most) == (1, 1)
    weaker = merge_texts(np.full((4, 4), 1.0), 0.5)  # 2.7:1 and 7.4:1
    assert (len(weaker.clusters), weaker.most) == (1, 4)


@pytest.mark.parametrize("seed", range(8))
def test_the_range_holds_the_number_of_clusters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    partition = merge_texts(symmetric(rng, 14), float(rng.uniform(0.1, 0.7)))
    assert partition.fewest <= len(partition.clusters) <= partition.most <= 14


def test_the_prior_decides_what_the_evidence_does_not() -> None:
    table = np.zeros((4, 4))
    assert len(merge_texts(table, 0.4).clusters) == 4
    assert len(merge_texts(table, 0.6).clusters) == 1
    with pytest.raises(OptionError, match="prior"):
        merge_texts(table, 1.0)


def test_texts_are_merged_alike_in_any_order() -> None:
    rng = np.random.default_rng(3)
    table, order = symmetric(rng, 15), rng.permutation(15)
    there = merge_texts(table, 0.3).clusters
    here = merge_texts(table[np.ix_(order, order)], 0.3).clusters
    assert {tuple(sorted(order[list(group)].tolist())) for group in here} == set(there)


def run(*arguments: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, ["cluster", *(str(argument) for argument in arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "texts.jsonl", made_up_rows(4, 3, "m"))


def test_the_command_names_the_texts_of_each_cluster(texts: Path, mixed_folder: Path) -> None:
    shown = run(texts, "--model", mixed_folder).stdout
    assert shown.startswith("12 texts, ")
    assert "m0/0, by m0" in shown
    assert "BCubed precision" in shown
    assert "Prior  0.25" in shown
    told = json.loads(run(texts, "--model", mixed_folder, "--json").stdout)
    assert told["schema"] == 1
    assert sorted(at for group in told["clusters"] for at in group["texts"]) == list(range(12))
    for group in told["clusters"]:
        assert {told["texts"][at]["cluster"] for at in group["texts"]} == {group["number"]}
    assert told["fewest_authors"] <= told["authors"] <= told["most_authors"]
    assert told["measures"]["authors"] == 4
    assert told["population"] == "none"
    own = run(texts, "--model", mixed_folder, "--json", "--population", "input").stdout
    assert json.loads(own)["population"] == "input"


def test_without_authors_nothing_is_measured(tmp_path: Path, mixed_folder: Path) -> None:
    rows = [{**row, "author": ""} for row in made_up_rows(2, 3, "n")]
    result = answer("cluster", texts=write_rows(tmp_path / "texts.jsonl", rows), model=mixed_folder)
    assert result.measures is None
    assert result.texts[0].author == ""


def test_bad_rows_are_left_out_and_a_single_text_is_refused(
    texts: Path, tmp_path: Path, mixed_folder: Path
) -> None:
    with texts.open("a", encoding="utf-8") as file:
        file.write("{broken\n")
    told = json.loads(run(texts, "--model", mixed_folder, "--json", status=3).stdout)
    assert len(told["texts"]) == 12
    assert len(told["skipped"]) == 1
    alone = write_rows(tmp_path / "one.jsonl", made_up_rows(1, 1, "m"))
    with pytest.raises(InputError, match="expected several"):
        answer("cluster", texts=alone, model=mixed_folder)
    with pytest.raises(OptionError, match="prior"):
        answer("cluster", texts=texts, model=mixed_folder, prior_same_author=0)


def test_a_few_texts_are_told_what_a_population_might_change(
    texts: Path, tmp_path: Path, mixed_folder: Path
) -> None:
    few = answer("cluster", texts=texts, model=mixed_folder)
    own = answer("cluster", texts=texts, model=mixed_folder, population="input")
    people = "author" if own.authors == 1 else "authors"
    expected = f"if these texts were their own population, there would be {own.authors} {people}"
    assert expected in few.remarks
    assert any("no population was given" in remark for remark in few.remarks)
    alone = answer("cluster", texts=texts, model=mixed_folder, population="none")
    for result in (own, alone):
        assert not any("were their own population" in remark for remark in result.remarks)
    assert any("no population was given" in remark for remark in alone.remarks)
    assert not any("no population was given" in remark for remark in own.remarks)
    three = write_rows(tmp_path / "three.jsonl", made_up_rows(3, 1, "m"))  # for nobody a population
    remarks = answer("cluster", texts=three, model=mixed_folder).remarks
    assert not any("were their own population" in remark for remark in remarks)


def test_copies_are_in_the_cluster_of_their_original_and_count_once(
    texts: Path, tmp_path: Path, mixed_folder: Path
) -> None:
    rows = made_up_rows(4, 3, "m")
    copies = [
        {**rows[at], "id": f"copy of {at}", "text": f" {rows[at]['text']}\n"} for at in (0, 5)
    ]
    copied = write_rows(tmp_path / "copied.jsonl", [copies[0], *rows, copies[1]])
    before = answer("cluster", texts=texts, model=mixed_folder)
    after = answer("cluster", texts=copied, model=mixed_folder)
    assert any("copies of one text" in remark for remark in after.remarks)
    assert (after.authors, after.fewest_authors, after.most_authors) == (
        before.authors,
        before.fewest_authors,
        before.most_authors,
    )
    odds = [sorted(str(group.log10_odds) for group in one.clusters) for one in (before, after)]
    assert odds[0] == odds[1]
    assert after.texts[0].cluster == after.texts[1].cluster
    assert after.texts[13].cluster == after.texts[6].cluster
    listed = sorted(at for group in after.clusters for at in group.texts)
    assert listed == list(range(14))
    same = write_rows(tmp_path / "same.jsonl", [rows[0], copies[0]])
    with pytest.raises(OptionError, match="all texts are copies of one"):
        answer("cluster", texts=same, model=mixed_folder)
