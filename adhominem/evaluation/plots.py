"""Figures: the course of a training, and all that an evaluation shows.

Those of an evaluation take one system or several, overlaid. matplotlib is imported when the first
figure is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adhominem.errors import InputError
from adhominem.evaluation import plot_figures
from adhominem.evaluation.answers import Answers
from adhominem.evaluation.palette import DIFFERENT, SAME
from adhominem.evaluation.plot_style import Draw, house_style
from adhominem.text.streams import read_json_lines
from adhominem.text.writing import replaced_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """A figure of an evaluation: what it is called, how to read it, what draws it."""

    title: str
    caption: str
    draw: Draw


FIGURES: dict[str, Drawing] = {  # by the stem of the file
    "histograms": Drawing(
        "Histograms of the Bayes factors",
        "The further the two heaps lie apart, the better the classes are told apart; a "
        "same-author pair left of 0, or a different-author pair right of it, is evidence that "
        "misleads.",
        plot_figures.draw_histograms,
    ),
    "tippett": Drawing(
        "Tippett plot",
        "Each curve gives the share of pairs whose Bayes factor is greater than x: at the line at "
        "0, that of the same-author pairs should still be at 1 and that of the different-author "
        "pairs already at 0, and what is missing is evidence that misleads or says nothing.",
        plot_figures.draw_tippett,
    ),
    "roc": Drawing(
        "ROC curve",
        "Each threshold on the values gives a point; a curve closer to the upper left corner is "
        "better, the grey line is guessing, and the area under the curve (AUC) is how often a "
        "same-author pair has the higher value of two.",
        plot_figures.draw_roc,
    ),
    "det": Drawing(
        "DET curve",
        "The same two errors enlarged where they are rare: a curve closer to the lower left corner "
        "is better, and the dot marks where misses and false alarms are equally frequent (on the "
        "convex hull of the curve, so that it may lie below the curve itself).",
        plot_figures.draw_det,
    ),
    "reliability": Drawing(
        "Reliability diagram",
        "Of the pairs that got a probability of about 0.8, 80 % should be by one author: below the "
        "grey line the probability of one author was too high, above it too low, and points of few "
        "pairs (lower panel) say little.",
        plot_figures.draw_reliability,
    ),
    "cross_entropy": Drawing(
        "Empirical cross-entropy",
        "The cost of following the Bayes factors at each prior, 0 being perfect: where a curve "
        "lies above the grey one, the evidence does more harm than saying nothing, and its "
        "distance from its own curve after PAV is what better calibration would save.",
        plot_figures.draw_cross_entropy,
    ),
    "pav": Drawing(
        "PAV plot",
        "What the Bayes factors were against what they should have been on these pairs: on the "
        "grey line they mean what they say, and where a curve is flatter than the line they "
        "overstate the evidence.",
        plot_figures.draw_pav,
    ),
}


@dataclass(frozen=True)
class Entropies:
    """The course of a training: a value an epoch, in nats."""

    between_author: Sequence[float]
    within_author: Sequence[float]

    @classmethod
    def read(cls, path: str | Path) -> Entropies:
        """Read the entropies from the `training.jsonl` of a model folder."""
        rows = []
        for _, row in read_json_lines(Path(path)):
            if isinstance(row, InputError):
                raise row
            rows.append(row)
        try:
            between, within = (
                [float(row[f"{side}_author_entropy"]) for row in rows]
                for side in ("between", "within")
            )
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "no entropies here; expected the training.jsonl of a model", path
            ) from None
        return cls(between, within)


def figures(
    systems: Sequence[Answers], entropies: Entropies | None = None
) -> Iterator[tuple[str, Drawing, Figure]]:
    """All figures, each with the stem of its file, and its title and caption."""
    for stem, drawing in FIGURES.items():
        yield stem, drawing, drawing.draw(systems)
    if entropies is not None:
        drawing = Drawing(
            "Entropy curves",
            "How far the model takes authors to differ, and the texts of one author, after each "
            "epoch of its training; the paper's rise between authors and fall within.",
            lambda systems: _entropy_figure(entropies),
        )
        yield "entropy", drawing, drawing.draw(systems)


def write_figures(
    systems: Sequence[Answers], folder: Path, entropies: Entropies | None = None
) -> list[Path]:
    """Write every figure as PNG and as SVG; the same systems give the same bytes."""
    written = []
    for stem, _, figure in figures(systems, entropies):
        for suffix, data in ((".png", png_of(figure)), (".svg", svg_of(figure))):
            path = folder / f"{stem}{suffix}"
            with replaced_file(path) as partial:
                partial.write_bytes(data)
            written.append(path)
    return written


def png_of(figure: Figure) -> bytes:
    """A figure as a PNG of 150 pixels an inch."""
    return _saved(figure, format="png", dpi=150, metadata={"Software": None})


def svg_of(figure: Figure) -> bytes:
    """A figure as an SVG, without a date or anything else that changes."""
    return _saved(figure, format="svg", metadata={"Date": None, "Creator": None})


def _saved(figure: Figure, **options: object) -> bytes:
    data = io.BytesIO()
    with house_style():
        figure.savefig(data, **options)  # type: ignore[arg-type]
    return data.getvalue()


def draw_entropy_curves(
    between_author: Sequence[float], within_author: Sequence[float], path: Path
) -> None:
    """The paper's entropy curves: a value an epoch, in nats, for authors and for documents."""
    _entropy_figure(Entropies(between_author, within_author)).savefig(path, dpi=150)


def _entropy_figure(entropies: Entropies) -> Figure:
    between_author, within_author = entropies.between_author, entropies.within_author
    with house_style():
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(5.6, 3.7), layout="constrained")
        axes = figure.add_subplot()
        epochs = range(1, len(between_author) + 1)
        axes.plot(epochs, between_author, label="between authors", color=SAME, marker="o", ms=3)
        axes.plot(
            epochs,
            within_author,
            label="within an author",
            color=DIFFERENT,
            linestyle="--",
            marker="s",
            ms=3,
        )
        axes.set_xlabel("epoch")
        axes.set_ylabel("entropy (nats)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        axes.legend()
    return figure
