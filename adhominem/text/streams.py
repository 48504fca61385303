"""The contents of files, unpacked and decoded: as one text, as lines, or as rows of JSON.

At most one block is unpacked ahead. An unreadable line is replaced by its error, and reading
continues.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, AnyStr, BinaryIO, TypeVar, cast

from adhominem.errors import (
    BinaryFileError,
    BrokenLineError,
    DamagedFileError,
    EmptyTextError,
    GuessedEncodingWarning,
    InputError,
    TextEncodingError,
    TooLargeError,
)
from adhominem.text.files import (
    BLOCK,
    COMPRESSIONS,
    OFFICE_SUFFIXES,
    most_bytes,
    open_input,
    read_bytes,
    readable,
    take,
    too_large,
)

Item = TypeVar("Item")
Lines = Iterator[tuple[int, str | InputError]]  # (line number, line or its error)
JsonRows = Iterator[tuple[int, dict[str, Any] | InputError]]  # (line number, object or its error)

_MOST_REST = 1 << 30  # bytes of a line that are skipped: a pipe or an archive may not end
_MOST_PARTS = 1_000_000  # of one row: three bytes take eighty in memory
_PORTION = 256  # compressed bytes at a time: zstd may unpack these to 8 MiB at once

# Memory for unpacking, whatever a header asks for. `xz -9` takes 65 MiB, `zstd --long` 128 MiB.
_XZ_MEMORY = 256 << 20
_ZSTD_WINDOW = 1 << 27
# Large dumps are packed with `zstd --long=31`, which takes 2 GiB. Only a file that is large itself
# can have use for that: text packs to a tenth.
_ZSTD_LARGEST_WINDOW = 1 << 31
_ZSTD_WINDOW_BY_SIZE = 64

# Longest mark first: the mark of UTF-16-LE begins that of UTF-32-LE.
_BYTE_ORDER_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)

_BINARY = "this is binary data; expected plain text in UTF-8"
# Control characters that no text in cp1252 holds; tab, line ends and form feed may.
_BINARY_BYTES = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b")) + b"\x7f"


# Unpacking.


@contextmanager
def unpacked(raw: BinaryIO, path: Path, size: int) -> Iterator[io.BufferedReader]:
    """A file of `size` bytes, unpacked by its suffix; broken archives raise DamagedFileError."""
    suffix = path.suffix.lower()
    if suffix not in COMPRESSIONS:
        yield cast(io.BufferedReader, raw)
        return
    window = max(_ZSTD_WINDOW, min(_ZSTD_WINDOW_BY_SIZE * size, _ZSTD_LARGEST_WINDOW))
    try:
        yield io.BufferedReader(_Unpacked(_unpack(raw, suffix, window)), BLOCK)
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        for message, most, advice in (
            ("Memory usage limit", _XZ_MEMORY, "`xz -d`, or pack it again with `xz -9`"),  # lzma's
            ("too much memory", window, "`zstd -d --long=31`, or pack it again without --long"),
        ):
            if message in str(error):
                problem = f"unpacking it takes more than {most >> 20} MiB of memory"
                raise TooLargeError(f"{problem}; unpack it with {advice}", path) from None
        raise DamagedFileError(
            f"the file is damaged, cut off, or not a {path.suffix} file at all ({error}); "
            "fetch or pack it again",
            path,
        ) from None


def _unpack(raw: BinaryIO, suffix: str, window: int) -> Iterator[bytes]:
    """The unpacked blocks of any number of frames (zstd), members (gzip) or streams (xz).

    A file that ends in mid-frame raises EOFError. (The libraries' own readers take a cut-off .zst
    for a complete one, and pass over all that follows a damaged header in an .xz.)
    """
    packed = b""  # the beginning of the next frame
    while packed := packed or raw.read(_PORTION):
        frame, unpack = _new_frame(suffix, window)
        yield (block := unpack(packed))
        while not frame.eof:
            there_is_more = len(block) == BLOCK  # of what was read already
            packed = b"" if there_is_more else raw.read(_PORTION)
            if not (packed or there_is_more):
                raise EOFError("it ends too early")
            yield (block := unpack(packed))
        packed = frame.unused_data


def _new_frame(suffix: str, window: int) -> tuple[Any, Callable[[bytes], bytes]]:
    """The library's object for a new frame, and a function that unpacks a little more of it."""
    if suffix == ".gz":
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)  # with gzip's header and checksum
        return member, lambda data: member.decompress(member.unconsumed_tail + data, BLOCK)
    if suffix == ".xz":
        stream = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        return stream, lambda data: stream.decompress(data, BLOCK)
    import zstandard

    frame = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()

    def unpack(data: bytes) -> bytes:
        try:
            return frame.decompress(data)
        except zstandard.ZstdError as error:
            raise zlib.error(str(error)) from None

    return frame, unpack


