"""Encoding for a GPU: workers begin, one process finishes. Here torch's CPU stands in for a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import NgramRun, SmallRun
from predict_cases import made_up

from adhominem import Document, Verifier, load, make_ensemble
from adhominem.errors import EmptyTextError
from adhominem.jobs import workers
from adhominem.jobs.workers import encoder
from adhominem.model.member import Model
from adhominem.paper.device import DeviceRuntime

TOPICS = ["", "ships", "the sea and ships"]
DOCUMENTS = [
    Document(text=made_up(number) * (1 + number % 7), id=f"{number}", topic=TOPICS[number % 3])
    for number in range(40)
]


def on_the_processor(model: Model, device: str) -> DeviceRuntime:
    weights, windows = model.network_weights(), model.config.data.windows
    place = torch.device("cpu")
    return DeviceRuntime(weights, model.vocabulary, windows, model.config.encoder, place)


@pytest.fixture(autouse=True)
def torch_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts go to workers at once, a few at a time, and networks to torch."""
    monkeypatch.setattr("adhominem.model.member._device_runtime", on_the_processor)
    monkeypatch.setattr(workers, "_LONG_WORK", 0)
    monkeypatch.setattr(workers, "_BEGUN_AT_ONCE", 3)
    monkeypatch.setattr(workers, "_BATCH", 16)


@pytest.fixture(scope="module")
def ensemble(
    small_run: SmallRun, ngram_run: NgramRun, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("ensemble") / "model"
    make_ensemble([small_run.folder, ngram_run.folder], folder)
    return folder


@pytest.fixture
def on_a_device(ensemble: Path) -> Verifier:
    verifier = load(ensemble, device="cuda")
    assert isinstance(verifier.members[0].encoder, DeviceRuntime)
    return verifier


def rows(encoded: Iterator[object]) -> np.ndarray:
    return np.concatenate([np.asarray(lev) for lev in encoded])


@pytest.mark.parametrize("jobs", [1, 2])
def test_levs_are_those_of_the_processor_in_the_order_of_the_texts(
    jobs: int, ensemble: Path, on_a_device: Verifier
) -> None:
    expected = np.asarray(load(ensemble).encode(DOCUMENTS))
    with encoder(ensemble, on_a_device, jobs, "cuda") as run:
        np.testing.assert_allclose(rows(run(DOCUMENTS)), expected, atol=1e-5)


def test_the_number_of_workers_changes_no_bit(ensemble: Path, on_a_device: Verifier) -> None:
    encoded = []
    for jobs in (2, 3):
        with encoder(ensemble, on_a_device, jobs, "cuda") as run:
            encoded.append(rows(run(DOCUMENTS)))
    np.testing.assert_array_equal(*encoded)


def test_a_text_without_a_word_is_an_error_in_its_place(
    ensemble: Path, on_a_device: Verifier
) -> None:
    documents = [*DOCUMENTS[:4], Document(text="\u200b", id="empty"), *DOCUMENTS[4:9]]
    with encoder(ensemble, on_a_device, 2, "cuda") as run:
        encoded = list(run(documents))
        alone = list(run([documents[4]]))
    assert isinstance(encoded[4], EmptyTextError)
    assert isinstance(alone[0], EmptyTextError)
    del encoded[4]
    expected = np.asarray(load(ensemble).encode(DOCUMENTS[:9]))
    np.testing.assert_allclose(rows(iter(encoded)), expected, atol=1e-5)


def test_an_interrupt_leaves_no_worker_behind(ensemble: Path, on_a_device: Verifier) -> None:
    started: list[BaseProcess] = []

    def interrupted() -> None:
        with encoder(ensemble, on_a_device, 2, "cuda") as run:
            next(run(DOCUMENTS))
            started.extend(active_children())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert started
    assert not any(process.is_alive() for process in started)


def test_what_is_begun_and_finished_in_one_process_is_what_is_encoded(
    ensemble: Path, on_a_device: Verifier
) -> None:
    verifier = load(ensemble)
    begun = [verifier.begin(DOCUMENTS[:7]), verifier.begin(DOCUMENTS[7:])]
    expected = np.asarray(verifier.encode(DOCUMENTS))
    np.testing.assert_array_equal(np.asarray(verifier.finish(begun)), expected)
    np.testing.assert_allclose(np.asarray(on_a_device.finish(begun)), expected, atol=1e-5)
