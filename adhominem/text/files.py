"""Files as text: compression, encodings, streaming lines."""

from __future__ import annotations

import io
import os
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import AnyStr, BinaryIO, cast

from adhominem.errors import (
    BinaryFileError,
    DamagedFileError,
    GuessedEncodingWarning,
    InputError,
    NotFoundError,
    TextEncodingError,
    TooLargeError,
)
from adhominem.text.inputs import note_input
from adhominem.text.limits import most_bytes, too_large
from adhominem.text.unpacking import unpacked

COMPRESSIONS = (".gz", ".xz", ".zst")

# Longest mark first: the mark of UTF-16-LE begins that of UTF-32-LE.
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)

# Control characters that no text in cp1252 holds; tab, line ends and form feed may.
_BINARY_BYTES = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b")) + b"\x7f"


def bare_suffix(path: Path) -> str:
    """The suffix without the compression: `.jsonl` for `blogs.jsonl.xz`."""
    name = path.name.lower()
    for compression in COMPRESSIONS:
        name = name.removesuffix(compression)
    return Path(name).suffix


def bare_stem(path: Path) -> str:
    """The name without suffix and compression: `blogs` for `blogs.jsonl.xz`."""
    name = path.name
    for compression in COMPRESSIONS:
        if name.lower().endswith(compression):
            name = name[: -len(compression)]
    return Path(name).stem


def readable_name(name: str) -> str:
    """The name of a file as text: Python may hold its bytes as halves of characters."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _CountingFile(io.FileIO):
    """A file that reports how many of its (packed) bytes have been read."""

    # FileIO's own go past `readinto`, and would not be counted.
    read = io.RawIOBase.read  # type: ignore[assignment]
    readall = io.RawIOBase.readall

    def __init__(self, path: Path, on_bytes: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self._path = path
        self._on_bytes = on_bytes

    def readinto(self, buffer: object) -> int | None:
        with readable(self._path):
            count = super().readinto(buffer)  # type: ignore[arg-type]
        if count:
            self._on_bytes(count)
        return count


FILLS_MEMORY = "it fills the memory; save its text alone as a new file"


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Whatever the system says against a file, or a folder, is an error of ours that names it."""
    try:
        yield
    except FileNotFoundError:
        raise NotFoundError("there is no such file", path) from None
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror or error})", path) from None
    except MemoryError:
        raise TooLargeError(FILLS_MEMORY, path) from None
    except RecursionError:
        raise DamagedFileError("it is nested too deep to be read", path) from None


@contextmanager
def _packed(path: Path, on_bytes: Callable[[int], None] | None) -> Iterator[BinaryIO]:
    """Open a file for reading, as it lies there."""
    if os.path.isdir(path):
        raise NotFoundError("this is a folder; expected a file", path)
    try:
        with readable(path):
            file = _CountingFile(path, on_bytes or (lambda count: None))
    except ValueError as error:  # of a name with a NUL in it
        raise NotFoundError(f"there can be no such file ({error})", path) from None
    note_input(path)
    with io.BufferedReader(file, 1 << 20) as raw:
        yield cast(BinaryIO, raw)


@contextmanager
def open_bytes(path: Path, on_bytes: Callable[[int], None] | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked; a broken archive raises DamagedFileError."""
    with _packed(path, on_bytes) as raw:
        size = os.fstat(raw.fileno()).st_size
        with unpacked(raw, path, size) as file:
            yield file


def read_bytes(
    path: Path, on_bytes: Callable[[int], None] | None = None, most: int | None = None
) -> bytes:
    """A file as it lies there, read once: whatever is made of it is made of these bytes."""
    with _packed(path, on_bytes) as raw:
        return take(raw, path, most)


def open_regular(path: Path, largest: int) -> tuple[BinaryIO, int]:
    """An open file and its size in bytes; an OSError if it is no file, or larger than that.

    A pipe would be waited on for ever, a device has no end. A link to a file is a file: caches of
    models are made of them.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path.name} is no file, but a folder, a pipe or a device")
        if status.st_size > largest:
            raise OSError(f"{path.name} has {status.st_size:,} bytes; expected {largest:,} at most")
        return open(descriptor, "rb"), status.st_size
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, largest: int) -> bytes:
    """All bytes of a file that has no more of them than that; else an OSError."""
    file, size = open_regular(path, largest)
    with file:
        return file.read(size)


def read_files(folder: Path, largest: Mapping[str, int]) -> dict[str, bytes | OSError]:
    """Those of these files that are there, by names like `member/config.json`, in one go.

    `largest` says how many bytes each may have. In the place of a file that cannot be read, is no
    file or is too large stands the OSError that says so.
    """
    contents: dict[str, bytes | OSError] = {}
    for name, most in largest.items():
        try:
            contents[name] = read_regular(folder / name, most)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            contents[name] = error
    return contents


def take(file: BinaryIO, path: str | Path, most: int | None = None) -> bytes:
    """All that is left of an open file; more than `most` bytes, or than a text may have, raise."""
    most = most or most_bytes()
    blocks, size = [], 0
    while block := file.read(1 << 20):
        size += len(block)
        if size > most:
            raise too_large("it", most).at(path)
        blocks.append(block)
    return b"".join(blocks)


