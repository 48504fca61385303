"""The figures: what their axes and curves say."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from adhominem.errors import MissingExtraError
from adhominem.evaluation.answers import Answers, answers_from
from adhominem.evaluation.figure_style import shorten, system_styles
from adhominem.evaluation.figures import (
    FIGURES,
    draw_entropy_curves,
    pictures,
)
from adhominem.evaluation.measures import (
    cllr,
    cllr_min,
    empirical_cross_entropy,
    equal_error_rate,
    reliability,
)
from adhominem.evaluation.pan import auc

figure = pytest.importorskip("matplotlib.figure")
matplotlib_text = pytest.importorskip("matplotlib.text")


def made_up(
    name: str = "a system", pairs: int = 60, *, seed: int = 0, certain: int = 0, sure: float = 1.5
) -> Answers:
    """Answers that are often right; some of the values are exactly 0 or 1, one of them wrong."""
    rng = np.random.default_rng(seed)
    same = np.arange(pairs) % 2 == 0
    log_odds = rng.normal(size=pairs) * 2 + np.where(same, sure, -sure)
    value = 1 / (1 + np.exp(-log_odds))
    value[:certain] = same[:certain]
    value[: min(certain, 1)] = 0  # of a same-author pair
    return answers_from(name, value, None, same)


def in_classes(same: int, different: int) -> Answers:
    rng = np.random.default_rng(1)
    return answers_from(
        "few pairs", rng.random(same + different), None, np.arange(same + different) < same
    )


LONG = (
    "_a very long name of a system that somebody thought of, version 1 with $\\alpha$ (final)",
    "A VERY LONG NAME OF A SYSTEM THAT SOMEBODY THOUGHT OF, VERSION 2 WITH $x$ (FINAL)",
    "x" * 200,
)
ONE = [made_up()]
INFINITE = [made_up(certain=8)]
THREE = [
    made_up(LONG[0], sure=40, seed=3),
    made_up(LONG[1], certain=8),
    made_up(LONG[2], certain=60),
]
TEN = [*THREE, *(made_up(f"system {at}", 40, seed=at, certain=at % 3) for at in range(7))]
SETS = {
    "one system, some Bayes factors infinite": INFINITE,
    "a class of two pairs": [in_classes(2, 4)],
    "ten systems, long names, one with nothing but infinite Bayes factors": TEN,
}


def texts(drawn: Any) -> list[str]:
    """All that a figure says."""
    return [text.get_text() for text in drawn.findobj(matplotlib_text.Text)]


@pytest.mark.parametrize("systems", SETS.values(), ids=SETS)
@pytest.mark.parametrize("stem", FIGURES)
def test_every_figure_draws_with_labels_and_nothing_is_clipped_or_covered(
    stem: str, systems: list[Answers]
) -> None:
    drawn = FIGURES[stem].of(systems)
    whole = drawn.bbox.padded(1)
    (legend,) = [legend for part in drawn.subfigs for legend in part.legends]
    labels = [text for part in drawn.subfigs for text in part.texts]
    for part in (*drawn.axes, *labels, legend):
        box = part.get_tightbbox()  # with labels, ticks and title, but not the ticks left out
        assert whole.containsx(box.x0), part
        assert whole.containsx(box.x1), part
        assert whole.containsy(box.y0), part
        assert whole.containsy(box.y1), part
    for axes in drawn.axes:
        assert not axes.get_tightbbox().overlaps(legend.get_window_extent())
        assert axes.get_window_extent().width > whole.width / 4  # the labels leave room for it
    if len(systems) > 1:
        shown = [text.get_text() for text in legend.get_texts()]
        names = [re.sub(r" \((AUC|EER|infinite).*", "", line) for line in shown]
        assert names[: len(systems)] == [look.name for look in system_styles(systems)]


def test_ten_systems_differ_in_colour_or_line_and_neighbours_in_both() -> None:
    ten = system_styles(TEN)
    assert len({(look.color, look.linestyle) for look in ten}) == 10
    for one, other in pairwise(ten):
        assert one.color != other.color
        assert one.linestyle != other.linestyle
    assert len({(look.color, look.hollow) for look in ten}) == 10  # marks have no line style


def test_names_alike_in_print_are_numbered_and_long_ones_keep_both_ends() -> None:
    assert [
        look.name for look in system_styles([made_up("a\nb"), made_up("a b"), made_up("c")])
    ] == [
        "1: a b",
        "2: a b",
        "c",
    ]
    short = shorten("the beginning " + "x" * 100 + " the end")
    assert short.startswith("the beginning")
    assert short.endswith("the end")
    assert len(short) < 50
    assert shorten("a\x00\ud800b") == "ab"


def curves(axes: Any) -> list[tuple[list[float], list[float]]]:
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.lines]


def test_the_roc_curve_has_a_point_a_threshold_and_the_area_of_the_auc() -> None:
    answers = made_up(certain=8)
    (axes,) = FIGURES["roc"].of([answers]).axes
    x, y = curves(axes)[1]  # after the diagonal
    same = answers.same_author
    slow = [
        ((answers.value[~same] > t).mean(), (answers.value[same] > t).mean())
        for t in [-1, *sorted(set(answers.value))]
    ]
    assert [x, y] == [pytest.approx(rates) for rates in zip(*slow, strict=True)]
    area = np.sum(-np.diff(x) * (np.array(y[1:]) + y[:-1]) / 2)
    assert area == pytest.approx(auc(answers.value, same))


def test_the_det_plot_marks_the_equal_error_rate_and_says_it() -> None:
    answers = made_up(pairs=400)
    drawn = FIGURES["det"].of([answers])
    (axes,) = drawn.axes
    rate = equal_error_rate(answers.log_bayes_factor, answers.same_author)
    mark = NormalDist().inv_cdf(rate)
    assert ([pytest.approx(mark)], [pytest.approx(mark)]) in curves(axes)
    assert f"a system (EER {100 * rate:.1f} %)" in texts(drawn)
    assert axes.get_xticklabels()[0].get_text().startswith("≤")


def test_the_reliability_diagram_shows_each_bin_and_its_pairs() -> None:
    systems = TEN[-2:]
    above, below = FIGURES["reliability"].of(systems).axes
    for at, answers in enumerate(systems):
        means, shares, counts = reliability(answers.value, answers.same_author)
        assert curves(above)[at + 1] == (list(means), list(shares))
        assert curves(below)[at] == (list(means), list(counts))


def test_the_cross_entropy_at_even_odds_is_cllr_and_after_pav_cllr_min() -> None:
    answers = made_up()
    as_given, after = FIGURES["cross_entropy"].of([answers]).axes
    given, neutral = curves(as_given)
    best, _ = curves(after)
    middle = given[0].index(0)
    scores = answers.log_bayes_factor, answers.same_author
    assert given[1][middle] == pytest.approx(cllr(*scores))
    assert best[1][middle] == pytest.approx(cllr_min(*scores))
    assert neutral[1][middle] == pytest.approx(1)
    assert given[1] == pytest.approx(
        list(empirical_cross_entropy(*scores, np.array(given[0]) * np.log(10)))
    )


def test_an_infinite_cross_entropy_is_named_in_the_legend() -> None:
    said = texts(FIGURES["cross_entropy"].of(THREE))
    assert len({line for line in said if line.endswith("(infinite)")}) == 2  # two have a wrong 0


@pytest.mark.parametrize("stem", FIGURES)
def test_a_set_of_one_class_is_no_error(stem: str) -> None:
    drawn = FIGURES[stem].of([in_classes(6, 0)])
    said = " ".join(texts(drawn))
    assert ("Nothing to draw" in said) == (stem in ("roc", "det", "cross_entropy"))


def test_pictures_are_png_and_svg_and_the_same_bytes_whoever_draws_them() -> None:
    import matplotlib

    systems = [made_up("$x$ < 字", certain=8)]
    first = pictures(systems)
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": None, "axes.facecolor": "red"}):
        second = pictures(systems)
    assert [picture.stem for picture in first] == list(FIGURES)
    assert first == second
    for picture in first:
        assert picture.png.startswith(b"\x89PNG\r\n")
        assert ElementTree.fromstring(picture.svg).tag == "{http://www.w3.org/2000/svg}svg"
        assert b"date" not in picture.svg


def test_every_figure_has_a_title_and_one_sentence_on_how_to_read_it() -> None:
    for drawing in FIGURES.values():
        assert drawing.title
        assert drawing.caption.endswith(".")
        assert ". " not in drawing.caption


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"\.\[evaluate\]"):
        FIGURES["roc"].of([made_up()])


def test_matplotlib_is_loaded_by_the_first_figure_and_pyplot_never() -> None:
    code = """
import sys
import numpy as np
import adhominem.questions.evaluate.page
from adhominem.evaluation import figure_style, figures
from adhominem.evaluation.answers import answers_from
assert "matplotlib" not in sys.modules
systems = [answers_from("", np.array([0.2, 0.6]), None, np.array([False, True]))]
figure_style.svg_of(figures.FIGURES["roc"].of(systems))
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


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
