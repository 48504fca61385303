"""The paper's experiment, from PAN's files to its table, by a call that can be stopped anywhere."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from conftest import MadeOnce, made_up_rows, write_rows

from adhominem import find_sources, load, read_pairs, write_pair_set
from adhominem.arrays import BoolArray, FloatArray
from adhominem.cli import main
from adhominem.errors import AdHominemError, InputError, NotFoundError, OptionError
from adhominem.evaluation.pan import table_row
from adhominem.questions.paper import experiment
from adhominem.questions.paper.experiment import costs_of, make_plan, run_experiment
from adhominem.questions.paper.inputs import Inputs, check_inputs
from adhominem.questions.paper.page import MEASURES, TABLE_2, Results
from adhominem.questions.paper.steps import SHARES, ExperimentOptions, ExperimentPlan
from adhominem.records import from_json, strict_json, with_schema

ZENODO = "pan20-authorship-verification"
SETTINGS = (  # of any network's preset
    "data.vocabulary.token_types=60",
    "data.windows.hop=8",
    "encoder.word_vector_size=8",
    "encoder.character_filters=4",
    "encoder.window_lstm_size=4",
    "encoder.document_lstm_size=4",
    "encoder.attention_size=4",
    "encoder.lev_size=8",
    "training.epochs=2",
    "training.learning_rate=0.01",
    "training.detector_epochs=2",
)
OPTIONS = ExperimentOptions(members=2, settings=SETTINGS, seed=3)
QUICK = ExperimentOptions(members=1, settings=(*SETTINGS, "training.epochs=1"))


def pan_set(folder: Path, name: str, authors: int) -> Path:
    """A set with Zenodo's names: some texts by each author, each in one pair."""
    folder.mkdir(exist_ok=True)
    documents = write_rows(folder / "documents.jsonl", made_up_rows(authors, 8, name))
    write_pair_set(find_sources(documents), folder / name)
    documents.unlink()
    for part, ending in (("pairs", ""), ("truth", "-truth")):
        (folder / name / f"{part}.jsonl").rename(folder / f"{ZENODO}-{name}{ending}.jsonl")
    (folder / name).rmdir()
    return folder / f"{ZENODO}-{name}.jsonl"


@pytest.fixture(scope="session")
def pan(made_once: MadeOnce) -> dict[str, Path]:
    """PAN 2020's three sets, in small."""

    def make(folder: Path) -> None:
        for name, authors in (("training-small", 40), ("training-large", 60), ("test", 20)):
            pan_set(folder, name, authors)

    folder = made_once("pan20", make)
    names = {"small": "training-small", "large": "training-large", "test": "test"}
    return {name: folder / f"{ZENODO}-{file}.jsonl" for name, file in names.items()}


def done(
    pan: dict[str, Path],
    output: Path,
    options: ExperimentOptions = QUICK,
    *,
    sets: tuple[str, ...] = ("small", "test"),
    tell: Callable[..., None] = lambda *told: None,
    at_once: int = 1,
) -> Results:
    tests = [pan["test"]] if "test" in sets else []
    inputs = Inputs.find(*(pan[name] if name in sets else None for name in SHARES), tests)
    torch.set_num_threads(1)  # the order of sums, and so the last bits, must not depend on it
    plan = make_plan(inputs, output, options, device="cpu")
    return run_experiment(plan, output, device="cpu", jobs=1, at_once=at_once, tell=tell)


@pytest.fixture(scope="session")
def whole(pan: dict[str, Path], made_once: MadeOnce) -> Path:
    """Both presets, by the command, and what it printed."""

    def make(folder: Path) -> None:
        call = ["paper", *(f"--{name}={path}" for name, path in pan.items()), "--device=cpu"]
        call += ["--preset=pan20", "--preset=pan21", "--members=2", "--seed=3", "--jobs=1"]
        call += [f"--set={setting}" for setting in SETTINGS]
        ran = CliRunner().invoke(main, [*call, "-o", str(folder / "out"), "--json"])
        assert ran.exit_code == 0, (ran.output, ran.exception)
        (folder / "printed.json").write_text(ran.stdout, "utf-8")

    return made_once("experiment", make)


