"""The words of a text, and where its sentences begin.

White space separates words. In scripts without spaces, two characters of Chinese or Japanese, and
four of Thai, Lao, Khmer or Burmese, count as a word, since words of these languages are about as
long: so a number of words means about as much text everywhere.

A sentence ends with a mark, and closing quotes or brackets, before a word that does not begin with
a lower-case letter; or with a paragraph. A full stop after an initial or an abbreviation does not
end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from adhominem.arrays import IntArray

_CHINESE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = re.compile(f"[{_CHINESE}{_THAI}]")
_WORD = re.compile(r"\S+")
_ANY_WORD = re.compile(
    rf"[^\w\s]*(?:[{_CHINESE}]{{1,2}}|[{_THAI}]{{1,4}})(?:(?![{_THAI}「『（《〈【])[^\w\s])*"
    rf"|[^\s{_CHINESE}{_THAI}]+"
)
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_ENDS = tuple(".!?…。！？؟۔।")
_CLOSING = "\"'”’»)]*_」』）"
_OPENING = "\"'“‘«([*_—–-「『（¿¡"
# Before a full stop that does not end a sentence.
_SHORT = re.compile(
    r"mrs?|ms|messrs|dr|st|prof|rev|hon|gen|col|capt|lt|jr|sr|vs|vol|fig|nos|cf|al|e\.g|i\.e", re.I
)


def words_of(text: str) -> Iterator[re.Match[str]]:
    """The words of a text, in order."""
    return (_WORD if _is_spaced(text) else _ANY_WORD).finditer(text)


def count_words(text: str) -> int:
    """The number of words of a text."""
    return len(text.split()) if _is_spaced(text) else sum(1 for _ in words_of(text))


def first_words(text: str, words: int) -> str:
    """The beginning of a text, up to a number of words."""
    ends = islice(words_of(text), words - 1, words)
    return next((text[: word.end()] for word in ends), text)


def word_spans(text: str) -> IntArray:
    """The spans (words, 2) of the words of a text."""
    spans = [word.span() for word in words_of(text)]
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def _is_spaced(text: str) -> bool:
    return text.isascii() or _UNSPACED.search(text) is None


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
