"""Encoding in this process or in others: the same LEVs in the same order, no process in vain."""
# ruff: noqa: F401, F811 - fixtures are imported, and named by the tests

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import NgramRun, SmallRun
from predict_cases import made_up, model, verifier

from adhominem import Document, Verifier, encode, make_ensemble
from adhominem.arrays import Levs, joined
from adhominem.errors import NO_WORD, EmptyTextError, InputError, OptionError
from adhominem.jobs import workers
from adhominem.jobs.workers import begun_ahead, encode_documents, encoded_batches, encoder

DOCUMENTS = [Document(text=made_up(number), id=f"{number}") for number in range(40)]


@pytest.fixture
def much_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever there is, processes are started for it, and get a few texts at a time."""
    monkeypatch.setattr(workers, "_LONG_WORK", 0)
    monkeypatch.setattr(workers, "_DOCUMENTS_AT_ONCE", 7)
    monkeypatch.setattr(workers, "_BATCH", 16)


@pytest.fixture(scope="module")
def ensemble(
    small_run: SmallRun, ngram_run: NgramRun, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("ensemble") / "model"
    make_ensemble([small_run.folder, ngram_run.folder], folder)
    return folder


def test_the_table_has_the_same_bytes_whatever_the_number_of_jobs(
    ensemble: Path, tmp_path: Path, much_to_do: None
) -> None:
    source = tmp_path / "texts.jsonl"
    rows = ({"id": document.id, "text": document.text} for document in DOCUMENTS)
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    tables = []
    for jobs in (1, 2, 3):
        output = tmp_path / f"{jobs}.npz"
        done = encode(ensemble, [source], output, jobs=jobs)
        assert done.documents == len(DOCUMENTS)
        tables.append(output.read_bytes())
    assert tables[0] == tables[1] == tables[2]


def test_little_work_starts_no_process(
    model: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_pool(*arguments: object) -> None:
        raise AssertionError("processes are started")

    monkeypatch.setattr(workers, "worker_pool", no_pool)
    with encoder(model, verifier, jobs=8) as run:
        levs = joined(list(run(DOCUMENTS[:2])))
        np.testing.assert_array_equal(levs, verifier.encode(DOCUMENTS[:2]))
    with encoder(model, verifier, jobs=None) as run:
        assert len(list(run(DOCUMENTS))) == len(DOCUMENTS)


def test_work_that_adds_up_starts_processes_in_the_end(
    model: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(len(document.text) for document in DOCUMENTS)
    monkeypatch.setattr(workers, "_LONG_WORK", 2 * size)
    started = []

    def counted(*arguments: object) -> object:
        started.append(arguments)
        return pool(*arguments)  # type: ignore[arg-type]

    pool = workers.worker_pool
    monkeypatch.setattr(workers, "worker_pool", counted)
    expected = verifier.encode(DOCUMENTS)
    with encoder(model, verifier, jobs=2) as run:
        for times in (0, 0, 1, 1):
            np.testing.assert_array_equal(joined(list(run(DOCUMENTS))), expected)
            assert len(started) == times


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_text_without_a_word_is_an_error_in_its_place(
    jobs: int, model: Path, verifier: Verifier, much_to_do: None
) -> None:
    documents = [*DOCUMENTS[:9], Document(text="\u200b", id="empty"), *DOCUMENTS[9:20]]
    with encoder(model, verifier, jobs) as run:
        encoded = list(run(documents))
        assert isinstance(encoded[9], EmptyTextError)
        encoded = [lev for lev in encoded if isinstance(lev, Levs)]
        np.testing.assert_array_equal(joined(encoded), verifier.encode(DOCUMENTS[:20]))
        skipped: list[InputError] = []
        counts: list[int] = []
        good, levs = encode_documents(documents, run, skipped, counts.append)
    assert good == DOCUMENTS[:20]
    np.testing.assert_array_equal(levs, joined(encoded))
    assert [str(error) for error in skipped] == [f"empty: {NO_WORD}"]
    assert sum(counts) == len(documents)


def test_workers_get_the_next_batch_while_one_is_waited_for(much_to_do: None) -> None:
    begun: list[int] = []

    def run(documents: object) -> Iterator[np.ndarray]:
        begun.append(len(documents))  # type: ignore[arg-type]
        return iter([np.zeros(1)] * begun[-1])

    for number, batch in enumerate(encoded_batches(DOCUMENTS, run), start=1):  # type: ignore[arg-type]
        assert len(begun) == min(number + 1, 3)
        assert len(list(batch)) == begun[number - 1]
    assert begun == [16, 16, 8]


def test_an_error_of_the_next_item_does_not_come_before_its_turn() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2)
        raise InputError("broken")

    taken: list[int] = []
    with pytest.raises(InputError, match="broken"):
        list(map(taken.append, begun_ahead(items())))
    assert taken == [1, 2]
    assert list(begun_ahead([])) == []
    for count in (0, 1, 3, 9):
        assert list(begun_ahead(range(5), count)) == list(range(5))


def test_no_jobs_are_refused(model: Path, verifier: Verifier) -> None:
    with (
        pytest.raises(OptionError, match="jobs is 0; expected 1 or more"),
        encoder(model, verifier, jobs=0),
    ):
        pass
