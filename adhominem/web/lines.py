"""Events as lines of JSON, written while the work goes on: what is being done, and what came out.

Whoever stops reading gives up the work: it ends where it would have told of its progress.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from adhominem.web.batching import Progress
from adhominem.web.failures import as_request_error, error_json, json_bytes, logger, place_of

Tell = Callable[[dict[str, Any]], None]  # of an event: what is being done, or came out


async def event_lines(work: Callable[[Tell], Awaitable[None]]) -> AsyncIterator[bytes]:
    """What the work tells, or an error: a line of JSON for each event."""
    events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def run() -> None:
        try:
            await work(events.put_nowait)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            refused = as_request_error(error)
            if refused.status == 500:
                logger.error("%s", place_of(error))
            events.put_nowait(error_json(refused))
        finally:
            events.put_nowait(None)

    working = asyncio.create_task(run())
    try:
        while (event := await events.get()) is not None:
            yield await asyncio.to_thread(json_bytes, event) + b"\n"
    finally:  # the client may have gone
        working.cancel()


def progress(tell: Tell, doing: str) -> Progress:
    """Tell what is being done, and from then on how much of it is."""
    tell({"doing": doing, "progress": 0})
    return lambda share: tell({"doing": doing, "progress": round(share, 3)})
