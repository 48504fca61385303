"""What is shown: nothing in it commands a terminal or forges a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adhominem.harmless import one_line, spelt_out


def test_controls_are_spelt_out() -> None:
    assert one_line("a\x1b[31mb\x9b2J\u202ec\r\nd\te\x00\x7f\u2028f\udce9") == (
        r"a\x1b[31mb\x9b2J\u202ec\r\nd\te\x00\x7f\u2028f\udce9"
    )


def test_all_other_letters_stay() -> None:
    text = "Ünïcode ☃ العربية 👩\u200d🚀 C:\\new"
    assert one_line(text) == text


@given(st.text())
def test_no_text_commands_a_terminal(text: str) -> None:
    shown = one_line(text)
    shown.encode()  # no half characters
    assert not any(letter < " " or "\x7f" <= letter <= "\x9f" for letter in shown)
    assert len(shown.splitlines()) <= 1
    assert one_line(shown) == shown


def test_a_line_too_long_to_be_read_is_cut_in_its_middle() -> None:
    shown = one_line("the id '" + "x" * 1_000_000 + "' is there twice; expected it once")
    assert len(shown) < 5_000
    assert shown.startswith("the id 'xxx")
    assert shown.endswith("xxx' is there twice; expected it once")
    assert " [996,042 letters] " in shown


def test_on_a_page_names_are_whole_and_no_commands() -> None:
    name = "<b>\x1b[31m\u202e\n\0" + "x" * 10_000
    assert spelt_out(name) == r"<b>\x1b[31m\u202e\n\x00" + "x" * 10_000
