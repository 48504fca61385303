"""Shards encoded on a Ray cluster: one task per shard, in processes that keep the model loaded.

If a process or a machine dies, its shard is given to another one, a few times.
"""

from __future__ import annotations

import io
import logging
import os
import socket
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import chdir, closing, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import current_thread
from typing import Any, TextIO, cast

import adhominem
from adhominem.errors import AdHominemError, MissingExtraError, OptionError
from adhominem.jobs.workers import Answer, answer_to
from adhominem.text.files import Document, real_path
from adhominem.verify.verifier import Verifier, load

_SHARDS_A_PROCESS = 4  # they are taken in order: one that is late must not keep the others waiting
_MOST_TRIES = 5
_PATIENCE = 10  # seconds to wait for a cluster to answer


@contextmanager
def ray_engine(model: str | Path, verifier: Verifier, jobs: int | None) -> Iterator[RayEngine]:
    """An engine on the cluster at RAY_ADDRESS, with at most `jobs` processes.

    If the variable is not set, it uses the cluster that this machine belongs to, or else starts a
    new one on this machine alone.
    """
    if jobs is not None and jobs < 1:
        raise OptionError(f"jobs is {jobs}; expected 1 or more")
    with connected() as ray:
        cores = int(ray.cluster_resources().get("CPU", 0))
        if not cores:
            raise AdHominemError("the Ray cluster has no CPU; start a node with `--num-cpus 1`")
        job = ClusterJob(
            model=str(real_path(model)) if Path(model).is_dir() else str(model),
            model_sha256=verifier.sha256,
            version=adhominem.__version__,
        )
        with closing(RayEngine(ray, job, cores, jobs)) as engine:
            yield engine


@dataclass(frozen=True, kw_only=True)
class ClusterJob:
    """Which model the processes of a cluster need."""

    model: str
    model_sha256: str
    version: str


@dataclass(eq=False)
class ShardTask:
    """Texts that are to be encoded, and the task that is at it."""

    documents: list[Document]
    task: Any = None  # its reference in Ray, once it is begun
    tries: int = 0


class RayEngine:
    """A `ShardEngine` whose shards are tasks on a Ray cluster."""

    def __init__(self, ray: Any, job: ClusterJob, cores: int, jobs: int | None = None) -> None:
        self.ahead = _SHARDS_A_PROCESS * min(jobs or cores, cores)
        # Ray itself keeps to the number of CPUs: a process takes one.
        self._most = jobs if jobs and jobs < cores else sys.maxsize
        self._ray, self._job = ray, job
        # Tried again here: Ray would do so for ever where memory is short.
        self._encode = ray.remote(num_cpus=1, max_retries=0)(encode_shard)
        self._waiting: deque[ShardTask] = deque()
        self._running: dict[Any, ShardTask] = {}  # by their tasks

    def begin(self, documents: Sequence[Document]) -> ShardTask:
        """Start to encode texts; only what matters of them is sent."""
        texts = [replace(text, author="", work="") for text in documents]
        self._waiting.append(shard := ShardTask(texts))
        self._start()
        return shard

    def _start(self) -> None:
        while self._waiting and len(self._running) < self._most:
            shard = self._waiting.popleft()
            shard.tries += 1
            shard.task = self._encode.remote(self._job, shard.documents)
            self._running[shard.task] = shard

    def result(self, shard: ShardTask) -> Answer:
        """The LEVs of a shard; waits for them."""
        while True:
            try:
                self._start()
                while shard.task is None or shard.task in self._running:
                    (task,), _ = self._ray.wait([*self._running])
                    del self._running[task]
                    self._start()
                answer = self._ray.get(shard.task)
            except self._ray.exceptions.RayError as error:
                if shard.tries >= _MOST_TRIES:
                    raise AdHominemError(
                        f"the Ray cluster gave up: {_MOST_TRIES} worker processes died with the "
                        f"same texts, perhaps for lack of memory ({first_line(error)}); run fewer "
                        "of them on each machine (`ray start --num-cpus`), then start the same "
                        "command again: what is finished is skipped"
                    ) from None
                shard.task = None
                self._waiting.appendleft(shard)
                continue
            if isinstance(answer, str):
                raise AdHominemError(answer)
            levs, errors = cast(Answer, answer)
            return levs.copy(), errors  # or it would stay in the memory that Ray shares

    def close(self) -> None:
        """Cancel all tasks; unfinished shards are abandoned."""
        for task in self._running:
            with suppress(self._ray.exceptions.RayError):
                self._ray.cancel(task, force=True)


