"""Whether a system means what it says: reliability, cross-entropy over priors, and PAV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.likelihood_ratio import empirical_cross_entropy, pool, reliability
from adhominem.evaluation.plot_style import (
    DIFFERENT,
    GREY,
    SAME,
    Canvas,
    Look,
    figure_of_systems,
    in_one_class,
    looks,
    mark_at_rim,
    nothing_to_draw,
    range_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FloatArray = npt.NDArray[np.float64]

_PRIORS = np.linspace(-2.5, 2.5, 101)  # log10 odds
_HIGHEST_COST = 2.0  # bits that the axis shows at most


@figure_of_systems
def draw_reliability(systems: Sequence[Answers]) -> Figure:
    """The share of same-author pairs among those with about the same value, and their number."""
    from matplotlib.lines import Line2D

    shown = looks(systems)
    canvas = Canvas(
        "Reliability: what is said, and what is so",
        5.2,
        [look.name for look in shown],
        key=["perfectly calibrated"],
    )
    above, below = canvas.axes(2, share_x=True, heights=[3, 1])
    perfect = Line2D([0, 1], [0, 1], color=GREY, linewidth=0.8)
    above.add_line(perfect)
    handles = []
    for look, answers in zip(shown, systems, strict=True):
        means, shares, counts = reliability(answers.value, answers.same_author)
        style = {**look.line, "marker": "o", "markersize": 4, "clip_on": False}
        handles += above.plot(means, shares, **style, zorder=3)
        if len(systems) == 1:
            below.vlines(means, 0.5, counts, color=look.color, linewidth=6)
        else:
            below.plot(means, counts, **style)
    above.set(xlim=(0, 1), ylim=(0, 1))
    above.set_ylabel("share of same-author pairs in the bin")
    below.set_yscale("log")
    below.set_ylim(bottom=0.5)
    below.set_ylabel("pairs in the bin")
    below.set_xlabel("mean probability of one author that was said, in ten bins")
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
        given = Look("as given", SAME, "-")
        calibrated = Look("after PAV calibration", DIFFERENT, (0, (6, 2)))
        canvas = Canvas(title, 3.5, [given.name, calibrated.name], key=[neutral])
        panels = canvas.axes()
        handles = _draw_costs(panels[0], [*costs, *best], [given, calibrated], top)
    else:
        shown = looks(systems)
        canvas = Canvas(title, 5.8, [look.name for look in shown], key=[neutral])
        panels = canvas.axes(2, share_x=True)
        for axes, each, text in zip(
            panels, (costs, best), ("as given", "after PAV calibration"), strict=True
        ):
            handles = _draw_costs(axes, each, shown, top)
            axes.set_title(text, loc="left")
    for axes in panels:
        saying_nothing = empirical_cross_entropy(
            np.zeros(2), np.array([True, False]), _PRIORS * np.log(10)
        )
        (line,) = axes.plot(_PRIORS, saying_nothing, color=GREY, linewidth=0.8)
        axes.set(xlim=(_PRIORS[0], _PRIORS[-1]), ylim=(0, top))
        axes.set_ylabel("cost (bits a pair)")
    panels[-1].set_xlabel("prior log₁₀ odds of one author   (0: as probable as two)")
    infinite = sum(not np.isfinite(cost).all() for cost in costs)
    if infinite:
        who = f"{infinite} systems" if infinite > 1 else "the system"
        canvas.say_below(
            f"Triangles at the rim: the cost of {who if len(systems) > 1 else 'what was given'} "
            "is infinite, since a value of exactly 0 or 1 was wrong"
        )
    return canvas.finish([*handles, line])


def _costs(answers: Answers, log_bayes_factor: FloatArray) -> FloatArray:
    return empirical_cross_entropy(log_bayes_factor, answers.same_author, _PRIORS * np.log(10))


def _after_pav(answers: Answers) -> FloatArray:
    """(pairs,): the log Bayes factors that the PAV algorithm would give."""
    blocks = pool(answers.log_bayes_factor, answers.same_author)
    at = np.searchsorted(blocks.lowest, answers.log_bayes_factor, side="right") - 1
    return blocks.log_bayes_factor[at]


def _draw_costs(
    axes: Axes, costs: Sequence[FloatArray], shown: Sequence[Look], top: float
) -> list[Line2D]:
    handles = []
    for at, (cost, look) in enumerate(zip(costs, shown, strict=True)):
        infinite = not np.isfinite(cost).all()  # then it is so at every prior
        handles += axes.plot(_PRIORS, np.where(np.isinf(cost), np.nan, cost), **look.line)
        if infinite:
            # Side by side, or those of several systems would hide each other.
            places = np.linspace(_PRIORS[0], _PRIORS[-1], 3 * len(costs) + 2)[1:-1][at :: len(costs)]
            mark_at_rim(axes, places, np.full(len(places), top), "^", look.color)
    return handles


@figure_of_systems
def draw_pav(systems: Sequence[Answers]) -> Figure:
    """What the Bayes factors were, and what they should have been on these very pairs."""
    title = "PAV: Bayes factors as given, and as they should have been"
    if in_one_class(systems):
        return nothing_to_draw(title)
    shown, frame = looks(systems), range_of(systems)
    canvas = Canvas(title, 4.0, [look.name for look in shown], key=["perfectly calibrated"])
    (axes,) = canvas.axes()
    pooled = [pool(answers.log_bayes_factor, answers.same_author) for answers in systems]
    right = np.concatenate([blocks.log_bayes_factor for blocks in pooled]) / np.log(10)
    finite = right[np.isfinite(right)]
    low, high = finite.min(initial=-1) - 0.4, finite.max(initial=1) + 0.4
    (perfect,) = axes.plot([-99, 99], [-99, 99], color=GREY, linewidth=0.8)
    handles = []
    for look, blocks in zip(shown, pooled, strict=True):
        # A block is a level line from its lowest to its highest score.
        given = np.column_stack([blocks.lowest, blocks.highest]).ravel() / np.log(10)
        after = np.repeat(blocks.log_bayes_factor, 2) / np.log(10)
        x, y = frame.clip(given), np.clip(after, low, high)
        handles += axes.plot(x, y, **look.line, clip_on=False)
        for marker, where in (
            ("<", given == -np.inf),
            (">", given == np.inf),
            ("v", after == -np.inf),
            ("^", after == np.inf),
        ):
            mark_at_rim(axes, x[where], y[where], marker, look.color)
    axes.set(xlim=(frame.low, frame.high), ylim=(low, high))
    axes.set_xlabel("log₁₀ Bayes factor as given")
    axes.set_ylabel("log₁₀ Bayes factor after PAV")
    ends = "▲ and ▼: infinite after PAV, since beyond there all pairs are of one class"
    canvas.say_below("\n".join(filter(None, [ends if np.isinf(right).any() else "", frame.note])))
    return canvas.finish([*handles, perfect])
