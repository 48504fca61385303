"""Surface rates of a text by which running prose is recognised.

Each rate can be described in one sentence, and does not depend on the length of a text.
`score.prose` learns the usual rates from training texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Annotated

import numpy as np
import numpy.typing as npt

from adhominem.arrays import FloatArray
from adhominem.records import Longest, Options

RATES = (
    "common_words",  # of the words: those that are among the most common ones
    "odd_spelling",  # of the letters: those between neighbours where they rarely are
    "other_letters",  # of the letters: those beyond a to z
    "figures",  # of the tokens: those with a digit
    "symbols",  # of the tokens: those that are neither words nor figures nor ordinary punctuation
    "punctuation",  # of the tokens
    "sentence_ends",  # of the tokens: full stops and the like
    "odd_words",  # of the words: single letters, and those with digits, _ or capitals inside
    "capitals",  # of the words within sentences: those with a capital
    "capital_common_words",  # of the common words within sentences: those with a capital
    "broken_lines",  # of the words: those in lines that end early, and within a sentence
    "line_capitals",  # of the words: those in lines that end within a sentence, before a capital
    "repetition",  # of fifty words: those that have occurred among them before
    "word_length",  # in letters, the mean
)

_SENTENCE_ENDS = frozenset(".!?…。？！؟۔।॥")
_BEGINNINGS = _SENTENCE_ENDS | frozenset(":\"'“”‘’(-–—*•")  # a capital after them is uninformative
_LINE_ENDS = _SENTENCE_ENDS | frozenset(":-–—")  # a dash: speech that breaks off, or a hyphen
_PUNCTUATION = frozenset(".,;:!?'\"()-…–—‘’“”")
# The same where there may be any language.
_ANY_BEGINNINGS = _BEGINNINGS | frozenset("«»„‚「『《（¿¡・")
_ANY_PUNCTUATION = (
    _PUNCTUATION
    | _ANY_BEGINNINGS
    | frozenset("、，；：．」』》〈〉【】［］）‹›؛،\u0387·\u037e״׳־‐")
)
_CLOSING = "\"'”’»)]*_ 」』）"
_OPENING = "\"'“‘(_*"
_SINGLE = frozenset("aio")  # letters that are words
_QUOTE = re.compile(r"^[ \t]*[>|][>| \t]*", re.MULTILINE)  # quotation marks of mail
_LONGEST_LINE = 120  # characters; a longer line is a paragraph, as in `normalisation`
_WIDTH = 0.8  # of the lines are no longer than the width of a text
_ROOM = 0.75  # of the width: a line shorter than this has ended early
_WINDOW = 50  # words in which repetition is counted
_MOST_CHARACTERS = 1 << 21  # of remembered token types: some 70 MB at most


@dataclass(frozen=True)
class ProseLexicon(Options):
    """The most common words of a language, and its usual letter trigrams."""

    common_words: Annotated[tuple[str, ...], Longest(10_000)]  # in lower case
    trigrams: Annotated[tuple[str, ...], Longest(100_000)]  # " ab" begins a word

    @cached_property
    def common(self) -> frozenset[str]:
        return frozenset(self.common_words)

    @cached_property
    def usual(self) -> frozenset[str]:
        return frozenset(self.trigrams)

    @classmethod
    def of_no_language(cls) -> ProseLexicon:
        """A lexicon for texts in any language: it knows no words and no spelling."""
        return cls((), ())

    @property
    def is_of_a_language(self) -> bool:
        """Whether it knows how words are spelt."""
        return bool(self.trigrams)

    @cached_property
    def types(self) -> _Types:
        """The marks of token types, as far as computed."""
        return _Types(self)

    @classmethod
    def of(
        cls, genres: Iterable[Iterable[Sequence[str]]], words: int, share: float
    ) -> ProseLexicon:
        """A lexicon from the tokens of texts, by genre; all genres have equal weight.

        It has this number of common words, and the most frequent trigrams that make up this share.
        """
        frequency: dict[str, float] = {}
        for texts in genres:
            counts = Counter(token for tokens in texts for token in tokens)
            lower: Counter[str] = Counter()
            for token in filter(_is_word, counts):
                lower[token.lower()] += counts[token]
            for word, count in lower.items():
                frequency[word] = frequency.get(word, 0.0) + count / lower.total()
        rows: dict[str, float] = {}
        for word, weight in frequency.items():
            for row in _trigrams(word):
                rows[row] = rows.get(row, 0.0) + weight
        # Ties go by the alphabet: the lexicon does not depend on the order of the texts.
        ranked = sorted(rows, key=lambda row: (-rows[row], row))
        covered = np.cumsum([rows[row] for row in ranked])
        most = int(np.searchsorted(covered, share * covered[-1])) + 1 if ranked else 0
        common = sorted(frequency, key=lambda word: (-frequency[word], word))[:words]
        return cls(tuple(common), tuple(sorted(ranked[:most])))


def prose_rates(text: str, tokens: Sequence[str], lexicon: ProseLexicon) -> FloatArray:
    """The rates (rates,) of a text with these tokens, in the order of `RATES`."""
    marks, lower = lexicon.types.of(tokens)
    totals = dict(zip(_MARKS, marks.sum(axis=0, dtype=np.int64).tolist(), strict=True))
    words, letters = max(1, totals["word"]), max(1, totals["letters"])
    quotes = _QUOTE.findall(text) if ">" in text or "|" in text else []
    size = max(1, len(tokens))
    rates = {
        "common_words": totals["common"] / words,
        "odd_spelling": totals["odd_letters"] / letters,
        "other_letters": totals["other_letters"] / letters,
        "figures": totals["figure"] / size,
        "symbols": max(0, totals["symbol"] - sum(len(mark.split()) for mark in quotes)) / size,
        "punctuation": totals["mark"] / size,
        "sentence_ends": totals["end"] / size,
        "odd_words": totals["odd_word"] / words,
        "repetition": _repetition(lower),
        "word_length": totals["letters"] / words,
    }
    rates["capitals"], rates["capital_common_words"] = _capitals(marks)
    rates["broken_lines"], rates["line_capitals"] = _lines(_QUOTE.sub("", text) if quotes else text)
    return np.array([rates[name] for name in RATES])


_MARKS = (  # marks of a token type: counts, or 1 for true
    *("word", "letters", "odd_letters", "other_letters", "common"),  # the latter of words alone
    *("figure", "symbol", "mark", "end", "odd_word", "opens", "pronoun", "capital"),
)


class _Types:
    """The marks of token types, computed once per type.

    It is safe for threads: the marks of a type are written at once, and never change.
    """

    def __init__(self, lexicon: ProseLexicon) -> None:
        self._common, self._usual = lexicon.common, lexicon.usual
        self._one_language = lexicon.is_of_a_language
        self._punctuation = _PUNCTUATION if self._one_language else _ANY_PUNCTUATION
        self._beginnings = _BEGINNINGS if self._one_language else _ANY_BEGINNINGS
        self._known: dict[str, tuple[bytes, str]] = {}
        self._characters = 0  # of all known types

    def of(self, tokens: Sequence[str]) -> tuple[npt.NDArray[np.int32], list[str]]:
        """The marks (tokens, marks), and the words among the tokens in lower case."""
        if self._characters > _MOST_CHARACTERS:
            self._known, self._characters = {}, 0
        known = self._known
        for token in {token for token in tokens if token not in known}:
            known[token] = self._row(token)
            self._characters += len(token) + 1
        both = [known[token] for token in tokens]
        rows = np.frombuffer(b"".join([row for row, _ in both]), np.int32)
        return rows.reshape(-1, len(_MARKS)), [lower for _, lower in both if lower]

    def _row(self, token: str) -> tuple[bytes, str]:
        is_word, one_language = _is_word(token), self._one_language
        lower = token.lower() if is_word else ""
        has_digit = any(map(str.isdigit, token))
        is_mark = token[0] in self._punctuation and (len(token) <= 3 or len(set(token)) == 1)
        # Words that prose hardly contains: `x`, `read_file`, `utf8`, `camelCase`.
        capital_inside = any(map(str.isupper, token[1:])) and not token.isupper()
        is_odd = capital_inside or "_" in token or has_digit
        marks = (
            is_word,
            len(lower),
            sum(row not in self._usual for row in _trigrams(lower)) if one_language else 0,
            sum(letter > "\x7f" for letter in lower) if one_language else 0,
            lower in self._common,
            has_digit,
            not (is_word or is_mark or token[0].isdigit()),
            is_mark,
            token[0] in _SENTENCE_ENDS,
            is_word and (is_odd if len(token) > 1 or not one_language else lower not in _SINGLE),
            not is_word and token[0] in self._beginnings,
            _is_pronoun(token),
            token[0].isupper(),
        )
        return np.array(marks, np.int32).tobytes(), lower


def _is_word(token: str) -> bool:
    return token[0].isalpha() and "://" not in token and "@" not in token


def _trigrams(word: str) -> list[str]:
    """Each letter of a word with its neighbours; spaces mark both ends."""
    around = f" {word} "
    return [around[at : at + 3] for at in range(len(word))]


def _repetition(words: Sequence[str]) -> float:
    """The share of words that have occurred before, averaged over windows of fifty."""
    starts = range(0, max(1, len(words) - _WINDOW + 1), _WINDOW)
    rows = [words[at : at + _WINDOW] for at in starts] if words else []
    return float(np.mean([1 - len(set(row)) / len(row) for row in rows])) if rows else 0.0


def _capitals(marks: npt.NDArray[np.int32]) -> tuple[float, float]:
    """The share of capitals among words within sentences, and among the common ones."""
    opens, word = (marks[:, _MARKS.index(name)] for name in ("opens", "word"))
    words = np.flatnonzero(word)
    # A word within a sentence has no sentence end between it and the word before.
    inside = words[np.diff(np.cumsum(opens)[words], prepend=-1) == 0]
    of = marks[inside[marks[inside, _MARKS.index("pronoun")] == 0]]
    capital, common = of[:, _MARKS.index("capital")], of[:, _MARKS.index("common")]
    every = int(capital.sum()) / max(1, len(of))
    return every, int((capital & common).sum()) / max(1, int(common.sum()))


def _is_pronoun(word: str) -> bool:
    return word == "I" or word.startswith(("I'", "I’"))


def _lines(text: str) -> tuple[float, float]:
    """The shares of words in lines that end within a sentence: early, and before a capital.

    They are taken from the original text, since normalisation may join lines. Lines of wrapped
    prose may also begin with a name: the expected number of capitals is subtracted.
    """
    lines = [line.strip() for line in re.split(r"\r\n?|\n", text)]
    if len(lines) == 1:
        return 0.0, 0.0
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
    if not continued:
        return broken / total, 0.0
    inside = Counter(chain.from_iterable(words[1:] for words in split))
    counted = [word for word in inside if not _is_pronoun(word)]
    capitals = sum(inside[word] for word in counted if _begins_with_capital(word))
    usual = capitals / max(1, sum(inside[word] for word in counted))
    return broken / total, max(0.0, capital - usual * continued) / total


def _begins_with_capital(word: str) -> bool:
    return word.lstrip(_OPENING)[:1].isupper()
