"""PAN's formats: pairs (2020, 2021), problem folders (2013-15).

Readers yield what they could read and, in place of the rest, its error: the caller
decides whether to stop or to go on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from adhominem.errors import BrokenLineError, InputError, MissingFieldError, NotFoundError
from adhominem.records import parsed_json
from adhominem.text.files import (
    COMPRESSIONS,
    Document,
    bare_stem,
    bare_suffix,
    counting_bytes,
    digest_of,
    readable,
    readable_name,
    visible_files,
)
from adhominem.text.streams import (
    JsonRows,
    first_row,
    made_of_rows,
    read_json_lines,
    read_text,
)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two documents; `same_author` is None if the truth is unknown."""

    id: str
    first: Document
    second: Document
    same_author: bool | None = None
    place: tuple[Path, int] | None = field(default=None, compare=False, repr=False)  # and line

    def without_topics(self) -> Pair:
        first, second = (replace(document, topic="") for document in (self.first, self.second))
        return replace(self, first=first, second=second)


@dataclass(frozen=True, kw_only=True)
class PanProblem:
    """A verification problem: documents by one author, and one questioned document."""

    id: str
    known: tuple[Document, ...]
    questioned: Document
    same_author: bool | None = None


Case = TypeVar("Case", bound=Pair | PanProblem)


def with_unique_ids(cases: Iterable[Case | InputError]) -> Iterator[Case | InputError]:
    """The cases, with an error in place of each whose id has occurred before; it names both."""
    lines: dict[bytes, int] = {}
    for case in cases:
        if isinstance(case, InputError):
            yield case
            continue
        path, line = (case.place if isinstance(case, Pair) else None) or (None, 0)
        key = digest_of(case.id)
        if key not in lines:
            lines[key] = line
            yield case
        elif path is None:
            yield BrokenLineError(f"the id '{case.id}' is there twice; expected it once")
        else:
            problem = f"the id '{case.id}' is that of line {lines[key]}, too; expected another"
            yield BrokenLineError(problem, path, line)


def find_file(folder: Path, stem: str) -> Path | None:
    """The file `stem` in a folder, plain or compressed; None if it is missing."""
    candidates = (folder / f"{stem}{compression}" for compression in ("", *COMPRESSIONS))
    return next((path for path in candidates if os.path.isfile(path)), None)


# Pairs, 2020 and 2021


def pairs_file(path: Path) -> Path:
    """The file of pairs at a path: itself, or that of a folder, `pairs.jsonl` or by PAN's name."""
    if not os.path.isdir(path):
        return path
    if (pairs := find_file(path, "pairs.jsonl")) is not None:
        return pairs
    others = [file for file in visible_files(path, (".jsonl",)) if "pair" in first_row(file)]
    if len(others) == 1:
        return others[0]
    if not others:
        problem = "there is no pairs.jsonl in this folder; give PAN's folder, or the file"
        raise NotFoundError(problem, path)
    names = " and ".join(readable_name(file.name) for file in others[:2])
    raise NotFoundError(f"there are several files of pairs, {names}; give one of them", path)


def truth_file(path: Path) -> Path:
    """The truth of a pair set: this file itself, that beside a file of pairs, or in a folder."""
    if not os.path.isdir(path):
        return find_truth(path) or path
    with suppress(NotFoundError):
        truth = find_file(path, "truth.jsonl") or find_truth(pairs_file(path))
        if truth is not None:
            return truth
    problem = "there is no truth.jsonl in this folder; give the file, or a folder with one"
    raise NotFoundError(problem, path)


def find_truth(pairs: Path) -> Path | None:
    """The truth beside a file of pairs: `truth.jsonl`, or PAN's own `NAME-truth.jsonl`."""
    stem = bare_stem(pairs)
    names = (stem.replace("pairs", "truth"), f"{stem}-truth")
    truths = (find_file(pairs.parent, f"{name}.jsonl") for name in names if name != stem)
    return next((path for path in truths if path is not None), None)


