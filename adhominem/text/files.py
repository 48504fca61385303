"""Files as text: compression, encodings, streaming lines."""

from __future__ import annotations

import io
import lzma
import os
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from adhominem.errors import (
    BinaryFileError,
    DamagedFileError,
    GuessedEncodingWarning,
    InputError,
    NotFoundError,
    TextEncodingError,
)
from adhominem.text.inputs import note_input

COMPRESSIONS = (".gz", ".xz", ".zst")

# What a broken archive raises while it is read, whichever the compression.
_DAMAGE = (EOFError, lzma.LZMAError, zlib.error)

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
        try:
            count = super().readinto(buffer)  # type: ignore[arg-type]
        except OSError as error:
            raise _unreadable(error, self._path) from None
        if count:
            self._on_bytes(count)
        return count


def _unreadable(error: OSError, path: Path) -> InputError:
    return InputError(f"the file cannot be read ({error.strerror})", path)


@contextmanager
def open_bytes(path: Path, on_bytes: Callable[[int], None] | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked; a broken archive raises DamagedFileError."""
    if os.path.isdir(path):
        raise NotFoundError("this is a folder; expected a file", path)
    try:
        raw = io.BufferedReader(_CountingFile(path, on_bytes or (lambda count: None)), 1 << 20)
    except FileNotFoundError:
        raise NotFoundError("there is no such file", path) from None
    except OSError as error:
        raise _unreadable(error, path) from None
    note_input(path)
    new_frame = _NEW_FRAME.get(path.suffix.lower())
    with raw:
        file = raw if new_frame is None else io.BufferedReader(_Frames(raw, new_frame), 1 << 20)
        try:
            yield cast(BinaryIO, file)
        except _DAMAGE as error:
            raise DamagedFileError(
                f"the file is damaged, cut off, or no {path.suffix} file at all ({error}); "
                "fetch or pack it again",
                path,
            ) from None


class _Frame(Protocol):
    """What unpacks one frame (zstd), member (gzip) or stream (xz)."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _ZstdFrame:
    """zstandard's, imported when first needed, and with zlib's error for its own."""

    def __init__(self) -> None:
        import zstandard

        # With the largest window there is: large dumps are packed with `zstd --long=31`.
        self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
        self._error = zstandard.ZstdError

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, /) -> bytes:
        try:
            return self._frame.decompress(data)
        except self._error as error:
            raise zlib.error(str(error)) from None


_NEW_FRAME: dict[str, Callable[[], _Frame]] = {
    ".gz": lambda: zlib.decompressobj(zlib.MAX_WBITS | 16),  # with gzip's header and checksum
    ".xz": lzma.LZMADecompressor,
    ".zst": _ZstdFrame,
}


class _Frames(io.RawIOBase):
    """A packed file of any number of frames; one that ends in mid-frame raises EOFError.

    (The libraries' own readers take a cut-off .zst for a complete one, and pass over all that
    follows a damaged header in an .xz.)
    """

    def __init__(self, raw: io.BufferedIOBase, new_frame: Callable[[], _Frame]) -> None:
        self._raw = raw
        self._new_frame = new_frame
        self._frame: _Frame | None = None
        self._packed = b""
        self._unpacked = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._unpacked:
            # A little at a time: zstd may unpack a kilobyte to 32 MiB.
            packed = self._packed or self._raw.read(1 << 10)
            if not packed:
                if self._frame is not None:
                    raise EOFError("it ends too early")
                return 0
            self._frame = self._frame or self._new_frame()
            self._unpacked = memoryview(self._frame.decompress(packed))
            self._packed = self._frame.unused_data  # the beginning of the next frame
            if self._frame.eof:
                self._frame = None
        count = min(len(buffer), len(self._unpacked))
        buffer[:count] = self._unpacked[:count]
        self._unpacked = self._unpacked[count:]
        return count


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
    with open_bytes(path, on_bytes) as file:
        return decode(file.read(), path)


def read_lines(
    path: Path, on_bytes: Callable[[int], None] | None = None
) -> Iterator[tuple[int, str | InputError]]:
    """Stream (line number, line) of a file; a line that cannot be decoded comes as its error.

    Lines end at a line feed alone: the other separators of Unicode may stand in JSON strings.
    """
    with open_bytes(path, on_bytes) as file:
        head = file.peek(4)  # type: ignore[attr-defined]
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), "")
        if encoding in ("utf-16", "utf-32"):
            yield from _read_wide_lines(file, encoding, path)
            return
        for number, data in enumerate(file, start=1):
            try:
                yield number, decode(data, path, number)
            except InputError as error:
                yield number, error


def _read_wide_lines(
    file: BinaryIO, encoding: str, path: Path
) -> Iterator[tuple[int, str | InputError]]:
    """UTF-16 and UTF-32 cannot be cut into lines before they are decoded.

    They are decoded by the block: half a character passes here, or it would take the block's good
    lines with it; `Document` refuses it.
    """
    _warn_encoding(encoding, path, None)
    number = 0
    try:
        with io.TextIOWrapper(file, encoding, errors="surrogatepass", newline="\n") as lines:
            for number, text in enumerate(lines, start=1):
                yield number, text
    except UnicodeDecodeError:
        broken = f"the file breaks as {encoding.upper()}; save it again as UTF-8"
        yield number + 1, TextEncodingError(broken, path, number + 1)
