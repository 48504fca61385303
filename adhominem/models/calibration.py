"""The calibration of a model, as it lies in its folder: calibration.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from adhominem.errors import ModelError, OptionError
from adhominem.scoring.calibration import Calibration
from adhominem.text.files import write_whole

FORMAT = 1
_NAME = "calibration.json"
_AUTHORS = "training_authors.txt"


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


def write_training_authors(folder: Path, names: list[str]) -> None:
    """Who wrote the training texts, as hashes: enough to ask whether somebody was among them."""
    hashes = sorted({_hash(name) for name in names if name})
    (folder / _AUTHORS).write_text("".join(f"{each}\n" for each in hashes), "utf-8")


def trained_on(folder: Path, names: set[str]) -> set[str] | None:
    """Which of these authors the model was trained on; None where it does not say."""
    path = folder / _AUTHORS
    if not path.is_file():
        return None
    known = set(path.read_text("utf-8").split())
    return {name for name in names if _hash(name) in known}


def _hash(name: str) -> str:
    return sha256(name.encode("utf-8")).hexdigest()[:16]
