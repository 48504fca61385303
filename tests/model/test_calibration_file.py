"""calibration.json: all that was learnt from cases of known authors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_validation import made_up

from adhominem.errors import ModelError
from adhominem.model.calibration import CalibrationReport, read_reports, write_calibration
from adhominem.model.folder import read_parameters
from adhominem.score.calibration import Bounds, Calibration, Weights
from adhominem.score.three_level import PartVariances, ThreeLevelParameters

PAIRS = made_up(40)
CALIBRATION = Calibration(
    members=(
        ThreeLevelParameters(
            rest=PartVariances(author=0.1 + 0.2, text=1 / 3, length=0.1, directions=7.0)
        ),
        None,
    ),
    layer_weights=(1.0, 0.25),
    weights=Weights(constant=-0.1, factor=0.4, snorm=0.9, snorm_small=1.5, usual_deviation=2.0),
    lower_bound=-2.0,
    upper_bound=1.0 + 1 / 3,
    bounds=(
        Bounds(
            texts=1,
            tokens=250,
            population=5,
            lower=-0.1,
            upper=0.3,
            same_author=100,
            different_authors=101,
        ),
    ),
    tokens=(99.5, 7_000.0),
)


def report_of(number: int) -> CalibrationReport:
    """One that is like no other."""
    return CalibrationReport(
        cases=100 * number,
        sets=("letters",),
        same_author=50 * number,
        authors=10,
        before={"auc": 0.8, "cllr": 0.9 + number / 7},
        after={"auc": 0.8},
    )


@pytest.fixture(autouse=True)
def _network(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"format": 2, "architecture": "network"}', "utf-8")


def test_a_model_without_the_file_is_not_calibrated(tmp_path: Path) -> None:
    assert read_parameters(tmp_path) is None
    assert read_reports(tmp_path) is None


@pytest.mark.parametrize("population", [None, report_of(2)])
def test_parameters_and_reports_come_back_to_the_last_digit(
    population: CalibrationReport | None, tmp_path: Path
) -> None:
    write_calibration(tmp_path, CALIBRATION, report_of(1), population, "1.0", PAIRS)
    assert read_parameters(tmp_path) == CALIBRATION
    assert read_reports(tmp_path) == (report_of(1), population)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("members", "two"),
        ("members.0.rest.author", 0.0),
        ("members.0.rest.author", float("nan")),
        ("members.0.genre_part", {"author": 1.0}),
        ("weights.factor", "heavy"),
        ("weights.snorm", float("inf")),
        ("layer_weights", [1.0, -1.0]),
        ("bounds.0.lower", None),
        ("upper_bound", 1e31),
        ("tokens", [5.0]),
    ],
)
def test_damaged_parameters_are_an_error(path: str, value: object, tmp_path: Path) -> None:
    write_calibration(tmp_path, CALIBRATION, report_of(1), None, "1.0", PAIRS)
    file = tmp_path / "calibration.json"
    data = json.loads(file.read_text("utf-8"))
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    place = data["calibration"]
    for name in parents:
        place = place[name]
    place[last] = value
    file.write_text(json.dumps(data), "utf-8")
    with pytest.raises(
        ModelError, match=r"is damaged \(calibration.json: .*calibrate the model again"
    ):
        read_parameters(tmp_path)


@pytest.mark.parametrize("name", ["calibration", "alone", "population"])
def test_what_is_missing_is_an_error(name: str, tmp_path: Path) -> None:
    write_calibration(tmp_path, CALIBRATION, report_of(1), report_of(2), "1.0", PAIRS)
    file = tmp_path / "calibration.json"
    data = json.loads(file.read_text("utf-8"))
    del data[name]
    file.write_text(json.dumps(data), "utf-8")
    with pytest.raises(ModelError, match="is damaged"):
        (read_parameters if name == "calibration" else read_reports)(tmp_path)


def test_a_calibration_of_an_earlier_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "calibration.json").write_text('{"format": 6}', "utf-8")
    with pytest.raises(ModelError, match=r"has the format 6; this version reads 8.*calibrate"):
        read_parameters(tmp_path)


def test_what_a_killed_calibration_left_is_removed_by_the_next(tmp_path: Path) -> None:
    pairs = "validation-0123456789abcdef.safetensors"
    for name in ("generation.json", f"{pairs}.0123456789abcdef.new"):
        (tmp_path / f".{name}.lock").touch()
        (tmp_path / f".{name}.123.partial").touch()
    (tmp_path / pairs).touch()
    (tmp_path / f"{pairs}.0123456789abcdef.new").touch()
    write_calibration(tmp_path, CALIBRATION, report_of(1), None, "1.0", PAIRS)
    (kept,) = tmp_path.glob("validation-*")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("config.json", "calibration.json", "generation.json", kept.name)
    }
