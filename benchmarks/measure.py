"""Seconds and peak memory of a piece of work, with all processes it starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

DEFAULT_CORPORA = "../shared/corpora/train"


@dataclass
class Measured:
    """What was measured, once the work is done."""

    seconds: float = 0.0
    peak_mb: float = 0.0


@contextmanager
def measured() -> Iterator[Measured]:
    """Measure the body; memory is the sum of all processes' proportional set sizes."""
    result = Measured()
    done = threading.Event()
    me = psutil.Process()

    def watch() -> None:
        working = True
        while working:
            working = not done.wait(0.1)  # one look more when the work is done
            total = 0
            for process in (me, *me.children(recursive=True)):
                with suppress(psutil.Error):
                    total += process.memory_full_info().pss
            result.peak_mb = max(result.peak_mb, total / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    try:
        yield result
    finally:
        result.seconds = time.perf_counter() - began
        done.set()
        watcher.join()
