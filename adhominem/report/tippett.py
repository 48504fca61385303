"""Where a result falls on the Tippett plot of a model's validation.

The plot is a list of strokes, boxes and labels, in points from the upper left corner, so that a
page and a PDF show the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from adhominem.evaluation.plot_style import DIFFERENT, GREY, SAME
from adhominem.models.validation import Validation
from adhominem.render.summary import signed
from adhominem.render.templates import markup
from adhominem.report.evidence import LOG_10

FloatArray = npt.NDArray[np.float64]

_WIDTH, _HEIGHT = 480.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 468.0, 44.0, 228.0  # of the panel
_INK, _PALE, _BAND = "#1a1a1a", "#dddddd", "#ececec"
_DASH = (6.0, 2.5)
_MOST_STEPS = 600  # more could not be seen
_LEFT_OUT = 0.005  # of the Bayes factors, at either end
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)  # between two ticks
_MOST_TICKS = 9


@dataclass(frozen=True)
class Stroke:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True)
class Box:
    """A filled box."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Dot:
    """A filled circle with a white rim."""

    x: float
    y: float
    colour: str
    radius: float = 3.4


@dataclass(frozen=True)
class Label:
    """A line of text; `y` is its base."""

    x: float
    y: float
    text: str
    anchor: str = "middle"  # start, middle or end
    size: float = 9.0
    colour: str = _INK
    bold: bool = False


@dataclass(frozen=True)
class Drawing:
    """A figure, and what it shows in words."""

    width: float
    height: float
    items: tuple[Stroke | Box | Dot | Label, ...]
    told: str


def tippett(
    pairs: Validation, log10_bayes_factor: float, interval: tuple[float, float] | None = None
) -> Drawing:
    """The share of each class with at least some Bayes factor, and where the case's result is."""
    values = pairs.log_bayes_factor.astype(np.float64) / LOG_10
    same, different = values[pairs.same_author], values[~pairs.same_author]
    low, high = _range(values, (log10_bayes_factor, *(interval or ())))
    # As exact as those of the pairs: one at a bound equals it.
    result = float(np.float32(log10_bayes_factor * LOG_10)) / LOG_10

    def x(value: float) -> float:
        return _LEFT + (min(max(value, low), high) - low) / (high - low) * (_RIGHT - _LEFT)

    def y(share: float) -> float:
        return _BOTTOM - share * (_BOTTOM - _TOP)

    items: list[Stroke | Box | Dot | Label] = []
    if interval is not None:
        left, right = x(interval[0]), x(interval[1])
        items.append(Box(left, _TOP, max(right - left, 1.0), _BOTTOM - _TOP, _BAND))
    for share in (0, 0.25, 0.5, 0.75, 1):
        if share:
            items.append(Stroke(((_LEFT, y(share)), (_RIGHT, y(share))), _PALE, 0.6))
        items.append(Label(_LEFT - 6, y(share) + 3, f"{share:.0%}", "end"))
    for tick, shown in _ticks(low, high):
        items.append(Stroke(((x(tick), _BOTTOM), (x(tick), _BOTTOM + 4)), _INK, 0.8))
        items.append(Label(x(tick), _BOTTOM + 15, shown))
    items.append(Stroke(((x(0), _TOP), (x(0), _BOTTOM)), GREY, 0.8, (2.0, 2.0)))
    items.append(Stroke(((_LEFT, _TOP), (_LEFT, _BOTTOM), (_RIGHT, _BOTTOM)), _INK, 0.8))
    at = x(log10_bayes_factor)
    items.append(Stroke(((at, _TOP - 6), (at, _BOTTOM)), _INK, 1.6))
    for of_class, colour, dash in ((different, DIFFERENT, _DASH), (same, SAME, ())):
        points = [(x(value), y(share)) for value, share in _steps(of_class, low, high)]
        items.append(Stroke(tuple(points), colour, 1.6, dash))
        items.append(Dot(at, y(_share(of_class, result)), colour))
    items += _words(at, log10_bayes_factor, len(same), len(different), interval is not None)
    told = (
        f"Tippett plot of {len(same):,} same-author and {len(different):,} different-author pairs; "
        f"the result of this case, a log10 Bayes factor of {signed(log10_bayes_factor)}, is marked"
    )
    return Drawing(_WIDTH, _HEIGHT, tuple(items), told)


def _words(
    at: float, result: float, same: int, different: int, has_interval: bool
) -> list[Stroke | Box | Dot | Label]:
    """The labels of the axes and of the result, and the legend."""
    anchor = "start" if at < _LEFT + 50 else "end" if at > _RIGHT - 50 else "middle"
    items: list[Stroke | Box | Dot | Label] = [
        Label(_LEFT - 34, 12, "Share of pairs with at least this Bayes factor", "start"),
        Label(at, _TOP - 10, f"this case: {signed(result)}", anchor, bold=True),
        Label(
            (_LEFT + _RIGHT) / 2,
            _BOTTOM + 31,
            "log10 Bayes factor (left of 0: for different authors, right of 0: for one author)",
        ),
    ]
    base, middle = _BOTTOM + 50, (_LEFT + _RIGHT) / 2 + 4
    for left, name, colour, dash in (
        (_LEFT, f"same-author pairs ({same:,})", SAME, ()),
        (middle, f"different-author pairs ({different:,})", DIFFERENT, _DASH),
    ):
        items.append(Stroke(((left, base - 3), (left + 30, base - 3)), colour, 1.6, dash))
        items.append(Label(left + 36, base, name, "start"))
    items.append(Stroke(((_LEFT + 15, base + 6), (_LEFT + 15, base + 18)), _INK, 1.6))
    items.append(Label(_LEFT + 36, base + 16, "result of this case", "start"))
    if has_interval:
        items.append(Box(middle, base + 7, 30, 11, _BAND))
        items.append(Label(middle + 36, base + 16, "its interval over passages", "start"))
    return items


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
    """The corners of the curve, from left to right."""
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


def as_svg(drawing: Drawing) -> Markup:
    """For a page: it has no ids, no style and no script, and may stand there more than once."""
    return markup("drawing.svg", drawing=drawing)
