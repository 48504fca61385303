"""A text laid out in lines, for terminals and pictures: each passage begins a new one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from adhominem.explain.explanation import ExplainedText
from adhominem.harmless import harmless
from adhominem.render.pieces import Piece, pieces

Measure = Callable[[str], float]
Dress = Callable[[Piece, str], str]  # what is put around the characters of a piece

_ATOMS = re.compile(r"\s+|\S+")


@dataclass(frozen=True)
class Run:
    """Characters of a line that are of one token, or between two."""

    text: str
    token: int | None  # its number within the passage


@dataclass(frozen=True)
class Line:
    """A line as it is shown: all of it is of one passage, or of none."""

    passage: int | None
    begins: bool  # whether its passage begins with it
    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)


def lines(
    text: ExplainedText,
    width: float,
    measure: Measure,
    dress: Dress = lambda piece, shown: shown,
) -> Iterator[Line]:
    """A text in harmless lines no wider than `width`.

    They end where the text's own do, and else at white space, which is left out there; within a
    word only if it has to be. Of several empty lines in a row one is kept.
    """
    begun = empty = False  # whether there is a line yet, and whether an empty one comes next
    for passage, group in groupby(pieces(text), key=lambda piece: piece.passage):
        runs = [
            Run(dress(each, harmless(text.text[each.start : each.end])), each.token)
            for each in group
        ]
        begins = passage is not None
        rows = list(_rows(runs))
        for order, row in enumerate(rows):
            if any(run.text.strip() for run in row):
                if empty and begun:
                    yield Line(None, False, ())
                for wrapped in _wrapped(row, width, measure):
                    yield Line(passage, begins, tuple(wrapped))
                    begins, begun, empty = False, True, False
            elif 0 < order < len(rows) - 1:  # the first ends a line, the last begins one
                empty = True


def _rows(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """The text's own lines."""
    row: list[Run] = []
    for run in runs:
        first, *others = run.text.split("\n")
        row.append(Run(first, run.token))
        for other in others:
            yield row
            row = [Run(other, run.token)]
    yield row


def _wrapped(row: Sequence[Run], width: float, measure: Measure) -> Iterator[list[Run]]:
    line: list[Run] = []
    used = 0.0
    space: list[Run] = []  # before the next word, if that fits
    atoms = (Run(atom, run.token) for run in row for atom in _ATOMS.findall(run.text))
    for is_space, group in groupby(atoms, key=lambda atom: atom.text.isspace()):
        if is_space:
            space = list(group)
            continue
        word = list(group)
        size = sum(measure(run.text) for run in word)
        gap = sum(measure(run.text) for run in space)
        if line and used + gap + size > width:
            yield _joined(line)
            line, used, space, gap = [], 0.0, [], 0.0
        if gap + size <= width:
            line += space + word
            used += gap + size
        else:  # too long a word, or too deep an indentation, for any line
            *full, (line, used) = _broken(word, width, measure)
            for part, _ in full:
                yield _joined(part)
        space = []
    if line:
        yield _joined(line)


def _broken(
    word: Sequence[Run], width: float, measure: Measure
) -> Iterator[tuple[list[Run], float]]:
    """A word in parts that each fill a line, with their widths."""
    part: list[Run] = []
    used = 0.0
    for run in word:
        for letter in run.text:
            size = measure(letter)
            if part and used + size > width:
                yield part, used
                part, used = [], 0.0
            part.append(Run(letter, run.token))
            used += size
    yield part, used


def _joined(runs: Sequence[Run]) -> list[Run]:
    return [
        Run("".join(run.text for run in same), token)
        for token, same in groupby(runs, key=lambda run: run.token)
    ]
