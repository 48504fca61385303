"""The form “Who else?”: texts that are searched for in the server's index, where it has one."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.responses import HTMLResponse

from adhominem.questions.search.page import search_fragment, search_page, search_title
from adhominem.questions.search.search import HITS
from adhominem.render.templates import markup
from adhominem.web.answering import Answerer, texts_of
from adhominem.web.api_search import MOST_HITS, search_index
from adhominem.web.failures import RequestError
from adhominem.web.form_fields import Part, Sent
from adhominem.web.lines import Tell, progress
from adhominem.web.pages import answer_page
from adhominem.web.uploads import Upload

SEARCH = "search"


@dataclass(frozen=True, kw_only=True)
class SearchFields:
    """What the form holds, as it was sent or is to be shown."""

    pasted: Sequence[str] = ()
    files: Sequence[Upload] = ()
    k: str = f"{HITS}"

    @property
    def hits(self) -> int:
        """How many hits at most; an error if it is no number."""
        if not re.fullmatch(r"[0-9]{1,3}", self.k) or not 1 <= int(self.k) <= MOST_HITS:
            raise RequestError(
                422, "WrongNumber", f"the number of hits: expected a number from 1 to {MOST_HITS}"
            )
        return int(self.k)


class SearchAnswerer(Answerer[SearchFields]):
    """Answers the form with texts to search for."""

    def show(self, fields: SearchFields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is what `answer_page` takes beside it."""
        assert self.service.searcher is not None
        return answer_page(
            self.service,
            "web_search.html",
            f"/{SEARCH}",
            fields,
            wants_token=bool(self.access.token),
            indexed=len(self.service.searcher.store),
            **more,
        )

    def example(self, name: str) -> SearchFields:
        """The form as it begins: what is in the index, only its server knows."""
        return SearchFields()

    def read(self, parts: Sequence[Part]) -> SearchFields:
        """What the fields of the form hold."""
        sent = Sent(parts, files=("texts_file",), texts=("texts_text",), once=("k",))
        return SearchFields(
            pasted=sent.pasted("texts_text"),
            files=sent.uploads("texts_file"),
            k=sent.line("k") or SearchFields.k,
        )

    def check(self, fields: SearchFields) -> None:
        """Refuse a number of hits that is none."""
        _ = fields.hits

    async def answer(self, fields: SearchFields, tell: Tell, *, at_once: bool) -> None:
        """The result as a part of the page, as JSON, and as a page of its own."""
        async with self.service.in_time():
            if fields.files:
                progress(tell, "Reading the files")
            files, notes = await self.reader.read(fields.files)
            exhibits = texts_of(fields.pasted, files, "the text")
            if not exhibits:
                raise RequestError(422, "NoText", "there is no text to search for; give one")
            doing = progress(tell, "Searching")
            result = await search_index(self.service, exhibits, fields.hits, on_progress=doing)
        shown = await asyncio.to_thread(
            markup,
            "web_result.html",
            title=search_title(result),
            notes=notes,
            fragment=search_fragment(result),
        )
        tell({"verdict": shown, "search_result": await asyncio.to_thread(result.to_json)})
        tell({"page": await asyncio.to_thread(search_page, result)})
