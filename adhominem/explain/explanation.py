"""What is told of a comparison beside its number: the data that all pictures are made from.

A text is shown in *passages*. A passage is what a window adds to those before it: neighbouring
windows overlap by a few tokens, passages do not, so nothing is shown twice. All places are
character positions in the text as the user gave it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adhominem.records import with_schema
from adhominem.verify.verification import Verification


@dataclass(frozen=True)
class TokenAttention:
    """A token, and how much of its passage's attention it got."""

    start: int
    end: int
    attention: float  # share; those of a passage sum to 1


@dataclass(frozen=True)
class Passage:
    """A stretch of a text, with its contribution and its attention."""

    start: int
    end: int
    contribution: float  # log Bayes factor with it, less that without it, in nats
    attention: float | None  # share of the document's; None where no network looked
    tokens: tuple[TokenAttention, ...] = ()  # empty where no network looked, or it did not read it


@dataclass(frozen=True)
class ExplainedText:
    """A text of one side, with its passages in order. White space may lie between two."""

    side: str  # first or second
    name: str
    text: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True)
class Place:
    """A place in one of the texts of an explanation, in characters."""

    text: int  # index into the texts of the explanation
    start: int
    end: int


@dataclass(frozen=True)
class NgramContribution:
    """An n-gram, and what it contributes."""

    ngram: str  # as it is shown to people
    channel: str  # characters, tokens, bigrams or shaped_bigrams
    contribution: float  # log Bayes factor with it, less that without it, in nats
    first: int  # how often it occurs in the texts of the first side
    second: int
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Explanation:
    """A comparison, and what made it come out as it did."""

    verification: Verification
    texts: tuple[ExplainedText, ...]  # those of the first side, then those of the second
    ngrams: tuple[NgramContribution, ...]  # the strongest first, whatever their sign

    @property
    def has_attention(self) -> bool:
        """Whether a network looked at the texts."""
        return any(
            passage.attention is not None for text in self.texts for passage in text.passages
        )

    def to_json(self) -> dict[str, Any]:
        """As plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)
