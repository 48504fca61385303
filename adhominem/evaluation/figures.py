"""The figures of an evaluation, of one system or of several overlaid; the course of a training.

ROC and DET show how well a system tells the classes apart, over all thresholds; reliability and
cross-entropy whether it means what it says. How far its Bayes factors mislead is in the Tippett
plot (`render.drawings`). matplotlib is imported when the first figure is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from adhominem.arrays import BoolArray, FloatArray
from adhominem.errors import InputError
from adhominem.evaluation.answers import Answers
from adhominem.evaluation.figure_style import (
    DIFFERENT,
    GREY,
    SAME,
    UNIT,
    Canvas,
    house_style,
    nothing_to_draw,
    png_of,
    svg_of,
    system_styles,
)
from adhominem.evaluation.measures import (
    empirical_cross_entropy,
    equal_error_rate,
    reliability,
)
from adhominem.evaluation.pan import auc
from adhominem.score.decision import LOG_10
from adhominem.statistics import pool
from adhominem.text.streams import read_json_lines, stop_or_skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The rates that the axes of a DET plot may begin, end, and have their ticks at.
_RATES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)
_PRIORS = np.linspace(-2.5, 2.5, 101)  # log10 odds
_BELOW_ONE = 0.6  # where a logarithmic axis of numbers begins, so that a 1 is visible
_HIGHEST_COST = 2.0  # bits that the axis shows at most


@dataclass(frozen=True)
class Drawing:
    """A kind of figure: its title, how to read it, and the function that draws it."""

    title: str
    caption: str
    function: Callable[[Sequence[Answers], str], Figure]
    both_classes: bool = False  # whether it needs same-author and different-author pairs

    def of(self, systems: Sequence[Answers]) -> Figure:
        """The figure of one or more systems, or a note in its place."""
        with house_style():
            if self.both_classes and any(len(np.unique(a.same_author)) < 2 for a in systems):
                return nothing_to_draw(self.title)
            return self.function(systems, self.title)


@dataclass(frozen=True)
class Picture:
    """A figure that has been drawn."""

    stem: str  # of its files
    title: str
    caption: str
    png: bytes
    svg: bytes


def pictures(systems: Sequence[Answers], entropies: Entropies | None = None) -> list[Picture]:
    """All figures of these systems; the same systems give the same bytes."""
    drawings = dict(FIGURES)
    if entropies is not None:
        drawings["entropy"] = Drawing(
            "Entropy curves",
            "How far the model takes authors to differ, and the texts of one author, after each "
            "epoch of its training; the paper's rise between authors and fall within.",
            lambda systems, title: _entropy_figure(entropies),
        )
    made = []
    for stem, drawing in drawings.items():
        figure = drawing.of(systems)
        made.append(Picture(stem, drawing.title, drawing.caption, png_of(figure), svg_of(figure)))
    return made


def _roc(systems: Sequence[Answers], title: str) -> Figure:
    shown = system_styles(systems)
    areas = [auc(answers.value, answers.same_author) for answers in systems]
    labels = [f"{style.name} (AUC {area:.3f})" for style, area in zip(shown, areas, strict=True)]
    canvas = Canvas(title, 4.4, [*labels, "chance (AUC 0.500)"])
    (axes,) = canvas.axes
    chance = axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    handles = []
    for style, answers in zip(shown, systems, strict=True):
        misses, alarms = _error_rates(answers.value, answers.same_author)
        handles += axes.plot(alarms, 1 - misses, **style.line, clip_on=False)
    axes.set(xlim=UNIT, ylim=UNIT, aspect="equal")
    axes.set_xlabel("false alarm rate: share of different-author pairs\ntaken for one author's")
    axes.set_ylabel("hit rate: share of same-author pairs recognised")
    return canvas.finish([*handles, *chance])


def _det(systems: Sequence[Answers], title: str) -> Figure:
    """Misses over false alarms, on axes where normally distributed scores give a line."""
    from matplotlib.lines import Line2D

    shown = system_styles(systems)
    equal = [equal_error_rate(answers.log_bayes_factor, answers.same_author) for answers in systems]
    rates = [f"EER {100 * rate:.1f} %" for rate in equal]
    labels = [f"{style.name} ({rate})" for style, rate in zip(shown, rates, strict=True)]
    canvas = Canvas(title, 4.4, [*labels, "chance"])
    (axes,) = canvas.axes
    low, high = _det_range(systems, max(equal))
    ends = _deviates([low, high]) - [0.06, 0]  # keeps what is drawn at the rim visible
    axes.plot(ends, ends, color=GREY, linewidth=0.6)  # where both rates are equal
    chance = axes.plot([-5, 5], [5, -5], color=GREY, linewidth=0.8, linestyle=":")
    handles = []
    for style, answers, rate in zip(shown, systems, equal, strict=True):
        misses, alarms = _error_rates(answers.log_bayes_factor, answers.same_author)
        # The line between two thresholds is straight in rates, and so bent here.
        along = np.concatenate([[0], np.cumsum(np.diff(misses) - np.diff(alarms))])
        finer = np.union1d(along, np.linspace(0, along[-1], 1000))
        curve = [np.interp(finer, along, rates).clip(low, 1 - low) for rates in (alarms, misses)]
        axes.plot(*map(_deviates, curve), **style.line)
        handles.append(Line2D([], [], **style.line, **style.marks, marker="o"))
        mark = _deviates([min(max(rate, low), high)])
        axes.plot(mark, mark, "o", clip_on=False, zorder=5, **style.marks)
    ticks = [rate for rate in _RATES if low <= rate <= high]
    names = [f"{100 * rate:g}" for rate in ticks]
    names[0] = f"≤{names[0]}"
    axes.set_xticks(_deviates(ticks), names)
    axes.set_yticks(_deviates(ticks), names)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.set_xlabel("false alarm rate: different-author pairs\ntaken for one author's (%)")
    axes.set_ylabel("miss rate: same-author pairs not recognised (%)")
    return canvas.finish([*handles, *chance])


def _error_rates(scores: FloatArray, same_author: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(distinct scores + 1,): misses and false alarms if scores up to each are rejected."""
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


