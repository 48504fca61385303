"""Before every request and after every answer: who may ask, how much, and what a browser may do.

Nothing of a text is ever logged: not the body, not the query, not the path, not an error's message.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from fastapi.responses import Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import adhominem
from adhominem.web.failures import (
    RequestError,
    as_request_error,
    busy,
    error_response,
    too_large,
    too_slowly_sent,
)
from adhominem.web.limits import Limits

logger = logging.getLogger("adhominem.web")

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), "
    "payment=(), usb=()",
    "Cache-Control": "no-store",
}
_MOST_HEARD = 5  # times the limit of a request
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_PACKAGE = Path(adhominem.__file__).parent


@dataclass(frozen=True, kw_only=True)
class Access:
    """Who may ask."""

    token: str = ""  # empty: anybody who can reach the server
    hosts: frozenset[str] = frozenset()  # names that a browser may know it by; empty: any

    @classmethod
    def of(cls, host: str, token: str = "", names: Sequence[str] = ()) -> Access:
        """For a server that listens on `host`; `names` are further names of it.

        On loopback, only pages of this machine may ask: any page in the user's browser could send
        requests here under a name of its own, which it has made to lead to this machine.
        """
        chosen = {name.lower() for name in names}
        if is_loopback(host):
            chosen |= {host.lower(), *_LOOPBACK_NAMES}
        return cls(token=token, hosts=frozenset(chosen))

    def check_host(self, headers: Headers, method: str) -> None:
        """Refuse a name that is not ours, and what other sites send here; links may lead here."""
        name = _host_name(headers.get("host", ""))
        if self.hosts and name not in self.hosts:
            raise RequestError(
                403,
                "WrongHost",
                "the server is not known by this name; start it with --allow-host NAME, if it is",
            )
        sent_by, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if sent_by is not None:  # without a referrer, the origin of our own form is "null"
            foreign = sent_by not in ("same-origin", "none") and not _opens(headers, method)
        else:
            foreign = origin is not None and _host_name(origin.partition("://")[2]) != name
        if foreign:
            raise RequestError(403, "OtherSite", "pages of other sites may not ask this server")

    def check_token(self, given: str) -> None:
        """Refuse a wrong token, in the same time however much of it is right."""
        if self.token and not compare_digest(given.encode(), self.token.encode()):
            raise RequestError(
                401,
                "WrongToken",
                "the server wants a token: send it as 'Authorization: Bearer TOKEN'",
                {"WWW-Authenticate": "Bearer"},
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def bearer(headers: Headers) -> str:
    """The token of a request."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    token = token.encode("latin-1").decode("utf-8", "replace")  # the bytes as they were sent
    return token.strip() if scheme.lower() == "bearer" else ""


class Guard:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, *, access: Access, limits: Limits) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._requests = self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
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
        except Exception as error:
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
        self._access.check_host(headers, scope["method"])
        if scope["path"].startswith("/api/"):
            self._access.check_token(bearer(headers))
        if self._requests >= self._limits.requests:
            raise busy()
        self._requests += 1
        body = bytearray()
        try:
            await self._read(headers, receive, body)
            await self._app(scope, _replay(bytes(body), receive), send)
        finally:
            self._requests -= 1
            self._held -= len(body)

    async def _read(self, headers: Headers, receive: Receive, body: bytearray) -> None:
        """All of the body, if it is not too large, and comes in time."""
        most = self._limits.bytes
        said = headers.get("content-length", "0")
        size = int(said) if said.isdecimal() else 0
        read = 0
        try:
            async with asyncio.timeout(self._limits.seconds):
                async for chunk in _chunks(receive):
                    read += len(chunk)
                    if max(size, read) > most:
                        # A browser does not listen before it has sent all: so some of the rest is
                        # heard, and thrown away.
                        if max(size, read) > _MOST_HEARD * most:
                            break
                    elif self._held + len(chunk) > self._limits.held_bytes:
                        raise busy()
                    else:
                        body += chunk
                        self._held += len(chunk)
        except TimeoutError:
            raise too_slowly_sent(self._limits.seconds) from None
        if max(size, read) > most:
            raise too_large(
                f"the request has more than {most:,} bytes; send shorter texts, or start the "
                "server with a larger --max-bytes"
            )


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestError(400, "Disconnected", "the request breaks off")
        more = message.get("more_body", False)
        yield message.get("body", b"")


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, and then what else comes: the end of the connection."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(error: RequestError, scope: Scope, receive: Receive, send: Send) -> None:
    response: Response = error_response(error)
    if scope["path"] == "/" and "text/html" in Headers(scope=scope).get("accept", ""):
        from adhominem.web.pages import error_page

        response = error_page(error)
    if error.status in (408, 413):  # the rest of the body is not read
        response.headers["Connection"] = "close"
    await response(scope, receive, send)


def place_of(error: BaseException) -> str:
    """An error's type and where in our code it was raised: its message may hold a text."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    at = own[-1] if own else frames[-1] if frames else None
    place = f" at {Path(at.filename).name}:{at.lineno}" if at else ""
    return f"{type(error).__name__}{place}"


def _opens(headers: Headers, method: str) -> bool:
    """Whether a browser only opens a page: whoever linked to it does not see the answer."""
    by = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return method == "GET" and by == ("navigate", "document")


def _host_name(host: str) -> str:
    """Without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
