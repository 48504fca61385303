"""The REST interface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

import adhominem
from adhominem.explain.explanation import Explanation
from adhominem.jobs.workers import Lev
from adhominem.scoring.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.verify.verification import Verification
from adhominem.verify.verifier import Levs
from adhominem.web.failures import RequestError, json_bytes, json_response
from adhominem.web.json_body import JsonRoute
from adhominem.web.schemas import (
    Comparison,
    Encoded,
    Failure,
    Health,
    Models,
    Texts,
)
from adhominem.web.service import Service

Result = TypeVar("Result")

_FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": Failure, "description": "No JSON."},
    401: {"model": Failure, "description": "The token is missing or wrong."},
    403: {"model": Failure, "description": "FormFields by another site, or under another name."},
    408: {"model": Failure, "description": "The request came too slowly."},
    413: {"model": Failure, "description": "More than the limits allow."},
    415: {"model": Failure, "description": "A body that is packed, or is not said to be JSON."},
    422: {"model": Failure, "description": "A text or a setting that cannot be used."},
    503: {"model": Failure, "description": "Too many requests are waiting; see Retry-After."},
    504: {"model": Failure, "description": "The answer did not come in time."},
}


def _given(model: Any) -> dict[int | str, dict[str, Any]]:
    return {200: {"model": model}, **_FAILURES}


def api_router(service: Service) -> APIRouter:
    """All that programs can ask for."""
    router = APIRouter(route_class=JsonRoute)

    @router.post("/api/verify", responses=_given(Verification), summary="Compare two sides")
    async def verify(request: Request, comparison: Comparison) -> Response:
        """How strong is the evidence that one person wrote both sides?

        The answer is what `adhominem verify --json` prints. A Bayes factor is not a verdict: it
        says how much more probable the texts are if one person wrote both sides than if two did.
        The probability holds for the prior that is given beside it, and for no other.
        """

        async def answer() -> Verification:
            population = await population_of(service, comparison)
            return await service.verify(case, population)

        case = await asyncio.to_thread(comparison.case)
        service.check_case(case)
        return json_response((await _awaited(service, request, answer())).to_json())

    @router.post("/api/explain", responses=_given(Explanation), summary="Compare, and say why")
    async def explain(request: Request, comparison: Comparison) -> Response:
        """Where the model looked, and what each passage and n-gram contributes.

        `verification` is the answer of `/api/verify`. It takes longer, the more so the longer the
        texts are.
        """

        async def answer() -> bytes:
            population = await population_of(service, comparison)
            explanation = await service.explain(case, population)
            return await asyncio.to_thread(lambda: json_bytes(explanation.to_json()))

        case = await asyncio.to_thread(comparison.case)
        service.check_case(case)
        found = await _awaited(service, request, answer())
        return Response(found, media_type="application/json")

    @router.post("/api/encode", responses=_given(Encoded), summary="Texts to vectors")
    async def encode(request: Request, texts: Texts) -> Response:
        """The linguistic embedding vector (LEV) of each text."""
        exhibits = await asyncio.to_thread(texts.exhibits)

        documents = [exhibit.document for exhibit in exhibits]
        levs = await _awaited(service, request, service.encode(documents))
        verifier = service.verifier
        told = {
            "model": verifier.name,
            "model_sha256": verifier.sha256,
            "version": adhominem.__version__,
            "lev_size": verifier.lev_size,
        }
        return StreamingResponse(_written(told, exhibits, levs), media_type="application/json")

    @router.get("/api/models", responses=_given(Models), summary="The model that answers")
    async def models() -> Response:
        """One server serves one model, which whoever starts it chooses."""
        verifier, population = service.verifier, service.population
        return json_response(
            {
                "version": adhominem.__version__,
                "models": [
                    {
                        "name": verifier.name,
                        "sha256": verifier.sha256,
                        "lev_size": verifier.lev_size,
                        "members": verifier.member_names,
                        "genres": list(verifier.genres),
                        "knows_topics": service.knows_topics,
                        "calibrated": verifier.calibration is not None,
                        "population_texts": None if population is None else population.texts,
                    }
                ],
            }
        )

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
    told: dict[str, Any], exhibits: Sequence[Exhibit], levs: Levs
) -> AsyncIterator[bytes]:
    """LEVs as JSON, text by text as they are taken.

    In JSON they are five times as large as in memory, and nothing else runs while one is written.
    """

    def row(exhibit: Exhibit, lev: Lev) -> bytes:
        found = {"name": exhibit.document.id, "sha256": exhibit.sha256, "lev": lev.tolist()}
        return json_bytes(found)

    before = json_bytes(told)[:-1] + b', "texts": ['
    for exhibit, lev in zip(exhibits, levs, strict=True):
        yield before + await asyncio.to_thread(row, exhibit, lev)
        before = b", "
    yield b"]}"


async def population_of(service: Service, comparison: Comparison) -> Population | None:
    """The request's own population, or none if it is empty; else the server's."""
    if comparison.population is None:
        return service.population
    if not comparison.population:
        return None
    texts = await asyncio.to_thread(comparison.population_exhibits)
    return await service.find_population([text.document for text in texts])


async def _awaited(service: Service, request: Request, answer: Awaitable[Result]) -> Result:
    """An answer in time, unless the client has gone: then nobody need work for it."""
    asked = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(request.receive())  # the body is read: the end alone can come
    try:
        async with service.in_time():
            await asyncio.wait({asked, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                raise RequestError(400, "Disconnected", "the client has gone")
        return asked.result()
    finally:
        asked.cancel()
        gone.cancel()