def _deviates(rates: Iterable[float]) -> FloatArray:
    """The quantiles of the normal distribution."""
    return np.array([NormalDist().inv_cdf(float(rate)) for rate in rates])


def _reliability(systems: Sequence[Answers], title: str) -> Figure:
    """The share of same-author pairs among those with similar values, and their number."""
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    shown = system_styles(systems)
    labels = [*(style.name for style in shown), "perfectly calibrated"]
    canvas = Canvas(title, 5.2, labels, heights=[3, 1])
    above, below = canvas.axes
    perfect = above.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    handles = []
    for style, answers in zip(shown, systems, strict=True):
        means, shares, counts = reliability(answers.value, answers.same_author)
        marked = {**style.line, **style.marks, "marker": "o", "markersize": 4.5}
        handles += above.plot(means, shares, **marked, zorder=3)
        below.plot(means, counts, **marked)
    above.set(xlim=UNIT, ylim=UNIT)
    above.set_ylabel("share of same-author pairs in the bin")
    below.set_yscale("log")
    below.set_ylim(_BELOW_ONE, 2 * max(10, *(len(answers) for answers in systems)))
    below.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    below.yaxis.set_minor_formatter(NullFormatter())
    below.set_ylabel("pairs in the bin\n(log scale)")
    below.set_xlabel("probability of one author as given (mean of each of ten bins)")
    return canvas.finish([*handles, *perfect])


def _cross_entropy(systems: Sequence[Answers], title: str) -> Figure:
    """The cost of the Bayes factors at each prior, as given and after the best calibration."""
    shown = system_styles(systems)
    given = [_costs(answers.log_bayes_factor, answers.same_author) for answers in systems]
    best = [_costs(_after_pav(answers), answers.same_author) for answers in systems]
    nothing = _costs(np.zeros(2), np.array([True, False]))
    top = 1.05 * min(max(cost[np.isfinite(cost)].max(initial=1) for cost in given), _HIGHEST_COST)
    labels = [
        f"{style.name} (infinite)" if np.isinf(cost).any() else style.name
        for style, cost in zip(shown, given, strict=True)
    ]
    canvas = Canvas(title, 5.8, [*labels, "no evidence (Bayes factor 1)"], heights=[1, 1])
    handles = []
    for axes, text, costs in zip(
        canvas.axes, ("as given", "after PAV calibration"), (given, best), strict=True
    ):
        for style, cost in zip(shown, costs, strict=True):
            handles += axes.plot(_PRIORS, cost, **style.line)
        (line,) = axes.plot(_PRIORS, nothing, color=GREY, linewidth=0.8)
        axes.set(xlim=(_PRIORS[0], _PRIORS[-1]), ylim=(UNIT[0] * top, top))
        axes.set_title(text, loc="left")
        axes.set_ylabel("empirical cross-entropy\n(bits a pair)")
    canvas.axes[-1].set_xlabel("prior log₁₀ odds of one author   (0: as probable as two)")
    return canvas.finish([*handles[: len(systems)], line])


