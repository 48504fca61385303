"""Normalisation: remove what betrays the source of a text and keep what its author did.

Quote marks, dashes, line wraps and italics marks come from the publisher, the
editor program or the transcriber; a model that sees them learns where a text
comes from and calls it authorship. Repeated `!!!`, `...`, capitals, spelling
and contractions are the author's: they stay.

Each step finds *edits* (start, end, replacement). The same edits make the text
and, where a caller asks for it, the way back from each character to the
original, so that a heat map can mark what the user wrote.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from adhominem.arrays import IntArray
from adhominem.records import Longest, Options, SomeOf

# start, end, replacement of text[start:end]
Edit = tuple[int, int, str]
Edits = Callable[[str], Iterable[Edit]]


# Rules by what each match begins with, a class of characters beyond ASCII.
_BEGINS: dict[Edits, re.Pattern[str]] = {}


def _rule(pattern: str, new: str | Callable[[str], str], only_if: str | None = None) -> Edits:
    """A step of edits by a regular expression, which for speed begins with a character or class.

    `only_if` is a character that every match contains; without it, the expression begins with a
    class of characters beyond ASCII.
    """
    compiled = re.compile(pattern)

    def edits(text: str) -> Iterator[Edit]:
        if text.isascii() if only_if is None else only_if not in text:
            return
        for match in compiled.finditer(text):
            yield match.start(), match.end(), new if isinstance(new, str) else new(match.group())

    if only_if is None:
        _BEGINS[edits] = re.compile(pattern[: pattern.index("]") + 1])
    return edits


# Marks on a letter in Unicode's stream-safe format (UAX #15): real letters have fewer.
_MOST_MARKS = 30


def _nfc(text: str) -> Iterator[Edit]:
    """Edits that compose letters and accents, one letter at a time, to map each to its origin.

    The time to sort marks grows with the square of their number: longer runs are sorted in parts of
    `_MOST_MARKS`.
    """
    if _is_composed(text):
        return
    # Nothing composes before an ASCII character: cut there, and look closer only where needed.
    for match in re.finditer(r"[\s\S][^\x00-\x7f]*", text):
        run = match.group()
        if _is_composed(run):
            continue
        for start, end in itertools.pairwise([0, *_letter_bounds(run), len(run)]):
            composed = unicodedata.normalize("NFC", run[start:end])
            if composed != run[start:end]:
                yield match.start() + start, match.start() + end, composed


def _is_composed(text: str) -> bool:
    """Whether a text is NFC already. Python's check alone is slow where marks crowd."""
    return text.isascii() or (not _is_crowded(text) and unicodedata.is_normalized("NFC", text))


def _is_crowded(text: str) -> bool:
    """Whether there are more than `_MOST_MARKS` marks in a row: a step that wide hits one."""
    for at in range(_MOST_MARKS, len(text), _MOST_MARKS + 1):
        if _is_mark(text[at]):
            around = map(_is_mark, text[at - _MOST_MARKS : at + _MOST_MARKS + 1])
            if max(sum(marks) for _, marks in itertools.groupby(around)) > _MOST_MARKS:
                return True
    return False


