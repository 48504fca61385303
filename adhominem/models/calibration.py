"""The calibration of a model, as it lies in its folder: calibration.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adhominem.errors import ModelError, OptionError
from adhominem.scoring.calibration import Calibration
from adhominem.text.files import write_whole

FORMAT = 1
_NAME = "calibration.json"


@dataclass(frozen=True, kw_only=True)
class CalibrationReport:
    """A calibration, what it was fitted to, and how good the Bayes factors are before and after."""

    calibration: Calibration
    sets: tuple[str, ...]  # the pair sets
    same_author: int  # pairs
    authors: int
    before: dict[str, float]  # measures of the scores as they were
    after: dict[str, float]  # of pairs calibrated without them and without their authors


def write_calibration(folder: Path, report: CalibrationReport, version: str) -> None:
    """Put it into the model's folder, whole or not at all."""
    data = {
        "format": FORMAT,
        "adhominem": version,
        "calibration": report.calibration.to_json(),
        "sets": list(report.sets),
        "same_author": report.same_author,
        "authors": report.authors,
        "before": report.before,
        "after": report.after,
    }
    with write_whole(folder / _NAME) as file:
        file.write(json.dumps(data, indent=1) + "\n")


def read_calibration(folder: Path) -> Calibration | None:
    """The calibration of a model; None where there is none."""
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if data["format"] != FORMAT:
            raise ModelError(
                f"{path} has the format {data['format']!r}; this version reads {FORMAT}. "
                "Upgrade AdHominem, or calibrate the model again."
            )
        return Calibration.from_json(data["calibration"])
    except (OSError, ValueError, KeyError, TypeError, OptionError) as error:
        raise ModelError(
            f"{path} is damaged ({type(error).__name__}: {error}); calibrate the model again"
        ) from None
