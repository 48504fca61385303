"""The picture: written whole, of bounded size, whatever the letters are."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import pytest
from made_up import FIRST, explanation

from adhominem.errors import MissingExtraError
from adhominem.render import png as png_module
from adhominem.render.layout import PASSAGE_COLOURS, TOKEN_COLOURS
from adhominem.render.png import png_heat_map

pytest.importorskip("matplotlib")


def size_of(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def sheet_of(result: png_module.Explanation) -> png_module._Sheet:
    with png_module.house_style():
        sheet = png_module._Sheet()
        png_module._draw(result, sheet)
    return sheet


def test_it_is_a_picture_and_the_same_whenever_it_is_drawn(tmp_path: Path) -> None:
    png_heat_map(explanation(), tmp_path / "map.png")
    width, height = size_of(tmp_path / "map.png")
    assert 1000 < width < 1600
    assert 500 < height < 3000
    first = (tmp_path / "map.png").read_bytes()
    png_heat_map(explanation(), tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["map.png"]


def test_letters_that_the_font_lacks_and_formulas_are_no_trouble(tmp_path: Path) -> None:
    text = "中文 Ωμέγα עברית हिन्दी 🙂 \x1b[31m $\\frac{1}{2 $x$ \u202e ﷽ e\u0301 \ufffe"
    png_heat_map(explanation(text, text), tmp_path / "map.png")
    size_of(tmp_path / "map.png")


def test_the_words_of_a_text_stand_on_their_colours() -> None:
    result = explanation("one two three four", "five", tokens=4)
    sheet = sheet_of(result)
    written = [text for _, _, text, *_ in sheet.texts]
    words = ["one", "two", "three", "four"]
    assert [word for word in written if word in words] == words
    colours = {colour for *_, colour in sheet.boxes}
    assert colours & set(TOKEN_COLOURS)
    assert colours & set(PASSAGE_COLOURS)
    said = " ".join(written)
    assert "log10 Bayes factor +1.23" in said
    assert "A Bayes factor is not a verdict" in said
    assert "not why it decided" in said.replace("\n", " ")


def test_of_long_texts_the_beginnings_are_shown_and_a_note_says_how_much(tmp_path: Path) -> None:
    result = explanation(FIRST * 200, "short")
    written = [text for _, _, text, *_ in sheet_of(result).texts]
    assert any(re.match(r"Shown are 159 of \d,\d\d\d lines", text) for text in written)
    assert "short" in written
    png_heat_map(result, tmp_path / "map.png")
    assert size_of(tmp_path / "map.png")[1] < 7000


def test_what_short_texts_leave_goes_to_long_ones() -> None:
    assert png_module._quotas([10, 20]) == [10, 20]
    assert png_module._quotas([1000, 10, 1000]) == [75, 10, 75]
    assert png_module._quotas([]) == []


def test_without_a_network_there_are_no_reds() -> None:
    sheet = sheet_of(explanation(attention=False))
    assert not {colour for *_, colour in sheet.boxes} & set(TOKEN_COLOURS[1:])
    assert any("No network looked" in text for _, _, text, *_ in sheet.texts)


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"a PNG picture needs .*\[evaluate\]"):
        png_heat_map(explanation(), tmp_path / "map.png")
