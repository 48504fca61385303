"""Where texts are encoded: on this machine, or on a cluster; the same LEVs either way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adhominem.errors import OptionError
from adhominem.jobs.workers import Encode, encoder
from adhominem.text.files import real_path
from adhominem.verify.verifier import Verifier

ENGINES = ("local", "ray")


@contextmanager
def encoder_on(
    engine: str,
    model: str | Path,
    verifier: Verifier,
    jobs: int | None,
    device: str,
    output: Path,
) -> Iterator[Encode]:
    """Encode on this machine (`local`) or on a Ray cluster (`ray`).

    On a cluster, shards that are finished are kept beside the output until the job ends well: if
    it does not, the next run goes on with them.
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
    from adhominem.jobs.shards import Sharded, folder_of

    folder = folder_of(real_path(output))
    with ray_engine(model, verifier, jobs, folder) as cluster:
        sharded = Sharded(cluster, folder, verifier)
        try:
            yield sharded
            sharded.remove_levs()
        finally:
            sharded.remove_texts()


def taken(encode: Encode) -> None:
    """Say that all LEVs taken from an `Encode` so far are safely written elsewhere."""
    forget = getattr(encode, "forget", None)
    if forget is not None:
        forget()
