"""Batches hold exactly the tokens of the corpus, window by window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from adhominem.paper.network import Batch
from adhominem.paper.training import DeviceCorpus
from adhominem.text.corpus import UNKNOWN_LABEL, Labels, PackedCorpus
from adhominem.text.vocabulary import (
    SPECIAL,
    Vocabulary,
    WindowOptions,
    WindowTable,
    consecutive_windows,
    spread_starts,
    spread_windows,
)

CPU = torch.device("cpu")
lengths = st.lists(st.integers(1, 120), min_size=1, max_size=6)
options = st.builds(
    WindowOptions,
    hop=st.integers(1, 12),
    overlap=st.integers(0, 12),
    max_windows=st.integers(1, 8),
)
Row = tuple[int, int, int, int]  # document, position, start, count


def rows_of(table: WindowTable) -> list[Row]:
    columns = (table.documents, table.positions, table.starts, table.counts)
    return list(zip(*(column.tolist() for column in columns), strict=True))


# Windows


def slow_windows(length: int, start: int, some: WindowOptions) -> list[tuple[int, int]]:
    """Set windows one after another until nothing is left, or there are enough."""
    windows = [(start, min(some.width, length - start))]
    while windows[-1][0] + some.width < length and len(windows) < some.max_windows:
        at = windows[-1][0] + some.hop
        windows.append((at, min(some.width, length - at)))
    return windows


@given(lengths, options, st.data())
def test_consecutive_windows_are_those_set_one_by_one(
    tokens: list[int], some: WindowOptions, data: st.DataObject
) -> None:
    starts = [data.draw(st.integers(0, length - 1)) for length in tokens]
    slow = [
        (document, position, at, count)
        for document, (length, start) in enumerate(zip(tokens, starts, strict=True))
        for position, (at, count) in enumerate(slow_windows(length, start, some))
    ]
    assert rows_of(consecutive_windows(np.array(tokens), np.array(starts), some)) == slow


@given(lengths, options)
def test_spread_windows_are_those_of_each_document_by_itself(
    tokens: list[int], some: WindowOptions
) -> None:
    slow = [
        (document, position, start, min(some.width, length - start))
        for document, length in enumerate(tokens)
        for position, start in enumerate(spread_starts(length, some).tolist())
    ]
    assert rows_of(spread_windows(np.array(tokens), some)) == slow


@given(lengths, options)
def test_documents_that_fit_are_cut_alike_in_training_and_after(
    tokens: list[int], some: WindowOptions
) -> None:
    fitting = np.minimum(tokens, some.max_tokens)
    spread = spread_windows(fitting, some)
    consecutive = consecutive_windows(fitting, np.zeros_like(fitting), some)
    assert rows_of(consecutive) == rows_of(spread)


# Batches

TEXTS = [
    text.split()
    for text in (
        "the cat sat on the mat and the dog did not sit on any mat at all",
        "whether one says colour or color is a matter of where one was brought up",
        "no",
        "unbelievable incomprehensibilities and other long words of the same kind",
        "the the the the the the the the the the the the",
    )
]
TOPICS = [["cats", "and", "dogs"], ["spelling"], []]
TYPES = list(dict.fromkeys(token for text in [*TEXTS, *TOPICS] for token in text))


def packed_corpus() -> PackedCorpus:
    number = {kind: index for index, kind in enumerate(TYPES)}

    def pack(sequences: list[list[str]]) -> tuple[np.ndarray, np.ndarray]:
        tokens = np.array([number[t] for tokens in sequences for t in tokens], dtype=np.uint32)
        return tokens, np.cumsum([0, *map(len, sequences)])

    tokens, offsets = pack(TEXTS)
    topic_tokens, topic_offsets = pack(TOPICS)
    index = np.arange(len(TEXTS), dtype=np.int32)
    none = np.full(len(TEXTS), UNKNOWN_LABEL, dtype=np.int32)
    labels = Labels(
        author_names=[f"author {n}" for n in index],
        topic_names=[" ".join(topic) for topic in TOPICS],
        work_names=[],
        corpus_names=["one"],
        author=index,
        topic=np.array([0, 1, -1, 2, 0], dtype=np.int32),
        work=none,
        corpus=np.zeros_like(index),
    )
    return PackedCorpus(
        tokens, offsets, labels, [str(n) for n in index], TYPES, topic_tokens, topic_offsets, {}
    )


# Knows every type and character, so that ids lead back to strings.
EVERYTHING = Vocabulary(
    tuple(TYPES), tuple(sorted({c for kind in TYPES for c in kind})), characters_per_token=30
)
NARROW = WindowOptions(hop=3, overlap=1, max_windows=4)


def word(vocabulary: Vocabulary, id: int) -> str:
    return [*SPECIAL, *vocabulary.token_types][id]


def type_strings(batch: Batch, vocabulary: Vocabulary) -> list[str]:
    """The token types of a batch, by their characters."""
    characters = ["", "?", *vocabulary.characters]
    return ["".join(characters[id] for id in row) for row in batch.type_characters.tolist()]


def window_strings(batch: Batch, vocabulary: Vocabulary) -> list[list[str]]:
    kinds = type_strings(batch, vocabulary)
    return [
        [kinds[token] for token in row[:count]]
        for row, count in zip(batch.tokens.tolist(), batch.token_counts.tolist(), strict=True)
    ]


documents_of = st.lists(st.integers(0, len(TEXTS) - 1), min_size=1, max_size=6)
NO_TOPICS = np.full(6, UNKNOWN_LABEL, dtype=np.int32)


@given(documents_of, st.booleans(), st.data())
def test_each_window_holds_exactly_its_tokens(
    documents: list[int], spread: bool, data: st.DataObject
) -> None:
    corpus = DeviceCorpus(packed_corpus(), EVERYTHING, NARROW, CPU)
    tokens = corpus.lengths[documents]
    starts = [data.draw(st.integers(0, int(length) - 1)) for length in tokens]
    if spread:
        table = spread_windows(tokens, NARROW)
    else:
        table = consecutive_windows(tokens, np.array(starts), NARROW)
    batch = corpus.batch(np.array(documents), table, NO_TOPICS[: len(documents)])
    expected = [
        TEXTS[documents[document]][start : start + NARROW.width]
        for document, _, start, _ in rows_of(table)
    ]
    assert window_strings(batch, EVERYTHING) == expected
    assert batch.window_documents.tolist() == table.documents.tolist()
    assert batch.window_positions.tolist() == table.positions.tolist()
    assert batch.shape == (len(documents), 1 + max(table.positions))
    assert batch.tokens.shape == (len(table.starts), NARROW.width)


def test_the_windows_are_those_of_a_loop_over_the_text() -> None:
    packed = packed_corpus()
    corpus = DeviceCorpus(packed, EVERYTHING, NARROW, CPU)
    documents = np.arange(len(TEXTS))
    batch = corpus.batch(documents, spread_windows(corpus.lengths, NARROW), NO_TOPICS[:5])
    slow = []
    for document in documents:
        ids = packed.document(int(document)).astype(np.int64)
        for start in spread_starts(len(ids), NARROW).tolist():
            slow.append([TYPES[kind] for kind in ids[start : start + NARROW.width]])
    assert window_strings(batch, EVERYTHING) == slow


def test_each_type_stands_in_a_batch_once_with_its_word_and_its_characters() -> None:
    corpus = DeviceCorpus(packed_corpus(), EVERYTHING, WindowOptions(), CPU)
    documents = np.array([0, 4, 0])
    table = spread_windows(corpus.lengths[documents], WindowOptions())
    batch = corpus.batch(documents, table, NO_TOPICS[:3])
    kinds = type_strings(batch, EVERYTHING)
    assert sorted(kinds) == sorted({*TEXTS[0], *TEXTS[4]})
    assert [word(EVERYTHING, id) for id in batch.type_words.tolist()] == kinds


def test_a_rare_token_is_unknown_but_keeps_its_first_characters() -> None:
    common = Vocabulary(("the", "and"), tuple("abcdefghijklmnopqrstuvwxy"), characters_per_token=5)
    corpus = DeviceCorpus(packed_corpus(), common, WindowOptions(), CPU)
    batch = corpus.batch(
        np.array([3]), spread_windows(corpus.lengths[[3]], WindowOptions()), NO_TOPICS[:1]
    )
    (found,) = window_strings(batch, common)
    assert found == [token[:5] for token in TEXTS[3]]
    words = [word(common, batch.type_words[token]) for token in batch.tokens[0, : len(found)]]
    assert words == [token if token in ("the", "and") else "<UNK>" for token in TEXTS[3]]


# Topics


@pytest.mark.parametrize(
    "topics",
    [[0, 1, 2], [2, 2, 2], [-1, -1, -1], [1, -1, 0], [-1, 0, 0], [0, 2, -1]],
)
def test_topics_bring_their_prefixes_and_hidden_ones_none(topics: list[int]) -> None:
    packed = packed_corpus()
    own, of_words = " ".join(packed.topics[0]), packed.topics[1]  # topic 2 has none
    assert packed.topics == TOPICS
    vocabulary = replace(EVERYTHING, prefixes=(own, "nothing", *of_words))
    expected = [[0], list(range(2, 2 + len(of_words))), vocabulary.prefix_rows(TOPICS[2])]
    corpus = DeviceCorpus(packed, vocabulary, NARROW, CPU)
    documents = np.array([0, 1, 2])
    table = spread_windows(corpus.lengths[documents], NARROW)
    batch = corpus.batch(documents, table, np.array(topics, dtype=np.int32))
    found: list[list[int]] = [[], [], []]
    for row, document in zip(batch.prefixes.tolist(), batch.prefix_documents.tolist(), strict=True):
        found[document].append(row)
    assert found == [expected[topic] if topic != UNKNOWN_LABEL else [] for topic in topics]


@pytest.mark.parametrize(
    ("topic", "rows"),
    [
        (["Harry", "Potter"], [1]),
        (["Harry", "Hole"], [0]),
        (["Potter", "Harry"], [2, 0]),
        (["Hole"], []),
        ([], []),
    ],
)
def test_a_topic_has_its_own_prefix_or_those_of_its_words(
    topic: list[str], rows: list[int]
) -> None:
    vocabulary = Vocabulary((), (), prefixes=("Harry", "Harry Potter", "Potter"))
    assert vocabulary.prefix_rows(topic) == rows


def test_more_characters_than_a_short_integer_counts_keep_their_ids() -> None:
    packed = packed_corpus()
    many = [chr(0x10000 + n) for n in range(40_000)]
    vocabulary = Vocabulary(("the",), (*many, *EVERYTHING.characters), characters_per_token=30)
    corpus = DeviceCorpus(packed, vocabulary, WindowOptions(), CPU)
    batch = corpus.batch(
        np.array([0]), spread_windows(corpus.lengths[[0]], WindowOptions()), NO_TOPICS[:1]
    )
    assert window_strings(batch, vocabulary) == [TEXTS[0]]


def test_a_prepared_corpus_can_be_read_into_batches(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    from adhominem.text.prepare import prepare
    from adhominem.text.readers import find_sources

    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "One, two, two.", "author": "a", "topic": "Numbers"}\n', "utf-8")
    prepare(find_sources(path), tmp_path / "corpus")
    packed = PackedCorpus.open(tmp_path / "corpus")
    vocabulary = Vocabulary(
        tuple(packed.types), tuple(sorted(set("".join(packed.types)))), prefixes=("Numbers",)
    )
    corpus = DeviceCorpus(packed, vocabulary, WindowOptions(), CPU)
    batch = corpus.batch(
        np.array([0]), spread_windows(corpus.lengths, WindowOptions()), packed.labels.topic
    )
    assert window_strings(batch, vocabulary) == [["One", ",", "two", ",", "two", "."]]
    assert batch.prefixes.tolist() == [0]
