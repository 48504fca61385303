"""Shards: the same results by another engine, finished ones kept, whatever went wrong said."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import NgramRun, rich_rows, write_rows

from adhominem import Document, __version__, load, make_ensemble
from adhominem.arrays import joined
from adhominem.cli import main
from adhominem.errors import (
    NO_WORD,
    AdHominemError,
    EmptyTextError,
    MissingExtraError,
    OptionError,
)
from adhominem.index import build
from adhominem.jobs import engines as encoding
from adhominem.jobs import ray_engine, workers
from adhominem.jobs.engines import Sharded, encode_shard, encoder_on
from adhominem.jobs.ray_engine import ClusterJob, RayEngine
from adhominem.questions.predict import files as predict_module

ROWS = rich_rows("letters", 10, 4, "-shards-")
BLANK = "\u200b"  # no word in it


@pytest.fixture(scope="module")
def model(
    ngram_run: NgramRun, profile_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Its LEVs have a dense part and a sparse one."""
    folder = tmp_path_factory.mktemp("shards") / "model"
    make_ensemble([ngram_run.folder, profile_folder], folder)
    return folder


class StoppedError(Exception):
    """Ends a run from outside."""


class Nearby:
    """An engine in this process, which finishes the latest shard first."""

    ahead = 3

    def __init__(self, model: Path, folder: Path, most: int) -> None:
        self._verifier, self._folder, self._most = load(model), folder, most
        self._waiting: list[str] = []
        self.done: list[str] = []
        self.most_waiting = self.most_files = 0

    def begin(self, shard: str) -> None:
        self._waiting.append(shard)
        self.most_waiting = max(self.most_waiting, len(self._waiting))

    def finished(self) -> str:
        if len(self.done) == self._most:
            raise StoppedError
        shard = self._waiting.pop()
        encode_shard(self._folder, shard, self._verifier)
        self.done.append(shard)
        files = len(list(self._folder.glob("*.levs.safetensors")))
        self.most_files = max(self.most_files, files)
        return shard


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[Nearby]:
    """The engines that stood in for Ray, one for each run, with few texts in a shard."""
    monkeypatch.setattr(workers, "_BATCH", 4)
    monkeypatch.setattr(predict_module, "_CASES_AT_ONCE", 3)
    started: list[Nearby] = []

    @contextmanager
    def stand_in(model: Path, verifier: Any, jobs: int | None, folder: Path) -> Iterator[Nearby]:
        started.append(Nearby(model, folder, jobs or 1_000_000))
        yield started[-1]

    monkeypatch.setattr(ray_engine, "ray_engine", stand_in)
    return started


def run(*arguments: object, status: int = 0) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*map(str, arguments), "--json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return dict(json.loads(result.stdout))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Texts with a broken line and one without a word among them."""
    path = write_rows(tmp_path / "texts.jsonl", [*ROWS, {"id": "blank", "text": BLANK}])
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:9], "{broken\n", lines[-1], *lines[9:-1]]), "utf-8")
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    both = [
        {"id": f"p{at}", "fandoms": ["", ""], "pair": [ROWS[at]["text"], ROWS[at + 7]["text"]]}
        for at in range(30)
    ]
    both[4]["pair"][1] = BLANK  # type: ignore[index]
    return write_rows(tmp_path / "pairs.jsonl", both)  # type: ignore[arg-type]


