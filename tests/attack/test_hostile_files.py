"""Whatever lies in a file, reading it ends in a text or in an error that names the file.

Bombs are read in processes of their own, whose largest memory is measured.
"""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import random
import string
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from click.testing import CliRunner

from adhominem.cli import main
from adhominem.errors import InputError
from adhominem.text.exhibits import read_exhibits
from adhominem.text.pan import pair_rows
from adhominem.text.readers import documents_in, read_documents

if TYPE_CHECKING:
    from attack.conftest import Attack

MEGABYTE = 1 << 20
WORD = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
TEXT = "“My dear Sir,” she wrote — “the papers are enclosed.”\n" * 20


def zipped(parts: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return data.getvalue()


def docx(body: bytes) -> bytes:
    relation = b'<Relationship Type="x/officeDocument" Target="word/document.xml"/>'
    return zipped(
        {
            "_rels/.rels": b"<Relationships>" + relation + b"</Relationships>",
            "word/document.xml": b'<w:document xmlns:w="%b">%b</w:document>' % (WORD, body),
        }
    )


def odt(body: bytes) -> bytes:
    head = f'<o:c xmlns:o="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0">'.encode()
    return zipped({"content.xml": head + body + b"</o:c>"})


def pdf(stream: bytes, pages: int = 1) -> bytes:
    """A PDF whose pages all show the same."""
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Courier >> >> >> >>"
    )
    kids = b"3 0 R " * pages
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, pages),
        page,
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
    ]
    data = b"%PDF-1.4\n"
    for number, part in enumerate(parts, start=1):
        data += b"%d 0 obj\n%b\nendobj\n" % (number, part)
    return data + b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"


def pack(data: bytes, suffix: str) -> bytes:
    packers: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".xz": lambda data: lzma.compress(data, preset=0),
        ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
    }
    return packers[suffix](data) if suffix in packers else data


ROWS = [
    {"author": "a", "text": TEXT, "topic": "letters", "id": "1"},
    {"id": "p", "pair": [TEXT, TEXT[::-1]], "fandoms": ["x", "y"]},
]
TABLE = "".join(json.dumps(row) + "\n" for row in ROWS * 3).encode()
PARAGRAPH = f"<w:p><w:r><w:t>{TEXT}</w:t></w:r></w:p>".encode()
SOUND = {
    ".txt": TEXT.encode(),
    ".md": TEXT.encode("utf-16"),
    ".txt.gz": pack(TEXT.encode(), ".gz"),
    ".txt.xz": pack(TEXT.encode("utf-32"), ".xz"),
    ".txt.zst": pack(TEXT.encode("cp1252"), ".zst"),
    ".docx": docx(PARAGRAPH),
    ".odt": odt(f"<text:p>{TEXT}<text:s text:c='3'/></text:p>".encode()),
    ".pdf": pdf(b"BT /F1 12 Tf 72 720 Td (Some words.) Tj ET"),
    ".jsonl": TABLE,
    ".jsonl.gz": pack(TABLE, ".gz"),
    ".jsonl.zst": pack(TABLE.decode().encode("utf-16"), ".zst"),
}


def damaged(rng: random.Random, suffix: str) -> bytes:
    """Random bytes, or a sound file that is cut, flipped, doubled, or has noise in it."""
    sound = SOUND[suffix]
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(2000))
    data = bytearray(sound)
    for _ in range(rng.choice((1, 1, 2, 10))):
        at = rng.randrange(len(data) or 1)
        match rng.randrange(5):
            case 0:
                del data[at:]
            case 1 if data:
                data[at] ^= 1 << rng.randrange(8)
            case 2:
                data[at : at + rng.randrange(20)] = rng.randbytes(rng.randrange(20))
            case 3:
                data[at:at] = data[rng.randrange(len(data) or 1) :][: rng.randrange(400)]
            case _:
                data = data + sound[at:]
    return bytes(data)


def random_json(rng: random.Random, depth: int = 0) -> object:
    """Any JSON, with the names that readers look for."""
    names = (
        "text",
        "author",
        "topic",
        "work",
        "id",
        "pair",
        "fandoms",
        "same",
        "authors",
        "\ud800",
    )
    match rng.randrange(9 if depth < 4 else 6):
        case 0:
            return rng.choice((None, True, False, 0, -1, 1e308, float("nan"), 10**400))
        case 1:
            return rng.choice(("", " ", "\0", "\ud800", "\x1b[31m", "\u202e", "a\u0301" * 40))
        case 2 | 3 | 4 | 5:
            return "".join(rng.choices(string.printable + "äß☃\u2028\u0000", k=rng.randrange(60)))
        case 6:
            return [random_json(rng, depth + 1) for _ in range(rng.randrange(4))]
        case _:
            return {
                name: random_json(rng, depth + 1) for name in rng.sample(names, rng.randrange(7))
            }


