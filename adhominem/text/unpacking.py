"""Packed files (.gz, .xz, .zst), unpacked as they are read: never more than a block ahead."""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from adhominem.errors import DamagedFileError, TooLargeError

# What a broken archive raises while it is read, whichever the compression.
_DAMAGE = (EOFError, lzma.LZMAError, zlib.error)

_PORTION = 256  # packed bytes at a time: zstd may unpack these to 8 MiB, and all at once
_BLOCK = 1 << 20  # unpacked bytes at a time, where the library can be told so

# What unpacking may take, whatever a header asks for. `xz -9` takes 65 MiB, `zstd --long` 128 MiB.
_XZ_MEMORY = 256 << 20
_ZSTD_WINDOW = 1 << 27
# Large dumps are packed with `zstd --long=31`, which takes 2 GiB. Only a file that is large itself
# can have use for that: text packs to a tenth.
_ZSTD_LARGEST_WINDOW = 1 << 31
_ZSTD_WINDOW_BY_SIZE = 64


class _TakesMemoryError(Exception):
    """Unpacking it would take more memory than that of honest files does."""


class _Frame(Protocol):
    """What unpacks one frame (zstd), member (gzip) or stream (xz), not much of it at a time."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _GzipMember:
    """zlib's, with gzip's header and checksum."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, /) -> bytes:
        unpacked = self._member.decompress(self._member.unconsumed_tail + data, _BLOCK)
        self.needs_input = len(unpacked) < _BLOCK
        return unpacked


class _XzStream:
    """lzma's, with a limit on its memory."""

    def __init__(self) -> None:
        self._stream = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    @property
    def needs_input(self) -> bool:
        return self._stream.needs_input

    def decompress(self, data: bytes, /) -> bytes:
        try:
            return self._stream.decompress(data, _BLOCK)
        except lzma.LZMAError as error:
            if "Memory usage limit" in str(error):
                raise _TakesMemoryError(
                    f"unpacking it takes more than {_XZ_MEMORY >> 20} MiB of memory; unpack it "
                    "with `xz -d`, or pack it again with `xz -9`"
                ) from None
            raise


class _ZstdFrame:
    """zstandard's, imported when first needed, with zlib's error for its own."""

    needs_input = True  # it gives all there is at once

    def __init__(self, most_window: int) -> None:
        import zstandard

        decompressor = zstandard.ZstdDecompressor(max_window_size=most_window)
        self._most_window = most_window
        self._frame = decompressor.decompressobj()
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
            if "too much memory" in str(error):
                raise _TakesMemoryError(
                    f"unpacking it takes more than {self._most_window >> 20} MiB of memory; "
                    "unpack it with `zstd -d --long=31`, or pack it again without --long"
                ) from None
            raise zlib.error(str(error)) from None


def _new_frame(suffix: str, size: int) -> Callable[[], _Frame] | None:
    """What begins a frame of a file with this ending, of so many packed bytes; None for others."""
    match suffix.lower():
        case ".gz":
            return _GzipMember
        case ".xz":
            return _XzStream
        case ".zst":
            by_size = min(_ZSTD_WINDOW_BY_SIZE * size, _ZSTD_LARGEST_WINDOW)
            return lambda: _ZstdFrame(max(_ZSTD_WINDOW, by_size))
        case _:
            return None


class _Frames(io.RawIOBase):
    """A packed file of any number of frames; one that ends in mid-frame raises EOFError.

    (The libraries' own readers take a cut-off .zst for a complete one, and pass over all that
    follows a damaged header in an .xz.)
    """

    def __init__(self, raw: BinaryIO | io.BufferedIOBase, new_frame: Callable[[], _Frame]) -> None:
        self._raw = raw
        self._new_frame = new_frame
        self._frame: _Frame | None = None
        self._packed = b""  # the beginning of the next frame
        self._unpacked = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._unpacked:
            packed = b""
            if self._frame is None or self._frame.needs_input:
                packed = self._packed or self._raw.read(_PORTION)
                if not packed:
                    if self._frame is not None:
                        raise EOFError("it ends too early")
                    return 0
            self._frame = self._frame or self._new_frame()
            self._unpacked = memoryview(self._frame.decompress(packed))
            self._packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        count = min(len(buffer), len(self._unpacked))
        buffer[:count] = self._unpacked[:count]
        self._unpacked = self._unpacked[count:]
        return count


@contextmanager
def unpacked(raw: BinaryIO, path: Path, size: int) -> Iterator[BinaryIO]:
    """A file of `size` bytes as its ending says; a broken archive raises DamagedFileError."""
    new_frame = _new_frame(path.suffix, size)
    if new_frame is None:
        yield raw
        return
    try:
        yield cast(BinaryIO, io.BufferedReader(_Frames(raw, new_frame), _BLOCK))
    except _TakesMemoryError as error:
        raise TooLargeError(str(error), path) from None
    except _DAMAGE as error:
        raise DamagedFileError(
            f"the file is damaged, cut off, or no {path.suffix} file at all ({error}); "
            "fetch or pack it again",
            path,
        ) from None
