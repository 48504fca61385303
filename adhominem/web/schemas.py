"""What the REST interface takes and gives, as OpenAPI shows it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verifier import exhibits_of
from adhominem.web.service import Case

_FIRST = "I have not yet had an answer to my last, and so I write again; the roads are poor."
_SECOND = "No answer from you yet. I'm writing again anyway. Roads are bad here, really bad."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class TextIn(_Strict):
    """A text, and what is known of it."""

    model_config = ConfigDict(title="A text with its name and topic")

    text: str
    name: str = Field("", description="Shown in the answer.")
    topic: str = Field("", description="What it is about; used if the model knows topics.")


# A text may come alone, and a side as one text: validated as a TextIn and as a list of them.
_ONE_TEXT: list[dict[str, Any]] = [
    {"type": "string", "title": "The text alone"},
    TextIn.model_json_schema(),
]
_TEXTS: dict[str, Any] = {"type": "array", "items": {"anyOf": _ONE_TEXT}}
Text = Annotated[
    TextIn,
    BeforeValidator(lambda value: {"text": value} if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": _ONE_TEXT}),
]
Side = Annotated[
    list[Text],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    WithJsonSchema({"anyOf": [*_ONE_TEXT, {**_TEXTS, "minItems": 1}]}),
]


class Comparison(_Strict):
    """Two sides, each one text, or several by one author."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"first": _FIRST, "second": _SECOND},
                {
                    "first": {"text": _FIRST, "name": "disputed letter"},
                    "second": [
                        {"text": _SECOND, "name": "known letter 1"},
                        {"text": "Got here late. Will call you tomorrow.", "name": "note"},
                    ],
                    "prior_same_author": 0.1,
                    "delta": 0.125,
                    "population": [f"Text {number} of the same genre." for number in range(1, 6)],
                },
            ]
        }
    )

    first: Side
    second: Side
    prior_same_author: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="How probable one author is before the texts are read: yours to state.",
    )
    delta: float = Field(
        0.125, ge=0, lt=0.5, description="Undecided if the probability is within 0.5 ± delta."
    )
    population: Annotated[list[Text] | None, WithJsonSchema(_TEXTS)] = Field(
        None,
        description="Texts of the same genre by anybody, 5 or more, none of those compared. Left "
        "out: the server's, if it has one. An empty list: none.",
    )

    def case(self) -> Case:
        """The comparison as the service takes it, without a population."""
        return Case(
            first=_exhibits(self.first, "first"),
            second=_exhibits(self.second, "second"),
            prior_same_author=self.prior_same_author,
            delta=self.delta,
        )

    def population_documents(self) -> list[Document]:
        """The texts of the request's own population; none if it has none."""
        texts = _exhibits(self.population, "population") if self.population else []
        return [exhibit.document for exhibit in texts]


class Texts(_Strict):
    """Texts to encode."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": [_FIRST, _SECOND]}]})

    texts: Annotated[list[Text], WithJsonSchema({**_TEXTS, "minItems": 1})]

    def exhibits(self) -> list[Exhibit]:
        """The texts with their hashes."""
        return _exhibits(self.texts, "text")


class EncodedText(BaseModel):
    """A text's LEV."""

    name: str
    sha256: str
    lev: list[float]


class Encoded(BaseModel):
    """The LEVs of texts, and the model they are of."""

    model: str
    model_sha256: str
    version: str
    lev_size: int
    texts: list[EncodedText]


class ServedModel(BaseModel):
    """The model that answers."""

    name: str
    sha256: str
    lev_size: int
    members: list[str]
    genres: list[str] = Field(description="The genres that it was trained on, if known.")
    knows_topics: bool
    calibrated: bool
    population_texts: int | None = Field(description="Of the server's own population, if any.")


class Models(BaseModel):
    """What is served."""

    version: str
    models: list[ServedModel]


class Health(BaseModel):
    """Whether the server works."""

    status: str


class Problem(BaseModel):
    """What went wrong, and what to do."""

    type: str
    message: str


class Failure(BaseModel):
    """The one form of all errors."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": {
                        "type": "EmptyTextError",
                        "message": "first: the text has no word in it",
                    }
                }
            ]
        }
    )

    error: Problem


def _exhibits(texts: list[TextIn], name: str) -> list[Exhibit]:
    documents = [Document(text=text.text, id=text.name, topic=text.topic) for text in texts]
    return exhibits_of(documents, name)
