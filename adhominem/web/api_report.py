"""The route of the REST interface that writes the report on two sides, as a file."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ConfigDict, Field, WithJsonSchema

from adhominem.questions.question import Side, Texts, inputs_of
from adhominem.questions.report.ask import CaseReport
from adhominem.questions.report.details import MOST_ENTRIES, CaseDetails, ItemDetails
from adhominem.questions.report.formats import FORMS, form_of
from adhominem.questions.report.report import MOST_DRAWS
from adhominem.records import from_json
from adhominem.verify.sensitivity import DRAWS
from adhominem.web.asking import ask, background
from adhominem.web.schema import (
    JsonRoute,
    Others,
    Strict,
    as_exhibits,
    awaited,
    responses,
    unhurried,
)
from adhominem.web.schema import Side as SideIn
from adhominem.web.service import Service

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
_DETAILS = {  # those of the dataclass, which checks them
    "type": "object",
    "additionalProperties": False,
    "properties": {field.name: _LISTS.get(field.name, _STRINGS) for field in fields(CaseDetails)},
}


class TwoSides(Strict):
    """Two sides, each one text, or several by one author, and what they are seen against."""

    first: SideIn
    second: SideIn
    population: Others = Field(
        None,
        description="Texts of the same genre by anybody, 5 or more, none of those compared. Left "
        "out: the server's, if it has one. An empty list: none.",
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

        def question() -> CaseReport:
            sides = [as_exhibits(wanted.first, "first"), as_exhibits(wanted.second, "second")]
            names = [text.document.id for side in sides for text in side]
            details.check_items(names, "details")
            return CaseReport(
                first=Side(tuple(sides[0])),
                second=Side(tuple(sides[1])),
                population=background(service, _POPULATION, wanted.population) or Texts(),
                population_source=wanted.population_source,
                case_file=details,
                annex=wanted.annex,
                prior_same_author=wanted.prior_same_author,
                seed=wanted.seed,
                draws=wanted.draws,
            )

        async def work() -> bytes:
            asked = await unhurried(len(await request.body()), question)
            data: bytes = await ask(service, asked, finish=form.write)
            return data

        data = await awaited(service, request, work())
        name = f"attachment; filename=report.{wanted.form}"
        return Response(data, media_type=form.media_type, headers={"Content-Disposition": name})

    return router
