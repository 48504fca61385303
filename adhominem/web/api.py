"""The REST interface: what it takes and gives, as OpenAPI shows it, and its routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

import adhominem
from adhominem.arrays import Array32, Levs
from adhominem.records import with_schema
from adhominem.text.exhibits import Exhibit
from adhominem.web.failures import RequestError, json_bytes, json_response
from adhominem.web.schema import (
    MANY_TEXTS,
    JsonRoute,
    Strict,
    Text,
    as_exhibits,
    awaited,
    responses,
)
from adhominem.web.service import Service

Result = TypeVar("Result")
_FIRST = "I have not yet had an answer to my last, and so I write again; the roads are poor."
_SECOND = "No answer from you yet. I'm writing again anyway. Roads are bad here, really bad."


class Texts(Strict):
    """Texts to encode."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": [_FIRST, _SECOND]}]})

    texts: Annotated[list[Text], WithJsonSchema({**MANY_TEXTS, "minItems": 1})]


class _Versioned(BaseModel):
    schema_: int = Field(alias="schema", description="The version of the keys of this answer.")


class EncodedText(BaseModel):
    """A text's LEV."""

    name: str
    sha256: str
    lev: list[float]


class Encoded(_Versioned):
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


class Models(_Versioned):
    """What is served."""

    version: str
    models: list[ServedModel]


class Health(_Versioned):
    """Whether the server works."""

    status: str


def api_router(service: Service) -> APIRouter:
    """The routes that programs can ask for."""
    router = APIRouter(route_class=JsonRoute)

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
