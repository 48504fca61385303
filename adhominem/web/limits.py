"""How much one request may ask for, one client, and all together; and how slowly it may be sent.

A server for oneself, or for those behind a proxy: that shares out among many what few would take.
What no proxy sees, and uvicorn does not limit, ends here: headers that do not come, a body or a
reader that stalls, chunks that take long to parse.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from adhominem.errors import OptionError
from adhominem.web.failures import SECURITY_HEADERS, RequestError, busy, error_json, json_bytes

client_asking: ContextVar[str] = ContextVar("client_asking", default="")  # whose request it is

CONNECTIONS = 900  # open at once; a process may usually have 1,024 files
_HELD = 8  # times the bytes of one request, of all that are being answered
_SMALL = 1 << 16  # bytes of a request: there is always room for these
_AT_ONCE = 1 << 14  # bytes that are parsed in one go: h11 takes its time with tiny chunks
_MOST_PARSING = 1.0  # seconds of one request's headers and chunks; 16 MiB as they come take 0.1
_MOST_IGNORED = 5  # times the limit of a request, of a body that was refused
_LEAST_READ = 100_000  # bytes of an answer, while a body may stall


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is more than this is refused, with a message that says so."""

    bytes: int = 16 << 20  # of one request
    seconds: float = 120.0  # until all of a request has come, and from then until the answer
    texts: int = 100  # of a side, or to encode
    population_texts: int = 1_000
    characters: int = 2_000_000  # of the texts that are compared or encoded; a long novel
    population_characters: int = 8_000_000
    explained_characters: int = 500_000  # an explanation reads the texts many times
    label_characters: int = 500  # of a name, a topic, a heading
    waiting: int = 64  # requests in a queue
    jobs_at_once: int = 32  # whose texts are encoded together
    requests: int = 256  # being answered
    per_client: int = 128  # of these, for one address
    header_seconds: float = 10.0  # until a request's headers have come, and between two requests
    stall_seconds: float = 10.0  # without anything more of a body, or of an answer being read

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise OptionError(f"the limit '{name}' is {value}; expected more than 0")


def too_slowly_sent(limits: Limits) -> RequestError:
    """The error for a request whose headers or whose end did not come in time."""
    return RequestError(
        408,
        "SlowRequest",
        f"the request came too slowly; expected its headers within {limits.header_seconds:g} s, "
        f"its body without a pause of {limits.stall_seconds:g} s, and all of it within "
        f"{limits.seconds:g} s; send it again, with fewer or shorter texts, or start the server "
        "with a larger --timeout",
    )


def client_of(scope: Scope) -> str:
    """Who is counted as one: an address, or the network that a household or a machine has."""
    host = str((scope.get("client") or ("",))[0])
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network(f"{address.packed.hex(':', 2)}/64", strict=False))


class Places:
    """The places of a server for requests that are answered, and the memory for their bodies."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._working: Counter[str] = Counter()
        self._held = 0  # bytes

    @contextmanager
    def body(self) -> Iterator[Callable[[int], None]]:
        """What counts the bytes of a body as they come, and refuses more than there is room for."""
        counted = 0

        def hold(size: int) -> None:
            nonlocal counted
            full = self._held + size > _HELD * self._limits.bytes
            if full and counted + size > _SMALL:
                raise busy()
            counted += size
            self._held += size

        try:
            yield hold
        finally:
            self._held -= counted

    @contextmanager
    def work(self, client: str) -> Iterator[None]:
        """A place for a request that has come in whole."""
        limits = self._limits
        if self._working[client] >= limits.per_client or self._working.total() >= limits.requests:
            raise busy()
        self._working[client] += 1
        known = client_asking.set(client)
        try:
            yield
        finally:
            client_asking.reset(known)
            self._working -= Counter({client: 1})  # without those that have 0


class Connection(H11Protocol):
    """A connection that ends in time, and refuses in the form of all refusals."""

    def __init__(self, *arguments: Any, limits: Limits, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False  # it has queries in it, and goes wherever a program logs to
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None
        self._is_waiting = True  # for headers, or for the rest of a body that was refused
        self._has_asked = False
        self._ignored = 0  # bytes of that rest
        self._unread = math.inf  # bytes of an answer, when last looked at
        self._parsing = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = _AT_ONCE
        self._end_in(self._limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        began = time.thread_time()
        super().data_received(data)
        self._parsing += time.thread_time() - began
        if self._is_waiting and self._is_asking():  # its headers have come
            self._begin()
        elif self._is_waiting and self.conn.their_state is h11.SEND_BODY:
            self._ignored += len(data)
        if self._parsing > _MOST_PARSING or self._ignored > _MOST_IGNORED * self._limits.bytes:
            self.transport.abort()

    def on_response_complete(self) -> None:
        self._is_waiting, self._ignored, self._parsing, self._unread = True, 0, 0.0, math.inf
        # A browser does not listen before it has sent all: the rest of a body that was refused is
        # heard, and thrown away.
        refused = self.conn.their_state is h11.SEND_BODY
        self._end_in(self._limits.seconds if refused else self._limits.header_seconds)
        super().on_response_complete()
        if self._is_asking():  # what came behind it
            self._begin()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = math.inf
        self._end_in(self._limits.stall_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._is_waiting:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed; called where h11's error is being handled."""
        status = getattr(sys.exc_info()[1], "error_status_hint", 400)
        self._refuse(
            RequestError(status, "WrongRequest", "the request is not HTTP as it should be")
        )

    def _is_asking(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _begin(self) -> None:
        self._stop_timer()
        self._is_waiting, self._has_asked = False, True

    def _end_in(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._too_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        left = self.transport.get_write_buffer_size()
        if left and left <= self._unread - _LEAST_READ:  # it takes its answer, if slowly
            self._unread = left
            self._end_in(self._limits.stall_seconds)
            return
        begun = self.conn.trailing_data[0] or not self._has_asked
        if self._is_waiting and self.conn.their_state is h11.IDLE and begun:
            self._refuse(too_slowly_sent(self._limits))
        else:
            self.transport.abort()

    def _refuse(self, error: RequestError) -> None:
        """Answer something that is not a request yet, and end the connection."""
        if self.transport.is_closing():
            return
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # an answer has begun
            self.transport.abort()
            return
        body = json_bytes(error_json(error))
        headers = {
            **SECURITY_HEADERS,
            **error.headers,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
        }
        answer = h11.Response(status_code=error.status, headers=list(headers.items()))
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
