"""The network by torch at inference: in batches of any size, with a table that forgets."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_runtime import OPTIONS, TYPES, device_runtime_of, network_with, runtime_of

from adhominem.arrays import IntArray
from adhominem.paper import device as module
from adhominem.text.lexicon import Lexicon, Numbered


def made_up(count: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    documents = [rng.choice(TYPES, rng.integers(1, 90)).tolist() for _ in range(count)]
    return documents, [rng.choice(TYPES, rng.integers(0, 3)).tolist() for _ in range(count)]


@pytest.mark.parametrize("windows", [1, 7, 1_000])
def test_levs_are_the_same_however_many_windows_run_at_once(
    windows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WINDOWS_AT_ONCE", windows)
    network = network_with(OPTIONS)
    documents, topics = made_up(25)
    levs = device_runtime_of(network).encode(documents, topics)
    np.testing.assert_allclose(levs, runtime_of(network).encode(documents, topics), atol=1e-5)


def test_every_document_goes_through_the_network_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WINDOWS_AT_ONCE", 5)
    runtime = device_runtime_of(network_with(OPTIONS))
    lengths: IntArray = np.sort(np.random.default_rng(0).integers(1, 200, 50))[::-1]
    places = [np.arange(50)[part] for part in runtime._together(lengths)]
    np.testing.assert_array_equal(np.concatenate(places), np.arange(50))


def test_types_that_were_forgotten_are_learnt_again(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_with(OPTIONS)
    monkeypatch.setattr(module._TypeVectors, "_MOST_TYPES", 5)
    monkeypatch.setattr(module._TypeVectors, "_TYPES_AT_ONCE", 2)
    runtime, lexicon = device_runtime_of(network), Lexicon()
    for seed in range(3):
        documents, topics = made_up(4, seed)
        texts = Numbered(lexicon, [lexicon.number(tokens) for tokens in documents])
        levs = runtime.encode_numbered(texts, topics)
        np.testing.assert_allclose(levs, runtime_of(network).encode(documents, topics), atol=1e-5)


def test_a_table_that_grows_keeps_its_rows() -> None:
    runtime = device_runtime_of(network_with(OPTIONS))
    few, many = [f"a{number}" for number in range(9)], [f"b{number}" for number in range(3_000)]
    lexicon = Lexicon()
    rows, before = runtime._type_vectors.look_up(lexicon, lexicon.number(few))
    again, after = runtime._type_vectors.look_up(lexicon, lexicon.number([*many, *few]))
    torch.testing.assert_close(before[rows], after[again[-9:]])
    assert len(after) == 3_009


def test_no_texts_have_no_levs() -> None:
    runtime = device_runtime_of(network_with(OPTIONS))
    assert runtime.encode([], []).shape == (0, runtime.lev_size)
