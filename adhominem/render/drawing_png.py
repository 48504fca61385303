"""A drawing as PNG, for programs without SVG; it is made of the elements of `drawing.html`."""

from __future__ import annotations

import io
from typing import Any
from xml.etree.ElementTree import Element

from adhominem.evaluation.figure_style import house_style
from adhominem.harmless import harmless

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