def encode_shard(job: ClusterJob, documents: Sequence[Document]) -> Answer | str:
    """The LEVs of texts, computed on some node of the cluster, or what went wrong there."""
    model = _model_for_job(job)
    if isinstance(model, str):
        return (
            f"the machine {socket.gethostname()} cannot take part: {model}; install the same "
            "version on all machines of the cluster, and put a model of your own on storage that "
            "they share"
        )
    try:
        return answer_to(model, documents)
    except (AdHominemError, OSError) as error:
        return str(error)


@lru_cache(maxsize=1)
def _model_for_job(job: ClusterJob) -> Verifier | str:
    """The model of a job, loaded once per process, or why it cannot be used here."""
    try:
        verifier = load(job.model)
    except (AdHominemError, OSError) as error:
        return f"it cannot read the model {job.model} ({error})"
    if adhominem.__version__ != job.version:
        return f"it has version {adhominem.__version__} of adhominem, not {job.version}"
    if verifier.sha256 != job.model_sha256:
        return f"it has another model under the name {job.model}"
    return verifier


@contextmanager
def connected() -> Iterator[Any]:
    """The Ray module, connected to a cluster, with its output to stdout and stderr silenced."""
    ray = _imported()
    with redirect_stdout(cast(TextIO, _WithoutRay(sys.stdout))):
        if ray.is_initialized():
            yield ray
            return
        _connect(ray)
        try:
            yield ray
        finally:
            with redirect_stdout(io.StringIO()):  # what its threads have kept back so far
                ray.shutdown()


def _imported() -> Any:
    """The Ray module, with its logging and its usage reports turned off."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray", "the engine ray") from None
    return ray


def _connect(ray: Any) -> None:
    address = os.environ.get("RAY_ADDRESS")
    if address and address.startswith("ray://"):
        raise OptionError(
            f"RAY_ADDRESS is {address}, for Ray's client; expected HOST:PORT, on a machine of the "
            "cluster, as `ray start` has printed it"
        )
    if address and ":" in address:  # others are `auto` and `local`
        _knock(address)
    try:
        # Ray puts the current folder into the path of all workers: they would run what lies in it
        # under the name of a module. What they find in this one they have anyway.
        with chdir(sys.prefix), _speechless():
            ray.init(logging_level=logging.CRITICAL, log_to_driver=False, include_dashboard=False)
    except (ConnectionError, OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise AdHominemError(
            f"Ray did not let this process in at {address or 'this machine'} "
            f"({first_line(error)}); it must have the same version of Python and of Ray as the "
            "cluster, and the cluster's token, if there is one (RAY_AUTH_MODE, RAY_AUTH_TOKEN)"
        ) from None


def _knock(address: str) -> None:
    """Raise if nothing listens at an address; Ray itself would retry for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, ValueError, OverflowError) as error:
        raise AdHominemError(
            f"no Ray cluster answers at {address}, as RAY_ADDRESS says ({error}); start one with "
            "`ray start --head`, and set RAY_ADDRESS to the HOST:PORT that it prints"
        ) from None


class _WithoutRay:
    """A stream that drops what Ray's threads print to it, such as the death of a process."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if current_thread().name.startswith("ray_"):
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _speechless() -> Iterator[None]:
    """A context without standard error, which the C++ part of Ray writes to."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def first_line(error: BaseException) -> str:
    """The first line of what an error says; Ray's errors are long."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
