"""Shards: the same results by another engine, finished ones kept, whatever went wrong said."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from adhominem.jobs import ray_engine, workers
from adhominem.jobs.ray_engine import ClusterJob, RayEngine
from adhominem.jobs.workers import Answer, Sharded, answer_to, encoder_on
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
    """An engine in this process."""

    ahead = 3

    def __init__(self, model: Path, folder: Path, most: int) -> None:
        self._verifier, self._folder, self._most = load(model), folder, most
        self._waiting: list[Sequence[Document]] = []
        self.done = self.most_waiting = self.most_files = 0

    def begin(self, documents: Sequence[Document]) -> Sequence[Document]:
        self._waiting.append(documents)
        self.most_waiting = max(self.most_waiting, len(self._waiting))
        return documents

    def result(self, shard: Sequence[Document]) -> Answer:
        if self.done == self._most:
            raise StoppedError
        self._waiting.remove(shard)
        self.done += 1
        files = len(list(self._folder.rglob("*.levs.safetensors")))
        self.most_files = max(self.most_files, files)
        return answer_to(self._verifier, shard)


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Nearby]:
    """The engines that stood in for Ray, one for each run, with few texts in a shard."""
    monkeypatch.setattr(workers, "_BATCH", 4)
    monkeypatch.setattr(predict_module, "_CASES_AT_ONCE", 3)
    started: list[Nearby] = []

    @contextmanager
    def stand_in(model: Path, verifier: Any, jobs: int | None) -> Iterator[Nearby]:
        started.append(Nearby(model, tmp_path, jobs or 1_000_000))
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
    assert engines[0].done >= 8
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
    assert len(list(folder.glob("*.levs.safetensors"))) == len(list(folder.iterdir())) == 5
    run(*call, status=3)
    assert not folder.exists()
    run(*call[:3], f"{output.with_name('again' + output.suffix)}", *call[4:], status=3)
    assert engines[2].done == engines[1].done + 5


def test_of_a_changed_input_only_the_changed_shards_are_encoded_again(
    texts: Path, model: Path, tmp_path: Path, engines: list[Nearby]
) -> None:
    call = ["encode", texts, "-o", tmp_path / "a.npz", "--model", model, "--engine", "ray"]
    with pytest.raises(StoppedError):
        run(*call, "--jobs", 6)
    texts.write_text(texts.read_text("utf-8").replace(ROWS[1]["text"], "Another text!"), "utf-8")
    run(*call, status=3)
    changed = 1
    assert engines[1].done == 11 - 6 + changed


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
    assert engines[0].done == 11
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


@pytest.fixture
def job(model: Path) -> ClusterJob:
    return ClusterJob(
        model=str(model),
        model_sha256=load(model).sha256,
        version=__version__,
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"model": "/no/model"}, "cannot take part: it cannot read the model /no/model"),
        ({"model_sha256": "0"}, "cannot take part: it has another model under the name"),
        ({"version": "0.0"}, rf"it has version {__version__} of adhominem, not 0\.0; install"),
    ],
)
def test_a_machine_that_cannot_take_part_says_why(
    change: dict[str, str], problem: str, job: ClusterJob
) -> None:
    engine = RayEngine(_FakeRay, ClusterJob(**{**vars(job), **change}), 1)
    with pytest.raises(AdHominemError, match=problem):
        engine.result(engine.begin(documents("abc")))


@dataclass(eq=False)
class _Task:
    text: str
    work: Callable[[], Any]


class _FakeRay:
    """A cluster that does all work in this process, when it is begun."""

    ran: ClassVar[list[str]] = []
    cancelled: ClassVar[list[Any]] = []
    dying = 0  # tasks, the first ones

    class exceptions:  # noqa: N801
        RayError = ConnectionError

    @staticmethod
    def remote(**options: Any) -> Any:
        def made(work: Callable[..., Any]) -> Any:
            def run(job: ClusterJob, texts: list[Document]) -> Any:
                _FakeRay.ran.append(texts[0].text)
                return _Task(texts[0].text, lambda: work(job, texts))

            return SimpleNamespace(remote=run)

        return made

    @staticmethod
    def wait(tasks: list[Any]) -> tuple[list[Any], list[Any]]:
        return tasks[:1], tasks[1:]

    @staticmethod
    def get(task: Any) -> Any:
        if len(_FakeRay.ran) <= _FakeRay.dying:
            raise ConnectionError("a worker died")
        return task.work()

    @staticmethod
    def cancel(task: Any, force: bool) -> None:
        _FakeRay.cancelled.append(task.text)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> type[_FakeRay]:
    monkeypatch.setattr(_FakeRay, "ran", [])
    monkeypatch.setattr(_FakeRay, "cancelled", [])
    return _FakeRay


def test_texts_with_which_processes_die_are_tried_again_and_given_up_at_last(
    job: ClusterJob, ray: type[_FakeRay], monkeypatch: pytest.MonkeyPatch
) -> None:
    for dying in (4, 5):
        monkeypatch.setattr(ray, "ran", [])
        monkeypatch.setattr(ray, "dying", dying)
        engine = RayEngine(ray, job, 1)
        shard = engine.begin(documents("Some words."))
        if dying == 4:
            levs, (error,) = engine.result(shard)
            assert (len(levs), error) == (1, None)
        else:
            with pytest.raises(AdHominemError, match=r"gave up: 5 worker .*\(a worker died\)"):
                engine.result(shard)
        assert ray.ran == ["Some words."] * 5


def test_no_more_shards_are_at_work_than_there_are_jobs(
    job: ClusterJob, ray: type[_FakeRay], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = RayEngine(ray, job, cores=8, jobs=2)
    assert engine.ahead == 8
    shards = [engine.begin(documents(text)) for text in "abcd"]
    assert ray.ran == ["a", "b"]
    for shard in shards[:2]:
        engine.result(shard)
    assert ray.ran == ["a", "b", "c", "d"]
    engine.close()
    assert ray.cancelled == ["c", "d"]


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
