"""Bodies of JSON: read in a thread, and not before they are seen to have few parts.

A parser written in C lets nobody else run before it has ended, thread or not, and a body of five
million empty lists keeps it for seconds. What stands between the strings of an honest request is
short, however long its texts are; to see that takes a few passes that are as fast as memory.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from adhominem.web.failures import RequestError

_MOST_ENTRIES = 10_000  # of all lists and objects; how many texts there may be, the limits say
_MOST_BETWEEN = 1_000_000  # bytes that are not in strings: indentation, and numbers


def parse_json(body: bytes) -> Any:
    """A body of UTF-8 with few entries, no key of which comes twice."""
    # Without escaped backslashes and then without escaped quotes, the quotes are those of strings.
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * _MOST_ENTRIES:  # a key and a value each
        raise _too_many()
    between = b"".join(plain.split(b'"')[::2])
    entries = sum(map(between.count, (b",", b"[", b"{")))
    if entries > _MOST_ENTRIES or len(between) > _MOST_BETWEEN:
        raise _too_many()
    try:
        return json.loads(body.decode("utf-8-sig"), object_pairs_hook=_unique)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError):  # no UTF-8, a number of 5,000 digits, 1,000 levels
        raise HTTPException(400, "the body is not JSON in UTF-8 that can be read") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise HTTPException(400, "a key comes twice in an object; which is meant cannot be told")
    return found


def _too_many() -> HTTPException:
    return HTTPException(413, f"too many entries; expected at most {_MOST_ENTRIES:,}")


def _check_kind(content_type: str) -> None:
    """A form of another site's could send anything else without being asked."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type != "application/json" and not re.fullmatch(
        r"application/[^/\s]+\+json", media_type
    ):
        said = "does not say what it is" if not media_type else "is not said to be JSON"
        raise RequestError(
            415, "WrongKind", f"the body {said}; send it with Content-Type: application/json"
        )


class _Body(Request):
    async def json(self) -> Any:
        """Read in a thread."""
        return await asyncio.to_thread(parse_json, await self.body())


class JsonRoute(APIRoute):
    """A route whose body is read so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As FastAPI's, with another way to read."""
        handle, expects_body = super().get_route_handler(), self.body_field is not None

        async def read_and_handle(request: Request) -> Response:
            if expects_body:
                _check_kind(request.headers.get("content-type", ""))
            return await handle(_Body(request.scope, request.receive))

        return read_and_handle
