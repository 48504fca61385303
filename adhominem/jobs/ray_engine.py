"""Shards encoded on a Ray cluster: one task per shard, in processes that keep the model loaded.

Only the names of shards travel through Ray; texts and LEVs are in files (`jobs.engines`). If a
process or a machine dies, Ray assigns its shard to another.
"""

from __future__ import annotations

import io
import logging
import os
import socket
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import chdir, closing, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import current_thread
from typing import Any, TextIO, cast

import adhominem
from adhominem.errors import AdHominemError, MissingExtraError, OptionError
from adhominem.jobs.engines import encode_shard
from adhominem.text.files import real_path
from adhominem.verify.verifier import Verifier, load

_SHARDS_A_PROCESS = 4  # they are taken in order: one that is late must not keep the others waiting
_PATIENCE = 10  # seconds to wait for a cluster to answer


@contextmanager
def ray_engine(
    model: str | Path, verifier: Verifier, jobs: int | None, folder: Path
) -> Iterator[RayEngine]:
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
            folder=str(folder),
        )
        with closing(RayEngine(ray, job, cores, jobs)) as engine:
            yield engine


@dataclass(frozen=True, kw_only=True)
class ClusterJob:
    """What the processes of a cluster need: where the files are, and which model to load."""

    model: str
    model_sha256: str
    version: str
    folder: str


class RayEngine:
    """A `ShardEngine` whose shards are tasks on a Ray cluster."""

    def __init__(self, ray: Any, job: ClusterJob, cores: int, jobs: int | None = None) -> None:
        self.ahead = _SHARDS_A_PROCESS * min(jobs or cores, cores)
        # Ray itself keeps to the number of CPUs: a process takes one.
        self._most = jobs if jobs and jobs < cores else sys.maxsize
        self._ray, self._job = ray, job
        self._encode = ray.remote(num_cpus=1, max_retries=-1)(encode_named_shard)
        self._waiting: deque[str] = deque()
        self._running: dict[Any, str] = {}  # shards by the references of their tasks

    def begin(self, shard: str) -> None:
        """Start to encode a shard whose texts have been written."""
        self._waiting.append(shard)
        self._start()

    def _start(self) -> None:
        with self._naming_failures():
            while self._waiting and len(self._running) < self._most:
                shard = self._waiting.popleft()
                self._running[self._encode.remote(self._job, shard)] = shard

    def finished(self) -> str:
        """The next shard whose LEVs have been written; waits for it."""
        with self._naming_failures():
            (task,), _ = self._ray.wait([*self._running])
            problem = self._ray.get(task)
        shard = self._running.pop(task)
        self._start()
        if problem:
            raise AdHominemError(problem)
        return shard

    @contextmanager
    def _naming_failures(self) -> Iterator[None]:
        try:
            yield
        except self._ray.exceptions.RayError as error:
            raise AdHominemError(
                f"the Ray cluster gave up ({first_line(error)}); start the same command again: "
                "what is finished is skipped"
            ) from None

    def close(self) -> None:
        """Cancel all tasks; unfinished shards are abandoned."""
        for task in self._running:
            with suppress(self._ray.exceptions.RayError):
                self._ray.cancel(task, force=True)


def encode_named_shard(job: ClusterJob, shard: str) -> str:
    """Encode a shard on some node of the cluster; the error message, or nothing."""
    model = _model_for_job(job)
    if isinstance(model, str):
        return (
            f"the machine {socket.gethostname()} cannot take part: {model}; install the same "
            "version on all machines of the cluster, and put a model of your own on storage that "
            "they share"
        )
    try:
        encode_shard(Path(job.folder), shard, model)
    except (AdHominemError, OSError) as error:
        return str(error)
    return ""


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
