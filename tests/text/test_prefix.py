"""The contextual prefix: the topic's ASCII tokens, hidden now and then."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich_texts import rich_texts

from adhominem.errors import OptionError
from adhominem.text.corpus import UNKNOWN_LABEL
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import NO_TOPIC, hide_topics, prefix_tokens

tokenizer = Tokenizer()
TOPICS = np.array([0, 3, NO_TOPIC, 2, 3], dtype=np.int32)


@pytest.mark.parametrize(
    ("topic", "tokens"),
    [
        ("Harry Potter", ["Harry", "Potter"]),
        ("Pokémon", ["Pokmon"]),
        ("Star Wars - Rebels", ["Star", "Wars", "-", "Rebels"]),
        ("Digimon/デジモン", ["Digimon", "/"]),
        ("", []),
        ("デジモン", []),
        ("  ", []),
    ],
)
def test_a_prefix_is_the_topics_tokens_without_what_is_not_ascii(
    topic: str, tokens: list[str]
) -> None:
    assert prefix_tokens(topic, tokenizer) == tokens


@given(rich_texts)
def test_a_prefix_is_ascii_whatever_the_topic(topic: str) -> None:
    tokens = prefix_tokens(topic, tokenizer)
    assert all(token.isascii() for token in tokens)
    assert tokens == tokenizer.tokens("".join(c for c in topic if ord(c) < 128))


def test_an_unknown_topic_in_the_labels_is_no_topic_here() -> None:
    assert NO_TOPIC == UNKNOWN_LABEL


def test_a_share_of_none_hides_nothing_and_a_share_of_all_everything() -> None:
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(hide_topics(TOPICS, 0, rng), TOPICS)
    np.testing.assert_array_equal(hide_topics(TOPICS, 1, rng), np.full(5, NO_TOPIC))


def test_half_of_the_topics_are_hidden_and_the_rest_stay() -> None:
    topics = np.arange(4_000, dtype=np.int32)
    hidden = hide_topics(topics, 0.5, np.random.default_rng(0))
    assert hidden.dtype == np.int32
    kept = hidden != NO_TOPIC
    np.testing.assert_array_equal(hidden[kept], topics[kept])
    assert abs(kept.mean() - 0.5) < 0.03


def test_hiding_leaves_the_given_topics_alone() -> None:
    before = TOPICS.copy()
    hide_topics(TOPICS, 1, np.random.default_rng(0))
    np.testing.assert_array_equal(TOPICS, before)


@given(st.integers(0, 99), st.floats(0, 1))
def test_the_same_seed_hides_the_same_topics(seed: int, share: float) -> None:
    first, second = (hide_topics(TOPICS, share, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(OptionError, match=f"is {share}; expected 0 to 1"):
        hide_topics(TOPICS, share, np.random.default_rng(0))
