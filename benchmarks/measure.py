"""What benchmarks share: seconds and peak memory of a piece of work, and figures as JSON.

Every benchmark takes `--json [FILE]` as its last option: the tables that it prints are then also
written to benchmarks/results/NAME.json, with the date, the command and the hash of the model. Pages
quote these. From what a benchmark has printed before, the same is made by

    python benchmarks/measure.py 'python benchmarks/NAME.py OPTIONS' [FILE] < printed.txt
"""

from __future__ import annotations

import argparse
import io
import json
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

import psutil

from adhominem.model.folder import DEFAULT_MODEL
from adhominem.verify.verifier import load

DEFAULT_CORPORA = "../shared/corpora/train"
RESULTS = Path(__file__).parent / "results"

Cell = str | int | float | None
_NUMBER = re.compile(r"-?(\d[\d,]*)?(\.\d+)?%?")


def run(main: Callable[[], None]) -> None:
    """Run a benchmark; with `--json`, write the tables that it prints."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    default = RESULTS / f"{Path(sys.argv[0]).stem}.json"
    parser.add_argument("--json", type=Path, nargs="?", const=default)
    command = ["python", *sys.argv]
    given, sys.argv[1:] = parser.parse_known_args()
    printed = _Copied()
    with redirect_stdout(printed):
        main()
    if given.json is not None:
        write_results(given.json, command, printed.copy.getvalue())


class _Copied(io.TextIOBase):
    """Standard output that keeps a copy."""

    def __init__(self) -> None:
        self.copy, self._out = io.StringIO(), sys.stdout

    def write(self, text: str) -> int:
        self.copy.write(text)
        return self._out.write(text)

    def flush(self) -> None:
        self._out.flush()


def write_results(path: Path, command: Sequence[str], printed: str) -> None:
    """Write the Markdown tables among printed lines as JSON, one line per row."""
    model = command[command.index("--model") + 1] if "--model" in command else DEFAULT_MODEL
    head = {
        "date": date.today().isoformat(),
        "command": shlex.join(command),
        "model": {"name": Path(model).name, "sha256": load(model).sha256},
        "adhominem": version("adhominem"),
    }
    tables = (
        ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        for rows in tables_in(printed)
    )
    text = json.dumps(head, indent=1).removesuffix("\n}")
    together = "\n ],\n [\n".join(tables)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{text},\n "tables": [\n [\n{together}\n ]\n ]\n}}\n', "utf-8")


def tables_in(printed: str) -> list[list[dict[str, Cell]]]:
    """The rows of each Markdown table, by the heads of its columns."""
    tables: list[list[dict[str, Cell]]] = []
    heads: list[str] = []
    for line in printed.splitlines():
        if not line.startswith("|"):
            heads = []
            continue
        cells = [
            cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")
        ]
        if not heads:
            heads = cells
            tables.append([])
        elif set(line) - set("|-: "):
            tables[-1].append(dict(zip(heads, map(_plain, cells), strict=False)))
    return [rows for rows in tables if rows]


def _plain(cell: str) -> Cell:
    """The number in a cell, if there is one: 82% is 0.82."""
    if not cell or not _NUMBER.fullmatch(cell) or not re.search(r"\d", cell):
        return None if cell in ("", "-", "nan") else cell
    bare = cell.rstrip("%").replace(",", "")
    if bare != cell.replace(",", ""):
        return round(float(bare) / 100, 6)
    return float(bare) if "." in bare else int(bare)


@dataclass
class Measured:
    """What was measured, once the work is done."""

    seconds: float = 0.0
    peak_mb: float = 0.0


@contextmanager
def measured() -> Iterator[Measured]:
    """Measure the body; memory is the sum of all processes' proportional set sizes."""
    result = Measured()
    done = threading.Event()
    me = psutil.Process()

    def watch() -> None:
        working = True
        while working:
            working = not done.wait(0.1)  # one look more when the work is done
            total = 0
            for process in (me, *me.children(recursive=True)):
                with suppress(psutil.Error):
                    total += process.memory_full_info().pss
            result.peak_mb = max(result.peak_mb, total / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    try:
        yield result
    finally:
        result.seconds = time.perf_counter() - began
        done.set()
        watcher.join()


if __name__ == "__main__":
    made_by = shlex.split(sys.argv[1])
    file = sys.argv[2] if len(sys.argv) > 2 else RESULTS / f"{Path(made_by[1]).stem}.json"
    write_results(Path(file), made_by, sys.stdin.read())
