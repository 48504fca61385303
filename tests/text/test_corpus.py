"""Labels say of each document what is known, by index into lists of names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.text.corpus import LABELS, UNKNOWN_LABEL, LabelCollector, Labels, PackedCorpus
from adhominem.text.files import Document

names = st.sampled_from(["", "a", "b", "c"])
rows = st.lists(st.tuples(names, names, names, names), max_size=12)


def collect(rows: list[tuple[str, str, str, str]]) -> Labels:
    collector = LabelCollector()
    for author, topic, work, corpus in rows:
        collector.add(Document(text="x", author=author, topic=topic, work=work), corpus)
    return collector.labels()


THREE = collect([("ann", "cats", "", "blogs"), ("bob", "", "W", "blogs"), ("ann", "", "", "mail")])


def test_labels_index_names_in_order_of_appearance() -> None:
    assert THREE.author_names == ["ann", "bob"]
    assert THREE.author.tolist() == [0, 1, 0]
    assert THREE.corpus_names == ["blogs", "mail"]
    assert THREE.corpus.tolist() == [0, 0, 1]


def test_unknown_topics_and_works_have_no_name() -> None:
    assert (THREE.topic_names, THREE.topic.tolist()) == (
        ["cats"],
        [0, UNKNOWN_LABEL, UNKNOWN_LABEL],
    )
    assert (THREE.work_names, THREE.work.tolist()) == (["W"], [UNKNOWN_LABEL, 0, UNKNOWN_LABEL])


@given(rows)
def test_every_label_leads_back_to_its_document(rows: list[tuple[str, str, str, str]]) -> None:
    labels = collect(rows)
    assert len(labels) == len(rows)
    for column, kind in enumerate(LABELS):
        index, names = getattr(labels, kind), getattr(labels, f"{kind}_names")
        assert index.dtype == np.int32
        assert len(set(names)) == len(names)
        assert set(index.tolist()) - {UNKNOWN_LABEL} == set(range(len(names)))
        values = ["" if i == UNKNOWN_LABEL else names[i] for i in index]
        assert values == [row[column] for row in rows]


@given(rows, st.data())
def test_selecting_takes_the_labels_of_these_documents_with_all_names(
    rows: list[tuple[str, str, str, str]], data: st.DataObject
) -> None:
    labels = collect(rows)
    documents = np.flatnonzero(
        data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    )
    chosen = labels.select(documents)
    assert len(chosen) == len(documents)
    for kind in LABELS:
        assert getattr(chosen, f"{kind}_names") == getattr(labels, f"{kind}_names")
        assert getattr(chosen, kind).tolist() == [getattr(labels, kind)[i] for i in documents]


@pytest.mark.parametrize("kind", LABELS)
def test_an_index_without_a_name_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=f"{kind} labels do not fit"):
        replace(THREE, **{kind: np.array([0, 0, 2], dtype=np.int32)})


@pytest.mark.parametrize("kind", ["topic", "work", "corpus"])
def test_labels_of_another_number_of_documents_are_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=f"{kind} labels do not fit"):
        replace(THREE, **{kind: np.array([0, 0], dtype=np.int32)})


def packed(texts: list[list[str]]) -> PackedCorpus:
    types = list(dict.fromkeys(token for text in texts for token in text))
    tokens = [types.index(token) for text in texts for token in text]
    return PackedCorpus(
        tokens=np.array(tokens, dtype=np.uint32),
        offsets=np.cumsum([0, *map(len, texts)]),
        labels=collect([("a", "", "", "c")] * len(texts)),
        ids=[str(at) for at in range(len(texts))],
        types=types,
        topic_tokens=np.zeros(0, np.uint32),
        topic_offsets=np.zeros(1, np.int64),
        description={},
    )


# Texts with the same beginning, often of the same length; 40 tokens are more than a head.
token_lists = st.tuples(st.sampled_from([0, 8, 40]), st.text("abc", min_size=1, max_size=3)).map(
    lambda drawn: ["x"] * drawn[0] + list(drawn[1])
)


@given(st.lists(token_lists, min_size=1, max_size=9), st.lists(token_lists, min_size=1, max_size=9))
def test_texts_of_another_corpus_are_found_by_their_tokens_whatever_their_numbers(
    ours: list[list[str]], theirs: list[list[str]]
) -> None:
    expected = [at for at, text in enumerate(ours) if len(text) >= 10 and text in theirs]
    assert packed(ours).also_in(packed(theirs)) == expected
