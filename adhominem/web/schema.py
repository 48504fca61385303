"""What all requests of the REST interface have in common: texts, sides, and errors."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from adhominem.errors import EmptyTextError
from adhominem.text.exhibits import Exhibit, exhibits_of
from adhominem.text.files import Document

_PROBLEM: Any = {"type": "EmptyTextError", "message": "first: the text has no word in it"}
_FAILURES = {
    400: "No JSON.",
    401: "The token is missing or wrong.",
    403: "Asked by another site, or under another name.",
    408: "The request came too slowly.",
    413: "More than the limits allow.",
    415: "A body that is packed, or is not said to be JSON.",
    422: "A text or a setting that cannot be used.",
    503: "Too many requests are waiting; see Retry-After.",
    504: "The answer did not come in time.",
}


# `Document` refuses others, with a message that says which text it was.
_WORDS: dict[str, Any] = {"type": "string", "minLength": 1, "pattern": r"\S"}


class Strict(BaseModel):
    """A part of a request in which nothing is put up with that is not known."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class TextIn(Strict):
    """A text, and what is known of it."""

    model_config = ConfigDict(title="A text with its name and topic")

    text: Annotated[str, WithJsonSchema(_WORDS)]
    name: str = Field("", description="Shown in the answer.")
    topic: str = Field("", description="What it is about; used if the model knows topics.")


# A text may come alone, and a side as one text: validated as a TextIn and as a list of them.
TEXT_ALONE: dict[str, Any] = {**_WORDS, "title": "The text alone"}
_ONE_TEXT: list[dict[str, Any]] = [TEXT_ALONE, TextIn.model_json_schema()]
MANY_TEXTS: dict[str, Any] = {"type": "array", "items": {"anyOf": _ONE_TEXT}}
Text = Annotated[
    TextIn,
    BeforeValidator(lambda value: {"text": value} if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": _ONE_TEXT}),
]
Side = Annotated[
    list[Text],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    WithJsonSchema({"anyOf": [*_ONE_TEXT, {**MANY_TEXTS, "minItems": 1}]}),
]


Others = Annotated[
    list[Text] | None, WithJsonSchema({"anyOf": [MANY_TEXTS, {"type": "null"}]})
]  # None is as if it were left out


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
AuthoredTexts = Annotated[list[Authored], WithJsonSchema(_AUTHORED)]


class Problem(BaseModel):
    """What went wrong, and what to do."""

    type: str
    message: str


class Failure(BaseModel):
    """The one form of all errors."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"error": _PROBLEM}]})

    error: Problem


def as_exhibits(texts: list[TextIn], name: str) -> list[Exhibit]:
    """Texts with their hashes; those without a name are called after their side."""
    documents = []
    for number, text in enumerate(texts, start=1):
        try:
            documents.append(Document(text=text.text, id=text.name, topic=text.topic))
        except EmptyTextError as error:
            which = name if len(texts) == 1 else f"{name}-{number}"
            raise EmptyTextError(error.problem, text.name or which) from None
    return exhibits_of(documents, name)


def responses(model: Any) -> dict[int | str, dict[str, Any]]:
    """What a route answers: something like `model`, or an error."""
    told: dict[int | str, dict[str, Any]] = {200: {"model": model}}
    for status, description in _FAILURES.items():
        told[status] = {"model": Failure, "description": description}
    return told
