"""Writing: whole or not at all, under a temporary name that becomes the right one at the end.

One process at a time writes a name, and never onto what was read. What a killed run left under a
temporary name is removed by the next one that writes the same name.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from adhominem.errors import OptionError
from adhominem.text.inputs import check_not_read
from adhominem.text.locks import locked


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
    for each in left:
        # Without a lock only those of a process with our own number are sure to be nobody's.
        if not alone and Path(each) != ours:
            continue
        if os.path.isdir(each) and not os.path.islink(each):
            shutil.rmtree(each, ignore_errors=True)
        else:
            os.unlink(each)
    return ours
