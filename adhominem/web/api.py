"""The REST interface: what it takes and gives, as OpenAPI shows it, and its routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

import adhominem
from adhominem.arrays import Array32, Levs
from adhominem.records import with_schema
from adhominem.text.exhibits import Exhibit
from adhominem.verify.explanation import Explanation
from adhominem.verify.verification import Verification
from adhominem.web.failures import RequestError, json_bytes, json_response
from adhominem.web.schema import (
    MANY_TEXTS,
    JsonRoute,
    Others,
    Side,
    Strict,
    Text,
    as_exhibits,
    awaited,
    responses,
    unhurried,
)
from adhominem.web.service import Case, Service

Result = TypeVar("Result")
_FIRST = "I have not yet had an answer to my last, and so I write again; the roads are poor."
_SECOND = "No answer from you yet. I'm writing again anyway. Roads are bad here, really bad."


class TwoSides(Strict):
    """Two sides, each one text, or several by one author, and what they are seen against."""

    first: Side
    second: Side
    population: Others = Field(
        None,
        description="Texts of the same genre by anybody, 5 or more, none of those compared. Left "
        "out: the server's, if it has one. An empty list: none.",
    )

    def case(self) -> Case:
        """The comparison as the service takes it, without a population."""
        return Case(
            first=as_exhibits(self.first, "first"), second=as_exhibits(self.second, "second")
        )


class Comparison(TwoSides):
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

    prior_same_author: float = Field(
        0.5,
        gt=0,
        lt=1,
        description="How probable one author is before the texts are read: yours to state.",
    )
    delta: float = Field(
        0.125, ge=0, lt=0.5, description="Undecided if the probability is within 0.5 ± delta."
    )

    def case(self) -> Case:
        """The comparison as the service takes it, without a population."""
        return replace(super().case(), prior_same_author=self.prior_same_author, delta=self.delta)


class Texts(Strict):
    """Texts to encode."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": [_FIRST, _SECOND]}]})

    texts: Annotated[list[Text], WithJsonSchema({**MANY_TEXTS, "minItems": 1})]


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


def api_router(service: Service) -> APIRouter:
    """The routes that programs can ask for."""
    router = APIRouter(route_class=JsonRoute)

    async def answer(
        request: Request, comparison: Comparison, ask: Callable[[Case], Awaitable[Result]]
    ) -> Result:
        return await ask(await case_of(service, request, comparison))

    @router.post("/api/verify", responses=responses(Verification), summary="Compare two sides")
    async def verify(request: Request, comparison: Comparison) -> Response:
        """How strong is the evidence that one person wrote both sides?

        The answer is what `adhominem verify --json` prints. A Bayes factor is not a verdict: it
        says how much more probable the texts are if one person wrote both sides than if two did.
        The probability holds for the prior that is given beside it, and for no other.
        """
        result = answer(request, comparison, service.verify)
        return json_response((await awaited(service, request, result)).to_json())

    @router.post("/api/explain", responses=responses(Explanation), summary="Compare, and say why")
    async def explain(request: Request, comparison: Comparison) -> Response:
        """Where the model looked, and what each passage and n-gram contributes.

        `verification` is the answer of `/api/verify`. It takes longer, the more so the longer the
        texts are.
        """

        async def written() -> bytes:  # long: it is written in a thread
            explanation = await answer(request, comparison, service.explain)
            return await asyncio.to_thread(lambda: json_bytes(explanation.to_json()))

        data = await awaited(service, request, written())
        return Response(data, media_type="application/json")

    @router.post("/api/encode", responses=responses(Encoded), summary="Texts to vectors")
    async def encode(request: Request, texts: Texts) -> Response:
        """The linguistic embedding vector (LEV) of each text."""
        exhibits = await asyncio.to_thread(as_exhibits, texts.texts, "text")
        documents = [exhibit.document for exhibit in exhibits]
        levs = await awaited(service, request, service.encode(documents))
        verifier = service.verifier
        head = {
            "model": verifier.name,
            "model_sha256": verifier.sha256,
            "version": adhominem.__version__,
            "lev_size": verifier.lev_size,
        }
        return StreamingResponse(_written(head, exhibits, levs), media_type="application/json")

    @router.get("/api/models", responses=responses(Models), summary="The model that answers")
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

    @router.get("/health", responses=responses(Health), summary="Whether the server works")
    async def health() -> Response:
        if not service.alive:
            raise RequestError(503, "NotWorking", "the server has lost its worker; start it again")
        return json_response(with_schema({"status": "ok"}))

    return router


async def case_of(service: Service, request: Request, sides: TwoSides) -> Case:
    """The comparison as the service takes it, with its population."""
    case = await unhurried(len(await request.body()), sides.case)
    service.check_case(case)
    # The server's, unless the request has one; an empty list is none.
    population = service.population if sides.population is None else None
    if sides.population:
        texts = await asyncio.to_thread(as_exhibits, sides.population, "population")
        population = await service.find_population([text.document for text in texts])
    return replace(case, population=population)


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
