"""Files: what goes in comes out, whatever the packing; what is broken says so, and where."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import random
import struct
import tracemalloc
import warnings
import zlib
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich_texts import rich_texts

from adhominem.errors import (
    AdHominemError,
    BinaryFileError,
    DamagedFileError,
    EmptyTextError,
    GuessedEncodingWarning,
    InputError,
    MissingFieldError,
    NotFoundError,
    OptionError,
    TextEncodingError,
    TooLargeError,
)
from adhominem.text import streams
from adhominem.text.files import (
    DEFAULT_MOST_BYTES,
    Document,
    bare_stem,
    bare_suffix,
    check_none_read_in,
    check_not_read,
    counting_bytes,
    most_bytes,
    note_input,
    noting_inputs,
    open_regular,
    read_bytes,
    read_files,
    reading_at_most,
)
from adhominem.text.streams import decode, open_bytes, read_lines, read_text
from adhominem.text.writing import replaced_file, write_whole

PACKED = (".gz", ".xz", ".zst")
SUFFIXES = ("", *PACKED)
MEGABYTE = 1 << 20
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

FAILING = Path("/proc/self/mem")

# Any text that can be saved; the mark at the beginning of a file is not part of its text.
TEXTS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=300
).filter(lambda text: not text.startswith("\ufeff"))

# The folder is shared by the examples of one test; each writes its files anew.
many = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def pack(data: bytes, suffix: str) -> bytes:
    """One frame (member, stream), written without the code under test."""
    return {
        "": lambda: data,
        ".gz": lambda: gzip.compress(data, 1),
        ".xz": lambda: lzma.compress(data, preset=0),
        ".zst": lambda: zstandard.ZstdCompressor(level=1).compress(data),
    }[suffix]()


def skippable_frame(data: bytes) -> bytes:
    """What pzstd and the seekable format of zstd put between the frames."""
    return struct.pack("<II", 0x184D2A50, len(data)) + data


class Drip(io.BytesIO):
    """A file that hands out a few bytes at a time, however many were asked for."""

    def __init__(self, data: bytes, most: int) -> None:
        super().__init__(data)
        self._most = most

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(self._most, self._most if size is None or size < 0 else size))


def unpack_dripping(data: bytes, suffix: str, most_in: int, most_out: int) -> bytes:
    """Read through the unpacker alone, with a limit on what goes in and out at once."""
    file = streams._Unpacked(streams._unpack(Drip(data, most_in), suffix, 1 << 27))
    out = bytearray()
    buffer = bytearray(most_out)
    while count := file.readinto(memoryview(buffer)):
        out += buffer[:count]
    return bytes(out)


# -- names


@pytest.mark.parametrize(
    ("name", "stem", "suffix"),
    [
        ("blogs.jsonl", "blogs", ".jsonl"),
        ("blogs.jsonl.xz", "blogs", ".jsonl"),
        ("blogs.JSONL.GZ", "blogs", ".jsonl"),
        ("BLOGS.Txt.zst", "BLOGS", ".txt"),
        ("J. R. R. Tolkien_-_The Hobbit.txt", "J. R. R. Tolkien_-_The Hobbit", ".txt"),
        ("notes.v2.txt.gz", "notes.v2", ".txt"),
        ("LETTER.TXT", "LETTER", ".txt"),
        ("no-suffix", "no-suffix", ""),
        ("letter.gz", "letter", ""),
        (".DS_Store", ".DS_Store", ""),
    ],
)
def test_names_are_taken_apart_without_the_compression(name: str, stem: str, suffix: str) -> None:
    assert (bare_stem(Path("a.gz/b") / name), bare_suffix(Path("a.gz/b") / name)) == (stem, suffix)


# -- packed files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_reads_the_same_however_it_is_packed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix.upper()}"
    path.write_bytes(pack("Müßiggang – “so” …\r\n\tnext\n".encode(), suffix))
    assert read_text(path) == "Müßiggang – “so” …\r\n\tnext\n"


@pytest.mark.parametrize("suffix", PACKED)
@many
@given(
    parts=st.lists(st.binary(max_size=400), max_size=12),
    most_in=st.integers(1, 70),
    most_out=st.integers(1, 70),
)
@example(parts=[], most_in=1, most_out=1)
@example(parts=[b""], most_in=1, most_out=1)
@example(parts=[b"", b"", b"a", b"", b"b", b""], most_in=1, most_out=1)
def test_frames_unpack_to_their_data_in_whatever_portions(
    suffix: str, parts: list[bytes], most_in: int, most_out: int
) -> None:
    packed = b"".join(pack(part, suffix) for part in parts)
    assert unpack_dripping(packed, suffix, most_in, most_out) == b"".join(parts)


@many
@given(
    sizes=st.lists(st.integers(0, 9_000), min_size=1, max_size=8),
    seed=st.integers(0, 1 << 32),
    level=st.sampled_from([-5, 1, 3]),
    checksum=st.booleans(),
    content_size=st.booleans(),
    skipped=st.booleans(),
    read_size=st.sampled_from([1, 7, 1024, 4096, 100_000]),
)
def test_zst_of_random_frames_reads_back(
    tmp_path: Path,
    sizes: list[int],
    seed: int,
    level: int,
    checksum: bool,
    content_size: bool,
    skipped: bool,
    read_size: int,
) -> None:
    """Random data does not pack: the frames end at random places of the portions read."""
    rng = random.Random(seed)
    parts = [rng.randbytes(size) for size in sizes]
    packer = zstandard.ZstdCompressor(
        level=level, write_checksum=checksum, write_content_size=content_size
    )
    between = skippable_frame(rng.randbytes(rng.randrange(50))) if skipped else b""
    path = tmp_path / "a.zst"
    path.write_bytes(between + b"".join(packer.compress(part) + between for part in parts))
    with open_bytes(path) as file:
        assert b"".join(iter(lambda: file.read(read_size), b"")) == b"".join(parts)


@many
@given(
    parts=st.lists(st.binary(min_size=1, max_size=200), min_size=1, max_size=4),
    garbage=st.binary(min_size=1, max_size=20),
)
def test_garbage_after_the_last_zst_frame_is_damage_and_all_before_it_is_read(
    tmp_path: Path, parts: list[bytes], garbage: bytes
) -> None:
    whole = b"".join(pack(part, ".zst") for part in parts)
    path = tmp_path / "a.zst"
    # The first byte is that of no frame, whole or skippable.
    path.write_bytes(whole + b"\x00" + garbage)
    got: list[bytes] = []
    with pytest.raises(DamagedFileError) as caught, open_bytes(path) as file:
        got.extend(iter(lambda: file.read(1), b""))
    assert b"".join(got) == b"".join(parts)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("suffix", PACKED)
def test_garbage_between_frames_never_passes_for_the_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(pack(b"one\n", suffix) + b"garbage, no frame" + pack(b"two\n", suffix))
    with pytest.raises(DamagedFileError, match="damaged"):
        read_text(path)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_file_cut_off_anywhere_is_damage(tmp_path: Path, suffix: str) -> None:
    first, second = pack(b"one\n" * 9, suffix), pack(b"two\n" * 9, suffix)
    path = tmp_path / f"a.txt{suffix}"
    for length in range(1, len(first + second)):
        path.write_bytes((first + second)[:length])
        if length == len(first):  # all that is left is a complete file
            assert read_text(path) == "one\n" * 9
            continue
        with pytest.raises(DamagedFileError, match=f"cut off, or not a {suffix} file") as caught:
            read_text(path)
        assert caught.value.path == str(path)


@pytest.mark.parametrize("suffix", PACKED)
def test_the_lines_before_the_cut_are_read(tmp_path: Path, suffix: str) -> None:
    rng = random.Random(1)
    lines = [rng.randbytes(500).hex() + "\n" for _ in range(400)]
    data = pack("".join(lines).encode(), suffix)
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(data[: len(data) * 3 // 4])
    got: list[str | InputError] = []
    with pytest.raises(DamagedFileError):
        got.extend(line for _, line in read_lines(path))
    assert got == lines[: len(got)]
    # zstd unpacks whole blocks of 128 KiB, the others almost up to the cut.
    assert len(got) > 100


@pytest.mark.parametrize("suffix", PACKED)
def test_a_changed_byte_is_damage(tmp_path: Path, suffix: str) -> None:
    data = random.Random(2).randbytes(3000).hex().encode()
    packed = bytearray(
        zstandard.ZstdCompressor(write_checksum=True).compress(data)
        if suffix == ".zst"
        else pack(data, suffix)
    )
    packed[len(packed) // 2] ^= 0x10
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(packed)
    with pytest.raises(DamagedFileError, match="fetch or pack it again"):
        read_text(path)


@pytest.mark.parametrize("suffix", PACKED)
def test_plain_text_under_a_packed_name_is_told_so(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.write_text("It was a dark and stormy night.")
    with pytest.raises(DamagedFileError, match=f"not a {suffix} file at all"):
        read_text(path)


# -- streaming


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_byte_on_disk_is_reported_once(tmp_path: Path, suffix: str) -> None:
    """Of many frames, over several buffers, since the progress bar counts on it."""
    rng = random.Random(3)
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"".join(pack(rng.randbytes(30_000).hex().encode(), suffix) for _ in "x" * 50))
    counts: list[int] = []
    with counting_bytes(counts.append):
        assert len(read_text(path)) == 50 * 60_000
    assert sum(counts) == path.stat().st_size > 1 << 20


def test_a_consumer_that_stops_early_has_read_only_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a line of some length"}\n' * 200_000)
    counts: list[int] = []
    lines = read_lines(path)
    with counting_bytes(counts.append):
        assert next(lines) == (1, '{"text": "a line of some length"}\n')
    lines.close()  # type: ignore[attr-defined]
    assert 0 < sum(counts) <= 1 << 20 < path.stat().st_size


@pytest.mark.parametrize("suffix", PACKED)
def test_a_hundred_megabytes_never_sit_in_memory(tmp_path: Path, suffix: str) -> None:
    """Even where they are packed to next to nothing."""
    line = json.dumps({"author": "a", "text": "Call me Ishmael. " * 12_000}) + "\n"
    times = 100_000_000 // len(line) + 1
    path = tmp_path / f"a.jsonl{suffix}"
    packer = {
        ".gz": lambda: zlib.compressobj(1, wbits=31),
        ".xz": lambda: lzma.LZMACompressor(preset=0),
        ".zst": lambda: zstandard.ZstdCompressor(level=1).compressobj(),
    }[suffix]()
    data = line.encode()
    path.write_bytes(b"".join([packer.compress(data) for _ in range(times)]) + packer.flush())
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    total = sum(len(text) for _, text in read_lines(path) if isinstance(text, str))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert total == times * len(line)
    assert peak < 40_000_000


# -- what cannot be opened


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        read_text(tmp_path / "missing.txt")
    assert (
        str(caught.value)
        == f"{tmp_path}/missing.txt: there is no such file; look at the name and the place"
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="this is a folder; expected a file") as caught:
        read_text(tmp_path)
    assert caught.value.path == str(tmp_path)


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    path = tmp_path / "loop.txt"
    path.symlink_to(path)
    with pytest.raises(InputError, match=r"loop.txt: the file cannot be read \(Too many"):
        read_text(path)


def test_a_name_that_is_too_long_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"cannot be read \(File name too long\)"):
        read_text(Path("x" * 5000))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_says_so(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.touch(mode=0)
    with pytest.raises(InputError, match="Permission denied"):
        read_text(path)


@pytest.mark.skipif(not FAILING.exists(), reason="needs a file that opens but cannot be read")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_disk_that_fails_while_reading_is_an_input_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    path.symlink_to(FAILING)
    with pytest.raises(InputError, match=r"cannot be read \(Input/output error\)") as caught:
        read_text(path)
    assert caught.value.path == str(path)


# -- encodings


def test_utf_8_with_a_mark_is_read_in_silence_and_without_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("naïve\n".encode("utf-8-sig"))
    assert read_text(path) == "naïve\n"
    assert list(read_lines(path)) == [(1, "naïve\n")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_utf_16_and_32_with_a_mark_are_read_and_warned_of(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    # U+0A0A and U+200A hold the byte of the line feed.
    text = "naïve “\u0a0a\u200a” 𝔄\nsecond\r\n\nlast"
    path.write_bytes(("\ufeff" + text).encode(encoding))
    name = encoding[:6].upper()
    with pytest.warns(GuessedEncodingWarning, match=f"a.txt is not UTF-8; read as {name}"):
        assert read_text(path) == text
    with pytest.warns(GuessedEncodingWarning, match=f"a.txt is not UTF-8; read as {name}"):
        lines = list(read_lines(path))
    assert lines == list(enumerate(text.splitlines(keepends=True), start=1))


def test_broken_utf_16_names_the_place(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffabc".encode("utf-16-le") + b"\x00\xd8x\x00")
    with pytest.raises(TextEncodingError, match="begins as UTF-16 but breaks at byte 8"):
        read_text(path)


@pytest.mark.filterwarnings("ignore::adhominem.errors.GuessedEncodingWarning")
def test_utf_16_lines_that_end_in_mid_character_give_the_lines_before(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes("\ufeffone\ntwo\nthr".encode("utf-16-le") + b"e")
    *good, (number, error) = read_lines(path)
    assert good == [(1, "one\n"), (2, "two\n")]
    assert (number, type(error)) == (3, TextEncodingError)
    assert str(error).startswith(f"{path}:3: the file breaks as UTF-16")


def test_cp1252_is_read_with_a_warning_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("“Café” – naïve…".encode("cp1252"))
    with pytest.warns(GuessedEncodingWarning, match=r"a\.txt is not UTF-8; read as CP1252"):
        assert read_text(path) == "“Café” – naïve…"


def test_cp1252_lines_are_warned_of_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"plain\n" + "Café\n".encode("cp1252") + "Café\n".encode() + b"end")
    with pytest.warns(GuessedEncodingWarning, match=r"a\.jsonl:2 is not UTF-8") as caught:
        assert [line for _, line in read_lines(path)] == ["plain\n", "Café\n", "Café\n", "end"]
    assert len(caught) == 1


def test_text_in_no_encoding_names_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"caf\x81 \x8d")
    with pytest.raises(TextEncodingError, match=r"byte 3 is 0x81.*save the file again") as caught:
        read_text(path)
    assert (caught.value.path, caught.value.line) == (str(path), None)


@pytest.mark.parametrize("end", [b"\xe2\x80", b"\xe9 fin."], ids=["cut off", "a stray byte"])
def test_utf_8_with_damage_is_not_taken_for_cp1252(end: bytes) -> None:
    """It would turn every accent of a good text into two wrong letters."""
    with pytest.raises(TextEncodingError, match="UTF-8 that breaks at byte"):
        decode("Die Bäume, die Sträucher, die Vögel ".encode() + end)


@many
@given(st.text("abc äöüéßÉ“”–…\n", min_size=1).filter(lambda text: not text.isascii()))
def test_cp1252_of_any_western_text_is_never_misread(text: str) -> None:
    """It is read right, or refused; only bytes that happen to be good UTF-8 are read as that."""
    data = text.encode("cp1252")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GuessedEncodingWarning)
        try:
            assert decode(data) in (text, data.decode("utf-8", "ignore"))
        except TextEncodingError as error:
            assert "UTF-8 that breaks" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "data",
    [
        PNG + random.Random(4).randbytes(300),
        b"\x7fELF\x02\x01\x01" + bytes(9),
        b"PK\x03\x04" + random.Random(5).randbytes(300),
        b"a text with a NUL \x00 in it",
        "UTF-16 without a mark".encode("utf-16-le"),
    ],
    ids=["png", "elf", "zip", "nul", "utf-16"],
)
def test_binary_data_is_not_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(BinaryFileError, match=r"a\.txt: this is binary data; expected plain text"):
        read_text(path)


def test_a_line_that_cannot_be_decoded_comes_as_its_error_among_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n" + PNG[:8].replace(b"\n", b"") + b"\nthree\nfo\x81r\nfive\n")
    lines = list(read_lines(path))
    assert [number for number, _ in lines] == [1, 2, 3, 4, 5]
    assert [line for _, line in lines if isinstance(line, str)] == ["one\n", "three\n", "five\n"]
    errors = [line for _, line in lines if isinstance(line, InputError)]
    assert [type(error) for error in errors] == [BinaryFileError, TextEncodingError]
    assert [str(error).split(": ")[0] for error in errors] == [f"{path}:2", f"{path}:4"]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes("a\u2028b\u0085c\x0cd\re\r\nf\n\ng".encode())
    assert list(read_lines(path)) == [
        (1, "a\u2028b\u0085c\x0cd\re\r\n"),
        (2, "f\n"),
        (3, "\n"),
        (4, "g"),
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_has_no_text_and_no_lines(tmp_path: Path, suffix: str) -> None:
    for data in (b"", pack(b"", suffix)):
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(data)
        assert read_text(path) == ""
        assert list(read_lines(path)) == []


# A document checks itself when it is made.


FIELDS = [field.name for field in fields(Document)]


def test_all_but_the_text_is_empty_where_unknown() -> None:
    document = Document(text="Hello.")
    assert [getattr(document, name) for name in FIELDS] == ["Hello.", *[""] * 5]


def test_a_document_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Document(text="Hello.").author = "Ann"  # type: ignore[misc]


@given(rich_texts.filter(lambda text: text.strip() and "\0" not in text))
def test_a_text_is_kept_as_it_was_given(text: str) -> None:
    assert Document(text=text).text == text


@pytest.mark.parametrize("text", ["", " ", "\n\t\r\n", "\u00a0\u2003\u3000", "\x1c\x85"])
def test_a_text_without_a_visible_character_is_refused(text: str) -> None:
    with pytest.raises(EmptyTextError, match="expected at least one visible character"):
        Document(text=text)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", [None, 7, b"bytes", ["text"]])
def test_a_field_that_is_no_string_is_named(name: str, value: object) -> None:
    with pytest.raises(MissingFieldError, match=f"'{name}' is {type(value).__name__}"):
        Document(**{"text": "Hello.", name: value})


@pytest.mark.parametrize("name", FIELDS)
def test_half_a_character_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(TextEncodingError, match=rf"'{name}'.*U\+D83D.*position 3"):
        Document(**{"text": "Hello.", name: "abc\ud83d"})


def test_a_whole_pair_of_escapes_is_one_character() -> None:
    assert Document(text="\U0001f600", author="Zoë").author == "Zoë"


def test_a_copy_with_another_field_is_checked_too() -> None:
    with pytest.raises(EmptyTextError):
        replace(Document(text="Hello."), text=" ")


def test_every_refusal_can_be_caught_as_one_and_told_its_place() -> None:
    with pytest.raises(AdHominemError) as caught:
        Document(text="")
    error = caught.value
    assert isinstance(error, InputError)
    placed = error.at("novels.jsonl", 12)
    assert type(placed) is EmptyTextError
    assert (placed.path, placed.line) == ("novels.jsonl", 12)
    assert str(placed) == f"novels.jsonl:12: {error}"


# What was read is known by whatever name, as long as a job runs.


def test_what_is_opened_is_noted_and_forgotten_when_the_job_is_done(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("evidence", "utf-8")
    with noting_inputs():
        check_not_read(path)
        with noting_inputs():
            read_text(path)
        with pytest.raises(OptionError, match="would be overwritten, but it was read as input"):
            check_not_read(path)
    read_text(path)
    check_not_read(path)
    with noting_inputs():
        check_not_read(path)


def test_a_file_that_was_saved_anew_since_it_was_read_is_the_same(tmp_path: Path) -> None:
    path, new = tmp_path / "a.txt", tmp_path / "new"
    path.write_text("evidence", "utf-8")
    new.write_text("a better version", "utf-8")
    with noting_inputs():
        read_text(path)
        os.replace(new, path)
        with pytest.raises(OptionError, match="would be overwritten"):
            check_not_read(path)
        path.unlink()
        with pytest.raises(OptionError, match="would be overwritten"):
            check_not_read(path)


@pytest.mark.parametrize("writer", [write_whole, replaced_file])
def test_the_writers_ask_before_they_begin_and_when_they_are_done(
    writer: type, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("evidence", "utf-8")
    for read_before in (True, False):
        with noting_inputs():
            if read_before:
                read_text(path)
            with (  # noqa: PT012
                pytest.raises(OptionError, match="would be overwritten"),
                writer(path),
            ):
                assert not read_before
                read_text(path)
        assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
        assert path.read_text("utf-8") == "evidence"


def test_a_folder_in_which_something_was_read_is_told_from_its_neighbours(tmp_path: Path) -> None:
    inside = tmp_path / "work" / "deep" / "a.txt"
    inside.parent.mkdir(parents=True)
    inside.write_text("evidence", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "work")
    with noting_inputs():
        note_input(tmp_path / "link" / "deep" / "a.txt")
        for folder in (tmp_path / "work", tmp_path / "link", tmp_path):
            with pytest.raises(OptionError, match="would be replaced, but it holds"):
                check_none_read_in(folder)
        check_none_read_in(tmp_path / "wor")
        check_none_read_in(tmp_path / "work" / "other")


# Only files are read, and only as much as was said.


def read_regular(path: Path, largest: int) -> bytes:
    file, size = open_regular(path, largest)
    with file:
        return file.read(size)


def test_a_file_is_read_as_it_is_through_a_link_too(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    (tmp_path / "link").symlink_to(path)
    assert read_regular(path, 3) == read_regular(tmp_path / "link", 100) == b"abc"
    file, size = open_regular(path, 3)
    with file:
        assert (file.read(), size) == (b"abc", 3)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    with pytest.raises(OSError, match=r"large has 1,099,511,627,776 bytes; expected 10 at most"):
        read_regular(tmp_path / "large", 10)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # nobody will ever write to it
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "folder", "device"):
        with pytest.raises(OSError, match=f"{name} is not a file"):
            read_regular(tmp_path / name, 100)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing", 100)


def test_no_file_stays_open(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with pytest.raises(OSError, match="is not a file"):
            read_regular(tmp_path / "folder", 1)
    assert len(os.listdir("/proc/self/fd")) == before


def test_files_are_read_in_one_go_and_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "member").mkdir()
    (tmp_path / "a.json").write_bytes(b"whole")
    (tmp_path / "member" / "a.json").write_bytes(b"member")
    (tmp_path / "large.json").write_bytes(b"12345678910")
    os.mkfifo(tmp_path / "pipe.json")  # nobody will ever write to it
    (tmp_path / "link.json").symlink_to(tmp_path / "a.json")
    names = ("a.json", "member/a.json", "large.json", "pipe.json", "link.json", "none", "a.json/b")

    contents = read_files(tmp_path, dict.fromkeys(names, 10))

    problems = {name: str(error) for name, error in contents.items() if isinstance(error, OSError)}
    assert {name: data for name, data in contents.items() if name not in problems} == {
        "a.json": b"whole",
        "member/a.json": b"member",
        "link.json": b"whole",
    }
    assert list(problems) == ["large.json", "pipe.json"]
    assert "has 11 bytes; expected 10 at most" in problems["large.json"]
    assert "is not a file" in problems["pipe.json"]


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
    monkeypatch.setattr("adhominem.text.streams.decode", fail)
    monkeypatch.setattr("adhominem.text.streams.decode", fail)
    with pytest.raises(TooLargeError, match=r"a\.txt: it fills the memory"):
        read_text(path)
    ((number, error),) = read_lines(path)
    assert isinstance(error, TooLargeError)
    assert (number, error.path, error.line) == (1, str(path), 1)