def bytes_in(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(path.iterdir())
    return {file.name if path.is_dir() else "": file.read_bytes() for file in files}


@pytest.mark.parametrize("command", ["encode", "predict", "index"])
def test_another_engine_gives_the_same_bytes_and_lists_the_same_as_skipped(
    command: str,
    texts: Path,
    pairs: Path,
    model: Path,
    tmp_path: Path,
    engines: list[Nearby],
) -> None:
    name = {"encode": "out.npz", "predict": "out.jsonl", "index": "out"}[command]
    more = {"encode": [], "predict": ["--population", "input"], "index": ["--trials", "3"]}[command]
    results = []
    for engine in ("local", "ray"):
        output = tmp_path / engine / name
        output.parent.mkdir()
        source = pairs if command == "predict" else texts
        call = [command, source, "-o", output, "--model", model, *more]
        told = run(*call, "--engine", engine, status=3)
        assert [file.name for file in output.parent.iterdir()] == [name]
        results.append((bytes_in(output), told["skipped"]))
    assert results[0] == results[1]
    assert len(results[0][1]) == (1 if command == "predict" else 2)
    assert len(engines[0].done) >= 8
    assert engines[0].most_waiting == 4  # three are begun while the first is waited for


@pytest.mark.parametrize("command", ["encode", "predict", "index"])
def test_a_run_that_was_stopped_goes_on_with_what_is_finished(
    command: str,
    texts: Path,
    pairs: Path,
    model: Path,
    tmp_path: Path,
    engines: list[Nearby],
) -> None:
    output = tmp_path / {"encode": "out.npz", "predict": "out.jsonl", "index": "out"}[command]
    source = pairs if command == "predict" else texts
    call = [command, source, "-o", output, "--model", model, "--engine", "ray"]
    call += {"encode": [], "predict": ["--population", "input"], "index": ["--trials", 0]}[command]
    with pytest.raises(StoppedError):
        run(*call, "--jobs", 5)
    folder = tmp_path / f"{output.name}.shards"
    kept = {file.name.split(".")[0] for file in folder.iterdir()}
    assert kept == set(engines[0].done)
    assert all(file.name.endswith(".levs.safetensors") for file in folder.iterdir())
    run(*call, status=3)
    assert len(engines[0].done) == 5
    assert not kept & set(engines[1].done)
    assert not folder.exists()
    run(*call[:3], f"{output.with_name('again' + output.suffix)}", *call[4:], status=3)
    assert set(engines[2].done) == kept | set(engines[1].done)


def test_of_a_changed_input_only_the_changed_shards_are_encoded_again(
    texts: Path, model: Path, tmp_path: Path, engines: list[Nearby]
) -> None:
    call = ["encode", texts, "-o", tmp_path / "a.npz", "--model", model, "--engine", "ray"]
    with pytest.raises(StoppedError):
        run(*call, "--jobs", 6)
    texts.write_text(texts.read_text("utf-8").replace(ROWS[1]["text"], "Another text!"), "utf-8")
    run(*call, status=3)
    changed = 1
    assert len(engines[1].done) == 11 - 6 + changed


def test_an_index_needs_no_shard_any_longer_that_is_written_in_it(
    texts: Path,
    model: Path,
    tmp_path: Path,
    engines: list[Nearby],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build, "SHARD", 5)
    output = tmp_path / "index"
    call = ["index", texts, "-o", output, "--model", model, "--engine", "ray"]
    assert run(*call, "--trials", 0, status=3)["added"] == len(ROWS)
    assert len(engines[0].done) == 11
    assert engines[0].most_files <= Nearby.ahead + 3


def documents(*texts: str) -> list[Document]:
    return [Document(text=text, id=f"{at}") for at, text in enumerate(texts)]


def test_levs_and_errors_come_back_from_a_file_as_they_were(model: Path, tmp_path: Path) -> None:
    engine = Nearby(model, tmp_path, 9)
    verifier = load(model)
    encode = Sharded(engine, tmp_path, verifier)
    good = [row["text"] for row in ROWS[:3]]
    first, blank, *others = encode(documents(good[0], BLANK, *good[1:]))
    assert isinstance(blank, EmptyTextError)
    assert str(blank) == f"1: {NO_WORD}"
    expected = verifier.encode(documents(*good))
    levs = joined([first, *others])
    for part, wanted in zip(levs.parts, expected.parts, strict=True):
        assert type(part) is type(wanted)
        assert part.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(part), np.asarray(wanted))
    (only,) = encode(documents(BLANK))
    assert isinstance(only, EmptyTextError)
    assert list(encode([])) == []


def test_a_damaged_shard_is_named(model: Path, tmp_path: Path) -> None:
    encode = Sharded(Nearby(model, tmp_path, 9), tmp_path, load(model))
    list(encode(documents("Some words.")))
    (file,) = tmp_path.glob("*.levs.safetensors")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(AdHominemError, match=rf"{file.name} is damaged.*; remove it, and start"):
        list(encode(documents("Some words.")))


def test_a_shard_with_which_workers_die_is_given_up_at_last(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = Sharded(engine := Nearby(model, tmp_path, 9), tmp_path, load(model))
    waiting = encode(documents("Some words."))
    monkeypatch.setattr(encoding, "answer_to", lambda *details: 1 / 0)
    (shard,) = engine._waiting
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            encode_shard(tmp_path, shard, load(model))
    with pytest.raises(AdHominemError, match="was given up: 5 worker processes died with it"):
        list(waiting)


@pytest.fixture
def job(model: Path, tmp_path: Path) -> ClusterJob:
    return ClusterJob(
        model=str(model),
        model_sha256=load(model).sha256,
        version=__version__,
        folder=str(tmp_path),
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, "cannot read the texts in .*; put the output on storage that all machines"),
        ({"model": "/no/model"}, "cannot take part: it cannot read the model /no/model"),
        ({"model_sha256": "0"}, "cannot take part: it has another model under the name"),
        ({"version": "0.0"}, rf"it has version {__version__} of adhominem, not 0\.0; install"),
    ],
)
def test_a_machine_that_cannot_take_part_says_why(
    change: dict[str, str], problem: str, job: ClusterJob
) -> None:
    engine = RayEngine(_FakeRay, ClusterJob(**{**vars(job), **change}), 1)
    engine.begin("abc")
    with pytest.raises(AdHominemError, match=problem):
        engine.finished()


