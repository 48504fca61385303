"""The n-gram encoder at inference: weights, lengths, both forms, long texts; the same in torch."""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt
import pytest
from conftest import NgramRun, rich_rows
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adhominem.encoders.ngram_encoder import NgramEncoder, eight_bits, shared_dimensions
from adhominem.encoders.ngrams import NgramCounter, NgramOptions, NgramTable

TEXTS = [row["text"].split() for row in rich_rows("notes", 4, 3)]
SIZE = 7
seeds = st.integers(0, 2**32 - 1)


def table_of(texts: list[list[str]]) -> NgramTable:
    types = sorted({token for text in texts for token in text})
    tokens = np.array([types.index(token) for text in texts for token in text], np.uint32)
    documents = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    options = NgramOptions(
        characters=90, tokens=40, bigrams=50, shaped_bigrams=60, unmasked=15, shapes=30
    )
    return NgramTable.build(types, tokens, documents, options)


TABLE = table_of(TEXTS)
COLUMNS = sum(TABLE.sizes)


def weights_of(form: str, seed: int = 0) -> dict[str, npt.NDArray[np.generic]]:
    rng = np.random.default_rng(seed)
    weights = rng.lognormal(size=COLUMNS).astype(np.float32)
    if form == "profile":
        dimension, sign = shared_dimensions(rng.random(COLUMNS), SIZE, seed)
        return {"weights": weights, "dimension": dimension, "sign": sign}
    projection, scale = eight_bits(rng.normal(size=(COLUMNS, SIZE)).astype(np.float32))
    return {"weights": weights, "projection": projection, "projection_scale": scale}


def encoder_of(form: str = "projection", longest: int = 10_000) -> NgramEncoder:
    return NgramEncoder(TABLE, weights_of(form), SIZE, longest)


def slow_values(tokens: list[str]) -> npt.NDArray[np.float64]:
    """(columns,): sublinear counts times weights, each channel over twice its length."""
    counts = NgramCounter(TABLE).count(tokens)
    weights = weights_of("projection")["weights"]
    values = np.zeros(COLUMNS)
    for channel in TABLE.channels:
        for at in range(channel.start, channel.stop):
            if counts[at]:
                values[at] = (1 + np.log(counts[at])) * float(weights[at])
        length = np.sqrt(sum(value**2 for value in values[channel]))
        values[channel] /= 2 * length if length else 1
    return values


tokens = st.lists(st.sampled_from([*TABLE.tokens, "zzz", "Unknown", "§"]), min_size=1, max_size=40)


# Weights


@given(tokens)
@example(["the"])  # without a bigram
@example(["§"])  # without anything
def test_weighing_is_that_of_its_definition(text: list[str]) -> None:
    columns, values = encoder_of().weigh(text)
    whole = np.zeros(COLUMNS)
    whole[columns] = values
    np.testing.assert_allclose(whole, slow_values(text), rtol=1e-5, atol=1e-7)


@given(tokens)
def test_each_channel_that_is_there_has_the_same_length_and_all_four_have_one(
    text: list[str],
) -> None:
    columns, values = encoder_of().weigh(text)
    whole = np.zeros(COLUMNS)
    whole[columns] = values
    counts = NgramCounter(TABLE).count(text)
    there = [bool(counts[channel].any()) for channel in TABLE.channels]
    lengths = [np.linalg.norm(whole[channel]) for channel in TABLE.channels]
    np.testing.assert_allclose(lengths, np.array(there) / np.sqrt(4), rtol=1e-5)
    if all(there):
        assert np.linalg.norm(whole) == pytest.approx(1, rel=1e-5)


# The two forms


@pytest.mark.parametrize("form", ["projection", "profile"])
def test_a_lev_is_the_sum_of_what_its_ngrams_give(form: str) -> None:
    weights = weights_of(form)
    for text in TEXTS:
        expected = np.zeros(SIZE)
        for at, value in enumerate(slow_values(text)):
            if form == "projection":
                row = weights["projection"][at].astype(float)
                expected += value * weights["projection_scale"][at] * row
            else:
                expected[weights["dimension"][at]] += value * weights["sign"][at]
        found = encoder_of(form).encode([text], [[]])
        np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-6)
        assert found.dtype == np.float32


@pytest.mark.parametrize("form", ["projection", "profile"])
def test_a_text_of_unknown_signs_has_a_lev_of_nothing(form: str) -> None:
    assert not encoder_of(form).encode([["§", "§"]], [[]]).any()


