"""What all heat maps have in common: levels and colours, and a text cut into pieces and lines.

Attention is a share, and so it is compared with an even one: 1 over the number of passages of the
text, or of tokens of the passage. Level 0 is less than even, level 1 about even, and with each
level more it is √2 times as much, so that two levels are a doubling; from 13 times an even share on
it is 9. A text with even attention is pale, whatever its length.

A contribution has a sign and five levels, fifths of the strongest one that is shown. Nothing that
the eye must tell apart differs in its hue alone: passages have bars and tokens have backgrounds,
and the two signs have two styles of line.

The pieces of a text are the text: each character is in one of them, and only in one. For terminals
and PDFs, they are laid out in lines, and each passage begins a new one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import isfinite, log, log2

from adhominem.harmless import harmless
from adhominem.verify.explanation import ExplainedText, Explanation

Measure = Callable[[str], float]
Dress = Callable[["TextPiece", str], str]  # what is put around the characters of a piece

LEVELS = 10  # of attention
MOST_TIMES_EVEN = 13  # from about here on, attention has the last level
SIDED_LEVELS = 5  # of contributions, for either sign
INK, PAPER = "#1a1a1a", "#ffffff"

# Bars: no text stands on them, so they may be dark.
PASSAGE_COLOURS: tuple[str, ...] = (
    *("#ffffff", "#e4eef8", "#cfe1f2", "#b3d0ea", "#92bde0"),
    *("#6ca6d4", "#4a8ec5", "#2f75b3", "#1a5c9d", "#0a4584"),
)
# Backgrounds: ink must be read on the deepest.
TOKEN_COLOURS: tuple[str, ...] = (
    *("#ffffff", "#fff1ec", "#fee4da", "#fdd3c4", "#fdc1ac"),
    *("#fcac93", "#fb967a", "#f98063", "#f4694f", "#ea523f"),
)
# Teal and orange, after ColorBrewer's BrBG and PuOr: the colour-blind tell them apart.
SAME_COLOURS: tuple[str, ...] = ("#e2f3f0", "#bfe5df", "#96d3ca", "#69bfb4", "#3faa9d")
DIFFERENT_COLOURS: tuple[str, ...] = ("#feedd3", "#fdd9a8", "#fcc077", "#f4a548", "#e58a1f")

_ATOMS = re.compile(r"\s+|\S+")
_NEGLIGIBLE = 0.001 * log(10)  # nats; where the strongest is weaker, nothing is coloured
# The number of each colour in terminals that have 256: they have few pale ones, and the nearest by
# the numbers would have another hue.
OF_256: dict[str, int] = {
    INK: 234,
    **dict(zip(PASSAGE_COLOURS, (231, 189, 153, 153, 111, 75, 69, 33, 26, 25), strict=True)),
    **dict(zip(TOKEN_COLOURS, (231, 231, 224, 224, 217, 217, 210, 210, 203, 203), strict=True)),
    **dict(zip(SAME_COLOURS, (195, 159, 116, 80, 37), strict=True)),
    **dict(zip(DIFFERENT_COLOURS, (230, 223, 222, 215, 208), strict=True)),
}


def attention_level(times_even: float) -> int:
    """The level, 0 to 9, of an attention given as a multiple of an even share."""
    if not times_even > 0:
        return 0
    if not isfinite(times_even):
        return LEVELS - 1
    return min(max(round(2 * log2(times_even)) + 1, 0), LEVELS - 1)


def contribution_level(contribution: float, strongest: float) -> int:
    """The level from -5 (for different authors) to 5 (for one author); 0 is next to nothing.

    `strongest` is the largest absolute contribution of those shown together.
    """
    if not isfinite(contribution) or strongest < _NEGLIGIBLE:
        return 0
    level = round(SIDED_LEVELS * abs(contribution) / strongest)
    return min(level, SIDED_LEVELS) * (1 if contribution > 0 else -1)


def strongest_of(contributions: Iterable[float]) -> float:
    """The largest absolute contribution; NaN is ignored."""
    return max((abs(amount) for amount in contributions if isfinite(amount)), default=0.0)


def strongest_passage(explanation: Explanation) -> float:
    """The largest absolute contribution of any passage of any text."""
    return strongest_of(
        passage.contribution for text in explanation.texts for passage in text.passages
    )


def contribution_colour(level: int) -> str:
    """The background colour of a contribution's level, -5 to 5."""
    if level == 0:
        return PAPER
    return SAME_COLOURS[level - 1] if level > 0 else DIFFERENT_COLOURS[-level - 1]


