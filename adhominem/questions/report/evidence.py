"""What a result is held against: the model's calibration, and pairs or cases of known authors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan, log, nan
from pathlib import Path

import numpy as np

from adhominem.errors import ModelError, OptionError
from adhominem.evaluation.likelihood_ratio import cllr
from adhominem.model.calibration import (
    CalibrationEvidence,
    LikeCases,
    Validation,
    read_evidence,
)
from adhominem.model.files import ModelFiles
from adhominem.model.folder import model_folder, model_hash
from adhominem.questions.report.own_material import StudyFacts
from adhominem.score.calibration import Calibration, LogBayesFactors
from adhominem.statistics import exact_interval, interval, resampled
from adhominem.verify.verification import Likeness, guessed_genre
from adhominem.verify.verifier import Verifier

LOG_10 = log(10)
_RESAMPLES = 1_000


@dataclass(frozen=True, kw_only=True)
class CalibrationFacts(CalibrationEvidence):
    """What makes the model's Bayes factors honest, and how far they reach.

    The evidence that is None is that of which the model's files are not at hand.
    """

    lower_bound: float  # of the log10 Bayes factor
    upper_bound: float
    at_bound: bool  # whether a bound decided what is reported


@dataclass(frozen=True, kw_only=True)
class ValidationFacts:
    """How the model did on cases of known authors, under conditions like those of the case.

    Beside the number of each class: how many of its Bayes factors are at least, and at most, as
    great as the result. With a `study`, these are its cases.
    """

    condition: str
    dropped: tuple[str, ...]  # conditions that too few cases share with the case at hand
    same_author: int
    same_at_least: int
    same_at_most: int
    different_authors: int
    different_at_least: int
    different_at_most: int
    cllr: float
    intervals: dict[str, tuple[float, float]]  # 95%: of the shares of the counts, and of cllr
    study: StudyFacts | None = None  # of the examiner's own material, if the cases are from there


def files_of(verifier: Verifier, model: str | Path | None) -> ModelFiles | None:
    """The files of a verifier's model: as given, or found by its name; None if it is not found.

    They must be the very ones that the verifier has, by their hash.
    """
    if model is None and not verifier.name:
        return None
    try:
        files = ModelFiles(model_folder(verifier.name if model is None else model))
        fits = model_hash(files) == verifier.sha256
    except ModelError:
        if model is not None:
            raise
        return None
    if model is not None and not fits:
        raise OptionError(
            f"{files.folder} holds another model than that which compares the texts; give the "
            "folder of that one"
        )
    return files if fits else None


def calibration_facts(
    calibration: Calibration | None,
    files: ModelFiles | None,
    scored: LogBayesFactors,
    *,
    population: bool,
) -> CalibrationFacts | None:
    """Those of a calibration; what it was fitted to is known only where its files tell."""
    if calibration is None:
        return None
    told = CalibrationEvidence() if files is None else read_evidence(files, population=population)
    return CalibrationFacts(
        **vars(told),
        lower_bound=float(scored.lower_bound[0]) / LOG_10,
        upper_bound=float(scored.upper_bound[0]) / LOG_10,
        at_bound=bool(scored.at_bound[0]),
    )


def like_pairs(
    validation: Validation | None,
    words: int,
    likeness: Likeness | None,
    *,
    texts: int,
    population: int,
) -> LikeCases | None:
    """The cases of known authors under like conditions; None without any."""
    if validation is None:
        return None
    genre = guessed_genre(likeness)
    like = validation.like(words, genre, texts, population)
    if likeness is not None and genre in likeness.described:
        told = like.told.replace(f"“{genre}”", f"“{likeness.name(genre)}”")
        like = replace(like, told=told)
    same = int(like.cases.same_author.sum())
    return like if 0 < same < len(like.cases) else None


def validation_facts(
    like: LikeCases, log_bayes_factor: float, study: StudyFacts | None = None
) -> ValidationFacts:
    """Where a log Bayes factor, in nats, falls among those of cases of known authors."""
    cases = like.cases
    result = np.float32(log_bayes_factor)  # as exact as the others: one at a bound equals it
    counts: dict[str, int] = {}
    intervals: dict[str, tuple[float, float]] = {}
    sizes: dict[str, int] = {}
    for name, chosen in (("same", cases.same_author), ("different", ~cases.same_author)):
        factors = cases.log_bayes_factor[chosen]
        sizes[name] = len(factors)
        counts[f"{name}_at_least"] = int((factors >= result).sum())
        counts[f"{name}_at_most"] = int((factors <= result).sum())
        for way in ("at_least", "at_most"):
            key = f"{name}_{way}"
            intervals[key] = exact_interval(counts[key], len(factors))
    intervals["cllr"] = (
        study.intervals.get("cllr", (nan, nan)) if study is not None else _cllr_interval(cases)
    )
    return ValidationFacts(
        condition=like.told,
        dropped=like.dropped,
        same_author=sizes["same"],
        different_authors=sizes["different"],
        **counts,
        cllr=cllr(cases.log_bayes_factor.astype(np.float64), cases.same_author),
        intervals={name: ends for name, ends in intervals.items() if not isnan(ends[0])},
        study=study,
    )


def _cllr_interval(cases: Validation) -> tuple[float, float]:
    """The 95% interval over cases: whose authors they are is not known here."""
    factors = cases.log_bayes_factor.astype(np.float64)
    order = np.argsort(factors, kind="stable")
    drawn = [
        cllr(factors[chosen], same)
        if (same := cases.same_author[chosen]).any() and not same.all()
        else nan
        for chosen in resampled(order, None, _RESAMPLES, seed=0)
    ]
    return interval(drawn)
