"""The figures: what their axes and curves say."""

from __future__ import annotations

from pathlib import Path

import pytest

from adhominem.evaluation.plots import draw_entropy_curves

figure = pytest.importorskip("matplotlib.figure")


def test_the_entropy_curves_have_a_value_an_epoch_units_and_a_legend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    real = figure.Figure.savefig
    monkeypatch.setattr(
        figure.Figure,
        "savefig",
        lambda self, *more, **options: drawn.append(self) or real(self, *more, **options),
    )
    draw_entropy_curves([3.0, 2.0, 1.0], [-1.0, 0.5, 4.0], tmp_path / "entropy.png")
    assert (tmp_path / "entropy.png").read_bytes().startswith(b"\x89PNG\r\n")
    (axes,) = drawn[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epoch", "entropy (nats)")
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["between authors", "within an author"]
    curves = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]
    assert curves == [([1, 2, 3], [3.0, 2.0, 1.0]), ([1, 2, 3], [-1.0, 0.5, 4.0])]
    assert all(line.get_marker() != "None" for line in axes.lines)  # one epoch is seen, too
    assert axes.lines[0].get_color() != axes.lines[1].get_color()
