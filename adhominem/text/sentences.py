"""Where the sentences of a text begin.

A sentence ends with a mark, and closing quotes or brackets, before a word that does not begin with
a lower-case letter; or with a paragraph. A full stop after an initial or an abbreviation does not
end it.
"""

from __future__ import annotations

import re

import numpy as np

from adhominem.arrays import IntArray

_WORD = re.compile(r"\S+")
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_ENDS = tuple(".!?…")
_CLOSING = "\"'”’»)]*_"
_OPENING = "\"'“‘«([*_—–-"
# Before a full stop that does not end a sentence.
_SHORT = re.compile(
    r"mrs?|ms|messrs|dr|st|prof|rev|hon|gen|col|capt|lt|jr|sr|vs|vol|fig|nos|cf|al|e\.g|i\.e", re.I
)


def word_spans(text: str) -> IntArray:
    """The spans (words, 2) of the words of a text, which white space separates."""
    spans = [word.span() for word in _WORD.finditer(text)]
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def sentence_starts(text: str, spans: IntArray) -> IntArray:
    """The indices (sentences,) of words, with spans (words, 2), that begin a sentence."""
    starts = [0][: len(spans)]
    for at in range(1, len(spans)):
        (begin, end), start = spans[at - 1].tolist(), int(spans[at, 0])
        before = text[begin:end].rstrip(_CLOSING)
        following = text[start : start + 5].lstrip(_OPENING)[:1]
        ended = before.endswith(_ENDS) and not following.islower()
        if ended and before.endswith("."):
            name = before.rstrip(".").lstrip(_OPENING)
            is_initial = len(name) == 1 and name.isupper() and name != "I"
            is_number = name == "No" and following.isdigit()
            is_short = is_initial or is_number or _SHORT.fullmatch(name) is not None
            ended = not is_short and not before.endswith("..")
        if ended or _PARAGRAPH.search(text, end, start):
            starts.append(at)
    return np.array(starts, dtype=np.int64)
