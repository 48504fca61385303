"""The page's form: what was pasted and dropped, compared; the answer as a stream, or as a page.

With JavaScript the answer comes as lines of JSON while the work goes on, so that nothing need be
kept on the server for a later question. Without it, it comes as a whole page.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from adhominem.errors import AdHominemError
from adhominem.explain.explanation import Explanation
from adhominem.render.html import explanation_fragment
from adhominem.render.html_text import as_html
from adhominem.report.html import report_page
from adhominem.report.report import Report
from adhominem.scoring.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verifier import exhibits_of
from adhominem.web.access import Access
from adhominem.web.batching import Progress
from adhominem.web.failures import as_request_error, error_json, json_bytes
from adhominem.web.form_fields import FormFields, read_asked
from adhominem.web.guard import logger, place_of
from adhominem.web.pages import Filled, downloads, form_page
from adhominem.web.service import Case, Heading, Service
from adhominem.web.uploads import FileReader, read_form
from adhominem.web.verdict import verdict

LINES = "application/x-ndjson"
Result = TypeVar("Result")
Tell = Callable[[dict[str, Any]], None]  # of an event: what is being done, or came out


@dataclass(frozen=True)
class _Prepared:
    """What the files and fields of a form come to."""

    case: Case
    population: Population | None
    population_source: str
    notes: list[str]


class Comparer:
    """Answers the forms of a server."""

    def __init__(self, service: Service, access: Access) -> None:
        self._service, self._access = service, access
        self._reader = FileReader(service.limits)

    def show(self, filled: Filled, **more: Any) -> HTMLResponse:
        """The form, with something in it or not."""
        return form_page(self._service, filled, wants_token=bool(self._access.token), **more)

    async def post(self, request: Request) -> Response:
        """The answer to a form."""
        form = await read_form(request, self._service.limits)
        asked = await asyncio.to_thread(read_asked, form)
        as_lines = LINES in request.headers.get("accept", "")
        try:
            self._service.check_labels(*asked.labels)
            prior = asked.prior_same_author
            if as_lines:
                return StreamingResponse(self._lines(asked, prior), media_type=LINES)
            answer = await self._page(asked, prior)
            return await asyncio.to_thread(self.show, asked.filled, answer=answer)
        except AdHominemError as error:
            if as_lines:
                raise
            refused = as_request_error(error)
            return await asyncio.to_thread(
                self.show, asked.filled, problem=str(refused), status=refused.status
            )

    async def _lines(self, asked: FormFields, prior: float) -> AsyncIterator[bytes]:
        """What is being done and what came out, or an error: a line each."""
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        async def work() -> None:
            try:
                answer = self._write_report if asked.report else self._compare
                await answer(asked, prior, events.put_nowait)
            except asyncio.CancelledError:
                raise
            except BaseException as error:
                refused = as_request_error(error)
                if refused.status == 500:
                    logger.error("%s", place_of(error))
                events.put_nowait(error_json(refused))
            finally:
                events.put_nowait(None)

        working = asyncio.create_task(work())
        try:
            while (event := await events.get()) is not None:
                yield await asyncio.to_thread(json_bytes, event) + b"\n"
        finally:  # whoever asked may have gone
            working.cancel()

    async def _compare(self, asked: FormFields, prior: float, tell: Tell) -> None:
        service, doing = self._service, _doing(tell)
        async with service.in_time():
            given = await self._prepare(asked, prior, doing)
            found = await service.verify(given.case, given.population, doing("Reading the texts"))
        tell({"verdict": verdict(found, given.notes), "verification": found.to_json()})
        if asked.explain:
            explaining = service.explain(
                given.case, given.population, doing("Looking at each passage")
            )
            explanation = await self._unless_refused(explaining, tell)
            if explanation is not None:
                tell(await asyncio.to_thread(_explanation_event, explanation))

    async def _write_report(self, asked: FormFields, prior: float, tell: Tell) -> None:
        doing = _doing(tell)
        async with self._service.in_time():
            given = await self._prepare(asked, prior, doing)
            report = await self._report(asked, given, doing("Writing the report"))
        tell({"report": await asyncio.to_thread(report_page, report)})

    async def _page(self, asked: FormFields, prior: float) -> str:
        """All of the answer at once."""
        refused: list[dict[str, Any]] = []
        async with self._service.in_time():
            given = await self._prepare(asked, prior, _doing(lambda event: None))
            found = await self._service.verify(given.case, given.population)
        report = None
        if asked.explain:
            report = await self._unless_refused(self._report(asked, given), refused.append)

        def shown() -> str:
            parts = [verdict(found, given.notes)]
            explanation = None if report is None else report.explanation
            written = "" if report is None else report_page(report)
            parts.append(downloads(found.to_json(), explanation, written))
            parts += [f'<p class="problem">{as_html(each["unexplained"])}</p>' for each in refused]
            if explanation is not None:
                parts.append(_explanation(explanation))
            return "\n".join(parts)

        return await asyncio.to_thread(shown)

    async def _unless_refused(self, answer: Awaitable[Result], tell: Tell) -> Result | None:
        """An explanation, or why there is none: the verdict stands without it."""
        try:
            async with self._service.in_time():
                return await answer
        except AdHominemError as error:
            tell({"unexplained": f"There is no explanation: {as_request_error(error)}."})
            return None

    def _report(
        self, asked: FormFields, given: _Prepared, on_progress: Progress = lambda share: None
    ) -> Awaitable[Report]:
        # What the form begins with is nobody's prior, and a report has no probability by it.
        prior = None if asked.prior == Filled.prior else asked.prior_same_author
        heading = Heading(asked.case, asked.examiner, given.population_source, prior)
        return self._service.report(given.case, given.population, heading, on_progress)

    async def _prepare(
        self, asked: FormFields, prior: float, doing: Callable[[str], Progress]
    ) -> _Prepared:
        if any(asked.files.values()) or asked.population:
            doing("Reading the files")
        sides: dict[str, list[Exhibit]] = {}
        notes: list[str] = []
        for side, topic in asked.topics.items():
            read = await self._reader.read(asked.files[side])
            notes += read.notes
            sides[side] = await asyncio.to_thread(
                _side, side, asked.pasted[side], read.texts, topic
            )
        case = Case(first=sides["first"], second=sides["second"], prior_same_author=prior)
        self._service.check_case(case)
        if not asked.population:
            own = self._service.population if asked.server_population else None
            return _Prepared(case, own, "the server’s own" if own else "", notes)
        read = await self._reader.read(asked.population, tables=True)
        documents = [text.document for text in read.texts]
        population = await self._service.find_population(documents, doing("Reading the population"))
        source = ", ".join(file.name for file in asked.population)
        return _Prepared(case, population, source, [*notes, *read.notes])


def _side(name: str, pasted: list[str], files: list[Exhibit], topic: str) -> list[Exhibit]:
    texts: list[Document | Exhibit] = [Document(text=text, topic=topic) for text in pasted]
    texts += [replace(each, document=replace(each.document, topic=topic)) for each in files]
    return exhibits_of(texts, name) if texts else []


def _doing(tell: Tell) -> Callable[[str], Progress]:
    """Tells what is being done, and then how much of it."""

    def begin(doing: str) -> Progress:
        tell({"doing": doing, "progress": 0})
        return lambda share: tell({"doing": doing, "progress": round(share, 3)})

    return begin


def _explanation(explanation: Explanation) -> str:
    return (
        '<section class="why" aria-labelledby="why"><h2 id="why">What made it so</h2>'
        f"{explanation_fragment(explanation)}</section>"
    )


def _explanation_event(explanation: Explanation) -> dict[str, Any]:
    return {"shown": _explanation(explanation), "explanation": explanation.to_json()}
