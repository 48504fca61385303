"""Answers to the page's form: what was pasted and dropped, compared.

With JavaScript the answer comes as lines of JSON while the work goes on, so that nothing need be
kept on the server for a later question. Without it, all of it comes as one page.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from adhominem.errors import AdHominemError
from adhominem.explain.explanation import Explanation
from adhominem.report.html import report_page
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verifier import exhibits_of
from adhominem.web.batching import Progress
from adhominem.web.failures import as_request_error, error_json, json_bytes, logger, place_of
from adhominem.web.form_fields import NO_PRIOR, FormFields, parse_form, read_fields
from adhominem.web.guard import LINES, Access
from adhominem.web.pages import explained, form_page, verdict
from adhominem.web.service import Case, Service
from adhominem.web.uploads import FileReader

Tell = Callable[[dict[str, Any]], None]  # of an event: what is being done, or came out


class Comparer:
    """Answers the forms that are sent to a server."""

    def __init__(self, service: Service, access: Access) -> None:
        self._service, self._access = service, access
        self._reader = FileReader(service.limits)

    def show(self, fields: FormFields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is what `form_page` takes beside it."""
        return form_page(self._service, fields, wants_token=bool(self._access.token), **more)

    async def post(self, request: Request) -> Response:
        """The answer to a form, as lines of JSON or as a page."""
        limits = self._service.limits
        parts = await asyncio.to_thread(
            parse_form,
            await request.body(),
            request.headers.get("content-type", ""),
            limits.population_texts + 6 * limits.texts,
        )
        fields = await asyncio.to_thread(read_fields, parts)
        as_lines = LINES in request.headers.get("accept", "")
        try:
            typed = (*fields.topics.values(), fields.prior, fields.case, fields.examiner)
            self._service.check_labels(*typed)
            prior = fields.prior_same_author
            if as_lines:
                return StreamingResponse(self._lines(fields, prior), media_type=LINES)
            answer: dict[str, Any] = {}
            await self._compare(fields, prior, answer.update, with_report=True)
            return await asyncio.to_thread(self.show, fields, answer=answer)
        except AdHominemError as error:
            if as_lines:
                raise
            refused = as_request_error(error)
            return await asyncio.to_thread(
                self.show, fields, problem=str(refused), status=refused.status
            )

    async def _lines(self, fields: FormFields, prior: float) -> AsyncIterator[bytes]:
        """What is being done and what came out, or an error: a line of JSON for each event."""
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        async def work() -> None:
            try:
                answer = self._write_report if fields.report else self._compare
                await answer(fields, prior, events.put_nowait)
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
        finally:  # the client may have gone
            working.cancel()

    async def _compare(
        self, fields: FormFields, prior: float, tell: Tell, with_report: bool = False
    ) -> None:
        """The verdict, and then the explanation, with a report or not.

        If there can be no explanation, that is told, and the verdict stands without it.
        """
        service = self._service
        async with service.in_time():
            case, notes = await self._prepare(fields, prior, tell)
            verification = await service.verify(case, _progress(tell, "Reading the texts"))
        tell({"verdict": verdict(verification, notes), "verification": verification.to_json()})
        if not fields.explain:
            return
        doing = _progress(tell, "Looking at each passage")
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

    async def _write_report(self, fields: FormFields, prior: float, tell: Tell) -> None:
        async with self._service.in_time():
            case, _ = await self._prepare(fields, prior, tell)
            report = await self._service.report(case, _progress(tell, "Writing the report"))
        tell({"report": await asyncio.to_thread(report_page, report)})

    async def _prepare(
        self, fields: FormFields, prior: float, tell: Tell
    ) -> tuple[Case, list[str]]:
        """The case of a form, and what was odd about the files."""
        if any(fields.files.values()) or fields.population:
            _progress(tell, "Reading the files")
        sides: dict[str, list[Exhibit]] = {}
        notes: list[str] = []
        for side, topic in fields.topics.items():
            files, odd = await self._reader.read(fields.files[side])
            notes += odd
            sides[side] = await asyncio.to_thread(_side, side, fields.pasted[side], files, topic)
        case = Case(first=sides["first"], second=sides["second"], prior_same_author=prior)
        self._service.check_case(case)
        population = self._service.population if fields.server_population else None
        source = "the server’s own" if population else ""
        if fields.population:
            files, odd = await self._reader.read(fields.population, tables=True)
            notes += odd
            population = await self._service.find_population(
                [text.document for text in files], _progress(tell, "Reading the population")
            )
            source = ", ".join(file.name for file in fields.population)
        heading = {
            "case": fields.case,
            "examiner": fields.examiner,
            "population_source": source,
            # What the form begins with is nobody's prior, and a report has no probability by it.
            "prior_same_author": None if fields.prior == NO_PRIOR else prior,
        }
        return replace(case, population=population, heading=heading), notes


def _side(name: str, pasted: list[str], files: list[Exhibit], topic: str) -> list[Exhibit]:
    texts: list[Document | Exhibit] = [Document(text=text, topic=topic) for text in pasted]
    texts += [replace(file, document=replace(file.document, topic=topic)) for file in files]
    return exhibits_of(texts, name)


def _progress(tell: Tell, doing: str) -> Progress:
    """Tell what is being done, and from then on how much of it is."""
    tell({"doing": doing, "progress": 0})
    return lambda share: tell({"doing": doing, "progress": round(share, 3)})
