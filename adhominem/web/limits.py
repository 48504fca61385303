"""How much one request may ask for, and how slowly it may be sent.

A server for oneself, or for those behind a proxy, which shares out among many what few would take.
What neither a proxy nor uvicorn limits ends here: headers that do not come, and a client that does
not read its answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from adhominem.errors import OptionError

CONNECTIONS = 900  # open at once; a process may usually have 1,024 files


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
    header_seconds: float = 10.0  # until a request's headers have come, and between two requests
    stall_seconds: float = 10.0  # without anything more of a body

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise OptionError(f"the limit '{name}' is {value}; expected more than 0")


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
