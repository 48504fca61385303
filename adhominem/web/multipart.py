"""Forms with files: `multipart/form-data` by RFC 7578, of a body that is in memory already.

All text in it is UTF-8, whatever charset it is said to have. What cannot be understood is refused,
and not left out: a part may be evidence. A body is cut at its boundary by
searches that are as fast as memory, and at most so often as it may have parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from adhominem.web.failures import RequestError, too_large

_LONGEST_BOUNDARY = 70  # by RFC 2046
_LONGEST_HEADERS = 8 << 10  # bytes of a part's headers
_BOUNDARY = re.compile(r'boundary=(?:"([^"]*)"|([^\s";]*))', re.IGNORECASE)
# Browsers and curl quote, .NET does not; older Python programs send names abroad as filename*.
_PARAMETER = re.compile(rb';[ \t]*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))[ \t]*')
_EXTENDED = re.compile(r"utf-8'[^']*'(.*)", re.IGNORECASE)
_AS_IT_IS = (b"binary", b"8bit", b"7bit")
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
    headers = {}
    for line in piece[line_end + 2 : end].split(b"\r\n"):
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    if headers.get(b"content-transfer-encoding", b"binary").lower() not in _AS_IT_IS:
        raise _wrong("a part is packed; send it as it is")
    given = _parameters(headers.get(b"content-disposition", b""))
    if "name" not in given:
        raise _wrong("a part has no name")
    filename = given.get("filename")
    if "filename*" in given:
        extended = _EXTENDED.fullmatch(given["filename*"])
        if not extended:
            raise _wrong("the name of a file is not in UTF-8")
        filename = unquote(extended[1])
    return Part(given["name"], filename, piece[end + 4 :])


def _parameters(disposition: bytes) -> dict[str, str]:
    """What stands behind `form-data`, all of it."""
    found, at = {}, len(b"form-data")
    if disposition[:at].lower() != b"form-data":
        raise _wrong("a part has no name")
    while at < len(disposition):
        parameter = _PARAMETER.match(disposition, at)
        if parameter is None:
            raise _wrong("the name of a part is not written as it should be")
        at = parameter.end()
        name, quoted, plain = parameter.groups()
        value = (plain or quoted).decode("utf-8", "replace")
        found[name.decode("ascii").lower()] = value if plain else _ESCAPED.sub(r"\1", value)
    return found


def _wrong(what: str) -> RequestError:
    return RequestError(400, "WrongForm", f"the form cannot be read: {what}")
