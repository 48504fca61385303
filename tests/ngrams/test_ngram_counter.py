"""What the n-gram encoder counts: the most frequent n-grams, each once, and no topic."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from conftest import rich_rows
from hypothesis import example, given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.ngrams import table as ngrams
from adhominem.ngrams.config import NgramConfig
from adhominem.ngrams.counter import NgramCounter
from adhominem.ngrams.table import NgramOptions, NgramTable, shape, spell
from adhominem.text.tokenizer import Tokenizer

Names = list[tuple[str, Any]]  # of columns: the channel, and what is counted

words = st.one_of(
    st.sampled_from(["the", "a", "of", ",", ".", "was", "gas", "The", "GPU", "1984", "don't"]),
    st.text("abA-'9.", min_size=1, max_size=6),
)
texts = st.lists(words, min_size=1, max_size=30)
some_texts = st.lists(texts, min_size=1, max_size=4)
FEW = NgramOptions(
    longest=3, characters=30, tokens=6, bigrams=8, shaped_bigrams=12, unmasked=3, shapes=7
)


def table_of(documents: list[list[str]], options: NgramOptions = FEW) -> NgramTable:
    types = list(dict.fromkeys(token for document in documents for token in document))
    number = {each: at for at, each in enumerate(types)}
    tokens = np.array([number[token] for document in documents for token in document], np.uint32)
    whose = np.repeat(np.arange(len(documents)), [len(document) for document in documents])
    return NgramTable.build(types, tokens, whose, options)


def slow_ngrams(tokens: list[str], table: NgramTable) -> Counter[tuple[str, Any]]:
    """Everything in a text that a column could be of, one by one; None is a mask."""
    found: Counter[tuple[str, Any]] = Counter()
    for token in tokens:
        marked = "\x02" + token[:40] + "\x03"
        for begin in range(len(marked)):
            for end in range(begin + 1, min(begin + table.longest, len(marked)) + 1):
                found["characters", marked[begin:end]] += marked[begin:end] not in "\x02\x03"
        found["tokens", token] += 1
    shown = table.tokens[: table.unmasked]
    for one, other in pairwise(tokens):
        pair = tuple(token if token in shown else None for token in (one, other))
        found["bigrams", pair] += pair != (None, None)
        pair = tuple(token if token in shown else shape(token) for token in (one, other))
        pair = tuple(symbol if symbol in table.symbols else None for symbol in pair)
        found["shaped_bigrams", pair] += pair != (None, None)
    return found


def names_of(table: NgramTable) -> Names:
    """What each column is of."""
    masked = (None, *table.tokens[: table.unmasked])
    shaped = (None, *table.symbols)

    def pairs(codes: Any, symbols: tuple[str | None, ...]) -> list[tuple[str | None, ...]]:
        return [(symbols[code // len(symbols)], symbols[code % len(symbols)]) for code in codes]

    return [
        *(("characters", gram) for gram in table.characters),
        *(("tokens", token) for token in table.tokens),
        *(("bigrams", pair) for pair in pairs(table.bigrams, masked)),
        *(("shaped_bigrams", pair) for pair in pairs(table.shaped_bigrams, shaped)),
    ]


# The table


@given(some_texts, st.integers(1, 40))
def test_the_table_has_the_most_frequent_of_each_channel_in_order(
    documents: list[list[str]], size: int
) -> None:
    options = NgramOptions(
        longest=3, characters=size, tokens=size, bigrams=size, shaped_bigrams=size, unmasked=1
    )
    table = table_of(documents, options)
    everything: Counter[tuple[str, Any]] = Counter()
    for document in documents:  # no bigram reaches from one document into the next
        everything += slow_ngrams(document, table)
    for channel in ngrams.CHANNELS:
        counts = {name: n for (kind, name), n in everything.items() if kind == channel}
        chosen = [counts[name] for kind, name in names_of(table) if kind == channel]
        assert chosen == sorted(counts.values(), reverse=True)[:size]


@given(some_texts)
def test_symbols_are_the_most_frequent_types_and_shapes(documents: list[list[str]]) -> None:
    table = table_of(documents)
    assert table.unmasked == min(FEW.unmasked, len(table.tokens))
    shown = table.tokens[: table.unmasked]
    counts = Counter(token if token in shown else shape(token) for d in documents for token in d)
    chosen = [counts[symbol] for symbol in table.symbols]
    assert chosen == sorted(counts.values(), reverse=True)[: FEW.shapes]


@given(some_texts, st.integers(1, 10), st.integers(0, 10))
def test_a_smaller_table_is_the_beginning_of_a_larger_one(
    documents: list[list[str]], size: int, more: int
) -> None:
    small, large = (
        table_of(
            documents,
            NgramOptions(characters=n, tokens=n, bigrams=n, shaped_bigrams=n, unmasked=1),
        )
        for n in (size, size + more)
    )
    for channel in ngrams.CHANNELS:
        longer = list(getattr(large, channel))
        assert list(getattr(small, channel)) == longer[:size]


@given(some_texts)
def test_no_two_columns_are_of_the_same_and_channels_follow_each_other(
    documents: list[list[str]],
) -> None:
    table = table_of(documents)
    names = names_of(table)
    assert len(set(names)) == len(names) == sum(table.sizes)
    for channel, part in zip(ngrams.CHANNELS, table.channels, strict=True):
        assert [kind for kind, _ in names[part]] == [channel] * (part.stop - part.start)
    assert [at for part in table.channels for at in range(len(names))[part]] == list(
        range(len(names))
    )


@pytest.mark.parametrize(
    ("setting", "value"),
    [("longest", 0), ("characters", 0), ("tokens", -1), ("bigrams", 0), ("shapes", 0)],
)
def test_options_that_count_nothing_are_refused(setting: str, value: int) -> None:
    with pytest.raises(OptionError, match=f"{setting} is {value}; expected 1 to"):
        NgramOptions(**{setting: value})  # type: ignore[arg-type]


def test_more_unmasked_types_than_tokens_are_refused() -> None:
    with pytest.raises(
        OptionError, match="unmasked is 401, tokens 400; expected unmasked <= tokens"
    ):
        NgramConfig(ngrams=NgramOptions(tokens=400, unmasked=401))


# Counting


@given(some_texts, texts)
def test_counts_are_those_of_looking_at_every_ngram_by_itself(
    documents: list[list[str]], text: list[str]
) -> None:
    table = table_of(documents)
    counter = NgramCounter(table)
    for tokens in (text, documents[0], text):  # what it remembers of types changes nothing
        slow = slow_ngrams(tokens, table)
        assert counter.count(tokens).tolist() == [slow[name] for name in names_of(table)]


@pytest.mark.parametrize("limit", ["_MOST_TYPES", "_MOST_CHARACTERS"])
def test_a_counter_that_has_to_forget_counts_the_same(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [row["text"].split() for row in rich_rows("letters", 3, 2)]
    table = table_of(documents)
    expected = [NgramCounter(table).count(each) for each in documents]
    monkeypatch.setattr(NgramCounter, limit, 10)
    counter = NgramCounter(table)
    for _ in range(2):
        found = [counter.count(each) for each in documents]
        np.testing.assert_array_equal(found, expected)
    assert len(counter._known) <= len(set(documents[-1]))


def test_many_threads_count_what_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [row["text"].split() for row in rich_rows("letters", 4, 2)]
    table = table_of(documents)
    expected = [NgramCounter(table).count(each) for each in documents]
    monkeypatch.setattr(NgramCounter, "_MOST_TYPES", 60)  # so that it also forgets meanwhile
    threads = len(documents)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(20):
                counter, start = NgramCounter(table), Barrier(threads)

                def counted(
                    first: int, counter: NgramCounter = counter, start: Barrier = start
                ) -> list[Any]:
                    start.wait(60)
                    return [counter.count(documents[first - at]) for at in range(threads)]

                for first, found in enumerate(pool.map(counted, range(threads))):
                    own = [expected[first - at] for at in range(threads)]
                    np.testing.assert_array_equal(found, own)
    finally:
        sys.setswitchinterval(interval)


@given(some_texts, texts, st.randoms(use_true_random=False))
def test_bigrams_do_not_tell_one_masked_type_from_another(
    documents: list[list[str]], text: list[str], rng: Any
) -> None:
    table = table_of(documents)
    shown = table.tokens[: table.unmasked]
    others = [word for word in ("gas", "Paris", "7", "x") if word not in shown]
    hidden = [token if token in shown else rng.choice(others) for token in text]
    counter, channel = NgramCounter(table), table.channels[2]
    np.testing.assert_array_equal(counter.count(text)[channel], counter.count(hidden)[channel])


@given(some_texts, texts)
def test_shaped_bigrams_tell_no_more_of_a_masked_type_than_its_shape(
    documents: list[list[str]], text: list[str]
) -> None:
    table = table_of(documents)
    shown = table.tokens[: table.unmasked]

    def other_of_this_shape(token: str) -> str:
        changed = token[:1] + "bbbbbbbb" + token[-2:] if token.isalpha() else token
        return changed if shape(changed) == shape(token) else token

    hidden = [token if token in shown else other_of_this_shape(token) for token in text]
    counter, channel = NgramCounter(table), table.channels[3]
    np.testing.assert_array_equal(counter.count(text)[channel], counter.count(hidden)[channel])


@given(some_texts, texts)
def test_occurrences_are_where_each_ngram_is(documents: list[list[str]], text: list[str]) -> None:
    table = table_of(documents)
    names = names_of(table)
    pairs = zip(*NgramCounter(table).occurrences(text), strict=True)
    found = Counter((names[column], int(place)) for column, place in pairs)
    slow: Counter[tuple[tuple[str, Any], int]] = Counter()
    for at, token in enumerate(text):
        for name, count in slow_ngrams([token], table).items():
            slow[name, at] += count
        if at + 1 < len(text):
            for name, count in slow_ngrams([token, text[at + 1]], table).items():
                slow[name, at] += count * name[0].endswith("bigrams")
    assert found == Counter({key: n for key, n in slow.items() if n and key[0] in names})


@given(some_texts, texts)
def test_occurrences_counted_are_the_counts(documents: list[list[str]], text: list[str]) -> None:
    table = table_of(documents)
    counter = NgramCounter(table)
    columns, places = counter.occurrences(text)
    assert len(columns) == len(places)
    found = np.bincount(columns, minlength=sum(table.sizes))
    np.testing.assert_array_equal(found, counter.count(text))


# Names


@given(some_texts)
def test_an_ngram_is_named_by_what_its_column_counts(documents: list[list[str]]) -> None:
    table = table_of(documents)
    for column, (channel, name) in enumerate(names_of(table)):
        ngram = table.ngram(column)
        assert ngrams.CHANNELS[ngram.channel] == channel
        parts = tuple(None if part == ngrams.MASK else part for part in ngram.parts)
        assert parts == (name if isinstance(name, tuple) else (name,))


@given(some_texts)
def test_a_text_of_nothing_but_an_ngram_has_it_in_its_column(documents: list[list[str]]) -> None:
    table = table_of(documents)
    counter = NgramCounter(table)
    shown = table.tokens[: table.unmasked]
    types = sorted({token for document in documents for token in document})

    def with_symbol(symbol: str, channel: int) -> str:
        """A token that is counted as this one."""
        for token in types:
            known = token if token in shown else shape(token) if channel == 3 else ""
            if channel == 3 and known not in table.symbols:
                known = ""
            if (known or ngrams.MASK) == symbol:
                return token
        raise AssertionError(symbol)

    for column in range(sum(table.sizes)):
        ngram = table.ngram(column)
        if ngram.channel == 0:
            text = [ngram.parts[0].strip(ngrams.START + ngrams.END)]
        elif ngram.channel == 1:
            text = [ngram.parts[0]]
        else:
            text = [with_symbol(part, ngram.channel) for part in ngram.parts]
        assert counter.count(text)[column] >= 1
        if ngram.channel:
            assert counter.count(text)[column] == 1
            assert counter.count(text)[table.channels[ngram.channel]].sum() == 1


# Shapes and letters


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("Quickly", "~Cly"),
        ("running", "~wng"),
        ("NASA", "~Usa"),
        ("I", "~Ci"),
        ("a", "~wa"),
        ("twenty-four", "~w-ur"),
        ("don't", "~w''t"),
        ("o'clock-ish", "~w-'sh"),
        ("1984", "~#"),
        ("3.5", "~#"),
        ("...", "~."),
        (",", "~,"),
        ("'tis", "~'"),
    ],
)
def test_a_shape_is_case_signs_and_ending(token: str, expected: str) -> None:
    assert shape(token) == expected


@given(st.text())
@example("play and #1 way")
def test_a_shape_is_never_a_token_that_is_spelled_without_its_mark(text: str) -> None:
    tokens = Tokenizer().tokens(text)
    shapes = {shape(token) for token in tokens}
    assert all(each.startswith("~") for each in shapes)
    assert not shapes & {token for token in tokens if not token.startswith("~")}


def test_a_masked_word_is_not_counted_as_the_word_that_its_shape_spells() -> None:
    documents = [["way", "way", "way", "play", "here"], ["way", "here"]]
    options = NgramOptions(tokens=3, unmasked=1, shapes=9)
    table = table_of(documents, options)
    assert table.tokens[0] == "way"
    assert shape("play") == "~way"
    column = names_of(table).index(("shaped_bigrams", ("way", "~wre")))
    counter = NgramCounter(table)
    assert counter.count(["way", "here"])[column] == 1
    assert counter.count(["play", "here"])[column] == 0


@given(st.text("abcdefghij", min_size=3, max_size=9), st.text("klmnop", max_size=9))
def test_the_middle_of_a_word_is_not_in_its_shape(word: str, middle: str) -> None:
    for token in (word, word.capitalize()):
        assert shape(token[0] + middle + token[-2:]) == shape(token[0] + token[-2:])


@given(st.text("ab-", min_size=1, max_size=60), st.integers(1, 5))
def test_spelling_gives_all_pieces_with_marks_at_both_ends(token: str, longest: int) -> None:
    marked = f"\x02{token[:40]}\x03"
    pieces = [
        marked[begin:end]
        for begin in range(len(marked))
        for end in range(begin + 1, len(marked) + 1)
        if end - begin <= longest
    ]
    pieces = [piece for piece in pieces if piece not in ("\x02", "\x03")]
    assert Counter(spell(token, longest)) == Counter(pieces)