class _Unpacked(io.RawIOBase):
    """The unpacked blocks as a raw file."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._remainder = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._remainder:
            self._remainder = memoryview(next(filter(None, self._blocks), b""))
        count = min(len(buffer), len(self._remainder))
        buffer[:count] = self._remainder[:count]
        self._remainder = self._remainder[count:]
        return count


# A file as one text.


def read_text(path: Path) -> str:
    """The text of one file: plain, in any compression and encoding, or an office document."""
    return text_in(read_bytes(path), path)


def text_in(data: bytes, path: Path) -> str:
    """The text in the bytes of a file, whose name shows its format and compression."""
    suffix = path.suffix.lower()
    if suffix == ".pdf":  # imported here, since most texts are plain
        from adhominem.text.bounded import pdf_text

        return pdf_text(data, path)
    if suffix in OFFICE_SUFFIXES:
        from adhominem.text.office import office_text

        return office_text(data, path)
    with readable(path), unpacked(io.BytesIO(data), path, len(data)) as file:
        return decode(take(file, path), path)


def decode(data: bytes, path: str | Path | None = None, line: int | None = None) -> str:
    """The text that bytes encode: UTF-8 if possible, else by a byte order mark, else cp1252.

    Anything but UTF-8 gives a warning, since a wrong guess would change the text.
    """
    encoding = _encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise TextEncodingError(
                f"the file begins as {encoding.upper()} but breaks at byte {error.start}; "
                "save it again as UTF-8",
                path,
                line,
            ) from None
        try:
            text, encoding = _decode_cp1252(data, error.start), "cp1252"
        except InputError as problem:
            raise problem.at(path, line) from None
    if "\0" in text:
        raise BinaryFileError(_BINARY, path, line)
    if not encoding.startswith("utf-8"):
        _warn_encoding(encoding, path, line)
    return text


def _encoding_of(head: bytes) -> str:
    """The encoding that a byte order mark announces, or UTF-8."""
    return next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")


def _decode_cp1252(data: bytes, broken_at: int) -> str:
    if data.translate(None, _BINARY_BYTES) != data:
        raise BinaryFileError(_BINARY)
    # A stray byte or a cut in UTF-8: as cp1252, every accent and curly quote would be garbled.
    foreign = [character for character in data.decode("utf-8", "replace") if character > "\x7f"]
    if foreign.count("\ufffd") * 2 < len(foreign):
        raise TextEncodingError(
            f"UTF-8 that breaks at byte {broken_at} ({data[broken_at]:#04x}); "
            "fetch it again, or save it again as UTF-8"
        )
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        raise TextEncodingError(
            f"not UTF-8 (byte {broken_at} is {data[broken_at]:#04x}) and not Windows-1252 either; "
            "save the file again as UTF-8"
        ) from None


def _warn_encoding(encoding: str, path: str | Path | None, line: int | None) -> None:
    place = "the text" if path is None else f"{path}" if line is None else f"{path}:{line}"
    warnings.warn(
        f"{place} is not UTF-8; read as {encoding.upper()}. "
        "If characters look wrong, save it again as UTF-8.",
        GuessedEncodingWarning,
        stacklevel=2,
    )


# A file as lines, and as rows of JSON.


@contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file for reading, unpacked; a broken archive raises DamagedFileError."""
    with open_input(path) as raw, unpacked(raw, path, os.fstat(raw.fileno()).st_size) as file:
        yield file


