"""Worker processes: started safely, and ended with this one.

A new interpreter first looks for modules in the folder in which it is started, and would run a
json.py that lies among somebody's texts. Ours are started without that folder.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import Lock, Thread
from typing import Any

from adhominem.errors import OptionError

_SAFE_PATH = "PYTHONSAFEPATH"
_environment = Lock()  # shared by all threads


@contextmanager
def _without_the_current_folder() -> Iterator[None]:
    """A context in which new interpreters do not look for modules in the current folder.

    Everything else in this process's path (an editable install, PYTHONPATH) stays in theirs.
    """
    if sys.flags.ignore_environment and not sys.flags.safe_path:
        raise OptionError(
            "Python was started with -E: worker processes would run what lies in the current "
            "folder under the name of a module; start it with -P, too, or use one job"
        )
    with _environment:
        before = os.environ.get(_SAFE_PATH)
        os.environ[_SAFE_PATH] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_SAFE_PATH]
            else:
                os.environ[_SAFE_PATH] = before


class _Process(SpawnProcess):
    def start(self) -> None:
        with _without_the_current_folder():
            super().start()


class _Spawn(SpawnContext):
    # Spawned, not forked: the libraries hold threads, and a fork would copy their locks.
    Process = _Process


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def worker_pool(
    jobs: int, start: Callable[..., object] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """A pool of `jobs` worker processes, which each call `start`, if given, with the arguments.

    A script that uses it must keep its calls under `if __name__ == "__main__":`.
    """
    with _without_the_current_folder():  # multiprocessing's own helper starts here
        pool = ProcessPoolExecutor(
            jobs, _Spawn(), initializer=_start_worker, initargs=(start, *arguments)
        )
    with pool:
        yield pool


@contextmanager
def helpers(
    count: int, function: Callable[..., object], *arguments: Any
) -> Iterator[Sequence[SpawnProcess]]:
    """A context in which as many processes call the function; they end with it, or with this one.

    A script that uses it must keep its calls under `if __name__ == "__main__":`.
    """
    started = [_Process(target=_start_worker, args=(function, *arguments)) for _ in range(count)]
    try:
        for process in started:
            process.start()
        yield started
    finally:
        for process in started:
            if process.pid is not None:
                process.terminate()
                process.join()


def _start_worker(start: Callable[..., object] | None, *arguments: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it, and ends this worker
    Thread(target=_end_with_parent, daemon=True).start()
    if start is not None:
        start(*arguments)


def _end_with_parent() -> None:
    """End this worker when its parent has ended, even if that was killed."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
