"""Before every request and after every answer: who may ask, how much, and what a browser may do.

Host, origin and token are checked from the headers, before a body is read. Nothing of a text is
ever logged: not the body, not the query, not the path, not an error's message.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adhominem.errors import OptionError
from adhominem.web.failures import (
    SECURITY_HEADERS,
    Limits,
    RequestError,
    as_request_error,
    busy,
    error_response,
    logger,
    place_of,
    too_large,
)
from adhominem.web.lines import LINES
from adhominem.web.pages import PAGES, error_page

_PAGE = "text/html"  # what a browser accepts
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?")
_FOR_PROGRAMS = "Bearer"
_FOR_BROWSERS = 'Basic realm="AdHominem", charset="UTF-8"'  # they ask their user for a password
HEALTH = "/health"
_HELD = 8  # times the bytes of one request, of all that are being answered
_SMALL = 1 << 16  # bytes of a request: there is always room for these


@dataclass(frozen=True, kw_only=True)
class Access:
    """Who may ask. All of it is decided by the headers, before a body is read."""

    token: str = ""  # empty: anybody who can reach the server
    hosts: frozenset[str] = frozenset()  # names that a browser may know it by; empty: any

    @classmethod
    def of(cls, host: str, token: str = "", names: Sequence[str] = ()) -> Access:
        """The rules of a server that listens on `host`; `names` are further names of it.

        On loopback, only pages of this machine may ask: any page in the user's browser could send
        requests here under a name of its own, which it has made to lead to this machine.
        """
        if token != token.strip() or not token.isprintable():
            raise OptionError(
                "the token begins or ends with a space, or holds what is not a character; no "
                "request could send it: choose another"
            )
        chosen = {name.lower() for name in names}
        if is_loopback(host):
            chosen |= {host.lower(), *_LOOPBACK_NAMES}
        return cls(token=token, hosts=frozenset(chosen))

    def check(self, headers: Headers, method: str, path: str) -> None:
        """Refuse whom the headers do not let in; pages without texts in them are for everybody."""
        self.check_host(headers, method)
        if path.startswith("/api/") or method not in ("GET", "HEAD"):
            self.check_token(headers)

    def check_host(self, headers: Headers, method: str) -> None:
        """Refuse a name that is not ours, and what other sites send here; links may lead here."""
        host = headers.get("host", "")
        if self.hosts and _host_and_port(host)[0] not in self.hosts:
            raise RequestError(
                403,
                "WrongHost",
                "the server is not known by this name; start it with --allow-host NAME, if it is",
            )
        sent_by, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if sent_by is not None:
            # A site that only links to a page does not see the answer.
            fetched = method, headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
            is_link = fetched == ("GET", "navigate", "document")
            foreign = sent_by not in ("same-origin", "none") and not is_link
        else:  # over plain HTTP, browsers send only the origin
            scheme, _, place = (origin or "").partition("://")
            port = {"http": 80, "https": 443}.get(scheme, 0)  # where it is left out
            asked = _host_and_port(host, port)
            foreign = origin is not None and (not port or _host_and_port(place, port) != asked)
        if foreign:
            raise RequestError(403, "OtherSite", "pages of other sites may not ask this server")

    def check_token(self, headers: Headers) -> None:
        """Refuse a wrong token, in the same time however much of it is right."""
        if not self.token or compare_digest(token_of(headers).encode(), self.token.encode()):
            return
        # The script has a field for the token; without it, the browser asks for a password.
        accepted = headers.get("accept", "")
        message = (
            "the server wants a token: send it as 'Authorization: Bearer TOKEN', or as the "
            "password of Basic authentication, with any name"
        )
        if LINES in accepted:
            message = "this is not the token of this server; whoever runs it can tell you the token"
        elif _PAGE in accepted:
            message = (
                "the server wants a token, which whoever runs it can tell you; go back, send the "
                "form again, and enter the token as the password, with any name"
            )
        challenge = _FOR_BROWSERS if _PAGE in accepted else _FOR_PROGRAMS
        raise RequestError(401, "WrongToken", message, {"WWW-Authenticate": challenge})


def token_of(headers: Headers) -> str:
    """The token of a request: a bearer's, or the password that a browser asked for."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    sent = given.strip().encode("latin-1")  # the bytes as they came
    if scheme.lower() == "basic":
        try:
            sent = base64.b64decode(sent, validate=True).partition(b":")[2]
        except binascii.Error:
            return ""
    elif scheme.lower() != "bearer":
        return ""
    return sent.decode("utf-8", "replace")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _host_and_port(host: str, port: int = 0) -> tuple[str, int]:
    """A host, and its port if it says one; "" if it is not these alone, as browsers send them."""
    if not _HOST.fullmatch(host):
        return "", 0
    try:
        parts = urlsplit(f"//{host}")
        return (parts.hostname or "").lower(), parts.port or port
    except ValueError:
        return "", 0


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, *, access: Access, limits: Limits) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._answering = self._held = 0  # requests, and bytes of their bodies

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
        except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # a panic and an exit, too: none ends the server
            if not isinstance(error, RequestError):
                logger.error("%s", place_of(error))
            if not status:
                accepted = Headers(scope=scope).get("accept", "")
                for_people = scope["path"] in PAGES and _PAGE in accepted
                refuse = error_page if for_people else error_response
                await refuse(as_request_error(error))(scope, receive, answer)
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
        said = headers.get("content-length", "0")
        size = int(said) if said.isdecimal() and len(said) <= 20 else 0
        self._check_size(size)
        has_body = bool(size) or "transfer-encoding" in headers
        body = bytearray()
        try:
            if has_body:
                await self._receive(Request(scope, receive), body)
            if self._answering >= self._limits.requests:
                raise busy()
            self._answering += 1  # those that are still coming take no place
            try:
                await self._app(scope, _replay(bytes(body), receive), send)
            finally:
                self._answering -= 1
        finally:
            self._held -= len(body)

    async def _receive(self, request: Request, body: bytearray) -> None:
        """Read the body of a request, which may neither be too large nor come too slowly."""
        limits, now = self._limits, asyncio.get_running_loop().time
        last = now() + limits.seconds
        try:
            async with asyncio.timeout(min(limits.stall_seconds, limits.seconds)) as silence:
                async for chunk in request.stream():
                    size = len(body) + len(chunk)
                    self._check_size(size)
                    if self._held + len(chunk) > _HELD * limits.bytes and size > _SMALL:
                        raise busy()
                    self._held += len(chunk)
                    body += chunk
                    silence.reschedule(min(now() + limits.stall_seconds, last))
        except TimeoutError:
            raise RequestError(
                408,
                "SlowRequest",
                f"the body came too slowly; expected it without a pause of {limits.stall_seconds:g}"
                f" s, and all of it within {limits.seconds:g} s; send it again, with fewer or "
                "shorter texts, or start the server with a larger --timeout",
            ) from None
        except ClientDisconnect:
            raise RequestError(400, "Disconnected", "the request breaks off") from None

    def _check_size(self, size: int) -> None:
        """Refuse too large a body; what still comes of it, the connection throws away."""
        most = self._limits.bytes
        if size > most:
            raise too_large(
                f"the request has more than {most:,} bytes; send shorter texts, or start the "
                "server with a larger --max-bytes"
            )


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
