"""What all heat maps have in common: levels and colours, and a text cut into pieces and lines.

Attention is a share, and so it is compared with an even one: 1 over the number of passages of the
text, or of tokens of the passage. Level 0 is less than even, level 1 about even, and with each
level more it is √2 times as much, so that two levels are a doubling; from 13 times an even share on
it is 9. A text with even attention is pale, whatever its length.

A contribution has a sign and five levels, fifths of the strongest one that is shown. Nothing that
the eye must tell apart differs in its hue alone: passages have bars and tokens have backgrounds,
and the two signs have two styles of line.

The pieces of a text are the text: each character is in one of them, and only in one. On paper and
on terminals, each passage begins a new line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import isfinite, log, log2

from adhominem.harmless import harmless
from adhominem.render.summary import contributed
from adhominem.verify.explanation import (
    AttendedWindow,
    ExplainedText,
    Explanation,
    TextInWindows,
)

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

    times_even: float | None  # its attention, as a multiple of an even share, if it has any
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
class ShownPassage:
    """A passage, or what lies between two, as it is shown on paper and on terminals."""

    amount: str  # what it contributes, or a window's attention; empty between passages
    levels: PassageLevels | None  # None between passages
    runs: tuple[tuple[str, int], ...]  # harmless letters, and the level of their token's attention


def heat_maps(explanation: Explanation) -> Iterator[tuple[ExplainedText, list[ShownPassage]]]:
    """Each text with its passages; white space between them is left out."""
    strongest = strongest_passage(explanation)
    for text in explanation.texts:
        of_text = passage_levels(text, strongest)
        passages = []
        for number, group in groupby(pieces(text), key=lambda piece: piece.passage):
            levels = None if number is None else of_text[number]
            runs = tuple(
                (
                    harmless(text.text[piece.start : piece.end]),
                    0 if levels is None or piece.token is None else levels.tokens[piece.token],
                )
                for piece in group
            )
            if any(shown.strip() for shown, _ in runs):
                amount = "" if number is None else contributed(text.passages[number].contribution)
                passages.append(ShownPassage(amount, levels, runs))
        yield text, passages


def window_maps(
    explanation: Explanation,
) -> Iterator[tuple[ExplainedText, str, list[ShownPassage]]]:
    """Each text with a network's name and its windows, if they were asked for."""
    for text in explanation.texts:
        windows = text.windows if isinstance(text, TextInWindows) else ()
        for network, group in groupby(windows, key=lambda window: window.network):
            of_network = list(group)
            shown = [_window(text.text, window, len(of_network)) for window in of_network]
            yield text, network, shown


def _window(text: str, window: AttendedWindow, windows: int) -> ShownPassage:
    """One window of several: the prefix and the tokens, with a space between two."""
    even = 1 + len(window.tokens)  # a network has a prefix even if it knows no topics
    tokens = [
        (" ".join(text[token.start : token.end].split()), token.attention * even)
        for token in window.tokens
    ]
    if window.prefix:
        tokens.insert(0, (window.prefix, window.prefix_attention * even))
    words, times_even = zip(*tokens, strict=True)
    levels = PassageLevels(window.attention * windows, times_even, 0)
    runs: list[tuple[str, int]] = []
    for word, level in zip(words, levels.tokens, strict=True):
        runs += (harmless(word), level), (" ", 0)
    return ShownPassage(f"{window.attention:.1%}", levels, tuple(runs[:-1]))
