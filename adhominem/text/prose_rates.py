"""What a text is like on its face: a few rates by which running prose is known.

Each can be said in one sentence, and does not depend on how long a text is. Which rates are usual,
`scoring.prose` learns from training texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated

import numpy as np

from adhominem.arrays import FloatArray
from adhominem.records import Longest, Options

RATES = (
    "common_words",  # of the words: those that are among the most common ones
    "odd_spelling",  # of the letters: those that stand between neighbours where they rarely do
    "other_letters",  # of the letters: those beyond a to z
    "figures",  # of the tokens: those with a digit
    "symbols",  # of the tokens: those that are no words, figures or ordinary punctuation
    "punctuation",  # of the tokens
    "sentence_ends",  # of the tokens: full stops and the like
    "odd_words",  # of the words: single letters, and those with digits, _ or capitals inside
    "capitals",  # of the words within sentences: those with a capital
    "capital_common_words",  # of the common words within sentences: those with a capital
    "broken_lines",  # of the words: those in lines that end early, and within a sentence
    "line_capitals",  # of the words: those in lines that end within a sentence, before a capital
    "repetition",  # of fifty words: how many of them stand there before
    "word_length",  # in letters, the mean
)

_SENTENCE_ENDS = frozenset(".!?…。？！")
_BEGINNINGS = _SENTENCE_ENDS | frozenset(":\"'“”‘’(-–—*•")  # after them a capital says nothing
_LINE_ENDS = _SENTENCE_ENDS | frozenset(":-–—")  # a dash: speech that breaks off, or a hyphen
_PUNCTUATION = frozenset(".,;:!?'\"()-…–—‘’“”")
_CLOSING = "\"'”’»)]*_ "
_OPENING = "\"'“‘(_*"
_SINGLE = frozenset("aio")  # letters that are words
_QUOTE = re.compile(r"^[ \t]*[>|][>| \t]*", re.MULTILINE)  # how mail marks what it quotes
_LONGEST_LINE = 120  # characters; a longer line is a paragraph, as in `normalisation`
_WIDTH = 0.8  # of the lines are no longer than the width of a text
_ROOM = 0.75  # of the width: a line that ends before it has ended early
_WINDOW = 50  # words within which repetition is counted


@dataclass(frozen=True)
class Lexicon(Options):
    """What words of a language look like: the most common ones, and the usual letter trigrams."""

    common_words: Annotated[tuple[str, ...], Longest(10_000)]  # in small letters
    trigrams: Annotated[tuple[str, ...], Longest(100_000)]  # " ab" begins a word

    @cached_property
    def common(self) -> frozenset[str]:
        """The most common words."""
        return frozenset(self.common_words)

    @cached_property
    def usual(self) -> frozenset[str]:
        """The usual trigrams."""
        return frozenset(self.trigrams)

    @classmethod
    def of(cls, genres: Iterable[Iterable[Sequence[str]]], words: int, share: float) -> Lexicon:
        """From the tokens of texts, by genre: each genre counts as much as the others.

        So many common words, and the most frequent trigrams that make up this share of all.
        """
        frequency: dict[str, float] = {}
        for texts in genres:
            counts = Counter(token for tokens in texts for token in tokens)
            lower = _words(counts)
            for word, count in lower.items():
                frequency[word] = frequency.get(word, 0.0) + count / lower.total()
        rows: dict[str, float] = {}
        for word, weight in frequency.items():
            for row in _trigrams(word):
                rows[row] = rows.get(row, 0.0) + weight
        # Ties by the alphabet: the same texts give the same lexicon, whatever their order.
        ranked = sorted(rows, key=lambda row: (-rows[row], row))
        covered = np.cumsum([rows[row] for row in ranked])
        most = int(np.searchsorted(covered, share * covered[-1])) + 1 if ranked else 0
        common = sorted(frequency, key=lambda word: (-frequency[word], word))[:words]
        return cls(tuple(common), tuple(sorted(ranked[:most])))


def prose_rates(text: str, tokens: Sequence[str], lexicon: Lexicon) -> FloatArray:
    """(rates,): those of a text with these tokens, in the order of `RATES`."""
    counts = Counter(tokens)
    lower = _words(counts)
    words, letters = lower.total(), sum(len(word) * count for word, count in lower.items())
    quotes = sum(len(mark.split()) for mark in _QUOTE.findall(text))

    def of_letters(counted: dict[str, int]) -> float:
        return sum(counted[word] * lower[word] for word in counted) / max(1, letters)

    def of_tokens(number: int) -> float:
        return max(0, number) / max(1, len(tokens))

    odd = {word: sum(row not in lexicon.usual for row in _trigrams(word)) for word in lower}
    other = {word: sum(letter > "\x7f" for letter in word) for word in lower}
    symbols = sum(count for token, count in counts.items() if _is_symbol(token))
    odd_words = sum(count for token, count in counts.items() if _is_odd_word(token))
    rates = {
        "common_words": sum(lower[word] for word in lexicon.common) / max(1, words),
        "odd_spelling": of_letters(odd),
        "other_letters": of_letters(other),
        "figures": of_tokens(sum(counts[token] for token in counts if _has_digit(token))),
        "symbols": of_tokens(symbols - quotes),
        "punctuation": of_tokens(sum(counts[token] for token in counts if _is_mark(token))),
        "sentence_ends": of_tokens(sum(counts[token] for token in counts if _ends(token))),
        "odd_words": odd_words / max(1, words),
        "repetition": _repetition([token.lower() for token in tokens if _is_word(token)]),
        "word_length": letters / max(1, words),
    }
    rates["capitals"], rates["capital_common_words"] = _capitals(tokens, lexicon)
    rates["broken_lines"], rates["line_capitals"] = _lines(_QUOTE.sub("", text))
    return np.array([rates[name] for name in RATES])


def _words(counts: Counter[str]) -> Counter[str]:
    """How often each word is there, in small letters."""
    lower: Counter[str] = Counter()
    for token, count in counts.items():
        if _is_word(token):
            lower[token.lower()] += count
    return lower


def _is_word(token: str) -> bool:
    return token[0].isalpha() and "://" not in token and "@" not in token


def _has_digit(token: str) -> bool:
    return any(map(str.isdigit, token))


def _is_mark(token: str) -> bool:
    return token[0] in _PUNCTUATION and (len(token) <= 3 or len(set(token)) == 1)


def _is_symbol(token: str) -> bool:
    return not (_is_word(token) or _is_mark(token) or token[0].isdigit())


def _ends(token: str) -> bool:
    return token[0] in _SENTENCE_ENDS


def _is_odd_word(token: str) -> bool:
    """Whether it is a word such as no prose has: `x`, `read_file`, `utf8`, `camelCase`."""
    if not _is_word(token):
        return False
    if len(token) == 1:
        return token.lower() not in _SINGLE
    inner = any(map(str.isupper, token[1:])) and not token.isupper()
    return inner or "_" in token or _has_digit(token)


def _trigrams(word: str) -> list[str]:
    """Each letter with its neighbours, or the end of the word."""
    around = f" {word} "
    return [around[at : at + 3] for at in range(len(word))]


def _repetition(words: Sequence[str]) -> float:
    """The share of words that stand there before, the mean of rows of fifty."""
    starts = range(0, max(1, len(words) - _WINDOW + 1), _WINDOW)
    rows = [words[at : at + _WINDOW] for at in starts] if words else []
    return float(np.mean([1 - len(set(row)) / len(row) for row in rows])) if rows else 0.0


def _capitals(tokens: Sequence[str], lexicon: Lexicon) -> tuple[float, float]:
    """Of the words within sentences, and of the common ones of these: those with a capital."""
    counts = np.zeros((2, 2))  # (all or common, small or capital)
    begins = True
    for token in tokens:
        if not _is_word(token):
            begins = begins or token[0] in _BEGINNINGS
            continue
        if not begins and not _is_pronoun(token):
            capital = int(token[0].isupper())
            counts[0, capital] += 1
            counts[1, capital] += token.lower() in lexicon.common
        begins = False
    every, common = (counts[:, 1] / np.maximum(1, counts.sum(axis=1))).tolist()
    return every, common


def _is_pronoun(word: str) -> bool:
    return word == "I" or word.startswith(("I'", "I’"))


def _lines(text: str) -> tuple[float, float]:
    """Of the words, those in lines that end within a sentence: early, and before a capital.

    Of the text as it was given, since normalisation may join lines. Wrapped prose, too, has lines
    that begin with a name: as many capitals as there are inside lines do not count.
    """
    lines = [line.strip() for line in re.split(r"\r\n?|\n", text)]
    split = [line.split() for line in lines]
    total = sum(map(len, split))
    if not total:
        return 0.0, 0.0
    width = float(np.quantile([len(line) for line in lines if line], _WIDTH))
    broken = continued = capital = 0
    for (line, words), (_, following) in pairwise(zip(lines, split, strict=True)):
        ending = line.rstrip(_CLOSING)
        if not ending or ending[-1] in _LINE_ENDS or len(line) > _LONGEST_LINE:
            continue
        next_word = following[0] if following else ""
        if len(line) + 1 + len(next_word) <= _ROOM * width:
            broken += len(words)
        if following:
            continued += len(words)
            capital += len(words) * _begins_with_capital(next_word)
    inside = [word for words in split for word in words[1:] if not _is_pronoun(word)]
    usual = sum(map(_begins_with_capital, inside)) / max(1, len(inside))
    return broken / total, max(0.0, capital - usual * continued) / total


def _begins_with_capital(word: str) -> bool:
    return word.lstrip(_OPENING)[:1].isupper()
