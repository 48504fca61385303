"""Uploaded files as texts, in a process: `python -m adhominem.web.reading SECONDS FOLDER`.

A .pdf or .docx can be made so that reading it takes all time and memory there is. This process
has bounds on both, and when it falls, it falls alone. It gets one line of JSON, the `names` and
`sizes` of files, then their bytes; it prints the `texts`, and `notes` on what was odd, as JSON. A
file lies in FOLDER meanwhile, under a number in place of its name. Whoever asks removes the folder:
this process may be ended at any time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from adhominem.errors import AdHominemError, InputError, MissingExtraError
from adhominem.text.document import Document
from adhominem.text.exhibits import Exhibit, read_exhibits
from adhominem.text.readers import read_documents

TABLE_SUFFIX = ".jsonl"
_MOST_MEMORY = 1 << 30


def read_files(names: list[str], sizes: list[int], data: BinaryIO, folder: Path) -> dict[str, Any]:
    """The texts of files; of a table all that can be read, of a single text only a whole one."""
    texts: list[dict[str, str]] = []
    notes: list[str] = []
    for number, (name, size) in enumerate(zip(names, sizes, strict=True), start=1):
        path = folder / f"{number}{suffix_of(name)}"
        path.write_bytes(data.read(size))
        try:
            with warnings.catch_warnings(record=True) as odd:
                warnings.simplefilter("always")
                texts += [_row(exhibit) for exhibit in _read(path, name, notes)]
        except MissingExtraError as error:
            return _failure(error, str(error))
        except InputError as error:
            return _failure(error, f"{name}: {error.problem}")
        except MemoryError:
            return {"error": {"type": "TooLarge", "message": _TOO_LARGE.format(name=name)}}
        finally:
            path.unlink()
        notes += [_named(str(each.message), path, name) for each in odd]
    return {"texts": texts, "notes": notes}


_TOO_LARGE = "{name}: unpacked, it fills the memory; save its text alone as a new file"


def suffix_of(name: str) -> str:
    """The ending of a file's name, in small letters."""
    return Path(name.replace("\\", "/")).suffix.lower()


def _read(path: Path, name: str, notes: list[str]) -> Iterator[Exhibit]:
    if path.suffix != TABLE_SUFFIX:
        (exhibit,) = read_exhibits([path])
        yield Exhibit(replace(exhibit.document, id=name), exhibit.sha256)
        return
    skipped: list[InputError] = []
    for document in read_documents(path, author_required=False, skipped=skipped):
        yield Exhibit.of(Document(text=document.text, id=document.id, topic=document.topic), name)
    notes += [_named(str(error), path, name) for error in skipped]


def _row(exhibit: Exhibit) -> dict[str, str]:
    document = exhibit.document
    return {
        "text": document.text,
        "name": document.id,
        "topic": document.topic,
        "sha256": exhibit.sha256,
    }


def _named(message: str, path: Path, name: str) -> str:
    return message.replace(str(path), name)


def _failure(error: AdHominemError, message: str) -> dict[str, Any]:
    return {"error": {"type": type(error).__name__, "message": message}}


def _bound(seconds: int) -> None:
    """No more time and memory than this, where the system can see to it; the server goes first."""
    if hasattr(os, "nice"):
        os.nice(10)
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Read what is sent, and print what is in it."""
    _bound(int(sys.argv[1]))
    given = json.loads(sys.stdin.buffer.readline())
    found = read_files(given["names"], given["sizes"], sys.stdin.buffer, Path(sys.argv[2]))
    sys.stdout.buffer.write(json.dumps(found).encode())
    sys.stdout.buffer.flush()
    os._exit(0)  # nothing is left to do, and much memory to give back one by one


if __name__ == "__main__":
    main()
