"""One writer at a time: a lock beside what is written, that says who holds it.

The kernel keeps it and lets it go when the process ends, however it ends. So a file that a killed
run left behind (`.NAME.lock`) locks nobody out; the next run takes it over, and removes it.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import get_ident
from typing import Any

from adhominem.errors import AdHominemWarning, LockedError, OptionError
from adhominem.records import parsed_json

if sys.platform == "win32":
    import msvcrt

    _FAR_OFF = 1 << 30  # behind what is written: a byte that is locked cannot be read

    def _try_lock(file: int) -> None:
        os.lseek(file, _FAR_OFF, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        os.lseek(file, 0, os.SEEK_SET)
else:
    import fcntl

    def _try_lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_HELD_BY_ANOTHER = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
_LOOKS, _BETWEEN_LOOKS = 20, 0.05  # times, seconds: for a name in a lock
_LONGEST_COMMAND = 200  # characters of it that are told

_held: dict[Path, int] = {}  # the locks of this process, and the threads that hold them


@contextmanager
def locked(path: str | Path) -> Iterator[bool]:
    """Write there alone; if another process does already, LockedError says which one.

    Within itself it does nothing: a job may lock what a step of it locks again. Yields whether
    there is a lock: some file systems know none, and then a warning says so.
    """
    lock = lock_of(Path(path))
    if _held.get(lock) == get_ident():
        yield True
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    file = _take(lock, Path(path))
    if file is None:
        yield False
        return
    _held[lock] = get_ident()
    try:
        yield True
    finally:
        del _held[lock]
        _let_go(file, lock)


def lock_of(path: Path) -> Path:
    """Beside the folder, or the file; a link to a file is replaced as a link, and locked as one."""
    if path.is_dir() or path.name in ("", ".."):
        path = path.resolve()
    return Path(os.path.realpath(path.parent)) / f".{path.name}.lock"


def _take(lock: Path, path: Path) -> int | None:
    """The lock's file, open and locked; None where the file system knows no locks."""
    while True:
        # Not through a link: what it points to would be written onto.
        file = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _try_lock(file)
            # Whoever held it may have removed it in between, and then it is nobody's lock.
            if _is_at(file, lock):
                _holder_in(file, lock)  # refuses a file that is no lock
                _sign(file, lock)
                return file
        except OSError as error:
            if error.errno in _HELD_BY_ANOTHER:
                told = _told(_at_work(file, lock))
                os.close(file)
                raise LockedError(
                    f"{path} is being written by {told}; wait for it to finish, or choose "
                    "another output"
                ) from None
            os.close(file)
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                raise
            lock.unlink(missing_ok=True)
            warnings.warn(
                f"the file system of {path} knows no locks ({error.strerror}); make sure that no "
                "other process writes there",
                AdHominemWarning,
                stacklevel=4,
            )
            return None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _is_at(file: int, lock: Path) -> bool:
    """Whether this open file is the one of that name, which others remove at any time."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(lock))
    except FileNotFoundError:
        return False


def _sign(file: int, lock: Path) -> None:
    """Say in it who holds it; on a full disk, leave nothing behind."""
    try:
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, json.dumps(_holder()).encode())
    except OSError:
        lock.unlink(missing_ok=True)
        raise


def _let_go(file: int, lock: Path) -> None:
    """Removed first, while nobody else can have it; Windows removes nothing that is open."""
    if sys.platform == "win32":
        os.close(file)
        with suppress(OSError):
            lock.unlink()
        return
    with suppress(OSError):
        if _is_at(file, lock):
            lock.unlink()
    os.close(file)


def _holder() -> dict[str, Any]:
    """Who we are."""
    import socket

    program, *arguments = sys.argv or [""]
    return {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
        "command": shlex.join([Path(program).name, *arguments])[:_LONGEST_COMMAND],
    }


def _holder_in(file: int, lock: Path) -> dict[str, Any]:
    """Who wrote this lock; empty if nobody has yet."""
    os.lseek(file, 0, os.SEEK_SET)
    data = os.read(file, 1 << 16).strip(b"\0")  # zeros: what a crash of the machine leaves
    try:
        holder = parsed_json(data) if data else {}
        if not isinstance(holder, dict) or (data and "process" not in holder):
            raise ValueError
    except ValueError:
        raise OptionError(
            f"{lock} is no lock of AdHominem, but has the name of one; move it elsewhere"
        ) from None
    return holder


def _at_work(file: int, lock: Path) -> dict[str, Any]:
    """Who holds this lock; whoever has only just taken it gets a moment to sign it."""
    for _ in range(_LOOKS):
        if holder := _holder_in(file, lock):
            return holder
        time.sleep(_BETWEEN_LOOKS)
    return {}


def _told(holder: dict[str, Any]) -> str:
    if not holder:
        return "another process"
    return (
        f"process {holder['process']} on {holder.get('host')} since {holder.get('since')} "
        f"({holder.get('command')})"
    )
