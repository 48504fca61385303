"""What a terminal gets: the text, colours, and no command of the text's own."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import BALANCE, any_explanations, explained, explanation, verification
from rich.cells import cell_len

from adhominem.harmless import harmless
from adhominem.render.layout import TOKEN_COLOURS
from adhominem.render.terminal import Colours, terminal_colours, terminal_heat_map
from adhominem.verify.explanation import ExplainedPassage, Explanation, TokenAttention

CODE = re.compile(r"\x1b\[[0-9;]*m")
MARGIN = 10


def text_lines(shown: str) -> list[str]:
    """The lines that are text, without codes and margin."""
    return [CODE.sub("", line)[MARGIN:] for line in shown.split("\n") if line.startswith("\x1b[38")]


@given(any_explanations(), st.sampled_from(["truecolor", "256"]), st.integers(0, 90))
def test_without_its_codes_it_is_the_text(
    result: Explanation, colours: Colours, width: int
) -> None:
    shown = terminal_heat_map(result, colours, width)
    whole = "".join("".join(harmless(text.text).split()) for text in result.texts)
    assert "".join("".join(text_lines(shown)).split()) == whole
    for line in shown.split("\n"):
        if line.startswith("\x1b[38"):
            assert cell_len(CODE.sub("", line)) == max(width, MARGIN + 24)


@given(any_explanations(), st.sampled_from(get_args(Colours)))
def test_no_command_but_colours_reaches_the_terminal(result: Explanation, colours: Colours) -> None:
    shown = CODE.sub("", terminal_heat_map(result, colours, 60))
    assert not {letter for letter in shown if unicodedata.category(letter) in ("Cc", "Cs")} - {"\n"}
    if colours == "none":
        assert "\x1b" not in terminal_heat_map(result, colours, 60)


def test_a_text_cannot_colour_itself_nor_clear_the_screen() -> None:
    result = explanation("a \x1b[2J\x1b]0;title\x07 b \x9b31m c", "d", version="\x1b[1m")
    result = replace(result, texts=(replace(result.texts[0], name="\x1b[5m"), *result.texts[1:]))
    shown = terminal_heat_map(result, "truecolor", 80)
    assert "␛[2J" in CODE.sub("", shown)
    assert "first side: ␛[5m" in shown
    assert "\x1b[2J" not in shown
    assert "\x9b" not in shown


def test_tokens_have_the_colour_of_their_level() -> None:
    tokens = (TokenAttention(0, 3, 0.1), TokenAttention(4, 7, 0.9))
    text = replace(
        explained("first", "x", "low top"), passages=(ExplainedPassage(0, 7, 0.2, 1.0, tokens),)
    )
    made = Explanation(verification(), (text,), (), BALANCE)
    shown = terminal_heat_map(made, "truecolor", 80)
    red, green, blue = bytes.fromhex(TOKEN_COLOURS[3][1:])  # twice an even share, nearly
    assert f";48;2;{red};{green};{blue}mtop" in shown
    assert "+0.087" in shown
    assert ";48;5;224mtop" in terminal_heat_map(made, "256", 80)


def test_without_colours_bars_and_brackets_say_it() -> None:
    tokens = tuple(TokenAttention(at, at + 1, 0.9 if at == 4 else 0.1 / 9) for at in range(10))
    passages = (ExplainedPassage(0, 10, 0.2, 0.9, tokens), ExplainedPassage(11, 13, -0.2, 0.1))
    text = replace(explained("first", "x", "abcdefghij kl"), passages=passages)
    shown = terminal_heat_map(Explanation(verification(), (text,), (), BALANCE), "none", 80).split(
        "\n"
    )
    assert shown[2:4] == ["▃▃ +0.087 abcd[[e]]fghij", "   −0.087 kl"]


def test_it_says_what_is_shown_and_what_attention_is_not() -> None:
    for colours in get_args(Colours):
        shown = " ".join(terminal_heat_map(explanation(), colours, 70).split())
        assert "Attention shows where the network looked, not why it decided." in shown
        more = "(a word or mark (with 1 more in the same places); 1 : 4; 2.0 : 8.0, usual 0.5)"
        assert f"+0.174 the {more}" in shown
        assert "+0.304 Listed n-grams: the strongest habits" in shown
        assert "+1.230 Log10 Bayes factor" in shown
    shown = " ".join(terminal_heat_map(explanation(attention=False), "none", 70).split())
    assert "No network looked at these texts" in shown
    assert "[[" not in shown


@pytest.mark.parametrize(
    ("environment", "is_terminal", "expected"),
    [
        ({"COLORTERM": "truecolor", "TERM": "xterm-256color"}, True, "truecolor"),
        ({"COLORTERM": "24bit"}, True, "truecolor"),
        ({"TERM": "xterm-direct"}, True, "truecolor"),
        ({"WT_SESSION": "1"}, True, "truecolor"),
        ({"TERM": "xterm-256color"}, True, "256"),
        ({"TERM": "screen.xterm-256color", "COLORTERM": ""}, True, "256"),
        ({"TERM": "vt100"}, True, "none"),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, True, "none"),
        ({}, True, "none"),
        ({"COLORTERM": "truecolor"}, False, "none"),
        ({"COLORTERM": "truecolor", "FORCE_COLOR": "1"}, False, "truecolor"),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, True, "none"),
        ({"COLORTERM": "truecolor", "NO_COLOR": ""}, True, "truecolor"),
    ],
)
def test_the_environment_says_which_colours_there_are(
    environment: dict[str, str], is_terminal: bool, expected: str
) -> None:
    assert terminal_colours(environment, is_terminal) == expected
