"""Answers to the form that compares two sides: what was pasted and dropped, compared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi.responses import HTMLResponse

from adhominem.errors import AdHominemError
from adhominem.questions.report.details import CaseDetails
from adhominem.questions.report.document import report_page
from adhominem.text.exhibits import Exhibit, exhibits_of
from adhominem.text.files import Document
from adhominem.verify.explanation import Explanation
from adhominem.web.failures import RequestError, as_request_error
from adhominem.web.lines import Tell, progress
from adhominem.web.pages import example, explained, form_page, verdict
from adhominem.web.question_form import Answerer, Sent
from adhominem.web.service import SERVERS, Case
from adhominem.web.uploads import Part

SIDES = ("first", "second")
NO_PRIOR = "0.5"  # what the form begins with: nobody has stated it
_ONCE = (
    *("first_topic", "second_topic", "prior", "server_population"),
    *("explain", "report", "case", "examiner"),
)
_KINDS = {
    **dict.fromkeys(("first_file", "second_file", "population"), "file"),
    **dict.fromkeys(("first_text", "second_text"), "text"),
    **dict.fromkeys(_ONCE, "once"),
}


@dataclass(frozen=True, kw_only=True)
class FormFields:
    """What the form holds, as it was sent or is to be shown."""

    pasted: dict[str, list[str]] = field(default_factory=dict)  # by side
    files: dict[str, list[Part]] = field(default_factory=dict)  # by side; never shown again
    topics: dict[str, str] = field(default_factory=dict)  # by side
    prior: str = NO_PRIOR
    population: Sequence[Part] = ()
    server_population: bool = False
    explain: bool = True
    report: bool = False  # alone: the rest was sent before
    case: str = ""  # what the report is headed with
    examiner: str = ""

    @property
    def prior_same_author(self) -> float:
        """The prior as a number; an error if it is none."""
        return prior_in(self.prior)


def prior_in(field: str) -> float:
    """The prior that a field states; an error if it is none."""
    try:
        prior = float(field.replace(",", "."))
    except ValueError:
        prior = 0.0
    if not 0 < prior < 1:
        raise RequestError(
            422, "WrongPrior", "the prior is a probability; expected a number between 0 and 1"
        )
    return prior


def read_fields(parts: Sequence[Part]) -> FormFields:
    """What the fields of the form with two sides hold."""
    sent = Sent(parts, _KINDS)
    return FormFields(
        pasted={side: sent.pasted(f"{side}_text") for side in SIDES},
        files={side: sent.uploads(f"{side}_file") for side in SIDES},
        topics={side: sent.line(f"{side}_topic") for side in SIDES},
        prior=sent.line("prior") or NO_PRIOR,
        population=sent.uploads("population"),
        server_population=sent.line("server_population") == "yes",
        explain=sent.line("explain") == "yes",
        report=sent.line("report") == "yes",
        case=sent.line("case"),
        examiner=sent.line("examiner"),
    )


class Comparer(Answerer[FormFields]):
    """Answers the form with two sides."""

    def show(self, fields: FormFields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is what `form_page` takes beside it."""
        return form_page(
            self.service,
            "web_page.html",
            "/",
            fields,
            wants_token=bool(self.access.token),
            knows_topics=self.service.knows_topics,
            **more,
        )

    def example(self, name: str) -> FormFields:
        """The form with the texts of an example."""
        first, second = example(name)
        return FormFields(pasted={"first": [first], "second": [second]})

    def read(self, parts: Sequence[Part]) -> FormFields:
        """What the fields of the form hold."""
        return read_fields(parts)

    def check(self, fields: FormFields) -> None:
        """Refuse labels that are too long, and a prior that is none."""
        typed = (*fields.topics.values(), fields.prior, fields.case, fields.examiner)
        self.service.check_labels(*typed)
        _ = fields.prior_same_author

    async def answer(self, fields: FormFields, tell: Tell, *, at_once: bool) -> None:
        """The comparison, with the report if it is all `at_once`; or the report alone."""
        if fields.report and not at_once:
            await self._write_report(fields, tell)
        else:
            await self._compare(fields, tell, with_report=at_once)

    async def _compare(self, fields: FormFields, tell: Tell, *, with_report: bool) -> None:
        """The verdict, and then the explanation, with a report or not.

        If there can be no explanation, that is told, and the verdict stands without it.
        """
        service = self.service
        async with service.in_time():
            case, notes = await self._prepare(fields, tell)
            looked = await service.look(case, progress(tell, "Reading the texts"))
        shown, result = verdict(looked, notes), looked.verification.to_json()
        tell({"verdict": shown, "verification": result})
        if not fields.explain:
            return
        doing = progress(tell, "Looking at each passage")
        explanation: Explanation | None
        try:
            async with service.in_time():
                if with_report:
                    report = await service.report(case, doing)
                    explanation = report.explanation
                    tell({"report": await asyncio.to_thread(report_page, report)})
                else:
                    explanation = await service.explain(case, doing)
        except AdHominemError as error:
            tell({"unexplained": f"There is no explanation: {as_request_error(error)}."})
            return
        if explanation is not None:
            shown = await asyncio.to_thread(explained, explanation)
            tell({"shown": shown, "explanation": explanation.to_json()})

    async def _write_report(self, fields: FormFields, tell: Tell) -> None:
        async with self.service.in_time():
            case, _ = await self._prepare(fields, tell)
            report = await self.service.report(case, progress(tell, "Writing the report"))
        tell({"report": await asyncio.to_thread(report_page, report)})

    async def _prepare(self, fields: FormFields, tell: Tell) -> tuple[Case, list[str]]:
        """The case of a form, and what was odd about the files."""
        if any(fields.files.values()) or fields.population:
            progress(tell, "Reading the files")
        prior = fields.prior_same_author
        sides: dict[str, list[Exhibit]] = {}
        notes: list[str] = []
        for side, topic in fields.topics.items():
            files, odd = await self.reader.read(fields.files[side])
            notes += odd
            sides[side] = await asyncio.to_thread(_side, side, fields.pasted[side], files, topic)
        case = Case(first=sides["first"], second=sides["second"], prior_same_author=prior)
        self.service.check_case(case)
        population = self.service.population if fields.server_population else None
        source = SERVERS if population else ""
        if fields.population:
            files, odd = await self.reader.read(fields.population, tables=True)
            notes += odd
            population = await self.service.find_population(
                [text.document for text in files], progress(tell, "Reading the population")
            )
            source = ", ".join(file.name for file in fields.population)
        heading = {
            "details": CaseDetails(case=fields.case, examiner=fields.examiner),
            "population_source": source,
            # What the form begins with is nobody's prior, and a report has no probability by it.
            "prior_same_author": None if fields.prior == NO_PRIOR else prior,
        }
        return replace(case, population=population, heading=heading), notes


def _side(name: str, pasted: list[str], files: list[Exhibit], topic: str) -> list[Exhibit]:
    texts: list[Document | Exhibit] = [Document(text=text, topic=topic) for text in pasted]
    texts += [replace(file, document=replace(file.document, topic=topic)) for file in files]
    return exhibits_of(texts, name)
