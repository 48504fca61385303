"""Tokens as numbers: the same tokens, and no more of them remembered than may be."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich_texts import rich_texts

from adhominem.text import tokenizer as tokenizer_module
from adhominem.text.lexicon import Lexicon, Numbered
from adhominem.text.tokenizer import Tokenizer

tokenizer = Tokenizer()
documents = st.lists(st.lists(st.text(min_size=1, max_size=3), max_size=9), max_size=5)


@given(documents)
def test_numbers_are_those_of_types_in_the_order_in_which_they_were_first_seen(
    tokenized: list[list[str]],
) -> None:
    numbered = Numbered.of(tokenized)
    types = numbered.lexicon.types
    assert types == list(dict.fromkeys(token for tokens in tokenized for token in tokens))
    for tokens, numbers in zip(tokenized, numbered.documents, strict=True):
        assert [types[number] for number in numbers] == tokens
    assert len(numbered.lexicon) == len(types)
    assert numbered.lengths.tolist() == [len(tokens) for tokens in tokenized]
    assert [types[number] for number in numbered.row] == [t for row in tokenized for t in row]


@given(st.lists(st.one_of(rich_texts, st.text("ab1,;!?.:'\"- ", max_size=20)), max_size=5))
@example(["a1, b; c! d? e,, 5, x?! ab.; ;a a;b", "", "a1, b."])
def test_the_numbers_of_a_text_are_those_of_its_tokens(texts: list[str]) -> None:
    lexicon = Lexicon()
    for text in (*texts, *texts):
        numbers = tokenizer.numbers(text, lexicon)
        assert [lexicon.types[number] for number in numbers] == Tokenizer().tokens(text)


@given(st.text("aB9,;!?", min_size=1, max_size=6))
def test_what_the_rules_are_spared_is_split_as_they_would(chunk: str) -> None:
    split = dict(tokenizer._split_new({chunk}))[chunk]
    assert list(split) == [token for token, _ in tokenizer._by_the_rules(chunk)]


def test_a_large_lexicon_is_followed_by_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_module, "_MOST_TYPES", 10)
    fresh = Tokenizer()
    first = fresh.lexicon()
    fresh.numbers("one two three", first)
    assert fresh.lexicon() is first
    fresh.numbers(" ".join(map(str, range(20))), first)
    assert fresh.lexicon() is not first
    assert len(fresh.lexicon()) == 0
    monkeypatch.setattr(Tokenizer, "_MOST_CHARACTERS", 20)  # of types and chunks, each
    second = fresh.lexicon()
    fresh.numbers("x" * 30, second)
    assert fresh.lexicon() is not second


def test_threads_that_share_a_lexicon_agree_on_the_numbers() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    texts = [" ".join(f"{letter}{n}" for n in range(200)) for letter in "abcdefgh"] * 2
    try:
        for _ in range(5):
            lexicon = Lexicon()
            with ThreadPoolExecutor(8) as pool:
                rows = list(pool.map(lambda text, to=lexicon: tokenizer.numbers(text, to), texts))  # type: ignore[misc]
            for text, numbers in zip(texts, rows, strict=True):
                assert [lexicon.types[number] for number in numbers] == text.split()
            assert len(set(lexicon.types)) == len(lexicon) == 1_600
    finally:
        sys.setswitchinterval(interval)


def test_no_documents_have_no_tokens() -> None:
    empty = Numbered.of([])
    assert empty.row.shape == (0,)
    assert empty.row.dtype == empty.lengths.dtype == np.int64


@given(
    st.lists(
        st.lists(st.text("abc\u00e9\U0001f600", min_size=1, max_size=3), max_size=9), max_size=5
    )
)
def test_texts_from_another_process_are_the_same_in_another_lexicon(
    tokenized: list[list[str]],
) -> None:
    sent = pickle.loads(pickle.dumps(Numbered.of(tokenized)))
    lexicon = Lexicon()
    lexicon.number(["b", "zebra"])
    numbered = sent.numbered_by(lexicon)
    told = [[lexicon.types[number] for number in tokens] for tokens in numbered.documents]
    assert told == tokenized
