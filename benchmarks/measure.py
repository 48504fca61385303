"""What benchmarks share: seconds and peak memory of a piece of work, and figures as JSON.

A benchmark with the option `--json` also writes what it prints to benchmarks/results/NAME.json:
the figures that pages quote.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
import psutil

from adhominem.verify.verifier import Verifier

DEFAULT_CORPORA = "../shared/corpora/train"
RESULTS = Path(__file__).parent / "results"

Cell = str | int | float | None


@dataclass
class Results:
    """The rows of a benchmark's tables, by table."""

    tables: dict[str, list[dict[str, Cell]]] = field(default_factory=dict)

    def add(self, table: str, row: Mapping[str, Cell]) -> None:
        """Add a row; figures that are not defined (NaN) become null."""
        self.tables.setdefault(table, []).append({key: _plain(row[key]) for key in row})

    def write(self, path: Path | None, model: Verifier) -> None:
        """Write the tables, and what they were made with; nothing without a path."""
        if path is None:
            return
        head = {
            "date": date.today().isoformat(),
            "command": shlex.join(["python", *sys.argv]),
            "model": {"name": model.name, "sha256": model.sha256},
            "adhominem": version("adhominem"),
        }
        tables = ",\n".join(
            f"  {json.dumps(name)}: [\n   "
            + ",\n   ".join(json.dumps(row, ensure_ascii=False) for row in rows)
            + "\n  ]"
            for name, rows in self.tables.items()
        )  # a row a line: changes can be read in a diff
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(head, indent=1).removesuffix("\n}")
        path.write_text(f'{text},\n "tables": {{\n{tables}\n }}\n}}\n', "utf-8")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json [FILE]` to a benchmark's options."""
    default = RESULTS / f"{Path(sys.argv[0]).stem}.json"
    parser.add_argument(
        "--json",
        type=Path,
        nargs="?",
        const=default,
        metavar="FILE",
        help=f"write the figures as JSON; without a name to benchmarks/results/{default.name}",
    )


def _plain(value: Cell) -> Cell:
    """A cell as JSON has it: six digits are more than any table shows."""
    if isinstance(value, float | np.floating):
        return None if np.isnan(value) else float(f"{value:.6g}")
    return int(value) if isinstance(value, np.integer) else value


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
