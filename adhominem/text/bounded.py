"""Files read in a process with bounds on time and memory.

A file can be crafted so that reading it exhausts both. If such a process fails, it fails alone. It
gets a line of JSON, the `names` and `sizes` of files and the bounds, then the files; it answers
with a line of JSON, the `texts` and `notes` on oddities, or an `error`. Then it waits for the next
files. Nothing of a file touches the disk.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread, Timer
from typing import Any, BinaryIO

from adhominem.errors import (
    DamagedFileError,
    EmptyTextError,
    InputError,
    MissingExtraError,
    TextEncodingError,
    TooLargeError,
)
from adhominem.text.exhibits import Exhibit, exhibit_of
from adhominem.text.files import FILLS_MEMORY, most_bytes, readable, reading_at_most
from adhominem.text.office import office_text
from adhominem.text.readers import documents_in

TABLE_SUFFIX = ".jsonl"
_MOST_MEMORY = 1 << 30
_MEMORY_PER_BYTE = 4  # of a file: the libraries copy it
_SECONDS = 60
_SECONDS_PER_BYTE = 1 / 50_000  # a thick book takes a minute, and has some megabytes
_MOST_SECONDS = 600
_ERRORS = {
    error.__name__: error
    for error in (DamagedFileError, EmptyTextError, TextEncodingError, TooLargeError)
}

_is_bounded = False  # whether this process has bounds


class BoundedReader:
    """A process that reads files, one call at a time; it is kept for the next call."""

    def __init__(self, niceness: int = 0) -> None:
        self._niceness = niceness
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def read(
        self, files: Sequence[tuple[str, bytes]], seconds: int, most_answer: int = sys.maxsize
    ) -> dict[str, Any]:
        """The `texts` of files (name, bytes) and `notes` on them, or an `error`.

        Raises TooLargeError if that takes too long, too much memory, or more than `most_answer`
        bytes.
        """
        request = {
            "names": [name for name, _ in files],
            "sizes": [len(data) for _, data in files],
            "seconds": seconds,
            "most_bytes": most_bytes(),
            "most_answer": most_answer,
        }
        with self._lock:
            process = self.start()
            timer = Timer(seconds + 5, process.kill)
            timer.daemon = True
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(request).encode() + b"\n")
                for _, data in files:
                    process.stdin.write(data)
                process.stdin.flush()
                answer: dict[str, Any] = json.loads(process.stdout.readline())
            except BaseException as error:  # also an interrupt: its answer would be useless now
                self.stop()
                if not isinstance(error, ValueError | OSError):
                    raise
                raise TooLargeError(
                    f"it could not be read within {seconds} s and the memory that is meant for "
                    "it; save its text alone as a new file"
                ) from None
            finally:
                timer.cancel()
        return answer

    def start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.stop()
            self._owner = os.getpid()  # a fork must not share the pipes
            # Safe path: what lies in the current folder is not taken for a module.
            paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
            code = "from adhominem.text.bounded import main; main()"
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, str(self._niceness)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # what goes wrong there may quote a text
                env={
                    **os.environ,
                    "ADHOMINEM_TOKEN": "",
                    "OPENBLAS_NUM_THREADS": "1",
                    "PYTHONPATH": os.pathsep.join(path for path in paths if os.path.isabs(path)),
                },
            )
        return self._process

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # unwritten data is useless now
                    pipe.close()  # type: ignore[union-attr]


_reader = BoundedReader()  # for PDFs
atexit.register(_reader.stop)


def pdf_text(data: bytes, path: Path) -> str:
    """The text of a PDF, read in another process, or in this one if it has bounds already."""
    if _is_bounded or find_spec("pypdf") is None:  # without it, reading says what is missing
        return office_text(data, path)
    seconds = int(min(_SECONDS + len(data) * _SECONDS_PER_BYTE, _MOST_SECONDS))
    try:
        with readable(path):
            answer = _reader.read([("a.pdf", data)], seconds)
    except TooLargeError as error:
        raise error.at(path) from None
    if "error" in answer:
        raise _ERRORS.get(answer["error"], InputError)(answer["problem"], path)
    return str(answer["texts"][0]["text"])


# The other side: the process with bounds.


def main() -> None:
    """Read the files on standard input until it ends."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it, and ends this process
    if hasattr(os, "nice"):
        os.nice(int(sys.argv[1]))
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := given.readline():
        request = json.loads(line)
        bound(request["seconds"], _MOST_MEMORY + _MEMORY_PER_BYTE * sum(request["sizes"]))
        with reading_at_most(request["most_bytes"]):
            texts = _read_files(request["names"], request["sizes"], given)
        answer = json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if len(answer) > request["most_answer"]:
            os._exit(1)
        answers.write(answer + b"\n")
        answers.flush()
        del line, request, texts, answer  # before the next ones come
        bound(0)


def bound(seconds: int, memory: int = _MOST_MEMORY) -> None:
    """Limit the time and memory of this process from now on, if the system can."""
    global _is_bounded
    _is_bounded = True
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
    with suppress(ImportError):
        import resource

        _, hardest = resource.getrlimit(resource.RLIMIT_AS)
        most = memory if hardest == resource.RLIM_INFINITY else min(memory, hardest)
        resource.setrlimit(resource.RLIMIT_AS, (most, hardest))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no text gets to the disk


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _read_files(names: list[str], sizes: list[int], files: BinaryIO) -> dict[str, Any]:
    """The texts of files: all readable rows of a table, but a single text only if complete."""
    texts: list[dict[str, str]] = []
    notes: list[str] = []
    left = sum(sizes)
    for number, (name, size) in enumerate(zip(names, sizes, strict=True), start=1):
        # Only the ending of the name counts: anybody may have chosen the rest.
        path = Path(f"{number}{suffix_of(name)}")
        data = files.read(size)
        left -= size
        skipped: list[InputError] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for exhibit in _exhibits(data, path, name, skipped):
                    document = exhibit.document
                    row = {"text": document.text, "name": document.id, "topic": document.topic}
                    texts.append({**row, "sha256": exhibit.sha256})
        except (InputError, MissingExtraError, MemoryError) as error:
            files.read(left)  # the next request follows them
            kind, problem = type(error).__name__, getattr(error, "problem", str(error))
            if isinstance(error, MemoryError):
                kind, problem = "TooLargeError", FILLS_MEMORY
            return {"error": kind, "problem": problem, "name": name}
        for note in (*skipped, *(warning.message for warning in caught)):
            notes.append(str(note).replace(str(path), name, 1))
    return {"texts": texts, "notes": notes}


def suffix_of(name: str) -> str:
    """The ending of a file's name, in lower case."""
    return Path(name.replace("\\", "/")).suffix.lower()


def _exhibits(data: bytes, path: Path, name: str, skipped: list[InputError]) -> Iterator[Exhibit]:
    if path.suffix != TABLE_SUFFIX:
        exhibit = exhibit_of(data, path)
        yield replace(exhibit, document=replace(exhibit.document, id=name))
        return
    for document in documents_in(data, path, skipped=skipped):
        yield Exhibit.of(document, name)