def _costs(log_bayes_factor: FloatArray, same_author: BoolArray) -> FloatArray:
    return empirical_cross_entropy(log_bayes_factor, same_author, _PRIORS * LOG_10)


def _after_pav(answers: Answers) -> FloatArray:
    """(pairs,): the log Bayes factors that the PAV algorithm would give."""
    blocks = pool(answers.log_bayes_factor, answers.same_author)
    at = np.searchsorted(blocks.lowest, answers.log_bayes_factor, side="right") - 1
    return blocks.log_bayes_factor[at]


FIGURES: dict[str, Drawing] = {  # by the stem of the file
    "roc": Drawing(
        "Hits and false alarms at every threshold (ROC)",
        "Each threshold on the values gives a point; a curve closer to the upper left corner is "
        "better, the grey line is guessing, and the area under the curve (AUC) is how often a "
        "same-author pair has the higher value of two.",
        _roc,
        both_classes=True,
    ),
    "det": Drawing(
        "The trade-off between misses and false alarms (DET)",
        "The same two errors enlarged where they are rare: a curve closer to the lower left corner "
        "is better, and the dot marks where misses and false alarms are equally frequent (EER, on "
        "the convex hull of the curve, so that it may lie below the curve itself).",
        _det,
        both_classes=True,
    ),
    "reliability": Drawing(
        "Probabilities given and shares observed (reliability)",
        "Of the pairs that got a probability of about 0.8, 80 % should be by one author: below the "
        "grey line the probability of one author was too high, above it too low, and points of few "
        "pairs (lower panel) say little.",
        _reliability,
    ),
    "cross_entropy": Drawing(
        "What the evidence is worth (empirical cross-entropy)",
        "The cost of following the Bayes factors at each prior, 0 being perfect: where a curve "
        "lies above the grey one, the evidence does more harm than saying nothing, and its "
        "distance from its own curve after PAV is what better calibration would save; it is "
        "infinite at every prior if a value of exactly 0 or 1 was wrong.",
        _cross_entropy,
        both_classes=True,
    ),
}


@dataclass(frozen=True)
class Entropies:
    """The entropies in the course of a training: one value per epoch, in nats."""

    between_author: Sequence[float]
    within_author: Sequence[float]

    @classmethod
    def read(cls, path: str | Path) -> Entropies:
        """The entropies in the `training.jsonl` of a model folder."""
        rows = list(stop_or_skip((row for _, row in read_json_lines(Path(path))), None))
        sides = ("between_author_entropy", "within_author_entropy")
        try:
            between, within = ([float(row[side]) for row in rows] for side in sides)
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "no entropies here; expected the training.jsonl of a model", path
            ) from None
        return cls(between, within)


def draw_entropy_curves(
    between_author: Sequence[float], within_author: Sequence[float], path: Path
) -> None:
    """Write the paper's entropy curves: one value per epoch, in nats, for authors and documents."""
    _entropy_figure(Entropies(between_author, within_author)).savefig(path, dpi=150)


def _entropy_figure(entropies: Entropies) -> Figure:
    with house_style():
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(5.6, 3.7), layout="constrained")
        axes = figure.add_subplot()
        for label, values, color, line, marker in (
            ("between authors", entropies.between_author, SAME, "-", "o"),
            ("within an author", entropies.within_author, DIFFERENT, "--", "s"),
        ):
            epochs = range(1, len(values) + 1)
            axes.plot(epochs, values, label=label, color=color, ls=line, marker=marker, ms=3)
        axes.set_xlabel("epoch")
        axes.set_ylabel("entropy (nats)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend()
    return figure
