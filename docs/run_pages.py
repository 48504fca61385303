"""Run the commands of the pages that show real output, and put what they print into the pages.

python docs/run_pages.py                 all pages, after a change of the model or of a message
python docs/run_pages.py first-hour/examiner.md

A page's blocks of the language `console` are run from top to bottom in one empty folder. Where a
block shows output, that is what its commands print now. A comment before a block says otherwise:

    <!-- not run: needs a GPU -->        it is not run, but its options must exist
    <!-- shows lines 1-4 -->             of what a command prints, these lines

Lines are wrapped, and hashes cut short. `tests/test_pages.py` runs the same, and compares.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES = (
    "first-hour/examiner.md",
    "first-hour/linguist.md",
    "first-hour/scholar.md",
    "first-hour/participant.md",
    "first-hour/engineer.md",
)
README = "../README.md"  # whose commands are run in the repository; tests/test_readme.py checks it
WIDTH = 88
_BLOCK = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*) -->\n\n?)?```(?P<language>console|python)\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_LINES = re.compile(r"shows lines (\d+)-(\d+)")
_HASH = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{56}\b")


@dataclass(frozen=True)
class Block:
    """A block of a page: what is typed, and all that stands there."""

    language: str
    body: str
    note: str

    @property
    def is_run(self) -> bool:
        return not self.note.startswith("not run")

    @property
    def commands(self) -> list[str]:
        """As they are typed, continued lines included."""
        return re.findall(r"^\$ ((?:.*\\\n)*.*)$", self.body, flags=re.MULTILINE)

    @property
    def shows_output(self) -> bool:
        return bool(self.shown.strip())

    @property
    def shown(self) -> str:
        """What is not typed."""
        return re.sub(r"^\$ (?:.*\\\n)*.*\n", "", self.body, flags=re.MULTILINE)


def blocks(page: str) -> Iterator[tuple[re.Match[str], Block]]:
    """The blocks of a page's text, and where they are."""
    for match in _BLOCK.finditer(page):
        yield match, Block(match["language"], match["body"], match["note"] or "")


class Session:
    """A folder in which commands are run one after the other, as a reader would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, block: Block) -> str:
        """The block with what its commands print now."""
        if block.language == "python":
            with chdir(self.folder), redirect_stdout(StringIO()):
                exec(compile(block.body, "a page", "exec"), {"__name__": "__page__"})
            return block.body
        parts = []
        for command in block.commands:
            printed = self.type(" ".join(command.replace("\\\n", " ").split()))
            parts.append(f"$ {command}\n" + (cut(printed, block) if block.shows_output else ""))
        return "".join(parts)

    def type(self, command: str) -> str:
        """What a command prints, to both streams; it must succeed."""
        program, *arguments = shlex.split(command, comments=True)
        if program == "cd":
            self.folder = self.folder / arguments[0]
            return ""
        if program == "python":
            return self._script(*arguments)
        if command.startswith("adhominem serve"):
            return ""  # tests/test_readme.py starts a server
        if program != "adhominem":
            raise ValueError(f"not a command that a page may run: {command}")
        from adhominem.cli import main

        with chdir(self.folder), warnings.catch_warnings():
            warnings.simplefilter("default")
            done = CliRunner(env={"COLUMNS": str(WIDTH)}).invoke(main, arguments)
        if done.exit_code:
            raise RuntimeError(f"{command}\n{done.output}\n{done.exception!r}")
        return done.output

    def _script(self, file: str, *arguments: str) -> str:
        """A script of the repository."""
        printed = StringIO()
        with (
            chdir(self.folder),
            redirect_stdout(printed),
            patch.object(sys, "argv", [file, *arguments]),
        ):
            runpy.run_path(str(ROOT / file), run_name="__main__")
        return printed.getvalue()


def cut(printed: str, block: Block) -> str:
    """What of the output is shown, in lines that fit a page."""
    lines: list[str] = []
    for line in _HASH.sub(r"\1…", printed).splitlines():
        is_long = len(line.rstrip()) > WIDTH
        lines += textwrap.wrap(line, WIDTH) if is_long else [line.rstrip()]
    lines = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    while lines and not lines[-1]:
        lines.pop()
    if chosen := _LINES.fullmatch(block.note):
        first, last = map(int, chosen.groups())
        more = ["..."] if last < len(lines) else []
        lines = lines[first - 1 : last] + more
    return "".join(f"{line}\n" for line in lines)


def agree(shown: str, printed: str) -> bool:
    """Whether two outputs say the same, but for the last digit of a number."""
    first, second = shown.split(), printed.split()
    return len(first) == len(second) and all(map(_agree, first, second))


def _agree(first: str, second: str) -> bool:
    if first == second:
        return True
    numbers = [
        re.sub(r"[^\d.eE+-]", "", word.replace("−", "-")).strip(".") for word in (first, second)
    ]
    try:
        one, other = map(float, numbers)
    except ValueError:
        return False
    return abs(one - other) <= max(0.02, 0.03 * abs(one))  # another processor rounds otherwise


def refreshed(text: str, folder: Path) -> str:
    """A page with what its commands print now."""
    session = Session(folder)

    def run(match: re.Match[str]) -> str:
        block = Block(match["language"], match["body"], match["note"] or "")
        if not block.is_run:
            return match[0]
        return match[0].replace(block.body, session.run(block), 1)

    return _BLOCK.sub(run, text)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in sys.argv[1:] or (README, *PAGES):
        before = (DOCS / name).read_text("utf-8")
        with tempfile.TemporaryDirectory() as place:
            after = refreshed(before, ROOT if name == README else Path(place))
        (DOCS / name).write_text(after, "utf-8")
        print(f"{name}: {'changed' if after != before else 'as it was'}", file=sys.stderr)
