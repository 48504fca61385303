"""Who is being heard and answered: places are few, and one client does not get them all.

A body that comes slowly holds its place only as long as nobody else wants it, and never longer
than its pace allows. A request that has come in whole has a place of another sort: those who send
slowly cannot keep out those who do not.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from ipaddress import IPv6Address, ip_address, ip_network

from starlette.types import Scope

from adhominem.web.failures import busy, too_slowly_sent
from adhominem.web.limits import Limits

client_asking: ContextVar[str] = ContextVar("client_asking", default="")  # whose request it is

_SMALL = 1 << 16  # bytes of a request that are not counted: there is always room for them


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
        """So many bytes have come."""
        put_off = self.deadline + size / self._limits.bytes_a_second
        self.deadline = min(put_off, now + self._limits.stall_seconds, self._last)


class Receiving:
    """A request whose body is coming in."""

    def __init__(self, client: str, pace: Pace, timeout: asyncio.Timeout) -> None:
        self.client, self.pace, self._timeout = client, pace, timeout
        self.counted = 0  # bytes that are held
        self.put_out = False

    def hear(self, size: int, now: float) -> None:
        """So many bytes have come."""
        self.pace.hear(size, now)
        if not self.put_out:
            self._timeout.reschedule(self.pace.deadline)

    def put_out_now(self, now: float) -> None:
        """Another gets its place."""
        self.put_out = True
        self._timeout.reschedule(now)


class Places:
    """The places of a server."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._receiving: set[Receiving] = set()
        self._working: Counter[str] = Counter()
        self._held: Counter[str] = Counter()  # bytes

    @asynccontextmanager
    async def receive(self, client: str) -> AsyncIterator[Receiving]:
        """A place for a body that is still to come; who is furthest behind makes room for it."""
        loop = asyncio.get_running_loop()
        limits = self._limits
        of_client = [other for other in self._receiving if other.client == client]
        if len(of_client) >= max(1, limits.per_client // 2):
            self._put_out(of_client, loop.time())
        elif len(self._receiving) >= max(1, limits.requests // 2):
            self._put_out(list(self._receiving), loop.time())
        pace = Pace(limits, loop.time())
        receiving = None
        try:
            async with asyncio.timeout_at(pace.deadline) as timeout:
                receiving = Receiving(client, pace, timeout)
                self._receiving.add(receiving)
                yield receiving
        except TimeoutError:
            assert receiving is not None
            raise (busy() if receiving.put_out else too_slowly_sent(limits)) from None
        finally:
            if receiving is not None:
                self._receiving.discard(receiving)

    def hold(self, receiving: Receiving, size: int) -> None:
        """Keep so many bytes more of a body, or refuse it; `let_go` forgets them."""
        if receiving.put_out:
            raise busy()
        now = asyncio.get_running_loop().time()
        receiving.hear(size, now)
        most, client = self._limits.held_bytes, receiving.client
        counted = receiving.counted + size
        while counted > _SMALL:
            if self._held[client] + size > most // 2:  # the other half is for other clients
                full = [each for each in self._receiving if each.client == client]
            elif self._held.total() + size > most:
                full = list(self._receiving)
            else:
                break
            slowest = self._put_out([each for each in full if each.counted > _SMALL], now)
            if slowest is receiving:
                raise busy()
            self.let_go(slowest)
        receiving.counted = counted
        self._held[client] += size

    def let_go(self, receiving: Receiving) -> None:
        """Its bytes are no longer kept."""
        self._held[receiving.client] -= receiving.counted
        receiving.counted = 0
        if not self._held[receiving.client]:
            del self._held[receiving.client]

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
            self._working[client] -= 1
            if not self._working[client]:
                del self._working[client]

    def _put_out(self, some: list[Receiving], now: float) -> Receiving:
        """The one that is furthest behind its pace."""
        left = [each for each in some if not each.put_out]
        if not left:
            raise busy()
        slowest = min(left, key=lambda each: each.pace.deadline)
        slowest.put_out_now(now)
        self._receiving.discard(slowest)
        return slowest
