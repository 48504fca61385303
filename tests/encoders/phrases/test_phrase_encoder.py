"""The phrase encoder: against dictionaries, whatever the batch, the case and the process."""

from __future__ import annotations

import subprocess
import sys
from hashlib import blake2b

import numpy as np
import pytest
from conftest import rich_rows
from hypothesis import given
from hypothesis import strategies as st

from adhominem.arrays import FloatArray, SparseRows
from adhominem.encoders.phrases import hashing
from adhominem.encoders.phrases.encoder import PhraseEncoder
from adhominem.encoders.phrases.hashing import TypeHashes, hash_of, phrases
from adhominem.encoders.protocol import spliced
from adhominem.text.lexicon import Lexicon, Numbered

TEXTS = [row["text"].split() for row in rich_rows("notes", 3, 3)]
SIZE = 499  # no power of two, and so few places that phrases share them
WEIGHTS = np.random.default_rng(0).uniform(0, 6, SIZE).astype(np.float16)
WEIGHTS[::7] = 0  # of phrases that nearly all texts have
ENCODER = PhraseEncoder(WEIGHTS, 3)
words = st.sampled_from(["the", "The", "of", "whilst", ".", ";-)", "Ünder", "x" * 50, "don't"])
some_texts = st.lists(st.lists(words, min_size=1, max_size=30), min_size=1, max_size=5)
BITS = 2**64


def slow_hash(phrase: tuple[str, ...]) -> int:
    """Of a phrase in small letters, in Python's whole numbers."""
    tokens = [
        int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little")
        for token in phrase
    ]
    number = tokens[0]
    for token in tokens[1:]:
        number = (number * 0x9E3779B97F4A7C15 + token) % BITS
        number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 % BITS
        number = (number ^ (number >> 27)) * 0x94D049BB133111EB % BITS
        number ^= number >> 31
    return number


def slow_lev(tokens: list[str], encoder: PhraseEncoder = ENCODER) -> FloatArray:
    """Every phrase by itself, from a set of strings."""
    small = [token.lower() for token in tokens]
    there = {
        tuple(small[at : at + size])
        for size in range(1, encoder.longest + 1)
        for at in range(len(small) - size + 1)
    }
    lev = np.zeros(encoder.lev_size)
    for phrase in there:
        number = slow_hash(phrase)
        place = (number >> 32) * encoder.lev_size >> 32
        lev[place] += float(encoder.weights[place]) * (-1 if number % 2 else 1)
    return np.asarray(lev / max(np.linalg.norm(lev), 1e-12))


def encode(texts: list[list[str]], encoder: PhraseEncoder = ENCODER) -> SparseRows:
    return encoder.encode(texts, [[]] * len(texts))


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_levs_are_those_of_looking_at_every_phrase_by_itself(longest: int) -> None:
    encoder = PhraseEncoder(WEIGHTS, longest)
    texts = [*TEXTS, ["one"], ["one", "two"], ["a", "a", "a", "a"]]
    slow = np.array([slow_lev(tokens, encoder) for tokens in texts])
    np.testing.assert_allclose(encode(texts, encoder), slow, atol=1e-6)


@given(some_texts)
def test_levs_have_length_one_and_rising_places(texts: list[list[str]]) -> None:
    rows = encode(texts)
    for at in range(len(rows)):
        places, values = rows.row(at)
        assert (np.diff(places.astype(np.int64)) > 0).all()
        assert (values != 0).all()
        assert not len(values) or np.linalg.norm(values) == pytest.approx(1, abs=1e-6)


@given(some_texts, st.randoms(use_true_random=False))
def test_neither_batch_nor_order_nor_case_matters(texts: list[list[str]], rng: object) -> None:
    whole = np.asarray(encode(texts))
    for text, lev in zip(texts, whole, strict=True):
        np.testing.assert_array_equal(np.asarray(encode([text]))[0], lev)
        shouted = [token.upper() for token in text if token.upper().lower() == token.lower()]
        quiet = [token for token in text if token.upper().lower() == token.lower()]
        if quiet:
            np.testing.assert_array_equal(encode([shouted]), encode([quiet]))
    np.testing.assert_array_equal(encode(texts[::-1]), whole[::-1])


