"""Locks: one at a time, told who, let go by the kernel, and without litter."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from adhominem.errors import LockedError, OptionError
from adhominem.text import writing
from adhominem.text.writing import locked

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
    assert json.loads(left.read_text("utf-8"))["process"] == process.pid
    with locked(tmp_path / "out"):
        assert json.loads(left.read_text("utf-8"))["process"] == os.getpid()
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


@pytest.mark.parametrize("look", [1, 2])
def test_a_lock_that_is_removed_while_it_is_looked_at_is_taken_anew(
    look: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, stat = 0, os.stat

    def removed(path: Any, **options: Any) -> os.stat_result:
        nonlocal looks
        if str(path).endswith(".out.lock"):
            looks += 1
            if looks == look:
                raise FileNotFoundError(path)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", removed)
    with locked(tmp_path / "out") as there:
        assert there


def test_nothing_is_written_through_a_link_or_onto_a_file_that_is_no_lock(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("evidence", "utf-8")
    (tmp_path / ".out.lock").symlink_to(letter)
    with pytest.raises(OSError, match=r"out\.lock"), locked(tmp_path / "out"):
        pass
    (tmp_path / ".out.lock").unlink()
    (tmp_path / ".out.lock").hardlink_to(letter)
    with pytest.raises(OptionError, match="is no lock of AdHominem"), locked(tmp_path / "out"):
        pass
    assert letter.read_text("utf-8") == "evidence"
    for odd in (b"[" * 60_000, b'["process"]', b'"process"', b"\xff"):
        (tmp_path / ".odd.lock").write_bytes(odd)
        with pytest.raises(OptionError, match="is no lock of AdHominem"), locked(tmp_path / "odd"):
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
    with pytest.raises(OptionError, match=r"out\.lock is no lock"), locked(tmp_path / "out"):
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
            json.dump({"process": 4711, "host": "h", "since": "s", "command": "c"}, file)
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
