"""Pieces of texts, and lines of them."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from made_up import FIRST, any_texts, explained
from rich.cells import cell_len

from adhominem.explain.explanation import ExplainedText, Passage, TokenAttention
from adhominem.harmless import harmless
from adhominem.render.lines import lines
from adhominem.render.pieces import passage_weights, pieces, token_weights


def visible(text: str) -> str:
    """Without white space, and with signs for what is no letter."""
    return "".join(harmless(text).split())


@given(any_texts())
def test_the_pieces_of_a_text_are_the_text(text: ExplainedText) -> None:
    found = list(pieces(text))
    assert "".join(text.text[piece.start : piece.end] for piece in found) == text.text
    assert all(piece.start < piece.end for piece in found)


def test_what_overlaps_is_shown_once() -> None:
    tokens = (TokenAttention(0, 4, 0.5), TokenAttention(2, 9, 0.5))
    text = ExplainedText(
        "first", "", "abcdefgh", (Passage(0, 6, 0, 0.5, tokens), Passage(3, 99, 0, 0.5))
    )
    found = [(piece.start, piece.end, piece.passage, piece.token) for piece in pieces(text)]
    assert found == [(0, 4, 0, 0), (4, 6, 0, 1), (6, 8, 1, None)]


def test_weights_are_multiples_of_an_even_share() -> None:
    tokens = (TokenAttention(0, 1, 0.75), TokenAttention(1, 2, 0.25))
    passages = (Passage(0, 2, 0, 0.5, tokens), Passage(2, 3, 0, 0.5), Passage(3, 4, 0, None))
    text = ExplainedText("first", "", "abcd", passages)
    assert passage_weights(text) == [1, 1, None]
    assert token_weights(passages[0]) == [1.5, 0.5]
    assert token_weights(passages[1]) == []


@given(st.text(st.characters()))
def test_nothing_in_a_harmless_text_is_a_command(text: str) -> None:
    found = harmless(text)
    kinds = {unicodedata.category(letter) for letter in found if letter != "\n"}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    found.encode("utf-8")
    assert harmless(found) == found


def test_escape_sequences_and_overrides_become_signs() -> None:
    assert harmless("a\x1b[31mb\x9b2J\u202ec\r\nd\te\x00\x7f") == "a␛[31mb�2J�c\nd    e␀␡"


@given(any_texts(), st.integers(3, 40))
def test_lines_hold_the_text_and_are_no_wider_than_they_may_be(
    text: ExplainedText, width: int
) -> None:
    found = list(lines(text, width, cell_len))
    assert visible("".join(line.text for line in found)) == visible(text.text)
    assert all(cell_len(line.text) <= width for line in found)


@given(any_texts())
def test_every_passage_that_can_be_seen_begins_once(text: ExplainedText) -> None:
    begun = [line.passage for line in lines(text, 20, cell_len) if line.begins]
    seen = {
        piece.passage
        for piece in pieces(text)
        if piece.passage is not None and harmless(text.text[piece.start : piece.end]).strip()
    }
    assert begun == sorted(seen)


def test_lines_end_where_the_texts_do_and_at_spaces() -> None:
    text = explained("first", "tom", FIRST, tokens=100)
    shown = [line.text for line in lines(text, 30, cell_len)]
    assert shown[:4] == [
        "Dear Anne,",
        "",
        "I don't think — truly — that",
        "“the old mill” (1789?) will",
    ]
    assert shown[-3:] == ["", "    Yours, as ever,", "Tom <tom@example.org>"]


def test_a_long_word_is_broken_and_empty_lines_are_not_repeated() -> None:
    text = ExplainedText("first", "", "\n\n\na\n\n \n\n" + "b" * 7 + " c", ())
    assert [line.text for line in lines(text, 3, len)] == ["a", "", "bbb", "bbb", "b c"]
