"""How a model was calibrated: what is written of it, and the pairs of known authors behind it.

calibration.json            parameters, bounds, what they were fitted to, the hash of the pairs
validation-*.safetensors    the log Bayes factor of each pair, by a map that has seen neither the
                            pair nor its authors, within the bounds of the model, and under which
                            condition it was found; a case may be there several times: shortened,
                            with several populations, or again as if its genre were unknown

`model.folder` reads the parameters themselves.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from hashlib import sha256
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adhominem.arrays import Array32, BoolArray, PairRows
from adhominem.evaluation.likelihood_ratio import misleading_shares
from adhominem.model.files import ModelFiles, check_shapes, reading
from adhominem.model.folder import (
    CALIBRATION_FORMAT,
    RECALIBRATE,
    model_hash,
    read_calibration,
    validation_name,
)
from adhominem.model.layout import CALIBRATION, CARD, VALIDATION
from adhominem.model.writing import replace_files
from adhominem.records import from_json
from adhominem.score.calibration import POPULATION, TEXTS, Calibration

_OTHER_GENRE = "\n"  # stands for any that there are no cases of: no name has line ends
_TYPES = {
    "log_bayes_factor": "F32",
    "same_author": "BOOL",
    "genre": "I32",
    "words": "I32",
    "texts": "I32",
    "population": "I32",
    "known": "BOOL",
}
_CASE = {"case": "I32"}  # files of earlier versions lack it
_FEWEST = 30  # pairs of each class: fewer make no curve
_NEAR = 1.5  # times as long, or as short, is a like length


@dataclass(frozen=True, kw_only=True)
class CalibrationReport:
    """What a model was calibrated with, without a population or with one, and how good it is."""

    cases: int
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
    twin: bool = False  # whether the cases were scored by a twin, not by the model itself


@dataclass(frozen=True)
class Validation(PairRows):
    """One entry a case under one condition."""

    genres: tuple[str, ...]  # the names of the pair sets
    log_bayes_factor: Array32  # (pairs,), in nats, calibrated
    same_author: BoolArray
    genre: npt.NDArray[np.int32]  # which of the genres
    words: npt.NDArray[np.int32]  # a text, of the side that has the shorter ones
    texts: npt.NDArray[np.int32]  # of the side that has more
    population: npt.NDArray[np.int32]  # texts; 0 without one
    known: BoolArray  # whether the model knew of this genre
    case: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    # Entries of one number are of the same texts, whole or cut, with one population or another.
    # Those of the number -1, which is all where none are given, are of texts of their own.

    def __post_init__(self) -> None:
        if not len(self.case):
            object.__setattr__(self, "case", np.full(len(self.known), -1, np.int32))
        arrays = [getattr(self, field.name) for field in fields(self) if field.name != "genres"]
        if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
            raise ValueError("the arrays must be rows of one length")
        if len(self.genre) and not 0 <= self.genre.min() <= self.genre.max() < len(self.genres):
            raise ValueError("a pair is of no genre")

    def __len__(self) -> int:
        return len(self.log_bayes_factor)

    def like(self, words: int, genre: str, texts: int = 1, population: int = 0) -> LikeCases:
        """The cases under like conditions, each once.

        `words` are those a text of the side with the shorter ones, `genre` is a genre that the
        model knows, "" where it knows none like the texts, or anything else where it could not
        tell; `texts` are those of the larger side, `population` those of the population. Where too
        few cases are left, a condition is dropped: first the genre, then the size of the
        population, the length, the number of texts.
        """
        alike = self[self.population > 0] if population else self.without_population(genre)
        words_of = [] if population else ["without a population"]
        if not population and not genre and not alike.known.any():
            words_of.append("as if the model did not know their genre")
        least, most = words / _NEAR, words * _NEAR
        wanted = {
            "number of texts": (_same_cell(alike.texts, texts, TEXTS), _texts_told(texts)),
            "length of the texts": (
                (alike.words >= least) & (alike.words <= most),
                f"of {least:,.0f} to {most:,.0f} words a text",
            ),
        }
        if population:
            size = _same_cell(alike.population, population, POPULATION)
            wanted["size of the population"] = (size, _population_told(population))
        if genre in self.genres:
            of_genre = alike.genre == self.genres.index(genre)
            wanted["genre"] = (of_genre, f"of the genre “{genre}”")
        dropped = [] if genre in self.genres else ["genre"]
        while True:
            masks = [mask for mask, _ in wanted.values()]
            near = alike[np.logical_and.reduce(masks)] if masks else alike
            near = near.each_once(words, population)
            if near.suffices or not wanted:
                break
            dropped.append(wanted.popitem()[0])
        words_of += [words_for for _, words_for in wanted.values()]
        any_such = {
            "number of texts": "with any number of known texts",
            "length of the texts": "of any length",
            "size of the population": "with a population of any size",
            "genre": "of all genres",
        }
        words_of += [any_such[name] for name in any_such if name in dropped]
        return LikeCases(near, ", ".join(words_of), tuple(dropped))

    def without_population(self, genre: str) -> Validation:
        """The entries of cases without a population.

        Those as if the model did not know the genre, if `genre` is empty; else those where it did.
        """
        alone = self[self.population == 0]
        if alone.known.all():  # the model knows of no genres at all
            return alone
        return alone[alone.known == bool(genre)]

    def misleading_rates(self, genre: str) -> MisleadingRates | None:
        """How often the model misleads without a population; None without cases of both classes.

        `genre` is as in `like`. All genres count where too few cases are of this one.
        """
        key = genre if genre in self.genres or not genre else _OTHER_GENRE
        if key not in self._misleading:  # needed for every comparison
            self._misleading[key] = self._count_misleading(genre)
        return self._misleading[key]

    @cached_property
    def _misleading(self) -> dict[str, MisleadingRates | None]:
        return {}

    def _count_misleading(self, genre: str) -> MisleadingRates | None:
        alone = self.without_population(genre)
        of_genre = alone
        if genre in self.genres:
            of_genre = alone[alone.genre == self.genres.index(genre)]
        is_genre = genre in self.genres and of_genre.suffices
        counted = of_genre if is_genre else alone
        if not counted.same_author.any() or counted.same_author.all():
            return None
        factors = counted.log_bayes_factor.astype(np.float64)
        same, different = misleading_shares(factors, counted.same_author)
        return MisleadingRates(
            genre=genre if is_genre else "",
            known=bool(counted.known.all()),
            same=same,
            different=different,
        )

    def each_once(self, words: int, population: int) -> Validation:
        """For each case, the entry whose length and population are nearest to these."""
        far = np.abs(np.log(np.maximum(self.words, 1) / max(words, 1)))
        far += np.abs(np.log((self.population + 1) / (population + 1)))
        order = np.argsort(far, kind="stable")
        numbers = np.where(self.case < 0, -1 - np.arange(len(self)), self.case)
        _, firsts = np.unique(numbers[order], return_index=True)
        kept = np.zeros(len(self), dtype=bool)
        kept[order[firsts]] = True
        return self[kept]

    @property
    def suffices(self) -> bool:
        """Whether there are enough of each class to tell anything."""
        return min(int(self.same_author.sum()), int((~self.same_author).sum())) >= _FEWEST


@dataclass(frozen=True)
class LikeCases:
    """Cases of a validation under like conditions."""

    cases: Validation
    told: str  # the conditions that they share with the case at hand, in words
    dropped: tuple[str, ...]  # the conditions that they do not share, since too few would be left


@dataclass(frozen=True, kw_only=True)
class MisleadingRates:
    """Shares of cases of known authors whose evidence pointed the wrong way."""

    genre: str  # of the cases; empty: of all
    known: bool  # whether the model knew of their genres
    same: float  # of same-author cases: evidence for different authors
    different: float  # of different-author cases: evidence for one author


def _same_cell(values: npt.NDArray[np.int32], value: int, starts: tuple[int, ...]) -> BoolArray:
    """(cases,): which values are in the same range as a value; `starts` are where ranges begin."""
    at = np.searchsorted(starts, [value], side="right")
    return np.asarray(np.searchsorted(starts, values, side="right") == at)


def _texts_told(texts: int) -> str:
    if texts == 1:
        return "with one text a side"
    return "with two or three known texts" if texts < TEXTS[2] else "with five known texts"


def _population_told(texts: int) -> str:
    if texts < POPULATION[2]:
        return f"with a population of {POPULATION[1]} to {POPULATION[2] - 1} texts"
    return f"with a population of {POPULATION[2]} texts or more"


def write_calibration(
    folder: Path,
    calibration: Calibration,
    alone: CalibrationReport,
    population: CalibrationReport | None,
    version: str,
    validation: Validation,
    *,
    twin: str = "",
    card: str | None = None,
) -> None:
    """Put it into the model's folder with its pairs and `card`, all or none; the old ones go.

    `twin` is the SHA-256 of the model that the cases were scored by, if not by this one.
    """
    pairs = validation_file(validation)
    digest = sha256(pairs).hexdigest()
    data = {
        "format": CALIBRATION_FORMAT,
        "adhominem": version,
        "calibration": calibration.to_json(),
        "alone": asdict(alone),
        "population": population and asdict(population),
        "twin": twin,
        "fitted_to": model_hash(folder, members=True),
        "validation": digest,
    }
    files = {CALIBRATION.name: as_file(data), VALIDATION.name.replace("*", digest[:16]): pairs}
    if card is not None:
        files[CARD.name] = card.encode("utf-8")
    replace_files(folder, files)


def as_file(calibration: dict[str, Any]) -> bytes:
    """A calibration as it lies in a model's folder."""
    return (json.dumps(calibration, indent=1) + "\n").encode("utf-8")


