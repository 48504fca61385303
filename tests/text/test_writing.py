"""Files and folders that are written: whole, by one process at a time, and without litter."""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adhominem.errors import LockedError, OptionError
from adhominem.text.files import read_text
from adhominem.text.writing import locked, replaced_file, write_folder, write_whole

SUFFIXES = ("", ".gz", ".xz", ".zst")

# Any text that can be saved; the mark at the beginning of a file is not part of its text.
TEXTS = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=300
).filter(lambda text: not text.startswith("\ufeff"))

# The folder is shared by the examples of one test; each writes its files anew.
many = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(many, max_examples=30)  # each allocates what packing a large file takes
@given(text=TEXTS)
def test_any_text_is_read_back_as_it_was_written(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    with write_whole(path) as file:
        file.write(text)
    assert read_text(path) == text


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
    ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_says_how_a_file_is_packed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix.upper()}"
    with write_whole(path) as file:
        for number in range(20_000):
            file.write(f"Zeile {number} – ü\r\n")
    expected = "".join(f"Zeile {number} – ü\r\n" for number in range(20_000))
    assert UNPACK[suffix](path.read_bytes()).decode() == expected


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_text_gives_the_same_bytes(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        monkeypatch.setattr(gzip.time, "time", lambda name=name: float(ord(name)))
        with write_whole(tmp_path / f"{name}.txt{suffix}") as file:
            file.write("the same\n" * 100)
    monkeypatch.undo()
    first, second = sorted(tmp_path.iterdir())
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, suffix: str, failure: type[BaseException]
) -> None:
    path = tmp_path / f"a.txt{suffix}"
    with write_whole(path) as file:
        file.write("old")
    old = path.read_bytes()
    with pytest.raises(failure), write_whole(path) as file:  # noqa: PT012
        file.write("new" * 100_000)
        raise failure
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_text_that_cannot_be_encoded_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError), write_whole(tmp_path / "a.txt") as file:
        file.write("half a character: \ud800")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_reader_sees_the_old_text_until_the_new_one_is_complete(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / "new folder" / f"a.txt{suffix}"
    with write_whole(path) as file:
        file.write("old")
        assert not path.exists()
    with write_whole(path) as file:
        file.write("new")
        file.flush()
        assert read_text(path) == "old"
    assert read_text(path) == "new"
    assert list(path.parent.iterdir()) == [path]


# -- what killed runs have left

KILLED = """
import os, signal, sys
from pathlib import Path
from adhominem.text.writing import replaced_file, write_folder, write_whole

kind, path = sys.argv[1], Path(sys.argv[2])
writer = {"text": write_whole, "file": replaced_file, "folder": write_folder}[kind]
with writer(path) as file:
    if kind == "text":
        file.write("half")
        file.flush()
    else:
        (file if kind == "file" else file / "a.txt").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def write_as(kind: str, path: Path, text: str) -> None:
    if kind == "folder":
        with write_folder(path) as folder:
            (folder / "a.txt").write_text(text, "utf-8")
    elif kind == "file":
        with replaced_file(path) as partial:
            partial.write_text(text, "utf-8")
    else:
        with write_whole(path) as file:
            file.write(text)


@pytest.mark.parametrize("kind", ["text", "file", "folder"])
def test_what_killed_runs_have_left_is_removed_by_the_next_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "my [output].txt"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, kind, str(path)], check=False)
    (tmp_path / f".{path.name}.12.partial").write_text("of a run long ago", "utf-8")
    assert len(list(tmp_path.iterdir())) >= 3
    others = {".other.txt.12.partial", ".my [output].txt.partial", ".my o.txt.12.partial"}
    for name in others:
        (tmp_path / name).write_text("not ours", "utf-8")
    write_as(kind, path, "whole")
    assert {file.name for file in tmp_path.iterdir()} == {path.name, *others}
    assert read_text(path / "a.txt" if kind == "folder" else path) == "whole"


@pytest.mark.parametrize("kind", ["text", "file", "folder"])
def test_what_a_living_run_is_writing_is_left_alone(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "output.txt"
    code = KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "print(flush=True); input()")
    command = [sys.executable, "-c", code, kind, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        (partial,) = tmp_path.glob("*.partial")
        with pytest.raises(LockedError, match=f"is being written by process {process.pid} on "):
            write_as(kind, path, "other")
        assert partial.exists()
        process.stdin.write(b"\n")
    assert process.returncode == 0
    assert read_text(path / "a.txt" if kind == "folder" else path) == "half"
    assert list(tmp_path.iterdir()) == [path]


def test_without_locks_nothing_is_taken_for_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adhominem.text import writing

    def no_locks(file: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(writing, "_try_lock", no_locks)
    perhaps_alive = tmp_path / ".a.txt.1.partial"
    ours = tmp_path / f".a.txt.{os.getpid()}.partial"
    for each in (perhaps_alive, ours):
        each.write_text("half", "utf-8")
    with (
        pytest.warns(UserWarning, match="knows no locks"),
        write_whole(tmp_path / "a.txt") as file,
        locked(tmp_path),
    ):
        file.write("whole")
    assert {file.name for file in tmp_path.iterdir()} == {"a.txt", perhaps_alive.name}


@pytest.mark.parametrize("kind", ["pipe", "link to a device", "folder"])
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.txt"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(os.devnull)
    before = path.lstat()
    refused = pytest.raises(OptionError, match="is no file, but a folder, a pipe or a device")
    with refused, write_whole(path):
        pytest.fail("the work has begun")
    assert os.path.samestat(path.lstat(), before)
    assert list(tmp_path.iterdir()) == [path]
