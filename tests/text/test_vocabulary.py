"""The vocabulary knows the most frequent token types of the training authors, and no others."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich_texts import rich_texts

from adhominem.errors import OptionError
from adhominem.text.corpus import UNKNOWN_LABEL
from adhominem.text.tokenizer import Tokenizer
from adhominem.text.vocabulary import (
    NO_TOPIC,
    PADDING,
    SPECIAL,
    UNKNOWN,
    Vocabulary,
    VocabularyOptions,
    WindowOptions,
    count_windows,
    crop_starts,
    hide_topics,
    prefix_tokens,
    spread_starts,
)

TYPES = ["the", "cat", "Hagrid", "a", "sat", "unseen"]
COUNTS = np.array([9, 2, 1, 9, 2, 0])


def build(token_types: int = 5_000, character_types: int = 300, length: int = 15) -> Vocabulary:
    options = VocabularyOptions(
        token_types=token_types, character_types=character_types, characters_per_token=length
    )
    return Vocabulary.build(TYPES, COUNTS, options)


def test_the_most_frequent_types_come_first_and_ties_go_by_the_alphabet() -> None:
    assert build().token_types == ("a", "the", "cat", "sat", "Hagrid")
    assert build(token_types=3).token_types == ("a", "the", "cat")


def test_types_that_training_authors_never_use_do_not_enter() -> None:
    vocabulary = build()
    assert "unseen" not in vocabulary.token_types
    assert not set("un") & set(vocabulary.characters)
    assert vocabulary.token_ids(["unseen"]).tolist() == [UNKNOWN]


def test_padding_and_unknown_have_the_first_ids() -> None:
    assert (PADDING, UNKNOWN) == (0, 1)
    assert SPECIAL[PADDING] == "<PAD>"
    assert SPECIAL[UNKNOWN] == "<UNK>"


def test_rare_types_become_unknown_but_keep_their_characters() -> None:
    vocabulary = build(token_types=2)
    assert vocabulary.token_ids(["the", "Hagrid", "a", "x"]).tolist() == [3, UNKNOWN, 2, UNKNOWN]
    spelled = vocabulary.character_ids(["Hagrid"])[0]
    names = [*SPECIAL, *vocabulary.characters]
    assert [names[id] for id in spelled] == [*"Hagrid", *["<PAD>"] * 9]


def test_a_token_spelled_like_a_special_name_does_not_get_its_id() -> None:
    vocabulary = Vocabulary.build(["<PAD>", "<UNK>"], np.array([5, 3]))
    assert vocabulary.token_ids(["<PAD>", "<UNK>"]).tolist() == [2, 3]


def test_characters_are_weighted_by_how_often_their_tokens_occur() -> None:
    vocabulary = Vocabulary.build(["zz", "abc", "a"], np.array([5, 1, 2]))
    assert vocabulary.characters == ("z", "a", "b", "c")  # 10, 3, 1, 1


def test_rare_characters_become_unknown() -> None:
    vocabulary = Vocabulary.build(["aab"], np.array([1]), VocabularyOptions(character_types=1))
    assert vocabulary.character_ids(["ab"]).tolist() == [[2, UNKNOWN, *[PADDING] * 13]]


def test_only_the_first_characters_of_a_token_are_kept() -> None:
    vocabulary = build(length=4)
    table = vocabulary.character_ids(["the", "Hagrid"])
    assert table.shape == (2, 4)
    assert table[0, 3] == PADDING
    np.testing.assert_array_equal(table[1], vocabulary.character_ids(["Hagr"])[0])


def test_no_types_give_empty_tables_of_the_right_shape() -> None:
    assert build().token_ids([]).shape == (0,)
    assert build().character_ids([]).shape == (0, 15)


def test_types_and_counts_must_be_of_one_length() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Vocabulary.build(["a", "b"], np.array([1]))


@pytest.mark.parametrize("name", ["token_types", "character_types", "characters_per_token"])
def test_sizes_below_one_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name} is 0; expected 1 to"):
        VocabularyOptions(**{name: 0})


words = st.text("abcé😂", min_size=1, max_size=6)


@given(st.lists(words), st.permutations(range(5)), st.integers(1, 20), st.integers(1, 4))
def test_the_choice_is_that_of_counting_the_whole_text(
    text: list[str], order: list[int], token_types: int, character_types: int
) -> None:
    counted = Counter(text)
    types = sorted(counted, key=lambda kind: order[len(kind) % 5])  # in whatever order
    vocabulary = Vocabulary.build(
        types,
        np.array([counted[kind] for kind in types], dtype=np.int64),
        VocabularyOptions(token_types=token_types, character_types=character_types),
    )
    assert vocabulary.token_types == _slow_choice(text, token_types)
    assert vocabulary.characters == _slow_choice([*"".join(text)], character_types)


def _slow_choice(names: list[str], size: int) -> tuple[str, ...]:
    by_alphabet = sorted(set(names))
    return tuple(sorted(by_alphabet, key=names.count, reverse=True)[:size])


@given(st.lists(words, unique=True), st.lists(words), st.integers(1, 8))
def test_ids_lead_back_to_what_they_stand_for(
    types: list[str], text: list[str], length: int
) -> None:
    counts = np.arange(1, len(types) + 1)
    options = VocabularyOptions(token_types=4, character_types=3, characters_per_token=length)
    vocabulary = Vocabulary.build(types, counts, options)
    tokens = [*SPECIAL, *vocabulary.token_types]
    for token, id in zip(text, vocabulary.token_ids(text), strict=True):
        assert tokens[id] == (token if token in vocabulary.token_types else "<UNK>")
    characters = [*SPECIAL, *vocabulary.characters]
    for token, row in zip(text, vocabulary.character_ids(text), strict=True):
        spelled = [c if c in vocabulary.characters else "<UNK>" for c in token[:length]]
        assert [characters[id] for id in row] == spelled + ["<PAD>"] * (length - len(spelled))


# Windows cover a document, each adds something, and of too many an even spread is kept.


PAPER = WindowOptions()
lengths = st.integers(1, 400)
options = st.builds(
    WindowOptions,
    hop=st.integers(1, 30),
    overlap=st.integers(0, 30),
    max_windows=st.integers(1, 12),
)
UNLIMITED = 10_000


def slow_starts(tokens: int, hop: int, width: int) -> list[int]:
    """Set windows one after another until nothing is left."""
    starts = [0]
    while starts[-1] + width < tokens:
        starts.append(starts[-1] + hop)
    return starts


@pytest.mark.parametrize(
    ("tokens", "windows"),
    [(1, 1), (4, 1), (25, 1), (29, 1), (30, 2), (54, 2), (55, 3), (79, 3), (80, 4), (5254, 210)],
)
def test_windows_of_hand_made_lengths(tokens: int, windows: int) -> None:
    assert int(count_windows(tokens, PAPER)) == windows
    np.testing.assert_array_equal(spread_starts(tokens, PAPER), 25 * np.arange(windows))


def test_a_window_is_hop_and_overlap_wide_and_the_longest_document_fits_exactly() -> None:
    assert PAPER.width == 29
    assert PAPER.max_tokens == 5254
    assert int(count_windows(PAPER.max_tokens, PAPER)) == PAPER.max_windows
    assert int(count_windows(PAPER.max_tokens + 1, PAPER)) == PAPER.max_windows + 1


@given(st.lists(lengths, max_size=5), options)
def test_counting_is_that_of_setting_them_one_by_one(
    tokens: list[int], sizes: WindowOptions
) -> None:
    counts = count_windows(tokens, sizes)
    assert counts.tolist() == [len(slow_starts(n, sizes.hop, sizes.width)) for n in tokens]


@given(lengths, st.integers(1, 30), st.integers(0, 30))
def test_windows_cover_every_token_and_each_adds_one(tokens: int, hop: int, overlap: int) -> None:
    sizes = WindowOptions(hop=hop, overlap=overlap, max_windows=UNLIMITED)
    covered: set[int] = set()
    for start in spread_starts(tokens, sizes):
        window = set(range(start, min(start + sizes.width, tokens)))
        assert window - covered  # so that it does not lie inside the one before it
        covered |= window
    assert covered == set(range(tokens))


@given(lengths, options)
def test_windows_are_at_most_max_windows_of_all_with_the_first_and_the_last(
    tokens: int, sizes: WindowOptions
) -> None:
    starts = spread_starts(tokens, sizes).tolist()
    every = slow_starts(tokens, sizes.hop, sizes.width)
    assert len(starts) == min(len(every), sizes.max_windows)
    assert starts == sorted(set(starts))
    assert set(starts) <= set(every)
    assert starts[0] == 0
    if sizes.max_windows > 1:
        assert starts[-1] == every[-1]


@given(lengths, options)
def test_windows_are_spread_evenly(tokens: int, sizes: WindowOptions) -> None:
    gaps = np.diff(spread_starts(tokens, sizes)) // sizes.hop
    assert np.ptp(gaps) <= 1 if len(gaps) else True


long_and_short = st.lists(st.integers(1, 200), max_size=20)


def test_the_first_windows_are_taken_where_they_are_not_to_be_spread() -> None:
    sizes = WindowOptions(hop=25, overlap=4, max_windows=3, spread=False)
    assert spread_starts(10_000, sizes).tolist() == [0, 25, 50]
    assert spread_starts(40, sizes).tolist() == [0, 25]


@given(long_and_short, options, st.integers(0, 99))
def test_crops_lie_inside_and_what_fits_is_read_from_the_beginning(
    tokens: list[int], sizes: WindowOptions, seed: int
) -> None:
    starts = crop_starts(tokens, sizes, np.random.default_rng(seed))
    assert starts.shape == (len(tokens),)
    for start, length in zip(starts, tokens, strict=True):
        if length <= sizes.max_tokens:
            assert start == 0
        else:
            assert 0 <= start <= length - sizes.max_tokens


@given(long_and_short, options, st.integers(0, 99))
def test_the_same_seed_gives_the_same_crops(
    tokens: list[int], sizes: WindowOptions, seed: int
) -> None:
    first, second = (crop_starts(tokens, sizes, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_share_of_random_crops_is_the_one_asked_for(share: float) -> None:
    sizes = WindowOptions(random_crop=share)
    tokens = np.full(4_000, sizes.max_tokens + 1_000_000)  # where a random crop is hardly ever 0
    starts = crop_starts(tokens, sizes, np.random.default_rng(1))
    assert abs((starts > 0).mean() - share) < (0.03 if 0 < share < 1 else 1e-9)


def test_random_crops_fall_everywhere_alike() -> None:
    sizes = WindowOptions(random_crop=1)
    tokens = np.full(5_000, sizes.max_tokens + 4)
    starts = crop_starts(tokens, sizes, np.random.default_rng(2))
    shares = np.bincount(starts, minlength=5) / len(starts)
    assert shares.shape == (5,)
    assert np.abs(shares - 0.2).max() < 0.03


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hop": 0}, "hop is 0"),
        ({"overlap": -1}, "overlap is -1"),
        ({"max_windows": 0}, "max_windows is 0"),
        ({"random_crop": 1.5}, "random_crop is 1.5"),
        ({"random_crop": -0.1}, "random_crop is -0.1"),
        ({"random_crop": float("nan")}, "random_crop is nan"),
    ],
)
def test_sizes_that_cannot_work_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        WindowOptions(**settings)  # type: ignore[arg-type]


# The contextual prefix: the topic's ASCII tokens, hidden now and then.


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
