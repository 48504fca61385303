"""Connections: how long they may take for their headers, stay idle, and not listen; how many.

uvicorn has no time limit for headers, nor for a client that does not read its answer, and no limit
of connections that leaves room for anybody new. Here a newcomer always finds room: the connection
that has waited longest without a request makes it. What is refused here looks like all refusals.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adhominem.web.failures import RequestError, busy, error_json, json_bytes
from adhominem.web.guard import SECURITY_HEADERS
from adhominem.web.limits import Limits, Pace, client_of, too_slowly_sent

_AT_ONCE = 1 << 14  # bytes that are parsed in one go: h11 takes its time with tiny chunks
_MOST_PARSING = 1.0  # seconds of one request's headers and chunks; 16 MiB as they come take 0.1
_MOST_HEARD = 5  # times the limit of a request, of a body that was refused
_PER_REQUEST = 4  # connections, in all and of a client: those that wait can always make room
_KEPT_FILES = 100  # file descriptors that are not for connections


class Connections:
    """All connections that are open."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        most = _PER_REQUEST * limits.requests
        self._most = min(most, max(16, _open_files(most + _KEPT_FILES) - _KEPT_FILES))
        self._open: set[Connection] = set()

    def add(self, connection: Connection) -> bool:
        """Take a connection in; whether there is room for it, be it made."""
        client = connection.from_client
        of_client = [other for other in self._open if other.from_client == client]
        room = True
        if len(of_client) >= _PER_REQUEST * self.limits.per_client:
            room = _make_room(of_client)
        elif len(self._open) >= self._most:
            room = _make_room(self._open)
        self._open.add(connection)
        return room

    def discard(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._open.discard(connection)


class Connection(H11Protocol):
    """One connection, from its first byte to its end."""

    def __init__(self, *arguments: Any, open_connections: Connections, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False  # it has queries in it, and goes wherever a program logs to
        self._all, self._limits = open_connections, open_connections.limits
        self.from_client = ""
        self.waiting_since: float | None = self.loop.time()  # None: a request is being answered
        self.has_asked = False
        self._timer: asyncio.TimerHandle | None = None
        self._unheard: Pace | None = None  # of the rest of a body that was refused
        self._heard = 0
        self._unlistened: int | None = None  # bytes of an answer that are not taken
        self._parsing = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = _AT_ONCE
        self.from_client = client_of({"client": self.client})
        if self._all.add(self):
            self._until(self.loop.time() + self._limits.header_seconds)
        else:
            self._refuse(busy())

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.discard(self)
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        began = time.thread_time()
        super().data_received(data)
        self._parsing += time.thread_time() - began
        if self._parsing > _MOST_PARSING:
            self.transport.abort()
            return
        if self.waiting_since is not None and self._is_asking():  # its headers have come
            self._begin()
        elif self._unheard is not None:
            self._throw_away(len(data))

    def on_response_complete(self) -> None:
        now = self.loop.time()
        self.waiting_since, self._parsing, self._unlistened = now, 0.0, None
        if self.conn.their_state is h11.SEND_BODY:
            # A browser does not listen before it has sent all, so the rest is heard, and thrown
            # away, as long as it comes at its pace.
            self._unheard, self._heard = Pace(self._limits, now), 0
            self._until(self._unheard.deadline)
        else:
            self._until(now + self._limits.header_seconds)
        super().on_response_complete()
        if self._is_asking():  # what came behind it
            self._begin()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unlistened = None
        self._until(self.loop.time() + self._limits.stall_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.waiting_since is None:
            self._stop_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed; called where h11's error is being handled."""
        error = sys.exc_info()[1]
        status = getattr(error, "error_status_hint", 400)
        self._refuse(
            RequestError(status, "WrongRequest", "the request is not HTTP as it should be")
        )

    def make_way(self) -> None:
        """End this connection, so that there is room for another."""
        self._all.discard(self)
        self.transport.abort()

    def _is_asking(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _begin(self) -> None:
        self._stop_timer()
        self.waiting_since, self._unheard, self.has_asked = None, None, True

    def _throw_away(self, size: int) -> None:
        assert self._unheard is not None
        self._heard += size
        self._unheard.hear(size, self.loop.time())
        if self.conn.their_state is not h11.SEND_BODY:  # all of it has come
            self._unheard = None
            self._until(self.loop.time() + self._limits.header_seconds)
        elif self._heard > _MOST_HEARD * self._limits.bytes:
            self.transport.abort()
        else:
            self._until(self._unheard.deadline)

    def _until(self, when: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_at(when, self._too_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        limits = self._limits
        left = self.transport.get_write_buffer_size()
        least = limits.bytes_a_second * limits.stall_seconds
        if left and (self._unlistened is None or self._unlistened - left >= least):
            self._unlistened = left  # it takes its answer, if slowly
            self._until(self.loop.time() + limits.stall_seconds)
            return
        begun = self.conn.trailing_data[0] or not self.has_asked
        if self.waiting_since is not None and self._unheard is None and begun:
            self._refuse(too_slowly_sent(limits))
        else:
            self.transport.abort()

    def _refuse(self, error: RequestError) -> None:
        """Answer what is no request yet, and end the connection."""
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


def _make_room(among: Iterable[Connection]) -> bool:
    """End the connection that has waited longest; whether there was one.

    An honest newcomer sends its headers at once.
    """
    waiting = [connection for connection in among if connection.waiting_since is not None]
    if waiting:
        min(waiting, key=lambda connection: connection.waiting_since or 0.0).make_way()
    return bool(waiting)


def _open_files(wanted: int) -> int:
    """How many files this process may have open; the limit is raised to `wanted`, if it can be."""
    try:
        import resource
    except ImportError:
        return sys.maxsize
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now != resource.RLIM_INFINITY and now < wanted:
        allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
        now = allowed
    return sys.maxsize if now == resource.RLIM_INFINITY else now
