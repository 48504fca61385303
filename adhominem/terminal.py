"""What the commands show: progress, warnings and skipped rows on stderr, results on stdout."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from adhominem.errors import InputError

_MOST_SHOWN = 20  # of warnings, and of skipped rows


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar that counts bytes, with rate and time left; silent where nobody looks."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def short_warnings() -> Iterator[None]:
    """Warnings as one line each, without Python's source lines, and not without end."""
    shown = 0

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        nonlocal shown
        shown += 1
        if shown <= _MOST_SHOWN:
            complain(f"warning: {message}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
    finally:  # a command ends by SystemExit
        if shown > _MOST_SHOWN:
            complain(f"warning: and {shown - _MOST_SHOWN:,} more of these")


def complain(message: str) -> None:
    """A line for people, beside the results."""
    print(message, file=sys.stderr, flush=True)


def list_skipped(skipped: Sequence[InputError]) -> None:
    """What could not be read."""
    if skipped:
        complain(f"skipped {len(skipped):,} of the inputs:")
        for error in skipped[:_MOST_SHOWN]:
            complain(f"  {error}")
        if len(skipped) > _MOST_SHOWN:
            complain(f"  and {len(skipped) - _MOST_SHOWN:,} more; --json lists them all")


def print_json(result: dict[str, object]) -> None:
    """A result for programs; NaN, which JSON does not know, as null."""
    strict = json.loads(json.dumps(result), parse_constant=lambda name: None)
    print(json.dumps(strict, ensure_ascii=False, indent=2))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A result for people: the first column is text, the others are numbers."""
    table = Table(title=escape(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    for row in rows:
        table.add_row(
            *(f"{cell:,}" if isinstance(cell, int) else escape(str(cell)) for cell in row)
        )
    Console().print(table)
