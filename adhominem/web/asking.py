"""A question by the REST interface: its request, made from its declaration, and its answer.

The texts of a question are encoded first, a few at a time; what the library then asks the verifier
for is there already. So others who wait for the thread need not wait for all of a long question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from typing import Any, get_type_hints

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, create_model

from adhominem.jobs.run import Run, Unit, Watch
from adhominem.questions.question import Input, Question, Side, Texts, cost, documents_in, inputs_of
from adhominem.records import OneOf, Setting, Within, settings_of
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verification import ComparedSides
from adhominem.verify.verifier import Verifier
from adhominem.web.batching import Progress, no_progress
from adhominem.web.failures import json_bytes, too_large
from adhominem.web.lines import LINES, EventLines, Tell, progress
from adhominem.web.schema import (
    AuthoredTexts,
    JsonRoute,
    Others,
    Strict,
    Text,
    TextIn,
    as_exhibits,
    awaited,
    responses,
    unhurried,
)
from adhominem.web.schema import Side as SideIn
from adhominem.web.service import SERVERS, Service

_INDEXED_PER_CHARACTER = 20  # texts of an index that are looked through, for one of work
_FIELDS: dict[Any, Any] = {Exhibit: Text, Side: SideIn, dict: dict[str, SideIn], Texts: Others}
_BEFORE = ("encoding", "population", "reading")  # parts of a run that are done beforehand


def question_router(service: Service, questions: Sequence[type[Question]]) -> APIRouter:
    """A route for each question."""
    router, bodies = APIRouter(route_class=JsonRoute), dict[str, type[BaseModel]]()
    for cls in questions:
        body = bodies.setdefault(cls.request or cls.__name__, body_of(cls))
        router.add_api_route(
            f"/api/{cls.name}",
            _route(service, cls, body),
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
    inputs = [note for note in inputs_of(cls).values() if note.kind in _FIELDS]
    for note in inputs:
        hint = AuthoredTexts if note.is_corpus else _FIELDS[note.kind]
        if note.kind is Side and not note.is_required:
            hint |= None
        default: Any = ... if note.is_required else {} if note.kind is dict else None
        fields[note.name] = (hint, Field(default, description=note.help or None))
    for note in inputs:
        if note.is_named:
            fields[f"{note.name}_name"] = (str, note.name)
    fields |= fields_of(settings_of(cls, "rest"))
    body: type[BaseModel] = create_model(
        cls.request or cls.__name__,
        __base__=Strict,
        __module__=__name__,
        __doc__=_help(cls),
        **fields,
    )
    body.model_config["json_schema_extra"] = {"examples": [dict(cls.example)]}
    body.model_rebuild(force=True)
    return body


def _help(cls: type[Question]) -> str:
    return "\n".join(line.strip() for line in (cls.__doc__ or "").strip().splitlines())


def fields_of(settings: Iterable[Setting]) -> dict[str, Any]:
    """The fields of a request that hold settings, within the limits of a server."""
    made: dict[str, Any] = {}
    for setting in settings:
        limits: dict[str, Any] = {}
        if isinstance(limit := setting.served, Within):
            ends = {"ge": limit.at_least, "gt": limit.above, "le": limit.at_most, "lt": limit.below}
            limits = {name: setting.kind(end) for name, end in ends.items() if isfinite(end)}
        elif isinstance(limit, OneOf):
            limits = {"json_schema_extra": {"enum": list(limit.choices)}}
        kind = setting.kind if setting.default is not None else setting.kind | None
        made[setting.name] = kind, Field(setting.default, description=setting.help, **limits)
    return made


def question_in(cls: type[Question], body: Any, service: Service) -> Question:
    """The question that a request asks."""
    values = {setting.name: getattr(body, setting.name) for setting in settings_of(cls, "rest")}
    for name, note in inputs_of(cls).items():
        value = _value(note, getattr(body, name, None), body, service)
        if value is not None:  # or the question's own default
            values[name] = value
    return cls(**values, **servers_own(cls, service))


def _value(note: Input, texts: Any, body: Any, service: Service) -> Any:
    """What an input holds of the texts of a request; None if they were left out."""
    name = note.name
    if note.is_corpus and texts is not None:
        authored = zip(texts, as_exhibits(texts, "text", " "), strict=True)
        documents = [replace(of.document, author=text.author) for text, of in authored]
        return Texts(tuple(documents), "texts")
    if note.kind is Texts:
        return background(service, note, texts)
    if texts is None:
        return None
    if note.kind is dict:
        sides = [(name, as_exhibits(of, name, "/") if of else []) for name, of in texts.items()]
    elif note.kind is Exhibit:
        sides = [("", as_exhibits([texts], name))]
    else:
        called = getattr(body, f"{name}_name", name.removesuffix("s"))
        sides = [(called, as_exhibits(texts, called))]
    return note.of_sides(sides)


def background(service: Service, note: Input, texts: list[TextIn] | None) -> Texts | None:
    """The population of a request; if it was left out, perhaps the server's."""
    if texts is None:
        return servers_population(service) if note.is_servers else None
    return population_of(service, note, as_exhibits(texts, note.name) if texts else [])


