"""Where texts are encoded: in processes of this machine, or shard by shard on a cluster.

The LEVs are the same either way. A shard is a few hundred texts. For a cluster, the texts, and
later their LEVs, lie in files beside the output of the job, in a folder that all machines see; an
engine is only given names. A shard is named after its texts and the model, so a run that is started
again knows which ones are finished.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

import adhominem
from adhominem import errors
from adhominem.arrays import Levs, Rows, SparseRows
from adhominem.errors import AdHominemError, InputError, OptionError
from adhominem.jobs.workers import Answer, EncoderPool, answer_to, answered, encoder
from adhominem.text.files import Document, real_path
from adhominem.text.writing import replace_file, write_through
from adhominem.verify.verifier import Verifier

ENGINES = ("local", "ray")
# How the names of files end. The last has a byte for each time that a shard was begun.
_TEXTS, _LEVS, _PARTIAL, _TRIES = ".texts.jsonl.zst", ".levs.safetensors", ".partial", ".tries"
_MOST_TRIES = 5


@contextmanager
def encoder_on(
    engine: str,
    model: str | Path,
    verifier: Verifier,
    jobs: int | None,
    device: str,
    output: Path,
) -> Iterator[EncoderPool]:
    """An encoder on this machine (`local`) or on a Ray cluster (`ray`).

    On a cluster, finished shards are kept beside the output until the job succeeds, so that a run
    started again can continue with them.
    """
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
    folder = output.with_name(f"{output.name}.shards")
    with ray_engine(model, verifier, jobs, folder) as cluster:
        sharded = Sharded(cluster, folder, verifier)
        try:
            yield sharded
            sharded.remove(_LEVS)
        finally:
            sharded.remove(_TEXTS, _PARTIAL, _TRIES)
            with suppress(OSError):  # finished shards are kept for the next run
                folder.rmdir()


class ShardEngine(Protocol):
    """An engine that runs `encode_shard` on shards, anywhere and in any order."""

    ahead: int  # how many shards keep it busy

    def begin(self, shard: str) -> None:
        """Start to encode a shard whose texts have been written."""

    def finished(self) -> str:
        """The next shard whose LEVs have been written; waits for it."""


class Sharded:
    """An `EncoderPool` that has its shards encoded by an engine on a cluster."""

    def __init__(self, engine: ShardEngine, folder: Path, verifier: Verifier) -> None:
        self._engine, self._folder, self._model = engine, folder, verifier.sha256
        self.ahead = engine.ahead
        folder.mkdir(parents=True, exist_ok=True)
        # Listed once: a machine may remember for a minute that a file did not exist.
        self._finished = {file.name.removesuffix(_LEVS) for file in folder.glob(f"*{_LEVS}")}
        self._begun: set[str] = set()
        self._handed_out: set[str] = set()

    def __call__(self, documents: Sequence[Document]) -> Iterator[Levs | InputError]:
        """For each document its LEV (1, lev_size), or the error that prevented it."""
        if not documents:
            return iter(())
        rows = [[document.id, document.topic, document.text] for document in documents]
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode("ascii")
        digest = blake2b(
            f"{adhominem.__version__} {self._model}\n".encode() + lines, digest_size=16
        )
        shard = digest.hexdigest()
        if shard not in self._finished | self._begun:
            import zstandard

            self._file(shard, _TRIES).unlink(missing_ok=True)
            replace_file(self._file(shard, _TEXTS), zstandard.ZstdCompressor(3).compress(lines))
            self._begun.add(shard)
            self._engine.begin(shard)
        return self._results(shard)

    def _results(self, shard: str) -> Iterator[Levs | InputError]:
        while shard not in self._finished:
            done = self._engine.finished()
            self._finished.add(done)
            self._begun.discard(done)
            for end in (_TEXTS, _TRIES):
                self._file(done, end).unlink(missing_ok=True)
        yield from answered(_read_answer(self._file(shard, _LEVS)))
        self._handed_out.add(shard)

    def written(self) -> None:
        """Remove the shards whose LEVs have all been consumed."""
        for shard in self._handed_out:
            self._file(shard, _LEVS).unlink(missing_ok=True)
        self._finished -= self._handed_out
        self._handed_out.clear()

    def remove(self, *ends: str) -> None:
        """Remove all files in the folder whose names end with this suffix."""
        for end in ends:
            for file in self._folder.glob(f"*{end}"):
                file.unlink(missing_ok=True)

    def _file(self, shard: str, end: str) -> Path:
        return self._folder / f"{shard}{end}"


def encode_shard(folder: Path, shard: str, verifier: Verifier) -> None:
    """Write the LEVs of a shard whose texts have been written; called by engines."""
    import zstandard

    output = folder / f"{shard}{_LEVS}"
    if output.exists():  # by a machine that was taken for dead
        return
    try:
        packed = (folder / f"{shard}{_TEXTS}").read_bytes()
    except OSError as error:
        raise AdHominemError(
            f"the machine {socket.gethostname()} cannot read the texts in {folder} "
            f"({error.strerror}); put the output on storage that all machines of the cluster share "
            "under the same name"
        ) from None
    _count_try(folder / f"{shard}{_TRIES}")
    with zstandard.ZstdDecompressor().stream_reader(packed) as file:
        rows = map(json.loads, file.read().decode("ascii").splitlines())
        documents = [Document(id=id, topic=topic, text=text) for id, topic, text in rows]
    # Under its own name, without a lock: a machine that was taken for dead may write the same.
    partial = folder / f".{shard}.{socket.gethostname()}.{os.getpid()}{_PARTIAL}"
    write_through(partial, _answer_file(answer_to(verifier, documents)))
    os.replace(partial, output)


def _count_try(path: Path) -> None:
    """Raise if encoding a shard was started repeatedly and never finished."""
    with open(path, "ab") as file:
        if file.tell() >= _MOST_TRIES:
            raise AdHominemError(
                f"the shard {path.stem} was given up: {_MOST_TRIES} worker processes died with "
                "it, perhaps for lack of memory; run fewer of them on each machine (`ray start "
                "--num-cpus`), then start the same command again"
            )
        file.write(b".")


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