def rows_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "printed.json").read_text("utf-8"))["rows"]
    return rows


# What comes out


def test_all_rows_of_table_2_stand_beside_what_the_paper_has(whole: Path) -> None:
    numbered = [row for row in rows_of(whole) if row["number"]]
    assert [row["number"] for row in numbered] == [*range(1, 9)]
    for row, (system, size, evaluation, printed) in zip(numbered, TABLE_2, strict=True):
        assert (row["system"], row["size"], row["preset"]) == (system, size, "pan20")
        assert row["evaluation"] == ("dev" if evaluation == "dev" else f"{ZENODO}-test")
        assert row["printed"] == dict(zip([*MEASURES][:5], printed, strict=True))
        assert all(0 <= row["scores"][name] <= 1 for name in MEASURES)


def test_what_the_paper_has_adds_up() -> None:
    for _, _, _, (*four, overall) in TABLE_2:
        assert overall == pytest.approx(sum(four) / 4, abs=0.0011)


def test_the_successors_four_stages_have_rows_of_their_own(whole: Path) -> None:
    stages = {
        row["system"]
        for row in rows_of(whole)
        if (row["preset"], row["size"]) == ("pan21", "large")
    }
    assert stages == {
        f"{system}, {stage}"
        for system in ("single", "ensemble")
        for stage in ("DML", "BFS", "UAL", "O2D2")
    }
    assert not any((row["preset"], row["size"]) == ("pan21", "small") for row in rows_of(whole))


def test_the_rows_are_the_scores_of_the_models_that_are_left(whole: Path) -> None:
    """With the delta of dev: nothing is tuned on the test set."""
    place = whole / "out" / "pan20" / "small"
    verifier = load(place / "ensemble")
    scored: dict[str, tuple[FloatArray, BoolArray]] = {}
    for name, path in (("dev", place / "split/dev"), ("test", place_of_test(whole))):
        pairs = list(read_pairs(path))
        answers = [verifier.verify(pair.first, pair.second) for pair in pairs]
        values = np.array([answer.probability_same_author for answer in answers])
        scored[name] = values, np.array([bool(pair.same_author) for pair in pairs])
    delta = verifier.saved_delta()
    assert delta == table_row(*scored["dev"])["delta"]
    for row in rows_of(whole):
        if row["number"] in (2, 7):
            expected = table_row(*scored["dev" if row["number"] == 2 else "test"], delta)
            assert row["scores"]["delta"] == delta
            for name in MEASURES:
                assert row["scores"][name] == pytest.approx(expected[name], abs=1e-9)
    answered = (place / f"answers-{ZENODO}-test.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["value"] for line in answered] == pytest.approx(
        [0.5 if abs(value - 0.5) <= delta else value for value in scored["test"][0]], abs=1e-9
    )


def place_of_test(whole: Path) -> Path:
    inputs = json.loads((whole / "out" / "plan.json").read_text("utf-8"))["inputs"]
    return Path(inputs["tests"][f"{ZENODO}-test"]["path"])


def test_the_split_is_the_papers_and_the_models_have_their_seeds(whole: Path) -> None:
    for size, shares in SHARES.items():
        place = whole / "out" / "pan20" / size
        manifest = json.loads((place / "split" / "manifest.json").read_text("utf-8"))
        assert manifest["options"]["by"] == "pairs"
        assert tuple(manifest["options"]["shares"]) == shares
    small = whole / "out" / "pan20" / "small"
    configs = {
        name: json.loads((small / name / "config.json").read_text("utf-8"))["config"]
        for name in ("single", "member-2", "early-bird")
    }
    assert [config["training"]["seed"] for config in configs.values()] == [3, 4, 5]
    assert [config["data"]["hidden_topics"] == 1 for config in configs.values()] == [
        *(False, False, True)
    ]


