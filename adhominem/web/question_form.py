"""The form of a question, made from its declaration: its fields, its page and its answer.

With JavaScript the answer comes as lines of JSON while the work goes on, so that nothing need be
kept on the server for a later question. Without it, all of it comes as one page. The templates are
`web_*.html`: those of questions with candidates share one.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from adhominem.errors import AdHominemError
from adhominem.questions.question import (
    Input,
    Question,
    Side,
    Texts,
    inputs_of,
    named,
)
from adhominem.records import Setting, settings_of
from adhominem.render.templates import markup
from adhominem.text.exhibits import Exhibit, exhibits_of
from adhominem.text.files import Document
from adhominem.web.asking import ask, population_of, servers_own, servers_population
from adhominem.web.failures import RequestError, as_request_error
from adhominem.web.guard import Access
from adhominem.web.lines import LINES, EventLines, Tell, progress
from adhominem.web.pages import EXAMPLE_TEXTS, EXAMPLES, example_text, form_page
from adhominem.web.service import Service
from adhominem.web.uploads import FileReader, Part, parse_form, unreadable

TICKED = "yes"  # what a box that is ticked sends
_CANDIDATE = re.compile(r"candidate(\d{1,4})_(name|text|file)")
_HELD = (Exhibit, Side, dict, Texts)  # kinds of inputs that a form has fields for
_FEWEST_SHOWN = 3  # candidates, filled in or not
_LONGEST_NUMBER = 20  # characters
_LONGEST_FIELD_NAME = 40  # characters that are shown
_LONGEST_FILE_NAME = 200


class Sent:
    """The parts of a form by name; one that is not known is refused: it may be evidence."""

    def __init__(self, parts: Sequence[Part], kinds: Mapping[str, str]) -> None:
        """`kinds` are those of all fields: "file", "text", or "once" for one that comes once."""
        self._parts = parts
        names = [part.field for part in parts]
        for name, part in zip(names, parts, strict=True):
            kind = kinds.get(_CANDIDATE.sub(r"candidate_\2", name))
            if kind is None or (part.is_file and kind != "file"):
                short = name[:_LONGEST_FIELD_NAME]
                raise wrong(f"the field '{short}' is not known, or not for files")
            if kind == "once" and names.count(name) > 1:
                raise wrong(f"the field '{name}' comes twice")

    def line(self, name: str) -> str:
        """What a field holds."""
        return "".join(self._strings(name)).strip()

    def pasted(self, name: str) -> list[str]:
        """The texts of a field that hold anything."""
        # A form sends \r\n for each line end that somebody typed.
        return [text.replace("\r\n", "\n") for text in self._strings(name) if text.strip()]

    def uploads(self, name: str) -> list[Part]:
        """The files of a field; of one that was left empty, none."""
        return [
            replace(part, name=(part.name or "a file without a name")[-_LONGEST_FILE_NAME:])
            for part in self._parts
            if part.field == name and (part.name or part.data)
        ]

    def _strings(self, name: str) -> list[str]:
        try:
            return [part.data.decode("utf-8") for part in self._parts if part.field == name]
        except UnicodeDecodeError:
            raise unreadable("expected UTF-8") from None


def wrong(what: str) -> RequestError:
    """The error for fields that are not those of the form."""
    return RequestError(422, "WrongForm", what)


@dataclass(frozen=True, kw_only=True)
class SideFields:
    """What the form holds of a text, a side or a candidate."""

    number: int = 0  # of a candidate
    name: str = ""
    pasted: Sequence[str] = ()
    files: Sequence[Part] = ()  # never shown again; those of a folder bear its name

    @property
    def called(self) -> str:
        """A candidate's name, or a number."""
        return self.name or f"Candidate {self.number}"


