"""The application, with the page, the REST interface and a guard around both; and its server."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from threading import Thread
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

import adhominem
from adhominem.errors import AdHominemError, OptionError
from adhominem.questions import question_of
from adhominem.render.html import SCRIPT, STYLE
from adhominem.web.api import api_router
from adhominem.web.asking import question_router
from adhominem.web.failures import (
    Limits,
    RequestError,
    as_request_error,
    error_response,
    json_response,
)
from adhominem.web.form import Comparer, TwoSidesForm
from adhominem.web.guard import Access, Guard, is_loopback
from adhominem.web.pages import PAGES, STATIC, docs_page, read_static, tabs_of
from adhominem.web.question_form import QuestionAnswerer
from adhominem.web.service import Service
from adhominem.web.uploads import FileReader

CONNECTIONS = 900  # open at once; a process may usually have 1,024 files
_MOST_PROBLEMS = 3  # of a request, named in one message
_LONGEST_NAME = 40  # characters of a field's name that are shown
_ABOUT = """Were two texts written by the same person, and how strong is the evidence?

And which of several candidates wrote a text, if any? Which part of it? How many people wrote these
texts? The answers are those of the commands with `--json`. Texts are neither stored nor logged."""
# FastAPI can tell a collector of telemetry of errors, with their messages: they may quote a text.
_NO_TELEMETRY: Any = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)


def create_app(service: Service, access: Access | None = None) -> FastAPI:
    """An application that serves a model; it closes the service when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    access = access or Access()
    app = FastAPI(
        title="AdHominem",
        description=_ABOUT,
        version=adhominem.__version__,
        lifespan=lifespan,
        docs_url=None,  # these load their scripts from elsewhere
        redoc_url=None,
        openapi_url=None,  # ours is below
        telemetry=_NO_TELEMETRY,  # of the versions that have it
    )
    app.add_middleware(Guard, access=access, limits=service.limits)
    app.add_exception_handler(RequestValidationError, _refuse)
    app.add_exception_handler(HTTPException, _refuse)
    app.add_exception_handler(AdHominemError, _refuse)
    questions = [question_of(tab[1:]) for tab in tabs_of(service) if tab != "/"]
    both = [question_of(name) for name in ("verify", "explain")]
    app.include_router(question_router(service, [*both, *questions]))
    app.include_router(api_router(service))
    reader = FileReader(service.limits)
    _add_form(app, "/", Comparer(service, access, reader, TwoSidesForm))
    for question in questions:
        answerer = QuestionAnswerer(service, access, reader, question)
        _add_form(app, f"/{question.name}", answerer)
    _add_pages(app, service)
    return app


