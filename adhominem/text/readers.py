"""Readers: whatever a user has, as a stream of documents.

A *source* is one corpus: a file, or a folder in one of the known layouts.
Nothing is held in memory but the row at hand. A bad row raises; given a list
`skipped`, it goes there instead and reading goes on.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from adhominem.errors import (
    InputError,
    MissingAuthorError,
    MissingFieldError,
    NotFoundError,
    OptionError,
    StrayFilesWarning,
)
from adhominem.text.document import Document
from adhominem.text.files import bare_stem, bare_suffix, read_text
from adhominem.text.inputs import note_input
from adhominem.text.office import OFFICE_SUFFIXES, read_office
from adhominem.text.pan import (
    Pair,
    Problem,
    each_id_once,
    find_file,
    find_truth,
    is_problem_folder,
    pair_rows,
    problem_rows,
    problem_texts,
    read_json_lines,
)

TEXT_SUFFIXES = (".txt", ".md")
READABLE_SUFFIXES = (*TEXT_SUFFIXES, *OFFICE_SUFFIXES)
_NO_PLAIN_TEXT = (".csv", ".doc", ".epub", ".html", ".htm", ".json", ".rtf", ".tsv", ".xml")
OnBytes = Callable[[int], None]
Item = TypeVar("Item")


class Layout(StrEnum):
    """How a source keeps its documents."""

    FILE = "one text file"
    AUTHOR_FOLDERS = "author/document.txt"
    AUTHOR_TITLE = "author_title.txt"
    JSON_LINES = "documents.jsonl"
    PAIRS = "PAN 2020 pairs.jsonl"
    PROBLEMS = "PAN 2013-15 problem folders"


@dataclass(frozen=True)
class Source:
    """One corpus: its name, where it lies, and how it is laid out."""

    name: str
    path: Path
    layout: Layout

    def files(self) -> list[Path]:
        """The files that reading opens, in order."""
        match self.layout:
            case Layout.AUTHOR_FOLDERS:
                files = visible_files(self.path, "**/*", READABLE_SUFFIXES)
                return [file for file in files if file.parent != self.path]
            case Layout.AUTHOR_TITLE:
                return visible_files(self.path, "*", READABLE_SUFFIXES)
            case Layout.PROBLEMS:
                return problem_texts(self.path, "*/*known*")
            case _:
                return [self.path]

    def size(self) -> int:
        """Bytes on disk, packed as they are: what a progress bar counts."""
        return sum(file.stat().st_size for file in self.files())

    def _rows(
        self, on_bytes: OnBytes | None
    ) -> Iterator[tuple[Path, int | None, Document | InputError]]:
        """(file, line, document), and in its place the error for each that cannot be read."""
        match self.layout:
            case Layout.JSON_LINES:
                lines = _json_documents(self.path, on_bytes)
                return ((self.path, line, row) for line, row in lines)
            case Layout.PAIRS:
                rows = _pair_documents(self.path, on_bytes)
            case Layout.PROBLEMS:
                rows = _problem_documents(self.path, on_bytes)
            case _:
                if self.layout is Layout.AUTHOR_FOLDERS:
                    strays = visible_files(self.path, "*", READABLE_SUFFIXES)
                    _warn_of_strays(self.path, strays, "the author folders")
                return ((file, None, _file_document(file, self, on_bytes)) for file in self.files())
        return ((self.path, None, row) for row in rows)

    def documents(
        self,
        *,
        author_required: bool = True,
        skipped: list[InputError] | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Iterator[Document]:
        """The documents; what cannot be read raises, or goes to `skipped` if given."""
        rows = (
            self._no_author(row, file, line)
            if author_required and isinstance(row, Document) and not row.author.strip()
            else row
            for file, line, row in self._rows(on_bytes)
        )
        return stop_or_skip(rows, skipped)

    def _no_author(self, document: Document, file: Path, line: int | None) -> InputError:
        expected = {
            Layout.FILE: "its folder, with author_title.txt files or one subfolder an author",
            Layout.AUTHOR_TITLE: "a name like author_title.txt, or one subfolder an author",
            Layout.JSON_LINES: "a field 'author'",
            Layout.PAIRS: "a truth.jsonl with 'authors' beside it",
            Layout.PROBLEMS: "a truth.txt beside the problems",
        }.get(self.layout, "one")
        problem = f"the document '{document.id}' has no author; expected {expected}"
        return MissingAuthorError(problem, file, line)


def stop_or_skip(
    rows: Iterable[Item | InputError], skipped: list[InputError] | None
) -> Iterator[Item]:
    """Pass on what could be read; raise the first error, or collect them all."""
    for row in rows:
        if not isinstance(row, InputError):
            yield row
        elif skipped is None:
            raise row
        else:
            skipped.append(row)


def find_sources(path: str | Path) -> list[Source]:
    """The corpora at a path: one, or one for each .jsonl file of a folder."""
    path = Path(path)
    if os.path.isfile(path):  # Path's own raise where a name is too long, or a folder is locked
        return [_file_source(path)]
    if not os.path.isdir(path):
        raise NotFoundError("there is no such file or folder", path)
    name = path.resolve().name
    pairs = find_file(path, "pairs.jsonl")
    if pairs is not None and "text" not in _first_row(pairs):  # documents may have that name, too
        return [Source(name, pairs, Layout.PAIRS)]
    if is_problem_folder(path):
        return [Source(name, path, Layout.PROBLEMS)]
    if tables := [_file_source(file) for file in visible_files(path, "*", (".jsonl",))]:
        texts = (".txt", *OFFICE_SUFFIXES)  # a README.md may well stand there
        _warn_of_strays(path, visible_files(path, "**/*", texts), "the .jsonl files")
        truths = {find_truth(table.path) for table in tables if table.layout is Layout.PAIRS}
        return [table for table in tables if table.path not in truths]
    for layout in (Layout.AUTHOR_FOLDERS, Layout.AUTHOR_TITLE):
        if (source := Source(name, path, layout)).files():
            return [source]
    suffixes = ", ".join((*READABLE_SUFFIXES, ".jsonl"))
    raise NotFoundError(f"nothing to read in this folder; expected files {suffixes}", path)


def _warn_of_strays(folder: Path, strays: list[Path], beside: str) -> None:
    """Texts that the layout has no place for are not passed over in silence."""
    if strays:
        warnings.warn(
            f"{folder}: {len(strays)} text(s) beside {beside} are not read, "
            f"the first is {strays[0].name}",
            StrayFilesWarning,
            stacklevel=3,
        )


def check_names(sources: Sequence[Source]) -> None:
    """Corpora are told apart by their names."""
    names = [source.name for source in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(f"several corpora are named '{twice[0]}'; rename all but one of them")


def read_documents(
    path: str | Path, *, author_required: bool = True, skipped: list[InputError] | None = None
) -> Iterator[Document]:
    """Every document at a path, whatever its layout."""
    for source in find_sources(path):
        yield from source.documents(author_required=author_required, skipped=skipped)


def read_pairs(
    path: str | Path, *, truth: str | Path | None = None, skipped: list[InputError] | None = None
) -> Iterator[Pair]:
    """The pairs of PAN 2020/21 in a folder, or in a file with its truth beside it."""
    rows = pair_rows(Path(path), Path(truth) if truth else None)
    return stop_or_skip(each_id_once(rows), skipped)


def read_problems(
    path: str | Path, *, skipped: list[InputError] | None = None
) -> Iterator[Problem]:
    """The problems of PAN 2013-15 in a folder."""
    return stop_or_skip(each_id_once(problem_rows(Path(path))), skipped)


def read_any_text(path: Path, on_bytes: OnBytes | None = None) -> str:
    """The text of one file: plain, or an office document."""
    if path.suffix.lower() not in OFFICE_SUFFIXES:
        return read_text(path, on_bytes)
    note_input(path)
    text = read_office(path)
    if on_bytes:
        on_bytes(path.stat().st_size)
    return text


def visible_files(folder: Path, pattern: str, suffixes: tuple[str, ...]) -> list[Path]:
    """The files with these suffixes, without hidden ones and Word's locks (~$letter.docx).

    Office files are packed already: one that is packed again is passed over.
    """
    return sorted(
        file
        for file in folder.glob(pattern)
        if bare_suffix(file) in suffixes
        and (bare_suffix(file) == file.suffix.lower() or bare_suffix(file) not in OFFICE_SUFFIXES)
        and file.is_file()
        and not any(part.startswith((".", "~$")) for part in file.relative_to(folder).parts)
    )


def _file_source(path: Path) -> Source:
    name, suffix = bare_stem(path), bare_suffix(path)
    if suffix in _NO_PLAIN_TEXT:
        expected = ", ".join((*READABLE_SUFFIXES, ".jsonl"))
        raise InputError(f"{suffix} files are not read; save it as one of: {expected}", path)
    if suffix != ".jsonl":
        return Source(name, path, Layout.FILE)
    return Source(name, path, Layout.PAIRS if "pair" in _first_row(path) else Layout.JSON_LINES)


def _first_row(path: Path) -> dict[str, Any]:
    """The first row of a .jsonl file that can be read; empty if none can."""
    return next((row for _, row in read_json_lines(path) if isinstance(row, dict)), {})


def _file_document(file: Path, source: Source, on_bytes: OnBytes | None) -> Document | InputError:
    title = bare_stem(file)
    author, work, id = "", title, title
    if source.layout is Layout.AUTHOR_FOLDERS:
        author, *below = file.relative_to(source.path).parts
        work = "/".join((*below[:-1], title))  # two books may both have a chapter-1.txt
        id = f"{author}/{work}"
    elif source.layout is Layout.AUTHOR_TITLE:
        for separator in ("_-_", "_"):
            if separator in title:
                author, _, work = title.partition(separator)
                break
    try:
        text = read_any_text(file, on_bytes)
        return Document(text=text, author=author, work=work, id=id)
    except InputError as error:
        return error.at(file)


def _json_documents(
    path: Path, on_bytes: OnBytes | None
) -> Iterator[tuple[int, Document | InputError]]:
    for number, row in read_json_lines(path, on_bytes):
        yield number, row if isinstance(row, InputError) else _json_document(row, path, number)


def _json_document(row: dict[str, Any], path: Path, number: int) -> Document | InputError:
    if "text" not in row:
        found = ", ".join(row) or "none"
        return MissingFieldError(f"the field 'text' is missing; fields: {found}", path, number)
    known = {
        name: row[name] for name in ("author", "topic", "work", "id") if row.get(name) is not None
    }
    try:
        return Document(text=row["text"], **{"id": f"{bare_stem(path)}:{number}", **known})
    except InputError as error:
        return error.at(path, number)


def _pair_documents(path: Path, on_bytes: OnBytes | None) -> Iterator[Document | InputError]:
    """Take the pairs apart, each document once however many pairs it stands in."""
    seen: set[bytes] = set()
    for pair in pair_rows(path, on_bytes=on_bytes):
        if isinstance(pair, InputError):
            yield pair
        else:
            yield from _new_documents(pair, seen)


def _new_documents(pair: Pair, seen: set[bytes]) -> Iterator[Document]:
    for document in (pair.first, pair.second):
        key = blake2b(f"{document.author}\0{document.text}".encode(), digest_size=16).digest()
        if key not in seen:
            seen.add(key)
            yield document


def _problem_documents(path: Path, on_bytes: OnBytes | None) -> Iterator[Document | InputError]:
    for problem in problem_rows(path, on_bytes):
        if isinstance(problem, InputError):
            yield problem
            continue
        for document in (*problem.known, problem.questioned):
            # Problems of different years number their authors alike: keep them apart by folder.
            author = f"{path.resolve().name}/{document.author}" if document.author else ""
            yield replace(document, author=author)
