"""Writing: whole or not at all, under a temporary name that becomes the right one at the end.

One process at a time writes a name, and never onto what was read. What a killed run left under a
temporary name is removed by the next one that writes the same name.

Beside what is written lies a lock that says who holds it. The kernel keeps it and lets it go when
the process ends, however it ends. So a file that a killed run left behind (`.NAME.lock`) locks
nobody out; the next run takes it over, and removes it.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
import lzma
import os
import re
import shlex
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import get_ident
from typing import Any, BinaryIO, TextIO, cast

from adhominem.errors import AdHominemWarning, LockedError, OptionError
from adhominem.records import parsed_json
from adhominem.text.files import check_not_read

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
def write_whole(path: Path) -> Iterator[TextIO]:
    """Write UTF-8 text, packed as the suffix says, under a temporary name; move it when done.

    A reader never sees half a file, and a failure leaves what was there before.
    """
    with replaced_file(path) as partial, open(partial, "wb") as raw:
        match path.suffix.lower():
            case ".gz":  # no time stamp: the same text gives the same bytes
                packed: BinaryIO = cast(BinaryIO, gzip.GzipFile("", "wb", 6, fileobj=raw, mtime=0))
            case ".xz":
                packed = cast(BinaryIO, lzma.LZMAFile(raw, "wb"))  # noqa: SIM115
            case ".zst":
                import zstandard

                packed = zstandard.ZstdCompressor(level=6).stream_writer(raw, closefd=False)
            case _:
                packed = cast(BinaryIO, raw)
        with io.TextIOWrapper(packed, "utf-8", newline="\n") as text:
            yield text


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A temporary name to write to; it becomes `path` once all of it is written."""
    if os.path.exists(path) and not os.path.isfile(path):  # root may replace even /dev/null
        raise OptionError(
            f"{path} is no file, but a folder, a pipe or a device; choose another name for the "
            "output"
        )
    check_not_read(path)  # before the work that is done in here, and after it
    with locked(path) as alone:
        partial = _temporary(path, alone)
        try:
            yield partial
            check_not_read(path)
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def check_output(output: Path) -> Path:
    """Where a new folder will be; one that holds anything is refused: it may be the only copy."""
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise OptionError(f"{output} exists already; remove it, or choose another folder")
    output = output.resolve()  # past a link to an empty folder, which could not be replaced
    if output == Path.cwd():  # who stands in it would stand in the folder that was there before
        raise OptionError("the output is the folder you are in; choose a new one")
    return output


@contextmanager
def write_folder(output: Path) -> Iterator[Path]:
    """A temporary folder to write into; it becomes `output` once all of it is written."""
    output = check_output(output)
    with locked(output) as alone:
        partial = _temporary(output, alone)
        partial.mkdir()
        try:
            yield partial
            os.replace(partial, output)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def replace_file(path: Path, data: bytes) -> None:
    """Put these bytes in the place of a file, in one move, once they are on the disk.

    So of two files that are replaced one after the other, the second is never there without the
    first, whatever happens to the machine.
    """
    with replaced_file(path) as partial:
        write_through(partial, data)
    with suppress(OSError):  # not every file system knows of it
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_through(path: Path, data: bytes) -> None:
    """Write a file, and wait until it is on the disk."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _temporary(path: Path, alone: bool) -> Path:
    """The name to write to, for who holds the lock; those of killed runs are removed."""
    ours = path.with_name(f".{path.name}.{os.getpid()}.partial")
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+\.partial")
    with os.scandir(path.parent) as files:
        left = [file.path for file in files if name.fullmatch(file.name)]
    for leftover in left:
        # Without a lock only those of a process with our own number are sure to be nobody's.
        if not alone and Path(leftover) != ours:
            continue
        if os.path.isdir(leftover) and not os.path.islink(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            os.unlink(leftover)
    return ours


@contextmanager
def locked(path: str | Path) -> Iterator[bool]:
    """Be the only process that writes a path; LockedError says which other one does already.

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
    """The lock beside a folder or file; a link to a file is locked as the link it is."""
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
                holder = _told_holder(file, lock)
                os.close(file)
                raise LockedError(
                    f"{path} is being written by {holder}; wait for it to finish, or choose "
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
    """Write into a lock who holds it; on a full disk, leave nothing behind."""
    import socket

    program, *arguments = sys.argv or [""]
    holder = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(" ", "seconds"),
        "command": shlex.join([Path(program).name, *arguments])[:_LONGEST_COMMAND],
    }
    try:
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, json.dumps(holder).encode())
    except OSError:
        lock.unlink(missing_ok=True)
        raise


def _let_go(file: int, lock: Path) -> None:
    """Give up a lock: removed first, while nobody else can have it, but for Windows."""
    if sys.platform == "win32":
        os.close(file)
        with suppress(OSError):
            lock.unlink()
        return
    with suppress(OSError):
        if _is_at(file, lock):
            lock.unlink()
    os.close(file)


def _holder_in(file: int, lock: Path) -> dict[str, Any]:
    """What a lock says of the process that signed it; empty if none has yet."""
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


def _told_holder(file: int, lock: Path) -> str:
    """The holder of a lock for a message; it gets a moment to sign the lock."""
    for _ in range(_LOOKS):
        if holder := _holder_in(file, lock):
            return (
                f"process {holder['process']} on {holder.get('host')} since {holder.get('since')} "
                f"({holder.get('command')})"
            )
        time.sleep(_BETWEEN_LOOKS)
    return "another process"
