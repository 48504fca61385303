"""Events as lines of JSON, written while the work goes on: what is being done, and what came out.

If the client stops reading, the work ends at its next report of progress.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Send

from adhominem.web.batching import Progress
from adhominem.web.failures import (
    RequestError,
    as_request_error,
    error_json,
    json_bytes,
    logger,
    place_of,
)

LINES = "application/x-ndjson"  # what the page's script accepts
Tell = Callable[[dict[str, Any]], None]  # of an event: what is being done, or came out


class EventLines(StreamingResponse):
    """A line of JSON for each event of the work, or for the error that ended it.

    Nothing is sent before some of the work is done: a refusal until then is the answer's status.
    """

    def __init__(self, work: Callable[[Tell], Awaitable[None]]) -> None:
        super().__init__(self._lines(), media_type=LINES)
        self._work, self._refused = work, RequestError(500, "", "")
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()  # {} is the end

    async def stream_response(self, send: Send) -> None:
        """Send the status when it is known, and then the lines."""
        working = asyncio.create_task(self._run())
        try:
            self._told = [await self._events.get()]
            while self._told[-1].get("progress") == 0:
                self._told.append(await self._events.get())
            if "error" in self._told[-1]:
                self._told, self.status_code = self._told[-1:], self._refused.status
                self.headers.update({**self._refused.headers, "Content-Type": "application/json"})
            await super().stream_response(send)
        finally:  # the client may have gone
            working.cancel()

    async def _run(self) -> None:
        try:
            await self._work(self._events.put_nowait)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._refused = as_request_error(error)
            if self._refused.status == 500:
                logger.error("%s", place_of(error))
            self._events.put_nowait(error_json(self._refused))
        finally:
            self._events.put_nowait({})

    async def _lines(self) -> AsyncIterator[bytes]:
        while event := self._told.pop(0) if self._told else await self._events.get():
            yield await asyncio.to_thread(json_bytes, event) + b"\n"


def progress(tell: Tell, doing: str) -> Progress:
    """Tell what is being done, and from then on how much of it is."""
    tell({"doing": doing, "progress": 0})
    return lambda share: tell({"doing": doing, "progress": round(share, 3)})
