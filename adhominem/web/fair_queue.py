"""A queue for few places: clients take turns, however much each of them asks for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from adhominem.web.failures import busy


class FairQueue:
    """So many at once; `waiting` in all may wait, and half of that of one client."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free, self._most = at_once, waiting
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # in the order of their turns
        self._wanted = asyncio.Event()

    async def wanted(self) -> None:
        """Until somebody waits for a place."""
        await self._wanted.wait()

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
        own = self._waiting.get(client, deque())
        if len(own) >= self._most // 2 or sum(map(len, self._waiting.values())) >= self._most:
            raise busy()
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, own).append(place)
        self._wanted.set()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it came at the last moment
                self._pass_on()
            else:
                self._forget(client, place)
            raise

    def _pass_on(self) -> None:
        """A place has become free: it goes to the client whose turn was longest ago."""
        if not self._waiting:
            self._free += 1
            return
        client = next(iter(self._waiting))
        places = self._waiting.pop(client)
        places.popleft().set_result(None)
        if places:
            self._waiting[client] = places  # now the last in turn
        self._tell()

    def _forget(self, client: str, place: asyncio.Future[None]) -> None:
        self._waiting[client].remove(place)
        if not self._waiting[client]:
            del self._waiting[client]
        self._tell()

    def _tell(self) -> None:
        if not self._waiting:
            self._wanted.clear()
