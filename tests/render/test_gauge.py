"""The gauge: what a model can say, where a number falls, and where like cases fall."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.model.calibration import LikeCases, Validation
from adhominem.render.drawings import among, gauge
from adhominem.render.layout import DIFFERENT_COLOURS, SAME_COLOURS
from adhominem.render.templates import asset

LOG_10 = np.log(10)


def like(same: list[float], different: list[float]) -> LikeCases:
    values = np.array([*same, *different]) * LOG_10
    cases, zeros = len(values), np.zeros(len(values), np.int32)
    return LikeCases(
        Validation(
            genres=("letters",),
            log_bayes_factor=values.astype(np.float32),
            same_author=np.arange(cases) < len(same),
            genre=zeros,
            words=zeros,
            texts=zeros,
            population=zeros,
            known=np.ones(cases, bool),
        ),
        "of all genres",
        ("genre",),
    )


def drawn(*numbers: float | None, cases: LikeCases | None = None) -> ElementTree.Element:
    value, lower, upper = numbers
    assert value is not None
    return ElementTree.fromstring(f"<g>{gauge(value, lower, upper, cases)}</g>")


def at(element: ElementTree.Element, name: str = "x") -> float:
    return float(element.attrib[name].rstrip("%"))


def with_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in root.iter() if name in one.get("class", "").split()]


def test_it_ends_at_the_bounds_and_the_pointer_moves_between_them() -> None:
    places = []
    for value in (-1.05, 0.0, 1.74):
        root = drawn(value, -1.05, 1.74)
        places.append(at(next(one for one in root.iter("svg") if one.get("overflow"))))
        assert [one.text for one in with_class(root, "tick")] == ["−1.05", "0", "+1", "+1.74"]
    assert places == pytest.approx([4.55, 38.77, 95.45], abs=0.05)


def test_the_rungs_fill_it_without_a_gap() -> None:
    root = drawn(0.5, -1.05, 1.74)
    bands = [one for one in root.iter("rect") if one.get("class") != "track"]
    edges = sorted((at(one), at(one) + at(one, "width")) for one in bands)
    assert edges[0][0] == pytest.approx(4.55, abs=0.05)
    assert edges[-1][1] == pytest.approx(95.45, abs=0.05)
    for (_, end), (begin, _) in pairwise(edges):
        assert begin == pytest.approx(end, abs=0.03)
    assert [one.text for one in with_class(root, "rung")] == ["weak", "weak", "moderate"]


def test_it_says_how_many_like_cases_reach_the_number() -> None:
    cases = like([0.5, 1.0, 1.5, 2.0], [-1.0, -0.5, 0.0, 1.2])
    up, down = among(1.0, cases), among(-0.5, cases)
    assert (up.same_share, up.different_share, up.is_for_same) == (0.75, 0.25, True)
    assert (down.same_share, down.different_share, down.is_for_same) == (0.0, 0.5, False)
    said = " ".join("".join(drawn(1.0, -2.0, 2.0, cases=cases).itertext()).split())
    assert "8 like cases of known authors. Of those by one author, 75% score +1.00 or more" in said
    said = "".join(drawn(-0.5, -2.0, 2.0, cases=cases).itertext())
    assert "of those by one author, none" in said


def test_the_shapes_lie_where_the_cases_do() -> None:
    root = drawn(1.0, -2.0, 2.0, cases=like([1.5] * 9, [-1.5] * 9))
    peaks = {}
    for shape in with_class(root, "shape"):
        points = re.findall(r"([\d.]+) ([\d.]+)", shape.attrib["d"])
        side = "same" if "same" in shape.attrib["class"] else "diff"
        peaks[side] = float(min(points, key=lambda point: float(point[1]))[0])
    assert peaks["same"] == pytest.approx(84, abs=2)
    assert peaks["diff"] == pytest.approx(16, abs=2)


@given(st.floats(-20, 20), st.floats(-8, 8), st.floats(-8, 8))
def test_any_number_between_any_bounds_can_be_drawn(value: float, one: float, other: float) -> None:
    root = drawn(value, min(one, other), max(one, other), cases=like([one], [other]))
    for element in (*root.iter("rect"), *root.iter("text")):
        assert 0 <= at(element) <= 100 if element.get("x") else True


def test_a_model_without_bounds_has_a_gauge_too() -> None:
    assert "+3.00" in [one.text for one in with_class(drawn(0.4, None, None), "tick")]


def test_light_pages_have_the_colours_of_the_other_renderers() -> None:
    told = dict(re.findall(r"--([\w-]+): light-dark\((#\w+),", asset("colours.css")))
    assert tuple(told[f"same-{level}"] for level in range(1, 6)) == SAME_COLOURS
    assert tuple(told[f"diff-{level}"] for level in range(1, 6)) == DIFFERENT_COLOURS