def pair_rows(
    path: Path, truth: Path | None = None, *, labelled: bool = True
) -> Iterator[Pair | InputError]:
    """Stream PAN 2020/21 pairs from a folder, or from a `pairs.jsonl` with its truth beside it.

    Where all pairs are there and the truth has more, an error at the end names the first of these.
    Without `labelled`, the truth is ignored.
    """
    try:
        path = pairs_file(path)
    except InputError as error:
        yield error
        return
    truth = (truth or find_truth(path)) if labelled else None
    labels: Truths = {}
    with counting_bytes(lambda count: None):  # a truth is not one of the texts
        truths = list(read_truth(truth)) if truth else []
    for item in truths:
        if isinstance(item, InputError):
            yield item
        else:
            labels[item[0]] = item[1:]
    left, whole = dict(labels), True
    for row in pairs_in(read_json_lines(path), path, labels if truth else None):
        if isinstance(row, Pair):
            left.pop(row.id, None)
        else:
            whole = False  # what is left may be the truth of this pair
        yield row
    if left and whole:
        id, (_, _, line) = next(iter(left.items()))
        more = f", nor are those of {len(left) - 1:,} further lines" if len(left) > 1 else ""
        problem = f"'{id}' is not among the pairs{more}; expected the truth of these pairs"
        yield BrokenLineError(problem, truth, line)


Truths = dict[str, tuple[bool, tuple[str, str], int]]  # by id: same author, both authors, line


def pairs_in(
    rows: JsonRows, path: Path, labels: Truths | None = None
) -> Iterator[Pair | InputError]:
    """The pairs in rows of JSON; `labels` has the truth of each, None without one."""

    def pair(row: dict[str, Any], number: int) -> Pair:
        id = _field(row, "id", str)
        texts = _two_strings(row, "pair")
        topics = _two_strings(row, "fandoms") if row.get("fandoms") is not None else ("", "")
        same_author, authors = None, ("", "")
        if labels is not None:
            if id not in labels:
                problem = f"the truth has no usable line for the pair '{id}'; expected one"
                raise MissingFieldError(problem)
            same_author, authors, _ = labels[id]
        first, second = (
            Document(text=text, author=author, topic=topic, id=f"{id}/{side}")
            for side, text, author, topic in zip(
                ("first", "second"), texts, authors, topics, strict=True
            )
        )
        place = (path, number)
        return Pair(id=id, first=first, second=second, same_author=same_author, place=place)

    return made_of_rows(rows, path, pair)


def read_truth(path: Path) -> Iterator[tuple[str, bool, tuple[str, str], int] | InputError]:
    """Stream (id, same author, both authors, line) of a `truth.jsonl`; unnamed authors are ""."""
    known: set[str] = set()

    def truth(row: dict[str, Any], line: int) -> tuple[str, bool, tuple[str, str], int]:
        same = _field(row, "same", bool)
        authors = _two_strings(row, "authors") if row.get("authors") else ("", "")
        if all(authors) and (authors[0] == authors[1]) != same:
            problem = f"'same' is {str(same).lower()}, but the authors are {list(authors)}"
            raise BrokenLineError(problem)
        id = _field(row, "id", str)
        if id in known:
            raise BrokenLineError(f"a second line for the pair '{id}'; expected one")
        known.add(id)
        return id, same, authors, line

    return made_of_rows(read_json_lines(path), path, truth)


def _field(row: dict[str, Any], name: str, expected: type) -> Any:
    if name not in row:
        fields = ", ".join(row) or "none"
        raise MissingFieldError(f"the field '{name}' is missing; the row has: {fields}")
    if not isinstance(row[name], expected):
        kind = type(row[name]).__name__
        raise MissingFieldError(f"the field '{name}' is {kind}, expected {expected.__name__}")
    return row[name]


def _two_strings(row: dict[str, Any], name: str) -> tuple[str, str]:
    value = _field(row, name, list)
    if len(value) != 2 or not all(isinstance(item, str) for item in value):
        raise MissingFieldError(f"the field '{name}' is not a list of two strings; expected one")
    return value[0], value[1]


# Problem folders, 2013 to 2015: subfolders with known01.txt, ... and unknown.txt; truth.txt beside