@dataclass(frozen=True, kw_only=True)
class QuestionFields:
    """What the form holds, as it was sent or is to be shown."""

    sides: Mapping[str, SideFields] = field(default_factory=dict)  # by input
    candidates: Sequence[SideFields] = ()  # those that are not empty
    server_population: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)  # as they were typed

    @property
    def shown(self) -> list[SideFields]:
        """The candidates as the page shows them: one more than are filled in."""
        filled = list(self.candidates)
        rest = max(_FEWEST_SHOWN - len(filled), 1 if filled else 0)
        last = max((candidate.number for candidate in filled), default=0)
        return [*filled, *(SideFields(number=last + 1 + at) for at in range(rest))]

    def side(self, name: str) -> SideFields:
        """What is held of an input; nothing if it was left out."""
        return self.sides.get(name, SideFields())

    def is_ticked(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.settings[name] == TICKED


class QuestionAnswerer:
    """Answers the form of a question."""

    def __init__(
        self, service: Service, access: Access, reader: FileReader, question: type[Question]
    ) -> None:
        """All forms share the `reader`, which says how many files are read at a time."""
        self.service, self.access, self.reader = service, access, reader
        self.question = question
        self._settings = settings_of(question, "form")
        self._inputs = [note for note in inputs_of(question).values() if note.kind in _HELD]
        self._has_candidates = any(note.kind is dict for note in self._inputs)
        self._kinds = {setting.field: "once" for setting in self._settings}  # of the fields
        for note in self._inputs:
            side = "candidate" if note.kind is dict else note.field
            if note.kind is Texts and not note.is_corpus:
                self._kinds |= {side: "file", "server_population": "once"}
            else:
                self._kinds |= {f"{side}_file": "file", f"{side}_text": "text"}
            if note.is_named or note.kind is dict:
                self._kinds[f"{side}_name"] = "once"

    @property
    def empty(self) -> QuestionFields:
        """The form as it begins."""
        return QuestionFields(settings={one.field: _first_value(one) for one in self._settings})

    def show(self, fields: QuestionFields, **more: Any) -> HTMLResponse:
        """The page with the form; `more` is a `problem` with its `status`, or an `answer`."""
        name = self.question.name
        searcher = self.service.searcher
        return self.page(
            f"web_{'case' if self._has_candidates else name}.html",
            f"/{name}",
            fields,
            question=name,
            limits={one.field: one.served for one in self._settings},
            new_candidate=SideFields(),
            indexed=0 if searcher is None else len(searcher.store),
            **more,
        )

    def page(self, template: str, tab: str, fields: QuestionFields, **more: Any) -> HTMLResponse:
        """The page of a tab by this template."""
        wants_token = bool(self.access.token)
        return form_page(self.service, template, tab, fields, wants_token=wants_token, **more)

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

    def example(self, name: str) -> QuestionFields:
        """The form with the texts of an example; as it begins if there is none of this name."""
        of_example = self.question.example_settings
        if name not in EXAMPLES or of_example is None:
            return self.empty
        if self._has_candidates and name != "two-writers":
            return self.empty
        texts = {writer: [example_text(one) for one in of] for writer, of in EXAMPLE_TEXTS.items()}
        (first, *of_first), (second, *of_second) = texts.values()
        sides = {writer: SideFields(name=writer, pasted=pasted) for writer, pasted in texts.items()}
        candidates: list[SideFields] = []
        if self._has_candidates:
            is_one = any(note.kind is Exhibit for note in self._inputs)
            pasted = [f"{first}\n\n{second}"] if is_one else [first]
            sides = {"disputed": SideFields(pasted=pasted)}
            candidates = [
                SideFields(number=number, name=writer, pasted=pasted)
                for number, (writer, pasted) in enumerate(
                    zip(texts, (of_first, of_second), strict=True), start=1
                )
            ]
        elif any(note.field == "first" for note in self._inputs):
            sides = dict(zip(("first", "second"), sides.values(), strict=True))
        else:
            sides = {"texts": SideFields(pasted=[text for of in texts.values() for text in of])}
        settings = {**self.empty.settings, **of_example}
        return replace(self.empty, settings=settings, sides=sides, candidates=candidates)

    def read(self, parts: Sequence[Part]) -> QuestionFields:
        """What the fields of the form hold."""
        sent = Sent(parts, self._kinds)
        matches = [_CANDIDATE.fullmatch(part.field) for part in parts]
        numbers = dict.fromkeys(match[1] for match in matches if match)  # in the order of the form
        candidates = [
            _side(sent, f"candidate{number}", at) for at, number in enumerate(numbers, start=1)
        ]
        return QuestionFields(
            sides={note.field: _side(sent, note.field) for note in self._inputs},
            candidates=[one for one in candidates if one.name or one.pasted or one.files],
            server_population=sent.line("server_population") == TICKED,
            settings={
                one.field: sent.line(one.field) or ("" if one.kind is bool else _first_value(one))
                for one in self._settings
            },
        )

    def check(self, fields: QuestionFields) -> None:
        """Refuse labels that are too long, sides of one name, and settings that cannot be used.

        How many texts there may be, is checked when they are read.
        """
        names = [candidate.called for candidate in fields.candidates]
        names += [side.name for side in fields.sides.values() if side.name]
        self.service.check_labels(*names, *fields.settings.values())
        named((name, ()) for name in names)
        self._read_settings(fields)

    def _read_settings(self, fields: QuestionFields) -> dict[str, Any]:
        values = {one.name: _value(one, fields.settings[one.field]) for one in self._settings}
        return self.question.checked(values)

    async def asked(self, fields: QuestionFields, tell: Tell) -> tuple[Question, list[str]]:
        """The question that a form asks, and what was odd about its files."""
        values, notes = await self._read_texts(fields, tell)
        values |= self._read_settings(fields) | servers_own(self.question, self.service)
        return await asyncio.to_thread(lambda: self.question(**values)), notes

    async def answer(self, fields: QuestionFields, tell: Tell, *, at_once: bool) -> None:
        """The result as a part of the page, as JSON, and as a page of its own.

        `at_once` is whether no other form follows this one.
        """
        page = self.question.page()
        async with self.service.in_time():
            question, notes = await self.asked(fields, tell)
            result = await ask(self.service, question, progress(tell, self.question.doing))
        shown = await asyncio.to_thread(
            lambda: markup(
                "web_result.html",
                title=page.title(result),
                notes=notes,
                fragment=page.fragment(result),
            )
        )
        tell({"verdict": shown, self.question.result: await asyncio.to_thread(result.to_json)})
        tell({"page": await asyncio.to_thread(page.whole, result)})

    async def _read_texts(
        self, fields: QuestionFields, tell: Tell
    ) -> tuple[dict[str, Any], list[str]]:
        """What the inputs hold, and what was odd about the files."""
        if any(side.files for side in (*fields.sides.values(), *fields.candidates)):
            progress(tell, "Reading the files")
        plain = {
            note.name: fields.candidates if note.kind is dict else [fields.side(note.field)]
            for note in self._inputs
            if note.kind is not Texts
        }
        # All in one go: a file that is not a table is one text.
        files = [file for sides in plain.values() for side in sides for file in side.files]
        texts, notes = await self.reader.read(files)
        of_files, values = iter(texts), dict[str, Any]()
        for note in self._inputs:
            if note.kind is Texts:
                side = fields.side(note.field)
                rows, odd = await self.reader.read(side.files, tables=True)
                notes += odd
                value = self._texts(fields, side, rows, note)
            else:
                sides = [(side, [next(of_files) for _ in side.files]) for side in plain[note.name]]
                value = await asyncio.to_thread(_value_of, note, sides)
            if value is not None:  # or the question's own default
                values[note.name] = value
        return values, notes

    def _texts(
        self, fields: QuestionFields, side: SideFields, rows: Sequence[Exhibit], note: Input
    ) -> Texts | None:
        """A corpus, or a population; None if there is none."""
        if note.is_corpus:
            authors = _authors([file.name for file in side.files])
            documents = [text.document for text in texts_of(side.pasted, rows, note.called)]
            by_author = [replace(one, author=authors.get(one.id, "")) for one in documents]
            return Texts(tuple(by_author), "these texts")
        if rows:
            name = ", ".join(file.name for file in side.files)
            return population_of(self.service, note, rows, name)
        if note.is_servers and fields.server_population:
            return servers_population(self.service)
        return None


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


def _value_of(note: Input, sides: Sequence[tuple[SideFields, Sequence[Exhibit]]]) -> Any:
    """A text, a side or candidates, of what was pasted and the texts of files."""
    if note.kind is dict:
        return note.of_sides(
            (side.called, texts_of(side.pasted, files, side.called)) for side, files in sides
        )
    ((side, files),) = sides
    called = (side.name if note.is_named else "") or note.called
    if not called:
        texts = exhibits_of([*(Document(text=text) for text in side.pasted), *files], note.field)
    else:
        texts = texts_of(side.pasted, files, called)
    if not (texts or note.is_named):
        exhibits_of(texts, note.field)  # raises the error
    return note.of_sides([(called, texts)])


def _side(sent: Sent, name: str, number: int = 0) -> SideFields:
    return SideFields(
        number=number,
        name=sent.line(f"{name}_name"),
        pasted=sent.pasted(f"{name}_text"),
        files=[*sent.uploads(f"{name}_file"), *sent.uploads(name)],
    )


def _authors(names: Sequence[str]) -> Mapping[str, str]:
    """By the names of files: the folder that each lies in, if they lie in several."""
    folders = {name: name.replace("\\", "/").rpartition("/")[0] for name in names}
    return folders if len(set(folders.values())) > 1 else {}


def _first_value(setting: Setting) -> str:
    """What a field holds at first; "" is a box that is not ticked."""
    if setting.kind is bool:
        return TICKED if setting.default else ""
    return f"{setting.default:g}" if setting.kind is float else str(setting.default)


def _value(setting: Setting, text: str) -> Any:
    """The value of a setting as it was typed."""
    if setting.kind is bool:
        return text == TICKED
    try:
        if len(text) > _LONGEST_NUMBER or not text.isascii():
            raise ValueError
        value = setting.kind(text.replace(",", ".") if setting.kind is float else text)
        if setting.served is not None and not setting.served.allows(value):
            raise ValueError
    except ValueError:
        number = "a whole number" if setting.kind is int else "a number"
        limit = "" if setting.served is None else f", {setting.served}"
        name = setting.field.replace("_", " ")
        raise RequestError(422, "WrongSetting", f"{name}: expected {number}{limit}") from None
    return value
