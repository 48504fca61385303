"""Files and folders that are written: whole, by one process at a time, and without litter."""

from __future__ import annotations

import gzip
import lzma
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adhominem.errors import LockedError, OptionError
from adhominem.text import writing
from adhominem.text.streams import read_text
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
    def no_locks(file: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", no_locks)
    perhaps_alive = tmp_path / ".a.txt.1.partial"
    ours = tmp_path / f".a.txt.{os.getpid()}.partial"
    for file in (perhaps_alive, ours):
        file.write_text("half", "utf-8")
    with (
        pytest.warns(UserWarning, match="has no locks"),
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
    refused = pytest.raises(OptionError, match="is not a file, but a folder, a pipe or a device")
    with refused, write_whole(path):
        pytest.fail("the work has begun")
    assert os.path.samestat(path.lstat(), before)
    assert list(tmp_path.iterdir()) == [path]


# Locks: one at a time, told who, let go by the kernel, and without litter.


HOLD = """
import sys
from adhominem.text.writing import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    input()
"""
COUNT = """
import sys, time
from pathlib import Path
from adhominem.errors import LockedError
from adhominem.text.writing import locked
name, counter, times = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
done = 0
while done < times:
    try:
        with locked(name):
            counter.write_text(str(int(counter.read_text()) + 1))
            done += 1
    except LockedError:
        time.sleep(0.0005)
"""


def holding(path: str | Path, **options: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.communicate("\n", timeout=30)


def test_a_second_one_is_told_which_process_where_since_when_and_by_which_command(
    tmp_path: Path,
) -> None:
    with holding(tmp_path / "out") as process:
        with pytest.raises(LockedError) as raised, locked(tmp_path / "out"):
            pass
        end(process)
    told = str(raised.value)
    assert told.startswith(f"{tmp_path / 'out'} is being written by process {process.pid} on ")
    assert f" on {socket.gethostname()} since 20" in told
    assert f"(-c {tmp_path / 'out'})" in told
    with locked(tmp_path / "out"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_holder_was_killed_locks_nobody_out(tmp_path: Path) -> None:
    with holding(tmp_path / "out") as process:
        process.send_signal(signal.SIGKILL)
    left = tmp_path / ".out.lock"
    assert left.read_text("utf-8").startswith(f"process {process.pid} on ")
    with locked(tmp_path / "out"):
        assert left.read_text("utf-8").startswith(f"process {os.getpid()} on ")
    assert list(tmp_path.iterdir()) == []


def test_other_spellings_and_linked_folders_are_the_same_name(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "folder-link").symlink_to(folder / "model")
    (folder / "model").mkdir()
    with holding(folder / "a"), pytest.raises(LockedError), locked(tmp_path / "link" / "a"):
        pass
    with (
        holding("a", cwd=folder),
        pytest.raises(LockedError),
        locked(folder / ".." / "folder" / "a"),
    ):
        pass
    for other in (folder / "model", tmp_path / "folder-link", folder / "model" / "x" / ".."):
        with holding(".", cwd=folder / "model"), pytest.raises(LockedError), locked(other):
            pass


def test_within_itself_it_does_nothing_but_another_thread_is_refused(tmp_path: Path) -> None:
    def try_it() -> None:
        with locked(tmp_path / "out"):
            pass

    with locked(tmp_path / "out"), ThreadPoolExecutor(1) as pool:
        try_it()
        with pytest.raises(LockedError, match=f"process {os.getpid()} on"):
            pool.submit(try_it).result()
        assert (tmp_path / ".out.lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_never_two_at_once_though_each_removes_its_lock(tmp_path: Path) -> None:
    """A lost update would show in the sum."""
    counter = tmp_path / "counter"
    counter.write_text("0", "utf-8")
    command = [sys.executable, "-c", COUNT, str(tmp_path / "out"), str(counter), "150"]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait(timeout=120) for process in processes] == [0] * 4
    assert counter.read_text("utf-8") == "600"
    assert list(tmp_path.iterdir()) == [counter]


def test_nothing_is_written_through_a_link_or_onto_a_file_that_is_no_lock(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("evidence", "utf-8")
    (tmp_path / ".out.lock").symlink_to(letter)
    with pytest.raises(OSError, match=r"out\.lock"), locked(tmp_path / "out"):
        pass
    (tmp_path / ".out.lock").unlink()
    (tmp_path / ".out.lock").hardlink_to(letter)
    with pytest.raises(OptionError, match="is not a lock of AdHominem"), locked(tmp_path / "out"):
        pass
    assert letter.read_text("utf-8") == "evidence"
    for odd in (b"[" * 60_000, b'["process"]', b'"process"', b"\xff"):
        (tmp_path / ".odd.lock").write_bytes(odd)
        with (
            pytest.raises(OptionError, match="is not a lock of AdHominem"),
            locked(tmp_path / "odd"),
        ):
            pass
    (tmp_path / ".new.lock").write_bytes(b"\0" * 100)  # after a crash of the machine
    with locked(tmp_path / "new"):
        pass
    assert not (tmp_path / ".new.lock").exists()


@pytest.mark.parametrize("content", ['["process"]', '"process"', "[" * 60_000, "1", "null"])
def test_whatever_lies_under_the_name_of_a_lock_is_an_error_that_names_it(
    tmp_path: Path, content: str
) -> None:
    lock = tmp_path / ".out.lock"
    lock.write_text(content, "utf-8")
    with pytest.raises(OptionError, match=r"out\.lock is not a lock"), locked(tmp_path / "out"):
        pass
    assert lock.read_text("utf-8") == content


@pytest.mark.skipif(sys.platform == "win32", reason="locks are of another sort there")
def test_whoever_has_only_just_taken_it_gets_a_moment_to_say_so(tmp_path: Path) -> None:
    import fcntl

    lock = tmp_path / ".output.lock"
    with open(lock, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        def sign() -> None:
            time.sleep(0.2)
            file.write("process 4711 on h since 2026 (c)")
            file.flush()

        with ThreadPoolExecutor(1) as pool:
            signing = pool.submit(sign)
            with pytest.raises(LockedError, match="process 4711"), locked(tmp_path / "output"):
                pass
            signing.result()


@pytest.mark.skipif(sys.platform == "win32", reason="locks are of another sort there")
def test_one_that_nobody_signs_is_somebodys_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    monkeypatch.setattr(writing, "_LOOKS", 2)
    with open(tmp_path / ".output.lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LockedError, match="by another process"), locked(tmp_path / "output"):
            pass
