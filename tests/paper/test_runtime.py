"""What runs at inference computes what was trained."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adhominem.paper import runtime as module
from adhominem.paper.config import EncoderOptions
from adhominem.paper.device import DeviceRuntime
from adhominem.paper.network import Batch, EncodedBatch, Network
from adhominem.paper.runtime import NetworkVariants, Runtime, TypeInputs
from adhominem.text.vocabulary import (
    Vocabulary,
    WindowOptions,
    WindowTable,
    spread_starts,
    spread_windows,
)

WINDOWS = WindowOptions(hop=5, overlap=2, max_windows=6)
OPTIONS = EncoderOptions(
    character_size=3,
    character_filters=4,
    word_vector_size=6,
    window_lstm_size=5,
    document_lstm_size=3,
    attention_size=7,
    lev_size=8,
)
VOCABULARY = Vocabulary(
    ("the", "of", "and", ",", "he"), tuple("abcdefghij,é"), 6, ("the bad", "the", "jig", "zz he")
)
TYPES = [
    "the",
    "of",
    "and",
    ",",
    "he",
    "a",
    "bad",
    "cab-face",
    "jig",
    "zz",
    "éé",
    "antidisestablish",
]


def network_with(options: EncoderOptions, seed: int = 0) -> Network:
    torch.manual_seed(seed)
    sizes = len(VOCABULARY.token_types), len(VOCABULARY.characters)
    network = Network(*sizes, options, len(VOCABULARY.prefixes))
    with torch.no_grad():  # larger than at the start, so that the gates are driven to their ends
        for name, value in network.named_parameters():
            if "weight_ih" in name:
                value[:, :-1] *= 3
            elif "lstm" not in name and "embedding" not in name:
                value *= 3
    return network.eval()


def runtime_of(network: Network, windows: WindowOptions = WINDOWS, threads: int = 1) -> Runtime:
    weights = {name: value.numpy().copy() for name, value in network.state_dict().items()}
    return Runtime(weights, VOCABULARY, windows, threads)


def device_runtime_of(network: Network, windows: WindowOptions = WINDOWS) -> DeviceRuntime:
    weights = {name: value.numpy().copy() for name, value in network.state_dict().items()}
    return DeviceRuntime(weights, VOCABULARY, windows, network.options, torch.device("cpu"))


def by_torch(
    network: Network,
    documents: list[list[str]],
    topics: list[list[str]],
    windows: WindowOptions,
    table: WindowTable | None = None,
) -> EncodedBatch:
    lengths = np.array([len(tokens) for tokens in documents])
    table = table or spread_windows(lengths, windows)
    types = sorted({token for tokens in documents for token in tokens})
    rows = np.zeros((len(table.starts), windows.width), dtype=np.int64)
    for at, (document, start, count) in enumerate(
        zip(table.documents, table.starts, table.counts, strict=True)
    ):
        for place in range(count):
            rows[at, place] = types.index(documents[document][start + place])
    of_topics = [VOCABULARY.prefix_rows(topic) for topic in topics]
    prefixes = [row for rows in of_topics for row in rows]
    owners = [at for at, rows in enumerate(of_topics) for _ in rows]
    batch = Batch(
        type_words=torch.from_numpy(VOCABULARY.token_ids(types)).long(),
        type_characters=torch.from_numpy(VOCABULARY.character_ids(types)).long(),
        tokens=torch.from_numpy(rows),
        token_counts=torch.from_numpy(table.counts),
        window_documents=torch.from_numpy(table.documents),
        window_positions=torch.from_numpy(table.positions),
        prefixes=torch.tensor(prefixes, dtype=torch.long),
        prefix_documents=torch.tensor(owners, dtype=torch.long),
        shape=(len(documents), int(table.positions.max()) + 1),
    )
    with torch.no_grad():
        return network(batch)  # type: ignore[no-any-return]


document = st.lists(st.sampled_from(TYPES), min_size=1, max_size=60)
topic = st.lists(st.sampled_from(TYPES), max_size=3)


@given(pairs=st.lists(st.tuples(document, topic), min_size=1, max_size=5), seed=st.integers(0, 3))
@settings(max_examples=40)
def test_levs_are_those_of_the_network(pairs: list[tuple[list[str], list[str]]], seed: int) -> None:
    network = network_with(OPTIONS, seed)
    documents, topics = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    expected = by_torch(network, documents, topics, WINDOWS).levs.numpy()
    np.testing.assert_allclose(runtime_of(network).encode(documents, topics), expected, atol=1e-5)


RUNTIMES = {"numpy": runtime_of, "torch": device_runtime_of}


@pytest.mark.parametrize("kind", RUNTIMES)
def test_the_attention_is_that_of_the_network(kind: str) -> None:
    network = network_with(OPTIONS)
    runtime = RUNTIMES[kind](network)

    @given(pairs=st.lists(st.tuples(document, topic), min_size=1, max_size=4))
    @settings(max_examples=20)
    def check(pairs: list[tuple[list[str], list[str]]]) -> None:
        pairs = sorted(pairs, key=lambda pair: -len(pair[0]))
        documents, topics = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        expected = by_torch(network, documents, topics, WINDOWS)
        found = runtime.attend(documents, topics)
        np.testing.assert_allclose(found.levs, expected.levs, atol=1e-5)
        np.testing.assert_allclose(found.token_attention, expected.token_attention, atol=1e-5)
        np.testing.assert_allclose(found.window_attention, expected.window_attention, atol=1e-5)
        np.testing.assert_allclose(found.token_attention.sum(1), 1, atol=1e-5)
        np.testing.assert_allclose(found.window_attention.sum(1), 1, atol=1e-5)

    check()


@pytest.mark.parametrize(
    "change",
    [
        {"character_filter_width": 1},
        {"character_filter_width": 6},
        {"window_lstm_size": 1, "document_lstm_size": 1},
        {"word_vector_size": 1, "character_filters": 1, "lev_size": 1, "attention_size": 1},
    ],
)
def test_other_sizes_of_the_network_work_as_well(change: dict[str, int]) -> None:
    network = network_with(replace(OPTIONS, **change))  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    documents = [list(rng.choice(TYPES, size)) for size in (1, 7, 40)]
    topics = [["he"], [], ["of", "zz"]]
    expected = by_torch(network, documents, topics, WINDOWS).levs.numpy()
    np.testing.assert_allclose(runtime_of(network).encode(documents, topics), expected, atol=1e-5)


def many_documents() -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(1)
    documents = [list(rng.choice(TYPES, rng.integers(1, 80))) for _ in range(40)]
    return documents, [["he"] if at % 3 else [] for at in range(40)]


@pytest.mark.parametrize(("windows", "documents"), [(1, 1), (7, 3), (10_000, 10_000)])
def test_how_many_run_together_does_not_matter(
    windows: int, documents: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, texts = network_with(OPTIONS), many_documents()
    expected = runtime_of(network).encode(*texts)
    monkeypatch.setattr(module, "_WINDOWS_AT_ONCE", windows)
    monkeypatch.setattr(Runtime, "_documents_at_once", documents)
    for threads in (1, 3):
        found = runtime_of(network, threads=threads).encode(*texts)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("limit", ["_MOST_TYPES", "_MOST_CHARACTERS"])
def test_a_cache_that_is_full_begins_anew(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network, texts = network_with(OPTIONS), many_documents()
    expected = runtime_of(network).encode(*texts)
    monkeypatch.setattr(TypeInputs, limit, 5)
    monkeypatch.setattr(TypeInputs, "_TYPES_AT_ONCE", 2)
    small = runtime_of(network)
    np.testing.assert_allclose(small.encode(*texts), expected, atol=1e-6)
    for at, (tokens, about) in enumerate(zip(*texts, strict=True)):
        found = small.encode([tokens], [about])
        np.testing.assert_allclose(found[0], expected[at], atol=1e-6)
        assert len(small._types._known) <= 5


def test_callers_in_several_threads_do_not_disturb_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TypeInputs, "_MOST_TYPES", 6)  # so that tables are replaced meanwhile
    network, texts = network_with(OPTIONS), many_documents()
    shared = runtime_of(network)
    expected = runtime_of(network).encode(*texts)
    wrong: list[int] = []

    def work(first: int) -> None:
        for at in range(first, 40, 4):
            found = shared.encode([texts[0][at]], [texts[1][at]])[0]
            if not np.allclose(found, expected[at], atol=1e-6):
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_document_of_one_token_has_a_lev() -> None:
    levs = runtime_of(network_with(OPTIONS)).encode([["zz"]], [[]])
    assert levs.shape == (1, 8)
    assert np.isfinite(levs).all()


def test_torch_on_a_device_says_the_same() -> None:
    network, texts = network_with(OPTIONS), many_documents()
    expected = runtime_of(network).encode(*texts)
    np.testing.assert_allclose(device_runtime_of(network).encode(*texts), expected, atol=1e-5)


# Passages left out or repeated

IntArray = npt.NDArray[np.int64]


@st.composite
def cuts(draw: st.DrawFn, windows: bool) -> tuple[list[str], list[str], IntArray, IntArray]:
    """A document, its topic, where its passages begin, and how often each is there."""
    tokens = draw(document)
    if windows:
        starts = spread_starts(len(tokens), WINDOWS)
    else:
        inner = draw(st.sets(st.integers(1, 60)))
        starts = np.array([0, *sorted(cut for cut in inner if cut < len(tokens))])
    row = st.lists(st.integers(0, 3), min_size=len(starts), max_size=len(starts)).filter(any)
    times = np.array(draw(st.lists(row, min_size=1, max_size=4)), np.int64)
    return tokens, draw(topic), starts, times


@pytest.mark.parametrize("kind", RUNTIMES)
@pytest.mark.parametrize("windows", [True, False])
def test_a_document_with_each_passage_once_is_the_document_itself(kind: str, windows: bool) -> None:
    runtime = RUNTIMES[kind](network_with(OPTIONS))

    @given(cuts(windows))
    @settings(max_examples=30)
    def check(drawn: tuple[list[str], list[str], IntArray, IntArray]) -> None:
        tokens, about, starts, times = drawn
        expected = np.repeat(runtime.encode([tokens], [about]), len(times), axis=0)
        found = NetworkVariants(runtime, tokens, about, starts).levs(np.ones_like(times))
        np.testing.assert_allclose(found, expected, atol=1e-6)

    check()


@pytest.mark.parametrize("kind", RUNTIMES)
def test_a_window_is_seen_by_the_second_lstm_as_often_as_it_is_there(kind: str) -> None:
    network = network_with(OPTIONS)
    runtime = RUNTIMES[kind](network)

    @given(cuts(windows=True))
    @settings(max_examples=40)
    def check(drawn: tuple[list[str], list[str], IntArray, IntArray]) -> None:
        tokens, about, starts, times = drawn
        whole = spread_windows(np.array([len(tokens)]), WINDOWS)
        found = NetworkVariants(runtime, tokens, about, starts).levs(times)
        again = NetworkVariants(
            runtime, tokens, about, starts, runtime.attend([tokens], [about])
        ).levs(times)
        np.testing.assert_allclose(again, found, atol=1e-6)
        for lev, row in zip(found, times.tolist(), strict=True):
            chosen = [at for at, count in enumerate(row) for _ in range(count)]
            table = WindowTable(
                np.zeros(len(chosen), np.int64),
                np.arange(len(chosen)),
                whole.starts[chosen],
                whole.counts[chosen],
            )
            expected = by_torch(network, [tokens], [about], WINDOWS, table).levs.numpy()
            np.testing.assert_allclose(lev, expected[0], atol=1e-5)

    check()


@pytest.mark.parametrize("kind", RUNTIMES)
def test_a_passage_that_is_no_window_is_left_out_of_the_tokens(kind: str) -> None:
    runtime = RUNTIMES[kind](network_with(OPTIONS))
    rng = np.random.default_rng(2)
    tokens = list(rng.choice(TYPES, 17))
    times = np.array([[1, 0, 1], [0, 1, 2], [1, 1, 1]])
    parts = tokens[:4], tokens[4:9], tokens[9:]
    variants = [parts[0] + parts[2], parts[1] + parts[2] + parts[2], tokens]
    found = NetworkVariants(runtime, tokens, ["he"], np.array([0, 4, 9])).levs(times)
    np.testing.assert_allclose(found, runtime.encode(variants, [["he"]] * 3), atol=1e-6)


@pytest.mark.parametrize("length", [1, 4_100, 6_000])
def test_passages_of_short_and_very_long_documents_can_be_left_out(length: int) -> None:
    windows = WindowOptions()
    tokens = list(np.random.default_rng(3).choice(TYPES, length))
    starts = spread_starts(length, windows)
    times = np.ones((4, len(starts)), np.int64)
    times[1, 1:] = 0
    times[2, :-1] = 0
    times[3] = 2
    network = network_with(OPTIONS)
    found = {kind: of(network, windows) for kind, of in RUNTIMES.items()}
    if length == 1:
        times = times[[0, 3]]
    levs = {
        kind: NetworkVariants(each, tokens, [], starts).levs(times) for kind, each in found.items()
    }
    np.testing.assert_allclose(levs["numpy"], levs["torch"], atol=1e-5)
    for kind, each in found.items():
        np.testing.assert_allclose(levs[kind][0], each.encode([tokens], [[]])[0], atol=1e-5)
    if length == 6_000:  # more than fit: some of the text is not read
        assert len(starts) == 210
        assert np.diff(starts).max() > windows.hop


@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_how_many_variants_run_together_does_not_matter(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, tokens = network_with(OPTIONS), many_documents()[0][0]
    starts = spread_starts(len(tokens), WINDOWS)
    times = np.random.default_rng(4).integers(1, 3, (20, len(starts)))
    times[:, 1:] -= np.random.default_rng(5).integers(0, 2, (20, len(starts) - 1))
    expected = np.concatenate(
        [NetworkVariants(runtime_of(network), tokens, [], starts).levs(row[None]) for row in times]
    )
    assert np.ptp(expected, axis=0).min() > 1e-3
    monkeypatch.setattr(module, "_VARIANTS_AT_ONCE", at_once)
    for of in RUNTIMES.values():
        found = NetworkVariants(of(network), tokens, [], starts).levs(times)
        np.testing.assert_allclose(found, expected, atol=1e-5)
