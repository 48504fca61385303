"""The routes of the REST interface to questions about more than two sides."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response

from adhominem.questions.cluster.cluster import Clustering
from adhominem.questions.contrast.contrast import Contrast
from adhominem.questions.rank.ranking import Ranking
from adhominem.questions.roll.roll import Rolled
from adhominem.score.population import Population
from adhominem.web import attribution
from adhominem.web.attribution import ClusterCase, PartsCase, WhoCase
from adhominem.web.batching import Progress, no_progress
from adhominem.web.failures import json_bytes
from adhominem.web.json_requests import JsonRoute, awaited
from adhominem.web.lines import LINES, EventLines, Tell, progress
from adhominem.web.questions import Mixed, Parts, Sides, Who, as_documents
from adhominem.web.schema import TextIn, responses
from adhominem.web.service import SERVERS, Service

Case = TypeVar("Case")


class _Told(Protocol):
    def to_json(self) -> dict[str, Any]: ...


def attribution_router(service: Service) -> APIRouter:
    """The routes that programs can ask for."""
    router = APIRouter(route_class=JsonRoute)

    async def answer(
        request: Request,
        make_case: Callable[[], Awaitable[Case]],
        ask: Callable[[Service, Case, Progress], Awaitable[_Told]],
    ) -> Response:
        async def work(on_progress: Progress) -> dict[str, Any]:
            result = await ask(service, await make_case(), on_progress)
            return await asyncio.to_thread(result.to_json)

        async def tell_all(tell: Tell) -> None:
            async with service.in_time():
                tell({"result": await work(progress(tell, request.url.path.rpartition("/")[2]))})

        if LINES in request.headers.get("accept", ""):
            return EventLines(tell_all)
        told = await awaited(service, request, work(no_progress))
        data = await asyncio.to_thread(json_bytes, told)
        return Response(data, media_type="application/json")

    async def population_of(texts: list[TextIn] | None) -> Population | None:
        documents = await asyncio.to_thread(as_documents, texts)
        return await service.find_population(documents) if documents else None

    @router.post("/api/rank", responses=responses(Ranking), summary="Which of these, if any?")
    async def rank(request: Request, who: Who) -> Response:
        """Which of some candidates wrote a text, if any, and how strong is the evidence?

        The answer is what `adhominem rank --json` prints. The Bayes factor of a candidate compares
        “this candidate wrote it” with “somebody else of this population did”. The posterior also
        depends on the priors that are given beside it.
        """

        async def make_case() -> WhoCase:
            case = await asyncio.to_thread(who.case)
            if who.population is None and service.population is not None:
                return replace(case, population=service.population, population_name=SERVERS)
            return case

        return await answer(request, make_case, attribution.rank)

    @router.post("/api/roll", responses=responses(Rolled), summary="Which part is by whom?")
    async def roll(request: Request, parts: Parts) -> Response:
        """Which part of a text is by which candidate, or by neither?

        The answer is what `adhominem roll --json` prints, the text included. Without candidates, it
        says where the style of the text changes.
        """

        async def make_case() -> PartsCase:
            case = await asyncio.to_thread(parts.case)
            population = await population_of(parts.population)
            name = "given" if population is not None else ""
            if parts.population is None and service.population is not None:
                population, name = service.population, SERVERS
            return replace(case, population=population, population_name=name)

        return await answer(request, make_case, attribution.roll)

    @router.post("/api/cluster", responses=responses(Clustering), summary="How many wrote these?")
    async def cluster(request: Request, mixed: Mixed) -> Response:
        """How many people wrote these texts, and who wrote what?

        The answer is what `adhominem cluster --json` prints.
        """

        async def make_case() -> ClusterCase:
            return ClusterCase(
                documents=await asyncio.to_thread(mixed.documents),
                population=await population_of(mixed.population),
                alone=mixed.population is not None,
                prior_same_author=mixed.prior_same_author,
            )

        return await answer(request, make_case, attribution.cluster)

    @router.post("/api/contrast", responses=responses(Contrast), summary="What sets two apart?")
    async def contrast(request: Request, sides: Sides) -> Response:
        """Which habits set two people's texts apart?

        The answer is what `adhominem contrast --json` prints.
        """
        return await answer(request, lambda: asyncio.to_thread(sides.case), attribution.contrast)

    return router
