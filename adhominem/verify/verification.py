"""What a comparison of two sides came to, and what it was made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adhominem.records import with_schema
from adhominem.score.calibration import Conditions
from adhominem.verify.cautions import Caution

_MOSTLY = 0.5  # share of a genre from which on the texts count as of this genre
_ANY_GENRE = "*"  # the texts are like the training texts, but of no one genre


@dataclass(frozen=True)
class Material:
    """A text that was compared."""

    name: str
    tokens: int
    sha256: str


@dataclass(frozen=True)
class Side:
    """All texts of one side, by one author."""

    documents: tuple[Material, ...]  # also those that are copies of others
    tokens: int  # of the different texts


@dataclass(frozen=True)
class PopulationUse:
    """The relevant population of a comparison, and what the comparison would be without it."""

    texts: int
    log10_bayes_factor_without: float


@dataclass(frozen=True)
class Likeness:
    """How like the training texts the texts at hand are."""

    genres: dict[str, float]  # shares of each genre in what they look like
    atypicality: float  # of the least typical text: 99% of the training texts are below 1
    described: dict[str, str] = field(
        default_factory=dict
    )  # the genres in words, if the model says

    def name(self, genre: str) -> str:
        """A genre as people call it."""
        return self.described.get(genre, genre)


def guessed_genre(likeness: Likeness | None) -> str:
    """The genre that the model takes the texts for, as `Validation.like` has it.

    Empty where the texts are unlike all that it knows.
    """
    if likeness is None or not likeness.genres:  # it knows no genres: all cases are alike to it
        return _ANY_GENRE
    if likeness.atypicality > 1:
        return ""
    genre, share = max(likeness.genres.items(), key=lambda item: item[1])
    return genre if share >= _MOSTLY else _ANY_GENRE


def in_words(conditions: Conditions) -> str:
    """The conditions of one comparison."""
    first, second = conditions.texts[0].astype(int).tolist()
    tokens = float(np.exp(conditions.log_tokens[0].min()))
    population = int(conditions.population[0])
    return (
        f"{first:,} text{'' if first == 1 else 's'} against {second:,}, about {tokens:,.0f} words "
        f"and marks in the shorter texts, "
        f"{f'a population of {population:,} texts' if population else 'no population'}"
    )


@dataclass(frozen=True, kw_only=True)
class Verification:
    """How strong the evidence is that one person wrote both sides, and what to beware of."""

    log_bayes_factor: float  # in nats
    log10_bayes_factor: float
    verbal: str
    lower_bound: float | None  # of the log10 Bayes factor under these conditions; None: no bounds,
    upper_bound: float | None  # since the model is not calibrated
    conditions: str  # in words
    reach: str  # what the bounds are in words; empty without any
    probability_same_author: float  # with the prior below, and no other
    prior_same_author: float
    decision: str
    reason: str
    population: PopulationUse | None  # what it did to the Bayes factor
    likeness: Likeness | None  # of the texts to those of training
    warnings: tuple[Caution, ...]
    model: str
    model_sha256: str  # of all that the number depends on
    version: str  # of AdHominem
    first: Side
    second: Side

    def to_json(self) -> dict[str, Any]:
        """As plain lists, numbers and strings, with the version of the schema."""
        return with_schema(self)