def read_reports(
    folder: Path | ModelFiles,
) -> tuple[CalibrationReport, CalibrationReport | None] | None:
    """The reports without a population and with one; None without a calibration."""
    files = ModelFiles.at(folder)
    data = read_calibration(files)
    if data is None:
        return None
    with reading(files.folder, CALIBRATION.name, RECALIBRATE):
        alone = from_json(CalibrationReport, data["alone"], "alone")
        population = data["population"]
        if population is not None:
            population = from_json(CalibrationReport, population, "population")
        return alone, population


def read_evidence(folder: Path | ModelFiles, *, population: bool) -> CalibrationEvidence:
    """What the scale rests on that is for comparisons with a population, or without one."""
    files = ModelFiles.at(folder)
    reports = read_reports(files)
    report = reports and reports[population]
    if report is None:
        return CalibrationEvidence()
    before, after = (of.get("cllr", nan) for of in (report.before, report.after))
    return CalibrationEvidence(
        report.sets,
        report.same_author,
        report.authors,
        before if isfinite(before) else None,
        after if isfinite(after) else None,
        twin=bool((read_calibration(files) or {}).get("twin")),
    )


def validation_file(validation: Validation) -> bytes:
    """The pairs as they lie in a model's folder."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(getattr(validation, name)) for name in _TYPES | _CASE}
    return save(arrays, {"genres": "\n".join(validation.genres)})


def read_validation(folder: Path | ModelFiles) -> Validation | None:
    """The pairs of a model's calibration; None where there are none."""
    files = ModelFiles.at(folder)
    name = validation_name(files)
    if name is None:
        return None
    with reading(files.folder, name, RECALIBRATE):
        arrays, metadata = files.tensors(VALIDATION, name)
        types = _TYPES | (_CASE if "case" in arrays else {})
        if set(arrays) != set(types):
            raise ValueError(f"it has {', '.join(arrays)}; expected {', '.join(types)}")
        shape = arrays["words"].shape
        check_shapes(arrays, {name: (dtype, shape) for name, dtype in types.items()})
        genres = metadata["genres"].split("\n") if metadata["genres"] else []
        return Validation(tuple(genres), **arrays)
