"""What the Bayes factors of each class are: the Tippett plot, and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.plot_style import (
    DIFFERENT,
    GREY,
    SAME,
    UNIT,
    Canvas,
    Range,
    SystemStyle,
    figure_of_systems,
    log10_bayes_factor,
    mark_at_rim,
    range_of,
    shorten,
    system_styles,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FloatArray = npt.NDArray[np.float64]

X_LABEL = "log₁₀ Bayes factor   (← speaks for two authors | for one author →)"
_MOST_STEPS = 800  # more could not be seen
_MOST_BINS, _FEWEST_BINS = 40, 9


@figure_of_systems
def draw_tippett(systems: Sequence[Answers]) -> Figure:
    """The share of each class whose Bayes factor is greater than x.

    Several systems get a panel a class: in one, it could not be seen which two curves belong
    together.
    """
    title = "Tippett plot: how often the evidence is how strong"
    shown, frame = system_styles(systems), range_of(systems)
    if len(systems) == 1:
        pairs = systems[0].same_author
        one = SystemStyle(f"same-author pairs ({pairs.sum():,})", SAME, "-")
        two = SystemStyle(f"different-author pairs ({(~pairs).sum():,})", DIFFERENT, (0, (6, 2)))
        canvas = Canvas(title, 3.3, [one.name, two.name])
        (axes,) = canvas.axes()
        panels = [axes]
        axes.set_title(shown[0].name, loc="left", parse_math=False)
        handles = [
            _draw_shares(axes, systems[0], True, frame, one),
            _draw_shares(axes, systems[0], False, frame, two),
        ]
    else:
        canvas = Canvas(title, 5.6, [style.name for style in shown])
        panels = canvas.axes(2, share_x=True)
        for axes, same in zip(panels, (True, False), strict=True):
            axes.set_title("same-author pairs" if same else "different-author pairs", loc="left")
            handles = [
                _draw_shares(axes, answers, same, frame, style)
                for answers, style in zip(systems, shown, strict=True)
            ]
    for axes in panels:
        axes.axvline(0, color=GREY, linewidth=0.8)
        axes.set(xlim=(frame.low, frame.high), ylim=UNIT)
        axes.set_ylabel("share of pairs with\na larger Bayes factor")
    panels[-1].set_xlabel(X_LABEL)
    canvas.note(frame.note)
    return canvas.finish(handles)


def _draw_shares(
    axes: Axes, answers: Answers, same: bool, frame: Range, style: SystemStyle
) -> Line2D:
    values = np.sort(log10_bayes_factor(answers)[answers.same_author == same])
    inside = np.unique(values[(values > frame.low) & (values < frame.high)])
    if len(inside) > _MOST_STEPS:
        inside = np.union1d(np.linspace(frame.low, frame.high, _MOST_STEPS), [0.0])  # exact at 0
    steps = np.concatenate([[frame.low], inside, [frame.high]])
    above = len(values) - np.searchsorted(values, steps, side="right")
    shares = above / len(values) if len(values) else np.full(len(steps), np.nan)
    (line,) = axes.step(steps, shares, where="post", **style.line)
    for infinity, at, marker in ((-np.inf, 0, "<"), (np.inf, -1, ">")):
        if (values == infinity).any():
            mark_at_rim(axes, steps[at], shares[at], marker, style)
    return line


@figure_of_systems
def draw_histograms(systems: Sequence[Answers]) -> Figure:
    """The Bayes factors of each class; a panel a system."""
    from matplotlib.patches import Patch

    columns = 1 if len(systems) == 1 else 2
    rows = ceil(len(systems) / columns)
    frame = range_of(systems)
    canvas = Canvas(
        "Bayes factors of same-author and different-author pairs",
        3.2 if rows == 1 else 0.5 + 1.25 * rows,
        ["same-author pairs", "different-author pairs"],
        key=[frame.note] if frame.note else [],
    )
    panels = canvas.axes(rows, columns, share_x=True)
    for axes in panels[len(systems) :]:
        axes.remove()
    for at, (axes, answers) in enumerate(zip(panels, systems, strict=False)):
        _draw_classes(axes, answers, frame)
        axes.tick_params(labelbottom=at + columns >= len(systems))
        axes.set_title(shorten(answers.name, 36), loc="left", fontsize=8, parse_math=False)
    canvas.label(X_LABEL, "share of the class (%)")
    handles = [
        Patch(facecolor=f"{SAME}4d", edgecolor=SAME),
        Patch(facecolor=f"{DIFFERENT}4d", edgecolor=DIFFERENT, linestyle="--"),
    ]
    if frame.note:
        handles.append(Patch(facecolor="white", edgecolor=GREY, hatch="/////"))
    return canvas.finish(handles)


def _draw_classes(axes: Axes, answers: Answers, frame: Range) -> None:
    # The rule of Rice; the middle bin has 1, evidence that says next to nothing, in its middle.
    bins = np.clip(2 * np.cbrt(len(answers)), _FEWEST_BINS, _MOST_BINS)
    width = (frame.high - frame.low) / bins
    first, last = np.floor(frame.low / width), np.ceil(frame.high / width)
    edges = (np.arange(first, last + 2) - 0.5) * width
    for same, color, line in ((True, SAME, "-"), (False, DIFFERENT, "--")):
        values = log10_bayes_factor(answers)[answers.same_author == same]
        percent = 100 / max(len(values), 1)
        counts, _ = np.histogram(values[frame.holds(values)], edges)
        axes.stairs(counts * percent, edges, fill=True, color=color, alpha=0.3)
        axes.stairs(counts * percent, edges, color=color, linestyle=line, linewidth=1)
        # Set off from the rest, and the classes side by side: they stand for no place on the axis.
        thin = 0.02 * (frame.high - frame.low)
        axes.bar(
            np.array([edges[0] - 2 * thin, edges[-1] + 2 * thin])
            + (-thin / 2 if same else thin / 2),
            np.array([(values < frame.low).sum(), (values > frame.high).sum()]) * percent,
            thin,
            color=f"{color}4d",
            edgecolor=color,
            hatch="/////" if same else "\\\\\\\\\\",
            linestyle=line,
        )
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlim(edges[0] - 4 * thin, edges[-1] + 4 * thin)
    axes.set_ylim(bottom=0)