def problem_rows(folder: Path, *, labelled: bool = True) -> Iterator[PanProblem | InputError]:
    """Stream the problems in a folder; without `labelled`, the truth is ignored."""
    truth_file = find_file(folder, "truth.txt") if labelled else None
    try:
        with counting_bytes(lambda count: None):
            truths = list(_read_truth_lines(truth_file)) if truth_file else []
            ids = _problem_ids(folder)
    except InputError as error:  # without these two files no problem can be read
        yield error
        return
    yield from (item for item in truths if isinstance(item, InputError))
    truth = dict(item for item in truths if not isinstance(item, InputError))
    if not ids:
        problem = "no problem here; expected folders with known*.txt, unknown.txt"
        yield NotFoundError(problem, folder)
    for id in ids:
        try:
            if truth_file is not None and id not in truth:
                problem = f"no usable line for the problem '{id}'; expected one"
                raise MissingFieldError(problem, truth_file)
            yield _problem(folder / id, truth.get(id))
        except InputError as error:
            yield error


def is_problem_folder(folder: Path) -> bool:
    """Whether `problem_rows` is the reader for this folder."""
    # Both must exist: an author's folder may contain an unknown_poem.txt, too.
    return bool(problem_texts(folder, "*/known*") and problem_texts(folder, "*/unknown*"))


def problem_texts(folder: Path, pattern: str) -> list[Path]:
    """The text files of this name in a folder, compressed or not."""
    with readable(folder):
        return sorted(path for path in folder.glob(pattern) if bare_suffix(path) == ".txt")


def _problem_ids(folder: Path) -> list[str]:
    contents = find_file(folder, "contents.json")
    if contents is None:
        return sorted({path.parent.name for path in problem_texts(folder, "*/*known*")})
    try:
        problems = _json(contents)["problems"]
    except (KeyError, TypeError) as error:
        problem = f"expected a JSON object with a list 'problems' ({error!r})"
        raise BrokenLineError(problem, contents) from None
    if not isinstance(problems, list) or not all(isinstance(id, str) for id in problems):
        raise BrokenLineError("'problems' is not a list of folder names; expected one", contents)
    for id in problems:
        _check_inside(id, contents)
    return problems


def _check_inside(name: str, file: Path) -> None:
    """Refuse a name that leads out of the folder of the file it stands in."""
    if name in ("", ".", "..") or "/" in name or os.sep in name or os.path.splitdrive(name)[0]:
        problem = f"'{name}' is not the name of a folder; expected one that is in this folder"
        raise BrokenLineError(problem, file)


def _problem(folder: Path, same_author: bool | None) -> PanProblem:
    if not os.path.isdir(folder):
        problem = "contents.json names this problem, but there is no such folder; expected one"
        raise NotFoundError(problem, folder)
    known = problem_texts(folder, "known*")
    questioned = problem_texts(folder, "unknown*")
    if not known or len(questioned) != 1:
        raise NotFoundError(
            f"{len(known)} known*.txt and {len(questioned)} unknown*.txt; "
            "expected at least one known and just one unknown text",
            folder,
        )
    id = readable_name(folder.name)
    # If the answer is no, the other author is unnamed.
    other = {True: id, False: f"{id}/unknown", None: ""}[same_author]
    return PanProblem(
        id=id,
        known=tuple(_problem_document(path, id) for path in known),
        questioned=_problem_document(questioned[0], other),
        same_author=same_author,
    )


def _problem_document(path: Path, author: str) -> Document:
    id = readable_name(f"{path.parent.name}/{bare_stem(path)}")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would be waited on for ever
        raise InputError("a folder, a pipe or a device; expected a file", path)
    return read_document(path, author=author, work=id, id=id)


def read_document(path: Path, **labels: str) -> Document:
    """The text of a file as a document with these labels; errors name the file."""
    try:
        return Document(text=read_text(path), **labels)
    except InputError as error:
        raise error.at(path) from None


def _read_truth_lines(path: Path) -> Iterator[tuple[str, bool] | InputError]:
    known: set[str] = set()
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.split()
        if words and words[0] in known:
            yield BrokenLineError(f"a second line for '{words[0]}'; expected one", path, number)
        elif len(words) == 2 and words[1].upper() in ("Y", "N"):
            known.add(words[0])
            yield words[0], words[1].upper() == "Y"
        elif words:
            yield BrokenLineError(f"'{line.strip()}'; expected a problem and Y or N", path, number)


def _json(file: Path) -> Any:
    try:
        return parsed_json(read_text(file))
    except ValueError as error:
        problem = f"not JSON ({error}); expected an object, as PAN's files have it"
        raise BrokenLineError(problem, file) from None
