"""In what respect a text is no running prose of a known kind, in words."""

from __future__ import annotations

from adhominem.score.prose import Departure

# What is said of each rate.
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
_NUMBERS = ("word_length",)  # rates that are no shares


def in_what_respect(departure: Departure) -> str:
    """Where a text departs most from the nearest genre of prose."""
    value, usual = (_shown(number, departure.rate) for number in (departure.value, departure.usual))
    return f"{_RESPECTS[departure.rate].format(value=value)} (usual: {usual})"


def _shown(number: float, rate: str) -> str:
    if rate in _NUMBERS:
        return f"{number:.1f}"
    return f"{number:.0%}" if number >= 0.1 or number < 0.0005 else f"{number:.1%}"
