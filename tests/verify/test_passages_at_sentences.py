"""Passages that begin at sentences contribute, all together, what they did before."""

from __future__ import annotations

import made_up
import pytest
from hypothesis import given, settings

from adhominem.text.sentences import sentence_starts, word_spans
from adhominem.verify.explanation import SHORTEST, Explanation, at_sentences


def test_passages_begin_at_sentences_and_are_long_enough() -> None:
    made = made_up.explanation(made_up.FIRST * 30, made_up.SECOND * 30)
    for before, text in zip(made.texts, at_sentences(made).texts, strict=True):
        spans = word_spans(text.text)
        starts = {*spans[sentence_starts(text.text, spans), 0].tolist(), before.passages[0].start}
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
