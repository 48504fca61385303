"""What a result is held against: the model's calibration, and its pairs of known authors.

The Tippett plot shows where a result falls among those pairs. It is an SVG of a few simple
elements, in points, so that a page and a PDF show the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import ModelError, OptionError
from adhominem.evaluation.likelihood_ratio import cllr
from adhominem.evaluation.plot_style import DIFFERENT, GREY, SAME
from adhominem.models.calibration import CalibrationEvidence, Validation, read_evidence
from adhominem.models.files import ModelFiles
from adhominem.models.folder import model_folder, model_hash
from adhominem.render.summary import signed
from adhominem.render.templates import markup
from adhominem.scoring.scale import Calibration
from adhominem.verify.verification import Likeness
from adhominem.verify.verifier import Verifier

LOG_10 = log(10)
_MOSTLY = 0.5  # share of a genre from which on the texts count as of this genre
_ANY_GENRE = "*"  # the texts are like the training texts, but of no one genre
# Of the Tippett plot.
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 468.0, 44.0, 228.0  # of the panel
_BAND = "#ececec"
_MOST_STEPS = 600  # more could not be seen
_LEFT_OUT = 0.005  # of the Bayes factors, at either end
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)  # between two ticks
_MOST_TICKS = 9


@dataclass(frozen=True, kw_only=True)
class CalibrationFacts(CalibrationEvidence):
    """What makes the model's Bayes factors honest, and how far they reach.

    The evidence that is None is that of which the model's files are not at hand.
    """

    method: str
    pairs: int
    lower_bound: float  # of the log10 Bayes factor
    upper_bound: float
    at_bound: bool  # whether a bound decided what is reported


@dataclass(frozen=True, kw_only=True)
class ValidationFacts:
    """How the model did on pairs of known authors, under conditions like those of the case.

    Beside the number of each class: how many of its Bayes factors are at least, and at most, as
    great as the result.
    """

    condition: str
    same_author: int
    same_at_least: int
    same_at_most: int
    different_authors: int
    different_at_least: int
    different_at_most: int
    cllr: float


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
        raise OptionError(f"{files.folder} holds another model than that which compares the texts")
    return files if fits else None


def calibration_facts(
    calibration: Calibration | None, files: ModelFiles | None, *, population: bool, at_bound: bool
) -> CalibrationFacts | None:
    """Those of a calibration; what it was fitted to is known only where its files tell."""
    if calibration is None:
        return None
    told = CalibrationEvidence() if files is None else read_evidence(files, population=population)
    return CalibrationFacts(
        **vars(told),
        method=calibration.method,
        pairs=calibration.pairs,
        lower_bound=calibration.lower_bound / LOG_10,
        upper_bound=calibration.upper_bound / LOG_10,
        at_bound=at_bound,
    )


def like_pairs(
    validation: Validation | None, words: int, likeness: Likeness | None, *, population: bool
) -> tuple[Validation, str] | None:
    """The pairs of known authors under like conditions, and these in words; None without any."""
    if validation is None:
        return None
    genre = _genre(likeness)
    pairs, condition = validation.like(words, genre, population)
    if likeness is not None and genre in likeness.described:
        condition = condition.replace(f"“{genre}”", f"“{likeness.name(genre)}”")
    same = int(pairs.same_author.sum())
    return (pairs, condition) if 0 < same < len(pairs) else None


def _genre(likeness: Likeness | None) -> str:
    """The genre that the model takes the texts for, as `Validation.like` has it."""
    if likeness is None or not likeness.genres:  # it knows no genres: all pairs are alike to it
        return _ANY_GENRE
    if likeness.atypicality > 1:
        return ""
    genre, share = max(likeness.genres.items(), key=lambda item: item[1])
    return genre if share >= _MOSTLY else _ANY_GENRE


def validation_facts(pairs: Validation, condition: str, log_bayes_factor: float) -> ValidationFacts:
    """Where a log Bayes factor, in nats, falls among those of pairs of known authors."""
    same = pairs.log_bayes_factor[pairs.same_author]
    different = pairs.log_bayes_factor[~pairs.same_author]
    result = np.float32(log_bayes_factor)  # as exact as the others: one at a bound equals it
    return ValidationFacts(
        condition=condition,
        same_author=len(same),
        same_at_least=int((same >= result).sum()),
        same_at_most=int((same <= result).sum()),
        different_authors=len(different),
        different_at_least=int((different >= result).sum()),
        different_at_most=int((different <= result).sum()),
        cllr=cllr(pairs.log_bayes_factor.astype(np.float64), pairs.same_author),
    )


def tippett(
    pairs: Validation, log10_bayes_factor: float, interval: tuple[float, float] | None = None
) -> Markup:
    """The share of each class with at least some Bayes factor, and where the case's result is.

    The SVG has no ids, no style and no script, and may stand on a page more than once.
    """
    values = pairs.log_bayes_factor.astype(np.float64) / LOG_10
    low, high = _range(values, (log10_bayes_factor, *(interval or ())))
    # As exact as those of the pairs: one at a bound equals it.
    result = float(np.float32(log10_bayes_factor * LOG_10)) / LOG_10

    def x(value: float) -> float:
        return _LEFT + (min(max(value, low), high) - low) / (high - low) * (_RIGHT - _LEFT)

    def y(share: float) -> float:
        return _BOTTOM - share * (_BOTTOM - _TOP)

    def of_class(chosen: BoolArray, colour: str) -> dict[str, Any]:
        corners = _steps(values[chosen], low, high)
        return {
            "pairs": int(chosen.sum()),
            "colour": colour,
            "points": [(x(value), y(share)) for value, share in corners],
            "share": _share(values[chosen], result),
        }

    ends = None
    if interval is not None:
        left, right = x(interval[0]), x(interval[1])
        ends = (left, left + max(right - left, 1.0))
    return markup(
        "tippett.svg",
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=_BOTTOM,
        y=y,
        grey=GREY,
        band=_BAND,
        zero=x(0),
        case=x(log10_bayes_factor),
        interval=ends,
        ticks=[(x(tick), name) for tick, name in _ticks(low, high)],
        same=of_class(pairs.same_author, SAME),
        different=of_class(~pairs.same_author, DIFFERENT),
        result=signed(log10_bayes_factor),
    )


def _range(values: FloatArray, of_case: tuple[float, ...]) -> tuple[float, float]:
    """All but the most extreme Bayes factors; the case's own, and 1/10 to 10, are always in it."""
    low, high = np.quantile(values, [_LEFT_OUT, 1 - _LEFT_OUT]).tolist()
    low, high = min(low, -1.0, *of_case), max(high, 1.0, *of_case)
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    step = next((size for size in _STEPS if (high - low) / size <= _MOST_TICKS), high - low)
    places = range(ceil(low / step), floor(high / step) + 1)
    digits = 0 if step >= 1 else 1
    return [(place * step, signed(place * step, digits)) for place in places]


def _share(values: FloatArray, at_least: float) -> float:
    return float((values >= at_least).mean())


def _steps(values: FloatArray, low: float, high: float) -> list[tuple[float, float]]:
    """The corners of a class's curve, from left to right: (log10 Bayes factor, share)."""
    ordered = np.sort(values)
    places = np.unique(ordered[(ordered > low) & (ordered < high)])
    if len(places) > _MOST_STEPS:
        places = np.linspace(low, high, _MOST_STEPS)[1:-1]
    corners = [(low, _share(ordered, low))]
    for place, above in zip(
        places.tolist(), len(ordered) - np.searchsorted(ordered, places, "right"), strict=True
    ):
        corners += [(place, corners[-1][1]), (place, int(above) / len(ordered))]
    return [*corners, (high, corners[-1][1])]
