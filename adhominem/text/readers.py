"""Readers: files and folders in all layouts as a stream of documents.

A *source* is one corpus: a file, or a folder in one of the known layouts.
Only the current row is held in memory. The error for a bad row is raised or,
given a list `skipped`, goes there and reading continues.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
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
from adhominem.text.files import (
    OFFICE_SUFFIXES,
    READABLE_SUFFIXES,
    Document,
    OnBytes,
    bare_stem,
    path_of,
    readable_name,
    readable_suffix,
    real_path,
    visible_files,
)
from adhominem.text.pan import (
    Pair,
    PanProblem,
    find_file,
    find_truth,
    is_problem_folder,
    pair_rows,
    pairs_in,
    problem_rows,
    problem_texts,
    with_unique_ids,
)
from adhominem.text.streams import (
    JsonRows,
    json_rows,
    lines_in,
    made_of_rows,
    read_json_lines,
    read_text,
    stop_or_skip,
)

Item = TypeVar("Item")


class Layout(StrEnum):
    """The layout of a source."""

    FILE = "one text file"
    AUTHOR_FOLDERS = "author/document.txt"
    AUTHOR_TITLE = "author_title.txt"
    JSON_LINES = "documents.jsonl"
    PAIRS = "PAN 2020 pairs.jsonl"
    PROBLEMS = "PAN 2013-15 problem folders"


@dataclass(frozen=True)
class Source:
    """One corpus: its name, its path, and its layout."""

    name: str
    path: Path
    layout: Layout

    def files(self) -> list[Path]:
        """The files that reading opens, in order."""
        match self.layout:
            case Layout.AUTHOR_FOLDERS:
                files = visible_files(self.path, READABLE_SUFFIXES, deep=True)
                return [file for file in files if file.parent != self.path]
            case Layout.AUTHOR_TITLE:
                return visible_files(self.path, READABLE_SUFFIXES)
            case Layout.PROBLEMS:
                return problem_texts(self.path, "*/*known*")
            case _:
                return [self.path]

    def size(self) -> int:
        """The bytes on disk, possibly compressed, that a progress bar counts."""
        files = filter(os.path.isfile, self.files())  # a missing file is an error when it is read
        return sum(map(os.path.getsize, files))

    def _rows(
        self, on_bytes: OnBytes | None, *, labelled: bool = True
    ) -> Iterator[tuple[Path, int | None, Document | InputError]]:
        """Each (file, line, document), with the error in place of an unreadable document."""
        match self.layout:
            case Layout.JSON_LINES:
                lines = _json_documents(read_json_lines(self.path, on_bytes), self.path)
                return ((self.path, line, row) for line, row in lines)
            case Layout.PAIRS:
                rows = _pair_documents(pair_rows(self.path, on_bytes=on_bytes, labelled=labelled))
            case Layout.PROBLEMS:
                rows = _problem_documents(self.path, on_bytes, labelled=labelled)
            case _:
                if self.layout is Layout.AUTHOR_FOLDERS:
                    strays = visible_files(self.path, READABLE_SUFFIXES)
                    _warn_of_strays(self.path, strays, "the author folders")
                return ((file, None, _file_document(file, self, on_bytes)) for file in self.files())
        return ((self.path, None, row) for row in rows)

    def documents(
        self,
        *,
        author_required: bool = True,
        labelled: bool = True,
        skipped: list[InputError] | None = None,
        on_bytes: OnBytes | None = None,
    ) -> Iterator[Document]:
        """The documents; errors are raised, or go to `skipped` if given.

        Without `labelled`, the truth is ignored: cases missing from it are read, too.
        """
        rows = (
            self._no_author(row, file, line)
            if author_required and isinstance(row, Document) and not row.author.strip()
            else row
            for file, line, row in self._rows(on_bytes, labelled=labelled)
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


def find_sources(path: str | Path) -> list[Source]:
    """The corpora at a path: one, or one for each .jsonl file of a folder."""
    path = path_of(path)
    if os.path.isfile(path):  # Path's methods raise if a name is too long, or a folder locked
        return [_file_source(path)]
    if not os.path.isdir(path):
        raise NotFoundError("there is no such file or folder; look at the name and the place", path)
    name = readable_name(real_path(path).name)
    pairs = find_file(path, "pairs.jsonl")
    if pairs is not None and "text" not in _first_readable(
        read_json_lines(pairs)
    ):  # documents may have this name, too
        return [Source(name, pairs, Layout.PAIRS)]
    if is_problem_folder(path):
        return [Source(name, path, Layout.PROBLEMS)]
    if tables := [_file_source(file) for file in visible_files(path, (".jsonl",))]:
        texts = (".txt", *OFFICE_SUFFIXES)  # there may be a README.md
        _warn_of_strays(path, visible_files(path, texts, deep=True), "the .jsonl files")
        truths = {find_truth(table.path) for table in tables if table.layout is Layout.PAIRS}
        return [table for table in tables if table.path not in truths]
    for layout in (Layout.AUTHOR_FOLDERS, Layout.AUTHOR_TITLE):
        if (source := Source(name, path, layout)).files():
            return [source]
    suffixes = ", ".join((*READABLE_SUFFIXES, ".jsonl"))
    raise NotFoundError(f"nothing to read in this folder; expected files {suffixes}", path)


def _warn_of_strays(folder: Path, strays: list[Path], beside: str) -> None:
    """Warn about texts that do not fit the layout."""
    if strays:
        warnings.warn(
            f"{folder}: {len(strays)} text(s) beside {beside} are not read, "
            f"the first is {strays[0].name}; move them to their place if they belong here",
            StrayFilesWarning,
            stacklevel=3,
        )


def check_names(sources: Sequence[Source]) -> None:
    """Raise an error for corpora with equal names, which identify them."""
    names = [source.name for source in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(f"several corpora are named '{twice[0]}'; rename all but one of them")


def read_documents(
    path: str | Path,
    *,
    author_required: bool = True,
    labelled: bool = True,
    skipped: list[InputError] | None = None,
) -> Iterator[Document]:
    """All documents at a path in any layout; see `Source.documents`."""
    for source in find_sources(path):
        yield from source.documents(
            author_required=author_required, labelled=labelled, skipped=skipped
        )


def documents_in(
    data: bytes, path: Path, *, skipped: list[InputError] | None = None
) -> Iterator[Document]:
    """The documents in the bytes of a .jsonl file, with or without author; pairs are split."""

    def rows() -> JsonRows:
        return json_rows(lines_in(io.BufferedReader(io.BytesIO(data)), path), path)

    documents: Iterable[Document | InputError]
    if "pair" in _first_readable(rows()):
        documents = _pair_documents(pairs_in(rows(), path))
    else:
        documents = (document for _, document in _json_documents(rows(), path))
    return stop_or_skip(documents, skipped)


def read_pairs(
    path: str | Path, *, truth: str | Path | None = None, skipped: list[InputError] | None = None
) -> Iterator[Pair]:
    """The pairs of PAN 2020/21 in a folder, or in a file with its truth beside it."""
    rows = pair_rows(path_of(path), None if truth is None else path_of(truth))
    return stop_or_skip(with_unique_ids(rows), skipped)


def read_problems(
    path: str | Path, *, skipped: list[InputError] | None = None
) -> Iterator[PanProblem]:
    """The problems of PAN 2013-15 in a folder."""
    return stop_or_skip(with_unique_ids(problem_rows(path_of(path))), skipped)


def _file_source(path: Path) -> Source:
    name = readable_name(bare_stem(path))
    if readable_suffix(path) != ".jsonl":
        return Source(name, path, Layout.FILE)
    has_pairs = "pair" in _first_readable(read_json_lines(path))
    return Source(name, path, Layout.PAIRS if has_pairs else Layout.JSON_LINES)


def _first_readable(rows: JsonRows) -> dict[str, Any]:
    """The first readable row; empty if there is none."""
    return next((row for _, row in rows if isinstance(row, dict)), {})


def _file_document(file: Path, source: Source, on_bytes: OnBytes | None) -> Document | InputError:
    title = readable_name(bare_stem(file))
    author, work, id = "", title, title
    if source.layout is Layout.AUTHOR_FOLDERS:
        author, *below = map(readable_name, file.relative_to(source.path).parts)
        work = "/".join((*below[:-1], title))  # two books may both have a chapter-1.txt
        id = f"{author}/{work}"
    elif source.layout is Layout.AUTHOR_TITLE:
        for separator in ("_-_", "_"):
            if separator in title:
                author, _, work = title.partition(separator)
                break
    try:
        text = read_text(file, on_bytes)
        return Document(text=text, author=author, work=work, id=id)
    except InputError as error:
        return error.at(file)


def _json_documents(rows: JsonRows, path: Path) -> Iterator[tuple[int, Document | InputError]]:
    def document(row: dict[str, Any], number: int) -> Document:
        if "text" not in row:
            fields = ", ".join(row) or "none"
            raise MissingFieldError(f"the field 'text' is missing; fields: {fields}")
        names = ("author", "topic", "work", "id")
        known = {name: row[name] for name in names if row.get(name) is not None}
        known.setdefault("id", f"{readable_name(bare_stem(path))}:{number}")
        return Document(text=row["text"], **known)

    return made_of_rows(rows, path, document)


def _pair_documents(pairs: Iterable[Pair | InputError]) -> Iterator[Document | InputError]:
    """The distinct documents of pairs."""
    known: set[bytes] = set()
    for pair in pairs:
        if isinstance(pair, InputError):
            yield pair
            continue
        for document in (pair.first, pair.second):
            key = blake2b(f"{document.author}\0{document.text}".encode(), digest_size=16).digest()
            if key not in known:
                known.add(key)
                yield document


def _problem_documents(
    path: Path, on_bytes: OnBytes | None, *, labelled: bool = True
) -> Iterator[Document | InputError]:
    folder = readable_name(real_path(path).name)
    for problem in problem_rows(path, on_bytes, labelled=labelled):
        if isinstance(problem, InputError):
            yield problem
            continue
        for document in (*problem.known, problem.questioned):
            # Problems of different years number their authors alike: keep them apart by folder.
            author = f"{folder}/{document.author}" if document.author else ""
            yield replace(document, author=author)
