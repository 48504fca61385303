"""How a model was calibrated: what is written of it, and the pairs of known authors behind it.

calibration.json            the scales, what they were fitted to, and the hash of the pairs
validation-*.safetensors    the log Bayes factor of each pair, by a map that has seen neither the
                            pair nor its authors, within the bounds of the model, and under which
                            condition it was found; a pair may be there several times: shortened,
                            or twice as if its genre were unknown

`models.folder` reads the scales themselves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, BoolArray
from adhominem.errors import ModelError
from adhominem.models.files import ModelFiles, check_shapes, reading
from adhominem.models.folder import (
    CALIBRATION_FORMAT,
    RECALIBRATE,
    read_calibration,
    validation_name,
)
from adhominem.models.layout import CALIBRATION, CARD, VALIDATION
from adhominem.scoring.scale import Calibration, Fusion
from adhominem.text.writing import replace_file

_TYPES = {
    "log_bayes_factor": "F32",
    "same_author": "BOOL",
    "genre": "I32",
    "words": "I32",
    "population": "BOOL",
    "known": "BOOL",
}
_FEWEST = 30  # pairs of each class: fewer make no curve
_NEAR = 1.5  # times as long, or as short, is a like length


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
    """What a scale rests on, as far as calibration.json tells."""

    sets: tuple[str, ...] = ()
    same_author: int | None = None
    authors: int | None = None
    cllr_before: float | None = None
    cllr_after: float | None = None


@dataclass(frozen=True)
class Validation:
    """One entry a pair."""

    genres: tuple[str, ...]  # the names of the pair sets
    log_bayes_factor: Array32  # (pairs,), in nats, calibrated
    same_author: BoolArray
    genre: npt.NDArray[np.int32]  # which of the genres
    words: npt.NDArray[np.int32]  # of the shorter text
    population: BoolArray  # whether with a population
    known: BoolArray  # whether the model knew of this genre

    def __post_init__(self) -> None:
        arrays = [getattr(self, field.name) for field in fields(self) if field.name != "genres"]
        if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
            raise ValueError("the arrays must be rows of one length")
        if len(self.genre) and not 0 <= self.genre.min() <= self.genre.max() < len(self.genres):
            raise ValueError("a pair is of no genre")

    def __len__(self) -> int:
        return len(self.log_bayes_factor)

    def __getitem__(self, chosen: BoolArray) -> Validation:
        arrays = {
            field.name: getattr(self, field.name)[chosen]
            for field in fields(self)
            if field.name != "genres"
        }
        return replace(self, **arrays)

    @classmethod
    def joined(cls, parts: list[Validation]) -> Validation:
        """All pairs of several, which name the same genres."""
        arrays = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
            if field.name != "genres"
        }
        return cls(parts[0].genres, **arrays)

    def like(self, words: int, genre: str, population: bool) -> tuple[Validation, str]:
        """The pairs found under like conditions, and what these are in words.

        `words` are those of the shorter side, `genre` is a genre that the model knows, or
        "" where it knows none like the texts. Where too few pairs are left, a condition is
        dropped: first the genre, then the length.
        """
        alike = self[self.population == population]
        told = ["with a population" if population else "without a population"]
        if not population and not alike.known.all():  # else the model knows of no genres at all
            alike = alike[alike.known == bool(genre)]
            if not genre:
                told.append("as if the model did not know their genre")
        near = alike[(alike.words <= words * _NEAR) & (alike.words >= words / _NEAR)]
        if genre in self.genres:
            of_genre = near[near.genre == self.genres.index(genre)]
            if of_genre._suffices():
                near, told = of_genre, [*told, f"of the genre “{genre}”"]
            else:
                told.append(f"of all genres, since too few of this length are of “{genre}”")
        if not near._suffices():
            return alike, ", ".join(
                [*told, "of any length, since too few are as long as these texts"]
            )
        shortest, longest = near.words.min(), near.words.max()
        lengths = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
        told.append(f"of {lengths} words")
        return near, ", ".join(told)

    def _suffices(self) -> bool:
        return min(int(self.same_author.sum()), int((~self.same_author).sum())) >= _FEWEST


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
        "format": CALIBRATION_FORMAT,
        "adhominem": version,
        "alone": asdict(alone),
        "population": population and asdict(population),
        "companions": companions and asdict(companions),
        "usual_separation": list(usual_separation),
    }
    _remove_litter(folder)
    try:
        _commit(folder, data, write_validation(folder, validation))
    finally:
        _remove_litter(folder)


def _commit(folder: Path, data: dict[str, Any], validation: str) -> None:
    """From one moment to the next, the calibration is this one, with pairs of this hash."""
    text = json.dumps({**data, "validation": validation}, indent=1) + "\n"
    replace_file(folder / CALIBRATION.name, text.encode("utf-8"))


def _remove_litter(folder: Path) -> None:
    """Pairs of no calibration that counts, and what a run that was killed had begun to write."""
    try:
        kept = validation_name(ModelFiles(folder))
    except ModelError:  # damaged: what belongs to it cannot be told
        return
    litter = [path for path in folder.glob(VALIDATION.name) if path.name != kept]
    for name in (VALIDATION.name, CALIBRATION.name, CARD.name):
        litter += folder.glob(f".{name}.*.partial")
    litter += folder.glob(f".{VALIDATION.name}.lock")  # the folder's own lock is held
    for path in litter:
        path.unlink(missing_ok=True)


def read_evidence(folder: Path | ModelFiles, *, population: bool) -> CalibrationEvidence:
    """What the scale rests on that is for comparisons with a population, or without one."""
    files = ModelFiles.at(folder)
    data = read_calibration(files) or {}
    with reading(files.folder, CALIBRATION.name, RECALIBRATE):
        told = data.get("population" if population else "alone") or {}
        sets = told.get("sets", [])
        if not isinstance(sets, list) or not set(map(type, sets)) <= {str}:
            raise ValueError("sets is no list of names")
        counts = {name: told.get(name) for name in ("same_author", "authors")}
        if not all(
            count is None or (type(count) is int and count >= 0) for count in counts.values()
        ):
            raise ValueError("same_author or authors is no number")
        before, after = (_number(told.get(name, {}).get("cllr")) for name in ("before", "after"))
        return CalibrationEvidence(tuple(sets), **counts, cllr_before=before, cllr_after=after)


def _number(value: Any) -> float | None:
    """A measure; None where there is none, or it could not be told."""
    if value is None:
        return None
    number = float(value)
    return number if isfinite(number) else None


def write_validation(folder: Path, validation: Validation) -> str:
    """Put the pairs into the model's folder, for a calibration.json with the hash returned."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(getattr(validation, name)) for name in _TYPES}
    data = save(arrays, {"genres": "\n".join(validation.genres)})
    digest = sha256(data).hexdigest()
    replace_file(folder / VALIDATION.name.replace("*", digest[:16]), data)
    return digest


def read_validation(folder: Path | ModelFiles) -> Validation | None:
    """The pairs of a model's calibration; None where there are none."""
    files = ModelFiles.at(folder)
    name = validation_name(files)
    if name is None:
        return None
    with reading(files.folder, name, RECALIBRATE):
        arrays, metadata = files.tensors(VALIDATION, name)
        if set(arrays) != set(_TYPES):
            raise ValueError(f"it has {', '.join(arrays)}; expected {', '.join(_TYPES)}")
        shape = arrays["words"].shape
        check_shapes(arrays, {name: (dtype, shape) for name, dtype in _TYPES.items()})
        genres = metadata["genres"].split("\n") if metadata["genres"] else []
        return Validation(tuple(genres), **arrays)
