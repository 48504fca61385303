"""The figures of an evaluation, of one system or of several overlaid.

Histograms and the Tippett plot show the Bayes factors of each class; ROC and DET how well a system
tells the classes apart, over all thresholds; reliability, cross-entropy and PAV whether it means
what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from adhominem.arrays import BoolArray, FloatArray
from adhominem.evaluation.answers import Answers
from adhominem.evaluation.likelihood_ratio import (
    empirical_cross_entropy,
    equal_error_rate,
    reliability,
)
from adhominem.evaluation.palette import DIFFERENT, GREY, LINES, SAME
from adhominem.evaluation.pan import auc
from adhominem.evaluation.plot_style import (
    LOG_10,
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
from adhominem.statistics import pool

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


_X_LABEL = "log₁₀ Bayes factor   (← speaks for two authors | for one author →)"
_MOST_STEPS = 800  # more could not be seen
_MOST_BINS, _FEWEST_BINS = 40, 9
# The rates that the axes of a DET plot may begin, end, and have their ticks at.
_RATES = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)
_PRIORS = np.linspace(-2.5, 2.5, 101)  # log10 odds
_DOTTED = "...."
_BELOW_ONE = 0.6  # where a logarithmic axis of numbers begins, so that a 1 is seen
_HIGHEST_COST = 2.0  # bits that the axis shows at most


@figure_of_systems("Tippett plot: how often the evidence is how strong")
def draw_tippett(systems: Sequence[Answers], title: str) -> Figure:
    """The share of each class whose Bayes factor is greater than x.

    Several systems get a panel a class: in one, it could not be seen which two curves belong
    together.
    """
    shown, frame = system_styles(systems), range_of(systems)
    if len(systems) == 1:
        pairs = systems[0].same_author
        one = SystemStyle(f"same-author pairs ({pairs.sum():,})", SAME, "-")
        two = SystemStyle(f"different-author pairs ({(~pairs).sum():,})", DIFFERENT, LINES[1])
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
    panels[-1].set_xlabel(_X_LABEL)
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


@figure_of_systems("Bayes factors of same-author and different-author pairs")
def draw_histograms(systems: Sequence[Answers], title: str) -> Figure:
    """The Bayes factors of each class; a panel a system."""
    from matplotlib.patches import Patch

    columns = 1 if len(systems) == 1 else 2
    rows = ceil(len(systems) / columns)
    frame = range_of(systems)
    canvas = Canvas(
        title,
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
    canvas.label(_X_LABEL, "share of the class (%)")
    handles = [
        Patch(facecolor=f"{SAME}4d", edgecolor=SAME),
        Patch(facecolor="white", edgecolor=DIFFERENT, linestyle="--", hatch=_DOTTED),
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
        counts, _ = np.histogram(values[(values >= frame.low) & (values <= frame.high)], edges)
        if same:
            axes.stairs(counts * percent, edges, fill=True, color=color, alpha=0.3)
        else:  # to be told apart in grey
            axes.stairs(counts * percent, edges, fill=False, edgecolor=color, hatch=_DOTTED, lw=0)
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


@figure_of_systems("ROC: hits and false alarms at every threshold", both_classes=True)
def draw_roc(systems: Sequence[Answers], title: str) -> Figure:
    """The hit rate over the false alarm rate, by thresholds on the values, as PAN's AUC is."""
    from matplotlib.lines import Line2D

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


@figure_of_systems("DET: the trade-off between misses and false alarms", both_classes=True)
def draw_det(systems: Sequence[Answers], title: str) -> Figure:
    """Misses over false alarms, of the Bayes factors, on axes where two bell curves give a line."""
    from matplotlib.lines import Line2D

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


@figure_of_systems("Reliability: what is said, and what is so")
def draw_reliability(systems: Sequence[Answers], title: str) -> Figure:
    """The share of same-author pairs among those with about the same value, and their number."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    shown = system_styles(systems)
    canvas = Canvas(title, 5.2, [style.name for style in shown], key=["perfectly calibrated"])
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


@figure_of_systems("Empirical cross-entropy: what the evidence is worth", both_classes=True)
def draw_cross_entropy(systems: Sequence[Answers], title: str) -> Figure:
    """The cost of the Bayes factors at each prior, beside that of saying nothing.

    Several systems get a panel for what they said and one for what calibration would make of it.
    """
    neutral = "no evidence (Bayes factor 1)"
    costs = [_costs(answers, answers.log_bayes_factor) for answers in systems]
    best = [_costs(answers, _after_pav(answers)) for answers in systems]
    finite = [cost[np.isfinite(cost)].max(initial=1) for cost in costs]
    top = 1.05 * min(max(finite), _HIGHEST_COST)
    if len(systems) == 1:
        given = SystemStyle("as given", SAME, "-")
        calibrated = SystemStyle("after PAV calibration", DIFFERENT, LINES[1])
        canvas = Canvas(title, 3.5, [given.name, calibrated.name], key=[neutral])
        panels = canvas.axes()
        panels[0].set_title(system_styles(systems)[0].name, loc="left", parse_math=False)
        handles = _draw_costs(panels[0], [*costs, *best], [given, calibrated], top)
    else:
        shown = system_styles(systems)
        canvas = Canvas(title, 5.8, [style.name for style in shown], key=[neutral])
        panels = canvas.axes(2, share_x=True)
        handles = []
        for axes, panel_costs, text in zip(
            panels, (costs, best), ("as given", "after PAV calibration"), strict=True
        ):
            drawn = _draw_costs(axes, panel_costs, shown, top)
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
        Line2D([], [], **style.line, **style.marks, marker="^" if style in infinite else "")
        for style in shown
    ]


@figure_of_systems("PAV: Bayes factors as given, and as they should have been", both_classes=True)
def draw_pav(systems: Sequence[Answers], title: str) -> Figure:
    """What the Bayes factors were, and what they should have been on these very pairs."""
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
        x, y = np.clip(given, frame.low, frame.high), np.clip(after, low, high)
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
