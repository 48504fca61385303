"""An explanation for paper: its passages begin at sentences.

A network reads windows of so many tokens, which begin and end anywhere. A reader wants whole
sentences. What a passage contributes is shared evenly among its characters, and a new passage, of
as many sentences as it takes to be long enough, has the sum of what its characters have: so all
passages together contribute what they did before.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import pairwise

from adhominem.verify.explanation import ExplainedText, Explanation, Passage, TokenAttention

SHORTEST = 200  # characters of a passage; a sentence that is longer stays whole
LONGEST = 1_200  # where no sentence ends, a passage ends with a window

# A sentence ends with a mark, and whatever closes it, before white space and what may begin one;
# or with a paragraph.
_ENDS = re.compile(r"""[.!?…]["'”’»)\]]*\s+(?=["'“‘«(\[]*[A-ZÀ-ÞΑ-ΩА-Я0-9])|\n\s*\n\s*""")
_NO_END = re.compile(
    r"(?:\b(?:[A-Z]|Mrs?|Ms|Dr|Prof|St|Rev|Gen|Col|Capt|Lt|Hon|Messrs|No|Nos|Vol|Fig|vs|etc|e\.g|i\.e|cf|al)"
    r"|\.\.)\.$"
)


def sentence_starts(text: str) -> list[int]:
    """Where the sentences of a text begin, rising; the first begins with its first letter."""
    first = len(text) - len(text.lstrip())
    starts = [first]
    for match in _ENDS.finditer(text):
        mark = text[max(0, match.start() - 12) : match.start() + 1]
        if match[0].startswith("\n") or not _NO_END.search(mark):
            starts.append(match.end())
    return [start for start in dict.fromkeys(starts) if start < len(text)]


def at_sentences(explanation: Explanation) -> Explanation:
    """The same explanation with other passages: each begins with a sentence."""
    return replace(explanation, texts=tuple(map(_recut, explanation.texts)))


def _recut(text: ExplainedText) -> ExplainedText:
    if not text.passages:
        return text
    first, last = text.passages[0].start, text.passages[-1].end
    starts = _chosen(text, first, last)
    tokens = [  # each with its part of the attention to the whole text
        (token, (passage.attention or 0.0) * token.attention)
        for passage in text.passages
        for token in passage.tokens
    ]
    places = [token.start for token, _ in tokens]
    attended = all(passage.attention is not None for passage in text.passages)
    passages = []
    for start, end in pairwise([*starts, last + 1]):
        within = tokens[bisect_left(places, start) : bisect_left(places, end)]
        weight = sum(part for _, part in within)
        passages.append(
            Passage(
                start,
                start + len(text.text[start : min(end, last)].rstrip()),
                sum(
                    _share(passage, start, end) * passage.contribution for passage in text.passages
                ),
                weight if attended else None,
                tuple(
                    TokenAttention(token.start, token.end, part / weight if weight else 0.0)
                    for token, part in within
                ),
            )
        )
    return replace(text, passages=tuple(passages))


def _chosen(text: ExplainedText, first: int, last: int) -> list[int]:
    """Where the new passages begin."""
    begins = [start for start in sentence_starts(text.text) if first < start < last]
    windows = [passage.start for passage in text.passages]
    chosen = [first]
    for start in [*begins, last]:
        while (
            start - chosen[-1] > LONGEST
            and (at := windows[max(0, bisect_right(windows, chosen[-1] + LONGEST) - 1)])
            > chosen[-1]
        ):
            chosen.append(at)
        if start < last and start - chosen[-1] >= SHORTEST and last - start >= SHORTEST // 2:
            chosen.append(start)
    return chosen


def _share(passage: Passage, start: int, end: int) -> float:
    """How much of a passage lies between two places."""
    length = max(1, passage.end - passage.start)  # an empty one has its place, too
    return max(0, min(passage.start + length, end) - max(passage.start, start)) / length
