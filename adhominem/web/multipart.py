"""Forms with files: `multipart/form-data` by RFC 7578, of a body that is in memory already.

All text in it is UTF-8, whatever charset it is said to have. A body is cut at its boundary by
searches that are as fast as memory, and at most so often as it may have parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from adhominem.web.failures import RequestError, too_large

_LONGEST_BOUNDARY = 70  # by RFC 2046
_LONGEST_HEADERS = 8 << 10  # bytes of a part's headers
_BOUNDARY = re.compile(r'boundary=(?:"([^"]*)"|([^\s";]*))', re.IGNORECASE)
_PARAMETER = re.compile(rb';[ \t]*(name|filename)="((?:[^"\\]|\\.)*)"', re.IGNORECASE)
_ESCAPED = re.compile(r'\\(["\\])')


@dataclass(frozen=True)
class Part:
    """A field or a file of a form."""

    name: str
    filename: str | None  # None: a field
    data: bytes

    @property
    def text(self) -> str:
        """A field's value."""
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            raise _wrong("expected UTF-8") from None


def boundary_of(content_type: str) -> bytes:
    """What stands between the parts of a body."""
    if not content_type.lower().startswith("multipart/form-data"):
        raise RequestError(415, "WrongForm", "expected a form as multipart/form-data")
    found = _BOUNDARY.search(content_type)
    boundary = (found[1] or found[2] or "") if found else ""
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise _wrong(f"expected a boundary of 1 to {_LONGEST_BOUNDARY} characters")
    return boundary.encode("latin-1")


def parse_form(body: bytes, boundary: bytes, most_parts: int) -> list[Part]:
    """The parts of a form, in order."""
    # The first boundary has no line before it, which is made up here.
    pieces = (b"\r\n" + body).split(b"\r\n--" + boundary, most_parts + 2)
    if len(pieces) > most_parts + 2:
        raise too_large(f"the form has too many parts; expected at most {most_parts:,}")
    parts: list[Part] = []
    for piece in pieces[1:]:
        if piece.startswith(b"--"):
            return parts
        parts.append(_part(piece))
    raise _wrong("it has no end")


def _part(piece: bytes) -> Part:
    line_end = piece.find(b"\r\n", 0, _LONGEST_HEADERS)
    end = piece.find(b"\r\n\r\n", 0, _LONGEST_HEADERS)
    if line_end < 0 or piece[:line_end].strip(b" \t") or end < 0:
        raise _wrong("a part has no headers, or very long ones")
    for line in piece[line_end:end].split(b"\r\n"):
        kind, _, value = line.partition(b":")
        if kind.strip().lower() == b"content-disposition":
            given = {name.lower(): _decoded(quoted) for name, quoted in _PARAMETER.findall(value)}
            if b"name" in given:
                return Part(given[b"name"], given.get(b"filename"), piece[end + 4 :])
    raise _wrong("a part has no name")


def _decoded(quoted: bytes) -> str:
    return _ESCAPED.sub(r"\1", quoted.decode("utf-8", "replace"))


def _wrong(what: str) -> RequestError:
    return RequestError(400, "WrongForm", f"the form cannot be read: {what}")
