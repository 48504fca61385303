"""Requests of the REST interface with more than two sides, as OpenAPI shows them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from adhominem.questions.cluster.files import PRIOR
from adhominem.questions.contrast.contrast import ContrastOptions
from adhominem.questions.rank.trust import MOST_TRIALS
from adhominem.questions.roll.roll import RollOptions
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.web.attribution import ContrastCase, PartsCase, WhoCase
from adhominem.web.schema import TEXT_ALONE, Others, Side, Strict, Text, TextIn, as_exhibits

_DISPUTED = "I have not yet had an answer to my last, and so I write again; the roads are poor."
_ANNE: list[Any] = ["Dear friend, your letter has come at last.", "I write by the window, as ever."]
_BEN: list[Any] = ["No answer from you yet. I'm writing again.", "Got here late. Will call you."]
_CANDIDATES: dict[str, Any] = {"Anne": _ANNE, "Ben": _BEN}

Candidates = dict[str, Side]


class Who(Strict):
    """Disputed texts, and the known texts of each candidate."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"disputed": _DISPUTED, "candidates": _CANDIDATES, "prior_none": 0.2},
            ]
        }
    )

    disputed: Side = Field(description="By one author, unless they are ranked one by one.")
    candidates: Candidates = Field(description="The known texts of each candidate, by name.")
    population: Others = Field(
        None,
        description="Texts of the same genre by others, 5 or more. Left out: the server's, if it "
        "has one. An empty list, or a server without one: the texts of the other candidates.",
    )
    prior_none: float = Field(
        0.5,
        ge=0,
        lt=1,
        description="How probable it is, before the texts are read, that none of the candidates "
        "wrote them. The candidates share the rest evenly.",
    )
    one_by_one: bool = Field(False, description="Rank each disputed text by itself.")
    trials: int = Field(
        MOST_TRIALS,
        ge=0,
        le=MOST_TRIALS,
        description="Most trials with known texts, which show how far to trust the answer.",
    )
    explain: bool = Field(
        False, description="Also say what speaks for the first candidate over the next ones."
    )

    def case(self) -> WhoCase:
        """The question as the library takes it."""
        return WhoCase(
            disputed=as_exhibits(self.disputed, "disputed"),
            candidates=_known(self.candidates),
            population=as_documents(self.population),
            prior_none=self.prior_none,
            one_by_one=self.one_by_one,
            trials=self.trials,
            explained=self.explain,
        )


class Parts(Strict):
    """A text, and the known texts of each candidate."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": " ".join([_DISPUTED, *_ANNE, *_BEN]),
                    "candidates": _CANDIDATES,
                    "words": 20,
                    "step": 10,
                }
            ]
        }
    )

    text: Text = Field(description="It must be longer than a window.")
    candidates: Candidates = Field(
        {}, description="By name. Left out: where does the style of the text change?"
    )
    population: Others = Field(
        None,
        description="Texts of the same genre by anybody, 5 or more. Left out: the server's, if it "
        "has one. An empty list: none.",
    )
    words: int = Field(500, ge=20, le=100_000, description="Of a window.")
    step: int = Field(
        100, ge=1, le=100_000, description="Words from one window to the next, at most a window."
    )
    passage: int = Field(
        2_000,
        ge=1,
        le=10_000_000,
        description="Words from one change of author to the next, on average, before the text is "
        "read: yours to state.",
    )
    closed: bool = Field(
        False, description="Whether one of the candidates must have written every part."
    )

    def case(self) -> PartsCase:
        """The question as the library takes it, without a population."""
        return PartsCase(
            text=as_exhibits([self.text], "text")[0],
            candidates=_known(self.candidates),
            options=RollOptions(
                words=self.words, step=self.step, passage=self.passage, closed=self.closed
            ),
        )


class AuthoredText(TextIn):
    """A text, and who wrote it, if that is known."""

    model_config = ConfigDict(title="A text with its name, topic and author")

    author: str = Field("", description="The clusters are measured by it, and not made by it.")


_AUTHORED: dict[str, Any] = {
    "type": "array",
    "minItems": 2,
    "items": {"anyOf": [TEXT_ALONE, AuthoredText.model_json_schema()]},
}
Authored = Annotated[
    AuthoredText,
    BeforeValidator(lambda value: {"text": value} if isinstance(value, str) else value),
]


class Mixed(Strict):
    """Texts by an unknown number of people."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": [*_ANNE, *_BEN]}]})

    texts: Annotated[list[Authored], WithJsonSchema(_AUTHORED)]
    prior_same_author: float = Field(
        PRIOR,
        gt=0,
        lt=1,
        description="How probable it is, before the texts are read, that two of them are by one "
        "person: yours to state.",
    )
    population: Others = Field(
        None,
        description="Texts of the same genre by anybody, 5 or more. Left out: the texts "
        "themselves, if they are enough. An empty list: none.",
    )

    def documents(self) -> list[Document]:
        """The texts, each with a name."""
        return [
            Document(
                text=text.text,
                author=text.author,
                topic=text.topic,
                id=text.name or f"text {number}",
            )
            for number, text in enumerate(self.texts, start=1)
        ]


class Sides(Strict):
    """The texts of two people, or of one and of many others."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"first": _ANNE, "second": _BEN, "first_name": "Anne", "second_name": "Ben"}
            ]
        }
    )

    first: Side
    second: Side
    first_name: str = "first"
    second_name: str = "second"
    population: Others = Field(
        None, description="Texts whose rates are told beside those of the two sides."
    )
    top: int = Field(10, ge=1, le=1_000, description="Habits of each group, for each side.")
    slice: int = Field(1_000, ge=50, le=1_000_000, description="Tokens of a slice, for Zeta.")

    def case(self) -> ContrastCase:
        """The question as the library takes it."""
        first, second = (
            [text.document for text in as_exhibits(side, name)]
            for side, name in ((self.first, self.first_name), (self.second, self.second_name))
        )
        return ContrastCase(
            first=first,
            second=second,
            names=(self.first_name, self.second_name),
            usual=as_documents(self.population),
            options=ContrastOptions(top=self.top, slice=self.slice),
        )


def _known(candidates: dict[str, list[Text]]) -> dict[str, list[Exhibit]]:
    """The texts of each candidate, named after the candidate if they have no name."""
    known = {}
    for name, texts in candidates.items():
        named = [
            text if text.name else text.model_copy(update={"name": f"{name}/{number}"})
            for number, text in enumerate(texts, start=1)
        ]
        known[name] = as_exhibits(named, name) if named else []
    return known


def as_documents(texts: list[Text] | None) -> list[Document]:
    """The texts of a population; none if they are left out."""
    return [text.document for text in as_exhibits(texts, "population")] if texts else []
