"""A queue for few places: clients take turns, however much each of them asks for.

Of one client, the first to come is the first served, as long as that is soon. Where the queue has
grown too long for that, it is the last: some are then served in good time, and not all too late.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from adhominem.web.failures import busy


@dataclass(eq=False)
class _Place:
    """Somebody who waits."""

    since: float
    given: asyncio.Future[None]


class FairQueue:
    """So many at once; `waiting` in all may wait, and half of that of one client."""

    def __init__(self, at_once: int, waiting: int, patience: float = math.inf) -> None:
        self._free, self._most, self._patience = at_once, waiting, patience
        self._waiting: dict[str, deque[_Place]] = {}  # in the order of their turns
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
        loop = asyncio.get_running_loop()
        place = _Place(loop.time(), loop.create_future())
        self._waiting.setdefault(client, own).append(place)
        self._wanted.set()
        try:
            await place.given
        except asyncio.CancelledError:
            if place.given.done() and not place.given.cancelled():  # it came at the last moment
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
        waited = asyncio.get_running_loop().time() - places[0].since
        place = places.popleft() if waited <= self._patience else places.pop()
        place.given.set_result(None)
        if places:
            self._waiting[client] = places  # now the last in turn
        self._tell()

    def _forget(self, client: str, place: _Place) -> None:
        self._waiting[client].remove(place)
        if not self._waiting[client]:
            del self._waiting[client]
        self._tell()

    def _tell(self) -> None:
        if not self._waiting:
            self._wanted.clear()
