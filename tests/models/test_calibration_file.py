"""calibration.json: what scores are worth, under each condition that was calibrated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_validation import made_up

from adhominem.errors import ModelError
from adhominem.models.calibration import CalibrationReport, write_calibration
from adhominem.models.folder import read_scales
from adhominem.scoring.scale import Bounds, Calibration, Fusion, Scale, Scales

PAIRS = made_up(40)
STRANGE = (-0.3, 1.2, 0.4)


def report_of(number: int) -> CalibrationReport:
    """One that is like no other."""
    return CalibrationReport(
        fusion=Fusion(weights=(0.25, 1.5, 0.1 * number), log_tokens=(4.5, 8.25)),
        calibration=Calibration(
            method="logistic",
            scores=(-1.0, 1.0),
            log_bayes_factors=(-0.5 * number, 0.7 * number),
            lower_bound=-1.0 - number,
            upper_bound=1.0 + number / 3,
            pairs=100 * number,
            bounds=(
                Bounds(
                    texts=1,
                    tokens=250,
                    population=5,
                    lower=-0.1 * number,
                    upper=0.3 * number,
                    same_author=100,
                    different_authors=101,
                ),
            ),
        ),
        sets=("letters",),
        same_author=50 * number,
        authors=10,
        before={"auc": 0.8},
        after={"auc": 0.8},
    )


@pytest.fixture(autouse=True)
def _network(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"format": 2, "architecture": "network"}', "utf-8")


def scale_of(number: int) -> Scale:
    return Scale(report_of(number).fusion, report_of(number).calibration)


def test_a_model_without_the_file_is_not_calibrated(tmp_path: Path) -> None:
    assert read_scales(tmp_path) is None


def test_all_scales_come_back(tmp_path: Path) -> None:
    write_calibration(
        tmp_path, report_of(1), report_of(2), report_of(3), (1.1, 2.3), 0.7, STRANGE, "1.0", PAIRS
    )
    expected = Scales(scale_of(1), scale_of(2), scale_of(3), (1.1, 2.3), 0.7, STRANGE)
    assert read_scales(tmp_path) == expected


def test_a_scale_that_was_not_fitted_comes_back_as_none(tmp_path: Path) -> None:
    write_calibration(tmp_path, report_of(1), report_of(2), None, (), 0.0, (), "1.0", PAIRS)
    assert read_scales(tmp_path) == Scales(scale_of(1), scale_of(2))
    write_calibration(tmp_path, report_of(1), None, None, (), 0.0, (), "1.0", PAIRS)
    assert read_scales(tmp_path) == Scales(scale_of(1))


def test_a_damaged_scale_of_companions_is_an_error(tmp_path: Path) -> None:
    write_calibration(
        tmp_path, report_of(1), report_of(2), report_of(3), (1.1, 2.3), 0.7, STRANGE, "1.0", PAIRS
    )
    path = tmp_path / "calibration.json"
    whole = json.loads(path.read_text("utf-8"))
    for name, value in (
        ("companions", {**whole["companions"], "fusion": {"weights": ["heavy"]}}),
        ("companions", {"fusion": whole["companions"]["fusion"]}),
        ("companions", {**whole["companions"], "fusion": {"weights": [[1.0, 2.0]]}}),
        ("misfit", ["strange"]),
        ("misfit", [float("nan"), 1.0]),
        ("misfit", [float("inf"), 1.0]),
        ("usual_separation", ["clear"]),
        ("usual_separation", 3),
        ("least_company", -1.0),
        ("least_company", "much"),
        ("usual_separation", [0, 1.0]),
        ("usual_separation", [float("nan"), 1.0]),
    ):
        path.write_text(json.dumps({**whole, name: value}), "utf-8")
        with pytest.raises(ModelError, match="damaged"):
            read_scales(tmp_path)


def test_what_a_killed_calibration_left_is_removed_by_the_next(tmp_path: Path) -> None:
    pairs = "validation-0123456789abcdef.safetensors"
    for name in ("generation.json", f"{pairs}.0123456789abcdef.new"):
        (tmp_path / f".{name}.lock").touch()
        (tmp_path / f".{name}.123.partial").touch()
    (tmp_path / pairs).touch()
    (tmp_path / f"{pairs}.0123456789abcdef.new").touch()
    write_calibration(tmp_path, report_of(1), None, None, (), 0.0, (), "1.0", PAIRS)
    (kept,) = tmp_path.glob("validation-*")
    assert {path.name for path in tmp_path.iterdir()} == {
        *("config.json", "calibration.json", "generation.json", kept.name)
    }
