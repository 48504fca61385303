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

from adhominem.arrays import FloatArray
from adhominem.ngrams.counter import NgramCounter
from adhominem.ngrams.encoder import NgramEncoder, NgramVariants, eight_bits, shared_dimensions
from adhominem.ngrams.table import NgramOptions, NgramTable

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
    whole, _ = values_of(encoder_of(), text)
    np.testing.assert_allclose(whole, slow_values(text), rtol=1e-5, atol=1e-7)


@given(tokens)
def test_each_channel_that_is_there_has_the_same_length_and_all_four_have_one(
    text: list[str],
) -> None:
    whole, _ = values_of(encoder_of(), text)
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
    encoder = encoder_of("projection", longest)
    parts = [text[begin:end] for begin, end in encoder.parts(len(text))]
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


# Passages left out or repeated

FORMS = ("projection", "profile")
some_tokens = [*TABLE.tokens, "zzz", "Unknown", "§"]
documents = st.lists(st.sampled_from(some_tokens), min_size=1, max_size=60)
positions = st.sets(st.integers(1, 59))
IntArray = npt.NDArray[np.int64]


def starts_of(cuts: set[int], length: int) -> IntArray:
    return np.array([0, *sorted(cut for cut in cuts if cut < length)])


def channels_of(
    encoder: NgramEncoder, levs: npt.NDArray[np.float32], first: int, last: int
) -> npt.NDArray[np.float32]:
    """The dimensions of some channels, in LEVs where each n-gram has its own."""
    columns = np.arange(TABLE.channels[first].start, TABLE.channels[last].stop)
    assert encoder.has_own_dimension(columns).all()
    return np.array([encoder.project_back(columns, lev.astype(float)) for lev in levs])


def whole_profile(longest: int = 10_000) -> NgramEncoder:
    """A profile in which no n-gram shares its dimension."""
    rng = np.random.default_rng(7)
    dimension, sign = shared_dimensions(rng.random(COLUMNS), COLUMNS, 7)
    weights = {**weights_of("profile"), "dimension": dimension, "sign": sign}
    return NgramEncoder(TABLE, weights, COLUMNS, longest)


def values_of(encoder: NgramEncoder, text: list[str]) -> tuple[FloatArray, FloatArray]:
    return NgramVariants(encoder, text, np.zeros(1, np.int64)).values()


