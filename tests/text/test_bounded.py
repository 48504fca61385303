"""PDFs are read in a process of their own, which is kept; what it cannot read ends it alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from test_office import pdf, protected_pdf

from adhominem.errors import DamagedFileError, EmptyTextError, InputError, TooLargeError
from adhominem.text import bounded
from adhominem.text.bounded import pdf_text
from adhominem.text.files import reading_at_most

PATH = Path("a.pdf")


def number_of_process() -> int:
    assert bounded._reader._process is not None
    return bounded._reader._process.pid


def endless_pdf() -> bytes:
    """Few bytes, and a page whose text takes very long."""
    words = b"\n".join([b"x"] * 400)
    return pdf(*[words] * 1500)


def test_texts_and_errors_come_from_one_process_after_the_other(tmp_path: Path) -> None:
    assert pdf_text(pdf(b"Some words."), PATH) == "Some words."
    process = number_of_process()
    assert process != os.getpid()
    cases: list[tuple[bytes, type[InputError], str]] = [
        (b"no PDF", DamagedFileError, "a.pdf: the file is damaged or not a .pdf file at all"),
        (pdf(), EmptyTextError, "a.pdf: the PDF holds no text"),
        (protected_pdf(tmp_path / "p.pdf").read_bytes(), InputError, "protected by a password"),
    ]
    for data, kind, message in cases:
        with pytest.raises(kind, match=message) as caught:
            pdf_text(data, PATH)
        assert type(caught.value) is kind
    with reading_at_most(10), pytest.raises(TooLargeError, match="more than 10 bytes"):
        pdf_text(pdf(b"Some words."), PATH)
    assert pdf_text(pdf(b"Other words."), PATH) == "Other words."
    assert number_of_process() == process


READ_AND_TELL = """
import sys, time
from pathlib import Path
from threading import Thread
from adhominem.text import bounded
Thread(target=bounded.pdf_text, args=(sys.stdin.buffer.read(), Path("a.pdf")), daemon=True).start()
while bounded._reader._process is None:
    pass
print(bounded._reader._process.pid, flush=True)
time.sleep(60)
"""


def test_a_process_ends_with_the_one_that_asked_it(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(endless_pdf())
    with open(tmp_path / "a.pdf", "rb") as file:
        asking = subprocess.Popen(
            [sys.executable, "-c", READ_AND_TELL], stdin=file, stdout=subprocess.PIPE, text=True
        )
    assert asking.stdout is not None
    reader = int(asking.stdout.readline())
    time.sleep(1)  # it reads
    asking.kill()
    asking.communicate()
    for _ in range(100):
        if not is_running(reader):
            return
        time.sleep(0.1)
    os.kill(reader, signal.SIGKILL)
    pytest.fail("it goes on reading for nobody")


def is_running(process: int) -> bool:
    """And not merely waiting to be told of."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("utf-8")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_a_process_that_was_killed_is_started_again() -> None:
    assert pdf_text(pdf(b"Some words."), PATH) == "Some words."
    process = bounded._reader._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert pdf_text(pdf(b"Some words."), PATH) == "Some words."
    assert number_of_process() != process.pid


def test_what_takes_too_long_is_given_up_and_the_next_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounded, "_SECONDS", 1)
    monkeypatch.setattr(bounded, "_SECONDS_PER_BYTE", 0)
    with pytest.raises(TooLargeError, match=r"a\.pdf: it could not be read within 1 s"):
        pdf_text(endless_pdf(), PATH)
    monkeypatch.undo()
    assert pdf_text(pdf(b"Some words."), PATH) == "Some words."


def test_threads_take_turns() -> None:
    texts: dict[int, str] = {}

    def read(number: int) -> None:
        for _ in range(10):
            texts[number] = pdf_text(pdf(b"Text %d." % number), PATH)

    threads = [Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert texts == {number: f"Text {number}." for number in range(4)}


def test_files_in_the_folder_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "struct", "zlib", "adhominem", "pypdf"):
        (tmp_path / f"{name}.py").write_text("open('was-run', 'w'); raise SystemExit(1)")
    bounded._reader.stop()
    monkeypatch.chdir(tmp_path)
    assert pdf_text(pdf(b"Some words."), PATH) == "Some words."
    assert not (tmp_path / "was-run").exists()