class _FakeRay:
    """A cluster that does all work in this process, when it is begun."""

    ran: ClassVar[list[str]] = []
    cancelled: ClassVar[list[Any]] = []

    class exceptions:  # noqa: N801
        RayError = ConnectionError

    @staticmethod
    def remote(**options: Any) -> Any:
        def made(work: Callable[[ClusterJob, str], str]) -> Any:
            def run(job: ClusterJob, shard: str) -> tuple[str]:
                _FakeRay.ran.append(shard)
                return (work(job, shard),)

            return SimpleNamespace(remote=run)

        return made

    @staticmethod
    def wait(tasks: list[Any]) -> tuple[list[Any], list[Any]]:
        return tasks[:1], tasks[1:]

    @staticmethod
    def get(task: tuple[str]) -> str:
        return task[0]

    @staticmethod
    def cancel(task: Any, force: bool) -> None:
        _FakeRay.cancelled.append(task)


def test_a_cluster_that_gives_up_says_what_to_do(
    job: ClusterJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(tasks: list[Any]) -> Any:
        raise ConnectionError("the node died")

    engine = RayEngine(_FakeRay, job, 1)
    monkeypatch.setattr(_FakeRay, "wait", fail)
    with pytest.raises(AdHominemError, match=r"gave up.*the node died.*start the same command"):
        engine.finished()


def test_no_more_shards_are_at_work_than_there_are_jobs(
    job: ClusterJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_FakeRay, "ran", [])
    monkeypatch.setattr(_FakeRay, "cancelled", [])
    # Each answer is another object, as references of tasks are.
    monkeypatch.setattr(_FakeRay, "get", lambda task: "")
    monkeypatch.setattr(ray_engine, "encode_named_shard", lambda job, shard: shard)
    engine = RayEngine(_FakeRay, job, cores=8, jobs=2)
    assert engine.ahead == 8
    for name in "abcd":
        engine.begin(name)
    assert _FakeRay.ran == ["a", "b"]
    assert [engine.finished(), engine.finished()] == ["a", "b"]
    assert _FakeRay.ran == ["a", "b", "c", "d"]
    engine.close()
    assert _FakeRay.cancelled == [("c",), ("d",)]


def test_without_ray_the_extra_is_named(
    texts: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(MissingExtraError, match=r"pip install .*\[ray\]"),
        encoder_on("ray", model, load(model), 1, "cpu", tmp_path / "a.npz"),
    ):
        pass
    assert not (tmp_path / "a.npz.shards").exists()


@pytest.mark.parametrize(
    ("engine", "device", "jobs", "address", "problem"),
    [
        ("spark", "cpu", 1, "", "the engine is 'spark'; expected local or ray"),
        ("ray", "cuda", 1, "", "the device is 'cuda'; expected cpu, for the engine ray"),
        ("ray", "cpu", 0, "", "jobs is 0; expected 1 or more"),
        ("ray", "cpu", 1, "ray://host:10001", "for Ray's client; expected HOST:PORT"),
        ("ray", "cpu", 1, "127.0.0.1:1", r"no Ray cluster answers at 127\.0\.0\.1:1.*ray start"),
        ("ray", "cpu", 1, "host:port", "no Ray cluster answers at host:port"),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    engine: str,
    device: str,
    jobs: int,
    address: str,
    problem: str,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    # Ray itself is not needed for any of these, and takes seconds to load.
    monkeypatch.setattr(ray_engine, "_imported", lambda: _FakeRayModule)
    verifier = load(model)
    with (
        pytest.raises((OptionError, AdHominemError), match=problem),
        encoder_on(engine, model, verifier, jobs, device, tmp_path / "a.npz"),
    ):
        pass


class _FakeRayModule:
    exceptions = _FakeRay.exceptions

    @staticmethod
    def is_initialized() -> bool:
        return False