def _add_form(app: FastAPI, path: str, answerer: QuestionAnswerer) -> None:
    @app.get(path, include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        return answerer.show(answerer.example(request.query_params.get("example", "")))

    @app.post(path, include_in_schema=False)
    async def answer(request: Request) -> Response:
        return await answerer.post(request)


def _add_pages(app: FastAPI, service: Service) -> None:
    static_files = {name: (read_static(name), media_type) for name, media_type in STATIC.items()}
    static_files["heat_map.css"] = STYLE, "text/css"
    static_files["heat_map.js"] = SCRIPT, "text/javascript"
    for tab in PAGES:
        if tab != "/":
            style = "\n".join(question_of(tab[1:]).page().styles)
            static_files[f"{tab[1:]}.css"] = style, "text/css"

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in static_files:
            raise HTTPException(404)
        text, media_type = static_files[name]
        return Response(text, media_type=media_type)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        # The server's address as the client's browser has it, even behind a proxy.
        secure = request.headers.get("x-forwarded-proto") == "https"  # for show alone
        host = request.headers.get("host") or "{}:{}".format(*request.scope["server"])
        return docs_page(service, app.openapi(), f"{'https' if secure else 'http'}://{host}")

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return json_response(app.openapi())


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        error = _validation_error(error)
    elif isinstance(error, HTTPException):
        names = {404: "NotFound", 405: "MethodNotAllowed", 413: "TooLarge"}
        name = names.get(error.status_code, "WrongRequest")
        message = str(error.detail).lower()
        error = RequestError(error.status_code, name, message, error.headers)
    return error_response(as_request_error(error))


def _validation_error(error: RequestValidationError) -> RequestError:
    """Where in the request something is wrong, and what; never the value, which may be a text."""
    problems = error.errors()
    if any(problem["type"] == "json_invalid" for problem in problems):
        return RequestError(400, "BrokenJson", "the body is not JSON")
    told = []
    for problem in problems[:_MOST_PROBLEMS]:
        names = [str(part) for part in problem["loc"] if part != "body"]
        # The name of an unknown field may be a text that was put there: its beginning will do.
        place = ".".join(
            name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…" for name in names
        )
        told.append(f"{place or 'the body'}: {problem['msg']}")
    if more := len(problems) - len(told):
        told.append(f"and {more} more")
    return RequestError(422, "WrongRequest", "; ".join(told))


class _Terse(logging.Formatter):
    """A line for a record; of an exception its type alone, since its message may quote a text."""

    def formatException(self, info: object) -> str:  # noqa: N802
        error = info[0] if isinstance(info, tuple) else None
        return getattr(error, "__name__", "error")

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # what another formatter made of it
        return super().format(record)


class Connection(H11Protocol):
    """A connection that ends if it brings no request, or if its answer is not read."""

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False  # it has queries in it, and goes wherever a program logs to
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._end_in(self._limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_asking() and not self.flow.write_paused:  # its headers have come
            self._stop_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._is_asking():  # what came behind it
            self._stop_timer()
            return
        # A browser does not listen before it has sent all: the rest of a body that was refused is
        # heard, and thrown away.
        busy = self.conn.their_state is h11.SEND_BODY or self.transport.get_write_buffer_size()
        self._end_in(self._limits.seconds if busy else self._limits.header_seconds)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._end_in(self._limits.seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._is_asking():
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed; uvicorn fails if an answer has begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

    def _is_asking(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _end_in(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens on a host and a port; port 0 is any that is free."""
    try:
        addresses = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
    except OSError as error:
        raise OptionError(
            f"the host '{host}' is not known ({error.strerror}); give an address of this machine"
        ) from None
    family, type_, protocol, _, address = addresses[0]
    # By name, or asyncio does not take it for TCP, and answers in two parts wait for each other.
    listening = socket.socket(family, type_, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen()  # from now on clients wait, and are not refused
    except OSError as error:
        listening.close()
        raise OptionError(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port"
        ) from None
    return listening


def url_of(listening: socket.socket) -> str:
    """The address of a listening socket for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(service: Service, access: Access) -> uvicorn.Server:
    """A server that logs neither queries nor bodies."""
    protocol: Any = partial(Connection, limits=service.limits)
    config = uvicorn.Config(
        create_app(service, access),
        loop="asyncio",  # by name: what the connections do is tested with these two
        http=protocol,
        log_config=None,
        access_log=False,  # it has queries in it; the guard writes one without
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=math.ceil(service.limits.header_seconds),
        timeout_graceful_shutdown=5,
        ws="none",
    )
    return uvicorn.Server(config)


def serve(
    service: Service,
    *,
    host: str,
    port: int,
    token: str = "",
    names: Sequence[str] = (),
    say: Callable[[str], None],
    open_page: bool = False,
) -> None:
    """Serve until an interrupt; `say` is called with the address and with warnings."""
    _log_tersely()
    with open_socket(host, port) as listening:
        if (names or not is_loopback(host)) and not token:
            say(
                "warning: other machines can reach this server, and it asks for no token; set "
                "--token or ADHOMINEM_TOKEN, and put a proxy with HTTPS before it"
            )
        say(f"AdHominem with {service.verifier.name} at {url_of(listening)} (end it with Ctrl-C)")
        if open_page:  # beside it, since a browser in a terminal ends when it is closed
            Thread(target=_open_page, args=(url_of(listening), say), daemon=True).start()
        with suppress(KeyboardInterrupt):  # that is how it ends
            make_server(service, Access.of(host, token, names)).run(sockets=[listening])


def _open_page(url: str, say: Callable[[str], None]) -> None:
    # A server that listens everywhere is reached at the loopback address, too.
    url = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    if not webbrowser.open(url):
        say(f"no browser can be opened here; open {url} in one")


def _log_tersely() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Terse("%(asctime)s %(message)s"))
    for name, level in (
        ("adhominem.web", logging.INFO),
        ("uvicorn.error", logging.WARNING),
        ("asyncio", logging.CRITICAL),  # it quotes exceptions
    ):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
