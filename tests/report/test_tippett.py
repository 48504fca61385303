"""The plot on which a result is shown among pairs of known authors."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_reports import validation

from adhominem.evaluation.plot_style import DIFFERENT, SAME
from adhominem.report.evidence import LOG_10
from adhominem.report.tippett import Box, Dot, Drawing, Label, Stroke, as_svg, tippett


def curve(drawing: Drawing, colour: str) -> Stroke:
    strokes = [each for each in drawing.items if isinstance(each, Stroke) and len(each.points) > 2]
    (found,) = (each for each in strokes if each.colour == colour)
    return found


def axis(drawing: Drawing) -> Stroke:
    """From the upper left over the origin to the lower right."""
    return next(
        each for each in drawing.items if isinstance(each, Stroke) and len(each.points) == 3
    )


def places(drawing: Drawing) -> dict[float, float]:
    """The ticks: log10 Bayes factors, and where they stand."""
    bottom = axis(drawing).points[1][1]
    labels = [each for each in drawing.items if isinstance(each, Label) and each.y == bottom + 15]
    return {float(each.text.replace("−", "-")): each.x for each in labels}


@pytest.mark.parametrize("pairs", [10, 400, 5_000])
def test_the_curves_are_the_shares_that_one_counts_by_hand(pairs: int) -> None:
    whole = validation(pairs)
    drawing = tippett(whole, 0.3)
    _, (_, bottom), _ = axis(drawing).points
    top = axis(drawing).points[0][1]
    for colour, chosen in ((SAME, whole.same_author), (DIFFERENT, ~whole.same_author)):
        values = whole.log_bayes_factor[chosen] / LOG_10
        for tick, x in places(drawing).items():
            share = float(np.mean([value >= tick for value in values]))
            left = [y for at, y in curve(drawing, colour).points if at <= x + 1e-9]
            drawn = (bottom - left[-1]) / (bottom - top)
            assert drawn == pytest.approx(share, abs=1 / len(values) + 0.01)


@pytest.mark.parametrize("result", [-1.3, 0.0, 0.7, 1.7])
def test_the_dots_lie_at_the_result_and_at_its_shares(result: float) -> None:
    whole = validation()
    drawing = tippett(whole, result)
    dots = {each.colour: each for each in drawing.items if isinstance(each, Dot)}
    (_, top), (_, bottom), _ = axis(drawing).points
    for colour, chosen in ((SAME, whole.same_author), (DIFFERENT, ~whole.same_author)):
        share = (whole.log_bayes_factor[chosen] >= result * LOG_10).mean()
        assert (bottom - dots[colour].y) / (bottom - top) == pytest.approx(share)
    ticks = places(drawing)
    (one, at_one), (other, at_other) = list(ticks.items())[:2]
    expected = at_one + (result - one) / (other - one) * (at_other - at_one)
    assert dots[SAME].x == dots[DIFFERENT].x == pytest.approx(expected)


def test_a_result_at_a_bound_is_counted_with_the_pairs_that_are_there() -> None:
    whole = validation()
    bound = float(whole.log_bayes_factor.max()) / LOG_10
    drawing = tippett(whole, bound)
    (_, _), (_, bottom), _ = axis(drawing).points
    dot = next(each for each in drawing.items if isinstance(each, Dot) and each.colour == SAME)
    assert dot.y < bottom  # some same-author pairs are at the bound, too


@given(
    st.floats(-60, 60),
    st.none() | st.tuples(st.floats(-60, 60), st.floats(-60, 60)),
    st.integers(2, 60),
)
def test_nothing_is_drawn_off_the_paper(
    result: float, ends: tuple[float, float] | None, pairs: int
) -> None:
    interval = None if ends is None else (min(ends), max(ends))
    drawing = tippett(validation(pairs), result, interval)
    for item in drawing.items:
        points = item.points if isinstance(item, Stroke) else ((item.x, item.y),)
        if isinstance(item, Box):
            assert item.width > 0
            points = (*points, (item.x + item.width, item.y + item.height))
        for x, y in points:
            assert -0.01 <= x <= drawing.width + 1
            assert -0.01 <= y <= drawing.height
    assert 2 <= len(places(drawing)) <= 13
    ElementTree.fromstring(as_svg(drawing))


def test_the_svg_says_what_it_shows_and_asks_for_nothing() -> None:
    svg = as_svg(tippett(validation(), 1.234, (0.9, 1.5)))
    root = ElementTree.fromstring(svg)
    assert "200 same-author and 200 different-author pairs" in root.attrib["aria-label"]
    assert "+1.23" in root.attrib["aria-label"]
    assert not re.search(r"http|url\(|style=|<script|\bid=", svg)
    assert "this case: +1.23" in "".join(root.itertext())
