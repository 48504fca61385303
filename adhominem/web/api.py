"""The REST interface: what it takes and gives, as OpenAPI shows it, and its routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model

import adhominem
from adhominem.arrays import Array32, Levs
from adhominem.questions.question import Side, inputs_of
from adhominem.questions.report.ask import CaseReport
from adhominem.questions.report.details import MOST_ENTRIES, CaseDetails, ItemDetails
from adhominem.questions.report.formats import FORMS, form_of
from adhominem.records import from_json, settings_of, with_schema
from adhominem.text.exhibits import Exhibit
from adhominem.web.asking import ask, background, fields_of
from adhominem.web.failures import RequestError, json_bytes, json_response
from adhominem.web.schema import (
    MANY_TEXTS,
    JsonRoute,
    Others,
    Strict,
    Text,
    as_exhibits,
    awaited,
    responses,
    unhurried,
)
from adhominem.web.schema import Side as SideIn
from adhominem.web.service import Service

_FIRST = "I have not yet had an answer to my last, and so I write again; the roads are poor."
_SECOND = "No answer from you yet. I'm writing again anyway. Roads are bad here, really bad."


class Texts(Strict):
    """Texts to encode."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": [_FIRST, _SECOND]}]})

    texts: Annotated[list[Text], WithJsonSchema({**MANY_TEXTS, "minItems": 1})]


_POPULATION = inputs_of(CaseReport)["population"]
_STRINGS = {"type": "string"}
_ITEM = {
    "type": "object",
    "additionalProperties": False,
    "required": ["file"],
    "properties": {field.name: _STRINGS for field in fields(ItemDetails)},
}
_LISTS = {
    "not_examined": {"type": "array", "items": _STRINGS, "maxItems": MOST_ENTRIES},
    "items": {"type": "array", "items": _ITEM, "maxItems": MOST_ENTRIES},
}
# What of a report's settings is asked for.
_OFFERED = ("annex", "language", "prior_same_author", "population_source", "seed", "draws")
_DETAILS: Any = {  # those of the dataclass, which checks them
    "type": "object",
    "additionalProperties": False,
    "properties": {field.name: _LISTS.get(field.name, _STRINGS) for field in fields(CaseDetails)},
}

_REPORT_FIELDS: dict[str, Any] = {
    "first": (SideIn, ...),
    "second": (SideIn, ...),
    "population": (Others, Field(None, description=_POPULATION.help)),
    "form": (
        Literal["html", "pdf", "docx"],
        Field("html", description="A page, a PDF or a Word document."),
    ),
    "details": (
        Annotated[dict[str, Any], WithJsonSchema(_DETAILS)],
        Field(
            default_factory=dict,
            description="The case, the examiner and so on, as in a case file.",
        ),
    ),
    **fields_of(one for one in settings_of(CaseReport) if one.name in _OFFERED),
}
ReportOnTwoSides = create_model(
    "ReportOnTwoSides",
    __base__=Strict,
    __module__=__name__,
    __doc__="Two sides, and what their report is to be like.",
    **_REPORT_FIELDS,
)
ReportOnTwoSides.model_config["json_schema_extra"] = {
    "examples": [
        {
            "first": {"text": "I write again; the roads are poor.", "name": "letter"},
            "second": "No answer from you yet. I'm writing again anyway.",
            "form": "html",
            "annex": "none",
            "details": {"case": "17 C 2026", "examiner": "A. Example"},
        }
    ]
}
ReportOnTwoSides.model_rebuild(force=True)

_FILES: dict[int | str, dict[str, Any]] = {
    **responses(None),
    200: {
        "description": "The report as a file, whose data `adhominem check-report` checks.",
        "content": {form.media_type: {} for form in FORMS.values()},
    },
    501: {"description": "The server lacks the library for this form."},
}


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

    @router.post(
        "/api/report",
        response_class=Response,
        responses=_FILES,
        summary="The report on two sides, as a file",
    )
    async def report(request: Request, wanted: ReportOnTwoSides) -> Response:  # type: ignore[valid-type]
        """The report that `adhominem report` writes: HTML, PDF or Word.

        A report compares two propositions. It never says who wrote a text, and gives a probability
        only together with the prior that it rests on.
        """
        body: Any = wanted
        form = form_of(f"report.{body.form}")
        details = from_json(CaseDetails, body.details, "details")
        service.check_labels(body.population_source)

        def question() -> CaseReport:
            sides = [as_exhibits(body.first, "first"), as_exhibits(body.second, "second")]
            details.check_items([text.document.id for side in sides for text in side], "details")
            values = {name: getattr(body, name) for name in _OFFERED}
            if (population := background(service, _POPULATION, body.population)) is not None:
                values["population"] = population
            first, second = (Side(tuple(side)) for side in sides)
            return CaseReport(first=first, second=second, case_file=details, **values)

        async def work() -> bytes:
            asked = await unhurried(len(await request.body()), question)
            data: bytes = await ask(service, asked, finish=form.write)
            return data

        data = await awaited(service, request, work())
        name = f"attachment; filename=report.{body.form}"
        return Response(data, media_type=form.media_type, headers={"Content-Disposition": name})

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
