"""Requests of the REST interface: bodies of JSON, the texts and sides in them, and their errors.

Large bodies are read in a thread, and none before it is seen to have few entries. A parser written
in C lets nobody else run before it has ended, thread or not, and a body of five million empty lists
keeps it for seconds. What stands between the strings of an honest request is short, however long
its texts are; to see that takes a few passes that are as fast as memory.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from adhominem.errors import EmptyTextError
from adhominem.text.exhibits import Exhibit, exhibits_of
from adhominem.text.files import Document
from adhominem.web.failures import RequestError
from adhominem.web.service import Service

Result = TypeVar("Result")
_MOST_ENTRIES = 10_000  # of all lists and objects; how many texts there may be, the limits say
_MOST_BETWEEN = 1_000_000  # bytes that are not in strings: indentation, and numbers
_SMALL = 1 << 16  # bytes: what is read sooner than a thread is woken up
_JSON = re.compile(r"application/([^/\s]+\+)?json")


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


def as_exhibits(texts: Sequence[TextIn], name: str, between: str = "-") -> list[Exhibit]:
    """Texts with their hashes; those without a name are called after their side, and numbered.

    `between` is before the number; a text that is alone has a number only with one of its own.
    """
    exhibits = []
    for number, text in enumerate(texts, start=1):
        is_numbered = len(texts) > 1 or between != "-"
        own = text.name or (f"{name}{between}{number}" if is_numbered else name)
        try:
            document = Document(text=text.text, id=own, topic=text.topic)
        except EmptyTextError as error:
            raise EmptyTextError(error.problem, own) from None
        exhibits.append(Exhibit.of(document, own))
    if not exhibits:
        exhibits_of([], name)  # raises the error
    return exhibits


def responses(model: Any) -> dict[int | str, dict[str, Any]]:
    """What a route answers: something like `model`, or an error."""
    told: dict[int | str, dict[str, Any]] = {200: {"model": model}}
    for status, description in _FAILURES.items():
        told[status] = {"model": Failure, "description": description}
    return told


async def awaited(service: Service, request: Request, answer: Awaitable[Result]) -> Result:
    """An answer in time, unless the client has gone: then nobody need work for it."""
    answering = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(request.receive())  # the body is read: the end alone can come
    try:
        async with service.in_time():
            await asyncio.wait({answering, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise RequestError(400, "Disconnected", "the client has gone")
        return answering.result()
    finally:
        answering.cancel()
        gone.cancel()


async def unhurried(size: int, work: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a function on a request of this many bytes; in a thread if it is large."""
    if size <= _SMALL:
        return work(*arguments)
    return await asyncio.to_thread(work, *arguments)


def parse_json(body: bytes) -> Any:
    """A body of UTF-8 with few entries, in which no key comes twice."""
    # Without escaped backslashes and then without escaped quotes, the quotes are those of strings.
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    too_many = HTTPException(413, f"too many entries; expected at most {_MOST_ENTRIES:,}")
    if plain.count(b'"') > 4 * _MOST_ENTRIES:  # a key and a value each
        raise too_many
    between = b"".join(plain.split(b'"')[::2])
    entries = sum(map(between.count, (b",", b"[", b"{")))
    if entries > _MOST_ENTRIES or len(between) > _MOST_BETWEEN:
        raise too_many
    try:
        return json.loads(body.decode("utf-8-sig"), object_pairs_hook=_unique)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError):  # no UTF-8, a number of 5,000 digits, 1,000 levels
        raise HTTPException(400, "the body is not JSON in UTF-8 that can be read") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise HTTPException(400, "a key occurs twice in an object; expected each once")
    return entries


class _JsonRequest(Request):
    async def json(self) -> Any:
        """The body of the request, parsed."""
        body = await self.body()
        return await unhurried(len(body), parse_json, body)


class JsonRoute(APIRoute):
    """A route whose body must be said to be JSON, and is read by `parse_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with a check before it and another way to read."""
        handle, expects_body = super().get_route_handler(), self.body_field is not None

        async def read_and_handle(request: Request) -> Response:
            media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            # A form of another site's could send anything else without being asked.
            if expects_body and not _JSON.fullmatch(media_type):
                said = "is not said to be JSON" if media_type else "does not say what it is"
                raise RequestError(
                    415,
                    "WrongKind",
                    f"the body {said}; send it with Content-Type: application/json",
                )
            return await handle(_JsonRequest(request.scope, request.receive))

        return read_and_handle
