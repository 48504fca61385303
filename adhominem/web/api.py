"""The REST interface: what it takes and gives, as OpenAPI shows it, and its routes.

Bodies of JSON are read in a thread, and not before they are seen to have few entries. A parser
written in C lets nobody else run before it has ended, thread or not, and a body of five million
empty lists keeps it for seconds. What stands between the strings of an honest request is short,
however long its texts are; to see that takes a few passes that are as fast as memory.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

import adhominem
from adhominem.arrays import Array32, Levs
from adhominem.explain.explanation import Explanation
from adhominem.records import with_schema
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import exhibits_of
from adhominem.web.failures import RequestError, json_bytes, json_response
from adhominem.web.service import Case, Service

_FIRST = "I have not yet had an answer to my last, and so I write again; the roads are poor."
_SECOND = "No answer from you yet. I'm writing again anyway. Roads are bad here, really bad."
_PROBLEM: Any = {"type": "EmptyTextError", "message": "first: the text has no word in it"}
Result = TypeVar("Result")
_MOST_ENTRIES = 10_000  # of all lists and objects; how many texts there may be, the limits say
_MOST_BETWEEN = 1_000_000  # bytes that are not in strings: indentation, and numbers
_JSON = re.compile(r"application/([^/\s]+\+)?json")
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


class Texts(_Strict):
    """Texts to encode."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": [_FIRST, _SECOND]}]})

    texts: Annotated[list[Text], WithJsonSchema({**_TEXTS, "minItems": 1})]


class _Answer(BaseModel):
    schema_: int = Field(alias="schema", description="The version of the keys of this answer.")


class EncodedText(BaseModel):
    """A text's LEV."""

    name: str
    sha256: str
    lev: list[float]


class Encoded(_Answer):
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


class Models(_Answer):
    """What is served."""

    version: str
    models: list[ServedModel]


class Health(_Answer):
    """Whether the server works."""

    status: str


class Problem(BaseModel):
    """What went wrong, and what to do."""

    type: str
    message: str


class Failure(BaseModel):
    """The one form of all errors."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"error": _PROBLEM}]})

    error: Problem


def _exhibits(texts: list[TextIn], name: str) -> list[Exhibit]:
    documents = [Document(text=text.text, id=text.name, topic=text.topic) for text in texts]
    return exhibits_of(documents, name)


def _responses(model: Any) -> dict[int | str, dict[str, Any]]:
    responses: dict[int | str, dict[str, Any]] = {200: {"model": model}}
    for status, description in _FAILURES.items():
        responses[status] = {"model": Failure, "description": description}
    return responses


def api_router(service: Service) -> APIRouter:
    """The routes that programs can ask for."""
    router = APIRouter(route_class=JsonRoute)

    async def answer(comparison: Comparison, ask: Callable[[Case], Awaitable[Any]]) -> bytes:
        case = await asyncio.to_thread(comparison.case)
        service.check_case(case)
        # The server's, unless the request has one; an empty list is none.
        population = service.population if comparison.population is None else None
        if comparison.population:
            texts = await asyncio.to_thread(_exhibits, comparison.population, "population")
            population = await service.find_population([text.document for text in texts])
        result = await ask(replace(case, population=population))
        return await asyncio.to_thread(lambda: json_bytes(result.to_json()))

    @router.post("/api/verify", responses=_responses(Verification), summary="Compare two sides")
    async def verify(request: Request, comparison: Comparison) -> Response:
        """How strong is the evidence that one person wrote both sides?

        The answer is what `adhominem verify --json` prints. A Bayes factor is not a verdict: it
        says how much more probable the texts are if one person wrote both sides than if two did.
        The probability holds for the prior that is given beside it, and for no other.
        """
        data = await _awaited(service, request, answer(comparison, service.verify))
        return Response(data, media_type="application/json")

    @router.post("/api/explain", responses=_responses(Explanation), summary="Compare, and say why")
    async def explain(request: Request, comparison: Comparison) -> Response:
        """Where the model looked, and what each passage and n-gram contributes.

        `verification` is the answer of `/api/verify`. It takes longer, the more so the longer the
        texts are.
        """
        data = await _awaited(service, request, answer(comparison, service.explain))
        return Response(data, media_type="application/json")

    @router.post("/api/encode", responses=_responses(Encoded), summary="Texts to vectors")
    async def encode(request: Request, texts: Texts) -> Response:
        """The linguistic embedding vector (LEV) of each text."""
        exhibits = await asyncio.to_thread(_exhibits, texts.texts, "text")
        documents = [exhibit.document for exhibit in exhibits]
        levs = await _awaited(service, request, service.encode(documents))
        verifier = service.verifier
        head = {
            "model": verifier.name,
            "model_sha256": verifier.sha256,
            "version": adhominem.__version__,
            "lev_size": verifier.lev_size,
        }
        return StreamingResponse(_written(head, exhibits, levs), media_type="application/json")

    @router.get("/api/models", responses=_responses(Models), summary="The model that answers")
    async def models() -> Response:
        """One server serves one model, which whoever starts it chooses."""
        verifier, population = service.verifier, service.population
        model = {
            "name": verifier.name,
            "sha256": verifier.sha256,
            "lev_size": verifier.lev_size,
            "members": verifier.member_names,
            "genres": list(verifier.genres),
            "knows_topics": service.knows_topics,
            "calibrated": verifier.calibration is not None,
            "population_texts": None if population is None else population.texts,
        }
        return json_response(with_schema({"version": adhominem.__version__, "models": [model]}))

    @router.get("/health", responses=_responses(Health), summary="Whether the server works")
    async def health() -> Response:
        if not service.alive:
            raise RequestError(503, "NotWorking", "the server has lost its worker; start it again")
        return json_response(with_schema({"status": "ok"}))

    return router


async def _written(
    head: dict[str, Any], exhibits: Sequence[Exhibit], levs: Levs
) -> AsyncIterator[bytes]:
    """LEVs as JSON, text by text as they are taken.

    In JSON they are five times as large as in memory, and nothing else runs while one is written.
    """

    def row(exhibit: Exhibit, lev: Array32) -> bytes:
        return json_bytes(
            {"name": exhibit.document.id, "sha256": exhibit.sha256, "lev": lev.tolist()}
        )

    before = json_bytes(with_schema(head))[:-1] + b', "texts": ['
    for exhibit, lev in zip(exhibits, levs, strict=True):
        yield before + await asyncio.to_thread(row, exhibit, lev)
        before = b", "
    yield b"]}"


async def _awaited(service: Service, request: Request, answer: Awaitable[Result]) -> Result:
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


def parse_json(body: bytes) -> Any:
    """A body of UTF-8 with few entries, no key of which comes twice."""
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
        raise HTTPException(400, "a key comes twice in an object; which is meant cannot be told")
    return entries


class _JsonRequest(Request):
    async def json(self) -> Any:
        """The body of the request, parsed in a thread."""
        return await asyncio.to_thread(parse_json, await self.body())


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
