"""Where texts are encoded: in processes of this machine, or shard by shard on a cluster.

The LEVs are the same either way. A shard is a few hundred texts. What a cluster has finished lies
beside the output of the job until the job succeeds. A shard is named after its texts and the model,
so a run that is started again knows which ones are finished.
"""

from __future__ import annotations

import json
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
from adhominem.jobs.workers import Answer, EncoderPool, answered, encoder
from adhominem.text.files import Document, real_path
from adhominem.text.writing import replace_file
from adhominem.verify.verifier import Verifier

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
