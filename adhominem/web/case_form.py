"""Answers to the forms with candidates: which of these wrote it, and which part of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fastapi.responses import HTMLResponse

from adhominem.questions.rank.page import rank_page
from adhominem.questions.roll.page import roll_page
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, exhibits_of
from adhominem.text.files import Document
from adhominem.web import attribution
from adhominem.web.answering import Answerer, texts_of
from adhominem.web.attribution import PartsCase, WhoCase
from adhominem.web.case_fields import RANK, CaseFields, read_case_fields
from adhominem.web.case_pages import case_page, example_fields, ranking_shown, rolled_shown
from adhominem.web.failures import RequestError
from adhominem.web.form_fields import Part
from adhominem.web.guard import Access
from adhominem.web.lines import Tell, progress
from adhominem.web.service import SERVERS, Service
from adhominem.web.uploads import FileReader, Upload


class CaseAnswerer(Answerer[CaseFields]):
    """Answers one of the forms with candidates."""

    def __init__(self, service: Service, access: Access, reader: FileReader, question: str) -> None:
        super().__init__(service, access, reader)
        self._question = question

    def show(self, fields: CaseFields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is what `case_page` takes beside it."""
        return case_page(self.service, fields, wants_token=bool(self.access.token), **more)

    def example(self, name: str) -> CaseFields:
        """The form with the texts of an example."""
        return example_fields(self._question, name)

    def read(self, parts: Sequence[Part]) -> CaseFields:
        """What the fields of the form hold."""
        return read_case_fields(parts, self._question)

    def check(self, fields: CaseFields) -> None:
        """Refuse labels that are too long, two candidates of one name, and settings that cannot be.

        How many texts there may be, the questions themselves check.
        """
        names = [candidate.called for candidate in fields.candidates]
        self.service.check_labels(*names, *fields.settings.values())
        for name in names:
            if names.count(name) > 1:
                raise RequestError(
                    422,
                    "SameName",
                    f"two candidates are named '{name}'; expected different names: put all texts "
                    "of one person under one name, or rename one",
                )
        # Settings are read here, too, so that bad ones are refused before any work is done.
        _ = fields.prior_none if self._question == RANK else fields.roll_options

    async def answer(self, fields: CaseFields, tell: Tell, *, at_once: bool) -> None:
        """The result as a part of the page, as JSON, and as a page of its own."""
        async with self.service.in_time():
            disputed, candidates, notes = await self._read_texts(fields, tell)
            if self._question == RANK:
                await self._rank(fields, disputed, candidates, notes, tell)
            else:
                await self._roll(fields, disputed, candidates, notes, tell)

    async def _rank(
        self,
        fields: CaseFields,
        disputed: list[Exhibit],
        candidates: dict[str, list[Exhibit]],
        notes: list[str],
        tell: Tell,
    ) -> None:
        population: list[Document] | Population
        texts, odd = await self.reader.read(fields.population, tables=True)
        notes += odd
        population = [text.document for text in texts]
        name = ", ".join(file.name for file in fields.population)
        if not population and fields.server_population and self.service.population is not None:
            population, name = self.service.population, SERVERS
        case = WhoCase(
            disputed=disputed,
            candidates=candidates,
            population=population,
            population_name=name,
            prior_none=fields.prior_none,
            one_by_one=fields.is_ticked("one_by_one"),
            explained=fields.is_ticked("explain"),
        )
        ranking = await attribution.rank(
            self.service, case, progress(tell, "Comparing the candidates")
        )
        shown = await asyncio.to_thread(ranking_shown, ranking, notes)
        tell({"verdict": shown, "ranking": await asyncio.to_thread(ranking.to_json)})
        tell({"page": await asyncio.to_thread(rank_page, ranking)})

    async def _roll(
        self,
        fields: CaseFields,
        disputed: list[Exhibit],
        candidates: dict[str, list[Exhibit]],
        notes: list[str],
        tell: Tell,
    ) -> None:
        if len(disputed) > 1:
            raise RequestError(
                422, "SeveralTexts", f"{len(disputed):,} texts; expected one that is cut into parts"
            )
        population, odd = await self.read_population(fields.population, tell)
        notes += odd
        name = ", ".join(file.name for file in fields.population)
        if population is None and fields.server_population and self.service.population is not None:
            population, name = self.service.population, SERVERS
        case = PartsCase(
            text=disputed[0],
            candidates=candidates,
            population=population,
            population_name=name,
            options=fields.roll_options,
        )
        rolled = await attribution.roll(self.service, case, progress(tell, "Reading each window"))
        shown = await asyncio.to_thread(rolled_shown, rolled, notes)
        tell({"verdict": shown, "rolled": await asyncio.to_thread(rolled.to_json)})
        tell({"page": await asyncio.to_thread(roll_page, rolled)})

    async def _read_texts(
        self, fields: CaseFields, tell: Tell
    ) -> tuple[list[Exhibit], dict[str, list[Exhibit]], list[str]]:
        """The disputed texts, those of each candidate, and what was odd about the files."""
        uploads = [fields.files, *(candidate.files for candidate in fields.candidates)]
        if any(uploads) or fields.population:
            progress(tell, "Reading the files")
        # All in one go: each file that is no table is one text.
        texts, notes = await self.reader.read([file for files in uploads for file in files])
        disputed, candidates = await asyncio.to_thread(self._sort, fields, uploads, texts)
        return disputed, candidates, notes

    def _sort(
        self, fields: CaseFields, uploads: Sequence[Sequence[Upload]], texts: Sequence[Exhibit]
    ) -> tuple[list[Exhibit], dict[str, list[Exhibit]]]:
        """What was pasted, and the texts of files, by whose they are."""
        of_files = iter(texts)
        sides = [[next(of_files) for _ in files] for files in uploads]
        name = "the disputed text" if self._question == RANK else "the text"
        disputed = texts_of(fields.pasted, sides[0], name)
        candidates = {
            candidate.called: texts_of(candidate.pasted, files, candidate.called)
            for candidate, files in zip(fields.candidates, sides[1:], strict=True)
        }
        return exhibits_of(disputed, "disputed"), candidates
