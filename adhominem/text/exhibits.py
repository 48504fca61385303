"""The texts of a case: files of one author, each with the hash of its bytes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from adhominem.errors import EmptyTextError, NotFoundError
from adhominem.text.document import Document
from adhominem.text.files import decode
from adhominem.text.readers import READABLE_SUFFIXES, read_any_text, visible_files

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
        return cls(document, sha256(document.text.encode("utf-8")).hexdigest())


def read_exhibits(paths: Sequence[str | Path], topic: str = "") -> list[Exhibit]:
    """All texts of one side: files, folders of files, or `-` for standard input."""
    found = []
    for path in paths:
        if str(path) == STANDARD_INPUT:
            data = sys.stdin.buffer.read()
            text = decode(data, Path("standard input"))
            found.append(_exhibit(text, data, "standard input", topic))
        elif Path(path).is_dir():
            files = visible_files(Path(path), "**/*", READABLE_SUFFIXES)
            if not files:
                expected = ", ".join(READABLE_SUFFIXES)
                raise NotFoundError(f"no text in this folder; expected files {expected}", path)
            found += [_read(file, topic) for file in files]
        else:
            found.append(_read(Path(path), topic))
    return found


def _read(path: Path, topic: str) -> Exhibit:
    text = read_any_text(path)
    return _exhibit(text, path.read_bytes(), str(path), topic)


def _exhibit(text: str, data: bytes, name: str, topic: str) -> Exhibit:
    try:
        document = Document(text=text, id=name, topic=topic)
    except EmptyTextError as error:
        raise error.at(name) from None
    return Exhibit(document, sha256(data).hexdigest())
