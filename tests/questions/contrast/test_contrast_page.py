"""The page of a contrast: intervals on one axis, and that nothing in a text becomes markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import made_up_rows

from adhominem import load
from adhominem.questions.contrast.contrast import Contrast, ContrastOptions, contrast_texts
from adhominem.questions.contrast.page import PAGE
from adhominem.text.files import Document

NASTY = '</style><b id="bad">&amp;'


@pytest.fixture(scope="module")
def contrast(mixed_folder: Path) -> Contrast:
    sides = [
        [Document(text=f"{row['text']} {NASTY}") for row in made_up_rows(1, 3, name)]
        for name in ("x", "y")
    ]
    return contrast_texts(
        load(mixed_folder),
        sides[0],
        sides[1],
        names=("Ann", NASTY),
        usual=sides[0],
        population="letters",
        options=ContrastOptions(top=3, slice=50),
    )


def test_every_group_has_its_tables_and_what_chance_would_do(contrast: Contrast) -> None:
    page = PAGE.whole(contrast)
    for title in ("Common words", "Punctuation", "Two words in a row", "Content words"):
        assert title in page
    assert page.count("chance\nalone could account for") == len(contrast.groups)
    assert ">usual<" in page
    told = sum(len(group.first) + len(group.second) for group in contrast.groups)
    assert page.count('class="spans"') == told


def test_all_that_is_drawn_lies_on_the_axis(contrast: Contrast) -> None:
    shown = str(PAGE.fragment(contrast))
    for x, width in re.findall(
        r'class="(?:first|second)" x="([\d.-]+)" y="\d+" width="([\d.]+)"', shown
    ):
        assert 0 <= float(x) <= float(x) + float(width) <= 201


def test_no_name_becomes_markup(contrast: Contrast) -> None:
    assert '<b id="bad">' not in PAGE.whole(contrast)
