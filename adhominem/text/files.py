"""Input files: their names, opening them within limits, and noting them as inputs.

The size of a text is limited: no honest one is larger, and a few kB can unpack to any size.

Whatever is opened for reading is noted, so that nothing is written over it: a text is evidence,
and may be the only copy. The writers ask here before a file gets its name. Files are identified by
what they are, not by how their paths are spelt: a link, another spelling or another name is the
same file.
"""

from __future__ import annotations

import io
import os
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from hashlib import blake2b, sha256
from pathlib import Path
from typing import BinaryIO

from adhominem.errors import (
    DamagedFileError,
    EmptyTextError,
    InputError,
    MissingFieldError,
    NotFoundError,
    OptionError,
    StrayFilesWarning,
    TextEncodingError,
    TooLargeError,
)

# The Bible has 4.5 MB. A pair is two texts in one line, and JSON may spend six bytes on a letter.
DEFAULT_MOST_BYTES = 64 << 20
# Including pictures: the text in an office file has its own limit.
_MOST_OFFICE_BYTES = 512 << 20
_OFFICE_BYTES_PER_TEXT = 8  # where the limit on a text is raised
BLOCK = 1 << 20  # bytes that are read, or unpacked, at a time
FILLS_MEMORY = "it fills the memory; save its text alone as a new file"
NOT_FOUND = "there is no such file or folder; look at the name and the place"

COMPRESSIONS = (".gz", ".xz", ".zst")
OFFICE_SUFFIXES = (".docx", ".odt", ".pdf")
READABLE_SUFFIXES = (".txt", ".md", *OFFICE_SUFFIXES)
_NO_PLAIN_TEXT = (".csv", ".doc", ".epub", ".html", ".htm", ".json", ".rtf", ".tsv", ".xml")

File = tuple[int, int] | str  # device and inode; or the path without links

