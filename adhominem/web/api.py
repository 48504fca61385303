"""The REST interface.

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
from typing import Any, TypeVar

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.routing import APIRoute

import adhominem
from adhominem.explain.explanation import Explanation
from adhominem.jobs.workers import Lev
from adhominem.text.exhibits import Exhibit
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Levs
from adhominem.web.failures import RequestError, json_bytes, json_response
from adhominem.web.schemas import Comparison, Encoded, Failure, Health, Models, Texts
from adhominem.web.service import Case, Service

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
        population = service.population  # unless the request has one; an empty list is none
        if comparison.population is not None:
            texts = await asyncio.to_thread(comparison.population_documents)
            population = await service.find_population(texts) if texts else None
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
        exhibits = await asyncio.to_thread(texts.exhibits)
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
        return json_response({"version": adhominem.__version__, "models": [model]})

    @router.get(
        "/health",
        responses={200: {"model": Health}, 503: {"model": Failure}},
        summary="Whether the server works",
    )
    async def health() -> Response:
        if not service.alive:
            raise RequestError(503, "NotWorking", "the server has lost its worker; start it again")
        return json_response({"status": "ok"})

    return router


async def _written(
    head: dict[str, Any], exhibits: Sequence[Exhibit], levs: Levs
) -> AsyncIterator[bytes]:
    """LEVs as JSON, text by text as they are taken.

    In JSON they are five times as large as in memory, and nothing else runs while one is written.
    """

    def row(exhibit: Exhibit, lev: Lev) -> bytes:
        name = exhibit.document.id
        return json_bytes({"name": name, "sha256": exhibit.sha256, "lev": lev.tolist()})

    before = json_bytes(head)[:-1] + b', "texts": ['
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
