"""Where a result falls on the Tippett plot of a model's validation.

The plot is an SVG of a few simple elements, in points, so that a page and a PDF show the same.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from adhominem.evaluation.plot_style import DIFFERENT, GREY, SAME
from adhominem.models.calibration import Validation
from adhominem.render.summary import signed
from adhominem.render.templates import markup
from adhominem.report.evidence import LOG_10

FloatArray = npt.NDArray[np.float64]

_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 468.0, 44.0, 228.0  # of the panel
_BAND = "#ececec"
_MOST_STEPS = 600  # more could not be seen
_LEFT_OUT = 0.005  # of the Bayes factors, at either end
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)  # between two ticks
_MOST_TICKS = 9


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

    def of_class(chosen: npt.NDArray[np.bool_], colour: str) -> dict[str, Any]:
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
