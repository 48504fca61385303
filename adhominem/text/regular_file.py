"""Files that somebody else made: opened only if they are files, read whole and within bounds.

A pipe would be waited on for ever, a device has no end, and a file may be larger than memory.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path, largest: int) -> tuple[BinaryIO, int]:
    """An open file and its size in bytes; an OSError if it is none, or larger than that.

    A link to a file is one: caches of models are made of them.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path.name} is no file, but a folder, a pipe or a device")
        if found.st_size > largest:
            raise OSError(f"{path.name} has {found.st_size:,} bytes; expected {largest:,} at most")
        return open(descriptor, "rb"), found.st_size
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, largest: int) -> bytes:
    """All bytes of a file that has no more of them than that; else an OSError."""
    file, size = open_regular(path, largest)
    with file:
        return file.read(size)
