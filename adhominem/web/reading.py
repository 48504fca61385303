"""Uploaded files as texts, in a process: `python -m adhominem.web.reading SECONDS`.

A .pdf can be made so that reading it takes all time and memory there is. This process has bounds on
both, and when it falls, it falls alone. It gets one line of JSON, the `names` and `sizes` of files,
then their bytes; it prints the `texts`, and `notes` on what was odd, as JSON. Nothing of a file
touches the disk.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from adhominem.errors import AdHominemError, InputError, MissingExtraError, TooLargeError
from adhominem.text.bounded import bound
from adhominem.text.exhibits import Exhibit, exhibit_of
from adhominem.text.files import FILLS_MEMORY, Document
from adhominem.text.readers import documents_in

TABLE_SUFFIX = ".jsonl"


def read_files(names: list[str], sizes: list[int], data: BinaryIO) -> dict[str, Any]:
    """The texts of files; of a table all that can be read, of a single text only a whole one."""
    texts: list[dict[str, str]] = []
    notes: list[str] = []
    for number, (name, size) in enumerate(zip(names, sizes, strict=True), start=1):
        # Of the name only the ending counts: the rest is anybody's.
        path = Path(f"{number}{suffix_of(name)}")
        try:
            with warnings.catch_warnings(record=True) as odd:
                warnings.simplefilter("always")
                texts += [_row(exhibit) for exhibit in _read(data.read(size), path, name, notes)]
        except MissingExtraError as error:
            return _failure(error, str(error))
        except TooLargeError as error:
            return _too_large(f"{name}: {error.problem}")
        except InputError as error:
            return _failure(error, f"{name}: {error.problem}")
        except MemoryError:
            return _too_large(f"{name}: {FILLS_MEMORY}")
        notes += [_named(str(each.message), path, name) for each in odd]
    return {"texts": texts, "notes": notes}


def suffix_of(name: str) -> str:
    """The ending of a file's name, in small letters."""
    return Path(name.replace("\\", "/")).suffix.lower()


def _read(data: bytes, path: Path, name: str, notes: list[str]) -> Iterator[Exhibit]:
    if path.suffix != TABLE_SUFFIX:
        exhibit = exhibit_of(data, path)
        yield replace(exhibit, document=replace(exhibit.document, id=name))
        return
    skipped: list[InputError] = []
    for document in documents_in(data, path, skipped=skipped):
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
    return message.replace(str(path), name, 1)


def _failure(error: AdHominemError, message: str) -> dict[str, Any]:
    return {"error": {"type": type(error).__name__, "message": message}}


def _too_large(message: str) -> dict[str, Any]:
    return {"error": {"type": "TooLarge", "message": message}}


def main() -> None:
    """Read what is sent, and print what is in it."""
    if hasattr(os, "nice"):
        os.nice(10)  # the server goes first
    bound(int(sys.argv[1]))
    given = json.loads(sys.stdin.buffer.readline())
    found = read_files(given["names"], given["sizes"], sys.stdin.buffer)
    sys.stdout.buffer.write(json.dumps(found).encode())
    sys.stdout.buffer.flush()
    os._exit(0)  # nothing is left to do, and much memory to give back one by one


if __name__ == "__main__":
    main()
