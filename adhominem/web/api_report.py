"""The route of the REST interface that writes the report on two sides, as a file."""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ConfigDict, Field, WithJsonSchema

from adhominem.questions.report.details import MOST_ENTRIES, CaseDetails, ItemDetails
from adhominem.questions.report.formats import FORMS, form_of
from adhominem.questions.report.report import MOST_DRAWS
from adhominem.records import from_json
from adhominem.verify.sensitivity import DRAWS
from adhominem.web.schema import (
    JsonRoute,
    Others,
    Side,
    Strict,
    as_exhibits,
    awaited,
    responses,
    unhurried,
)
from adhominem.web.service import SERVERS, Case, Service

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
_DETAILS = {  # those of the dataclass, which checks them
    "type": "object",
    "additionalProperties": False,
    "properties": {field.name: _LISTS.get(field.name, _STRINGS) for field in fields(CaseDetails)},
}


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


class ReportOnTwoSides(TwoSides):
    """Two sides, and what their report is to be like."""

    model_config = ConfigDict(
        json_schema_extra={
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
    )

    form: Literal["html", "pdf", "docx"] = Field(
        "html", description="A page, a PDF or a Word document."
    )
    annex: Literal["none", "short", "full"] = Field(
        "short",
        description="What follows the first pages: nothing; lists, figures and the strongest "
        "passages; or whole texts with heat maps, too.",
    )
    prior_same_author: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="The court's prior probability of one author. Left out: the report gives no "
        "probability.",
    )
    population_source: str = Field("", description="What the population is, in words.")
    details: Annotated[dict[str, Any], WithJsonSchema(_DETAILS)] = Field(
        default_factory=dict, description="The case, the examiner and so on, as in a case file."
    )
    seed: int = Field(0, ge=0, le=2**32, description="Repeats the draws of the interval.")
    draws: int = Field(DRAWS, ge=20, le=MOST_DRAWS, description="For the interval.")


_FILES: dict[int | str, dict[str, Any]] = {
    **responses(None),
    200: {
        "description": "The report as a file, whose data `adhominem check-report` checks.",
        "content": {form.media_type: {} for form in FORMS.values()},
    },
    501: {"description": "The server lacks the library for this form."},
}


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


def report_router(service: Service) -> APIRouter:
    """The route that programs can ask for."""
    router = APIRouter(route_class=JsonRoute)

    @router.post(
        "/api/report",
        response_class=Response,
        responses=_FILES,
        summary="The report on two sides, as a file",
    )
    async def report(request: Request, wanted: ReportOnTwoSides) -> Response:
        """The report that `adhominem report` writes: HTML, PDF or Word.

        A report compares two propositions. It never says who wrote a text, and gives a probability
        only together with the prior that it rests on.
        """
        form = form_of(f"report.{wanted.form}")
        details = from_json(CaseDetails, wanted.details, "details")
        service.check_labels(wanted.population_source)

        async def work() -> bytes:
            case = await case_of(service, request, wanted)
            names = [document.id for document in case.documents]
            details.check_items(names, "details")
            source = wanted.population_source
            if wanted.population is None and case.population is not None:
                source = source or SERVERS
            heading = {
                "details": details,
                "annex": wanted.annex,
                "population_source": source,
                "prior_same_author": wanted.prior_same_author,
                "seed": wanted.seed,
                "draws": wanted.draws,
            }
            return await service.report_file(replace(case, heading=heading), form.write)

        data = await awaited(service, request, work())
        name = f"attachment; filename=report.{wanted.form}"
        return Response(data, media_type=form.media_type, headers={"Content-Disposition": name})

    return router