@given(arrays(np.float32, (5, 4), elements=st.floats(-100, 100, width=32)))
def test_eight_bits_are_off_by_half_a_step_at_most(projection: npt.NDArray[np.float32]) -> None:
    whole, scale = eight_bits(projection)
    assert whole.dtype == np.int8
    assert np.abs(whole.astype(int)).max() <= 127
    error = np.abs(whole * scale[:, None].astype(np.float64) - projection)
    assert (error <= 0.5001 * scale[:, None]).all()
    largest = np.abs(projection).max(axis=1)
    assert (scale <= np.maximum(largest / 126.9, 1e-29)).all()


@given(st.integers(1, 60), st.integers(1, 30), seeds)
def test_important_ngrams_have_dimensions_of_their_own_and_the_others_share_the_rest(
    ngrams: int, lev_size: int, seed: int
) -> None:
    importance = np.random.default_rng(seed).random(ngrams)
    dimension, sign = shared_dimensions(importance, lev_size, seed)
    order = sorted(range(ngrams), key=lambda at: -importance[at])
    own = ngrams if ngrams <= lev_size else lev_size * 3 // 4
    assert dimension[order[:own]].tolist() == list(range(own))
    assert (sign[order[:own]] == 1).all()
    shared = dimension[order[own:]]
    assert ((own <= shared) & (shared < lev_size)).all()
    assert set(sign.tolist()) <= {-1, 1}
    again = shared_dimensions(importance, lev_size, seed)
    np.testing.assert_array_equal((dimension, sign), again)


def test_those_who_share_have_both_signs_and_all_dimensions_that_are_left() -> None:
    dimension, sign = shared_dimensions(-np.arange(1000.0), 40, 0)
    assert set(dimension[30:].tolist()) == set(range(30, 40))
    assert 0.4 < (sign[30:] == 1).mean() < 0.6


# Long texts


@given(st.integers(1, 200), st.integers(1, 60))
def test_a_long_text_is_read_in_even_parts_whose_levs_are_averaged(
    length: int, longest: int
) -> None:
    text = (TEXTS[0] + TEXTS[1])[:length]
    parts: list[list[str]] = []

    class Watched(NgramEncoder):
        def _lev(self, tokens: list[str]) -> npt.NDArray[np.float32]:  # type: ignore[override]
            parts.append(list(tokens))
            return super()._lev(tokens)

    encoder = Watched(TABLE, weights_of("projection"), SIZE, longest)
    (found,) = encoder.encode([text], [[]])
    assert list(chain(*parts)) == text
    sizes = [len(part) for part in parts]
    assert max(sizes) <= longest
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) == -(-len(text) // longest)
    expected = np.mean([encoder_of().encode([part], [[]])[0] for part in list(parts)], axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("form", ["projection", "profile"])
def test_a_lev_depends_on_its_own_document_alone(form: str) -> None:
    encoder = encoder_of(form, longest=100)
    alone = np.concatenate([encoder.encode([text], [[]]) for text in TEXTS])
    assert np.ptp(alone, axis=0).min() > 0
    order = np.random.default_rng(0).permutation(len(TEXTS))
    shuffled = encoder.encode([TEXTS[at] for at in order], [["ships"]] * len(TEXTS))
    np.testing.assert_array_equal(shuffled, alone[order])
    assert encoder.encode([], []).shape == (0, SIZE)


# The same in training


@pytest.mark.parametrize("form", ["projection", "profile"])
def test_the_levs_are_those_of_training(form: str, ngram_run: NgramRun) -> None:
    import torch

    from adhominem.training.ngrams import DeviceNgrams, weigh

    model, corpus = ngram_run.model, ngram_run.data.corpus
    columns, size = sum(model.table.sizes), model.config.lev_size
    weights = dict(model.weights)
    matrix = weights["projection"] * weights["projection_scale"].astype(np.float32)[:, None]
    if form == "profile":
        del weights["projection"]
        weights["dimension"], weights["sign"] = shared_dimensions(np.arange(columns), size, 1)
        matrix = np.zeros((columns, size), np.float32)
        matrix[np.arange(columns), weights["dimension"]] = weights["sign"]
    longest = model.config.training.longest
    encoder = NgramEncoder(model.table, weights, size, longest)
    texts = [[corpus.types[kind] for kind in corpus.document(at)] for at in range(len(corpus))]
    data = DeviceNgrams(corpus, model.table, torch.device("cpu"))
    learnt = torch.from_numpy(model.weights["weights"].astype(np.float32))
    expected = np.zeros((len(corpus), size))
    for at, length in enumerate(corpus.lengths):
        parts = -(-length // longest)
        for begin, end in pairwise(np.linspace(0, length, parts + 1).astype(int)):
            counts = data.count(np.array([at]), np.array([begin]), np.array([end - begin]))
            values = weigh(counts, learnt, model.table.channels)
            expected[at] += (values @ torch.from_numpy(matrix)).numpy()[0] / parts
    assert 1 < (corpus.lengths > longest).sum() < len(corpus)
    found = encoder.encode(texts, [[] for _ in texts])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
