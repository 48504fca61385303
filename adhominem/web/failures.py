"""Errors as answers: which status an error has, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi.responses import Response

from adhominem.errors import AdHominemError, InputError, MissingExtraError, OptionError
from adhominem.records import strict_json
from adhominem.web.limits import Limits


class RequestError(AdHominemError):
    """A request that is refused, with the HTTP status of the answer."""

    def __init__(
        self, status: int, name: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.name, self.headers = status, name, dict(headers or {})


class BrokenOffError(AdHominemError):
    """Work that ended in what is no ordinary error: a panic, an exit.

    It stands in for it, since an exit ends whatever loop it gets into, and a StopIteration gets
    lost in one.
    """

    def __init__(self, error: BaseException) -> None:
        self.name = type(error).__name__
        super().__init__(f"the work broke off ({self.name})")


def too_large(message: str) -> RequestError:
    """More than the limits allow."""
    return RequestError(413, "TooLarge", message)


def busy() -> RequestError:
    """More requests than can wait."""
    return RequestError(
        503,
        "Busy",
        "too many requests are waiting; try again in a few seconds",
        {"Retry-After": "5"},
    )


def too_slow(seconds: float) -> RequestError:
    """An answer that did not come in time."""
    return RequestError(
        504,
        "TimeLimit",
        f"the answer took longer than {seconds:g} s, and was given up; send fewer or shorter "
        "texts, or start the server with a larger --timeout",
    )


def too_slowly_sent(limits: Limits) -> RequestError:
    """A request whose headers or whose end did not come in time."""
    return RequestError(
        408,
        "SlowRequest",
        f"the request came too slowly; expected its headers within {limits.header_seconds:g} s, "
        f"its body with {limits.bytes_a_second:,} bytes/s, and all of it within "
        f"{limits.seconds:g} s; send it again, with fewer or shorter texts, or start the server "
        "with a larger --timeout",
    )


def as_request_error(error: BaseException) -> RequestError:
    """Any error as an answer; of one that nobody raised on purpose, nothing is told."""
    if isinstance(error, RequestError):
        return error
    name = error.name if isinstance(error, BrokenOffError) else type(error).__name__
    if isinstance(error, InputError | OptionError):
        return RequestError(422, name, str(error))
    if isinstance(error, MissingExtraError):
        return RequestError(501, name, f"the server lacks a library: {error}")
    return RequestError(
        500, "InternalError", f"the server failed ({name}); this is a fault of AdHominem"
    )


def error_json(error: RequestError) -> dict[str, Any]:
    """The one form of all errors."""
    return {"error": {"type": error.name, "message": str(error)}}


def json_bytes(result: object) -> bytes:
    """JSON as the commands print it: NaN as null, infinity as a string."""
    return strict_json(result).encode("utf-8", "replace")


def json_response(
    result: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """An answer for programs."""
    return Response(json_bytes(result), status, headers, "application/json")


def error_response(error: RequestError) -> Response:
    """A refusal for programs."""
    return json_response(error_json(error), error.status, error.headers)
