"""Cautions: reasons to doubt a result, and those that concern single texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from adhominem.pairs.passages import TakenOut, find_duplicates, fingerprint
from adhominem.score.prose import Departure
from adhominem.score.typicality import Typicality
from adhominem.text.exhibits import Exhibit

_FEWEST_TOKENS = 100  # of a side's longest text; below this, nothing is decided
_SHORT_TOKENS = 500  # of a text; below this, a model without its own limit warns
_COMMON_WORDS = 100  # the most frequent words of the training texts
_FEWEST_COMMON = 0.2  # their smallest share of a text's words; about a half in English prose
_FEWEST_WORDS = 20  # in a text, for the share to be judged
_SHARED = 0.2  # share of the shorter text that is also in the other
_MOST_NAMED = 5  # texts in one message
# How each rate is described.
_RESPECTS = {
    "common_words": "{value} of its words are among the most common words of the training texts",
    "odd_spelling": "{value} of its letters stand in combinations that hardly occur in training",
    "other_letters": "{value} of its letters are none of a to z",
    "figures": "{value} of its words and marks are figures",
    "symbols": "{value} of its words and marks are symbols such as = or |",
    "punctuation": "{value} of its words and marks are punctuation",
    "sentence_ends": "{value} of its words and marks end a sentence",
    "odd_words": (
        "{value} of its words are single letters or have digits, underscores or capitals inside"
    ),
    "capitals": "{value} of its words within sentences begin with a capital",
    "capital_common_words": (
        "{value} of its common words within sentences begin with a capital, as in headings, in "
        "verse, or where all is in capitals"
    ),
    "broken_lines": (
        "{value} of its words stand in short lines that break off within a sentence, as in lists, "
        "tables, code and verse"
    ),
    "line_capitals": (
        "{value} of its words stand in lines that break off within a sentence before a capital, as "
        "in verse and lists"
    ),
    "repetition": "{value} of its words repeat one of the words just before",
    "word_length": "its words have {value} letters on average",
}
_NUMBERS = ("word_length",)  # rates that are not shares


@dataclass(frozen=True)
class Caution:
    """A reason to doubt the result; with `blocks_decision`, no decision is made."""

    code: str
    message: str
    blocks_decision: bool = field(default=False, metadata={"alias": "decides"})


@dataclass(frozen=True, kw_only=True)
class ExaminedText:
    """A text of a side, with what an examination of this text alone showed."""

    exhibit: Exhibit
    tokens: Sequence[str]  # of the leading member
    copies: Sequence[Exhibit] = ()  # texts of the same side with the same tokens
    atypicality: float = 0.0  # of its LEV, for models without a description of prose
    departure: Departure | None = None  # from prose, for models with one
    machine_written: bool = False  # whether it looks machine-written

    @property
    def name(self) -> str:
        """The name of the text."""
        return self.exhibit.document.id


def caution(
    code: str, what: str, meaning: str, advice: str, blocks_decision: bool = False
) -> Caution:
    """A caution made of three parts: what happened, what it means for the result, what to do.

    docs/messages.md lists all cautions in these parts.
    """
    return Caution(code, f"{what}. {_capital(meaning)}. {_capital(advice)}", blocks_decision)


def listed(names: Sequence[str], between: str = ", ") -> str:
    """The first few names and the number of the others, as text."""
    more = len(names) - _MOST_NAMED
    return between.join(names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def named(names: Sequence[str], between: str = ", ") -> str:
    """The first few names, as text, with a sign that there are more."""
    more = f"{between}and more" if len(names) > _MOST_NAMED else ""
    return between.join(names[:_MOST_NAMED]) + more


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def cautions_of_texts(
    sides: Sequence[Sequence[ExaminedText]],
    *,
    common_words: Sequence[str],
    known_types: frozenset[str],
    typicality: Typicality | None,
) -> Iterator[Caution]:
    """The cautions about single texts: too short, foreign, unlike the training texts."""
    for side in sides:
        yield from _short(side, typicality)
        for text in side:
            foreign = foreign_text(text.name, text.tokens, text.departure, common_words)
            if foreign is not None:
                yield foreign
            elif text.departure is None and (unlike := _unlike(text, known_types, typicality)):
                yield caution(
                    "unlike_training",
                    f"{text.name} is unlike the training texts ({unlike})",
                    "the number may not hold for it",
                    "try the model on such texts by known authors, with `adhominem validate`",
                )
    for side in sides:
        yield from _by_machines([text.name for text in side if text.machine_written])


def _short(side: Sequence[ExaminedText], typicality: Typicality | None) -> Iterator[Caution]:
    """The caution about short texts; each counts on its own, so their sum does not help."""
    known = typicality is not None and typicality.shortest >= _FEWEST_TOKENS
    usual = _SHORT_TOKENS if typicality is None else max(_FEWEST_TOKENS, float(typicality.shortest))
    short = [f"{text.name} ({len(text.tokens)})" for text in side if len(text.tokens) < usual]
    if not short:
        return
    names = named(short)
    if max(len(text.tokens) for text in side) < _FEWEST_TOKENS:
        yield caution(
            "too_short",
            f"too few words and marks to say anything: {names}; expected {_FEWEST_TOKENS} or more",
            "a number for so little text means nothing",
            "give longer texts; short messages by one author can be put into one file",
            blocks_decision=True,
        )
    elif known:
        yield caution(
            "short",
            f"fewer words and marks than in nearly all training texts: {names}",
            "how reliable the number is for texts so short was hardly measured",
            "use longer texts if you have them",
        )
    else:  # the lengths of the training texts are unknown, or shorter still
        yield caution(
            "short",
            f"fewer than {usual:g} words and marks: {names}",
            "texts so short say little about their author",
            "use longer texts if you have them",
        )


def foreign_text(
    name: str, words: Sequence[str], departure: Departure | None, common_words: Sequence[str]
) -> Caution | None:
    """The reason why no statement is made on a text that is not what the model was made for.

    It is judged by its departure from prose or, if the model has no description of prose, by its
    words.
    """
    if departure is None:
        if not is_other_language(words, common_words):
            return None
        return caution(
            "other_language",
            f"{name} hardly has a common word of the training texts: it seems to be in another "
            "language, or no running text",
            "the model knows nothing about such texts",
            "compare running text in a language that the model was trained on",
            blocks_decision=True,
        )
    if departure.atypicality <= 1:
        return None
    return caution(
        "foreign",
        f"{name} is not running prose of a kind that the model knows: {in_what_respect(departure)}",
        "the number means nothing for such a text",
        "if only a part of it is not prose, remove that part and compare the rest",
        blocks_decision=True,
    )


def in_what_respect(departure: Departure) -> str:
    """The rate in which a text departs most from the nearest genre of prose, in words."""
    value, usual = (
        _rate_shown(number, departure.rate) for number in (departure.value, departure.usual)
    )
    return f"{_RESPECTS[departure.rate].format(value=value)} (usual: {usual})"


def _rate_shown(number: float, rate: str) -> str:
    if rate in _NUMBERS:
        return f"{number:.1f}"
    return f"{number:.0%}" if number >= 0.1 or number < 0.0005 else f"{number:.1%}"


def _by_machines(names: Sequence[str]) -> Iterator[Caution]:
    """The caution about texts that look machine-written, which have nobody's personal style."""
    if names:
        yield caution(
            "machine_written",
            f"may have been written by a machine: {named(names)}. Up to 2 in 100 texts by people "
            "look like this, too",
            "the number cannot tell a machine from an author: its text on somebody's topic may "
            "count as theirs, and two texts by machines may count as one person's",
            "find out how the texts were written before you rely on it",
        )