@pytest.mark.parametrize("form", FORMS)
@given(text=documents, cuts=positions, longest=st.integers(1, 70))
@example(text=["the"], cuts=set(), longest=1)
@example(text=["§"] * 9 + TEXTS[0][:9], cuts={3, 6}, longest=9)  # a part with nothing to count
def test_a_document_with_each_passage_once_is_the_document_itself(
    form: str, text: list[str], cuts: set[int], longest: int
) -> None:
    encoder = encoder_of(form, longest)
    starts = starts_of(cuts, len(text))
    found = NgramVariants(encoder, text, starts).levs(np.ones((2, len(starts)), np.int64))
    expected = np.repeat(encoder.encode([text], [[]]), 2, axis=0)
    np.testing.assert_allclose(found, expected, atol=1e-5 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("form", FORMS)
@given(text=documents, cuts=positions, longest=st.integers(1, 70), seed=seeds)
def test_products_of_variants_are_those_of_their_levs(
    form: str, text: list[str], cuts: set[int], longest: int, seed: int
) -> None:
    encoder, rng = encoder_of(form, longest), np.random.default_rng(seed)
    starts, direction = starts_of(cuts, len(text)), rng.normal(size=SIZE)
    times = rng.integers(0, 3, (6, len(starts)))
    levs = NgramVariants(encoder, text, starts).levs(times)
    found = NgramVariants(encoder, text, starts).along(times, direction)
    size = max(1, np.abs(levs).max())
    np.testing.assert_allclose(found, levs @ direction, atol=1e-5 * size)
    # One by one, so that none shares its parts with another.
    alone = [NgramVariants(encoder, text, starts).levs(row[None])[0] for row in times]
    np.testing.assert_allclose(levs, alone, atol=1e-5 * size)


@pytest.mark.parametrize("form", FORMS)
def test_passages_of_a_text_longer_than_is_read_at_once_can_be_left_out(form: str) -> None:
    text = [token for _ in range(9) for each in TEXTS for token in each][:9_001]
    assert len(text) == 9_001
    encoder = encoder_of(form, longest=4_000)
    parts = [text[:3_000], text[3_000:6_000], text[6_000:]]
    alone = encoder.encode(parts, [[]] * 3)
    starts = np.array([0, 1_500, 3_000, 6_000])
    times = np.array([[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]])
    expected = [alone.mean(axis=0), alone[1:].mean(axis=0), alone[0], alone[2]]
    found = NgramVariants(encoder, text, starts).levs(times)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[0], encoder.encode([text], [[]])[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
@given(
    passages=st.lists(st.lists(st.sampled_from(some_tokens), max_size=9), min_size=1, max_size=5),
    seed=seeds,
)
def test_what_is_left_is_encoded_like_the_tokens_left_where_all_passages_begin_alike(
    form: str, passages: list[list[str]], seed: int
) -> None:
    """Then a passage is followed by the same bigram whichever comes next; the last one stays."""
    whole = [["the", *passage] for passage in passages]
    text = [token for passage in whole for token in passage]
    starts = np.cumsum([0, *(len(passage) for passage in whole[:-1])])
    times = np.random.default_rng(seed).integers(0, 4, (4, len(whole)))
    times[:, -1] = 1
    variants = [
        [token for passage, count in zip(whole, row, strict=True) for token in passage * int(count)]
        for row in times
    ]
    encoder = encoder_of(form)
    expected = encoder.encode(variants, [[]] * 4)
    found = NgramVariants(encoder, text, starts).levs(times)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@given(documents, positions, seeds)
def test_characters_and_tokens_are_those_left_wherever_passages_are_cut(
    text: list[str], cuts: set[int], seed: int
) -> None:
    starts = starts_of(cuts, len(text))
    times = np.random.default_rng(seed).integers(0, 3, (5, len(starts)))
    times[times.sum(axis=1) == 0] = 1
    ends = [*starts[1:], len(text)]
    variants = [
        [
            token
            for start, end, count in zip(starts, ends, row, strict=True)
            for token in text[start:end] * int(count)
        ]
        for row in times
    ]
    encoder = whole_profile()
    found, expected = (
        NgramVariants(encoder, text, starts).levs(times),
        encoder.encode(variants, [[]] * 5),
    )
    np.testing.assert_allclose(
        channels_of(encoder, found, 0, 1), channels_of(encoder, expected, 0, 1), atol=1e-6
    )


def test_a_bigram_over_a_seam_belongs_to_the_passage_it_begins_in() -> None:
    text = [*TABLE.tokens[:2], *TABLE.tokens[2:4]]
    encoder = whole_profile()
    starts, times = np.array([0, 2]), np.array([[1, 0], [0, 1]])
    found = NgramVariants(encoder, text, starts).levs(times)
    for lev, tokens in zip(found, (text[:3], text[2:]), strict=True):  # the first reaches over
        expected = encoder.encode([tokens], [[]])
        np.testing.assert_allclose(
            channels_of(encoder, lev[None], 2, 3), channels_of(encoder, expected, 2, 3), atol=1e-6
        )


# What a LEV has of each n-gram


@pytest.mark.parametrize("form", FORMS)
@given(text=documents, longest=st.integers(1, 70))
@example(text=["§"], longest=9)
def test_a_lev_is_the_rows_of_all_ngrams_times_their_values(
    form: str, text: list[str], longest: int
) -> None:
    encoder = encoder_of(form, longest)
    values, _ = values_of(encoder, text)
    found = values @ encoder.levs(np.arange(COLUMNS), np.eye(COLUMNS, dtype=np.float32))
    np.testing.assert_allclose(found, encoder.encode([text], [[]])[0], rtol=1e-4, atol=1e-5)


@given(documents, st.integers(1, 70))
def test_an_ngram_that_occurs_once_has_its_unit_whatever_it_is(
    text: list[str], longest: int
) -> None:
    encoder = encoder_of("projection", longest)
    _, units = values_of(encoder, text)
    parts = -(-len(text) // longest)
    slow = np.zeros(COLUMNS)
    weights = weights_of("projection")["weights"].astype(float)
    for begin, end in pairwise(np.linspace(0, len(text), parts + 1).astype(int)):
        counts = NgramCounter(TABLE).count(text[begin:end])
        for channel in TABLE.channels:
            own = range(COLUMNS)[channel]
            squares = [((1 + np.log(counts[at])) * weights[at]) ** 2 for at in own if counts[at]]
            for at in own:  # in a channel where nothing is, it would be all there is: a half
                unit = weights[at] / (2 * np.sqrt(sum(squares))) if squares else 0.5
                slow[at] += unit / parts
    np.testing.assert_allclose(units, slow, rtol=1e-4)


@given(documents)
def test_a_value_is_the_unit_times_one_more_than_the_log_of_the_count(text: list[str]) -> None:
    values, units = values_of(encoder_of(), text)
    counts = NgramCounter(TABLE).count(text)
    levels = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0)
    np.testing.assert_allclose(values, units * levels, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_projecting_back_gives_the_products_of_rows_and_lev(form: str) -> None:
    encoder = encoder_of(form)
    lev = np.random.default_rng(1).normal(size=SIZE)
    columns = np.random.default_rng(2).permutation(COLUMNS)[:50]
    rows = encoder.levs(columns, np.eye(50, dtype=np.float32))
    assert rows.shape == (50, SIZE)
    slow = [sum(float(a) * float(b) for a, b in zip(row, lev, strict=True)) for row in rows]
    np.testing.assert_allclose(encoder.project_back(columns, lev), slow, rtol=1e-5, atol=1e-6)
    assert encoder.is_profile == (form == "profile")


def test_a_dimension_is_an_ngrams_own_if_no_other_has_it() -> None:
    encoder = encoder_of("profile")
    dimension = weights_of("profile")["dimension"].tolist()
    columns = np.arange(COLUMNS)[::-3]
    slow = [dimension.count(dimension[at]) == 1 for at in columns]
    assert encoder.has_own_dimension(columns).tolist() == slow
    assert 0 < sum(slow) < len(slow)


# The same in training


@pytest.mark.parametrize("form", ["projection", "profile"])
def test_the_levs_are_those_of_training(form: str, ngram_run: NgramRun) -> None:
    import torch

    from adhominem.ngrams.training import DeviceNgrams, weigh

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
