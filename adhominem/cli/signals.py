"""Signals that ask a command to end: it does, and leaves nothing behind."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_properly() -> Iterator[None]:
    """On SIGTERM and SIGHUP, end like on Ctrl-C: locks, scratch folders and workers go, too.

    A signal that whoever started us chose to ignore (nohup) stays ignored.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():  # others may set no handler
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: object) -> None:
    sys.exit(128 + number)  # as shells tell of a signal
