"""Whether a system means what it says: reliability, cross-entropy over priors, and PAV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.likelihood_ratio import empirical_cross_entropy, reliability
from adhominem.evaluation.plot_style import (
    DIFFERENT,
    GREY,
    LOG_10,
    SAME,
    UNIT,
    Canvas,
    SystemStyle,
    figure_of_systems,
    in_one_class,
    mark_at_rim,
    nothing_to_draw,
    range_of,
    system_styles,
)
from adhominem.scoring.fitting import pool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FloatArray = npt.NDArray[np.float64]

_PRIORS = np.linspace(-2.5, 2.5, 101)  # log10 odds
_BELOW_ONE = 0.6  # where a logarithmic axis of numbers begins, so that a 1 is seen
_HIGHEST_COST = 2.0  # bits that the axis shows at most


@figure_of_systems
def draw_reliability(systems: Sequence[Answers]) -> Figure:
    """The share of same-author pairs among those with about the same value, and their number."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    shown = system_styles(systems)
    canvas = Canvas(
        "Reliability: what is said, and what is so",
        5.2,
        [style.name for style in shown],
        key=["perfectly calibrated"],
    )
    above, below = canvas.axes(2, share_x=True, heights=[3, 1])
    perfect = Line2D([0, 1], [0, 1], color=GREY, linewidth=0.8)
    above.add_line(perfect)
    handles = []
    for style, answers in zip(shown, systems, strict=True):
        means, shares, counts = reliability(answers.value, answers.same_author)
        marked = {**style.line, **style.marks, "marker": "o", "markersize": 4.5}
        handles += above.plot(means, shares, **marked, zorder=3)
        if len(systems) == 1:
            below.vlines(means, _BELOW_ONE, counts, color=style.color, linewidth=6)
        else:
            below.plot(means, counts, **marked)
    above.set(xlim=UNIT, ylim=UNIT)
    above.set_ylabel("share of same-author pairs in the bin")
    below.set_yscale("log")
    below.set_ylim(_BELOW_ONE, 2 * max(10, *(len(answers) for answers in systems)))
    below.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    below.yaxis.set_minor_formatter(NullFormatter())
    below.set_ylabel("pairs in the bin\n(log scale)")
    below.set_xlabel("probability of one author as given (mean of each of ten bins)")
    return canvas.finish([*handles, perfect])


@figure_of_systems
def draw_cross_entropy(systems: Sequence[Answers]) -> Figure:
    """The cost of the Bayes factors at each prior, beside that of saying nothing.

    Several systems get a panel for what they said and one for what calibration would make of it.
    """
    title = "Empirical cross-entropy: what the evidence is worth"
    if in_one_class(systems):
        return nothing_to_draw(title)
    neutral = "no evidence (Bayes factor 1)"
    costs = [_costs(answers, answers.log_bayes_factor) for answers in systems]
    best = [_costs(answers, _after_pav(answers)) for answers in systems]
    finite = [cost[np.isfinite(cost)].max(initial=1) for cost in costs]
    top = 1.05 * min(max(finite), _HIGHEST_COST)
    if len(systems) == 1:
        given = SystemStyle("as given", SAME, "-")
        calibrated = SystemStyle("after PAV calibration", DIFFERENT, (0, (6, 2)))
        canvas = Canvas(title, 3.5, [given.name, calibrated.name], key=[neutral])
        panels = canvas.axes()
        panels[0].set_title(system_styles(systems)[0].name, loc="left", parse_math=False)
        handles = _draw_costs(panels[0], [*costs, *best], [given, calibrated], top)
    else:
        shown = system_styles(systems)
        canvas = Canvas(title, 5.8, [style.name for style in shown], key=[neutral])
        panels = canvas.axes(2, share_x=True)
        handles = []
        for axes, each, text in zip(
            panels, (costs, best), ("as given", "after PAV calibration"), strict=True
        ):
            drawn = _draw_costs(axes, each, shown, top)
            handles = handles or drawn  # those of what was given: they have the triangles
            axes.set_title(text, loc="left")
    for axes in panels:
        saying_nothing = empirical_cross_entropy(
            np.zeros(2), np.array([True, False]), _PRIORS * LOG_10
        )
        (line,) = axes.plot(_PRIORS, saying_nothing, color=GREY, linewidth=0.8)
        axes.set(xlim=(_PRIORS[0], _PRIORS[-1]), ylim=(UNIT[0] * top, top))
        axes.set_ylabel("empirical cross-entropy\n(bits a pair)")
    panels[-1].set_xlabel("prior log₁₀ odds of one author   (0: as probable as two)")
    if any(np.isinf(cost).any() for cost in costs):
        canvas.note(
            "▲ at the rim: infinite at every prior, since a value of exactly 0 or 1 was wrong"
        )
    return canvas.finish([*handles, line])


