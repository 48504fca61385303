"""What the commands show: progress, warnings and skipped rows on stderr, results on stdout."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from adhominem.errors import InputError
from adhominem.harmless import LONGEST_LINE, one_line
from adhominem.records import strict_json, to_json, with_schema

if TYPE_CHECKING:
    from rich.progress import Progress

    from adhominem.jobs.run import Unit
    from adhominem.questions.question import Page, Styled
    from adhominem.questions.question import Table as TableOfLines
    from adhominem.verify.cautions import Caution

_MOST_SHOWN = 20  # of warnings, and of skipped rows
_NAME = 10  # columns of the terminal that the names of a table have at least
_BESIDE = 3  # columns of the terminal between the cells of a table
_NOT_ASCII = re.compile(r"[^\x00-\x7e]")
# In JSON, where the controls of ASCII are escaped anyway.
_COMMANDS = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_COLUMNS = {  # of rich's progress bars
    "pieces": ("MofNCompleteColumn",),
    "bytes": ("DownloadColumn", "TransferSpeedColumn"),
    "share": ("TaskProgressColumn",),
}


def _progress(console: Console, *columns: str) -> Progress:
    from rich import progress  # takes a while to load, and most comparisons show none

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *(getattr(progress, column)() for column in columns),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


@contextmanager
def watch(
    what: str, total: int | None = None, unit: Unit = "pieces"
) -> Iterator[Callable[[float], None]]:
    """A progress bar with time left, as a `Watch` of jobs; silent where nobody looks."""
    began, done = time.monotonic(), 0.0
    with _progress(Console(stderr=True), *_COLUMNS[unit]) as bar:
        task = bar.add_task(what, total=1.0 if unit == "share" else total, rate="")

        def show_progress(amount: float) -> None:
            nonlocal done
            done = amount if unit == "share" else done + amount
            rate = done / max(1e-9, time.monotonic() - began)
            bar.update(task, completed=done, rate=f"{rate:,.1f}/s" if unit == "pieces" else "")

        yield show_progress


@contextmanager
def short_warnings() -> Iterator[None]:
    """Warnings as one line each, without Python's source lines, and not without end."""
    shown = 0

    def show(message: Warning | str, *place: Any, **details: Any) -> None:
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


def _printable(text: str) -> str:
    """A name or a message as one line without commands to the terminal; most of them are that."""
    is_plain = len(text) <= LONGEST_LINE and text.isprintable()
    return text if is_plain else one_line(text)


def complain(*messages: str) -> None:
    """Lines for people, beside the results."""
    for line in map(_printable, messages):
        print(line, file=sys.stderr, flush=True)


def warn(warnings: Iterable[Caution]) -> None:
    """What a result must be read with."""
    complain(*(f"warning: {caution.message}" for caution in warnings))


def say(message: str) -> None:
    """A line for people, among the results."""
    print(_printable(message))


def show(text: str, style: str | None) -> None:
    """A line in a style, what comes first in bold; without a style, lines made for a terminal."""
    if style is None:
        print(text)
        return
    line = Text(_printable(text), style)
    line.highlight_regex(r"^(?:log10 Bayes factor|Decision)  (?P<bold>[^:]+)")
    Console(soft_wrap=True, highlight=False, emoji=False).print(line)


def list_skipped(skipped: Sequence[InputError]) -> None:
    """What could not be read."""
    if skipped:
        complain(f"skipped {len(skipped):,} of the inputs:")
        complain(*(f"  {error}" for error in skipped[:_MOST_SHOWN]))
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


def print_result(
    result: Any, skipped: Sequence[InputError] | None = None, output: Any = None
) -> None:
    """A dataclass as JSON, and what was skipped, or written, if that is not a part of it."""
    data = result.to_json() if hasattr(result, "to_json") else to_json(result)
    if isinstance(output, Path):
        data = {"output": output, **data}
    elif output is not None:
        data = {"outputs": list(map(str, output)), **data}
    data = {name: str(value) if isinstance(value, Path) else value for name, value in data.items()}
    if skipped is not None:
        data["skipped"] = [str(error) for error in skipped]
    print_json(data)


def _shown(text: str) -> str:
    """Somebody's text for a console of rich: one line, without commands and without markup."""
    return escape(_printable(text))


