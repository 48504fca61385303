"""The form “What differs?”: its fields, its page and its answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi.responses import HTMLResponse

from adhominem.questions.contrast.contrast import ContrastOptions
from adhominem.questions.contrast.page import contrast_fragment, contrast_page, contrast_title
from adhominem.render.templates import markup
from adhominem.web import attribution
from adhominem.web.answering import Answerer, texts_of
from adhominem.web.attribution import ContrastCase
from adhominem.web.failures import RequestError
from adhominem.web.form_fields import SIDES, Part, Sent
from adhominem.web.lines import Tell, progress
from adhominem.web.pages import EXAMPLE_TEXTS, EXAMPLES, answer_page, example_text
from adhominem.web.uploads import Upload

CONTRAST = "contrast"
_USUAL = {"top": "10", "slice": "1000"}  # settings
_CALLED = {"first": "First side", "second": "Second side"}


@dataclass(frozen=True, kw_only=True)
class ContrastFields:
    """What the form holds, as it was sent or is to be shown; by side."""

    names: Mapping[str, str] = field(default_factory=dict)
    pasted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Sequence[Upload]] = field(default_factory=dict)
    population: Sequence[Upload] = ()
    settings: Mapping[str, str] = field(default_factory=lambda: _USUAL)

    @property
    def called(self) -> tuple[str, str]:
        """The names of the sides, or which they are."""
        first, second = (self.names.get(side) or _CALLED[side] for side in SIDES)
        return first, second

    @property
    def options(self) -> ContrastOptions:
        """How many habits, and how texts are cut; an error if a number is none."""
        for name, value in self.settings.items():
            if not re.fullmatch(r"[0-9]{1,7}", value):
                raise RequestError(422, "WrongNumber", f"{name}: this is no number; expected one")
        numbers = {name: int(value) for name, value in self.settings.items()}
        return ContrastOptions(**numbers)


class ContrastAnswerer(Answerer[ContrastFields]):
    """Answers the form with the texts of two people."""

    def show(self, fields: ContrastFields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is what `answer_page` takes beside it."""
        return answer_page(
            self.service,
            "web_contrast.html",
            f"/{CONTRAST}",
            fields,
            wants_token=bool(self.access.token),
            **more,
        )

    def example(self, name: str) -> ContrastFields:
        """The form with the texts of an example; empty if there is no example of this name."""
        if name not in EXAMPLES:
            return ContrastFields()
        texts = [[example_text(one) for one in of] for of in EXAMPLE_TEXTS.values()]
        return ContrastFields(
            names=dict(zip(SIDES, EXAMPLE_TEXTS, strict=True)),
            pasted=dict(zip(SIDES, texts, strict=True)),
            settings={**_USUAL, "slice": "100"},
        )

    def read(self, parts: Sequence[Part]) -> ContrastFields:
        """What the fields of the form hold."""
        sent = Sent(
            parts,
            files=("population", *(f"{side}_file" for side in SIDES)),
            texts=[f"{side}_text" for side in SIDES],
            once=(*_USUAL, *(f"{side}_name" for side in SIDES)),
        )
        return ContrastFields(
            names={side: sent.line(f"{side}_name") for side in SIDES},
            pasted={side: sent.pasted(f"{side}_text") for side in SIDES},
            files={side: sent.uploads(f"{side}_file") for side in SIDES},
            population=sent.uploads("population"),
            settings={name: sent.line(name) or usual for name, usual in _USUAL.items()},
        )

    def check(self, fields: ContrastFields) -> None:
        """Refuse settings that cannot be, and two sides of one name."""
        self.service.check_labels(*fields.names.values(), *fields.settings.values())
        _ = fields.options
        first, second = fields.called
        if first == second:
            raise RequestError(
                422, "SameName", f"both sides are named '{first}'; expected different names"
            )

    async def answer(self, fields: ContrastFields, tell: Tell, *, at_once: bool) -> None:
        """The result as a part of the page, as JSON, and as a page of its own."""
        async with self.service.in_time():
            uploads = [file for side in SIDES for file in fields.files.get(side, ())]
            if uploads or fields.population:
                progress(tell, "Reading the files")
            texts, notes = await self.reader.read(uploads)
            of_files = iter(texts)
            sides = []
            for side, name in zip(SIDES, fields.called, strict=True):
                files = [next(of_files) for _ in fields.files.get(side, ())]
                exhibits = texts_of(fields.pasted.get(side, ()), files, name)
                sides.append([exhibit.document for exhibit in exhibits])
            usual, odd = await self.reader.read(fields.population, tables=True)
            case = ContrastCase(
                first=sides[0],
                second=sides[1],
                names=fields.called,
                usual=[text.document for text in usual],
                options=fields.options,
            )
            contrast = await attribution.contrast(
                self.service, case, progress(tell, "Counting habits")
            )
        if usual:
            files_of = ", ".join(file.name for file in fields.population)
            contrast = replace(contrast, population=files_of)
        shown = await asyncio.to_thread(
            markup,
            "web_result.html",
            title=contrast_title(contrast),
            notes=[*notes, *odd],
            fragment=contrast_fragment(contrast),
        )
        tell({"verdict": shown, "contrast": await asyncio.to_thread(contrast.to_json)})
        tell({"page": await asyncio.to_thread(contrast_page, contrast)})
