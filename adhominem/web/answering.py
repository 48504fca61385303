"""Forms of the pages, and how they are answered: as lines of JSON, or as a page.

With JavaScript the answer comes as lines of JSON while the work goes on, so that nothing need be
kept on the server for a later question. Without it, all of it comes as one page.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from adhominem.errors import AdHominemError
from adhominem.text.exhibits import Exhibit, exhibits_of
from adhominem.text.files import Document
from adhominem.web.failures import as_request_error
from adhominem.web.form_fields import Part, parse_form
from adhominem.web.guard import Access
from adhominem.web.lines import LINES, EventLines, Tell
from adhominem.web.service import Service
from adhominem.web.uploads import FileReader

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
    def example(self, name: str) -> Fields:
        """The form with the texts of an example; as it begins if there is none of this name."""

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
                return EventLines(lambda tell: self.answer(fields, tell, at_once=False))
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


def texts_of(pasted: Sequence[str], files: Sequence[Exhibit], name: str) -> list[Exhibit]:
    """Pasted texts, named after their side, and files, by their names."""
    documents = [Document(text=text) for text in pasted]
    if not documents:
        return list(files)
    if len(documents) == 1:
        return [*exhibits_of(documents, name), *files]
    named = [
        replace(document, id=f"{name} ({number})")
        for number, document in enumerate(documents, start=1)
    ]
    return [*exhibits_of(named, name), *files]
