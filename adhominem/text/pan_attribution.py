"""PAN's attribution problems of 2018 and 2019: candidates with known texts, and unknown texts.

collection-info.json                    the problems, with their languages; may be missing
problem00001/problem-info.json          the candidates, and where the unknown texts lie
problem00001/candidate00001/known*.txt
problem00001/unknown/unknown*.txt
problem00001/ground-truth.json          who wrote them; "<UNK>": none of the candidates
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adhominem.errors import BrokenLineError, InputError, NotFoundError
from adhominem.records import parsed_json
from adhominem.text.files import (
    Document,
    path_of,
    read_bytes,
    read_text,
    readable_name,
    real_path,
    visible_files,
)
from adhominem.text.readers import stop_or_skip

_PROBLEM, _TRUTH = "problem-info.json", "ground-truth.json"


@dataclass(frozen=True, kw_only=True)
class AttributionProblem:
    """Texts whose author is asked for, and the candidates with their known texts."""

    name: str
    candidates: dict[str, list[Document]]  # in the order of the problem; a list may be empty
    unknown: list[Document]  # by the name of their file
    truth: dict[str, str] | None  # the author of each unknown text; None if it is not there


def read_attribution_problems(
    path: str | Path, *, skipped: list[InputError] | None = None
) -> Iterator[AttributionProblem]:
    """The problems of a collection, or the one problem in a folder; see `readers` for `skipped`."""
    place = path_of(path)
    if not os.path.isdir(place):
        raise NotFoundError("there is no such folder; look at the name and the place", place)
    if os.path.isfile(place / _PROBLEM):
        folders = [place]
    else:
        folders = sorted(file.parent for file in place.glob(f"*/{_PROBLEM}"))
    if not folders:
        raise NotFoundError(
            f"no attribution problem of PAN 2018 or 2019 here; expected folders with a {_PROBLEM}",
            place,
        )
    for folder in folders:
        yield _problem(folder, skipped)


def _problem(folder: Path, skipped: list[InputError] | None) -> AttributionProblem:
    info_file = folder / _PROBLEM
    info = _json(info_file)
    try:
        names = [str(row["author-name"]) for row in info["candidate-authors"]]
        unknown = str(info.get("unknown-folder", "unknown"))
    except (KeyError, TypeError, AttributeError):
        raise BrokenLineError(
            "the candidates are missing; expected "
            '{"candidate-authors": [{"author-name": ...}], "unknown-folder": ...}',
            info_file,
        ) from None
    for name in (*names, unknown):
        if Path(name).name != name:  # a path out of the problem
            raise BrokenLineError(
                f"'{name}' is no name of a folder; expected one that is in the problem", info_file
            )
    return AttributionProblem(
        name=readable_name(real_path(folder).name),
        candidates={
            name: list(stop_or_skip(_texts(folder / name, name), skipped)) for name in names
        },
        unknown=list(stop_or_skip(_texts(folder / unknown, ""), skipped)),
        truth=_truth(folder / _TRUTH),
    )


def _texts(folder: Path, author: str) -> Iterator[Document | InputError]:
    if not os.path.isdir(folder):
        yield NotFoundError("there is no such folder; expected one for each problem", folder)
        return
    for file in visible_files(folder, (".txt",)):
        name = readable_name(file.name)
        try:
            yield Document(
                text=read_text(file), author=author, id=f"{author}/{name}" if author else name
            )
        except InputError as error:
            yield error.at(file)


def _truth(file: Path) -> dict[str, str] | None:
    if not os.path.isfile(file):
        return None
    try:
        return {
            str(row["unknown-text"]): str(row["true-author"]) for row in _json(file)["ground_truth"]
        }
    except (KeyError, TypeError):
        raise BrokenLineError(
            'expected {"ground_truth": [{"unknown-text": ..., "true-author": ...}]}', file
        ) from None


def _json(file: Path) -> Any:
    try:
        return parsed_json(read_bytes(file))
    except ValueError as error:
        raise BrokenLineError(
            f"this is no JSON ({error}); expected an object, as PAN's files have it", file
        ) from None
