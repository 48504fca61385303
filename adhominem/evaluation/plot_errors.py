"""How well a system tells the classes apart: its two error rates, over all thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from adhominem.evaluation.answers import Answers
from adhominem.evaluation.likelihood_ratio import equal_error_rate
from adhominem.evaluation.plot_style import (
    GREY,
    UNIT,
    Canvas,
    figure_of_systems,
    in_one_class,
    mark_at_rim,
    nothing_to_draw,
    system_styles,
)
from adhominem.evaluation.ranking import auc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# The rates that the axes of a DET plot may begin, end, and have their ticks at.
_RATES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)


@figure_of_systems
def draw_roc(systems: Sequence[Answers]) -> Figure:
    """Hits over false alarms, of the values, as PAN's AUC is."""
    from matplotlib.lines import Line2D

    title = "ROC: hits and false alarms at every threshold"
    if in_one_class(systems):
        return nothing_to_draw(title)
    shown = system_styles(systems)
    areas = [auc(answers.value, answers.same_author) for answers in systems]
    labels = [f"{style.name} (AUC {area:.3f})" for style, area in zip(shown, areas, strict=True)]
    canvas = Canvas(title, 4.4, labels, key=["chance (AUC 0.500)"])
    (axes,) = canvas.axes()
    chance = Line2D([0, 1], [0, 1], color=GREY, linewidth=0.8)
    axes.add_line(chance)
    handles = []
    for style, answers in zip(shown, systems, strict=True):
        misses, alarms = _error_rates(answers.value, answers.same_author)
        handles += axes.plot(alarms, 1 - misses, **style.line, clip_on=False)
    axes.set(xlim=UNIT, ylim=UNIT, aspect="equal")
    axes.set_xlabel("false alarm rate: share of different-author pairs\ntaken for one author's")
    axes.set_ylabel("hit rate: share of same-author pairs recognised")
    return canvas.finish([*handles, chance])


@figure_of_systems
def draw_det(systems: Sequence[Answers]) -> Figure:
    """Misses over false alarms, of the Bayes factors, on axes where two bell curves give a line."""
    from matplotlib.lines import Line2D

    title = "DET: the trade-off between misses and false alarms"
    if in_one_class(systems):
        return nothing_to_draw(title)
    shown = system_styles(systems)
    equal = [equal_error_rate(answers.log_bayes_factor, answers.same_author) for answers in systems]
    labels = [
        f"{style.name} (EER {100 * rate:.1f} %)" for style, rate in zip(shown, equal, strict=True)
    ]
    canvas = Canvas(title, 4.4, labels, key=["chance"])
    (axes,) = canvas.axes()
    low, high = _det_range(systems, max(equal))
    ends = _deviates(np.array([low, high])) - [0.06, 0]  # what is drawn at the rim is seen
    axes.plot(ends, ends, color=GREY, linewidth=0.6)  # where both rates are equal
    (chance,) = axes.plot([-5, 5], [5, -5], color=GREY, linewidth=0.8, linestyle=":")
    handles = []
    for style, answers, rate in zip(shown, systems, equal, strict=True):
        misses, alarms = _error_rates(answers.log_bayes_factor, answers.same_author)
        # The line between two thresholds is straight in rates, and so bent here.
        along = np.concatenate([[0], np.cumsum(np.diff(misses) - np.diff(alarms))])
        finer = np.union1d(along, np.linspace(0, along[-1], 1000))
        curve = [np.interp(finer, along, rates).clip(low, 1 - low) for rates in (alarms, misses)]
        axes.plot(*map(_deviates, curve), **style.line)
        handles.append(Line2D([], [], **style.line, **style.marks, marker="o"))
        mark = _deviates(np.clip([rate], low, high))
        mark_at_rim(axes, mark, mark, "o", style)
    ticks = [rate for rate in _RATES if low <= rate <= high]
    names = [f"{100 * rate:g}" for rate in ticks]
    names[0] = f"≤{names[0]}"
    axes.set_xticks(_deviates(np.array(ticks)), names)
    axes.set_yticks(_deviates(np.array(ticks)), names)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.set_xlabel("false alarm rate: different-author pairs\ntaken for one author's (%)")
    axes.set_ylabel("miss rate: same-author pairs not recognised (%)")
    canvas.note("The dots mark the equal error rate (EER)")
    return canvas.finish([*handles, chance])


def _error_rates(scores: FloatArray, same_author: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(scores that differ + 1,): misses and false alarms if all up to a score are rejected."""
    order = np.argsort(scores, kind="stable")
    ranked, same = scores[order], same_author[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # of equal scores
    misses = np.cumsum(same)[last] / same.sum()
    alarms = 1 - np.cumsum(~same)[last] / (~same).sum()
    return np.append(0.0, misses), np.append(1.0, alarms)


def _det_range(systems: Sequence[Answers], worst: float) -> tuple[float, float]:
    """The lowest rate that the pairs can show, and one well above the equal error rates."""
    pairs = max(max(a.same_author.sum(), (~a.same_author).sum()) for a in systems)
    low = max((rate for rate in _RATES if rate <= 1 / pairs), default=_RATES[0])
    high = min((rate for rate in _RATES if rate >= max(0.6, worst + 0.2)), default=_RATES[-1])
    return min(low, 0.05), high


def _deviates(rates: FloatArray) -> FloatArray:
    """The quantiles of the normal distribution."""
    return np.array([NormalDist().inv_cdf(rate) for rate in rates.tolist()])
