"""A question by the REST interface: its request, made from its declaration, and its answer.

The texts of a question are encoded first, a few at a time; what the library then asks the verifier
for is there already. So others who wait for the thread need not wait for all of a long question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import Any, get_type_hints

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, create_model

from adhominem.jobs.run import Run, Unit, Watch
from adhominem.questions.question import (
    Input,
    Question,
    Side,
    Texts,
    as_known,
    documents_in,
    drawn_texts,
    inputs_of,
    required_in,
)
from adhominem.records import OneOf, Setting, Within, settings_of
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verifier import Verifier
from adhominem.web.batching import Progress, no_progress
from adhominem.web.failures import json_bytes, too_large
from adhominem.web.json_requests import JsonRoute, awaited
from adhominem.web.lines import LINES, EventLines, Tell, progress
from adhominem.web.schema import (
    AuthoredText,
    AuthoredTexts,
    Others,
    Strict,
    Text,
    TextIn,
    as_exhibits,
    responses,
)
from adhominem.web.schema import Side as SideIn
from adhominem.web.service import SERVERS, Service

_INDEXED_PER_CHARACTER = 20  # texts of an index that are looked through, for one of work
_FIELDS: dict[Any, Any] = {Exhibit: Text, Side: SideIn, dict: dict[str, SideIn], Texts: Others}
_BEFORE = ("encoding", "population", "reading")  # parts of a run that are done beforehand


def question_router(service: Service, questions: Sequence[type[Question]]) -> APIRouter:
    """A route for each question."""
    router = APIRouter(route_class=JsonRoute)
    for cls in questions:
        router.add_api_route(
            f"/api/{cls.name}",
            _route(service, cls, body_of(cls)),
            methods=["POST"],
            responses=responses(result_of(cls)),
            summary=cls.title,
            description=f"{_help(cls)}\n\nThe answer is what `adhominem {cls.name} --json` prints.",
        )
    return router


def result_of(cls: type[Question]) -> Any:
    """The class of the answers."""
    return get_type_hints(cls.answer)["return"]


def body_of(cls: type[Question]) -> type[BaseModel]:
    """A request: a field for each input and each setting that is offered."""
    fields: dict[str, Any] = {}
    required = required_in(cls)
    for name, (kind, note) in inputs_of(cls).items():
        if kind not in _FIELDS:  # the server's own
            continue
        hint = AuthoredTexts if note.is_corpus else _FIELDS[kind]
        default: Any = ... if name in required else {} if kind is dict else None
        is_optional = kind is Side and name not in required
        field = Field(default, description=note.help or None)
        fields[name] = (hint | None if is_optional else hint, field)
    for name, (_, note) in inputs_of(cls).items():
        if note.is_named:
            fields[f"{name}_name"] = (str, name)
    for setting in settings_of(cls, "rest"):
        kind = setting.kind if setting.default is not None else setting.kind | None
        fields[setting.name] = (kind, _field(setting))
    body: type[BaseModel] = create_model(
        cls.__name__, __base__=Strict, __module__=__name__, __doc__=_help(cls), **fields
    )
    body.model_config["json_schema_extra"] = {"examples": [dict(cls.example)]}
    body.model_rebuild(force=True)
    return body


def _help(cls: type[Question]) -> str:
    return "\n".join(line.strip() for line in (cls.__doc__ or "").strip().splitlines())


def _field(setting: Setting) -> Any:
    limits: dict[str, Any] = {}
    if isinstance(limit := setting.served, Within):
        ends = {"ge": limit.at_least, "gt": limit.above, "le": limit.at_most, "lt": limit.below}
        limits = {name: setting.kind(end) for name, end in ends.items() if isfinite(end)}
    elif isinstance(limit, OneOf):
        limits = {"json_schema_extra": {"enum": list(limit.choices)}}
    return Field(setting.default, description=setting.help, **limits)


def question_in(cls: type[Question], body: Any, service: Service) -> Question:
    """The question that a request asks."""
    values = {setting.name: getattr(body, setting.name) for setting in settings_of(cls, "rest")}
    for name, (kind, note) in inputs_of(cls).items():
        value: Any = getattr(body, name, None)
        if kind is Texts and value is not None:
            values[name] = _corpus(value) if note.is_corpus else _population(value, note)
        elif kind is Texts and note.is_servers and service.population is not None:
            values[name] = Texts(name=SERVERS, population=service.population)
        elif kind is Exhibit:
            values[name] = as_exhibits([value], name)[0]
        elif kind is Side and value is not None:
            called = getattr(body, f"{name}_name", name.removesuffix("s"))
            texts = tuple(as_exhibits(value, called))
            values[name] = Side(texts, called if note.is_named else "")
        elif kind is dict:
            values[name] = as_known({name: _known(name, of) for name, of in value.items()})
    return cls(**values, **servers_own(cls, service))


def servers_own(cls: type[Question], service: Service) -> dict[str, Any]:
    """What a question takes from the server: what opens its index."""
    return {"index": service.current_index} if "index" in inputs_of(cls) else {}


def _known(name: str, texts: Sequence[TextIn]) -> list[Document]:
    """The texts of a candidate, named after the candidate if they have no name."""
    named = [
        text if text.name else text.model_copy(update={"name": f"{name}/{number}"})
        for number, text in enumerate(texts, start=1)
    ]
    return [text.document for text in as_exhibits(named, name)] if named else []


def _population(texts: Sequence[TextIn], note: Input) -> Texts:
    if not texts:
        return Texts(name="none")
    documents = [text.document for text in as_exhibits(list(texts), "population")]
    return background(documents, note)


def background(documents: Sequence[Document], note: Input, name: str = "") -> Texts:
    """The texts of a population, and how many were sent."""
    return replace(drawn_texts(documents, note, name), count=len(documents))


def _corpus(texts: Sequence[AuthoredText]) -> Texts:
    return Texts(
        tuple(
            Document(
                text=text.text,
                author=text.author,
                topic=text.topic,
                id=text.name or f"text {number}",
            )
            for number, text in enumerate(texts, start=1)
        ),
        "texts",
    )


async def ask(service: Service, question: Question, on_progress: Progress = no_progress) -> Any:
    """The answer to a question, if it is within the limits."""
    await asyncio.to_thread(_check, service, question)
    windows = await asyncio.to_thread(question.windows)
    most = service.limits.population_characters
    service.check(windows, most, "the windows, which overlap")
    documents = [*windows, *question.documents()] if question.is_encoded else []
    work = question.work()
    if servers_own(type(question), service) and service.searcher is not None:
        work += len(service.searcher.store) // _INDEXED_PER_CHARACTER

    def finish(verifier: Verifier, tell: Progress) -> Any:
        return question.answer(verifier.keeping(), Run(_watch(tell)))

    return await service.work(documents, finish, on_progress, work=work)


def _check(service: Service, question: Question) -> None:
    """Refuse more texts, longer ones and more parts of a text than the limits allow."""
    limits, compared = service.limits, list[Document]()
    for name, (kind, note) in inputs_of(type(question)).items():
        value = getattr(question, name)
        documents, what = documents_in(value), f"the {name}"
        most = limits.texts if kind is Side else limits.population_texts
        if kind is dict:
            service.check_labels(*value)
            most = limits.texts if question.parts() else most  # each with each part
        elif kind is Side and note.is_named:
            service.check_labels(value.name if value else "")
            what += " side"
        elif kind is Side and name != "texts":
            what += " texts"
        count = max(len(documents), value.count) if isinstance(value, Texts) else len(documents)
        service.check_number(range(count), most, what)
        if kind is Texts and not note.is_corpus:
            service.check(documents, limits.population_characters, what)
        else:
            compared += documents
    service.check(compared, limits.characters, "the texts")
    service.check_labels(*(text.author for text in compared))
    if getattr(question, "explain", False):
        service.check(compared, limits.explained_characters, "texts to explain")
    if question.parts() > limits.population_texts:
        raise too_large(
            f"about {question.parts():,} windows; expected at most {limits.population_texts:,}: "
            "send an excerpt, or take a larger step"
        )


def _watch(tell: Progress) -> Watch:
    """Tells how much of a run is done."""

    @contextmanager
    def watch(
        what: str, total: int | None = None, unit: Unit = "pieces"
    ) -> Iterator[Callable[[float], None]]:
        done = 0.0

        def on_amount(amount: float) -> None:
            nonlocal done
            done = amount if unit == "share" else done + amount / max(1, total or 1)
            tell(min(1.0, done))

        yield (lambda amount: None) if what in _BEFORE else on_amount

    return watch


def _route(service: Service, cls: type[Question], body: type[BaseModel]) -> Callable[..., Any]:
    async def route(request: Request, asked: Any) -> Response:
        async def work(on_progress: Progress) -> Any:
            question = await asyncio.to_thread(question_in, cls, asked, service)
            result = await ask(service, question, on_progress)
            return await asyncio.to_thread(result.to_json)

        async def tell_all(tell: Tell) -> None:
            async with service.in_time():
                tell({"result": await work(progress(tell, cls.name))})

        if LINES in request.headers.get("accept", ""):
            return EventLines(tell_all)
        result = await awaited(service, request, work(no_progress))
        data = await asyncio.to_thread(json_bytes, result)
        return Response(data, media_type="application/json")

    route.__annotations__["asked"] = body
    route.__name__ = cls.name
    return route