def test_the_page_has_the_rows_the_curves_and_links_to_heat_maps(whole: Path) -> None:
    results = whole / "out" / "results"
    page = (results / "index.html").read_text("utf-8")
    table = (results / "table.md").read_text("utf-8")
    for row in rows_of(whole):
        shown = f"{row['scores']['auc']:.3f}"
        shown += f" ({row['printed']['auc']:.3f})" if row["printed"] else ""
        assert f"<td>{shown}</td>" in page
        assert f"| {shown} |" in table
        assert ZENODO not in table  # the only test set is called test
    assert page.count("data:image/png;base64,") == 3
    assert "http:" not in page
    assert "https:" not in page
    maps = sorted((whole / "out").glob("pan20/*/heat-maps/*.html"))
    assert len(maps) == 8
    for file in maps:
        assert f'href="../{file.relative_to(whole / "out").as_posix()}"' in page
    assert "pan20, pan21; ensembles of 2; seed 3; on cpu;" in page
    assert "<h2>pan21</h2>" in page  # nothing of it is in Table 2
    saved = json.loads((results / "results.json").read_text("utf-8"))
    assert saved["rows"] == rows_of(whole)


def test_nothing_is_left_over(whole: Path) -> None:
    left = [path.name for path in (whole / "out").rglob("*") if path.name.startswith(".")]
    assert left == []
    assert not list((whole / "out").rglob("*.training"))


# Stopping, and going on


def until(calls: int, pan: dict[str, Path], output: Path) -> None:
    """An experiment that is killed at one of the things it tells."""
    told = 0

    def tell(*event: object) -> None:
        nonlocal told
        told += 1
        if told == calls:
            os.kill(os.getpid(), signal.SIGKILL)

    done(pan, output, tell=tell)


