"""The commands evaluate, baseline and encode."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from conftest import SmallRun, made_up_rows, write_rows

from adhominem import find_sources, load, read_documents, read_levs, read_pairs, write_pair_set
from adhominem.cli import main
from adhominem.evaluation.measures import MEASURES


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    rows = write_rows(folder / "rows.jsonl", made_up_rows(20, 6, "e"))
    write_pair_set(find_sources(rows), folder / "pairs")
    return folder / "pairs"


@pytest.fixture(scope="module")
def answers(pairs: Path) -> Path:
    """Mostly right, some left open; with two that have no answer in a second file."""
    rng = np.random.default_rng(0)
    rows = []
    for pair in read_pairs(pairs):
        value = float(np.clip(rng.normal(0.7 if pair.same_author else 0.3, 0.2), 0.01, 0.99))
        rows.append({"id": pair.id, "value": 0.5 if abs(value - 0.5) < 0.02 else value})
    for name, kept in (("good.jsonl", rows), ("short.jsonl", rows[2:])):
        (pairs.parent / name).write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    return pairs.parent / "good.jsonl"


def test_evaluate_prints_every_measure_with_its_interval(pairs: Path, answers: Path) -> None:
    done = run("evaluate", pairs, answers, "--bootstrap", 20)
    assert done.exit_code == 0, done.output
    for measure in MEASURES.values():
        assert measure.title in done.stdout
    assert "by resampling authors 20 times" in done.stdout
    assert "the log odds of the values replace them" in done.stdout


def test_evaluate_as_json_has_the_same_numbers_for_the_same_seed(
    pairs: Path, answers: Path
) -> None:
    call = ("evaluate", pairs, answers, "--bootstrap", 20, "--json", "--pairs", pairs)
    (system,) = json.loads(run(*call).stdout)["systems"]
    assert list(system["measures"]) == list(MEASURES)
    assert system["name"] == "good"
    assert {"same topic", "cross topic"} <= set(system["groups"])
    assert run(*call).stdout == run(*call, "--seed", 0).stdout != run(*call, "--seed", 1).stdout


def test_evaluate_writes_a_page_and_every_figure(
    pairs: Path, answers: Path, tmp_path: Path
) -> None:
    done = run("evaluate", pairs, answers, "-o", tmp_path / "out", "--bootstrap", 0)
    assert done.exit_code == 0, done.output
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"index.html", "evaluation.json", "roc.png", "roc.svg", "tippett.svg"} <= made
    numbers = json.loads((tmp_path / "out" / "evaluation.json").read_text("utf-8"))
    assert numbers["schema"] == 1
    assert [system["name"] for system in numbers["systems"]] == [answers.stem]
    alone = run("evaluate", pairs, answers, "--training", "training.jsonl")
    assert alone.exit_code == 2
    again = run("evaluate", pairs, answers, "-o", tmp_path / "out", "--bootstrap", 0)
    assert again.exit_code == 1
    assert "exists already" in again.stderr


def test_missing_answers_are_an_error_that_names_them_unless_told_otherwise(
    pairs: Path, answers: Path
) -> None:
    short = answers.with_name("short.jsonl")
    done = run("evaluate", pairs, short, "--bootstrap", 0)
    assert done.exit_code == 1
    first = next(iter(read_pairs(pairs))).id
    assert "2 pairs without an answer" in done.stderr
    assert first in done.stderr
    done = run("evaluate", pairs, short, "--bootstrap", 0, "--missing-as-unanswered")
    assert done.exit_code == 0, done.output


def test_several_systems_stand_side_by_side(pairs: Path, answers: Path, tmp_path: Path) -> None:
    other = tmp_path / "flipped.jsonl"
    rows = [json.loads(line) for line in answers.read_text("utf-8").splitlines()]
    other.write_text(
        "".join(json.dumps({**row, "value": 1 - row["value"]}) + "\n" for row in rows), "utf-8"
    )
    done = run("evaluate", pairs, answers, other, "--bootstrap", 0, "--json")
    good, flipped = json.loads(done.stdout)["systems"]
    assert good["measures"]["auc"] == pytest.approx(1 - flipped["measures"]["auc"])


@pytest.mark.parametrize("name", ["naive", "compression", "delta"])
def test_a_baseline_answers_pairs_that_evaluate_reads(
    name: str, pairs: Path, tmp_path: Path
) -> None:
    output = tmp_path / f"{name}.jsonl"
    done = run("baseline", name, pairs, "--train", pairs, "-o", output, "--jobs", 1, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["answers"] == len(list(read_pairs(pairs)))
    done = run("evaluate", pairs, output, "--bootstrap", 0, "--json")
    (system,) = json.loads(done.stdout)["systems"]
    assert system["measures"]["auc"] > 0.6  # on the very pairs that it learnt from


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_encode_writes_the_lev_of_every_text(
    suffix: str, small_run: SmallRun, tmp_path: Path
) -> None:
    output = tmp_path / f"levs{suffix}"
    texts = small_run.data.texts
    done = run("encode", texts, "-o", output, "--model", small_run.folder)
    assert done.exit_code == 0, done.output
    documents = list(read_documents(texts))
    expected = load(small_run.folder).encode(documents)
    if suffix == ".npz":
        with np.load(output) as table:
            levs, ids = np.asarray(read_levs(output)), table["id"].tolist()
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(output).to_pydict()
        levs, ids = np.array(rows["lev"]), rows["id"]
    assert ids == [document.id for document in documents]
    np.testing.assert_allclose(levs, expected, atol=1e-6)


def test_encode_refuses_a_format_it_does_not_know(small_run: SmallRun, tmp_path: Path) -> None:
    output = tmp_path / "levs.csv"
    done = run("encode", small_run.data.texts, "-o", output, "--model", small_run.folder)
    assert done.exit_code == 1
    assert "expected .parquet or .npz" in done.stderr
    assert not list(tmp_path.iterdir())
