"""The page's form as it is sent: `multipart/form-data` by RFC 7578, of a body in memory.

All text in it is UTF-8, whatever charset it is said to have. What cannot be understood is refused,
and not left out: a part may be evidence.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser

from adhominem.web.failures import RequestError, too_large
from adhominem.web.uploads import Upload

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it quotes what it is given

SIDES = ("first", "second")
NO_PRIOR = "0.5"  # what the form begins with: nobody has stated it
_FILES = ("first_file", "second_file", "population")
_TEXTS = ("first_text", "second_text")
_ONCE = (
    *("first_topic", "second_topic", "prior", "server_population"),
    *("explain", "report", "case", "examiner"),
)
_LONGEST_FIELD_NAME = 40  # characters that are shown
_LONGEST_FILE_NAME = 200
_LONGEST_BOUNDARY = 70  # by RFC 2046
_BOUNDARY = re.compile(r'boundary=(?:"([^"]*)"|([^\s";]*))', re.IGNORECASE)
# Browsers and curl quote, .NET does not; older Python programs send names abroad as filename*.
_PARAMETER = re.compile(rb';[ \t]*([\w*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))[ \t]*')
_EXTENDED = re.compile(r"utf-8'[^']*'(.*)", re.IGNORECASE)
_UNPACKED = (b"binary", b"8bit", b"7bit")
_ESCAPED = re.compile(r'\\(["\\])')


@dataclass(frozen=True, kw_only=True)
class FormFields:
    """What the form holds, as it was sent or is to be shown."""

    pasted: dict[str, list[str]] = field(default_factory=dict)  # by side
    files: dict[str, list[Upload]] = field(default_factory=dict)  # by side; never shown again
    topics: dict[str, str] = field(default_factory=dict)  # by side
    prior: str = NO_PRIOR
    population: Sequence[Upload] = ()
    server_population: bool = False
    explain: bool = True
    report: bool = False  # alone: the rest was sent before
    case: str = ""  # what the report is headed with
    examiner: str = ""

    @property
    def prior_same_author(self) -> float:
        """The prior as a number; an error if it is none."""
        return prior_in(self.prior)


def prior_in(field: str) -> float:
    """The prior that a field states; an error if it is none."""
    try:
        prior = float(field.replace(",", "."))
    except ValueError:
        prior = 0.0
    if not 0 < prior < 1:
        raise RequestError(
            422, "WrongPrior", "the prior is a probability; expected a number between 0 and 1"
        )
    return prior


@dataclass(frozen=True)
class Part:
    """A field or a file of a form."""

    name: str
    filename: str | None  # None: a field
    data: bytes


class Sent:
    """The parts of a form by name; one that is not known is refused: it may be evidence."""

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        files: Sequence[str],
        texts: Sequence[str],
        once: Sequence[str],
        kind: Callable[[str], str] = lambda name: name,
    ) -> None:
        """The names of fields for files, for texts, and of those that come `once`.

        `kind` is the name by which a field is known, if it has another.
        """
        self._parts = parts
        names = [part.name for part in parts]
        for part in parts:
            known = kind(part.name)
            is_file = known in files
            if not is_file and (known not in (*texts, *once) or part.filename is not None):
                name = part.name[:_LONGEST_FIELD_NAME]
                raise _wrong(f"the field '{name}' is not known, or not for files")
            if known in once and names.count(part.name) > 1:
                raise _wrong(f"the field '{part.name}' comes twice")

    def line(self, name: str) -> str:
        """What a field holds."""
        return "".join(self._strings(name)).strip()

    def pasted(self, name: str) -> list[str]:
        """The texts of a field that hold anything."""
        # A form sends \r\n for each line end that somebody typed.
        return [text.replace("\r\n", "\n") for text in self._strings(name) if text.strip()]

    def uploads(self, name: str) -> list[Upload]:
        """The files of a field; of one that was left empty, none."""
        return [
            Upload((part.filename or "a file without a name")[-_LONGEST_FILE_NAME:], part.data)
            for part in self._parts
            if part.name == name and (part.filename or part.data)
        ]

    def _strings(self, name: str) -> list[str]:
        try:
            return [part.data.decode("utf-8") for part in self._parts if part.name == name]
        except UnicodeDecodeError:
            raise _unreadable("expected UTF-8") from None


def read_fields(parts: Sequence[Part]) -> FormFields:
    """What the fields of the form with two sides hold."""
    sent = Sent(parts, files=_FILES, texts=_TEXTS, once=_ONCE)
    return FormFields(
        pasted={side: sent.pasted(f"{side}_text") for side in SIDES},
        files={side: sent.uploads(f"{side}_file") for side in SIDES},
        topics={side: sent.line(f"{side}_topic") for side in SIDES},
        prior=sent.line("prior") or NO_PRIOR,
        population=sent.uploads("population"),
        server_population=sent.line("server_population") == "yes",
        explain=sent.line("explain") == "yes",
        report=sent.line("report") == "yes",
        case=sent.line("case"),
        examiner=sent.line("examiner"),
    )


def parse_form(body: bytes, content_type: str, most_parts: int) -> list[Part]:
    """The parts of a form, in order."""
    if not content_type.lower().startswith("multipart/form-data"):
        raise RequestError(415, "WrongForm", "expected a form as multipart/form-data")
    match = _BOUNDARY.search(content_type)
    boundary = (match[1] or match[2] or "").encode("latin-1") if match else b""
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise _unreadable(f"expected a boundary of 1 to {_LONGEST_BOUNDARY} characters")
    form = _Form(most_parts)
    parser = MultipartParser(boundary, form.callbacks)
    try:
        parser.write(body)
    except FormParserError:
        raise _unreadable("it is not in parts as it should be") from None
    if not form.is_whole:
        raise _unreadable("it has no end")
    return form.parts


class _Form:
    """The parts of a form as its parser finds them; all of them stay in memory."""

    def __init__(self, most_parts: int) -> None:
        self.parts: list[Part] = []
        self.is_whole = False
        self._most = most_parts
        self.callbacks: Any = {name: getattr(self, name) for name in dir(self) if name[:3] == "on_"}

    def on_part_begin(self) -> None:
        if len(self.parts) == self._most:
            raise too_large(f"the form has too many parts; expected at most {self._most:,}")
        self._headers: dict[bytes, bytes] = {}
        self._header = self._value = b""
        self._data: list[bytes] = []

    def on_header_field(self, data: bytes, begin: int, end: int) -> None:
        self._header += data[begin:end]

    def on_header_value(self, data: bytes, begin: int, end: int) -> None:
        self._value += data[begin:end]

    def on_header_end(self) -> None:
        self._headers[self._header.lower()] = self._value.strip()
        self._header = self._value = b""

    def on_headers_finished(self) -> None:
        if self._headers.get(b"content-transfer-encoding", b"binary").lower() not in _UNPACKED:
            raise _unreadable("a part is packed; send it as it is")
        self._name, self._filename = _names(self._headers.get(b"content-disposition", b""))

    def on_part_data(self, data: bytes, begin: int, end: int) -> None:
        self._data.append(data[begin:end])

    def on_part_end(self) -> None:
        self.parts.append(Part(self._name, self._filename, b"".join(self._data)))

    def on_end(self) -> None:
        self.is_whole = True


def _names(disposition: bytes) -> tuple[str, str | None]:
    """The name of a field and, if it has one, of its file, from a Content-Disposition header.

    The library's own reader of it passes over what it does not understand.
    """
    given = _parameters(disposition)
    if "name" not in given:
        raise _unreadable("a part has no name")
    filename = given.get("filename")
    if "filename*" in given:
        extended = _EXTENDED.fullmatch(given["filename*"])
        if not extended:
            raise _unreadable("the name of a file is not in UTF-8")
        filename = unquote(extended[1])
    return given["name"], filename


def _parameters(disposition: bytes) -> dict[str, str]:
    """All parameters behind `form-data` in a Content-Disposition header."""
    parameters, at = {}, len(b"form-data")
    if disposition[:at].lower() != b"form-data":
        raise _unreadable("a part has no name")
    while at < len(disposition):
        match = _PARAMETER.match(disposition, at)
        if match is None:
            raise _unreadable("the name of a part is not written as it should be")
        at = match.end()
        name, quoted, plain = match.groups()
        value = (plain or quoted).decode("utf-8", "replace")
        parameters[name.decode("ascii").lower()] = value if plain else _ESCAPED.sub(r"\1", value)
    return parameters


def _wrong(what: str) -> RequestError:
    return RequestError(422, "WrongForm", what)


def _unreadable(what: str) -> RequestError:
    return RequestError(400, "WrongForm", f"the form cannot be read: {what}")
