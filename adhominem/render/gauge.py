"""The gauge: a log10 Bayes factor within the range a model can report under like conditions.

The gauge reaches from the lower to the upper bound, with the rungs of the verbal scale in between.
Faint shapes above them show the Bayes factors of like cases by one author and by different authors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import ceil, floor, inf, isfinite, log
from typing import NamedTuple

import numpy as np
from markupsafe import Markup

from adhominem.arrays import FloatArray
from adhominem.model.calibration import LikeCases
from adhominem.render.summary import signed
from adhominem.render.templates import markup
from adhominem.score.decision import NONE, VerbalScale

_LOG_10 = log(10)
_MARGIN = 0.05  # of the gauge at either end, beyond the bounds
_LEVELS = 6  # of colour
_HEIGHT = 44.0  # of the shapes
_PLACES = 97  # at which a shape's height is worked out
_SMOOTHING = 0.03  # of the gauge: the standard deviation that every case is spread by
_NARROW = 360  # pixels of a narrow gauge, by which it is decided what fits
_A_LETTER = 6.2  # pixels
_NEAREST_TICKS = 0.085  # of the gauge
_WITHOUT_BOUNDS = 3.0  # decades on either side, at least


class Band(NamedTuple):
    """A rung of the verbal scale within the bounds; positions are percentages of the gauge."""

    side: str  # same or diff
    level: int  # of its colour
    begin: float
    width: float
    label: str  # empty where it does not fit


class Among(NamedTuple):
    """The position of a number among those of like cases of known authors."""

    cases: int
    same_share: float  # of the same-author cases: as great, or as small, as the number
    different_share: float
    is_for_same: bool  # whether the shares are of those as great


def gauge(
    log10: float, lower: float | None, upper: float | None, like: LikeCases | None = None
) -> Markup:
    """The SVG of a number between its bounds, with the like cases if there are any.

    It has neither ids nor styles nor scripts; its looks are defined in `gauge.css`.
    """
    low, high = _ends(log10, lower, upper)
    margin = _MARGIN * (high - low)
    left, right = low - margin, high + margin

    def place(value: float) -> float:
        return round(100 * (min(max(value, left), right) - left) / (right - left), 2)

    shapes: list[tuple[str, str]] = []
    if like is not None:
        values = like.cases.log_bayes_factor.astype(np.float64) / _LOG_10  # (cases,)
        of_class = [values[like.cases.same_author], values[~like.cases.same_author]]
        heights = [_density(values, left, right) for values in of_class]
        top = max(float(height.max()) for height in heights)
        shapes = [
            (side, _area(height / top))
            for side, height in (("diff", heights[1]), ("same", heights[0]))
        ]
    at = place(log10 if isfinite(log10) else 0.0)
    return markup(
        "gauge.svg",
        number=signed(log10),
        low=signed(low),
        high=signed(high),
        bounds=(place(low), place(high)),
        zero=place(0),
        bands=list(_bands(low, high, place)),
        ticks=[(place(value), name) for value, name in _ticks(low, high)],
        shapes=shapes,
        height=_HEIGHT,
        place=at,
        anchor="start" if at < 15 else "end" if at > 85 else "middle",
        among=None if like is None else among(log10, like),
        share=_share_in_words,
    )


def among(log10: float, like: LikeCases) -> Among:
    """How many like cases of either class reach a log10 Bayes factor, on its side of 0."""
    values, same = like.cases.log_bayes_factor, like.cases.same_author
    result = np.float32(log10 * _LOG_10)  # as exact as those: one at a bound equals it
    reach = values >= result if log10 > 0 else values <= result
    return Among(len(values), float(reach[same].mean()), float(reach[~same].mean()), log10 > 0)


def _share_in_words(share: float) -> str:
    """A share in words; it is called none only if it is exactly 0."""
    if share == 0:
        return "none"
    return "fewer than 1%" if share < 0.01 else f"{share:.0%}"


def _ends(log10: float, lower: float | None, upper: float | None) -> tuple[float, float]:
    """The bounds of the model or, without bounds, a few decades; always including the number."""
    ends = [value for value in (lower, upper) if value is not None and isfinite(value)]
    value = log10 if isfinite(log10) else 0.0
    if len(ends) < 2 or ends[0] >= ends[1]:
        ends = [-_WITHOUT_BOUNDS, _WITHOUT_BOUNDS]
    return min(ends[0], value, 0.0), max(ends[1], value, 0.0)


def _bands(low: float, high: float, place: Callable[[float], float]) -> Iterator[Band]:
    scale = VerbalScale()
    ends = pairwise([*(start for start, _ in scale.rungs), inf])
    first = 0 if scale.rungs[0][1] == NONE else 1  # the colour of neither side, or the palest
    for level, ((begin, end), (_, words)) in enumerate(
        zip(ends, scale.rungs, strict=True), start=first
    ):
        label = "" if level == 0 else words.removesuffix(" support")
        for side, sign in (("diff", -1), ("same", 1)):
            inner, outer = sorted((sign * begin, sign * end))
            inner, outer = max(inner, low), min(outer, high)
            if inner < outer:
                at, width = place(inner), round(place(outer) - place(inner), 2)
                fits = len(label) * _A_LETTER < width / 100 * _NARROW
                yield Band(side, min(level, _LEVELS), at, width, label if fits else "")


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """The bounds and 0, and whole decades where there is room."""
    kept: list[tuple[float, str]] = [(0.0, "0")]
    span = (high - low) * (1 + 2 * _MARGIN)
    step = max(1, ceil(span / 10))
    decades = [float(value) for value in range(ceil(low), floor(high) + 1) if value % step == 0]
    for value, digits in [(low, 2), (high, 2), *((value, 0) for value in decades)]:
        if all(abs(value - tick) >= _NEAREST_TICKS * span for tick, _ in kept):
            kept.append((value, signed(value, digits)))
    return sorted(kept)


def _density(values: FloatArray, left: float, right: float) -> FloatArray:
    """(places,): the density of the values around each place, as shares of all values."""
    at = (np.clip(values, left, right) - left) / (right - left)
    counts, _ = np.histogram(at, bins=_PLACES, range=(0.0, 1.0))
    reach = np.arange(_PLACES) / _PLACES
    kernel = np.exp(-0.5 * ((reach[:, None] - reach) / _SMOOTHING) ** 2)  # (places, places)
    kernel /= kernel.sum(axis=1, keepdims=True)
    return np.asarray(kernel @ (counts / max(len(values), 1)))


def _area(heights: FloatArray) -> str:
    """The path of a filled curve on a base line, with heights (places,) up to 1."""
    places = (np.arange(len(heights)) + 0.5) / len(heights) * 100
    points = [
        f"{x:.1f} {_HEIGHT * (1 - height):.1f}" for x, height in zip(places, heights, strict=True)
    ]
    return f"M0 {_HEIGHT:g}L{'L'.join(points)}L100 {_HEIGHT:g}Z"
