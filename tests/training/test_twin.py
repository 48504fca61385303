"""A model takes over the calibration of a twin that was trained on fewer authors."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy, copytree

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import NgramRun, SmallRun, rich_rows
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from adhominem import Document, calibrate_by_twin, calibrate_model, load, make_ensemble
from adhominem.cli import main
from adhominem.errors import OptionError
from adhominem.model.calibration import read_reports, read_validation
from adhominem.model.folder import read_parameters

TEXTS = [row["text"] for row in rich_rows("letters", 6, 3, "-twin-")]


@pytest.fixture
def model(mixed_folder: Path, tmp_path: Path) -> Path:
    """The twin's double, not calibrated."""
    folder = Path(copytree(mixed_folder, tmp_path / "model"))
    (folder / "calibration.json").unlink()
    for path in folder.glob("validation-*.safetensors"):
        path.unlink()
    return folder


def lengthen(member: Path, times: float) -> None:
    """Make all LEVs of an n-gram projection so many times as long."""
    for name, keys in (
        ("model.safetensors", ("projection_scale",)),
        ("styles.safetensors", ("centres", "usual")),
    ):
        with safe_open(member / name, "numpy") as file:
            metadata = file.metadata()
        arrays = load_file(member / name)
        for key in keys:
            arrays[key] = (arrays[key] * times).astype(arrays[key].dtype)
        save_file(arrays, member / name, metadata)


def test_a_double_says_what_its_twin_says(model: Path, mixed_folder: Path) -> None:
    reports = calibrate_by_twin(model, mixed_folder)
    assert (reports.alone, reports.population) == read_reports(mixed_folder)
    assert reports.calibration == read_parameters(mixed_folder)
    both = [load(folder) for folder in (model, mixed_folder)]
    said = []
    for verifier in both:
        levs = verifier.encode(TEXTS)
        said.append([verifier.score(levs[:9], levs[9:], population)
                     for population in (None, verifier.population_of(levs[:12]))])  # fmt: skip
    np.testing.assert_allclose(said[0], said[1], rtol=0, atol=1e-12)
    cases = [read_validation(folder) for folder in (model, mixed_folder)]
    assert cases[0] is not None
    assert cases[1] is not None
    np.testing.assert_array_equal(cases[0].log_bayes_factor, cases[1].log_bayes_factor)
    data = json.loads((model / "calibration.json").read_text("utf-8"))
    assert data["twin"] == both[1].sha256
    assert "a twin of the model was not trained on" in (model / "README.md").read_text("utf-8")


def test_a_model_whose_levs_are_longer_says_the_same(model: Path, mixed_folder: Path) -> None:
    (member,) = [
        path.parent
        for path in model.glob("*/model.safetensors")
        if "projection_scale" in load_file(path)
    ]
    lengthen(member, 3.0)
    calibrate_by_twin(model, mixed_folder)
    said = []
    for folder in (model, mixed_folder):
        verifier = load(folder)
        levs = verifier.encode(TEXTS)
        said.append(verifier.scorer(levs[:9], levs[9:]).unbounded)
    np.testing.assert_allclose(said[0], said[1], rtol=0, atol=1e-4)


def test_only_twins_are_taken_for_twins(
    model: Path, mixed_folder: Path, small_run: SmallRun, ngram_run: NgramRun, tmp_path: Path
) -> None:
    members = [small_run.folder, ngram_run.folder]
    other = make_ensemble(members, tmp_path / "other", corpus=ngram_run.data.corpus).model
    with pytest.raises(OptionError, match="these models are not twins"):
        calibrate_by_twin(other, mixed_folder)
    with pytest.raises(OptionError, match="is not calibrated; calibrate it first"):
        calibrate_by_twin(other, model)
    with pytest.raises(OptionError, match="cannot be its own twin"):
        calibrate_by_twin(mixed_folder, mixed_folder)
    calibrate_by_twin(model, mixed_folder)
    double = Path(copytree(mixed_folder, tmp_path / "double"))
    with pytest.raises(OptionError, match="took its own calibration from a twin"):
        calibrate_by_twin(double, model)
    with pytest.raises(OptionError, match="comes with the package"):
        calibrate_by_twin("general-en", mixed_folder)
    assert not (other / "calibration.json").exists()


def test_single_models_of_any_names_can_be_twins(
    mixed_folder: Path, tmp_path: Path, quick_calibration: None
) -> None:
    (member,) = mixed_folder.glob("ngrams")
    one, two = (Path(copytree(member, tmp_path / name)) for name in ("one", "another"))
    copy(mixed_folder / "training_authors.txt", one)  # of several members, so not beside it
    documents = [
        Document(text=row["text"], author=row["author"])
        for row in rich_rows("letters", 40, 4, "-single-")
    ]
    calibrate_model(one, {"letters": documents})
    calibrate_by_twin(two, one)
    assert read_parameters(two) == read_parameters(one) is not None


def test_the_command_takes_sets_or_a_twin(model: Path, mixed_folder: Path) -> None:
    command = ["calibrate", str(model), "--twin", str(mixed_folder)]
    result = CliRunner().invoke(main, [*command, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["alone"]["authors"] > 0
    for wrong in ([*command, str(model)], command[:2]):
        result = CliRunner().invoke(main, wrong)
        assert result.exit_code == 2
        assert "give SETS of texts, or a --twin" in result.output
    for option in ("--cases", "--jobs"):
        result = CliRunner().invoke(main, [*command, option, "2"])
        assert result.exit_code == 2
        assert f"{option} is for SETS" in result.output
    told = CliRunner().invoke(main, command).output
    assert "calibration taken over from" in " ".join(told.split())
