"""Writing: complete or not at all, under a temporary name that is replaced at the end.

Only one process at a time writes a name, and never over an input. Temporary files of a killed run
are removed by the next run that writes the same name.

Beside the output is a lock that names its holder. The kernel releases it when the process ends,
however it ends: a file that a killed run left behind (`.NAME.lock`) is taken over by the next.
"""

from __future__ import annotations

import errno
import gzip
import io
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
from typing import BinaryIO, TextIO, cast

from filelock import FileLock, Timeout

from adhominem.errors import AdHominemWarning, LockedError, OptionError
from adhominem.text.files import check_not_read, real_path

_PATIENCE = 0.1  # seconds: the holder of a lock may just be removing it
_LOOKS, _BETWEEN_LOOKS = 20, 0.05  # times, seconds: for the name of a lock's holder
_LONGEST_LOCK = 1 << 16  # bytes
_LONGEST_COMMAND = 200  # characters of it that a lock keeps

_held: dict[Path, int] = {}  # the locks of this process, and the threads that hold them


@contextmanager
def write_whole(path: Path) -> Iterator[TextIO]:
    """A file for UTF-8 text, compressed by its suffix, that gets its name when complete.

    A reader never gets half a file, and after a failure the old file is still there.
    """
    with replaced_file(path) as partial, open(partial, "wb") as raw:
        match path.suffix.lower():
            case ".gz":  # no time stamp, so that equal texts give equal bytes
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
    """A temporary name to write to, which becomes `path` once the file is complete."""
    if os.path.exists(path) and not os.path.isfile(path):  # root may replace even /dev/null
        problem = "is not a file, but a folder, a pipe or a device"
        raise OptionError(f"{path} {problem}; choose another name for the output")
    check_not_read(path)  # before the work is done, and after it
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
    """The path of a new folder; a folder with contents is refused: it may be the only copy."""
    if output.exists() and not (output.is_dir() and not any(output.iterdir())):
        raise OptionError(f"{output} exists already; remove it, or choose another folder")
    output = real_path(output)  # follow a link to an empty folder, which could not be replaced
    if output == Path.cwd():  # a shell in it would stay in the old folder
        raise OptionError("the output is the folder you are in; choose a new one")
    return output


@contextmanager
def write_folder(output: Path) -> Iterator[Path]:
    """A temporary folder to write into, which becomes `output` once it is complete."""
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
    """Replace a file by these bytes in one move, once they are on the disk.

    Of two files that are replaced in turn, the second never exists without the first.
    """
    with replaced_file(path) as partial:
        write_through(partial, data)
    with suppress(OSError):  # not every file system supports it
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
    """The temporary name for the holder of the lock; those of killed runs are removed."""
    ours = path.with_name(f".{path.name}.{os.getpid()}.partial")
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+\.partial")
    with os.scandir(path.parent) as files:
        left = [file.path for file in files if name.fullmatch(file.name)]
    for leftover in left:
        # Without a lock, only files with our own process id surely belong to nobody.
        if not alone and Path(leftover) != ours:
            continue
        if os.path.isdir(leftover) and not os.path.islink(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            os.unlink(leftover)
    return ours


@contextmanager
def locked(path: str | Path) -> Iterator[bool]:
    """A context in which only this process writes a path; LockedError names another writer.

    It may be nested: a job may lock what its steps lock again. It yields whether there is a lock:
    some file systems have none, and then a warning says so.
    """
    lock = lock_of(Path(path))
    if _held.get(lock) == get_ident():
        yield True
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    holding = _acquire(lock, Path(path))
    if holding is None:
        yield False
        return
    signed = os.stat(lock)
    _held[lock] = get_ident()
    try:
        yield True
    finally:
        del _held[lock]
        # Removed first, while nobody else can have it; on Windows, `release` does it.
        with suppress(OSError):
            if sys.platform != "win32" and os.path.samestat(os.stat(lock), signed):
                lock.unlink()
        holding.release()


def lock_of(path: Path) -> Path:
    """The lock beside a folder or file; a link to a file is locked as the link it is."""
    if path.is_dir() or path.name in ("", ".."):
        path = real_path(path)
    return real_path(path.parent) / f".{path.name}.lock"


def _acquire(lock: Path, path: Path) -> FileLock | None:
    """The lock, now held by this process; None if the file system has no locks."""
    holding = FileLock(
        lock,
        timeout=_PATIENCE,
        poll_interval=_PATIENCE / 10,
        fallback_to_soft=False,
        on_acquired=lambda file: _sign(file, lock),
    )
    try:
        holding.acquire()
    except Timeout:
        holder = _holder_of(lock)
        raise LockedError(
            f"{path} is being written by {holder}; wait for it to finish, or choose another output"
        ) from None
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
        lock.unlink(missing_ok=True)
        warnings.warn(
            f"the file system of {path} has no locks ({error.strerror}); make sure that no "
            "other process writes there",
            AdHominemWarning,
            stacklevel=4,
        )
        return None
    return holding


def _sign(file: int, lock: Path) -> None:
    """Write the holder into a lock; a file that is not a lock is refused and left unchanged."""
    import socket

    _holder_in(os.read(file, _LONGEST_LOCK), lock)
    program, *arguments = sys.argv or [""]
    command = shlex.join([Path(program).name, *arguments])[:_LONGEST_COMMAND]
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    holder = f"process {os.getpid()} on {socket.gethostname()} since {since} ({command})"
    try:
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.write(file, holder.encode("utf-8", "replace"))
    except OSError:  # a full disk: leave nothing behind
        lock.unlink(missing_ok=True)
        raise


def _holder_in(data: bytes, lock: Path) -> str:
    """The process that signed a lock; empty if it is not signed."""
    holder = data.strip(b"\0").decode("utf-8", "replace")  # zeros: of a machine that crashed
    if holder and not re.match(r"process \d+ on \S+ since ", holder):
        raise OptionError(
            f"{lock} is not a lock of AdHominem, but has the name of one; move it elsewhere"
        )
    return holder


def _holder_of(lock: Path) -> str:
    """The holder of a lock, for a message; it gets a moment to sign the lock."""
    for _ in range(_LOOKS):
        with suppress(OSError), open(lock, "rb") as file:  # it may be gone; Windows locks it
            if holder := _holder_in(file.read(_LONGEST_LOCK), lock):
                return holder
        time.sleep(_BETWEEN_LOOKS)
    return "another process"
