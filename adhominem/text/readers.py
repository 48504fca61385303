"""Readers: files and folders in all layouts as a stream of documents.

A *source* is one corpus: a file, or a folder in one of the known layouts.
Only the current row is held in memory. The error for a bad row is raised or,
given a list `skipped`, goes there and reading continues.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Protocol

from adhominem.errors import (
    InputError,
    MissingAuthorError,
    MissingFieldError,
    NotFoundError,
    OptionError,
    StrayFilesWarning,
)
from adhominem.text.files import (
    NOT_FOUND,
    OFFICE_SUFFIXES,
    READABLE_SUFFIXES,
    Document,
    bare_stem,
    counting_bytes,
    digest_of,
    note_input,
    noting_inputs,
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
    read_document,
    with_unique_ids,
)
from adhominem.text.streams import (
    JsonRows,
    first_readable,
    first_row,
    json_rows,
    lines_in,
    made_of_rows,
    read_json_lines,
    stop_or_skip,
)

Check = Callable[[Document], Document]  # raises an InputError, or returns what it was given


Unit = Literal["pieces", "bytes", "share"]


class Watch(Protocol):
    """Shows how far a piece of work is: a progress bar, for example.

    The total is None where it is not known. What the context yields is called with the number of
    pieces or bytes done since the last call; where the unit is a share, with the share done so far.
    """

    def __call__(
        self, what: str, total: int | None = None, unit: Unit = "pieces"
    ) -> AbstractContextManager[Callable[[float], None]]: ...


@contextmanager
def unwatched(
    what: str, total: int | None = None, unit: Unit = "pieces"
) -> Iterator[Callable[[float], None]]:
    """A `Watch` that shows nothing."""
    yield lambda done: None


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

    def documents(
        self,
        *,
        author_required: bool = True,
        labelled: bool = True,
        skipped: list[InputError] | None = None,
    ) -> Iterator[Document]:
        """The documents; errors are raised, or go to `skipped` if given.

        Without `labelled`, the truth is ignored: cases missing from it are read, too.
        """
        check = self._with_author if author_required else lambda document: document
        rows: Iterable[Document | InputError]
        match self.layout:
            case Layout.JSON_LINES:
                rows = _json_documents(read_json_lines(self.path), self.path, check)
            case Layout.PAIRS:
                pairs = pair_rows(self.path, labelled=labelled)
                rows = self._checked(_pair_documents(pairs), check)
            case Layout.PROBLEMS:
                problems = problem_rows(self.path, labelled=labelled)
                rows = self._checked(_problem_documents(problems, self.name), check)
            case _:
                if self.layout is Layout.AUTHOR_FOLDERS:
                    strays = visible_files(self.path, READABLE_SUFFIXES)
                    _warn_of_strays(self.path, strays, "the author folders")
                rows = (self._file_document(file, check) for file in self.files())
        return stop_or_skip(rows, skipped)

    def _with_author(self, document: Document) -> Document:
        """The document, if its author is known."""
        if document.author.strip():
            return document
        expected = {
            Layout.FILE: "its folder, with author_title.txt files or one subfolder an author",
            Layout.AUTHOR_TITLE: "a name like author_title.txt, or one subfolder an author",
            Layout.JSON_LINES: "a field 'author'",
            Layout.PAIRS: "a truth.jsonl with 'authors' beside it",
            Layout.PROBLEMS: "a truth.txt beside the problems",
        }.get(self.layout, "one")
        problem = f"the document '{document.id}' has no author; expected {expected}"
        raise MissingAuthorError(problem)

    def _checked(
        self, rows: Iterable[Document | InputError], check: Check
    ) -> Iterator[Document | InputError]:
        for row in rows:
            try:
                yield row if isinstance(row, InputError) else check(row)
            except InputError as error:
                yield error.at(self.path)

    def _file_document(self, file: Path, check: Check) -> Document | InputError:
        title = readable_name(bare_stem(file))
        author, work, id = "", title, title
        if self.layout is Layout.AUTHOR_FOLDERS:
            author, *below = map(readable_name, file.relative_to(self.path).parts)
            work = "/".join((*below[:-1], title))  # two books may both have a chapter-1.txt
            id = f"{author}/{work}"
        elif self.layout is Layout.AUTHOR_TITLE:
            for separator in ("_-_", "_"):
                if separator in title:
                    author, _, work = title.partition(separator)
                    break
        try:
            return check(read_document(file, author=author, work=work, id=id))
        except InputError as error:
            return error.at(file)


def find_sources(path: str | Path) -> list[Source]:
    """The corpora at a path: one, or one for each .jsonl file of a folder."""
    path = path_of(path)
    if os.path.isfile(path):  # Path's methods raise if a name is too long, or a folder locked
        return [_file_source(path)]
    if not os.path.isdir(path):
        raise NotFoundError(NOT_FOUND, path)
    name = readable_name(real_path(path).name)
    pairs = find_file(path, "pairs.jsonl")
    # Documents may have this name, too.
    if pairs is not None and "text" not in first_row(pairs):
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


Corpora = Sequence[Source | str | Path]


@contextmanager
def reading(corpora: Corpora, what: str, watch: Watch, *, times: int = 1) -> Iterator[list[Source]]:
    """Corpora to be read `times` over, with what is read shown; files are noted as read."""
    with noting_inputs():
        sources, size = open_corpora(corpora)
        with watch(what, times * size, "bytes") as on_bytes, counting_bytes(on_bytes):
            yield sources


def open_corpora(corpora: Corpora) -> tuple[list[Source], int]:
    """The corpora at these paths, and their size in bytes; their files are noted as read."""
    sources: list[Source] = []
    for corpus in corpora:
        sources += [corpus] if isinstance(corpus, Source) else find_sources(corpus)
    for source in sources:
        for file in source.files():
            note_input(file)
    return sources, sum(source.size() for source in sources)


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
    if "pair" in first_readable(rows()):
        documents = _pair_documents(pairs_in(rows(), path))
    else:
        documents = _json_documents(rows(), path, lambda document: document)
    return stop_or_skip(documents, skipped)


def read_pairs(
    path: str | Path, *, truth: str | Path | None = None, skipped: list[InputError] | None = None
) -> Iterator[Pair]:
    """The pairs of PAN 2020/21 in a folder, or in a file with its truth beside it."""
    rows = pair_rows(path_of(path), None if truth is None else path_of(truth))
    return stop_or_skip(with_unique_ids(rows), skipped)


def read_pair(path: str | Path, id: str) -> Pair:
    """The pair with this id, without its truth; its documents are named with their fandoms.

    Reading ends there, and passes over rows that cannot be read.
    """
    ids: list[str] = []
    skipped: list[InputError] = []
    for pair in stop_or_skip(pair_rows(path_of(path), labelled=False), skipped):
        if pair.id == id:
            first, second = (
                replace(text, id=f"{text.id} ({text.topic})" if text.topic else text.id)
                for text in (pair.first, pair.second)
            )
            return replace(pair, first=first, second=second)
        ids.append(pair.id)
    if not ids:
        raise skipped[0]
    problem = f"no pair has the id '{id}', of {len(ids):,} there; expected one such as '{ids[0]}'"
    raise NotFoundError(problem, path)


def read_problems(
    path: str | Path, *, skipped: list[InputError] | None = None
) -> Iterator[PanProblem]:
    """The problems of PAN 2013-15 in a folder."""
    return stop_or_skip(with_unique_ids(problem_rows(path_of(path))), skipped)


def _file_source(path: Path) -> Source:
    name = readable_name(bare_stem(path))
    if readable_suffix(path) != ".jsonl":
        return Source(name, path, Layout.FILE)
    has_pairs = "pair" in first_row(path)
    return Source(name, path, Layout.PAIRS if has_pairs else Layout.JSON_LINES)


def _json_documents(rows: JsonRows, path: Path, check: Check) -> Iterator[Document | InputError]:
    def document(row: dict[str, Any], number: int) -> Document:
        if "text" not in row:
            fields = ", ".join(row) or "none"
            raise MissingFieldError(f"the field 'text' is missing; fields: {fields}")
        names = ("author", "topic", "work", "id")
        known = {name: row[name] for name in names if row.get(name) is not None}
        known.setdefault("id", f"{readable_name(bare_stem(path))}:{number}")
        return check(Document(text=row["text"], **known))

    return made_of_rows(rows, path, document)


def _pair_documents(pairs: Iterable[Pair | InputError]) -> Iterator[Document | InputError]:
    """The distinct documents of pairs."""
    known: set[bytes] = set()
    for pair in pairs:
        for row in (pair,) if isinstance(pair, InputError) else (pair.first, pair.second):
            if isinstance(row, Document):
                key = digest_of(f"{row.author}\0{row.text}")
                if key in known:
                    continue
                known.add(key)
            yield row


def _problem_documents(
    problems: Iterable[PanProblem | InputError], folder: str
) -> Iterator[Document | InputError]:
    for problem in problems:
        if isinstance(problem, InputError):
            yield problem
            continue
        for document in (*problem.known, problem.questioned):
            # Problems of different years number their authors alike: keep them apart by folder.
            author = f"{folder}/{document.author}" if document.author else ""
            yield replace(document, author=author)