def read_all(path: Path) -> None:
    """By all ways that a file of this name may be read."""
    if ".jsonl" in path.suffixes:
        skipped: list[InputError] = []
        list(read_documents(path, author_required=False, skipped=skipped))
        list(pair_rows(path))
        if path.suffix == ".jsonl":
            list(documents_in(path.read_bytes(), path, skipped=skipped))
        assert all(error.path for error in skipped)
    else:
        read_exhibits([path])


def ends_well(path: Path) -> None:
    with warnings.catch_warnings(action="ignore"):
        try:
            read_all(path)
        except InputError as error:
            assert error.path == str(path), error  # noqa: PT017


@pytest.mark.parametrize("suffix", SOUND)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, attack: Attack, suffix: str) -> None:
    rng = random.Random(suffix)
    times = attack.rounds(40, 300)
    path = tmp_path / f"a{suffix}"
    path.write_bytes(SOUND[suffix])
    with warnings.catch_warnings(action="ignore"):
        read_all(path)  # as it is, it can be read
    for _ in range(times):
        path.write_bytes(damaged(rng, suffix))
        ends_well(path)
    attack.tried("fuzzed inputs", times)


def test_lines_of_any_json_are_read_or_refused(tmp_path: Path, attack: Attack) -> None:
    rng = random.Random(1)
    times = attack.rounds(100, 1500)
    path = tmp_path / "a.jsonl"
    for _ in range(times):
        lines = [json.dumps(random_json(rng)) for _ in range(rng.randrange(1, 8))]
        if rng.random() < 0.3:
            lines.append(rng.choice(("[" * 100_000, "{", '{"a":' * 5000, "9" * 5000, '"\\ud800"')))
        path.write_text("\n".join(lines), "utf-8", errors="surrogatepass")
        ends_well(path)
    attack.tried("fuzzed inputs", times)


NAME_LETTERS = (
    *"ab \t\n\r\x01\x1b\x7f\x9b\u202e\u2028'\"\\$`;&|<>*?[]{}%~#-=:,.éß☃😀",
    *map(os.fsdecode, (b"\xe9", b"\xff", b"\xf0\x28")),
)


def test_a_file_of_any_name_is_read_and_shown_without_commands(
    tmp_path: Path, attack: Attack
) -> None:
    rng = random.Random(2)
    times = attack.rounds(12, 60)
    for number in range(times):
        name = "".join(rng.choices(NAME_LETTERS, k=rng.randrange(1, 12)))
        folder = tmp_path / f"{number}"
        for author in ("a", "b"):
            file = folder / (author + name) / f"{number}{name}.txt"
            file.parent.mkdir(parents=True)
            file.write_text(TEXT, "utf-8")
        (folder / f"a{name}" / "empty.txt").touch()
        output = tmp_path / f"{number}-packed"
        done = CliRunner().invoke(main, ["prepare", str(folder), "--jobs", "1", "-o", str(output)])
        assert done.exit_code == 3, done.output  # the empty one was skipped
        shown = done.stdout + done.stderr
        assert not any(letter < " " and letter != "\n" for letter in shown)
        assert not set(shown) & set("\x7f\x9b\u202e\u2028")
    attack.tried("fuzzed inputs", times)


def test_the_command_ends_without_a_traceback_on_damaged_files(
    tmp_path: Path, attack: Attack
) -> None:
    rng = random.Random(3)
    times = attack.rounds(12, 120)
    for number in range(times):
        suffix = rng.choice(list(SOUND))
        folder = tmp_path / f"{number}"
        folder.mkdir()
        (folder / f"a_b{suffix}").write_bytes(damaged(rng, suffix))
        (folder / "c_d.txt").write_text(TEXT, "utf-8")
        output = str(tmp_path / f"{number}-packed")
        with warnings.catch_warnings(action="default"):
            done = CliRunner().invoke(main, ["prepare", str(folder), "--jobs", "1", "-o", output])
        assert done.exit_code in (0, 1, 3), done.output
        assert done.exception is None or isinstance(done.exception, SystemExit)
    attack.tried("fuzzed inputs", times)


# --- bombs


