"""Forms of the pages, and how they are answered: as lines of JSON, or as a page.

With JavaScript the answer comes as lines of JSON while the work goes on, so that nothing need be
kept on the server for a later question. Without it, all of it comes as one page.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Generic, TypeVar

from fastapi import Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from adhominem.errors import AdHominemError
from adhominem.web.batching import Progress
from adhominem.web.failures import as_request_error, error_json, json_bytes, logger, place_of
from adhominem.web.form_fields import Part, parse_form
from adhominem.web.guard import LINES, Access
from adhominem.web.service import Service
from adhominem.web.uploads import FileReader

Tell = Callable[[dict[str, Any]], None]  # of an event: what is being done, or came out
Fields = TypeVar("Fields")


class Answerer(ABC, Generic[Fields]):
    """Answers one of the forms that are sent to a server."""

    def __init__(self, service: Service, access: Access, reader: FileReader) -> None:
        """All forms share the `reader`, which says how many files are read at a time."""
        self.service, self.access, self.reader = service, access, reader

    @abstractmethod
    def show(self, fields: Fields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is a `problem` with its `status`, or an `answer`."""

    @abstractmethod
    def read(self, parts: Sequence[Part]) -> Fields:
        """What the fields of the form hold."""

    @abstractmethod
    def check(self, fields: Fields) -> None:
        """Refuse what is wrong with the fields, before any file is read."""

    @abstractmethod
    async def answer(self, fields: Fields, tell: Tell, *, at_once: bool) -> None:
        """Do what the form asks for; `at_once` is whether no other form follows this one."""

    async def post(self, request: Request) -> Response:
        """The answer to a form, as lines of JSON or as a page."""
        limits = self.service.limits
        parts = await asyncio.to_thread(
            parse_form,
            await request.body(),
            request.headers.get("content-type", ""),
            limits.population_texts + 6 * limits.texts,
        )
        fields = await asyncio.to_thread(self.read, parts)
        as_lines = LINES in request.headers.get("accept", "")
        try:
            self.check(fields)
            if as_lines:
                return StreamingResponse(self._lines(fields), media_type=LINES)
            answer: dict[str, Any] = {}
            await self.answer(fields, answer.update, at_once=True)
            return await asyncio.to_thread(self.show, fields, answer=answer)
        except AdHominemError as error:
            if as_lines:
                raise
            refused = as_request_error(error)
            return await asyncio.to_thread(
                self.show, fields, problem=str(refused), status=refused.status
            )

    async def _lines(self, fields: Fields) -> AsyncIterator[bytes]:
        """What is being done and what came out, or an error: a line of JSON for each event."""
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        async def work() -> None:
            try:
                await self.answer(fields, events.put_nowait, at_once=False)
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


def progress(tell: Tell, doing: str) -> Progress:
    """Tell what is being done, and from then on how much of it is."""
    tell({"doing": doing, "progress": 0})
    return lambda share: tell({"doing": doing, "progress": round(share, 3)})
