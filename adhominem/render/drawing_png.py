"""A drawing as PNG, for programs without SVG; it is made of the elements of `drawing.html`."""

from __future__ import annotations

import io
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

            def number(name: str, item: Element = item) -> float:
                return float(item.get(name, 0))

            match item.tag:
                case "polyline":
                    points = [point.split(",") for point in item.get("points", "").split()]
                    (line,) = axes.plot(
                        [float(x) for x, _ in points],
                        [float(y) for _, y in points],
                        color=item.attrib["stroke"],
                        linewidth=number("stroke-width"),
                        zorder=order,
                        solid_capstyle="butt",
                    )
                    if dashes := item.get("stroke-dasharray", ""):
                        parts = [float(part) / number("stroke-width") for part in dashes.split()]
                        line.set_dashes(parts)
                case "rect":
                    corner, size = (number("x"), number("y")), (number("width"), number("height"))
                    axes.add_patch(
                        Rectangle(corner, *size, color=item.attrib["fill"], lw=0, zorder=order)
                    )
                case "circle":
                    axes.add_patch(
                        Circle(
                            (number("cx"), number("cy")),
                            number("r"),
                            facecolor=item.attrib["fill"],
                            edgecolor=item.attrib["stroke"],
                            lw=1,
                            zorder=order,
                        )
                    )
                case _:
                    axes.text(
                        number("x"),
                        number("y"),
                        harmless(item.text or "").replace("$", r"\$"),
                        ha=_ANCHORS[item.get("text-anchor", "start")],
                        fontsize=number("font-size"),
                        fontweight="bold" if item.get("font-weight") else "normal",
                        color=item.attrib["fill"],
                        zorder=order,
                    )
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=_DOTS, metadata={"Software": None})
    return data.getvalue(), wide, high