def repeated(unit: bytes, size: int) -> bytes:
    return unit * (size // len(unit))


def swollen(packed: Callable[[bytes], bytes], before: bytes, unit: bytes, size: int) -> bytes:
    """A file of few bytes that unpacks to `size` megabytes."""
    return packed(before + repeated(unit, size * MEGABYTE))


def numbered(pattern: bytes) -> bytes:
    return b"".join(pattern % number for number in range(1_000_000))


def zst(data: bytes) -> bytes:
    return pack(data, ".zst")


LETTERS = b"<w:p><w:r><w:t>"
# In the order of how much is to be learnt: the short form tries the first of them.
BOMBS: dict[str, Callable[[], bytes]] = {
    "zeros.txt.zst": lambda: swollen(zst, b"", b"\0", 400),
    "depth.docx": lambda: swollen(docx, b"", b"<w:p>", 20),
    "spaces.odt": lambda: swollen(odt, b"<text:p>", b"<text:s text:c='1000'/>", 20),
    "line.jsonl.gz": lambda: swollen(lambda data: pack(data, ".gz"), b"{", b"a", 70),
    "objects.jsonl.zst": lambda: swollen(zst, b'{"text": [', b"{},", 5),
    "pages.pdf": lambda: pdf(b"BT /F1 12 Tf " + b"(word) Tj " * 100_000 + b"ET", pages=2000),
    "tag.docx": lambda: swollen(docx, b"<w:p a='", b"a", 20),
    # The long form goes on with these.
    "zeros.txt.gz": lambda: swollen(lambda data: pack(data, ".gz"), b"", b"\0", 400),
    "zeros.txt.xz": lambda: swollen(lambda data: pack(data, ".xz"), b"", b"\0", 400),
    "line.jsonl.xz": lambda: swollen(lambda data: pack(data, ".xz"), b"{", b"a", 400),
    "line.jsonl.zst": lambda: swollen(zst, b"{", b"a", 800),
    "wide.jsonl.zst": lambda: swollen(zst, b"\xff\xfe", b"a\0", 400),
    "objects-large.jsonl.zst": lambda: swollen(zst, b'{"text": [', b"{},", 60),
    "deep.jsonl.zst": lambda: swollen(zst, b'{"text": ', b"[", 60),
    "paragraphs.docx": lambda: swollen(docx, b"", b"<w:p/>", 250),
    "runs.docx": lambda: swollen(docx, b"", b"<w:p><w:r><w:t>a</w:t></w:r></w:p>", 250),
    "depth-large.docx": lambda: swollen(docx, b"", b"<w:p>", 250),
    "letters.docx": lambda: swollen(docx, LETTERS, b"word ", 250),
    "attributes.docx": lambda: docx(b"<w:p " + numbered(b"a%d='' ") + b"/>"),
    "names.docx": lambda: docx(numbered(b"<a%d/>")),
    "namespaces.docx": lambda: swollen(docx, b"<a xmlns='%b'>" % (b"u" * 100_000), b"<b/>", 40),
    "entities.docx": lambda: docx(b"</w:document><!DOCTYPE a [<!ENTITY b 'c'>]>"),
    "comment.docx": lambda: swollen(docx, b"<!--", b"a", 250),
    "spaces-large.odt": lambda: swollen(odt, b"<text:p>", b"<text:s text:c='1000'/>", 250),
    "spans.odt": lambda: swollen(odt, b"<text:p>", b"<text:span>", 250),
    "letters.odt": lambda: swollen(odt, b"<text:p>", b"a \n", 250),
    "lines.odt": lambda: swollen(odt, b"<text:p>", b"\n", 60),
    "nested.pdf": lambda: pdf(b"[" * 2_000_000 + b"TJ"),
    "words.pdf": lambda: pdf(b"BT /F1 12 Tf " + b"(word) Tj " * 3_000_000 + b"ET"),
}
IN_SHORT = 7


READ_ONE = """
import resource, sys, warnings
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_hostile_files import ends_well
from adhominem.text import bounded
bounded._SECONDS, bounded._SECONDS_PER_BYTE = int(sys.argv[3]), 0
ends_well(Path(sys.argv[1]))
bounded._reader.stop()  # whose memory is known once it has ended
# What getrusage says of this process itself may be of the one that it was forked from.
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
own = int(status["VmHWM"].split()[0])
print(max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024)
"""
MOST_MEGABYTES = 1500


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_neither_all_memory_nor_all_time(
    tmp_path: Path, attack: Attack, name: str
) -> None:
    if not attack.long and name not in list(BOMBS)[:IN_SHORT]:
        pytest.skip("a bomb for `make attack`")
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", READ_ONE, str(path), here, "60" if attack.long else "2"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < MOST_MEGABYTES
    attack.tried("bombs")
