"""The application: the page, the REST interface, and a guard around both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

import adhominem
from adhominem.errors import AdHominemError
from adhominem.render.html import SCRIPT, STYLE
from adhominem.web.access import Access
from adhominem.web.api import api_router
from adhominem.web.failures import (
    RequestError,
    as_request_error,
    error_response,
    json_response,
)
from adhominem.web.form import Comparer
from adhominem.web.form_fields import FormFields
from adhominem.web.guard import Guard
from adhominem.web.pages import STATIC, docs_page, example, read_static
from adhominem.web.service import Service

_MOST_PROBLEMS = 3  # of a request, named in one message
_LONGEST_NAME = 40  # characters of a field's name that are shown
_ABOUT = """Were two texts written by the same person, and how strong is the evidence?

The answers are those of `adhominem verify --json`. Texts are neither stored nor logged."""
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
    app.include_router(api_router(service))
    _add_pages(app, Comparer(service, access))
    return app


def _add_pages(app: FastAPI, comparer: Comparer) -> None:
    static_files = {name: (read_static(name), media_type) for name, media_type in STATIC.items()}
    static_files["heat_map.css"] = STYLE, "text/css"
    static_files["heat_map.js"] = SCRIPT, "text/javascript"

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        first, second = example(request.query_params.get("example", ""))
        return comparer.show(FormFields(pasted={"first": [first], "second": [second]}))

    @app.post("/", include_in_schema=False)
    async def compare(request: Request) -> Response:
        return await comparer.post(request)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in static_files:
            raise HTTPException(404)
        text, media_type = static_files[name]
        return Response(text, media_type=media_type)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        # The server's address as it stands in the client's browser, be there a proxy.
        secure = request.headers.get("x-forwarded-proto") == "https"  # for show alone
        host = request.headers.get("host") or "{}:{}".format(*request.scope["server"])
        return docs_page(app.openapi(), f"{'https' if secure else 'http'}://{host}")

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
    """Where in the request something is wrong, and what; never what stands there, maybe a text."""
    problems = error.errors()
    if any(problem["type"] == "json_invalid" for problem in problems):
        return RequestError(400, "BrokenJson", "the body is not JSON")
    told = []
    for problem in problems[:_MOST_PROBLEMS]:
        place = ".".join(_short(str(part)) for part in problem["loc"] if part != "body")
        told.append(f"{place or 'the body'}: {problem['msg']}")
    if more := len(problems) - len(told):
        told.append(f"and {more} more")
    return RequestError(422, "WrongRequest", "; ".join(told))


def _short(name: str) -> str:
    """The beginning of a field's name: of an unknown field, it may be a text put there."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