def read_lines(path: Path) -> Lines:
    """Stream (line number, line or error) of a file."""
    with open_bytes(path) as file:
        yield from lines_in(file, path)


def lines_in(file: io.BufferedReader, path: Path) -> Lines:
    """Stream (line number, line or error) of an open file.

    Only a line feed ends a line: JSON strings may contain the other separators of Unicode.
    """
    encoding = _encoding_of(file.peek(4))
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
    """Lines, with None in place of each that exceeds the limit of a text."""
    most = most_bytes()
    while line := readline(most + 1):
        if len(line) <= most or line.endswith(end):
            yield line
            continue
        for _ in range(0, _MOST_REST, BLOCK):  # skip the rest of it
            if not line or line.endswith(end):
                break
            line = readline(BLOCK)
        else:
            raise TooLargeError(
                f"the line goes on for more than {_MOST_REST:,} bytes; expected a file that ends, "
                "and one text a line"
            )
        yield None


def _wide_lines(file: io.BufferedReader, encoding: str, path: Path) -> Lines:
    """Stream (line number, line or error) of UTF-16 or UTF-32, which is decoded before it is cut.

    Decoding is block by block: half a character passes here, so that the block's good lines
    survive; `Document` refuses it.
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


def read_json_lines(path: Path) -> JsonRows:
    """Stream (line number, JSON object or error) of a file."""
    return json_rows(read_lines(path), path)


def first_row(path: Path) -> dict[str, Any]:
    """The first readable object in a file of JSON lines; empty if there is none."""
    return first_readable(read_json_lines(path))


def first_readable(rows: JsonRows) -> dict[str, Any]:
    """The first object of some rows; empty if there is none."""
    return next((row for _, row in rows if isinstance(row, dict)), {})


def json_rows(lines: Lines, path: Path) -> JsonRows:
    """Stream (line number, JSON object or error), without blank lines."""
    number, empty = 0, True
    try:
        for number, line in lines:
            if isinstance(line, InputError):
                yield number, line
            elif line.strip():
                yield number, _json_object(line, path, number)
            else:
                continue
            empty = False
        if empty:
            yield 0, EmptyTextError("the file is empty; expected one JSON object a line", path)
    except InputError as error:  # it cannot be opened, or breaks off: earlier lines still count
        yield number + 1, error.at(path, number + 1) if number or not error.path else error


def _json_object(line: str, path: Path, number: int) -> dict[str, Any] | InputError:
    if len(line) > _MOST_PARTS and line.count("[") + line.count("{") > _MOST_PARTS:
        problem = f"more than {_MOST_PARTS:,} lists and objects; expected one text"
        return TooLargeError(problem, path, number)
    try:
        row = json.loads(line.rstrip())
    except (ValueError, RecursionError) as error:  # of a number of 5,000 digits: plain
        # Line 1 of the JSON reader is our line `number`.
        reason = str(error).replace("line 1 column", "column")
        problem = f"not a line of JSON ({reason}); expected one object a line"
        return BrokenLineError(problem, path, number)
    except MemoryError:
        return TooLargeError("the line fills the memory; expected one text", path, number)
    if not isinstance(row, dict):
        problem = f"a JSON {type(row).__name__}; expected an object like {{...}}"
        return BrokenLineError(problem, path, number)
    return row


def made_of_rows(
    rows: JsonRows, path: Path, make: Callable[[dict[str, Any], int], Item]
) -> Iterator[Item | InputError]:
    """Stream what `make` makes of each row and its line number, or the error."""
    for number, row in rows:
        try:
            yield row if isinstance(row, InputError) else make(row, number)
        except InputError as error:
            yield error.at(path, number)


def stop_or_skip(
    rows: Iterable[Item | InputError], skipped: list[InputError] | None
) -> Iterator[Item]:
    """The items that could be read; the first error is raised, or all go to `skipped`."""
    for row in rows:
        if not isinstance(row, InputError):
            yield row
        elif skipped is None:
            raise row
        else:
            skipped.append(row)
