"""The calibration of a model, as it lies in its folder: calibration.json, and the pairs behind it.

Both are replaced as one. The pairs are written first, under a name that the old calibration.json
does not know; then a new one, which names them, takes its place in one move; then the old pairs are
removed. Whatever is interrupted, and wherever, the folder holds a calibration with its own pairs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from adhominem.errors import ModelError
from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import CALIBRATION, CARD, UNTIED_VALIDATION, VALIDATION
from adhominem.models.validation import (
    RECALIBRATE,
    Validation,
    validation_file,
    write_pairs,
    write_validation,
)
from adhominem.scoring.scale import Calibration, Fusion, Scale, Scales
from adhominem.text.writing import replace_file

FORMAT = 3
_BEFORE = 1  # one calibration, without a population, of an ensemble's mean


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


@dataclass(frozen=True)
class CalibrationEvidence:
    """What a scale rests on, as far as calibration.json tells; the first format told nothing."""

    sets: tuple[str, ...] = ()
    same_author: int | None = None
    authors: int | None = None
    cllr_before: float | None = None
    cllr_after: float | None = None


def write_calibration(
    folder: Path,
    alone: CalibrationReport,
    population: CalibrationReport | None,
    companions: CalibrationReport | None,
    usual_separation: Sequence[float],
    version: str,
    validation: Validation,
) -> None:
    """Put it into the model's folder with its pairs, both or neither; the old ones go."""
    data = {
        "format": FORMAT,
        "adhominem": version,
        "alone": _to_json(alone),
        "population": population and _to_json(population),
        "companions": companions and _to_json(companions),
        "usual_separation": list(usual_separation),
    }
    _remove_litter(folder)
    try:
        _commit(folder, data, write_validation(folder, validation))
    finally:
        _remove_litter(folder)


def tie_validation(folder: Path) -> None:
    """Bring a calibration as versions up to 0.1 wrote it to the form of today."""
    files = ModelFiles(folder)
    found = validation_file(files)
    if found and found[0] is UNTIED_VALIDATION and files.has(CALIBRATION.name):
        data = files.json(CALIBRATION)
        _commit(folder, data, write_pairs(folder, files.read(UNTIED_VALIDATION)))
        _remove_litter(folder)


def _commit(folder: Path, data: dict[str, Any], validation: str) -> None:
    """From one moment to the next, the calibration is this one, with pairs of this hash."""
    text = json.dumps({**data, "validation": validation}, indent=1) + "\n"
    replace_file(folder / CALIBRATION.name, text.encode("utf-8"))


def _remove_litter(folder: Path) -> None:
    """Pairs of no calibration that counts, and what a run that was killed had begun to write."""
    try:
        found = validation_file(ModelFiles(folder))
    except ModelError:  # damaged: what belongs to it cannot be told
        return
    pairs = [UNTIED_VALIDATION.name, VALIDATION.name]
    counts = found and found[1]
    litter = [path for name in pairs for path in folder.glob(name) if path.name != counts]
    for name in (*pairs, CALIBRATION.name, CARD.name):
        litter += folder.glob(f".{name}.*.partial")
    litter += folder.glob(f".{VALIDATION.name}.lock")  # the folder's own lock is held
    for path in litter:
        path.unlink(missing_ok=True)


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


def read_scales(folder: Path | ModelFiles) -> Scales | None:
    """The calibration of a model; None where there is none."""
    data = _read(ModelFiles.at(folder))
    if data is None:
        return None
    with reading(ModelFiles.at(folder).folder, CALIBRATION.name, RECALIBRATE):
        if data["format"] == _BEFORE:
            return Scales(Scale(calibration=Calibration.from_json(data["calibration"])))
        population, companions = data["population"], data.get("companions")
        usual = tuple(map(float, data.get("usual_separation", ())))
        if not all(isfinite(separation) and separation > 0 for separation in usual):
            raise ValueError(f"usual_separation is {usual}; expected positive numbers")
        return Scales(
            _scale(data["alone"]),
            population and _scale(population),
            companions and _scale(companions),
            usual,
        )


def read_evidence(folder: Path | ModelFiles, *, population: bool) -> CalibrationEvidence:
    """What the scale rests on that is for comparisons with a population, or without one."""
    files = ModelFiles.at(folder)
    data = _read(files) or {}
    with reading(files.folder, CALIBRATION.name, RECALIBRATE):
        told = data.get("population" if population else "alone") or {}
        sets = told.get("sets", [])
        if not isinstance(sets, list) or not all(isinstance(each, str) for each in sets):
            raise ValueError("sets is no list of names")
        counts = {name: told.get(name) for name in ("same_author", "authors")}
        if not all(each is None or (type(each) is int and each >= 0) for each in counts.values()):
            raise ValueError("same_author or authors is no number")
        before, after = (_number(told.get(name, {}).get("cllr")) for name in ("before", "after"))
        return CalibrationEvidence(tuple(sets), **counts, cllr_before=before, cllr_after=after)


def _read(files: ModelFiles) -> dict[str, Any] | None:
    """What calibration.json says, if it is there and of a version that can be read."""
    if not files.has(CALIBRATION.name):
        return None
    with reading(files.folder, CALIBRATION.name, RECALIBRATE):
        data: dict[str, Any] = files.json(CALIBRATION)
        written_as = data["format"]
    if written_as not in (_BEFORE, FORMAT):
        raise ModelError(
            f"{files.folder / CALIBRATION.name} has the format {str(written_as)[:100]}; this "
            f"version reads {FORMAT}. Upgrade AdHominem, or {RECALIBRATE}."
        )
    return data


def _number(value: Any) -> float | None:
    """A measure; None where there is none, or it could not be told."""
    if value is None:
        return None
    number = float(value)
    return number if isfinite(number) else None


def _scale(data: dict[str, Any]) -> Scale:
    return Scale(Fusion.from_json(data["fusion"]), Calibration.from_json(data["calibration"]))
