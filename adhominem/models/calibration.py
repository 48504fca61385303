"""The calibration of a model, as it lies in its folder: calibration.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from adhominem.errors import ModelError, OptionError
from adhominem.scoring.calibration import Calibration
from adhominem.scoring.fusion import Fusion, Scale
from adhominem.scoring.scales import Scales
from adhominem.text.writing import write_whole

FORMAT = 2
_BEFORE = 1  # one calibration, without a population, of an ensemble's mean
_NAME = "calibration.json"


@dataclass(frozen=True, kw_only=True)
class CalibrationReport:
    """A calibration, what it was fitted to, and how good the Bayes factors are before and after."""

    fusion: Fusion
    calibration: Calibration
    sets: tuple[str, ...]  # the pair sets
    same_author: int  # pairs
    authors: int
    before: dict[str, float]  # measures of the scores as they were
    after: dict[str, float]  # of pairs calibrated without them and without their authors


def write_calibration(
    folder: Path,
    alone: CalibrationReport,
    population: CalibrationReport | None,
    companions: CalibrationReport | None,
    usual_clearness: Sequence[float],
    version: str,
) -> None:
    """Put it into the model's folder, whole or not at all."""
    data = {
        "format": FORMAT,
        "adhominem": version,
        "alone": _to_json(alone),
        "population": population and _to_json(population),
        "companions": companions and _to_json(companions),
        "usual_clearness": list(usual_clearness),
    }
    with write_whole(folder / _NAME) as file:
        file.write(json.dumps(data, indent=1) + "\n")


def _to_json(report: CalibrationReport) -> dict[str, Any]:
    return {
        "fusion": report.fusion.to_json(),
        "calibration": report.calibration.to_json(),
        "sets": list(report.sets),
        "same_author": report.same_author,
        "authors": report.authors,
        "before": report.before,
        "after": report.after,
    }


def read_scales(folder: Path) -> Scales | None:
    """The calibration of a model; None where there is none."""
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if data["format"] == _BEFORE:
            return Scales(Scale(calibration=Calibration.from_json(data["calibration"])))
        if data["format"] != FORMAT:
            raise ModelError(
                f"{path} has the format {data['format']!r}; this version reads {FORMAT}. "
                "Upgrade AdHominem, or calibrate the model again."
            )
        population, companions = data["population"], data.get("companions")
        usual = tuple(map(float, data.get("usual_clearness", ())))
        if not all(isfinite(clearness) and clearness > 0 for clearness in usual):
            raise ValueError(f"usual_clearness is {usual}; expected positive numbers")
        return Scales(
            _scale(data["alone"]),
            population and _scale(population),
            companions and _scale(companions),
            usual,
        )
    except (OSError, ValueError, KeyError, TypeError, OptionError) as error:
        raise ModelError(
            f"{path} is damaged ({type(error).__name__}: {error}); calibrate the model again"
        ) from None


def _scale(data: dict[str, Any]) -> Scale:
    return Scale(Fusion.from_json(data["fusion"]), Calibration.from_json(data["calibration"]))
