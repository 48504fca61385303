"""How much one request may ask for, one client, and all together; who gets a place where few are.

A body that comes slowly holds its place only as long as nobody else wants it, and never longer
than its pace allows. A request that has come in whole has a place of another sort: those who send
slowly cannot keep out those who do not.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import NamedTuple

from starlette.types import Scope

from adhominem.errors import OptionError
from adhominem.web.failures import RequestError, busy

client_asking: ContextVar[str] = ContextVar("client_asking", default="")  # whose request it is

_HELD = 8  # times the bytes of one request, of all that are being answered
_SMALL = 1 << 16  # bytes of a request that are not counted: there is always room for them


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is more than this is refused, with a message that says so."""

    bytes: int = 16 << 20  # of one request
    seconds: float = 120.0  # until the answer
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
    stall_seconds: float = 10.0  # that a body may fall behind its lowest rate
    bytes_a_second: int = 10_000  # the lowest rate of a body

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
        f"its body with {limits.bytes_a_second:,} bytes/s, and all of it within "
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


class Pace:
    """A deadline that what comes puts off, as far as the lowest rate allows."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._last = now + limits.seconds
        self.deadline = min(now + limits.stall_seconds, self._last)

    def hear(self, size: int, now: float) -> None:
        """Put the deadline off, since so many bytes have come."""
        put_off = self.deadline + size / self._limits.bytes_a_second
        self.deadline = min(put_off, now + self._limits.stall_seconds, self._last)


@dataclass(eq=False)
class Receiving:
    """A request whose body is coming in."""

    client: str
    pace: Pace
    timeout: asyncio.Timeout
    counted: int = 0  # bytes that are held
    put_out: bool = False  # another gets its place


class Places:
    """The places of a server, for bodies that come in and for requests that are answered."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._receiving: set[Receiving] = set()
        self._working: Counter[str] = Counter()
        self._held: Counter[str] = Counter()  # bytes

    @asynccontextmanager
    async def receive(self, client: str) -> AsyncIterator[Receiving]:
        """A place for a body that is still to come; who is furthest behind makes room for it."""
        now = asyncio.get_running_loop().time()
        limits = self._limits
        of_client = self._receiving_from(client)
        if len(of_client) >= max(1, limits.per_client // 2):
            self._put_out(of_client, now)
        elif len(self._receiving) >= max(1, limits.requests // 2):
            self._put_out(self._receiving, now)
        pace = Pace(limits, now)
        receiving = Receiving(client, pace, asyncio.timeout_at(pace.deadline))
        self._receiving.add(receiving)
        try:
            async with receiving.timeout:
                yield receiving
        except TimeoutError:
            raise (busy() if receiving.put_out else too_slowly_sent(limits)) from None
        finally:
            self._receiving.discard(receiving)

    def hold(self, receiving: Receiving, size: int) -> None:
        """Keep so many bytes more of a body, or refuse it; `let_go` forgets them."""
        if receiving.put_out:
            raise busy()
        now = asyncio.get_running_loop().time()
        receiving.pace.hear(size, now)
        receiving.timeout.reschedule(receiving.pace.deadline)
        most, client = _HELD * self._limits.bytes, receiving.client
        counted = receiving.counted + size
        while counted > _SMALL:
            if self._held[client] + size > most // 2:  # the other half is for other clients
                full: Iterable[Receiving] = self._receiving_from(client)
            elif self._held.total() + size > most:
                full = self._receiving
            else:
                break
            slowest = self._put_out([other for other in full if other.counted > _SMALL], now)
            if slowest is receiving:
                raise busy()
            self.let_go(slowest)
        receiving.counted = counted
        self._held[client] += size

    def let_go(self, receiving: Receiving) -> None:
        """Count the bytes of a body no longer: they are not kept."""
        self._held -= Counter({receiving.client: receiving.counted})  # without those that have 0
        receiving.counted = 0

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
            self._working -= Counter({client: 1})

    def _receiving_from(self, client: str) -> list[Receiving]:
        return [other for other in self._receiving if other.client == client]

    def _put_out(self, among: Iterable[Receiving], now: float) -> Receiving:
        """Take the place of the one that is furthest behind its pace."""
        left = [other for other in among if not other.put_out and not other.timeout.expired()]
        if not left:
            raise busy()
        slowest = min(left, key=lambda other: other.pace.deadline)
        slowest.put_out = True
        slowest.timeout.reschedule(now)
        self._receiving.discard(slowest)
        return slowest


class _Waiting(NamedTuple):
    client: str
    since: float
    place: asyncio.Future[None]


class FairQueue:
    """A queue for few places in which clients take turns, however much each of them asks for.

    `at_once` have a place; `waiting` in all may wait, and half of that of one client. Of one
    client, the first to come is the first served, as long as it has waited no longer than
    `patience`. After that it is the last: some are then served in good time, and not all too late.
    """

    def __init__(self, at_once: int, waiting: int, patience: float = math.inf) -> None:
        self._free, self._most, self._patience = at_once, waiting, patience
        self._waiting: list[_Waiting] = []  # the first is of the client whose turn is next
        self.wanted = asyncio.Event()  # whether somebody waits for a place

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """A place, when the client's turn has come."""
        if self._free and not self._waiting:
            self._free -= 1
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, client: str) -> None:
        of_client = [other for other in self._waiting if other.client == client]
        if len(of_client) >= self._most // 2 or len(self._waiting) >= self._most:
            raise busy()
        loop = asyncio.get_running_loop()
        waiting = _Waiting(client, loop.time(), loop.create_future())
        self._set([*self._waiting, waiting])
        try:
            await waiting.place
        except asyncio.CancelledError:
            if waiting.place.cancelled():
                self._set([other for other in self._waiting if other is not waiting])
            else:  # it came at the last moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """A place has become free: it goes to the client whose turn was longest ago."""
        now = asyncio.get_running_loop().time()
        while self._waiting:
            client = self._waiting[0].client
            of_client = [waiting for waiting in self._waiting if waiting.client == client]
            chosen = of_client.pop(0 if now - of_client[0].since <= self._patience else -1)
            others = [waiting for waiting in self._waiting if waiting.client != client]
            self._set([*others, *of_client])  # the client is now the last in turn
            if not chosen.place.done():  # or it was given up in this very moment
                return chosen.place.set_result(None)
        self._free += 1

    def _set(self, waiting: list[_Waiting]) -> None:
        self._waiting = waiting
        (self.wanted.set if waiting else self.wanted.clear)()
