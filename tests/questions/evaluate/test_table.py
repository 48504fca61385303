"""The paper's Table 2 for any models and pair sets."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner
from conftest import SmallRun

from adhominem import read_pairs, table
from adhominem.cli import main
from adhominem.errors import OptionError

MEASURES = ("auc", "c@1", "f05u_2020", "f1", "overall_2020", "delta")


def test_the_rows_are_the_dev_scores_of_training(small_run: SmallRun) -> None:
    (row,) = table([small_run.folder], {"dev": list(read_pairs(small_run.data.pairs))}).rows
    expected = small_run.model.scores["dev"]
    assert row.model == "model"
    assert set(expected) - set(row.scores) == {"cosine_auc"}  # of no meaning for an ensemble
    for name, value in row.scores.items():
        assert value == pytest.approx(expected[name], abs=1e-4), name


def test_models_of_one_name_are_told_apart_by_their_paths(
    small_run: SmallRun, tmp_path: Path
) -> None:
    other = copytree(small_run.folder, tmp_path / "model")
    pairs = list(read_pairs(small_run.data.pairs))
    rows = table([small_run.folder, other], {"dev": pairs, "half": pairs[: len(pairs) // 2]}).rows
    assert [(row.model, row.pair_set) for row in rows] == [
        (str(small_run.folder), "dev"),
        (str(small_run.folder), "half"),
        (str(other), "dev"),
        (str(other), "half"),
    ]


def test_a_set_without_truth_is_refused(small_run: SmallRun) -> None:
    pairs = [pair for pair in read_pairs(small_run.data.pairs) if pair.same_author]
    with pytest.raises(OptionError, match="only one class of pairs"):
        table([small_run.folder], {"dev": pairs})


def test_it_can_be_read_at_80_columns(
    small_run: SmallRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = [
        copytree(small_run.folder, tmp_path / name)
        for name in ("a-network-of-the-paper", "another-one-with-a-name-as-long")
    ]
    sets = [
        copytree(small_run.data.pairs, tmp_path / name)
        for name in ("letters-of-the-nineteenth-century", "reddit")
    ]
    monkeypatch.setenv("COLUMNS", "80")
    call = ["table", *map(str, models), *(f"--pairs={path}" for path in sets)]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for name in ("letters-of-the-nineteenth-century: ", "reddit: "):
        assert sum(line.startswith(name) for line in map(str.strip, lines)) == 1
    for row in json.loads(CliRunner().invoke(main, [*call, "--json"]).stdout)["rows"]:
        shown = [f"{row['scores'][name]:.3f}" for name in MEASURES]
        assert any(line.split()[-len(shown) :] == shown for line in lines)


def test_the_command_prints_the_table(small_run: SmallRun) -> None:
    call = ["table", str(small_run.folder), "--pairs", str(small_run.data.pairs)]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 0, done.output
    assert "pairs" in done.stdout
    done = CliRunner().invoke(main, [*call, "--json"])
    (row,) = json.loads(done.stdout)["rows"]
    assert row["pair_set"] == "pairs"
    assert row["scores"]["auc"] == pytest.approx(small_run.model.scores["dev"]["auc"], abs=1e-4)
