"""The texts of a case: files of one author, each with the hash of its bytes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from math import exp, fsum, log
from pathlib import Path

from adhominem.errors import (
    EmptyTextError,
    InputError,
    NotFoundError,
    OptionError,
    StrayFilesWarning,
)
from adhominem.text.files import (
    NOT_FOUND,
    READABLE_SUFFIXES,
    Document,
    all_files,
    note_input,
    path_of,
    read_bytes,
    readable_name,
    readable_suffix,
    take,
    visible_files,
)
from adhominem.text.sentences import count_words
from adhominem.text.streams import text_in


@dataclass(frozen=True)
class Exhibit:
    """A text that is compared, with the SHA-256 of its file or of the text."""

    document: Document
    sha256: str

    @classmethod
    def of(cls, text: str | Document | Exhibit, name: str) -> Exhibit:
        """An exhibit from a text, a Document or an exhibit; `name` is used if it has none."""
        if isinstance(text, Exhibit):
            return text
        document = text if isinstance(text, Document) else Document(text=text, id=name)
        document = document if document.id else replace(document, id=name)
        return cls(document, document.sha256)


Text = str | Document | Exhibit
SideTexts = Text | Sequence[Text]  # one text, or several by one author


def with_text(exhibit: Exhibit, document: Document) -> Exhibit:
    """A copy of an exhibit with another text to compare; the hash stays that of the file."""
    return replace(exhibit, document=document)


def exhibits_of(texts: SideTexts, name: str) -> list[Exhibit]:
    """The exhibits of a side, named by themselves or after the side, numbered if several."""
    several = [texts] if isinstance(texts, str | Document | Exhibit) else list(texts)
    if not several:
        raise OptionError(f"there is no {name} text; expected at least one")
    names = [name] if len(several) == 1 else [f"{name}-{at + 1}" for at in range(len(several))]
    return [Exhibit.of(text, name) for text, name in zip(several, names, strict=True)]


def words_a_text(side: Sequence[Exhibit]) -> int:
    """The geometric mean of the texts' numbers of words, as in validations."""
    words = [max(1, count_words(exhibit.document.text)) for exhibit in side]
    return round(exp(fsum(map(log, words)) / len(words)))


def read_exhibits(paths: Sequence[str | Path], topic: str = "") -> list[Exhibit]:
    """The exhibits of one side, from files, folders of files, or `-` for standard input."""
    exhibits = []
    for path in map(path_of, paths):
        if str(path) == "-":
            exhibits.append(exhibit_of(_standard_input(), Path("standard input"), topic))
            continue
        if not os.path.exists(path):  # Path.exists raises if a name is too long
            raise NotFoundError(NOT_FOUND, path)
        for file in _texts_in(path) if os.path.isdir(path) else [path]:
            if readable_suffix(file) == ".jsonl":
                raise InputError("a table of many texts; expected a file for each", file)
            exhibits.append(exhibit_of(read_bytes(file), file, topic))
    return exhibits


def exhibit_of(data: bytes, path: Path, topic: str = "") -> Exhibit:
    """The exhibit of a file with these bytes: its text and hash are both of what was read."""
    try:
        document = Document(text=text_in(data, path), id=readable_name(str(path)), topic=topic)
    except EmptyTextError as error:
        raise error.at(path) from None
    return Exhibit(document, sha256(data).hexdigest())


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise NotFoundError("it is closed; expected a text there", "standard input")
    note_input(0)  # it may be a file, as in `< letter.txt`
    return take(sys.stdin.buffer, "standard input")


def _texts_in(folder: Path) -> list[Path]:
    texts = visible_files(folder, READABLE_SUFFIXES, deep=True)
    expected = f"expected files {', '.join(READABLE_SUFFIXES)}"
    if not texts:
        raise NotFoundError(f"no text in this folder; {expected}", folder)
    _check_one_author(folder, texts)
    if others := sorted({*all_files(folder, deep=True)} - {*texts}):
        warnings.warn(
            f"{folder}: {len(others)} file(s) are not read, the first is {others[0].name}; "
            f"{expected}",
            StrayFilesWarning,
            stacklevel=3,
        )
    return texts


def _check_one_author(folder: Path, texts: Sequence[Path]) -> None:
    """Refuse a folder that only contains folders: these are several authors'."""
    inside = sorted({file.relative_to(folder).parts[0] for file in texts if file.parent != folder})
    if len(inside) < 2:
        return
    names = f"{inside[0]}, {inside[1]}{', ...' if len(inside) > 2 else ''}"
    if all(file.parent != folder for file in texts):
        raise InputError(
            f"texts of {len(inside)} folders ({names}), as if of as many authors; expected those "
            "of one: give one author's folder, or use predict, evaluate or map for many; folders "
            "of one author are given one by one, by --also-first or --also-second",
            folder,
        )
    warnings.warn(
        f"{folder}: texts of {len(inside)} folders ({names}) and those beside them are all taken "
        "to be by one author; give one author's folder, or use predict, evaluate or map for many",
        StrayFilesWarning,
        stacklevel=4,
    )
