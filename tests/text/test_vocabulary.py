"""The vocabulary knows the most frequent token types of the training authors, and no others."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adhominem.errors import OptionError
from adhominem.text.vocabulary import PADDING, SPECIAL, UNKNOWN, Vocabulary, VocabularyOptions

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
