"""Before every request and after every answer: who may ask, how much, and what a browser may do.

What the headers tell is decided before a body is read. Nothing of a text is ever logged: not the
body, not the query, not the path, not an error's message.
"""

from __future__ import annotations

import asyncio
import re
import time
from urllib.parse import unquote

from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adhominem.web.access import Access
from adhominem.web.failures import (
    RequestError,
    as_request_error,
    error_response,
    logger,
    place_of,
    too_large,
)
from adhominem.web.limits import Limits, Places, client_of

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no referrer at all, the origin of our own form would be "null" under plain HTTP.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), "
    "payment=(), usb=()",
    "Cache-Control": "no-store",
}
HEALTH = "/health"
_ABSOLUTE = re.compile(rb"https?://([^/]*)(.*)", re.IGNORECASE)


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, *, access: Access, limits: Limits) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._places = Places(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = _in_origin_form(scope)
        began = time.perf_counter()
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        try:
            await self._admit(scope, receive, answer)
        except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # a panic and an exit, too: none ends the server
            if not isinstance(error, RequestError):
                logger.error("%s", place_of(error))
            if not status:
                await _refuse(as_request_error(error), scope, receive, answer)
        finally:
            # The route, not the path: people type all sorts of things after a slash.
            route = getattr(scope.get("route"), "path", "-")
            taken = 1000 * (time.perf_counter() - began)
            logger.info("%s %s %d %.0f ms", scope["method"], route, status, taken)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._access.check(headers, scope["method"], scope["path"])
        if scope["path"] == HEALTH:  # whatever the load: it takes no place, and has no body
            await self._app(scope, _replay(b"", receive), send)
            return
        if "transfer-encoding" in headers and "content-length" in headers:
            # A proxy may go by the one where we go by the other, and see other requests.
            raise RequestError(
                400, "WrongRequest", "a request with two lengths", {"Connection": "close"}
            )
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestError(415, "WrongEncoding", "the body is packed; send it as it is")
        client = client_of(scope)
        said_size = _said_size(headers)
        if not said_size and "transfer-encoding" not in headers:
            with self._places.work(client):
                await self._app(scope, _replay(b"", receive), send)
            return
        self._check_size(said_size)
        async with self._places.receive(client) as receiving:
            body = bytearray()
            try:
                async for chunk in Request(scope, receive).stream():
                    self._check_size(len(body) + len(chunk))
                    self._places.hold(receiving, len(chunk))
                    body += chunk
            except BaseException as error:
                self._places.let_go(receiving)
                if isinstance(error, ClientDisconnect):
                    raise RequestError(400, "Disconnected", "the request breaks off") from None
                raise
        try:
            with self._places.work(client):
                await self._app(scope, _replay(bytes(body), receive), send)
        finally:
            self._places.let_go(receiving)

    def _check_size(self, size: int) -> None:
        """Refuse too large a body; what still comes of it, the connection throws away."""
        most = self._limits.bytes
        if size > most:
            raise too_large(
                f"the request has more than {most:,} bytes; send shorter texts, or start the "
                "server with a larger --max-bytes"
            )


def _in_origin_form(scope: Scope) -> Scope:
    """A request for `http://host/path` as one for `/path` with this host, whatever Host says.

    A program that takes the server for a proxy asks so, and by RFC 9112 every server serves it.
    """
    match = _ABSOLUTE.fullmatch(scope.get("raw_path") or b"")
    if match is None:
        return scope
    host, raw_path = match[1], match[2] or b"/"
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    path = unquote(raw_path.decode("ascii"))
    return {**scope, "path": path, "raw_path": raw_path, "headers": [(b"host", host), *headers]}


def _said_size(headers: Headers) -> int:
    said = headers.get("content-length", "0")
    return int(said) if said.isdecimal() and len(said) <= 20 else 0


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` of the body that was read already, and then of what else comes: the end."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            while True:  # of a request without a body, its end is still to come
                message = await receive()
                if message["type"] != "http.request":
                    return message
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(error: RequestError, scope: Scope, receive: Receive, send: Send) -> None:
    response: Response = error_response(error)
    if scope["path"] == "/" and "text/html" in Headers(scope=scope).get("accept", ""):
        from adhominem.web.pages import error_page

        response = error_page(error)
    await response(scope, receive, send)
