"""The record of a model's calibration, and the pairs of known authors behind it.

calibration.json            parameters, bounds, what they were fitted to, the hash of the pairs
validation-*.safetensors    the log Bayes factor of each pair, by a calibration without this pair
                            and its authors, within the bounds of the model, with its conditions;
                            a case may occur several times: shortened, with several populations, or
                            as if its genre were unknown

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

from adhominem.arrays import Array32, BoolArray
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
from adhominem.records import from_json, to_json
from adhominem.score.calibration import POPULATION, TEXTS, Calibration
from adhominem.score.genres import PairRows

_OTHER_GENRE = "\n"  # any genre without cases: no name has line ends
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
_FEWEST = 30  # pairs of each class for a curve
_NEAR = 1.5  # ratio within which lengths are similar


@dataclass(frozen=True, kw_only=True)
class CalibrationReport:
    """The cases of a calibration, with or without a population, and its accuracy."""

    cases: int
    sets: tuple[str, ...]  # the pair sets
    same_author: int  # pairs
    authors: int
    before: dict[str, float]  # measures of the scores before calibration
    after: dict[str, float]  # of pairs calibrated without them and their authors


@dataclass(frozen=True)
class CalibrationEvidence:
    """The evidence that a calibration rests on, according to calibration.json."""

    sets: tuple[str, ...] = ()
    same_author: int | None = None
    authors: int | None = None
    cllr_before: float | None = None
    cllr_after: float | None = None
    twin: bool = False  # whether the cases were scored by a twin, not by the model itself


@dataclass(frozen=True)
class Validation(PairRows):
    """Validation cases: one entry per case and condition."""

    genres: tuple[str, ...]  # the names of the pair sets
    log_bayes_factor: Array32  # (pairs,), in nats, calibrated
    same_author: BoolArray
    genre: npt.NDArray[np.int32]  # index of the genre
    words: npt.NDArray[np.int32]  # per text, of the side with the shorter texts
    texts: npt.NDArray[np.int32]  # of the side with more texts
    population: npt.NDArray[np.int32]  # texts; 0 without one
    known: BoolArray  # whether the model knew this genre
    case: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    # Entries with the same number have the same texts, whole or cut, with any population. Those
    # with the number -1, which is the default for all, each have different texts.

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
        """The distinct cases under similar conditions.

        `words` are the words per text of the side with the shorter texts; `genre` is a genre that
        the model knows, "" if it knows none like the texts, or anything else if it could not say;
        `texts` is the number of texts of the larger side, `population` that of the population. If
        too few cases remain, conditions are dropped: first the genre, then the size of the
        population, the length, the number of texts.
        """
        alike = self[self.population > 0] if population else self.without_population(genre)
        words_of = [] if population else ["without a population"]
        if not population and not genre and not alike.known.any():
            words_of.append("as if the model did not know their genre")
        least, most = words / _NEAR, words * _NEAR
        wanted = {
            "number of texts": (_same_cell(alike.texts, texts, TEXTS), _texts_in_words(texts)),
            "length of the texts": (
                (alike.words >= least) & (alike.words <= most),
                f"of {least:,.0f} to {most:,.0f} words a text",
            ),
        }
        if population:
            size = _same_cell(alike.population, population, POPULATION)
            wanted["size of the population"] = (size, _population_in_words(population))
        if genre in self.genres:
            same_genre = alike.genre == self.genres.index(genre)
            wanted["genre"] = (same_genre, f"of the genre “{genre}”")
        dropped = [] if genre in self.genres else ["genre"]
        while True:
            masks = [mask for mask, _ in wanted.values()]
            near = alike[np.logical_and.reduce(masks)] if masks else alike
            near = near.nearest_entries(words, population)
            if _suffice(near.same_author) or not wanted:
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

        If `genre` is empty, those as if the model did not know the genre; else those where it did.
        """
        return self[self._alone(genre)]

    def _alone(self, genre: str) -> BoolArray:
        """Whether each entry (cases,) is one `without_population`."""
        alone = self.population == 0
        if self.known[alone].all():  # the model knows no genres at all
            return np.asarray(alone)
        return np.asarray(alone & (self.known == bool(genre)))

    def misleading_rates(self, genre: str) -> MisleadingRates | None:
        """The rates of misleading evidence without a population; None without both classes.

        `genre` is as in `like`. With too few cases of this genre, all genres count.
        """
        key = genre if genre in self.genres or not genre else _OTHER_GENRE
        if key not in self._misleading:  # needed for every comparison
            self._misleading[key] = self._count_misleading(genre)
        return self._misleading[key]

    @cached_property
    def _misleading(self) -> dict[str, MisleadingRates | None]:
        return {}

    def _count_misleading(self, genre: str) -> MisleadingRates | None:
        counted, is_genre = self._alone(genre), False
        if genre in self.genres:
            of_genre = counted & (self.genre == self.genres.index(genre))
            is_genre = _suffice(self.same_author[of_genre])
            counted = of_genre if is_genre else counted
        same_author = self.same_author[counted]
        if not same_author.any() or same_author.all():
            return None
        factors = self.log_bayes_factor[counted]
        return MisleadingRates(
            genre=genre if is_genre else "",
            known=bool(self.known[counted].all()),
            same=float((factors[same_author] < 0).mean()),
            different=float((factors[~same_author] > 0).mean()),
        )

    def nearest_entries(self, words: int, population: int) -> Validation:
        """One entry per case: the one whose length and population are nearest to these."""
        far = np.abs(np.log(np.maximum(self.words, 1) / max(words, 1)))
        far += np.abs(np.log((self.population + 1) / (population + 1)))
        order = np.argsort(far, kind="stable")
        numbers = np.where(self.case < 0, -1 - np.arange(len(self)), self.case)
        _, firsts = np.unique(numbers[order], return_index=True)
        kept = np.zeros(len(self), dtype=bool)
        kept[order[firsts]] = True
        return self[kept]