def _letter_bounds(run: str) -> Iterator[int]:
    """The indices at which the second and each further letter with its marks begins."""
    marks = int(_is_mark(run[0]))
    for at in range(1, len(run)):
        is_mark = _is_mark(run[at])
        if marks == _MOST_MARKS and is_mark:
            yield at
            marks = 1
        elif is_mark:
            marks += 1
        else:
            marks = 0
            if not _joins_syllable(run[at - 1], run[at]):
                yield at


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _joins_syllable(before: str, character: str) -> bool:
    """Whether two characters may be parts of one Hangul syllable."""
    return "\u1160" <= character <= "\u11ff" and (
        "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    )


# Narrower lines are a list or verse; each wider line is a paragraph.
_WRAP_WIDTHS = range(40, 121)


def _line_wraps(text: str) -> list[Edit]:
    """Edits that undo hard wraps: line ends where the next line's first word did not fit.

    The width is the longest line's. Short lines (verse, lists, the end of a
    paragraph) have room left, so their line ends stay; and if most have room,
    the long ones are not wraps either.
    """
    lines = text.split("\n")
    width = max(len(line) for line in lines)
    if width not in _WRAP_WIDTHS:
        return []
    wraps: list[Edit] = []
    line_ends = 0  # between two lines of one paragraph
    end = -1
    for line, following in itertools.pairwise(lines):
        end += len(line) + 1
        first_word = following.split(" ", 1)[0]
        if not line or not first_word:
            continue
        line_ends += 1
        if len(line) + 1 + len(first_word) > width:
            broken_at_hyphen = line.endswith(("-", "\u2010")) and not line.endswith("--")
            wraps.append((end, end + 1, "" if broken_at_hyphen else " "))
    return wraps if 2 * len(wraps) > line_ends else []


def _emphasis(mark: str) -> Edits:
    """Edits that remove pairs of one to three equal marks around at most 300 characters.

    Faces are the author's: a mark between two equal eyes (^_^ -_-), beside < or > (>_<),
    or around no letter (*-*) stays.
    """
    m = re.escape(mark)
    eye = r"[\^.;=~@-]"
    pair = re.compile(
        rf"(?P<open>{m}(?<![\w<>{m}]{m}){m}{{0,2}})(?!(?<=(?P<eye>{eye}){m})(?P=eye))"
        rf"(?=[^\s*_])(?=[^\w{m}\n]*[^\W_])(?P<inside>[^{m}\n]{{1,300}})(?<=\S)"
        rf"(?P=open)(?!(?<=(?P<last_eye>{eye}){m})(?P=last_eye))(?![\w<>{m}])"
    )

    def edits(text: str) -> Iterator[Edit]:
        if mark in text:
            for match in pair.finditer(text):
                yield match.start(), match.start("inside"), ""
                yield match.end("inside"), match.end(), ""

    return edits


def _contractions(apostrophe: str) -> Edits:
    """Edits that part a contraction from its word, as the paper has it: There 's, they 're."""
    endings = "[sS]|[rR][eE]|[vV][eE]|[lL][lL]|[dD]|[mM]"
    pattern = rf"(?<=[A-Za-z])(?:[nN]{apostrophe}[tT]|{apostrophe}(?:{endings}))(?!\w)"
    return _rule(pattern, lambda ending: f" {ending}", apostrophe)


_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"

# Each step is a sequence of edits. Invisible characters go first: they hide the others.
STEPS: dict[str, tuple[Edits, ...]] = {
    "line_ends": (_rule(r"\r\n?", "\n", "\r"), _rule(r"[\u0085\u2028\u2029]", "\n")),
    "soft_hyphens": (_rule(r"\u00ad\n?", "", "\u00ad"),),
    "zero_width": (
        _rule(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]", "", ""),  # control characters, too
        _rule(
            r"[\u061c\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]",
            "",
        ),
        _rule(rf"\u200d(?![{_EMOJI}])", "", "\u200d"),  # it may join two emoji: then it stays
    ),
    "nfc": (_nfc,),
    "spaces": (
        _rule(r"\t", " ", "\t"),
        _rule(r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]", " "),
    ),
    "line_wraps": (_line_wraps,),  # before the steps below change how long a line is
    "quotes": (
        _rule(r"[\u201c-\u201f\u00ab\u00bb\u2033\u2036]", '"'),
        _rule(r"[\u2018-\u201b\u2039\u203a\u2032\u2035\u00b4\u02bc]", "'"),
        _rule(r"`", "'", "`"),
        _rule(r"''", '"', "'"),  # whichever two single ones it was typed with
    ),
    "dashes": (
        _rule(r"[\u2010\u2011\u2212]", "-"),
        _rule(r"[\u2012\u2013](?<=\d.)(?=\d)", "-"),  # 1914–18
        _rule(r"[\u2012-\u2015\u2e3a\u2e3b]", "--"),
    ),
    "ellipses": (
        _rule(r"\u2026", "...", "\u2026"),
        _rule(r"\. \.(?: \.)+", lambda dots: dots.replace(" ", ""), "."),
    ),
    "italics": (_emphasis("*"), _emphasis("_")),
    "contractions": (_contractions("'"), _contractions("\u2019")),  # only where it is chosen
}
CONTRACTIONS = "contractions"


_ANY_BEGINS = re.compile("|".join(begins.pattern for begins in _BEGINS.values()))


def _special(text: str) -> str:
    """The distinct characters of a text with which any of the rules in `_BEGINS` begins."""
    return "" if text.isascii() else "".join(set(_ANY_BEGINS.findall(text)))


def _edited(text: str, edits: Iterable[Edit]) -> str:
    pieces: list[str] = []
    last = 0
    for start, end, replacement in edits:
        pieces += (text[last:start], replacement)
        last = end
    return "".join([*pieces, text[last:]]) if pieces else text


@dataclass(frozen=True)
class AlignedText:
    """A normalised text, with the place of each of its characters in the original."""

    text: str
    starts: IntArray  # (characters,)
    ends: IntArray  # (characters,)

    def original_spans(self, spans: IntArray) -> IntArray:
        """The spans (n, 2) in the original for spans (n, 2) in the normalised text."""
        return np.stack([self.starts[spans[:, 0]], self.ends[spans[:, 1] - 1]], axis=1)


@dataclass(frozen=True)
class Normaliser(Options):
    """Normalisation by chosen steps, in the order of `STEPS`; saved with the model by name."""

    steps: Annotated[tuple[str, ...], Longest(1_000), SomeOf(*STEPS)] = tuple(
        name for name in STEPS if name != CONTRACTIONS
    )

    @classmethod
    def without(cls, steps: Iterable[str]) -> Normaliser:
        """All steps but these."""
        return cls().leave_out(steps)

    def leave_out(self, steps: Iterable[str]) -> Normaliser:
        """A copy without some of its steps."""
        left_out = Normaliser((*steps,)).steps  # refuses a step that does not exist
        return Normaliser(tuple(step for step in self.steps if step not in left_out))

    def _passes(self) -> Iterator[Edits]:
        return (edits for name in self.steps for edits in STEPS[name])

    def __call__(self, text: str) -> str:
        special = _special(text)
        for edits in self._passes():
            begins = _BEGINS.get(edits)
            if begins is not None and not begins.search(special):
                continue
            before, text = text, _edited(text, edits(text))
            if edits is _nfc and text is not before:  # all others write ASCII
                special = _special(text)
        return text

    def align(self, text: str) -> AlignedText:
        """The normalised text with the origin of each character; slower than calling."""
        starts = np.arange(len(text), dtype=np.int64)
        ends = starts + 1
        for edits in self._passes():
            changes = list(edits(text))
            if not changes:
                continue
            begins, stops, lengths = np.array(
                [(start, end, len(replacement)) for start, end, replacement in changes]
            ).T  # (edits,) each
            more = stops - begins - 1  # characters that an edit covers, besides its first
            times = np.ones(len(text), dtype=np.int64)  # how many new characters each one makes
            times[np.arange(more.sum()) + np.repeat(begins + 1 - more.cumsum() + more, more)] = 0
            times[begins] = lengths
            stretch = np.zeros(len(text), dtype=np.int64)
            stretch[begins] = more
            kept = np.repeat(np.arange(len(text)), times)
            text = _edited(text, changes)
            starts, ends = starts[kept], ends[kept + stretch[kept]]
        return AlignedText(text, starts, ends)
