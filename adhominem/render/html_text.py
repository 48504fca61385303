"""One text as HTML: passages, tokens and the places of n-grams on the user's own characters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, pairwise

from adhominem.explain.explanation import ExplainedText
from adhominem.render.colours import (
    attention_level,
    contribution_class,
    contribution_level,
    strongest_of,
)
from adhominem.render.pieces import Piece, passage_weights, pieces, token_weights
from adhominem.render.summary import contributed, speaks_for

_UNREADABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Mark:
    """Where an n-gram stands in a text."""

    start: int
    end: int
    ngram: int  # its number in the table
    level: int  # of its contribution, -5 to 5


def as_html(text: str) -> str:
    """Characters that read back as they were, except for those that no page may hold."""
    # A raw carriage return would be read as a line feed.
    return escape(_UNREADABLE.sub("\N{REPLACEMENT CHARACTER}", text)).replace("\r", "&#13;")


def heat_map(
    text: ExplainedText, *, strongest: float | None = None, marks: Sequence[Mark] = ()
) -> str:
    """A text with the weights of its passages and tokens, and the places of n-grams.

    `strongest` is the size of contribution that gets the deepest colour; by default the strongest
    of this text.
    """
    if strongest is None:
        strongest = strongest_of(passage.contribution for passage in text.passages)
    weights = passage_weights(text)
    marking = _Marking(text.text, marks)
    parts = []
    reachable = True  # by the tab key; from there the arrow keys go on
    for number, group in groupby(pieces(text), key=lambda piece: piece.passage):
        if number is None:
            parts += [marking.of(piece) for piece in group]
            continue
        passage, weight = text.passages[number], weights[number]
        classes = ["passage"]
        told = f"Passage {number + 1} of {len(text.passages)}: "
        if weight is not None:
            classes.append(f"w{attention_level(weight)}")
            told += f"{_times(weight)} of the attention ({passage.attention:.1%} of it); "
        classes.append(contribution_class(contribution_level(passage.contribution, strongest)))
        told += f"contributes {contributed(passage.contribution)} to the log10 Bayes factor, "
        told += f"speaks for {speaks_for(passage.contribution)}"
        parts.append(
            f'<span class="{" ".join(filter(None, classes))}" tabindex="{0 if reachable else -1}" '
            f'title="{told}">'
        )
        shares = token_weights(passage)
        for piece in group:
            shown = marking.of(piece)
            if piece.token is not None:
                share = shares[piece.token]
                told = f"Token: {_times(share)}"
                shown = f'<span class="t{attention_level(share)}" title="{told}">{shown}</span>'
            parts.append(shown)
        parts.append("</span>")
        reachable = False
    return f'<div class="heat" dir="auto">{"".join(parts)}</div>'


def _times(weight: float) -> str:
    return f"{weight:.1f} times an even share"


class _Marking:
    """Puts marks on pieces; where several n-grams share characters, the first one colours them."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self._text = text
        self._marks = sorted(marks, key=lambda mark: (mark.start, mark.ngram))
        self._next = 0
        self._open: list[Mark] = []  # those that may reach into the next piece

    def of(self, piece: Piece) -> str:
        """The characters of a piece; pieces come in order."""
        while self._next < len(self._marks) and self._marks[self._next].start < piece.end:
            self._open.append(self._marks[self._next])
            self._next += 1
        self._open = [mark for mark in self._open if mark.end > piece.start]
        if not self._open:
            return as_html(self._text[piece.start : piece.end])
        return "".join(self._cut(piece))

    def _cut(self, piece: Piece) -> Iterator[str]:
        cuts = {piece.start, piece.end}
        cuts |= {each.start for each in self._open} | {each.end for each in self._open}
        inside = sorted(cut for cut in cuts if piece.start <= cut <= piece.end)
        for start, end in pairwise(inside):
            shown = as_html(self._text[start:end])
            over = [mark for mark in self._open if mark.start <= start and end <= mark.end]
            if not over:
                yield shown
                continue
            name = contribution_class(min(over, key=lambda mark: mark.ngram).level)
            numbers = " ".join(str(each) for each in sorted({mark.ngram for mark in over}))
            begun = sorted({mark.ngram for mark in over if mark.start == start})
            begins = f' data-from="{" ".join(map(str, begun))}"' if begun else ""
            yield f'<mark class="{name}" data-n="{numbers}"{begins}>{shown}</mark>'
