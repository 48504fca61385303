"""Uploaded files as texts, in a process: `python -m adhominem.web.reading SECONDS`.

A .pdf can be made so that reading it takes all time and memory there is. This process has bounds on
both, and when it falls, it falls alone. It gets one line of JSON, the `names` and `sizes` of files
and how many bytes it may print, then the files; it prints the `texts`, and `notes` on what was odd,
as JSON, or nothing if that is too much. Nothing of a file touches the disk.
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

from adhominem.errors import InputError, MissingExtraError, TooLargeError
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
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for exhibit in _read(data.read(size), path, name, notes):
                    document = exhibit.document
                    row = {"text": document.text, "name": document.id, "topic": document.topic}
                    texts.append({**row, "sha256": exhibit.sha256})
        except MissingExtraError as error:
            return _failure(type(error).__name__, str(error))
        except TooLargeError as error:
            return _failure("TooLarge", f"{name}: {error.problem}")
        except InputError as error:
            return _failure(type(error).__name__, f"{name}: {error.problem}")
        except MemoryError:
            return _failure("TooLarge", f"{name}: {FILLS_MEMORY}")
        notes += [_named(str(warning.message), path, name) for warning in caught]
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


def _named(message: str, path: Path, name: str) -> str:
    return message.replace(str(path), name, 1)


def _failure(name: str, message: str) -> dict[str, Any]:
    return {"error": {"type": name, "message": message}}


def main() -> None:
    """Read what is sent, and print what is in it."""
    if hasattr(os, "nice"):
        os.nice(10)  # the server goes first
    bound(int(sys.argv[1]))
    header = json.loads(sys.stdin.buffer.readline())
    answer = json.dumps(read_files(header["names"], header["sizes"], sys.stdin.buffer)).encode()
    if len(answer) <= header["most_bytes"]:
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    os._exit(0)  # nothing is left to do, and much memory to give back one by one


if __name__ == "__main__":
    main()
