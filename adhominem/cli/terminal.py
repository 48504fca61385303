"""What the commands show: progress, warnings and skipped rows on stderr, results on stdout."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from adhominem.errors import InputError
from adhominem.harmless import one_line
from adhominem.records import strict_json, with_schema

_MOST_SHOWN = 20  # of warnings, and of skipped rows
_NAME = 10  # columns of the terminal that the names of a table have at least
_BESIDE = 3  # columns of the terminal between the cells of a table
_NOT_ASCII = re.compile(r"[^\x00-\x7e]")
# In JSON, where the controls of ASCII are escaped anyway.
_COMMANDS = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


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
def percent(what: str) -> Iterator[Callable[[float], None]]:
    """A bar that hears which share of the work is done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def counting(what: str, total: int | None) -> Iterator[Callable[..., None]]:
    """A bar that counts pieces of work, one a call if no number is given; of how many, if known."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    began, done = time.monotonic(), 0
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total, rate="")

        def count(pieces: int = 1) -> None:
            nonlocal done
            done += pieces
            rate = done / max(1e-9, time.monotonic() - began)
            bar.update(task, advance=pieces, rate=f"{rate:,.1f}/s")

        yield count


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


@contextmanager
def silence() -> Iterator[None]:
    """For a process whose twin says the same; an error that ends it is shown all the same."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
        warnings.catch_warnings(action="ignore"),
    ):
        yield


def complain(message: str) -> None:
    """A line for people, beside the results."""
    print(one_line(message), file=sys.stderr, flush=True)


def say(message: str) -> None:
    """A line for people, among the results."""
    print(one_line(message))


def show(page: str) -> None:
    """Lines that were made for a terminal, colours and all."""
    print(page)


def list_skipped(skipped: Sequence[InputError]) -> None:
    """What could not be read."""
    if skipped:
        complain(f"skipped {len(skipped):,} of the inputs:")
        for error in skipped[:_MOST_SHOWN]:
            complain(f"  {error}")
        if len(skipped) > _MOST_SHOWN:
            complain(f"  and {len(skipped) - _MOST_SHOWN:,} more; --json lists them all")


def print_json(result: dict[str, object]) -> None:
    """A result for programs, with the version of its schema, in strict JSON.

    Letters that the output cannot hold, or that command a terminal, are escaped as JSON has it.
    """
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    special = _COMMANDS if is_unicode else _NOT_ASCII
    text = strict_json(with_schema(result), indent=2)
    print(special.sub(lambda match: json.dumps(match[0])[1:-1], text))


