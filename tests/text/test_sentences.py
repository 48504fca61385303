"""Sentences begin where a reader sees them begin."""

from __future__ import annotations

import pytest

from adhominem.text.sentences import sentence_starts, word_spans


@pytest.mark.parametrize(
    ("text", "first_words"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("“Go.” He went.", ["“Go.”", "He"]),
        ("Mr. Smith and Dr. J. Doe met at No. 10. They left.", ["Mr.", "They"]),
        ("Did he? He said no. Then he left.", ["Did", "He", "Then"]),
        ("It cost 3.50 then. 12 men paid.", ["It", "12"]),
        ("A head\n\nA paragraph. it goes on.", ["A", "A"]),
        ("no stops at all", ["no"]),
        ("Wait... What?", ["Wait..."]),
        ("Dear Mr. Smith and J. Jones met. So did I. He left.", ["Dear", "So", "He"]),
        (
            'One two. Three? "Four!" he said. “Five six,” she said.\n\nseven eight',
            ["One", "Three?", '"Four!"', "“Five", "seven"],
        ),
    ],
)
def test_sentences_begin_where_a_reader_sees_them_begin(text: str, first_words: list[str]) -> None:
    spans = word_spans(text)
    starts = sentence_starts(text, spans).tolist()
    assert [text[slice(*spans[start])] for start in starts] == first_words