def servers_own(cls: type[Question], service: Service) -> dict[str, Any]:
    """What a question takes from the server: what opens its index."""
    return {"index": service.current_index} if "index" in inputs_of(cls) else {}


def servers_population(service: Service) -> Texts | None:
    """The population that the server has, if any."""
    if service.population is None:
        return None
    return Texts(name=SERVERS, population=service.population)


def population_of(service: Service, note: Input, texts: Sequence[Exhibit], name: str = "") -> Texts:
    """The population of texts that were sent; of an empty list, none."""
    if not texts:
        return Texts(name="none")
    service.check_number(texts, service.limits.population_texts, f"the {note.name}")
    return note.drawn([text.document for text in texts], name)


async def in_its_language(service: Service, question: Question) -> tuple[Service, Question]:
    """The service that answers a question by the language of its texts, and the question for it.

    The server's population and its index are those of the first model.
    """
    if not service.chooses or "index" in inputs_of(type(question)):
        return service, question
    # Another thread: a library or a model may have to be read for it.
    chosen = await asyncio.to_thread(lambda: service.for_language(question.main_language))
    if chosen is not service:
        own: dict[str, Any] = {
            name: Texts()
            for name, note in inputs_of(type(question)).items()
            if note.is_servers and getattr(question, name).population is not None
        }
        question = replace(question, **own)
    return chosen, question


async def ask(
    service: Service,
    question: Question,
    on_progress: Progress = no_progress,
    finish: Callable[[Any], Any] = lambda result: result,
) -> Any:
    """The answer to a question within the limits, or what `finish` makes of it beside the work."""
    service, question = await in_its_language(service, question)
    work = await unhurried(cost(question.documents()), _check, service, question)
    documents = question.encoded()

    def answer(verifier: Verifier, tell: Progress, comparison: ComparedSides | None) -> Any:
        run = Run(_watch(tell), comparison=comparison)
        return finish(question.answer(question.keeper(verifier), run))

    return await service.work(
        documents,
        answer,
        on_progress,
        work=work,
        is_quick=question.is_quick,
        sides=question.sides(),
    )


def _check(service: Service, question: Question) -> int:
    """The work of a question; refused if its texts or their parts are beyond the limits."""
    limits, compared = service.limits, list[Document]()
    for name, note in inputs_of(type(question)).items():
        value, kind = getattr(question, name), note.kind
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
        service.check_number(documents, most, what)
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
    service.check(question.windows(), limits.population_characters, "the windows, which overlap")
    work = question.work()
    if service.searcher is not None and servers_own(type(question), service):
        work += len(service.searcher.store) // _INDEXED_PER_CHARACTER
    return work


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
            size = len(await request.body())
            question = await unhurried(size, question_in, cls, asked, service)
            result = await ask(service, question, on_progress)
            return result.to_json() if cls.is_quick else await asyncio.to_thread(result.to_json)

        async def tell_all(tell: Tell) -> None:
            async with service.in_time():
                tell({"result": await work(progress(tell, cls.name))})

        if LINES in request.headers.get("accept", ""):
            return EventLines(tell_all)
        result = await awaited(service, request, work(no_progress))
        data = json_bytes(result) if cls.is_quick else await asyncio.to_thread(json_bytes, result)
        return Response(data, media_type="application/json")

    route.__annotations__["asked"] = body
    route.__name__ = cls.name
    return route