def _costs(answers: Answers, log_bayes_factor: FloatArray) -> FloatArray:
    return empirical_cross_entropy(log_bayes_factor, answers.same_author, _PRIORS * LOG_10)


def _after_pav(answers: Answers) -> FloatArray:
    """(pairs,): the log Bayes factors that the PAV algorithm would give."""
    blocks = pool(answers.log_bayes_factor, answers.same_author)
    at = np.searchsorted(blocks.lowest, answers.log_bayes_factor, side="right") - 1
    return blocks.log_bayes_factor[at]


def _draw_costs(
    axes: Axes, costs: Sequence[FloatArray], shown: Sequence[SystemStyle], top: float
) -> list[Line2D]:
    """The curves, and a handle for the legend of each."""
    from matplotlib.lines import Line2D

    infinite = [style for cost, style in zip(costs, shown, strict=True) if np.isinf(cost).any()]
    for cost, style in zip(costs, shown, strict=True):
        if style not in infinite:
            axes.plot(_PRIORS, cost, **style.line)
    # Side by side, or they would hide each other; each three times.
    places = np.linspace(_PRIORS[0], _PRIORS[-1], 3 * len(infinite) + 2)[1:-1]
    for at, style in enumerate(infinite):
        mark_at_rim(axes, places[at :: len(infinite)], np.full(3, top), "^", style)
    return [
        Line2D(
            [],
            [],
            **style.line,
            **style.marks,
            marker="^" if style in infinite else "",
        )
        for style in shown
    ]


@figure_of_systems
def draw_pav(systems: Sequence[Answers]) -> Figure:
    """What the Bayes factors were, and what they should have been on these very pairs."""
    title = "PAV: Bayes factors as given, and as they should have been"
    if in_one_class(systems):
        return nothing_to_draw(title)
    shown, frame = system_styles(systems), range_of(systems)
    canvas = Canvas(title, 4.0, [style.name for style in shown], key=["perfectly calibrated"])
    (axes,) = canvas.axes()
    pooled = [pool(answers.log_bayes_factor, answers.same_author) for answers in systems]
    right = np.concatenate([blocks.log_bayes_factor for blocks in pooled]) / LOG_10
    finite = right[np.isfinite(right)]
    low, high = finite.min(initial=-1) - 0.4, finite.max(initial=1) + 0.4
    perfect = axes.axline((0, 0), slope=1, color=GREY, linewidth=0.8)
    handles = []
    for style, blocks in zip(shown, pooled, strict=True):
        # A block is a level line from its lowest to its highest score.
        given = np.column_stack([blocks.lowest, blocks.highest]).ravel() / LOG_10
        after = np.repeat(blocks.log_bayes_factor, 2) / LOG_10
        x, y = frame.clip(given), np.clip(after, low, high)
        handles += axes.plot(x, y, **style.line, clip_on=False)
        for marker, where in (
            ("<", given == -np.inf),
            (">", given == np.inf),
            ("v", after == -np.inf),
            ("^", after == np.inf),
        ):
            mark_at_rim(axes, x[where], y[where], marker, style)
    axes.set(xlim=(frame.low, frame.high), ylim=(low, high))
    axes.set_xlabel("log₁₀ Bayes factor as given")
    axes.set_ylabel("log₁₀ Bayes factor after PAV")
    ends = "▲ and ▼: infinite after PAV, since beyond there all pairs are of one class"
    canvas.note("\n".join(filter(None, [ends if np.isinf(right).any() else "", frame.note])))
    return canvas.finish([*handles, perfect])