def contribution_class(level: int) -> str:
    """The name of a level of -5 to 5 in style sheets: same1 to same5, diff1 to diff5."""
    if level == 0:
        return ""
    return f"same{level}" if level > 0 else f"diff{-level}"


@dataclass(frozen=True)
class TextPiece:
    """A run of characters that belong to one token, or lie between two tokens."""

    start: int
    end: int
    passage: int | None  # its number; None between passages
    token: int | None  # its number within the passage; None between tokens


def pieces(text: ExplainedText) -> Iterator[TextPiece]:
    """All pieces of a text, in order."""
    at = 0

    def up_to(end: int, passage: int | None, token: int | None) -> Iterator[TextPiece]:
        nonlocal at
        end = min(max(end, at), len(text.text))
        if at < end:
            yield TextPiece(at, end, passage, token)
        at = end

    for number, passage in enumerate(text.passages):
        yield from up_to(passage.start, None, None)
        for order, token in enumerate(passage.tokens):
            yield from up_to(min(token.start, passage.end), number, None)
            yield from up_to(min(token.end, passage.end), number, order)
        yield from up_to(passage.end, number, None)
    yield from up_to(len(text.text), None, None)


@dataclass(frozen=True)
class PassageLevels:
    """The levels of a passage: of its attention, its tokens and its contribution."""

    times_even: (
        float | None
    )  # its attention, as a multiple of an even share; None without a network
    tokens_times_even: tuple[float, ...]  # that of each token, among those of the passage
    contribution: int  # -5 to 5

    @cached_property
    def attention(self) -> int | None:
        """The level of the passage's attention, 0 to 9; None where no network looked."""
        return None if self.times_even is None else attention_level(self.times_even)

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """The level of each token's attention."""
        return tuple(map(attention_level, self.tokens_times_even))

    @property
    def bar(self) -> str:
        """The colour of the bar beside the passage, for its attention or else its contribution."""
        if self.attention is None:
            return contribution_colour(self.contribution)
        return PASSAGE_COLOURS[self.attention]


def passage_levels(text: ExplainedText, strongest: float) -> list[PassageLevels]:
    """The levels of each passage; `strongest` is the contribution with the deepest colour."""
    looked_at = sum(passage.attention is not None for passage in text.passages)
    return [
        PassageLevels(
            None if passage.attention is None else passage.attention * looked_at,
            tuple(token.attention * len(passage.tokens) for token in passage.tokens),
            contribution_level(passage.contribution, strongest),
        )
        for passage in text.passages
    ]


@dataclass(frozen=True)
class Run:
    """Characters of a line that belong to one token, or lie between two tokens."""

    text: str
    token: int | None  # its number within the passage


@dataclass(frozen=True)
class Line:
    """A line as it is shown: all of it belongs to one passage, or to none."""

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
    """The lines of a text, no wider than `width`, with harmful characters made harmless.

    They end where those of the text do, and otherwise at white space, which is dropped there; words
    are broken only if necessary. Several empty lines in a row are reduced to one.
    """
    begun = empty = False  # whether there is a line yet, and whether an empty one comes next
    for passage, group in groupby(pieces(text), key=lambda piece: piece.passage):
        runs = [
            Run(dress(piece, harmless(text.text[piece.start : piece.end])), piece.token)
            for piece in group
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
    """Runs split at the line ends of the text itself."""
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
    """A word split into parts that each fill a line, with their widths."""
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
