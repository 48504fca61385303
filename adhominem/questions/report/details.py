"""What a report says about its case besides the texts: who examined what, for whom, and why.

All of it is the examiner's word. It comes from a case file, TOML or JSON, or from options:

    case = "17 C 2026"
    examiner = "Dr A. Example"
    qualification = "Doctorate in linguistics; forensic casework since 2014"
    instruction = "Compare the questioned letter with the letters of Mr B."

    [[items]]
    file = "questioned.txt"
    reference = "Q1"
    received = "2 May 2026, from the court, by post"
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path, PurePath
from typing import Annotated, Any

from adhominem.errors import InputError, RecordError
from adhominem.harmless import harmless
from adhominem.records import Longest, Options, from_json, parsed_json
from adhominem.text.files import note_input, open_regular, path_of

_MOST_BYTES = 1 << 20
Line = Annotated[str, Longest(500)]
Lines = Annotated[str, Longest(5_000)]
MOST_ENTRIES = 200  # of a list


@dataclass(frozen=True, kw_only=True)
class ItemDetails(Options):
    """Details of an item of the material, identified by the name of its file."""

    file: Line
    reference: Line = ""  # the item's number in the case
    received: Line = ""  # when, from whom, how
    origin: Lines = ""  # what it is, and why it is taken to be by this writer

    def is_of(self, name: str) -> bool:
        """Whether a text of this name is the item: its path ends in that of the item's file."""
        path, wanted = PurePath(name).parts, PurePath(self.file).parts
        return bool(wanted) and path[-len(wanted) :] == wanted


@dataclass(frozen=True, kw_only=True)
class CaseDetails(Options):
    """The formal part of a report; empty fields are reported as not stated."""

    case: Lines = ""
    examiner: Lines = ""
    qualification: Lines = ""
    organisation: Lines = ""
    instructed_by: Lines = ""
    instruction: Lines = ""  # the examiner's task
    received: Lines = ""  # when the material was
    custody: Lines = ""  # how it came, and how it was kept
    background: Lines = ""  # what the examiner knew of the case
    reviewed_by: Lines = ""
    not_examined: Annotated[tuple[Lines, ...], Longest(MOST_ENTRIES)] = ()
    items: Annotated[tuple[ItemDetails, ...], Longest(MOST_ENTRIES)] = ()

    def item(self, name: str) -> ItemDetails:
        """The details of the text of this name, empty if there are none."""
        return next((item for item in self.items if item.is_of(name)), ItemDetails(file=""))

    def check_items(self, names: Sequence[str], path: str | Path) -> None:
        """Raise an OptionError for an item that matches none of the texts, or several."""
        for item in self.items:
            count = sum(item.is_of(name) for name in names)
            if count != 1:
                problem = "is none of the texts compared" if not count else f"may be {count} texts"
                raise InputError(
                    f"the item {harmless(item.file)!r} {problem}; expected the name of one file, "
                    "with as many folders before it as needed",
                    path,
                )

    def with_options(self, **given: str) -> CaseDetails:
        """The details with those given as options, which take precedence over the file's."""
        return replace(self, **{name: readable(text) for name, text in given.items() if text})  # type: ignore[arg-type]


def readable(text: str) -> str:
    """A text in UTF-8 from a command's argument, which may contain other bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read_details(path: str | Path) -> CaseDetails:
    """The details in a case file; an InputError describes anything that is wrong with it."""
    path = path_of(path)
    note_input(path)
    try:
        file, _ = open_regular(path, _MOST_BYTES)
        with file:
            data = file.read()
    except OSError as error:
        raise InputError(
            f"the case file cannot be read ({error}); expected a file of TOML or JSON", path
        ) from None
    try:
        return from_json(CaseDetails, _parsed(data, path), "case")
    except RecordError as error:
        known = ", ".join(field.name for field in fields(CaseDetails))
        raise InputError(
            f"{error}; expected any of {known}, as docs/report.md describes them", path
        ) from None


def _parsed(data: bytes, path: Path) -> Any:
    try:
        if path.suffix.lower() == ".json":
            return parsed_json(data)
        return tomllib.loads(data.decode("utf-8"))
    except ValueError as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise InputError(
            f"the case file is not valid {kind} ({error}); expected {kind}, as its name says", path
        ) from None
