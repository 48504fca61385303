"""Drawings of a Bayes factor among those of known cases: the gauge, and the Tippett plot.

The gauge reaches from the lower to the upper bound under like conditions, with the rungs of the
verbal scale in between. Faint shapes above them show the Bayes factors of like cases by one author
and by different authors. The Tippett plot shows the shares of cases with at least a given Bayes
factor: an SVG of a few simple elements, in points, so that a page and a PDF show the same, or a PNG
for programs without SVG.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import ceil, floor, inf, isfinite
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from markupsafe import Markup

from adhominem.arrays import AnyFloats, BoolArray, FloatArray
from adhominem.evaluation.figure_style import DIFFERENT, GREY, PALE, SAME, house_style
from adhominem.harmless import harmless
from adhominem.model.calibration import LikeCases
from adhominem.render.summary import signed
from adhominem.render.templates import markup
from adhominem.score.decision import LOG_10, NONE, VerbalScale

_POINTS = 72  # to an inch
_DOTS = 300
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def drawing_png(svg: Element) -> tuple[bytes, float, float]:
    """The PNG, with its width and height in points, each a unit of the drawing."""
    wide, high = map(float, svg.get("viewbox", svg.get("viewBox", "")).split()[2:])
    with house_style():
        from matplotlib.figure import Figure
        from matplotlib.patches import Circle, Rectangle

        figure = Figure(figsize=(wide / _POINTS, high / _POINTS), dpi=_DOTS)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, wide), ylim=(high, 0))
        axes.axis("off")
        for order, item in enumerate(svg):
            given = item.attrib
            style: dict[str, Any] = {"zorder": order}
            match item.tag:
                case "polyline":
                    points = [point.split(",") for point in given["points"].split()]
                    across, down = ([float(point[at]) for point in points] for at in (0, 1))
                    width = float(given["stroke-width"])
                    style |= {"color": given["stroke"], "solid_capstyle": "butt"}
                    (line,) = axes.plot(across, down, linewidth=width, **style)
                    if dashes := given.get("stroke-dasharray"):
                        line.set_dashes([float(part) / width for part in dashes.split()])
                case "rect":
                    corner = float(given["x"]), float(given["y"])
                    size = float(given["width"]), float(given["height"])
                    axes.add_patch(Rectangle(corner, *size, color=given["fill"], lw=0, **style))
                case "circle":
                    centre = float(given["cx"]), float(given["cy"])
                    style |= {"facecolor": given["fill"], "edgecolor": given["stroke"], "lw": 1}
                    axes.add_patch(Circle(centre, float(given["r"]), **style))
                case _:
                    axes.text(
                        float(given["x"]),
                        float(given["y"]),
                        harmless(item.text or "").replace("$", r"\$"),
                        ha=_ANCHORS[given.get("text-anchor", "start")],
                        fontsize=float(given["font-size"]),
                        fontweight="bold" if "font-weight" in given else "normal",
                        color=given["fill"],
                        **style,
                    )
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=_DOTS, metadata={"Software": None})
    return data.getvalue(), wide, high


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
    values = log_bayes_factor.astype(np.float64) / LOG_10
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
        ticks=[(x(tick), name) for tick, name in _even_ticks(low, high)],
        same=of_class(same_author, SAME),
        different=of_class(~same_author, DIFFERENT),
        result=None if result is None else signed(result),
        things=things,
    )


def _as_exact(log10: float) -> float:
    """A result rounded like those of the pairs, so that one at a bound equals them."""
    return float(np.float32(log10 * LOG_10)) / LOG_10


def _range(values: FloatArray, of_case: tuple[float, ...]) -> tuple[float, float]:
    """The range of all but the most extreme Bayes factors, with the case's own and 1/10 to 10."""
    finite = values[np.isfinite(values)]
    low, high = np.quantile(finite, [_LEFT_OUT, 1 - _LEFT_OUT]).tolist() if len(finite) else (0, 0)
    low, high = min(low, -1.0, *of_case), max(high, 1.0, *of_case)
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _even_ticks(low: float, high: float) -> list[tuple[float, str]]:
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
        values = like.cases.log_bayes_factor.astype(np.float64) / LOG_10  # (cases,)
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
    result = np.float32(log10 * LOG_10)  # as exact as those: one at a bound equals it
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
