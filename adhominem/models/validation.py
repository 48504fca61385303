"""How a model did on pairs of known authors: what a result is held against.

A file in the model's folder has the log Bayes factor of each calibration pair, by a map that has
seen neither the pair nor its authors, within the bounds of the model, and under which condition it
was found. A pair may be there several times: shortened, or twice as if its genre were
unknown.

They belong to one calibration. So calibration.json has their hash, and the file has it in its name:
those of a new calibration lie beside the old ones until that is in its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.models.files import ModelFiles, reading
from adhominem.models.layout import CALIBRATION, UNTIED_VALIDATION, VALIDATION, ModelFile
from adhominem.models.tensors import Header, check_shapes
from adhominem.records import parsed_json
from adhominem.text.writing import replace_file

RECALIBRATE = "calibrate the model again"
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


@dataclass(frozen=True)
class Validation:
    """One entry a pair."""

    genres: tuple[str, ...]  # the names of the pair sets
    log_bayes_factor: npt.NDArray[np.float32]  # (pairs,), in nats, calibrated
    same_author: npt.NDArray[np.bool_]
    genre: npt.NDArray[np.int32]  # which of the genres
    words: npt.NDArray[np.int32]  # of the shorter text
    population: npt.NDArray[np.bool_]  # whether with a population
    known: npt.NDArray[np.bool_]  # whether the model knew of this genre

    def __post_init__(self) -> None:
        arrays = [getattr(self, each.name) for each in fields(self) if each.name != "genres"]
        if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
            raise ValueError("the arrays must be rows of one length")
        if len(self.genre) and not 0 <= self.genre.min() <= self.genre.max() < len(self.genres):
            raise ValueError("a pair is of no genre")

    def __len__(self) -> int:
        return len(self.log_bayes_factor)

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> Validation:
        arrays = {
            each.name: getattr(self, each.name)[chosen]
            for each in fields(self)
            if each.name != "genres"
        }
        return replace(self, **arrays)

    @classmethod
    def joined(cls, parts: list[Validation]) -> Validation:
        """All pairs of several, which name the same genres."""
        arrays = {
            each.name: np.concatenate([getattr(part, each.name) for part in parts])
            for each in fields(cls)
            if each.name != "genres"
        }
        return cls(parts[0].genres, **arrays)

    def like(self, words: int, genre: str, population: bool) -> tuple[Validation, str]:
        """The pairs found under like conditions, and what these are in words.

        `words` are those of the shorter side, `genre` is a genre that the model knows, or
        "" where it knows none like the texts. Where too few pairs are left, a condition is
        dropped: first the genre, then the length.
        """
        found = self[self.population == population]
        told = ["with a population" if population else "without a population"]
        if not population and not found.known.all():  # else the model knows of no genres at all
            found = found[found.known == bool(genre)]
            if not genre:
                told.append("as if the model did not know their genre")
        near = found[(found.words <= words * _NEAR) & (found.words >= words / _NEAR)]
        if genre in self.genres:
            some = near[near.genre == self.genres.index(genre)]
            if some._suffices():
                near, told = some, [*told, f"of the genre “{genre}”"]
            else:
                told.append(f"of all genres, since too few of this length are of “{genre}”")
        if not near._suffices():
            return found, ", ".join(
                [*told, "of any length, since too few are as long as these texts"]
            )
        shortest, longest = near.words.min(), near.words.max()
        lengths = f"{shortest:,}" if shortest == longest else f"{shortest:,} to {longest:,}"
        told.append(f"of {lengths} words")
        return near, ", ".join(told)

    def _suffices(self) -> bool:
        return min(int(self.same_author.sum()), int((~self.same_author).sum())) >= _FEWEST


def write_validation(folder: Path, validation: Validation) -> str:
    """Put the pairs into the model's folder, for a calibration.json with the hash returned."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(getattr(validation, name)) for name in _TYPES}
    return write_pairs(folder, save(arrays, {"genres": json.dumps(validation.genres)}))


def write_pairs(folder: Path, data: bytes) -> str:
    """The file of the pairs as it is, under the name that its hash gives it."""
    found = sha256(data).hexdigest()
    replace_file(folder / _name(found), data)
    return found


def _name(digest: str) -> str:
    return VALIDATION.name.replace("*", digest[:16])


def validation_file(files: ModelFiles) -> tuple[ModelFile, str] | None:
    """The pairs that belong to the calibration of a model, and their file's name; None without any.

    A calibration.json of versions up to 0.1 does not say: then it is the only such file.
    """
    digest = None
    if files.has(CALIBRATION.name):
        with reading(files.folder, CALIBRATION.name, RECALIBRATE):
            told = files.json(CALIBRATION)
            digest = told.get("validation")
            if digest is not None and not re.fullmatch("[0-9a-f]{64}", digest):
                raise ValueError("validation is no SHA-256")
    if digest is None:
        untied = UNTIED_VALIDATION
        return (untied, untied.name) if files.has(untied.name) else None
    with reading(files.folder, _name(digest), RECALIBRATE):
        if files.sha256(VALIDATION, _name(digest)) != digest:
            raise ValueError("these are not the pairs that calibration.json was fitted to")
    return VALIDATION, _name(digest)


def read_validation(folder: Path | ModelFiles) -> Validation | None:
    """What lies in a model's folder; None where there is nothing."""
    files = ModelFiles.at(folder)
    found = validation_file(files)
    if found is None:
        return None
    with reading(files.folder, found[1], RECALIBRATE):
        arrays, metadata = files.tensors(found[0], _check, found[1])
        genres = parsed_json(metadata["genres"])
        if not isinstance(genres, list) or not all(isinstance(each, str) for each in genres):
            raise ValueError("its genres are no list of strings")
        return Validation(tuple(genres), **arrays)


def _check(header: Header, metadata: Mapping[str, Any]) -> None:
    if set(header) != set(_TYPES):
        raise ValueError(f"it has {', '.join(header)}; expected {', '.join(_TYPES)}")
    shape = header["words"].shape
    check_shapes(header, {name: (dtype, shape) for name, dtype in _TYPES.items()})