def test_how_often_a_phrase_is_there_does_not_matter_but_the_order_of_words_does() -> None:
    once, twice = (["to", "be", ","] * times + ["to"] for times in (2, 3))
    np.testing.assert_array_equal(encode([once]), encode([twice]))
    other = np.asarray(encode([["be", "to", ","], ["to", "be", ","]]))
    assert not np.allclose(other[0], other[1])


def test_without_texts_there_are_no_rows_and_words_that_all_have_leave_an_empty_one() -> None:
    assert encode([]).shape == (0, SIZE)
    nothing = PhraseEncoder(np.zeros(SIZE), 3)
    assert not np.asarray(encode(TEXTS[:2], nothing)).any()


def test_hashes_are_the_same_in_another_process() -> None:
    told = "from adhominem.encoders.phrases.hashing import hash_of; print(hash_of('Whilst'))"
    run = [sys.executable, "-c", told]
    others = {subprocess.run(run, capture_output=True, check=True).stdout for _ in range(2)}
    assert others == {f"{hash_of('whilst')}\n".encode()}


def test_hashes_of_lone_surrogates_are_there() -> None:
    assert hash_of("\ud800") != hash_of("\ud801")


def test_when_too_many_types_are_known_all_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hashing, "_MOST_TYPES", 5)
    types, lexicon = TypeHashes(), Lexicon()
    for text in TEXTS:
        texts = Numbered(lexicon, [lexicon.number(text)])
        expected = [hash_of(token) for token in text]
        np.testing.assert_array_equal(types.look_up(texts), np.array(expected, np.uint64))


def test_no_two_phrases_of_some_texts_have_one_hash() -> None:
    tokens = [f"{at:x}" for at in range(3_000)]
    grams = phrases(TypeHashes().look_up(Numbered.of([tokens])), 3)
    assert len(np.unique(np.concatenate(grams))) == 3 * 3_000 - 3


# Variants


@given(st.lists(words, min_size=8, max_size=40), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_variants_are_those_of_the_phrases_that_begin_in_what_is_left(
    tokens: list[str], passages: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    starts = np.append(0, np.sort(rng.choice(np.arange(1, len(tokens)), passages, replace=False)))
    times = rng.integers(0, 3, (4, len(starts)))
    times[:, 0] = np.maximum(times[:, 0], 1)
    times[0] = 1
    levs = np.asarray(ENCODER.vary(tokens, [], starts, times))
    np.testing.assert_array_equal(levs[0], np.asarray(encode([tokens]))[0])
    small, ends = [token.lower() for token in tokens], np.append(starts[1:], len(tokens))
    for lev, row in zip(levs, times, strict=True):
        there = {
            tuple(small[at : at + size])
            for begin, end, count in zip(starts, ends, row, strict=True)
            for at in range(begin, end)
            for size in range(1, 4)
            if count and at + size <= len(small)
        }
        expected = np.zeros(SIZE)
        for phrase in there:
            number = slow_hash(phrase)
            place = (number >> 32) * SIZE >> 32
            expected[place] += float(ENCODER.weights[place]) * (-1 if number % 2 else 1)
        expected /= max(np.linalg.norm(expected), 1e-12)
        np.testing.assert_allclose(lev, expected, atol=1e-6)
    direction = rng.normal(size=SIZE)
    along = ENCODER.variants(tokens, starts).along(times, direction)
    np.testing.assert_allclose(along, levs @ direction, atol=1e-5)


def test_a_text_without_its_end_is_the_text_that_ends_there() -> None:
    starts = np.array([0, 20])
    left = ENCODER.vary(TEXTS[0], [], starts, np.array([[0, 1]]))
    (rest,) = spliced(TEXTS[0], starts, np.array([[0, 1]]))
    np.testing.assert_array_equal(left, encode([rest]))
