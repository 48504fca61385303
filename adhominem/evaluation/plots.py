"""Figures. matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from adhominem.errors import MissingExtraError


def draw_entropy_curves(
    between_author: Sequence[float], within_author: Sequence[float], path: Path
) -> None:
    """The paper's entropy curves: a value an epoch, in nats, for authors and for documents."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise MissingExtraError("matplotlib", "train", "drawing the entropy curves") from None
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    epochs = range(1, len(between_author) + 1)
    axes.plot(epochs, between_author, label="between authors", color="#0072b2", marker=".")
    axes.plot(
        epochs, within_author, label="within an author", color="#d55e00", linestyle="--", marker="."
    )
    axes.set_xlabel("epoch")
    axes.set_ylabel("entropy (nats)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
