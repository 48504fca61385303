"""How large a text may be: what is larger is refused, and its neighbours are read."""

from __future__ import annotations

import gzip
import lzma
import struct
import tracemalloc
import warnings
import zlib
from pathlib import Path

import pytest
from test_files import PACKED, pack

from adhominem.errors import InputError, OptionError, TooLargeError
from adhominem.text.files import (
    DEFAULT_MOST_BYTES,
    most_bytes,
    read_bytes,
    read_text,
    reading_at_most,
)
from adhominem.text.streams import read_lines

MEGABYTE = 1 << 20


def test_the_limit_holds_inside_and_is_what_it_was_outside() -> None:
    assert most_bytes() == DEFAULT_MOST_BYTES > 10 * 4_500_000  # ten Bibles
    with reading_at_most(10):
        with reading_at_most(20):
            assert most_bytes() == 20
        assert most_bytes() == 10
    assert most_bytes() == DEFAULT_MOST_BYTES
    with pytest.raises(OptionError, match="expected 1 or more"), reading_at_most(0):
        pass


@pytest.mark.parametrize("suffix", ["", *PACKED])
def test_a_text_of_the_limit_is_read_and_one_letter_more_is_not(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"a.txt{suffix}"
    with reading_at_most(1000):
        path.write_bytes(pack(b"a" * 1000, suffix))
        assert read_text(path) == "a" * 1000
        path.write_bytes(pack(b"a" * 1001, suffix))
        with pytest.raises(TooLargeError) as caught:
            read_text(path)
    assert str(caught.value) == (
        f"{path}: it has more than 1,000 bytes; if it really is one text, raise the limit with "
        "--max-bytes"
    )


@pytest.mark.parametrize("suffix", PACKED)
def test_a_bomb_is_given_up_before_it_goes_off(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(pack(bytes(300 * MEGABYTE), suffix))
    tracemalloc.start()
    with reading_at_most(MEGABYTE), pytest.raises(TooLargeError):
        read_text(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 * MEGABYTE


@pytest.mark.parametrize("suffix", ["", *PACKED])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_a_line_without_an_end_is_an_error_and_the_next_is_read(
    tmp_path: Path, suffix: str, encoding: str
) -> None:
    path = tmp_path / f"a.jsonl{suffix}"
    lengths = ("x" * 5_000_000, "three", "y" * 1001, "z" * 1000, "w" * 9999)
    text = "\n".join(("one", *lengths))
    path.write_bytes(pack(text.encode(encoding), suffix))
    with reading_at_most(1000), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = list(read_lines(path))
    good = [(number, line.strip("\ufeff")) for number, line in lines if isinstance(line, str)]
    assert good == [(1, "one\n"), (3, "three\n"), (5, "z" * 1000 + "\n")]
    bad = [(number, str(line)) for number, line in lines if isinstance(line, InputError)]
    told = (
        "the line has more than 1,000 bytes; if it really is one text, raise the limit with "
        "--max-bytes"
    )
    assert bad == [(number, f"{path}:{number}: {told}") for number in (2, 4, 6)]


def zstd_with_window(log: int, data: bytes) -> bytes:
    """A frame that asks for a window of 2 ** log bytes, with the data in it as they are."""
    header = struct.pack("<IBB", 0xFD2FB528, 0, (log - 10) << 3)
    return header + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def test_a_zst_that_asks_for_much_memory_is_refused_unless_it_is_large_itself(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstd_with_window(27, b"Some words."))
    assert read_text(path) == "Some words."
    path.write_bytes(zstd_with_window(31, b"Some words."))
    with pytest.raises(TooLargeError, match=r"more than 128 MiB of memory; unpack it with `zstd"):
        read_text(path)
    # As `zstd --long=31` packs a dump of many gigabytes: here the size is of frames to skip.
    skipped = struct.pack("<II", 0x184D2A50, 40 * MEGABYTE) + bytes(40 * MEGABYTE)
    path.write_bytes(zstd_with_window(31, b"Some words.\n") + skipped)
    assert [line for _, line in read_lines(path)] == ["Some words.\n"]


def test_an_xz_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.xz"
    path.write_bytes(lzma.compress(b"Some words.", preset=9 | lzma.PRESET_EXTREME))
    assert read_text(path) == "Some words."
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 24}]
    data = bytearray(lzma.compress(b"Some words.", filters=filters))
    at = data.index(b"\x21\x01\x18", 12)  # LZMA2, and its dictionary as a byte: 16 MiB
    data[at + 2] = 37  # 1.5 GiB
    end = 12 + (data[12] + 1) * 4 - 4
    data[end : end + 4] = struct.pack("<I", zlib.crc32(data[12:end]))
    path.write_bytes(data)
    with pytest.raises(TooLargeError, match=r"more than 256 MiB of memory; unpack it with `xz -d`"):
        read_text(path)


def test_many_members_are_unpacked_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"a", mtime=0) * 2000)
    assert read_text(path) == "a" * 2000
    with reading_at_most(1999), pytest.raises(TooLargeError):
        read_bytes(path)


def test_memory_that_runs_out_is_an_error_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*details: object) -> str:
        raise MemoryError

    path = tmp_path / "a.txt"
    path.write_text("Some words.\n")
    monkeypatch.setattr("adhominem.text.files.decode", fail)
    monkeypatch.setattr("adhominem.text.streams.decode", fail)
    with pytest.raises(TooLargeError, match=r"a\.txt: it fills the memory"):
        read_text(path)
    ((number, error),) = read_lines(path)
    assert isinstance(error, TooLargeError)
    assert (number, error.path, error.line) == (1, str(path), 1)
