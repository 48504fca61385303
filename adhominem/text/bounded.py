"""Reading PDFs in a process with bounds on time and memory: `python -m adhominem.text.bounded`.

A PDF can be made so that reading it takes all there is of both. The process is kept for the next
file; when it falls, it falls alone, and another is started. It gets a line of JSON, the `size` of a
file, the `most` bytes of text in it, the `seconds` it has, and then the file; it answers with a
line of JSON, the `size` of the text or an `error` and its `problem`, and then the text.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread, Timer
from typing import IO

from adhominem.errors import DamagedFileError, EmptyTextError, InputError, TooLargeError
from adhominem.text.files import most_bytes, readable, reading_at_most
from adhominem.text.office import office_text

MOST_MEMORY = 1 << 30
_MEMORY_PER_BYTE = 4  # of a file: the libraries copy it
_SECONDS = 60
_SECONDS_PER_BYTE = 1 / 50_000  # a thick book takes a minute, and has some megabytes
_MOST_SECONDS = 600
_ERRORS = {error.__name__: error for error in (DamagedFileError, EmptyTextError, TooLargeError)}

_is_bounded = False  # whether this process is one with bounds


def bound(seconds: int, memory: int = MOST_MEMORY) -> None:
    """Limit the time and memory of this process from now on, where the system can."""
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
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # nothing of a text gets to the disk


def pdf_text(data: bytes, path: Path) -> str:
    """The text of a PDF, read in another process, or here where there are bounds already."""
    if _is_bounded or find_spec("pypdf") is None:  # without it, reading says what is missing
        return office_text(data, path)
    with readable(path):
        return _reader.read(data, path)


class _Reader:
    """The process that reads PDFs, one file at a time; it is started when first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def read(self, data: bytes, path: Path) -> str:
        seconds = int(min(_SECONDS + len(data) * _SECONDS_PER_BYTE, _MOST_SECONDS))
        asked = {"size": len(data), "most": most_bytes(), "seconds": seconds}
        with self._lock:
            process = self._started()
            timer = Timer(seconds + 5, process.kill)
            timer.daemon = True
            timer.start()
            try:
                answer, text = _ask(process, asked, data)
            except BaseException as error:  # also an interrupt: whatever it says now is of no use
                self.stop()
                if not isinstance(error, ValueError | OSError):
                    raise
                raise TooLargeError(
                    f"it could not be read within {seconds} s and the memory that is meant for "
                    "it; save its text alone as a new file",
                    path,
                ) from None
            finally:
                timer.cancel()
        if "error" in answer:
            raise _ERRORS.get(answer["error"], InputError)(answer["problem"], path)
        return text.decode("utf-8", "surrogatepass")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.stop()
            self._owner = os.getpid()  # a fork must not share the pipes
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "adhominem.text.bounded"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # what goes wrong there may quote a text
            )
        return self._process

    def stop(self) -> None:
        """End the process that reads PDFs, if there is one."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was not written is of no use any more
                    pipe.close()  # type: ignore[union-attr]


def _ask(
    process: subprocess.Popen[bytes], asked: dict[str, int], data: bytes
) -> tuple[dict[str, str], bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    _send(process.stdin, asked, data)
    answer = json.loads(process.stdout.readline())
    size = int(answer.get("size", 0))
    text = process.stdout.read(size)
    if len(text) < size:
        raise ValueError("the process has ended")
    return answer, text


def _send(file: IO[bytes], head: dict[str, int] | dict[str, str], data: bytes) -> None:
    file.write(json.dumps(head).encode() + b"\n")
    file.write(data)
    file.flush()


_reader = _Reader()
atexit.register(_reader.stop)


def main() -> None:
    """Read the PDFs that come on standard input, one after the other, until it ends."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks hears it, and ends us
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := given.readline():
        asked = json.loads(line)
        bound(asked["seconds"], MOST_MEMORY + _MEMORY_PER_BYTE * asked["size"])
        data = given.read(asked["size"])
        try:
            with reading_at_most(asked["most"]):
                text = office_text(data, Path("a.pdf")).encode("utf-8", "surrogatepass")
        except InputError as error:
            _send(answers, {"error": type(error).__name__, "problem": error.problem}, b"")
        else:
            _send(answers, {"size": len(text)}, text)
        del data, line  # before the next one comes
        bound(0)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, which may have been killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main()