def _shown(text: str) -> str:
    """Somebody's text for a console of rich: one line, without commands and without markup."""
    return escape(one_line(text))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A result for people: the first column is text, the others are numbers.

    A number is never cut or broken: where the numbers of a row do not fit into one line, each gets
    a line of its own.
    """
    console = Console(emoji=False)
    head = [_shown(column) for column in columns]
    cells = [
        [f"{cell:,}" if isinstance(cell, int) else _shown(str(cell)) for cell in row]
        for row in rows
    ]
    widths = [max(cell_len(row[at]) for row in (head, *cells)) for at in range(len(head))]
    room = console.width - sum(widths[1:]) - _BESIDE * len(widths) - 1
    if room < min(_NAME, widths[0]):
        head, cells = ["", ""], [line for row in cells for line in _upright(head, row)]
    table = Table(title=_shown(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.show_header = any(head)
    for index, column in enumerate(head):
        table.add_column(
            column,
            justify="right" if index else "left",
            no_wrap=index > 0,
            overflow="fold",
        )
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _upright(head: Sequence[str], row: Sequence[str]) -> Iterator[list[str]]:
    """A row of a table as lines: its name, and below it each number with what it is."""
    yield [row[0], ""]
    yield from ([f"  {name}", cell] for name, cell in zip(head[1:], row[1:], strict=True))


def print_verification(result: dict[str, Any]) -> None:
    """What a comparison of two sides came to."""
    console = Console(soft_wrap=True, highlight=False, emoji=False)
    number = f"{result['log10_bayes_factor']:+.2f}"
    if any(warning["decides"] for warning in result["warnings"]):
        console.print(_shown(result["verbal"]))
        console.print(f"Computed all the same: log10 Bayes factor {number}", style="dim")
    else:
        _print_evidence(console, number, result)
    if population := result["population"]:
        console.print(
            f"Population  {population['texts']:,} texts; without it the log10 Bayes factor would "
            f"be {population['log10_bayes_factor_without']:+.2f}"
        )
    elif likeness := result["likeness"]:
        genre, share = next(iter(likeness["genres"].items()))
        genre = likeness["described"].get(genre, genre)
        console.print(
            f"No population was given: of the training texts these are most like {_shown(genre)} "
            f"({share:.0%}), and {_atypicality(likeness['atypicality'])}"
        )
    for side in ("first", "second"):
        for document in result[side]["documents"]:
            console.print(
                f"{side:>6}  {_shown(document['name'])}, {document['tokens']:,} tokens, "
                f"SHA-256 {document['sha256']}",
                style="dim",
            )
    console.print(
        f" model  {_shown(result['model'])}, SHA-256 {result['model_sha256']}", style="dim"
    )
    for warning in result["warnings"]:
        complain(f"warning: {warning['message']}")


def _print_evidence(console: Console, number: str, result: dict[str, Any]) -> None:
    """The number, its words, and what a prior makes of it."""
    console.print(f"log10 Bayes factor  [bold]{number}[/bold]")
    console.print(_shown(result["verbal"]))
    probability, prior = result["probability_same_author"], result["prior_same_author"]
    # Never 0 or 1, which no evidence makes it.
    shown = "< 0.001" if probability < 0.001 else "> 0.999" if probability > 0.999 else ""
    console.print(
        f"Probability of one author  {shown or format(probability, '.3f')}, "
        f"if it was {prior:g} before the texts"
    )
    console.print(f"Decision  [bold]{result['decision']}[/bold]: {_shown(result['reason'])}")


def _atypicality(value: float) -> str:
    if value > 1:
        return f"{value:.1f} times as far from them as nearly all training texts"
    return f"not farther from them than nearly all training texts ({value:.1f} of the limit)"


class TrainingBar:
    """Where a training run stands: a bar with losses and pairs/s, and a line an epoch."""

    def __init__(self, epochs: int, members: int) -> None:
        self._console = Console(stderr=True, soft_wrap=True, emoji=False)
        self._epochs, self._members = epochs, members
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None, rate="")
        self._epoch: tuple[int, int] | None = None  # member and epoch that the rate is of
        self._began = 0.0
        self._pairs = 0

    def __enter__(self) -> TrainingBar:
        self._bar.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._bar.stop()

    def show(self, event: dict[str, Any]) -> None:
        """A step or an epoch of the run."""
        if "stage" in event:
            self._show_stage(event)
        elif event["event"] == "step":
            if self._epoch != (event["member"], event["epoch"]):  # which may begin in its middle
                self._epoch = (event["member"], event["epoch"])
                self._began, self._pairs = time.monotonic(), -event["pairs"]
            self._pairs += event["pairs"]
            rate = self._pairs / max(1e-9, time.monotonic() - self._began)
            losses = " ".join(f"{name} {value:.3f}" for name, value in event["losses"].items())
            self._bar.update(
                self._task,
                description=self._name(event),
                completed=event["epoch"] * event["steps"] + event["step"] + 1,
                total=self._epochs * event["steps"],
                rate=f"{rate:,.0f} pairs/s, {losses}",
            )
        else:
            losses = ", ".join(f"{name} {value:.3f}" for name, value in event["losses"].items())
            scores = ", ".join(
                f"{name} {row[event['measure']]:.3f}" for name, row in event["dev"].items()
            )
            told = f"{self._name(event)}: {losses}; dev AUC {scores or '(no dev set)'}"
            self._console.print(one_line(told), markup=False)

    def _show_stage(self, event: dict[str, Any]) -> None:
        """Of an n-gram model: a step of a stage, or a look at dev."""
        if event["event"] == "step":
            self._bar.update(
                self._task,
                description=event["stage"],
                completed=event["step"] + 1,
                total=event["steps"],
                rate=f"loss {event['loss']:.3f}",
            )
        else:
            scores = ", ".join(f"{name} {value:.3f}" for name, value in event["dev"].items())
            told = (
                f"{event['stage']}, step {event['step']}: dev AUC {event['dev_auc']:.3f}; {scores}"
            )
            self._console.print(one_line(told), markup=False)

    def _name(self, event: dict[str, Any]) -> str:
        member = f"member {event['member'] + 1}, " if self._members > 1 else ""
        return f"{member}epoch {event['epoch'] + 1}"
