"""Levels, colours that everybody can read and tell apart, and texts laid out in lines."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from math import inf, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import any_explanations, any_texts

from adhominem.harmless import harmless
from adhominem.render.layout import (
    DIFFERENT_COLOURS,
    INK,
    LEVELS,
    MOST_TIMES_EVEN,
    OF_256,
    PAPER,
    PASSAGE_COLOURS,
    SAME_COLOURS,
    TOKEN_COLOURS,
    attention_level,
    contribution_class,
    contribution_colour,
    contribution_level,
    heat_maps,
    passage_levels,
    pieces,
    strongest_of,
)
from adhominem.render.templates import asset
from adhominem.verify.explanation import (
    ExplainedPassage,
    ExplainedText,
    Explanation,
    TokenAttention,
)

BACKGROUNDS = (*TOKEN_COLOURS, *SAME_COLOURS, *DIFFERENT_COLOURS)
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
BLINDNESS = {
    "none": np.eye(3),
    "protanopia": np.array(
        [[0.1521, 1.0526, -0.2047], [0.1148, 0.7863, 0.0989], [-0.0039, -0.0481, 1.0520]]
    ),
    "deuteranopia": np.array(
        [[0.3673, 0.8606, -0.2279], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]
    ),
    "tritanopia": np.array(
        [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]
    ),
}


def rgb(colour: str) -> tuple[int, int, int]:
    return tuple(bytes.fromhex(colour[1:]))


def linear(parts: tuple[int, int, int]) -> np.ndarray:
    scaled = np.array(parts) / 255
    return np.where(scaled <= 0.04045, scaled / 12.92, ((scaled + 0.055) / 1.055) ** 2.4)


def luminance(parts: tuple[int, int, int]) -> float:
    return float(linear(parts) @ [0.2126, 0.7152, 0.0722])


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """As the WCAG define it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(colour: str, blindness: str) -> np.ndarray:
    seen = np.clip(BLINDNESS[blindness] @ linear(rgb(colour)), 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = np.cbrt(to_xyz @ seen / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def of_256(number: int) -> tuple[int, int, int]:
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    cube = (0, 95, 135, 175, 215, 255)
    red, rest = divmod(number - 16, 36)
    return cube[red], cube[rest // 6], cube[rest % 6]


@pytest.mark.parametrize("colour", BACKGROUNDS)
def test_ink_is_readable_on_every_background(colour: str) -> None:
    assert contrast(rgb(INK), rgb(colour)) >= 4.5
    assert contrast(of_256(OF_256[INK]), of_256(OF_256[colour])) >= 4.5


@pytest.mark.parametrize("name", ["same", "diff"])
def test_what_is_drawn_in_another_colour_than_ink_is_readable_on_paper(name: str) -> None:
    (colour,) = re.findall(rf"--{name}: light-dark\((#\w+),", asset("colours.css"))
    assert contrast(rgb(colour), rgb(PAPER)) >= 4.5


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_the_two_sides_are_told_apart_by_everybody(blindness: str) -> None:
    for level, (same, different) in enumerate(zip(SAME_COLOURS, DIFFERENT_COLOURS, strict=True), 1):
        apart = np.linalg.norm(lab(same, blindness) - lab(different, blindness))
        assert apart > 6 * level  # a difference of 2 or 3 can just be seen


@pytest.mark.parametrize(
    "colours", [PASSAGE_COLOURS, TOKEN_COLOURS, SAME_COLOURS, DIFFERENT_COLOURS]
)
def test_a_higher_level_is_darker_and_never_lighter_with_256_colours(
    colours: tuple[str, ...],
) -> None:
    for low, high in pairwise(colours):
        assert luminance(rgb(low)) > luminance(rgb(high))
        assert luminance(of_256(OF_256[low])) >= luminance(of_256(OF_256[high]))


def test_every_level_has_a_colour() -> None:
    assert len(PASSAGE_COLOURS) == len(TOKEN_COLOURS) == LEVELS
    result = {contribution_colour(level) for level in range(-5, 6)}
    assert result == {PAPER, *SAME_COLOURS, *DIFFERENT_COLOURS}
    names = [contribution_class(level) for level in range(-5, 6)]
    assert names[:2] == ["diff5", "diff4"]
    assert names[5:7] == ["", "same1"]


def test_even_attention_is_pale_and_two_levels_are_a_doubling() -> None:
    assert attention_level(1) == attention_level(0.9999) == attention_level(1.0001) == 1
    assert [attention_level(2**power) for power in range(5)] == [1, 3, 5, 7, 9]
    assert attention_level(0.7) == attention_level(0) == attention_level(nan) == 0
    assert attention_level(inf) == attention_level(MOST_TIMES_EVEN + 1) == 9
    assert attention_level(MOST_TIMES_EVEN) == 8


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_more_attention_never_has_a_lower_level(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= attention_level(low) <= attention_level(high) < LEVELS


@given(st.floats(-50, 50), st.floats(0.01, 50))
def test_a_contribution_and_its_opposite_have_opposite_levels(
    contribution: float, strongest: float
) -> None:
    level = contribution_level(contribution, strongest)
    assert level == -contribution_level(-contribution, strongest)
    assert -5 <= level <= 5
    assert level * contribution >= 0


def test_the_strongest_has_the_deepest_level_and_what_is_nothing_has_none() -> None:
    assert contribution_level(0.3, 0.3) == 5
    assert contribution_level(-0.3, 0.3) == -5
    assert contribution_level(0.02, 0.3) == contribution_level(nan, 0.3) == 0
    assert contribution_level(1e-5 * log(10), 1e-5 * log(10)) == 0  # nobody would see it
    assert strongest_of([0.1, -0.4, nan]) == 0.4
    assert strongest_of([]) == 0


def visible(text: str) -> str:
    """Without white space, and with signs for what is no letter."""
    return "".join(harmless(text).split())


@given(any_texts())
def test_the_pieces_of_a_text_are_the_text(text: ExplainedText) -> None:
    result = list(pieces(text))
    assert "".join(text.text[piece.start : piece.end] for piece in result) == text.text
    assert all(piece.start < piece.end for piece in result)


def test_what_overlaps_is_shown_once() -> None:
    tokens = (TokenAttention(0, 4, 0.5), TokenAttention(2, 9, 0.5))
    text = ExplainedText(
        "first",
        "",
        "abcdefgh",
        (ExplainedPassage(0, 6, 0, 0.5, tokens), ExplainedPassage(3, 99, 0, 0.5)),
    )
    result = [(piece.start, piece.end, piece.passage, piece.token) for piece in pieces(text)]
    assert result == [(0, 4, 0, 0), (4, 6, 0, 1), (6, 8, 1, None)]


def test_weights_are_multiples_of_an_even_share() -> None:
    tokens = (TokenAttention(0, 1, 0.75), TokenAttention(1, 2, 0.25))
    passages = (
        ExplainedPassage(0, 2, 0, 0.5, tokens),
        ExplainedPassage(2, 3, 0, 0.5),
        ExplainedPassage(3, 4, 0, None),
    )
    text = ExplainedText("first", "", "abcd", passages)
    levels = passage_levels(text, 1.0)
    assert [passage.times_even for passage in levels] == [1, 1, None]
    assert levels[0].tokens_times_even == (1.5, 0.5)
    assert levels[1].tokens_times_even == ()


@given(st.text(st.characters()))
def test_nothing_in_a_harmless_text_is_a_command(text: str) -> None:
    shown = harmless(text)
    kinds = {unicodedata.category(letter) for letter in shown if letter != "\n"}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    shown.encode("utf-8")
    assert harmless(shown) == shown


def test_escape_sequences_and_overrides_become_signs() -> None:
    assert harmless("a\x1b[31mb\x9b2J\u202ec\r\nd\te\x00\x7f") == "a␛[31mb�2J�c\nd    e␀␡"


@given(any_explanations())
def test_what_is_shown_is_all_that_can_be_seen(explanation: Explanation) -> None:
    for text, passages in heat_maps(explanation):
        letters = "".join(letters for passage in passages for letters, _ in passage.runs)
        assert visible(letters) == visible(text.text)
        amounts = [passage.amount for passage in passages if passage.levels is not None]
        assert all(amounts)
        assert len(amounts) <= len(text.passages)
