"""An engine of shards on a Ray cluster, by Ray Data: each of its actors holds the model.

Only names of shards travel through Ray. A source that runs as long as the job reads them from a
feed; actors encode them, files to files; their names come back. Ray starts an actor again that has
died, or another one elsewhere, and gives it the shard once more.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import adhominem
from adhominem.errors import AdHominemError, OptionError
from adhominem.jobs.ray_connection import connected, first_line
from adhominem.jobs.shards import encode_shard
from adhominem.text.files import real_path
from adhominem.verify.verifier import Verifier, load

_SHARDS_AN_ACTOR = 4  # they are taken in order: one that is late must not keep the others waiting


@contextmanager
def ray_engine(
    model: str | Path, verifier: Verifier, jobs: int | None, folder: Path
) -> Iterator[RayEngine]:
    """Encode shards of a folder on the cluster at RAY_ADDRESS, on at most so many actors.

    Without the variable it is the cluster that this machine belongs to, or else a new one of this
    machine alone.
    """
    if jobs is not None and jobs < 1:
        raise OptionError(f"jobs is {jobs}; expected 1 or more")
    with connected() as ray:
        cores = int(ray.cluster_resources().get("CPU", 0))
        if not cores:
            raise AdHominemError("the Ray cluster has no CPU; start a node with `--num-cpus 1`")
        job = Job(
            model=str(real_path(model)) if Path(model).is_dir() else str(model),
            model_sha256=verifier.sha256,
            version=adhominem.__version__,
            folder=str(folder),
        )
        with closing(RayEngine(ray, job, min(jobs or cores, cores))) as engine:
            yield engine


class RayEngine:
    """Shards go in by name, and come out by name, finished, in any order."""

    def __init__(self, ray: Any, job: Job, actors: int) -> None:
        self.ahead = _SHARDS_AN_ACTOR * actors
        self._ray = ray
        here = ray.get_runtime_context().get_node_id()
        near = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        # Where this process is: with its machine the job ends in any case.
        self._feed = ray.remote(num_cpus=0, scheduling_strategy=near)(_Feed).remote()
        context = ray.data.DataContext.get_current()
        self._context, self._settings = context, _settings_of(context)
        context.enable_progress_bars = False
        context.target_max_block_size = 1  # byte: each name goes on at once
        shards = ray.data.read_datasource(
            _source(ray, self._feed),
            num_cpus=0,  # it only waits: where actors take all cores, it must run all the same
            override_num_blocks=1,
        ).map_batches(
            EncoderActor,
            fn_constructor_args=(job,),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=actors, initial_size=actors),
            num_cpus=1,
        )
        self._rows: Iterator[Mapping[str, Any]] = iter(
            shards.iter_batches(batch_size=None, prefetch_batches=0)
        )

    def begin(self, shard: str) -> None:
        """Have a shard encoded, whose texts are written."""
        with self._hearing_of_failures():
            self._ray.get(self._feed.add.remote(shard))

    def finished(self) -> str:
        """One more shard whose LEVs are written; waits for it."""
        with self._hearing_of_failures():
            row = next(self._rows)
        if problem := str(row["problem"][0]):
            raise AdHominemError(problem)
        return str(row["shard"][0])

    @contextmanager
    def _hearing_of_failures(self) -> Iterator[None]:
        try:
            yield
        except (self._ray.exceptions.RayError, StopIteration) as error:
            raise AdHominemError(
                f"the Ray cluster gave up ({first_line(error)}); start the same command again: "
                "what is finished is passed over"
            ) from None

    def close(self) -> None:
        """End the source, and so the job; what is not finished is left."""
        for name, value in self._settings.items():
            setattr(self._context, name, value)
        self._feed.end.remote()
        close = getattr(self._rows, "close", None)
        if close is not None:
            close()


def _settings_of(context: Any) -> dict[str, Any]:
    """Those that are changed here, and belong to all who use Ray Data in this process."""
    names = ("enable_progress_bars", "target_max_block_size")
    return {name: getattr(context, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class Job:
    """What actors are told: where things are, and what the model must be."""

    model: str
    model_sha256: str
    version: str
    folder: str


class EncoderActor:
    """A model in a process of its own, somewhere on the cluster."""

    def __init__(self, job: Job) -> None:
        self._folder = Path(job.folder)
        self._verifier: Verifier | None = None
        self._problem = ""  # told with the first shard: Ray would try to start a failed actor again
        try:
            self._verifier = load(job.model)
        except (AdHominemError, OSError) as error:
            self._problem = f"it cannot read the model {job.model} ({error})"
            return
        if adhominem.__version__ != job.version:
            self._problem = (
                f"it has version {adhominem.__version__} of adhominem, not {job.version}"
            )
        elif self._verifier.sha256 != job.model_sha256:
            self._problem = f"it has another model under the name {job.model}"

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[str]]:
        """Encode the shard of this name, and say what went wrong, if anything."""
        shard, problem = str(batch["shard"][0]), ""
        if self._problem or self._verifier is None:
            problem = (
                f"the machine {socket.gethostname()} cannot take part: {self._problem}; install "
                "the same version on all machines of the cluster, and put a model of your own on "
                "storage that they share"
            )
        else:
            try:
                encode_shard(self._folder, shard, self._verifier)
            except (AdHominemError, OSError) as error:
                problem = str(error)
        return {"shard": [shard], "problem": [problem]}


class _Feed:
    """The names of all shards of a job, for a source that waits for the next one."""

    def __init__(self) -> None:
        self._shards: list[str] = []
        self._ended = False
        self._news = asyncio.Condition()

    async def add(self, shard: str) -> None:
        async with self._news:
            self._shards.append(shard)
            self._news.notify_all()

    async def end(self) -> None:
        async with self._news:
            self._ended = True
            self._news.notify_all()

    async def at(self, number: int) -> str | None:
        """A shard by its place, once it is there: a source that is started again reads the same."""
        async with self._news:
            await self._news.wait_for(lambda: self._ended or number < len(self._shards))
        return self._shards[number] if number < len(self._shards) else None


def _source(ray: Any, feed: Any) -> Any:
    """The names of a feed as a source of Ray Data, each as soon as it is there."""
    from ray.data import Datasource, ReadTask
    from ray.data.block import BlockMetadata

    def read() -> Iterator[Any]:
        import pyarrow

        number = 0
        while (shard := ray.get(feed.at.remote(number))) is not None:
            number += 1
            yield pyarrow.table({"shard": [shard]})

    class Shards(Datasource):
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, *details: Any, **options: Any) -> list[Any]:
            nothing: Any = dict.fromkeys(("num_rows", "size_bytes", "input_files", "exec_stats"))
            return [ReadTask(read, BlockMetadata(**nothing))]

    return Shards()  # type: ignore[no-untyped-call]
