"""Several n-gram encoders at once: the LEVs that each gives alone, whoever is encoded beside."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import rich_rows
from hypothesis import given
from hypothesis import strategies as st
from test_ngram_counter import names_of, slow_ngrams, table_of

from adhominem.ngrams import encoder as encoder_module
from adhominem.ngrams.encoder import NgramEncoder, NgramsTogether, eight_bits, shared_dimensions
from adhominem.ngrams.table import NgramOptions
from adhominem.text.lexicon import Lexicon, Numbered
from adhominem.text.tokenizer import Tokenizer

TEXTS = [row["text"].split() for row in rich_rows("notes", 5, 4)]
SMALL = NgramOptions(
    longest=3, characters=60, tokens=20, bigrams=30, shaped_bigrams=40, unmasked=9, shapes=20
)
LARGE = NgramOptions(
    longest=3, characters=300, tokens=60, bigrams=80, shaped_bigrams=90, unmasked=30, shapes=50
)
LONGEST = 40  # tokens: most texts are read in several parts
Levs = npt.NDArray[np.float64]


def encoder_of(options: NgramOptions, size: int, form: str, texts: slice) -> NgramEncoder:
    table = table_of(TEXTS[texts], options)
    columns, rng = sum(table.sizes), np.random.default_rng(size)
    weights: dict[str, Any] = {"weights": rng.lognormal(size=columns).astype(np.float32)}
    if form == "profile":
        dimension, sign = shared_dimensions(rng.random(columns), size, 1)
        weights |= {"dimension": dimension, "sign": sign}
    else:
        matrix = rng.normal(size=(columns, size)).astype(np.float32)
        weights["projection"], weights["projection_scale"] = eight_bits(matrix)
    return NgramEncoder(table, weights, size, LONGEST)


ENCODERS = [  # of tables that share some of their n-grams
    encoder_of(SMALL, 7, "projection", slice(0, 3)),
    encoder_of(LARGE, 50, "profile", slice(2, 5)),
    encoder_of(LARGE, 33, "projection", slice(1, 4)),
]
some_texts = st.lists(
    st.lists(st.sampled_from([*TEXTS[0], *TEXTS[3], "zzz", "§"]), min_size=1, max_size=120),
    min_size=1,
    max_size=5,
)


def encode(texts: Numbered, together: NgramsTogether) -> npt.NDArray[np.float32]:
    """(documents, LEV sizes of all)"""
    return np.concatenate([np.asarray(part) for part in together.encode(texts)], axis=1)


def slow_lev(encoder: NgramEncoder, tokens: list[str]) -> Levs:
    """Every n-gram by itself, in Python's numbers."""
    table = encoder.table
    lev = np.zeros(encoder.lev_size)
    parts = -(-len(tokens) // LONGEST)
    for begin, end in pairwise(np.linspace(0, len(tokens), parts + 1).astype(int)):
        counts: Counter[Any] = slow_ngrams(tokens[begin:end], table)
        names = names_of(table)
        for channel in table.channels:
            values = {
                at: (1 + np.log(counts[names[at]])) * float(encoder.weights[at])
                for at in range(channel.start, channel.stop)
                if counts[names[at]]
            }
            length = 2 * np.sqrt(sum(value**2 for value in values.values()))
            for at, value in values.items():
                lev += (
                    value
                    / length
                    / parts
                    * encoder.levs(np.array([at]), np.ones((1, 1), np.float32))[0]
                )
    return lev


def test_levs_are_those_of_looking_at_every_ngram_by_itself() -> None:
    found = encode(Numbered.of(TEXTS), NgramsTogether(ENCODERS))
    slow = [[slow_lev(encoder, tokens) for encoder in ENCODERS] for tokens in TEXTS]
    assert max(map(len, TEXTS)) > LONGEST
    np.testing.assert_allclose(found, [np.concatenate(row) for row in slow], rtol=1e-5, atol=1e-6)


@given(some_texts)
def test_each_encoder_gives_what_it_gives_alone(texts: list[list[str]]) -> None:
    found = encode(Numbered.of(texts), NgramsTogether(ENCODERS))
    alone = [encoder.encode(texts, [[]] * len(texts)) for encoder in ENCODERS]
    np.testing.assert_allclose(found, np.concatenate(alone, axis=1), rtol=1e-5, atol=1e-6)


@given(some_texts, st.integers(1, 4), st.randoms(use_true_random=False))
def test_neither_batch_nor_order_nor_repetition_matters(
    texts: list[list[str]], at_once: int, rng: Any
) -> None:
    together = NgramsTogether(ENCODERS)
    whole = encode(Numbered.of(texts), together)
    order = [rng.randrange(len(texts)) for _ in range(2 * len(texts))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder_module, "_PARTS_AT_ONCE", at_once)
        found = encode(Numbered.of([texts[at] for at in order]), together)
    np.testing.assert_allclose(found, whole[order], rtol=1e-5, atol=1e-6)
    assert encode(Numbered.of([]), together).shape == (0, 90)


@given(some_texts)
def test_numbers_of_whichever_lexicon_give_the_same(texts: list[list[str]]) -> None:
    together, tokenizer, lexicon = NgramsTogether(ENCODERS), Tokenizer(), Lexicon()
    for text in texts:
        joined = " ".join(text)
        numbers = Numbered(lexicon, [tokenizer.numbers(joined, lexicon)])
        found = encode(numbers, together)
        expected = encode(Numbered.of([tokenizer.tokens(joined)]), together)
        np.testing.assert_array_equal(found, expected)


def test_tables_of_other_lengths_are_not_counted_at_once() -> None:
    other = NgramOptions(longest=2, tokens=20, unmasked=9)
    with pytest.raises(ValueError, match="longest"):
        NgramsTogether([ENCODERS[0], encoder_of(other, 5, "profile", slice(0, 2))])
