"""The way to a Ray cluster: connected safely, and quiet."""

from __future__ import annotations

import io
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stdout
from threading import current_thread
from typing import Any, TextIO, cast

from adhominem.errors import AdHominemError, MissingExtraError, OptionError

_PATIENCE = 10  # seconds


@contextmanager
def connected() -> Iterator[Any]:
    """Ray's module, connected to a cluster, and quiet: it would print to standard output, too."""
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
    """Ray's module with Ray Data, told to be quiet, and to report nothing to its makers."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtraError("ray", "ray", "the engine ray") from None
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
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
    """Refuse an address at which nobody is: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, ValueError, OverflowError) as error:
        raise AdHominemError(
            f"no Ray cluster answers at {address}, as RAY_ADDRESS says ({error}); start one with "
            "`ray start --head`, and set RAY_ADDRESS to the HOST:PORT that it prints"
        ) from None


class _WithoutRay:
    """A stream without what Ray's threads print to it: that an actor has died, for example."""

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
    """Without standard error, to which Ray's part in C++ writes."""
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
    """Of what an error says; Ray's say a great deal."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
