"""Sentences begin where a reader sees them begin."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.text.sentences import (
    count_words,
    first_words,
    sentence_starts,
    word_spans,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("“Go.” He went.", ["“Go.”", "He"]),
        ("Mr. Smith and Dr. J. Doe met at No. 10. They left.", ["Mr.", "They"]),
        ("Did he? He said no. Then he left.", ["Did", "He", "Then"]),
        ("It cost 3.50 then. 12 men paid.", ["It", "12"]),
        ("A head\n\nA paragraph. it goes on.", ["A", "A"]),
        ("no stops at all", ["no"]),
        ("Wait... What?", ["Wait..."]),
        ("雨が降った。「行こう。」と彼は言った。", ["雨が", "「行こ", "と彼"]),
        ("माँ आई। सब हँसे।", ["माँ", "सब"]),
        ("كيف حالك؟ أنا بخير۔ شكرا", ["كيف", "أنا", "شكرا"]),
        ("Dear Mr. Smith and J. Jones met. So did I. He left.", ["Dear", "So", "He"]),
        (
            'One two. Three? "Four!" he said. “Five six,” she said.\n\nseven eight',
            ["One", "Three?", '"Four!"', "“Five", "seven"],
        ),
    ],
)
def test_sentences_begin_where_a_reader_sees_them_begin(text: str, begins: list[str]) -> None:
    spans = word_spans(text)
    starts = sentence_starts(text, spans).tolist()
    assert [text[slice(*spans[start])] for start in starts] == begins


@given(st.text(st.characters() | st.sampled_from("漢字ひらがなカタカナ。、ไทย ก็ท่าน ab.,")))
def test_words_cover_all_but_white_space_in_order(text: str) -> None:
    words = [word.group() for word in words_of(text)]
    assert "".join(words) == re.sub(r"\s", "", text)
    assert not any(re.search(r"\s", word) for word in words)
    assert first_words(text, max(1, len(words))).strip() == text.strip() or not words
    if re.search("[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0eff]", text):
        assert count_words(text) == len(words)


@given(st.text("ab .,é\n\t»"))
def test_words_of_spaced_scripts_are_what_white_space_separates(text: str) -> None:
    assert count_words(text) == len(text.split())
    assert [word.group() for word in words_of(text)] == text.split()


def test_a_text_without_spaces_has_about_as_many_words_as_elsewhere() -> None:
    assert count_words("私は昨日、友達と一緒に東京へ行きました。") == 9  # 19 characters
    assert count_words("ฉันไปตลาดกับแม่เมื่อวานนี้") == 7
    assert first_words("私は昨日、友達と一緒に東京へ行きました。", 3) == "私は昨日、友達"
