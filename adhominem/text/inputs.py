"""What is read while a job runs, so that nothing is written onto it.

A text is evidence, and may be the only copy. Whatever is opened for reading is noted here; the
writers ask here before a file gets its name. Files are told apart by what they are, not by how
their paths are spelt: a link, another spelling or another name is the same file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from adhominem.errors import OptionError

File = tuple[int, int] | str  # the device and the number on it; or the path, free of links


class _Inputs:
    """The files that were read, each with the path that was given for it."""

    def __init__(self) -> None:
        self._given: dict[File, str] = {}

    def note(self, path: str | Path | int) -> None:
        """A path, or the number of a file that is open: that of standard input."""
        name = "standard input" if isinstance(path, int) else os.fspath(path)
        for file in _identities(path):
            self._given.setdefault(file, name)

    def given_for(self, path: str | Path) -> str | None:
        """How the file at this path was named when it was read; None if it was not."""
        return next((self._given[file] for file in _identities(path) if file in self._given), None)

    def inside(self, folder: Path) -> str | None:
        """One of the files that were read that lies in this folder."""
        begin = os.path.join(os.path.realpath(folder), "")
        paths = (file for file in self._given if isinstance(file, str))
        return next((self._given[path] for path in paths if path.startswith(begin)), None)


def _identities(path: str | Path | int) -> list[File]:
    """Both: an editor that saves a file puts a new one in its place, under the same path."""
    found: list[File] = [] if isinstance(path, int) else [os.path.realpath(path)]
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # not there, or closed
        return found
    return [*found, (status.st_dev, status.st_ino)]


_inputs: ContextVar[_Inputs | None] = ContextVar("inputs", default=None)


@contextmanager
def noting_inputs() -> Iterator[None]:
    """Note what is read from here on; within a job that does so already, it goes on doing so."""
    if _inputs.get() is not None:
        yield
        return
    token = _inputs.set(_Inputs())
    try:
        yield
    finally:
        _inputs.reset(token)


def note_input(path: str | Path | int) -> None:
    """This file is read."""
    if (inputs := _inputs.get()) is not None:
        inputs.note(path)


def check_not_read(output: str | Path) -> None:
    """Refuse to write where something was read."""
    inputs = _inputs.get()
    if inputs is not None and (given := inputs.given_for(output)) is not None:
        raise OptionError(
            f"{output} cannot be written: it is the same file as {given}, which was read; "
            "choose another name for the output"
        )


def check_none_read_in(folder: Path) -> None:
    """Refuse to work in a folder, and to remove it, if something in it was read."""
    inputs = _inputs.get()
    if inputs is not None and (given := inputs.inside(folder)) is not None:
        raise OptionError(
            f"{folder} cannot be worked in: {given}, which was read, is in it; choose another "
            "name for the output"
        )