@pytest.mark.slow
def test_a_killed_experiment_goes_on_and_ends_as_if_nothing_had_happened(
    pan: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "_LOOK", 0.0)  # looks each time, as on a busy machine
    calls = 0

    def count(*event: object) -> None:
        nonlocal calls
        calls += 1

    expected = done(pan, tmp_path / "whole", tell=count)
    for moment in (2, calls // 4, calls // 3, calls // 4):
        process = get_context("spawn").Process(target=until, args=(moment, pan, tmp_path / "out"))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    told: list[tuple[str, float, float | None]] = []
    results = done(pan, tmp_path / "out", tell=lambda *event: told.append(event))
    assert results.rows == expected.rows
    assert told[0][1] > 0.2  # what was done is not done again
    assert [share for _, share, _ in told] == sorted(share for _, share, _ in told)
    assert told[-1][1] == pytest.approx(1)


@pytest.mark.slow
def test_several_processes_share_the_steps_and_change_nothing(
    pan: dict[str, Path], whole: Path, tmp_path: Path
) -> None:
    results = done(pan, tmp_path / "out", OPTIONS, at_once=3)
    expected = [row for row in rows_of(whole) if (row["preset"], row["size"]) == ("pan20", "small")]
    assert [(row.number, row.system, row.evaluation) for row in results.rows] == [
        (row["number"], row["system"], row["evaluation"]) for row in expected
    ]
    for row, other in zip(results.rows, expected, strict=True):
        assert row.scores == pytest.approx(other["scores"], abs=1e-6)
    steps = {cost.step for cost in costs_of(plan_of(tmp_path / "out"), tmp_path / "out").steps}
    assert results.seconds.keys() == steps  # nobody was ended before it had noted its last
    assert not [path for path in (tmp_path / "out").rglob("*") if path.name.startswith(".")]


def plan_of(output: Path) -> ExperimentPlan:
    plan = json.loads((output / "plan.json").read_text("utf-8"))
    return from_json(ExperimentPlan, {name: plan[name] for name in ("options", "inputs", "rates")})


def test_a_set_can_be_added_later(pan: dict[str, Path], tmp_path: Path) -> None:
    first = done(pan, tmp_path / "out", sets=("small",))
    assert [row.number for row in first.rows if row.number] == [1, 2, 4]
    model = tmp_path / "out" / "pan20" / "small" / "single" / "model.safetensors"
    before = model.stat().st_mtime_ns
    second = done(pan, tmp_path / "out")
    assert [row.number for row in second.rows if row.number] == [1, 2, 4, 6, 7]
    assert model.stat().st_mtime_ns == before
    assert [row for row in second.rows if row.evaluation == "dev"] == list(first.rows)


def test_other_settings_and_other_files_are_refused(pan: dict[str, Path], tmp_path: Path) -> None:
    inputs = Inputs.find(pan["small"])
    plan = make_plan(inputs, tmp_path, QUICK, device="cpu")
    (tmp_path / "plan.json").write_text(strict_json(with_schema(plan)), "utf-8")
    assert make_plan(inputs, tmp_path, QUICK, device="cpu") == plan
    with pytest.raises(OptionError, match="is an experiment with other settings: members is 1"):
        make_plan(inputs, tmp_path, OPTIONS, device="cpu")
    with pytest.raises(OptionError, match=r"another file for small, .*training-small\.jsonl"):
        make_plan(Inputs.find(pan["large"]), tmp_path, QUICK, device="cpu")


def test_a_test_set_without_truth_is_answered_alone(pan: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "hidden.jsonl").write_bytes(pan["test"].read_bytes())
    inputs = Inputs.find(pan["small"], None, [tmp_path / "hidden.jsonl"])
    plan = make_plan(inputs, tmp_path / "out", QUICK, device="cpu")
    results = run_experiment(plan, tmp_path / "out", device="cpu", jobs=1)
    assert {row.evaluation for row in results.rows} == {"dev"}
    answers = (tmp_path / "out/pan20/small/answers-hidden.jsonl").read_text("utf-8")
    assert len(answers.splitlines()) == len(list(read_pairs(tmp_path / "hidden.jsonl")))


def test_a_dry_run_prints_the_plan_and_writes_nothing(pan: dict[str, Path], tmp_path: Path) -> None:
    call = [
        "paper",
        f"--small={pan['small']}",
        f"--test={pan['test']}",
        "-o",
        str(tmp_path / "out"),
    ]
    call += [*(f"--set={setting}" for setting in SETTINGS), "--device=cpu", "--dry-run"]
    shown = CliRunner().invoke(main, call)
    assert shown.exit_code == 0, shown.output
    assert "pan20, small: train member-5" in shown.stdout
    assert "hours, one step at a time" in shown.stdout
    plan = json.loads(CliRunner().invoke(main, [*call, "--json"]).stdout)
    assert len(plan["steps"]) == 3 + 6 + 1 + 2 + 1
    assert plan["hours"] > 0
    assert plan["gigabytes"] > 0
    assert list(tmp_path.iterdir()) == []


# Bad input


def test_an_error_names_its_step(pan: dict[str, Path], tmp_path: Path) -> None:
    few = pan_set(tmp_path / "few", "few", 4)
    inputs, options = Inputs.find(few), ExperimentOptions(presets=("pan21",), settings=SETTINGS)
    plan = make_plan(inputs, tmp_path / "out", options, device="cpu")
    with pytest.raises(AdHominemError, match=r"^pan21, small: split: 4 authors .* are too few"):
        run_experiment(plan, tmp_path / "out", device="cpu", jobs=1)
    assert not [path.name for path in (tmp_path / "out").rglob("*") if path.name[0] == "."]


@pytest.fixture
def files(pan: dict[str, Path], tmp_path: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of the small set and its truth, to be spoilt."""
    truth = pan["small"].with_name(f"{pan['small'].stem}-truth.jsonl")
    return {
        name: [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for name, path in (("small", pan["small"]), ("small-truth", truth))
    }


def written(files: dict[str, list[dict[str, Any]]], folder: Path) -> Path:
    for name, rows in files.items():
        write_rows(folder / f"{name}.jsonl", rows)
    return folder / "small.jsonl"


Files = dict[str, list[dict[str, Any]]]


def test_a_truth_that_lacks_ids_is_an_error_that_names_the_first_lines(
    files: Files, tmp_path: Path
) -> None:
    for at in (9, 7, 5, 3, 1):
        del files["small-truth"][at]
    small = written(files, tmp_path)
    ran = CliRunner().invoke(main, ["paper", f"--small={small}", "-o", str(tmp_path / "out")])
    assert ran.exit_code == 1
    for line in (2, 4, 6):
        id = files["small"][line - 1]["id"]
        problem = f"the truth has no usable line for the pair '{id}'; expected one"
        assert f"{small}:{line}: {problem}" in ran.stderr
    assert "; and 2 more" in ran.stderr
    assert not (tmp_path / "out").exists()


def test_a_training_set_without_truth_is_an_error(files: Files, tmp_path: Path) -> None:
    small = written({"small": files["small"]}, tmp_path)
    with pytest.raises(NotFoundError, match=r"small\.jsonl: no truth is beside these pairs"):
        Inputs.find(small)


def test_authors_that_are_missing_are_an_error(files: Files, tmp_path: Path) -> None:
    del files["small-truth"][4]["authors"]
    with pytest.raises(InputError, match=r"small\.jsonl:5: .* has no author"):
        check_inputs(Inputs.find(written(files, tmp_path)))


def test_missing_fandoms_are_named_with_file_and_line(files: Files, tmp_path: Path) -> None:
    for row in files["small"]:
        row["fandoms"] = ["ships", "cats"]
    small = written(files, tmp_path)
    assert check_inputs(Inputs.find(small)).remarks == ()
    for at in (6, 2):
        del files["small"][at]["fandoms"]
    (remark,) = check_inputs(Inputs.find(written(files, tmp_path))).remarks
    assert remark == (
        f"small: pairs without the fandoms that others have: 2; the first is in {small}:3"
    )


def test_the_same_texts_under_another_id_are_named_with_both_places(
    files: Files, tmp_path: Path
) -> None:
    for row in files["small"]:
        row["fandoms"] = ["ships", "cats"]
    files["small"].append({**files["small"][2], "id": "again"})
    files["small-truth"].append({**files["small-truth"][2], "id": "again"})
    small = written(files, tmp_path)
    (remark,) = check_inputs(Inputs.find(small)).remarks
    last = len(files["small"])
    assert remark == (
        "small: pairs with the two texts of another pair: 1; the first is in "
        f"{small}:{last} and {small}:3"
    )


def test_a_text_under_two_authors_names_is_named_with_both_places(
    files: Files, tmp_path: Path
) -> None:
    for row in files["small"]:
        row["fandoms"] = ["ships", "cats"]
    files["small"][8]["pair"][0] = files["small"][1]["pair"][0]
    files["small-truth"][8] = {
        "id": files["small"][8]["id"],
        "same": False,
        "authors": ["somebody", "else"],
    }
    small = written(files, tmp_path)
    assert check_inputs(Inputs.find(small)).remarks[0] == (
        f"small: texts under two authors' names: 1; the first is in {small}:9 and {small}:2"
    )


def test_a_test_set_that_shares_texts_with_train_is_named_with_both_places(
    pan: dict[str, Path], files: Files, tmp_path: Path
) -> None:
    tests = [json.loads(line) for line in pan["test"].read_text("utf-8").splitlines()]
    tests[4]["pair"][1] = files["small"][7]["pair"][0]
    small, test = written(files, tmp_path), write_rows(tmp_path / "test.jsonl", tests)
    remarks = check_inputs(Inputs.find(small, None, [test])).remarks
    assert (
        f"test: texts that are in a training set, too: 1; the first is in {test}:5 and {small}:8"
        in (remarks)
    )


def test_two_test_sets_of_one_name_are_refused(pan: dict[str, Path]) -> None:
    with pytest.raises(OptionError, match="as another set is; rename it"):
        Inputs.find(pan["small"], None, [pan["test"], pan["test"]])
    with pytest.raises(OptionError, match="nothing to train on"):
        Inputs.find(None, None, [pan["test"]])
