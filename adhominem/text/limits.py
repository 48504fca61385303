"""How large one text may be: no honest one is larger, and a few kB can unpack to anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adhominem.errors import OptionError, TooLargeError

# The Bible has 4.5 MB. A pair is two texts in one line, and JSON may spend six bytes on a letter.
DEFAULT_MOST_BYTES = 64 << 20

_most_bytes: ContextVar[int] = ContextVar("most_bytes", default=DEFAULT_MOST_BYTES)


def most_bytes() -> int:
    """The bytes that one text, or one line of a table, may have once it is unpacked."""
    return _most_bytes.get()


@contextmanager
def reading_at_most(count: int) -> Iterator[None]:
    """Let one text have so many bytes, unpacked, in all that is read meanwhile."""
    if count < 1:
        raise OptionError(f"a text of at most {count} bytes; expected 1 or more")
    token = _most_bytes.set(count)
    try:
        yield
    finally:
        _most_bytes.reset(token)


def too_large(what: str, most: int | None = None) -> TooLargeError:
    """The error for a text, a line or a file that is larger than what is read."""
    return TooLargeError(
        f"{what} has more than {most or most_bytes():,} bytes; if it is one honest text, give a "
        "larger --max-bytes"
    )
