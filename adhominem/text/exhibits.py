"""The texts of a case: files of one author, each with the hash of its bytes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from adhominem.errors import EmptyTextError, InputError, NotFoundError, StrayFilesWarning
from adhominem.text.document import Document
from adhominem.text.files import decode
from adhominem.text.inputs import note_input
from adhominem.text.readers import (
    READABLE_SUFFIXES,
    Layout,
    find_sources,
    read_any_text,
    visible_files,
)

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Exhibit:
    """A text that is compared, and how to recognise it: the SHA-256 of its file, or of the text."""

    document: Document
    sha256: str

    @classmethod
    def of(cls, each: str | Document | Exhibit, name: str) -> Exhibit:
        """A text, a Document, or an exhibit as it is; `name` is for one that has none."""
        if isinstance(each, Exhibit):
            return each
        document = each if isinstance(each, Document) else Document(text=each, id=name)
        document = document if document.id else replace(document, id=name)
        return cls(document, sha256(document.text.encode("utf-8")).hexdigest())


def read_exhibits(paths: Sequence[str | Path], topic: str = "") -> list[Exhibit]:
    """All texts of one side: files, folders of files, or `-` for standard input."""
    found = []
    for path in paths:
        if str(path) == STANDARD_INPUT:
            note_input(0)  # it may be a file, by `< letter.txt`
            data = sys.stdin.buffer.read()
            text = decode(data, Path("standard input"))
            found.append(_exhibit(text, data, "standard input", topic))
        elif os.path.isdir(path):
            found += [_read(file, topic) for file in _texts_in(Path(path))]
        else:
            found.append(_read(Path(path), topic))
    return found


def _texts_in(folder: Path) -> list[Path]:
    texts = visible_files(folder, "**/*", READABLE_SUFFIXES)
    expected = ", ".join(READABLE_SUFFIXES)
    if not texts:
        raise NotFoundError(f"no text in this folder; expected files {expected}", folder)
    inside = sorted({file.relative_to(folder).parts[0] for file in texts if file.parent != folder})
    if len(inside) > 1:
        warnings.warn(
            f"{folder}: texts of {len(inside)} folders ({inside[0]}, {inside[1]}"
            f"{', ...' if len(inside) > 2 else ''}) are all taken to be by one author; give one "
            "author's folder, or use predict, evaluate or map for many",
            StrayFilesWarning,
            stacklevel=3,
        )
    suffixes = {file.suffix.lower() for file in folder.rglob("*")}
    if others := sorted({*visible_files(folder, "**/*", (*suffixes,))} - {*texts}):
        warnings.warn(
            f"{folder}: {len(others)} file(s) are not read, the first is {others[0].name}; "
            f"expected files {expected}",
            StrayFilesWarning,
            stacklevel=3,
        )
    return texts


def _read(path: Path, topic: str) -> Exhibit:
    note_input(path)
    name = os.fsencode(path).decode("utf-8", "replace")
    if os.path.exists(path) and path.is_fifo():  # a shell's <(command): it can be read but once
        data = path.read_bytes()
        return _exhibit(decode(data, path), data, name, topic)
    (source,) = find_sources(path)  # refuses what only looks like plain text: .rtf, .html
    if source.layout is not Layout.FILE:
        raise InputError("a table of many texts; expected a file for each", path)
    return _exhibit(read_any_text(path), path.read_bytes(), name, topic)


def _exhibit(text: str, data: bytes, name: str, topic: str) -> Exhibit:
    try:
        document = Document(text=text, id=name, topic=topic)
    except EmptyTextError as error:
        raise error.at(name) from None
    return Exhibit(document, sha256(data).hexdigest())