def _unlike(text: ExaminedText, known: frozenset[str], typicality: Typicality | None) -> str:
    """How a text differs from the training texts, in words; empty if it does not."""
    if text.atypicality > 1:
        return f"{text.atypicality:.1f} times as far from their mean as nearly all of them"
    if typicality is not None:
        unknown = sum(token not in known for token in text.tokens) / len(text.tokens)
        if unknown > typicality.unknown_limit:
            return f"{unknown:.0%} of it are rare words, more than in nearly all of them"
    return ""


def is_other_language(tokens: Sequence[str], common: Sequence[str]) -> bool:
    """Whether a text contains hardly any of the most common words, if these are known."""
    words = [token.lower() for token in tokens if token[:1].isalpha()]
    if len(words) < _FEWEST_WORDS or len(common) < _COMMON_WORDS:
        return False
    frequent = set(common[:_COMMON_WORDS])
    return sum(word in frequent for word in words) / len(words) < _FEWEST_COMMON


def repeated_texts(sides: Sequence[Sequence[ExaminedText]]) -> Iterator[Caution]:
    """The caution about texts that occur several times on one side, word for word."""
    both = [
        f"{text.name} and {copy.document.id}"
        for side in sides
        for text in side
        for copy in text.copies
    ]
    if both:
        yield caution(
            "repeated_text",
            f"the same text more than once on one side: {named(both, '; ')}",
            "it counts once, so the number is not affected",
            "if these should be different texts, look at the files",
        )


def shared_texts(sides: Sequence[Sequence[ExaminedText]]) -> Iterator[Caution]:
    """The cautions about texts that occur on both sides or in each other, whole or in part."""
    texts = [text for side in sides for text in side]
    names = [text.name for text in texts]
    prints = [fingerprint(text.exhibit.document.text) for text in texts]
    repeated: dict[bool, list[str]] = {}
    for pair in find_duplicates(prints, _SHARED):
        both = f"{names[pair.first]} and {names[pair.second]}"
        in_first = pair.first < len(sides[0])
        if in_first == (pair.second < len(sides[0])):
            repeated.setdefault(in_first, []).append(both)
        elif prints[pair.first].exact == prints[pair.second].exact:
            yield caution(
                "identical",
                f"{both} are the same text",
                "a text compared with itself says nothing about who wrote it",
                "compare two different texts",
                blocks_decision=True,
            )
        else:
            yield caution(
                "shared_text",
                f"about {pair.share:.0%} of the shorter of {both} stands in the other",
                "what was copied says nothing of who wrote the rest, but makes the two look alike",
                "remove what they share from both, and compare the rest",
                blocks_decision=pair.share >= 0.5,
            )
    for pairs in repeated.values():
        yield caution(
            "repeated",
            f"texts of one side share a good part of their words: {named(pairs, '; ')}",
            "they still count as two, which makes the number surer than it should be",
            "leave one of them out, or remove what they share",
        )


def passages_taken_out(taken_out: TakenOut) -> Iterator[Caution]:
    """The caution about passages that were not compared, or counted only once."""
    if taken_out:
        passages = [f"{name} ({words:,} words)" for name, words in taken_out]
        yield caution(
            "shared_text",
            "passages that stand in several texts or several times in one, such as quotations and "
            f"disclaimers: {listed(passages)}",
            "they say nothing about who wrote the rest, so the number does not count what texts "
            "share, and counts once what a text repeats",
            "make sure that the rest is by the person in question",
        )
