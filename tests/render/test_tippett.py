"""The plot on which a result is shown among pairs of known authors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.evaluation.figure_style import DIFFERENT, SAME
from adhominem.render.drawings import tippett
from adhominem.score.decision import LOG_10


@dataclass(frozen=True)
class Pairs:
    """Pairs of known authors, as a model of some worth scores them."""

    log_bayes_factor: np.ndarray  # (pairs,)
    same_author: np.ndarray  # (pairs,)


def made_up_pairs(pairs: int = 400) -> Pairs:
    same = np.arange(pairs) % 2 == 0
    factors = np.random.default_rng(0).normal(np.where(same, 1.5, -1.5), 1.5).clip(-3, 4)
    return Pairs(factors.astype(np.float32), same)


def drawn(pairs: Pairs, *case: Any, **words: str) -> ElementTree.Element:
    return ElementTree.fromstring(
        tippett(pairs.log_bayes_factor, pairs.same_author, *case, **words)
    )


def points(line: ElementTree.Element) -> list[tuple[float, float]]:
    """The corners of a line."""
    return [(float(x), float(y)) for x, y in re.findall(r"(\S+),(\S+)", line.attrib["points"])]


def curve(drawing: ElementTree.Element, colour: str) -> list[tuple[float, float]]:
    lines = [line for line in drawing.iter("polyline") if line.get("stroke") == colour]
    (corners,) = (points(line) for line in lines if len(points(line)) > 2)
    return corners


def axis(drawing: ElementTree.Element) -> list[tuple[float, float]]:
    """From the upper left over the origin to the lower right."""
    return next(points(line) for line in drawing.iter("polyline") if len(points(line)) == 3)


def places(drawing: ElementTree.Element) -> dict[float, float]:
    """The ticks: log10 Bayes factors, and where they stand."""
    bottom = axis(drawing)[1][1]
    labels = [label for label in drawing.iter("text") if float(label.attrib["y"]) == bottom + 15]
    return {
        float((label.text or "").replace("−", "-")): float(label.attrib["x"]) for label in labels
    }


def dots(drawing: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """By colour: that of different authors is hollow, to be told apart in grey."""
    return {
        dot.attrib["stroke" if dot.attrib["fill"] == "#ffffff" else "fill"]: (
            float(dot.attrib["cx"]),
            float(dot.attrib["cy"]),
        )
        for dot in drawing.iter("circle")
    }


@pytest.mark.parametrize("pairs", [10, 400, 5_000])
def test_the_curves_are_the_shares_that_one_counts_by_hand(pairs: int) -> None:
    whole = made_up_pairs(pairs)
    drawing = drawn(whole, 0.3)
    (_, top), (_, bottom), _ = axis(drawing)
    for colour, chosen in ((SAME, whole.same_author), (DIFFERENT, ~whole.same_author)):
        values = whole.log_bayes_factor[chosen] / LOG_10
        for tick, x in places(drawing).items():
            share = float(np.mean([value >= tick for value in values]))
            left = [y for at, y in curve(drawing, colour) if at <= x + 0.01]
            assert (bottom - left[-1]) / (bottom - top) == pytest.approx(
                share, abs=1 / len(values) + 0.01
            )


@pytest.mark.parametrize("result", [-1.3, 0.0, 0.7, 1.7])
def test_the_dots_lie_at_the_result_and_at_its_shares(result: float) -> None:
    whole = made_up_pairs()
    drawing = drawn(whole, result)
    (_, top), (_, bottom), _ = axis(drawing)
    for colour, chosen in ((SAME, whole.same_author), (DIFFERENT, ~whole.same_author)):
        share = (whole.log_bayes_factor[chosen] >= result * LOG_10).mean()
        shown = (bottom - dots(drawing)[colour][1]) / (bottom - top)
        assert shown == pytest.approx(share, abs=1e-4)
    ticks = places(drawing)
    (one, at_one), (other, at_other) = list(ticks.items())[:2]
    expected = at_one + (result - one) / (other - one) * (at_other - at_one)
    same, different = dots(drawing)[SAME][0], dots(drawing)[DIFFERENT][0]
    assert same == different == pytest.approx(expected, abs=0.05)


def test_a_result_at_a_bound_is_counted_with_the_pairs_that_are_there() -> None:
    whole = made_up_pairs()
    bound = float(whole.log_bayes_factor.max()) / LOG_10
    drawing = drawn(whole, bound)
    (_, _), (_, bottom), _ = axis(drawing)
    assert dots(drawing)[SAME][1] < bottom  # some same-author pairs are at the bound, too


@given(
    st.floats(-60, 60),
    st.none() | st.tuples(st.floats(-60, 60), st.floats(-60, 60)),
    st.integers(2, 60),
)
def test_nothing_is_drawn_off_the_paper(
    result: float, ends: tuple[float, float] | None, pairs: int
) -> None:
    interval = None if ends is None else (min(ends), max(ends))
    drawing = drawn(made_up_pairs(pairs), result, interval)
    for item in drawing:
        numbers = {name: float(item.get(name, 0)) for name in ("x", "y", "width", "height")}
        corners = [(numbers["x"], numbers["y"])]
        if item.tag == "polyline":
            corners = points(item)
        elif item.tag == "circle":
            corners = [(float(item.attrib["cx"]), float(item.attrib["cy"]))]
        elif item.tag == "rect":
            assert numbers["width"] > 0
            corners.append((numbers["x"] + numbers["width"], numbers["y"] + numbers["height"]))
        for x, y in corners:
            assert -0.01 <= x <= 480 + 1
            assert -0.01 <= y <= 300
    assert 2 <= len(places(drawing)) <= 13


def test_the_svg_says_what_it_shows_and_asks_for_nothing() -> None:
    svg = tippett(*vars(made_up_pairs()).values(), 1.234, (0.9, 1.5))
    root = ElementTree.fromstring(svg)
    assert "200 same-author and 200 different-author pairs" in root.attrib["aria-label"]
    assert "+1.23" in root.attrib["aria-label"]
    assert not re.search(r"http|url\(|style=|<script|\bid=", svg)
    assert "this case: +1.23" in "".join(root.itertext())


def test_without_a_result_the_curves_stand_alone_and_say_what_was_compared() -> None:
    alone, marked = drawn(made_up_pairs(), things="cases"), drawn(made_up_pairs(), 0.3)
    assert curve(alone, SAME) == curve(marked, SAME)
    assert dots(alone) == {}
    told = alone.attrib["aria-label"] + "".join(alone.itertext())
    assert "same-author cases (200)" in told
    assert "this case" not in told
    assert "pairs" not in told