def text_in(data: bytes, path: Path) -> str:
    """The text of a file of these bytes, by whatever compression and encoding its name has."""
    with readable(path), unpacked(io.BytesIO(data), path, len(data)) as file:
        return decode(take(file, path), path)


def decode(data: bytes, path: str | Path | None = None, line: int | None = None) -> str:
    """Bytes to text: UTF-8 first, then what the bytes show (a byte order mark, cp1252).

    Anything but UTF-8 gives a warning, since a wrong guess would change the text.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise TextEncodingError(
                    f"the file begins as {encoding.upper()} but breaks at byte {error.start}; "
                    "save it again as UTF-8",
                    path,
                    line,
                ) from None
            if "\0" in text:
                raise _binary(path, line)
            if encoding != "utf-8-sig":
                _warn_encoding(encoding, path, line)
            return text
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _decode_cp1252(data, error.start, path, line)
    if "\0" in text:
        raise _binary(path, line)
    return text


def _decode_cp1252(data: bytes, broken_at: int, path: str | Path | None, line: int | None) -> str:
    if data.translate(None, _BINARY_BYTES) != data:
        raise _binary(path, line)
    # A stray byte or a cut in UTF-8: read as cp1252, every accent and curly quote would be rubbish.
    foreign = [character for character in data.decode("utf-8", "replace") if character > "\x7f"]
    if foreign.count("\ufffd") * 2 < len(foreign):
        raise TextEncodingError(
            f"UTF-8 that breaks at byte {broken_at} ({data[broken_at]:#04x}); "
            "fetch it again, or save it again as UTF-8",
            path,
            line,
        )
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise TextEncodingError(
            f"not UTF-8 (byte {broken_at} is {data[broken_at]:#04x}) and not Windows-1252 either; "
            "save the file again as UTF-8",
            path,
            line,
        ) from None
    _warn_encoding("cp1252", path, line)
    return text


def _binary(path: str | Path | None, line: int | None) -> BinaryFileError:
    return BinaryFileError("this is binary data; expected plain text in UTF-8", path, line)


def _warn_encoding(encoding: str, path: str | Path | None, line: int | None) -> None:
    place = "the text" if path is None else f"{path}" if line is None else f"{path}:{line}"
    warnings.warn(
        f"{place} is not UTF-8; read as {encoding.upper()}. "
        "If characters look wrong, save it again as UTF-8.",
        GuessedEncodingWarning,
        stacklevel=2,
    )


def read_text(path: Path, on_bytes: Callable[[int], None] | None = None) -> str:
    """The text of one file, whatever its compression and encoding."""
    return text_in(read_bytes(path, on_bytes), path)


def read_lines(
    path: Path, on_bytes: Callable[[int], None] | None = None
) -> Iterator[tuple[int, str | InputError]]:
    """Stream (line number, line) of a file, as `lines_in`."""
    with open_bytes(path, on_bytes) as file:
        yield from lines_in(cast(io.BufferedReader, file), path)


def lines_in(file: io.BufferedReader, path: Path) -> Iterator[tuple[int, str | InputError]]:
    """Stream (line number, line) of an open file; one that cannot be read comes as its error.

    Lines end at a line feed alone: the other separators of Unicode may stand in JSON strings.
    """
    head = file.peek(4)
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), "")
    if encoding in ("utf-16", "utf-32"):
        yield from _wide_lines(file, encoding, path)
        return
    for number, data in enumerate(_cut(file.readline, b"\n"), start=1):
        try:
            if data is None:
                raise too_large("the line")
            with readable(path):
                line = decode(data, path, number)
        except InputError as error:
            yield number, error.at(path, number)
        else:
            yield number, line


def _cut(readline: Callable[[int], AnyStr], end: AnyStr) -> Iterator[AnyStr | None]:
    """Lines, and None in place of each that is longer than a text may be."""
    most = most_bytes()
    while line := readline(most + 1):
        if len(line) <= most or line.endswith(end):
            yield line
            continue
        while line and not line.endswith(end):  # pass over the rest of it
            line = readline(1 << 20)
        yield None


def _wide_lines(
    file: io.BufferedReader, encoding: str, path: Path
) -> Iterator[tuple[int, str | InputError]]:
    """UTF-16 and UTF-32 cannot be cut into lines before they are decoded.

    They are decoded by the block: half a character passes here, or it would take the block's good
    lines with it; `Document` refuses it.
    """
    _warn_encoding(encoding, path, None)
    number = 0
    try:
        with io.TextIOWrapper(file, encoding, errors="surrogatepass", newline="\n") as lines:
            for number, text in enumerate(_cut(lines.readline, "\n"), start=1):
                yield number, too_large("the line").at(path, number) if text is None else text
    except UnicodeDecodeError:
        broken = f"the file breaks as {encoding.upper()}; save it again as UTF-8"
        yield number + 1, TextEncodingError(broken, path, number + 1)
