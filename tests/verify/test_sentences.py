"""Passages that begin at sentences contribute, all together, what they did before."""

from __future__ import annotations

import made_up
import pytest
from hypothesis import given, settings

from adhominem.verify.explanation import SHORTEST, Explanation, at_sentences, sentence_starts


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("“Go.” He went.", ["“Go.” ", "He went."]),
        ("Mr. Smith and Dr. J. Doe met at No. 10. They left.", None),
        ("It cost 3.50 then. 12 men paid.", ["It cost 3.50 then. ", "12 men paid."]),
        ("A head\n\nA paragraph. it goes on.", ["A head\n\n", "A paragraph. it goes on."]),
        ("no stops at all", ["no stops at all"]),
        ("Wait... What?", ["Wait... What?"]),
    ],
)
def test_sentences_begin_where_a_reader_sees_them_begin(
    text: str, sentences: list[str] | None
) -> None:
    starts = sentence_starts(text)
    parts = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    assert parts == (sentences or ["Mr. Smith and Dr. J. Doe met at No. 10. ", "They left."])


def test_passages_begin_at_sentences_and_are_long_enough() -> None:
    made = made_up.explanation(made_up.FIRST * 30, made_up.SECOND * 30)
    for before, text in zip(made.texts, at_sentences(made).texts, strict=True):
        starts = {*sentence_starts(text.text), before.passages[0].start}
        for passage in text.passages:
            assert passage.start in starts
        lengths = [passage.end - passage.start for passage in text.passages]
        assert min(lengths) >= SHORTEST // 2
        assert len(text.passages) > 2


@given(made_up.any_explanations())
@settings(max_examples=40)
def test_contributions_and_attention_add_up_to_what_they_were(made: Explanation) -> None:
    for before, now in zip(made.texts, at_sentences(made).texts, strict=True):
        contributions = [
            sum(passage.contribution for passage in text.passages) for text in (before, now)
        ]
        assert contributions[1] == pytest.approx(contributions[0], abs=1e-9)
        for passage in now.passages:
            if passage.tokens and sum(token.attention for token in passage.tokens):
                assert sum(token.attention for token in passage.tokens) == pytest.approx(1)
        ends = [passage.end for passage in now.passages]
        assert ends == sorted(ends)
