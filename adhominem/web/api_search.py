"""The route of the REST interface that searches an index, where the server has one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ConfigDict, Field

from adhominem.questions.search.search import HITS, SearchResult, search_texts
from adhominem.text.exhibits import Exhibit
from adhominem.verify.verifier import Verifier
from adhominem.web.batching import Progress, no_progress
from adhominem.web.failures import json_bytes
from adhominem.web.json_requests import JsonRoute, awaited
from adhominem.web.schema import Side, Strict, as_exhibits, responses
from adhominem.web.service import Service

MOST_HITS = 100
# What a search for one text takes, in characters that are encoded in the same processor time, some
# million a second: 40 ms in any index, 0.5 ms for each hit, 50 ms to look through a million texts.
_PER_SEARCH, _PER_HIT, _INDEXED_PER_CHARACTER = 40_000, 500, 20


class Sought(Strict):
    """Texts, each searched for by itself."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"texts": "Dear friend, your letter has come.", "k": 5}]}
    )

    texts: Side = Field(description="A text, or several; each is searched for by itself.")
    k: int = Field(HITS, ge=1, le=MOST_HITS, description="Most hits for each text.")
    prior_same_author: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="How probable it is, before anything is read, that one certain text of the "
        "index is by the same author. Left out: 1 in as many as there are texts.",
    )


async def search_index(
    service: Service,
    exhibits: Sequence[Exhibit],
    k: int,
    prior_same_author: float | None = None,
    on_progress: Progress = no_progress,
) -> SearchResult:
    """What `search_texts` finds in the server's index."""
    documents = [exhibit.document for exhibit in exhibits]
    service.check_number(documents, service.limits.texts, "the texts")
    service.check(documents, service.limits.characters, "the texts")
    assert service.searcher is not None
    indexed = len(service.searcher.store) // _INDEXED_PER_CHARACTER
    work = len(documents) * (_PER_SEARCH + _PER_HIT * k + indexed)

    def finish(verifier: Verifier, _: Progress) -> SearchResult:
        index, prior = service.current_index(), prior_same_author
        return search_texts(index, exhibits, k=k, prior_same_author=prior, verifier=verifier)

    return await service.work(documents, finish, on_progress, work=work)


def search_router(service: Service) -> APIRouter:
    """The route that programs can ask for."""
    router = APIRouter(route_class=JsonRoute)

    @router.post(
        "/api/search", responses=responses(SearchResult), summary="Who else writes like this?"
    )
    async def search(request: Request, sought: Sought) -> Response:
        """Which texts of the server's index may be by the author of a text?

        The answer is what `adhominem search --json` prints. A hit is a text to look at, not an
        answer: `false_hits` says how many to expect by chance.
        """

        async def work() -> bytes:
            exhibits = await asyncio.to_thread(as_exhibits, sought.texts, "text")
            result = await search_index(service, exhibits, sought.k, sought.prior_same_author)
            return await asyncio.to_thread(lambda: json_bytes(result.to_json()))

        data = await awaited(service, request, work())
        return Response(data, media_type="application/json")

    return router
