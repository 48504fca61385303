"""What a comparison of two sides came to, and what it was made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from adhominem.records import with_schema
from adhominem.verify.cautions import Caution


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


@dataclass(frozen=True, kw_only=True)
class Verification:
    """How strong the evidence is that one person wrote both sides, and what to beware of."""

    log_bayes_factor: float  # in nats
    log10_bayes_factor: float
    verbal: str
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
