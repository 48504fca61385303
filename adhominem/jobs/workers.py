"""Encoding in worker processes where there is much to do, or else in this process.

For a GPU, workers read texts and count n-grams, and this process runs the networks on many texts at
once: a single process would leave the GPU idle most of the time, and several would each hold a
share of its memory.

On a cluster, texts are encoded shard by shard, with the same LEVs. A shard is a few hundred texts.
What a cluster has finished lies beside the output of the job until the job succeeds. A shard is
named after its texts and the model, so a run that is started again knows which ones are finished.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

import adhominem
from adhominem import errors
from adhominem.arrays import Levs, Rows, SparseRows, joined
from adhominem.errors import AdHominemError, InputError, OptionError
from adhominem.processes import cores, worker_pool
from adhominem.text.files import Document, real_path
from adhominem.text.writing import replace_file
from adhominem.verify.encoding import Begun
from adhominem.verify.verifier import Verifier, load

ENGINES = ("local", "ray")
_LEVS = ".levs.safetensors"


@contextmanager
def encoder_on(
    engine: str,
    model: str | Path,
    verifier: Verifier,
    jobs: int | None,
    device: str,
    output: Path,
) -> Iterator[EncoderPool]:
    """An encoder on this machine (`local`) or on a Ray cluster (`ray`)."""
    if engine == "local":
        with encoder(model, verifier, jobs, device) as encode:
            yield encode
        return
    if engine not in ENGINES:
        raise OptionError(f"the engine is '{engine}'; expected {' or '.join(ENGINES)}")
    if device != "cpu":
        raise OptionError(f"the device is '{device}'; expected cpu, for the engine {engine}")
    from adhominem.jobs.ray_engine import ray_engine

    output = real_path(output)
    with ray_engine(model, verifier, jobs) as cluster:
        sharded = Sharded(cluster, output.with_name(f"{output.name}.shards"), verifier)
        try:
            yield sharded
            sharded.remove()
        finally:
            with suppress(OSError):  # finished shards are kept for the next run
                sharded.folder.rmdir()


class ShardEngine(Protocol):
    """Encodes shards, anywhere and in any order."""

    ahead: int  # how many shards keep it busy

    def begin(self, documents: Sequence[Document]) -> Any:
        """Start to encode a shard; what is returned stands for it."""

    def result(self, shard: Any) -> Answer:
        """The LEVs of a shard; waits for them."""


class Sharded:
    """An `EncoderPool` that has its shards encoded by an engine on a cluster."""

    def __init__(self, engine: ShardEngine, folder: Path, verifier: Verifier) -> None:
        self._engine, self.folder, self._model = engine, folder, verifier.sha256
        self.ahead = engine.ahead
        folder.mkdir(parents=True, exist_ok=True)
        self._handed_out: list[Path] = []

    def __call__(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        """For each document its LEV (1, lev_size), or the error that prevented it."""
        if not documents:
            return iter(())
        rows = [[document.id, document.topic, document.text] for document in documents]
        key = json.dumps([adhominem.__version__, self._model, rows]).encode("ascii")
        path = self.folder / f"{blake2b(key, digest_size=16).hexdigest()}{_LEVS}"
        return self._results(path, None if path.exists() else self._engine.begin(documents))

    def _results(self, path: Path, shard: Any) -> Iterator[Levs | InputError]:
        if shard is None:
            answer = _read_answer(path)
        else:
            answer = self._engine.result(shard)
            replace_file(path, _answer_file(answer))
        yield from answered(answer)
        self._handed_out.append(path)

    def written(self) -> None:
        """Remove the shards whose LEVs have all been consumed."""
        for path in self._handed_out:
            path.unlink(missing_ok=True)
        self._handed_out.clear()

    def remove(self) -> None:
        """Remove all shards, and what killed runs have left of one."""
        for path in self.folder.glob(f"*{_LEVS}*"):
            path.unlink(missing_ok=True)


def _answer_file(answer: Answer) -> bytes:
    """LEVs and errors as the bytes of a .safetensors file."""
    levs, why = answer
    arrays: dict[str, npt.NDArray[Any]] = {}
    for at, part in enumerate(levs.parts):
        if isinstance(part, SparseRows):
            rows = part.packed
            arrays |= {f"{at}.counts": rows.counts, f"{at}.places": rows.places}
            arrays |= {f"{at}.values": rows.values, f"{at}.size": np.array([rows.size])}
        else:
            arrays[f"{at}"] = part
    problems = [row and [type(row).__name__, row.problem, row.path, row.line] for row in why]
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return save(whole, {"parts": str(len(levs.parts)), "errors": json.dumps(problems)})


def _read_answer(path: Path) -> Answer:
    try:
        with safe_open(path, "numpy") as file:
            about = file.metadata()
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        parts = tuple(_part(arrays, f"{at}") for at in range(int(about["parts"])))
        return Levs(parts), [row and _error(*row) for row in json.loads(about["errors"])]
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise AdHominemError(
            f"the shard {path} is damaged ({error}); remove it, and start the same command again"
        ) from None


def _part(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> Rows:
    if name in arrays:
        return arrays[name]
    counts, places, values, size = (
        arrays[f"{name}.{kind}"] for kind in ("counts", "places", "values", "size")
    )
    return SparseRows.of_counts(counts, places, values, int(size[0]))


def _error(kind: str, problem: str, path: str | None, line: int | None) -> InputError:
    made: InputError = getattr(errors, kind)(problem, path, line)
    return made


Item = TypeVar("Item")
Encode = Callable[[Sequence[Document]], Iterator[Levs | InputError]]  # such as an EncoderPool
# LEVs (documents without errors, lev_size), and for each document its error or None.
Answer = tuple[Levs, list[InputError | None]]

# In texts: fewer are encoded before processes have started and read the model, about 2 seconds.
_LONG_WORK = 2_000_000  # characters
# The texts encoded together, wherever: a LEV may depend on the rest of its batch by rounding.
_DOCUMENTS_AT_ONCE = 64
_CHARACTERS_AT_ONCE = 1_000_000
_BEGUN_AT_ONCE = 16  # for a GPU: all workers are busy while it runs the texts before
_NO_LEVS = Levs(())
_BATCH = 512  # documents requested at once


class EncoderPool(Protocol):
    """Encodes texts: `Workers` on this machine, or `engines.Sharded` on a cluster."""

    ahead: int  # calls to be made before the results of the first are waited for

    def __call__(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        """For each document its LEV (1, lev_size), in order, or the error that prevented it.

        Other processes start to work with the call, this one when results are requested.
        """

    def written(self) -> None:
        """To be called when all LEVs consumed so far are safely written elsewhere."""


class Workers:
    """The `EncoderPool` of this machine: this process, or several if there is much to do."""

    ahead = 1

    def __init__(
        self, stack: ExitStack, model: str | Path, verifier: Verifier, jobs: int, device: str
    ) -> None:
        self._stack, self._model, self._verifier = stack, str(model), verifier
        self._jobs, self._on_device = jobs, device != "cpu"
        self._done = 0  # characters
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        """For each document its LEV (1, lev_size), or the error that prevented it."""
        self._done += sum(len(document.text) for document in documents)
        if self._pool is None and self._jobs > 1 and self._done > _LONG_WORK:
            # Read by each worker's BLAS when it is loaded: with several threads each, they
            # would wait for one another most of the time.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            workers = worker_pool(self._jobs, _start_worker, self._model, self._verifier.language)
            self._pool = self._stack.enter_context(workers)
            self._stack.callback(self._pool.shutdown, cancel_futures=True)
        if self._pool is None:
            return _encode_here(self._verifier, documents)
        if self._on_device:
            tasks = _tasks(documents, _BEGUN_AT_ONCE)
            return _finished(self._verifier, [self._pool.submit(_begin, task) for task in tasks])
        return _results(deque([self._pool.submit(_work, task) for task in _tasks(documents)]))

    def written(self) -> None:
        """Do nothing: no LEVs are kept here."""


@contextmanager
def encoder(
    model: str | Path, verifier: Verifier, jobs: int | None, device: str = "cpu"
) -> Iterator[Workers]:
    """An encoder in this process, or in `jobs` worker processes if there is much to do.

    By default there are as many as cores. `verifier` is the model on the device.
    """
    if jobs is None:
        jobs = cores()
    if jobs < 1:
        raise OptionError(f"jobs is {jobs}; expected 1 or more")
    with ExitStack() as stack:
        yield Workers(stack, model, verifier, jobs, device)


def encoder_of(verifier: Verifier) -> Encode:
    """Encode in this process."""
    return lambda documents: _encode_here(verifier, documents)


def _encode_here(verifier: Verifier, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
    for task in _tasks(documents):
        yield from _encode_all(verifier, task)


def _results(tasks: deque[Future[Answer]]) -> Iterator[Levs | InputError]:
    while tasks:
        yield from answered(_result(tasks.popleft()))


def _finished(
    verifier: Verifier, tasks: Sequence[Future[list[Begun | InputError]]]
) -> Iterator[Levs | InputError]:
    """The LEVs of texts that workers have prepared, all run through the networks at once."""
    parts = [part for task in tasks for part in _result(task)]
    begun = [part for part in parts if not isinstance(part, InputError)]
    rows = iter((verifier.finish(begun) if begun else _NO_LEVS).one_by_one())
    for part in parts:
        if isinstance(part, InputError):
            yield part
        else:
            yield from islice(rows, len(part.levs))


def _result(task: Future[Item]) -> Item:
    try:
        return task.result()
    except BrokenProcessPool:
        raise AdHominemError(
            "a worker process was killed, perhaps for lack of memory; try fewer --jobs"
        ) from None


def _tasks(documents: Sequence[Document], most: int | None = None) -> Iterator[Sequence[Document]]:
    """Documents in consecutive tasks, limited in number and total length."""
    begin = length = 0
    most = most or _DOCUMENTS_AT_ONCE
    for at, document in enumerate(documents):
        size = len(document.text)
        full = at - begin == most or length + size > _CHARACTERS_AT_ONCE
        if full and at > begin:
            yield documents[begin:at]
            begin, length = at, 0
        length += size
    if begin < len(documents):
        yield documents[begin:]


def encoded_batches(
    documents: Iterable[Document], encode: Encode
) -> Iterator[Iterator[tuple[Document, Levs | InputError]]]:
    """Batches of some hundred documents with their LEVs; workers prepare the next meanwhile."""
    rest = iter(documents)
    batches = iter(lambda: list(islice(rest, _BATCH)), [])
    begun = (zip(batch, encode(batch), strict=True) for batch in batches)
    return begun_ahead(begun, getattr(encode, "ahead", 1))


def begun_ahead(items: Iterable[Item], count: int = 1) -> Iterator[Item]:
    """The items, each yielded once `count` more have been started; errors come in their turn."""
    waiting: deque[Item] = deque()
    try:
        for item in items:
            waiting.append(item)
            if len(waiting) > count:
                yield waiting.popleft()
    except Exception:
        yield from waiting
        raise
    yield from waiting


def encode_documents(
    documents: Sequence[Document],
    encode: Encode,
    skipped: list[InputError] | None,
    on_documents: Callable[[int], None] = lambda count: None,
) -> tuple[list[Document], Levs]:
    """The documents that could be encoded, and their LEVs (documents, lev_size).

    The errors of the others are appended to `skipped`; without it, the first is raised.
    """
    good, levs = [], []
    for batch in encoded_batches(documents, encode):
        for document, lev in batch:
            on_documents(1)
            if not isinstance(lev, InputError):
                good.append(document)
                levs.append(lev)
            elif skipped is None:
                raise lev
            else:
                skipped.append(lev)
    return good, joined([_NO_LEVS, *levs])


def _encode_all(verifier: Verifier, documents: Sequence[Document]) -> list[Levs | InputError]:
    """The LEV of each document, or the error that prevented it."""
    return _in_parts(lambda part: verifier.encode(part).one_by_one(), documents)


def _in_parts(
    run: Callable[[Sequence[Document]], list[Item]], documents: Sequence[Document]
) -> list[Item | InputError]:
    """The results for documents, in order; if some document fails, the error in its place."""
    if not documents:
        return []
    try:
        return [*run(documents)]
    except InputError as error:
        if len(documents) == 1:
            return [error]
    middle = len(documents) // 2  # one of them is at fault: look in each half
    return _in_parts(run, documents[:middle]) + _in_parts(run, documents[middle:])


_worker: Verifier


def _start_worker(model: str, language: str) -> None:
    global _worker
    _worker = load(model, language=language)


def _work(documents: Sequence[Document]) -> Answer:
    return answer_to(_worker, documents)


def answer_to(verifier: Verifier, documents: Sequence[Document]) -> Answer:
    """A worker's reply: all LEVs in one array, since many small ones take longer to send."""
    encoded = list(_encode_here(verifier, documents))
    errors = [row if isinstance(row, InputError) else None for row in encoded]
    levs = [row for row in encoded if not isinstance(row, InputError)]
    return joined([_NO_LEVS, *levs]), errors


def answered(answer: Answer) -> Iterator[Levs | InputError]:
    """The LEV of each document (1, lev_size), or the error that prevented it."""
    levs, errors = answer
    rows = iter(levs.one_by_one())
    yield from (next(rows) if error is None else error for error in errors)


def _begin(documents: Sequence[Document]) -> list[Begun | InputError]:
    return _in_parts(lambda part: [_worker.begin(part)], documents)
