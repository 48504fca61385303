"""Files that are streamed, unpacked as they are read: their lines, and rows of JSON.

A line that cannot be read comes as its error, and the next is read.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, AnyStr, BinaryIO, TypeVar, cast

from adhominem.errors import (
    BrokenLineError,
    EmptyTextError,
    InputError,
    TextEncodingError,
    TooLargeError,
)
from adhominem.text.files import (
    BYTE_ORDER_MARKS,
    OnBytes,
    decode,
    most_bytes,
    open_input,
    readable,
    too_large,
    warn_encoding,
)
from adhominem.text.unpacking import Blocks, unpacked

_BLOCK = 1 << 20  # bytes that are read at a time
_MOST_REST = 1 << 30  # bytes of a line that are passed over: a pipe, or what is packed, may not end
_MOST_PARTS = 1_000_000  # of one row: three bytes become eighty in memory
Item = TypeVar("Item")
JsonRows = Iterator[tuple[int, dict[str, Any] | InputError]]  # (line number, object or its error)


@contextmanager
def open_bytes(path: Path, on_bytes: OnBytes | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked; a broken archive raises DamagedFileError.

    `on_bytes` hears how many of its (packed) bytes have been read.
    """
    with open_input(path) as file:

        def blocks() -> Iterator[bytes]:
            while True:
                with readable(path):
                    block = file.read(_BLOCK)
                if not block:
                    return
                if on_bytes is not None:
                    on_bytes(len(block))
                yield block

        raw = cast(BinaryIO, io.BufferedReader(Blocks(blocks()), _BLOCK))
        with unpacked(raw, path, os.fstat(file.fileno()).st_size) as opened:
            yield opened


def read_json_lines(path: Path, on_bytes: OnBytes | None = None) -> JsonRows:
    """Stream (line number, JSON object) of a file; a bad line comes as its error."""
    return json_rows(read_lines(path, on_bytes), path)


def json_rows(lines: Iterable[tuple[int, str | InputError]], path: Path) -> JsonRows:
    """Stream (line number, JSON object); a bad line comes as its error. Blank lines are passed."""
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
    except InputError as error:  # it cannot be opened, or breaks off: what came before still counts
        yield number + 1, error.at(path, number + 1) if number or not error.path else error


def made_of_rows(
    rows: JsonRows, path: Path, make: Callable[[dict[str, Any], int], Item]
) -> Iterator[tuple[int, Item | InputError]]:
    """Stream (line number, what is made of the row and its number); an error comes in its place."""
    for number, row in rows:
        try:
            yield number, row if isinstance(row, InputError) else make(row, number)
        except InputError as error:
            yield number, error.at(path, number)


def _json_object(line: str, path: Path, number: int) -> dict[str, Any] | InputError:
    if len(line) > _MOST_PARTS and line.count("[") + line.count("{") > _MOST_PARTS:
        problem = f"more than {_MOST_PARTS:,} lists and objects; expected one text"
        return TooLargeError(problem, path, number)
    try:
        row = json.loads(line.rstrip())
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a mere ValueError
        # What the JSON reader calls line 1 is our line `number`.
        reason = str(error).replace("line 1 column", "column")
        return BrokenLineError(
            f"not a line of JSON ({reason}); expected one object a line", path, number
        )
    except MemoryError:
        return TooLargeError("the line fills the memory; expected one text", path, number)
    if not isinstance(row, dict):
        return BrokenLineError(
            f"a JSON {type(row).__name__}; expected an object like {{...}}", path, number
        )
    return row


def read_lines(
    path: Path, on_bytes: OnBytes | None = None
) -> Iterator[tuple[int, str | InputError]]:
    """Stream (line number, line) of a file; one that cannot be read comes as its error."""
    with open_bytes(path, on_bytes) as file:
        yield from lines_in(cast(io.BufferedReader, file), path)


def lines_in(file: io.BufferedReader, path: Path) -> Iterator[tuple[int, str | InputError]]:
    """Stream (line number, line) of an open file; one that cannot be read comes as its error.

    Lines end at a line feed alone: the other separators of Unicode may stand in JSON strings.
    """
    head = file.peek(4)
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if head.startswith(mark)), "")
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
        for _ in range(0, _MOST_REST, _BLOCK):  # pass over the rest of it
            if not line or line.endswith(end):
                break
            line = readline(_BLOCK)
        else:
            raise TooLargeError(
                f"the line goes on for more than {_MOST_REST:,} bytes; expected a file that ends, "
                "and one text a line"
            )
        yield None


def _wide_lines(
    file: io.BufferedReader, encoding: str, path: Path
) -> Iterator[tuple[int, str | InputError]]:
    """Stream (line number, line) of UTF-16 or UTF-32, which is decoded before it is cut.

    They are decoded by the block: half a character passes here, or it would take the block's good
    lines with it; `Document` refuses it.
    """
    warn_encoding(encoding, path, None)
    number = 0
    try:
        with io.TextIOWrapper(file, encoding, errors="surrogatepass", newline="\n") as lines:
            for number, text in enumerate(_cut(lines.readline, "\n"), start=1):
                yield number, too_large("the line").at(path, number) if text is None else text
    except UnicodeDecodeError:
        broken = f"the file breaks as {encoding.upper()}; save it again as UTF-8"
        yield number + 1, TextEncodingError(broken, path, number + 1)
