"""What a request may ask for, and errors as answers: their status, their words, what is logged."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi.responses import Response

import adhominem
from adhominem.errors import (
    AdHominemError,
    IndexFolderError,
    InputError,
    MissingExtraError,
    OptionError,
)
from adhominem.records import strict_json

logger = logging.getLogger("adhominem.web")
_PACKAGE = Path(adhominem.__file__).parent
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no referrer at all, the origin of our own form would be "null" under plain HTTP.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), "
    "payment=(), usb=()",
    "Cache-Control": "no-store",
}


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


class RequestError(AdHominemError):
    """A request that is refused, with the HTTP status of the answer."""

    def __init__(
        self, status: int, name: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.name, self.headers = status, name, dict(headers or {})


class BrokenOffError(AdHominemError):
    """Work that ended in more than an ordinary error: a panic, an exit.

    The cause itself cannot be handed on: an exit would end the event loop, and a StopIteration
    would be lost in it.
    """

    def __init__(self, error: BaseException) -> None:
        self.name = type(error).__name__
        super().__init__(f"the work broke off ({self.name})")


def too_large(message: str) -> RequestError:
    """The error for more than the limits allow."""
    return RequestError(413, "TooLarge", message)


def busy() -> RequestError:
    """The error for more requests than can wait."""
    return RequestError(
        503,
        "Busy",
        "too many requests are waiting; try again in a few seconds",
        {"Retry-After": "5"},
    )


def as_request_error(error: BaseException) -> RequestError:
    """Any error as an answer; an unexpected one shows only its type."""
    if isinstance(error, RequestError):
        return error
    name = error.name if isinstance(error, BrokenOffError) else type(error).__name__
    if isinstance(error, InputError | OptionError):
        return RequestError(422, name, str(error))
    if isinstance(error, IndexFolderError):
        logger.error("%s", error)  # it names a file, and no text
        reason = "whoever runs the server finds the reason in its log"
        return RequestError(503, name, f"the server’s index cannot be searched now; {reason}")
    if isinstance(error, MissingExtraError):
        return RequestError(501, name, f"the server lacks a library: {error}")
    return RequestError(
        500, "InternalError", f"the server failed ({name}); this is a fault of AdHominem"
    )


def place_of(error: BaseException) -> str:
    """An error's type and where in our code it was raised: its message may hold a text."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    places = [f" at {Path(frame.filename).name}:{frame.lineno}" for frame in ours or frames]
    return f"{type(error).__name__}{places[-1] if places else ''}"


def error_json(error: RequestError) -> dict[str, Any]:
    """The one form of all errors in JSON."""
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