@dataclass(frozen=True)
class LikeCases:
    """The cases of a validation under similar conditions."""

    cases: Validation
    description: str  # the conditions shared with the case at hand, in words
    dropped: tuple[str, ...]  # conditions not shared, since too few cases would remain


@dataclass(frozen=True, kw_only=True)
class MisleadingRates:
    """The shares of cases of known authors with misleading evidence."""

    genre: str  # of the cases; empty: all
    known: bool  # whether the model knew their genres
    same: float  # of same-author cases: evidence for different authors
    different: float  # of different-author cases: evidence for one author


def _suffice(same_author: BoolArray) -> bool:
    """Whether there are enough cases of each class."""
    return min(int(same_author.sum()), int((~same_author).sum())) >= _FEWEST


def _same_cell(values: npt.NDArray[np.int32], value: int, starts: tuple[int, ...]) -> BoolArray:
    """Whether values (cases,) are in the same range as a value; ranges begin at `starts`."""
    at = np.searchsorted(starts, [value], side="right")
    return np.asarray(np.searchsorted(starts, values, side="right") == at)


def _texts_in_words(texts: int) -> str:
    if texts == 1:
        return "with one text a side"
    return "with two or three known texts" if texts < TEXTS[2] else "with five known texts"


def _population_in_words(texts: int) -> str:
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
    """Replace a model's calibration, its pairs and `card`, all or none of them.

    `twin` is the SHA-256 of the model that the cases were scored by, if not by this one.
    """
    pairs = validation_file(validation)
    digest = sha256(pairs).hexdigest()
    data = {
        "format": CALIBRATION_FORMAT,
        "adhominem": version,
        "calibration": to_json(calibration),
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
    """The bytes of a calibration's file."""
    return (json.dumps(calibration, indent=1) + "\n").encode("utf-8")


def read_reports(
    folder: Path | ModelFiles,
) -> tuple[CalibrationReport, CalibrationReport | None] | None:
    """The reports without and with a population; None without a calibration."""
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


def read_evidence(folder: Path | ModelFiles) -> tuple[CalibrationEvidence, CalibrationEvidence]:
    """The evidence behind the calibration for comparisons without and with a population."""
    files = ModelFiles.at(folder)
    alone, population = read_reports(files) or (None, None)
    by_twin = bool((read_calibration(files) or {}).get("twin"))
    return _evidence(alone, by_twin), _evidence(population, by_twin)


def _evidence(report: CalibrationReport | None, by_twin: bool) -> CalibrationEvidence:
    if report is None:
        return CalibrationEvidence()
    before, after = (of.get("cllr", nan) for of in (report.before, report.after))
    return CalibrationEvidence(
        report.sets,
        report.same_author,
        report.authors,
        before if isfinite(before) else None,
        after if isfinite(after) else None,
        twin=by_twin,
    )


def validation_file(validation: Validation) -> bytes:
    """The bytes of the file of a validation's pairs."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(getattr(validation, name)) for name in _TYPES | _CASE}
    return save(arrays, {"genres": "\n".join(validation.genres)})


def read_validation(folder: Path | ModelFiles) -> Validation | None:
    """The pairs of a model's calibration; None without any."""
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