def print_answer(
    page: Page[Any], result: Any, values: Mapping[str, Any], outputs: Sequence[Path]
) -> None:
    """What a page shows, for a terminal; `values` are the options of the command."""
    print_lines(page.lines(result, values))
    if note := getattr(result, "language_note", ""):
        say(f"Language  {note}")
    if outputs:
        say(f"Written  {', '.join(map(str, outputs))}")
    warn(page.warnings(result))


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
        side: Literal["left", "right"] = "right" if index else "left"
        table.add_column(column, justify=side, no_wrap=index > 0, overflow="fold")
    for row in cells:
        table.add_row(*row)
    console.print(table)


def _upright(head: Sequence[str], row: Sequence[str]) -> Iterator[list[str]]:
    """A row of a table as lines: its name, and below it each number with what it is."""
    yield [row[0], ""]
    yield from ([f"  {name}", cell] for name, cell in zip(head[1:], row[1:], strict=True))


def print_lines(lines: Iterable[str | Styled | TableOfLines]) -> None:
    """A result for people: lines and tables."""
    from adhominem.questions.question import Styled

    for line in list(lines):
        if isinstance(line, str):
            say(line)
        elif isinstance(line, Styled):
            show(line.text, line.style)
        else:
            print_table(line.title, line.columns, line.rows)


@contextmanager
def training_bar(epochs: int, members: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Where a training run stands: a bar with losses and pairs/s, and a line an epoch."""
    console = Console(stderr=True, soft_wrap=True, emoji=False)
    epoch: tuple[int, int] | None = None  # member and epoch that the rate is of
    began, pairs = 0.0, 0

    def name_of(event: dict[str, Any]) -> str:
        member = f"member {event['member'] + 1}, " if members > 1 else ""
        return f"{member}epoch {event['epoch'] + 1}"

    def tell(message: str) -> None:
        console.print(_printable(message), markup=False)

    with _progress(console) as bar:
        task = bar.add_task("starting", total=None, rate="")

        def show(event: dict[str, Any]) -> None:
            """Show a step, an epoch of a network, or a dev evaluation of an n-gram model."""
            nonlocal epoch, began, pairs
            is_of_ngrams = "stage" in event
            if event["event"] == "step" and is_of_ngrams:
                done, rate = event["step"] + 1, f"loss {event['loss']:.3f}"
                name, total = event["stage"], event["steps"]
                bar.update(task, description=name, completed=done, total=total, rate=rate)
            elif event["event"] == "step":
                if epoch != (event["member"], event["epoch"]):  # which may begin in its middle
                    epoch = (event["member"], event["epoch"])
                    began, pairs = time.monotonic(), -event["pairs"]
                pairs += event["pairs"]
                rate = f"{pairs / max(1e-9, time.monotonic() - began):,.0f} pairs/s"
                bar.update(
                    task,
                    description=name_of(event),
                    completed=event["epoch"] * event["steps"] + event["step"] + 1,
                    total=epochs * event["steps"],
                    rate=f"{rate}, {_numbers(event['losses'], ' ')}",
                )
            elif is_of_ngrams:
                step = f", step {event['step']}" if "step" in event else ""
                name = f"{event['stage']}{step}: dev AUC {event['dev_auc']:.3f}"
                tell(f"{name}; {_numbers(event['dev'])}")
            else:
                scores = {name: row[event["measure"]] for name, row in event["dev"].items()}
                dev = _numbers(scores) or "(no dev set)"
                tell(f"{name_of(event)}: {_numbers(event['losses'])}; dev AUC {dev}")

        yield show


@contextmanager
def steps_bar() -> Iterator[Callable[[str, float, float | None], None]]:
    """One bar for all steps of a long piece of work, and a line for each that has ended."""
    console = Console(stderr=True, soft_wrap=True, emoji=False)
    with _progress(console, *_COLUMNS["share"]) as bar:
        task = bar.add_task("starting", total=1.0, rate="")

        def show(name: str, share: float, seconds: float | None) -> None:
            bar.update(task, description=name, completed=share)
            if seconds is not None:
                console.print(_printable(f"{name}: {seconds:,.1f} s"), markup=False)

        yield show


def _numbers(values: Mapping[str, float], between: str = ", ") -> str:
    return between.join(f"{name} {value:.3f}" for name, value in values.items())
