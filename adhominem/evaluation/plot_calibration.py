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
    neutral = "no evidence: a Bayes factor of 1, always"
    shown = looks(systems)
    if len(systems) == 1:
        given = Look("as given", SAME, "-")
        best = Look("after PAV calibration", DIFFERENT, (0, (6, 2)))
        canvas = Canvas(title, 3.5, [given.name, best.name], key=[neutral])
        (axes,) = canvas.axes()
        drawn = [(axes, systems[0], given, False), (axes, systems[0], best, True)]
    else:
        canvas = Canvas(title, 5.8, [look.name for look in shown], key=[neutral])
        panels = canvas.axes(2, share_x=True)
        for axes, text in zip(panels, ("as given", "after PAV calibration"), strict=True):
            axes.set_title(text, loc="left")
        drawn = [
            (axes, answers, look, axes is panels[1])
            for axes in panels
            for answers, look in zip(systems, shown, strict=True)
        ]
    ...
