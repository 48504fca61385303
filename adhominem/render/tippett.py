"""The Tippett plot: the shares of cases of known authors with at least a given Bayes factor.

It is an SVG of a few simple elements, in points, so that a page and a PDF show the same.
"""

from __future__ import annotations

from math import ceil, floor, log
from typing import Any

import numpy as np
from markupsafe import Markup

from adhominem.arrays import AnyFloats, BoolArray, FloatArray
from adhominem.evaluation.figure_style import DIFFERENT, GREY, PALE, SAME
from adhominem.render.summary import signed
from adhominem.render.templates import markup

_LOG_10 = log(10)
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 468.0, 44.0, 228.0  # of the panel
_MOST_STEPS = 600  # more would not be visible
_LEFT_OUT = 0.005  # of the Bayes factors, at either end
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)  # between two ticks
_MOST_TICKS = 9


def tippett(
    log_bayes_factor: AnyFloats,
    same_author: BoolArray,
    result: float | None = None,
    interval: tuple[float, float] | None = None,
    *,
    things: str = "pairs",
) -> Markup:
    """The share of each class with at least a given Bayes factor, and a case's result.

    The log Bayes factors (pairs,) are in nats, and infinite ones are drawn at the rim; the
    `result`, if there is one, and its interval are in base 10. `things` are what was compared:
    pairs or cases. The SVG has no ids, no style and no script, and may appear on a page more than
    once.
    """
    values = log_bayes_factor.astype(np.float64) / _LOG_10
    of_case = () if result is None else (result, *(interval or ()))
    low, high = _range(values, of_case)

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
            "share": None if result is None else _share(values[chosen], _as_exact(result)),
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
        band=PALE,
        zero=x(0),
        case=None if result is None else x(result),
        interval=ends,
        ticks=[(x(tick), name) for tick, name in _ticks(low, high)],
        same=of_class(same_author, SAME),
        different=of_class(~same_author, DIFFERENT),
        result=None if result is None else signed(result),
        things=things,
    )


def _as_exact(log10: float) -> float:
    """A result rounded like those of the pairs, so that one at a bound equals them."""
    return float(np.float32(log10 * _LOG_10)) / _LOG_10


def _range(values: FloatArray, of_case: tuple[float, ...]) -> tuple[float, float]:
    """The range of all but the most extreme Bayes factors, with the case's own and 1/10 to 10."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [_LEFT_OUT, 1 - _LEFT_OUT]).tolist() if len(finite) else (0, 0)
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
    if not len(values):
        return []
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