largest_text: ContextVar[int] = ContextVar("largest_text", default=DEFAULT_MOST_BYTES)
inputs_read: ContextVar[dict[File, str] | None] = ContextVar("inputs_read", default=None)
_on_bytes: ContextVar[Callable[[int], object]] = ContextVar("on_bytes", default=lambda count: None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text with its author, topic, work and id; empty where unknown.

    `topic` is the paper's fandom. `work` is the book, thread, case or item the
    text was taken from: two documents of one work share more than their author.
    """

    text: str
    author: str = ""
    topic: str = ""
    work: str = ""
    id: str = ""
    language: str = ""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, str):
                raise MissingFieldError(
                    f"field '{field.name}' is {type(value).__name__}, expected a string"
                )
            try:
                value.encode("utf-8")
            except UnicodeEncodeError as error:  # half of a surrogate pair, as of broken JSON
                raise TextEncodingError(
                    f"field '{field.name}' holds half a character "
                    f"(U+{ord(value[error.start]):04X}) at position {error.start}; write the text "
                    "again as UTF-8"
                ) from None
        if not self.text or self.text.isspace():
            raise EmptyTextError("the text is empty; expected at least one visible character")

    @property
    def sha256(self) -> str:
        """The SHA-256 of the text, which identifies it."""
        return sha256(self.text.encode("utf-8")).hexdigest()


def digest_of(data: str | bytes) -> bytes:
    """A short hash that is equal for equal strings or bytes: there may be millions."""
    return blake2b(data if isinstance(data, bytes) else data.encode(), digest_size=16).digest()


# Paths and names.


def path_of(path: str | Path) -> Path:
    """The path of an input or an output; an empty one is refused: Path takes it for `.`."""
    if str(path) == "":
        raise OptionError(
            "a path is empty, perhaps by an unset variable; expected the name of a file or a folder"
        )
    return Path(path)


def real_path(path: str | Path) -> Path:
    """A path without links, `.` and `..`; unlike Path.resolve, it accepts a link to itself."""
    path = path_of(path)
    return path if "\0" in str(path) else Path(os.path.realpath(path))


def name_of(path: str | Path) -> str:
    """The name of a file or folder: the real name of a folder, the bare stem of a file."""
    path = path_of(path)
    return readable_name(bare_stem(path) if os.path.isfile(path) else real_path(path).name)


def bare_suffix(path: Path) -> str:
    """The suffix without the compression, in lower case: `.jsonl` for `blogs.jsonl.xz`."""
    return _bare_name(path).suffix.lower()


def readable_suffix(path: Path) -> str:
    """The bare suffix of a file; types that only look like plain text (.rtf, .html) are refused."""
    suffix = bare_suffix(path)
    if suffix in _NO_PLAIN_TEXT:
        expected = ", ".join((*READABLE_SUFFIXES, ".jsonl"))
        raise InputError(f"{suffix} files are not read; save it as one of: {expected}", path)
    return suffix


def bare_stem(path: Path) -> str:
    """The name without suffix and compression: `blogs` for `blogs.jsonl.xz`."""
    return _bare_name(path).stem


def _bare_name(path: Path) -> Path:
    name = path.name
    for compression in COMPRESSIONS:
        if name.lower().endswith(compression):
            name = name[: -len(compression)]
    return Path(name)


def readable_name(name: str) -> str:
    """The name of a file as valid text: Python may hold bytes as surrogates."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def visible_files(folder: Path, suffixes: tuple[str, ...], *, deep: bool = False) -> list[Path]:
    """The files with these suffixes, without hidden ones and Word's locks (~$letter.docx).

    Office files are compressed already: one that is compressed again is skipped.
    """
    return [
        file
        for file in all_files(folder, deep=deep)
        if (suffix := bare_suffix(file)) in suffixes
        and (suffix == file.suffix.lower() or suffix not in OFFICE_SUFFIXES)
    ]


def all_files(folder: Path, *, deep: bool = False) -> list[Path]:
    """The files of a folder, also in its folders if `deep`, sorted, without hidden ones."""

    def cannot_be_read(error: OSError) -> None:
        if os.path.samefile(error.filename, folder):
            raise error
        warnings.warn(
            f"{error.filename}: the folder is passed over, as it cannot be read "
            f"({error.strerror}); its texts are missing from the result: make it readable, or "
            "leave it out",
            StrayFilesWarning,
            stacklevel=3,
        )

    hidden = (".", "~$")
    files: list[Path] = []
    with readable(folder):
        for place, inside, names in os.walk(folder, onerror=cannot_be_read):
            inside[:] = [name for name in inside if deep and not name.startswith(hidden)]
            files += (Path(place, name) for name in names if not name.startswith(hidden))
    return sorted(file for file in files if os.path.isfile(file))


# Limits.


def most_bytes() -> int:
    """The largest size in bytes of one text, or one line of a table, once it is unpacked."""
    return largest_text.get()


@contextmanager
def reading_at_most(count: int) -> Iterator[None]:
    """A context in which each text is limited to `count` bytes, unpacked."""
    if count < 1:
        raise OptionError(f"a text of at most {count} bytes; expected 1 or more")
    token = largest_text.set(count)
    try:
        yield
    finally:
        largest_text.reset(token)


def too_large(what: str, most: int | None = None) -> TooLargeError:
    """The error for a text, a line or a file that exceeds its limit."""
    return TooLargeError(
        f"{what} has more than {most or most_bytes():,} bytes; if it really is one text, raise "
        "the limit with --max-bytes"
    )


# Inputs, which must not be overwritten.


@contextmanager
def noting_inputs() -> Iterator[None]:
    """A context in which inputs are noted; inside another one it changes nothing."""
    if inputs_read.get() is not None:
        yield
        return
    token = inputs_read.set({})
    try:
        yield
    finally:
        inputs_read.reset(token)


def note_input(path: str | Path | int) -> None:
    """Note that a file is read: its path, or the number of an open file (standard input)."""
    if (inputs := inputs_read.get()) is not None:
        name = "standard input" if isinstance(path, int) else os.fspath(path)
        for file in _identities(path):
            inputs.setdefault(file, name)


def note_folder(folder: Path | None) -> None:
    """Note all files in a folder as read, so that no output is written onto one of them."""
    for file in folder.rglob("*") if folder is not None else ():
        note_input(file)


def _identities(path: str | Path | int) -> list[File]:
    """The identities of a file: its path without links, and its device and inode.

    An editor that saves a file may replace it by a new one under the same path.
    """
    identities: list[File] = [] if isinstance(path, int) else [os.path.realpath(path)]
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # missing, or closed
        return identities
    return [*identities, (status.st_dev, status.st_ino)]


def check_not_read(output: str | Path) -> None:
    """Raise an error if `output` was read."""
    inputs = inputs_read.get() or {}
    given = next((inputs[file] for file in _identities(output) if file in inputs), None)
    if given is not None:
        raise OptionError(
            f"{output} would be overwritten, but it was read as input"
            f"{'' if str(output) == str(given) else f' (it is the same file as {given})'}; "
            "choose another name for the output"
        )


def check_none_read_in(folder: Path) -> None:
    """Raise an error if something in a folder, which is to be replaced, was read."""
    begin = os.path.join(os.path.realpath(folder), "")
    for file, given in (inputs_read.get() or {}).items():
        if isinstance(file, str) and file.startswith(begin):
            raise OptionError(
                f"{folder} would be replaced, but it holds {given}, which was read as input; "
                "choose another name for the output"
            )


# Opening and reading.


@contextmanager
def counting_bytes(on_bytes: Callable[[int], object]) -> Iterator[None]:
    """A context in which `on_bytes` gets the number of bytes of each block that is read."""
    token = _on_bytes.set(on_bytes)
    try:
        yield
    finally:
        _on_bytes.reset(token)


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """A context that turns the system's errors about a path into InputErrors that name it."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError("there is no such file; look at the name and the place", path) from None
    except IsADirectoryError:
        raise NotFoundError("this is a folder; expected a file", path) from None
    except OSError as error:
        raise InputError(
            f"the file cannot be read ({error.strerror or error}); make sure that you may read it, "
            "and that its disk is there",
            path,
        ) from None
    except MemoryError:
        raise TooLargeError(FILLS_MEMORY, path) from None
    except RecursionError:
        raise DamagedFileError(
            "it is nested too deep to be read; save its text alone as a new file", path
        ) from None


class _InputFile(io.FileIO):
    """An open input whose errors name it, and whose bytes are counted."""

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        with readable(self.name):
            count = super().readinto(buffer)
        _on_bytes.get()(count or 0)
        return count


def open_input(path: Path) -> io.BufferedReader:
    """An open file, or the pipe of a shell's <(command), noted as an input.

    Devices are refused: /dev/zero has no end, and others change or wait when they are opened.
    """
    try:
        with readable(path):
            mode = os.stat(path).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                raise InputError("this is a device; expected a file", path)
            file = _InputFile(path)
    except ValueError as error:  # of a name with a NUL in it
        raise NotFoundError(
            f"there can be no such file ({error}); choose another name", path
        ) from None
    note_input(path)
    return io.BufferedReader(file, BLOCK)


def read_bytes(path: Path) -> bytes:
    """The bytes of a text's file, which is noted as an input and read only once."""
    most = most_bytes()
    if path.suffix.lower() in OFFICE_SUFFIXES:
        most = max(_MOST_OFFICE_BYTES, _OFFICE_BYTES_PER_TEXT * most)
    with open_input(path) as file:
        return take(file, path, most)


def take(file: BinaryIO, path: str | Path, most: int | None = None) -> bytes:
    """The rest of an open file; raises TooLargeError beyond `most` bytes or a text's limit."""
    most = most or most_bytes()
    blocks, size = [], 0
    with readable(path):
        while block := file.read(BLOCK):
            size += len(block)
            if size > most:
                raise too_large("it", most).at(path)
            blocks.append(block)
        return b"".join(blocks)


def open_regular(path: Path, largest: int) -> tuple[BinaryIO, int]:
    """An open file that is not a text, and its size; OSError if it is too large or no file.

    Reading a pipe could wait forever, and a device may have no end. Links to files are accepted:
    caches of models consist of them.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path.name} is not a file, but a folder, a pipe or a device")
        if status.st_size > largest:
            raise OSError(f"{path.name} has {status.st_size:,} bytes; expected {largest:,} at most")
        return open(descriptor, "rb"), status.st_size
    except BaseException:
        os.close(descriptor)
        raise


def read_files(folder: Path, largest: Mapping[str, int]) -> dict[str, bytes | OSError]:
    """The contents of the existing ones of these files, by names like `member/config.json`.

    `largest` are the limits in bytes. A file that cannot be read, is not a file or is too large
    has the OSError as its value.
    """
    contents: dict[str, bytes | OSError] = {}
    for name, most in largest.items():
        try:
            with open_regular(folder / name, most)[0] as file:
                contents[name] = file.read(most)  # it may grow
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            contents[name] = error
    return contents
