"""Packed files (.gz, .xz, .zst), unpacked as they are read: never more than a block ahead."""

from __future__ import annotations

import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from adhominem.errors import DamagedFileError, TooLargeError

COMPRESSIONS = (".gz", ".xz", ".zst")

_PORTION = 256  # packed bytes at a time: zstd may unpack these to 8 MiB, and all at once
_BLOCK = 1 << 20  # unpacked bytes at a time, where the library can be told so

# What unpacking may take, whatever a header asks for. `xz -9` takes 65 MiB, `zstd --long` 128 MiB.
_XZ_MEMORY = 256 << 20
_ZSTD_WINDOW = 1 << 27
# Large dumps are packed with `zstd --long=31`, which takes 2 GiB. Only a file that is large itself
# can have use for that: text packs to a tenth.
_ZSTD_LARGEST_WINDOW = 1 << 31
_ZSTD_WINDOW_BY_SIZE = 64


@contextmanager
def unpacked(raw: BinaryIO, path: Path, size: int) -> Iterator[BinaryIO]:
    """A file of `size` bytes as its ending says; a broken archive raises DamagedFileError."""
    suffix = path.suffix.lower()
    if suffix not in COMPRESSIONS:
        yield raw
        return
    window = max(_ZSTD_WINDOW, min(_ZSTD_WINDOW_BY_SIZE * size, _ZSTD_LARGEST_WINDOW))
    try:
        yield cast(BinaryIO, io.BufferedReader(Blocks(_unpack(raw, suffix, window)), _BLOCK))
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        for message, most, advice in (
            ("Memory usage limit", _XZ_MEMORY, "`xz -d`, or pack it again with `xz -9`"),  # lzma's
            ("too much memory", window, "`zstd -d --long=31`, or pack it again without --long"),
        ):
            if message in str(error):
                problem = f"unpacking it takes more than {most >> 20} MiB of memory"
                raise TooLargeError(f"{problem}; unpack it with {advice}", path) from None
        raise DamagedFileError(
            f"the file is damaged, cut off, or no {path.suffix} file at all ({error}); "
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
            there_is_more = len(block) == _BLOCK  # of what was read already
            packed = b"" if there_is_more else raw.read(_PORTION)
            if not (packed or there_is_more):
                raise EOFError("it ends too early")
            yield (block := unpack(packed))
        packed = frame.unused_data


def _new_frame(suffix: str, window: int) -> tuple[Any, Callable[[bytes], bytes]]:
    """The library's object for a new frame, and what unpacks more of it, not much at a time."""
    if suffix == ".gz":
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)  # with gzip's header and checksum
        return member, lambda data: member.decompress(member.unconsumed_tail + data, _BLOCK)
    if suffix == ".xz":
        stream = lzma.LZMADecompressor(memlimit=_XZ_MEMORY)
        return stream, lambda data: stream.decompress(data, _BLOCK)
    import zstandard

    frame = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()

    def unpack(data: bytes) -> bytes:
        try:
            return frame.decompress(data)
        except zstandard.ZstdError as error:
            raise zlib.error(str(error)) from None

    return frame, unpack


class Blocks(io.RawIOBase):
    """Blocks of bytes as a raw file."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = memoryview(next(filter(None, self._blocks), b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
