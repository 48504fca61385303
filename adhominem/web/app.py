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
from adhominem.web.assets import STATIC, example, read_asset
from adhominem.web.failures import (
    RequestError,
    as_request_error,
    error_response,
    json_response,
)
from adhominem.web.form import Comparer
from adhominem.web.guard import Guard
from adhominem.web.pages import Filled, docs_page
from adhominem.web.service import Service

_MOST_PROBLEMS = 3  # of a request, named in one message
_LONGEST_NAME = 40  # characters of a field's name that are shown
_ABOUT = """Were two texts written by the same person, and how strong is the evidence?

The answers are those of `adhominem verify --json`. Texts are neither stored nor logged."""
# FastAPI can tell a collector of telemetry of errors, with their messages: they may quote a text.
_NO_TELEMETRY: Any = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}


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
    app.add_exception_handler(RequestValidationError, _refuse_request)
    app.add_exception_handler(HTTPException, _refuse_http)
    app.add_exception_handler(AdHominemError, _refuse)
    app.include_router(api_router(service))
    _add_pages(app, Comparer(service, access))
    return app


def _add_pages(app: FastAPI, comparer: Comparer) -> None:
    made = {"heat_map.css": (STYLE, "text/css"), "heat_map.js": (SCRIPT, "text/javascript")}
    made |= {name: (read_asset(name), media_type) for name, media_type in STATIC.items()}

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        first, second = example(request.query_params.get("example", ""))
        return comparer.show(Filled(first=first, second=second))

    @app.post("/", include_in_schema=False)
    async def compare(request: Request) -> Response:
        return await comparer.post(request)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        if name not in made:
            raise HTTPException(404)
        text, media_type = made[name]
        return Response(text, media_type=media_type)

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> HTMLResponse:
        return docs_page(app.openapi(), _address(request))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        return json_response(app.openapi())


def _address(request: Request) -> str:
    """Where the client has found the server: what stands in its browser, be there a proxy."""
    secure = request.headers.get("x-forwarded-proto") == "https"  # as proxies say; for show alone
    host = request.headers.get("host") or "{}:{}".format(*request.scope["server"])
    return f"{'https' if secure else 'http'}://{host}"


async def _refuse(request: Request, error: Exception) -> Response:
    return error_response(as_request_error(error))


async def _refuse_request(request: Request, error: Exception) -> Response:
    """Where in the request, and what; never what stands there, which may be a text."""
    assert isinstance(error, RequestValidationError)
    problems = error.errors()
    if any(each["type"] == "json_invalid" for each in problems):
        return error_response(RequestError(400, "BrokenJson", "the body is not JSON"))
    said = [
        f"{'.'.join(_short(part) for part in each['loc'] if part != 'body') or 'the body'}: "
        f"{each['msg']}"
        for each in problems[:_MOST_PROBLEMS]
    ]
    more = len(problems) - len(said)
    message = "; ".join(said) + (f"; and {more} more" if more else "")
    return error_response(RequestError(422, "WrongRequest", message))


def _short(part: int | str) -> str:
    """Of a place in a request, which is an unknown field's name, too: not a text put there."""
    name = str(part)
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    names = {404: "NotFound", 405: "MethodNotAllowed", 413: "TooLarge"}
    name = names.get(error.status_code, "WrongRequest")
    return error_response(
        RequestError(error.status_code, name, str(error.detail).lower(), error.headers)
    )
