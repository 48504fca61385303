"""What a form sends: its parts, and the texts of its files, which processes with bounds read."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

from adhominem.errors import TooLargeError
from adhominem.text.bounded import TABLE_SUFFIX, BoundedReader, suffix_of
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import READABLE_SUFFIXES, Document
from adhominem.web.failures import Limits, RequestError, busy, too_large

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it quotes what it is given

_AT_ONCE = 3  # processes that read office documents, and as many again for plain texts
_WAITING = 32  # requests whose files wait to be read
_SECONDS = 30
_SECONDS_OTHERS_WAIT = 4  # as long as that anybody may take
_BETWEEN_LOOKS = 0.2  # seconds
_PLAIN = (".txt", ".md", TABLE_SUFFIX)  # nothing can be hidden in these that takes long
_BYTES_A_CHARACTER = 6  # at most, as the process writes them
_NICENESS = 10  # the server goes first
_LONGEST_BOUNDARY = 70  # by RFC 2046


@dataclass(frozen=True)
class Part:
    """A part of a form: a field, or a file."""

    field: str
    data: bytes
    name: str = ""  # of the file, which is only shown
    is_file: bool = False


def parse_form(body: bytes, content_type: str, most_parts: int) -> list[Part]:
    """The parts of `multipart/form-data` in order; what cannot be understood is refused.

    Starlette would write large files to the disk, and guess what is not UTF-8.
    """
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data":
        raise RequestError(415, "WrongForm", "expected a form as multipart/form-data")
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= _LONGEST_BOUNDARY:
        raise unreadable(f"expected a boundary of 1 to {_LONGEST_BOUNDARY} characters")
    parts: list[Part] = []
    ends: list[bool] = []

    def add(name: bytes | None, file: bytes | None, data: bytes) -> None:
        if len(parts) == most_parts:
            raise too_large(f"the form has too many parts; expected at most {most_parts:,}")
        names = [(given or b"").decode("utf-8", "replace") for given in (name, file)]
        parts.append(Part(names[0], data, names[1], is_file=file is not None))

    def on_field(field: Field) -> None:
        add(field.field_name, None, field.value or b"")

    def on_file(file: File) -> None:
        add(file.field_name, file.file_name, file.file_object.getvalue())  # type: ignore[union-attr]

    parser = FormParser(
        "multipart/form-data",
        on_field,
        on_file,
        lambda: ends.append(True),
        boundary=boundary,
        config={"MAX_MEMORY_FILE_SIZE": len(body) + 1, "UPLOAD_ERROR_ON_BAD_CTE": True},
    )
    try:
        parser.write(body)
    except FormParserError:
        raise unreadable("it is not in parts as it should be") from None
    if not ends:
        raise unreadable("it has no end")
    return parts


def unreadable(why: str) -> RequestError:
    """The error for a form that is broken."""
    return RequestError(400, "WrongForm", f"the form cannot be read: {why}")


class _Queue:
    """A few places, and those who wait for one."""

    def __init__(self) -> None:
        self._places, self.waiting = asyncio.Semaphore(_AT_ONCE), 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A place, when there is one."""
        if self.waiting >= _WAITING:
            raise busy()
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._places.release()


class FileReader:
    """Reads the files of all requests, those of few at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._plain, self._office = _Queue(), _Queue()
        self._threads = ThreadPoolExecutor(2 * _AT_ONCE, "adhominem-files")

    async def read(
        self, files: Sequence[Part], *, tables: bool = False
    ) -> tuple[list[Exhibit], list[str]]:
        """The texts of files in order, of tables all of theirs; and notes on anything odd."""
        if not files:
            return [], []
        expected = (*READABLE_SUFFIXES, TABLE_SUFFIX) if tables else READABLE_SUFFIXES
        suffixes = {file.name: suffix_of(file.name) for file in files}
        for name, suffix in suffixes.items():
            if suffix not in expected:
                raise RequestError(
                    422, "WrongFile", f"{name} is not read; expected {', '.join(expected)}"
                )
        queue = self._plain if {*suffixes.values()} <= {*_PLAIN} else self._office
        async with queue.turn():
            answer = await self._answer(files, queue)
        if "error" in answer:
            kind, problem = answer["error"], answer["problem"]
            if kind == "MissingExtraError":
                raise RequestError(501, kind, problem)
            if kind == TooLargeError.__name__:
                raise too_large(f"{answer['name']}: {problem}")
            raise RequestError(422, kind, f"{answer['name']}: {problem}")
        texts = [
            Exhibit(Document(text=row["text"], id=row["name"], topic=row["topic"]), row["sha256"])
            for row in answer["texts"]
        ]
        return texts, answer["notes"]

    async def _answer(self, files: Sequence[Part], queue: _Queue) -> dict[str, Any]:
        """What a process reads; it is ended if it takes too long, and sooner if others wait."""
        seconds = math.ceil(min(self._limits.seconds, _SECONDS))
        characters = self._limits.characters + self._limits.population_characters
        reader = BoundedReader(_NICENESS)
        reader.start()  # here, so that a client that gives up ends it
        loop = asyncio.get_running_loop()
        began = loop.time()
        reading = loop.run_in_executor(
            self._threads,
            reader.read,
            [(file.name, file.data) for file in files],
            seconds,
            _BYTES_A_CHARACTER * characters,
        )
        try:
            while not reading.done():
                await asyncio.wait({reading}, timeout=_BETWEEN_LOOKS)
                if queue.waiting and loop.time() > began + _SECONDS_OTHERS_WAIT:
                    break
            if reading.done():
                return reading.result()
        except TooLargeError:  # it was ended by its bounds
            raise too_large(
                f"the files could not be read within {seconds} s and 1 GB of memory, or hold more "
                "text than is compared; save their text alone as new files, or excerpts of it"
            ) from None
        finally:
            reading.cancel()
            reader.stop()
        raise RequestError(
            503,
            "Busy",
            f"the files take longer than {_SECONDS_OTHERS_WAIT} s to read, and others wait; "
            "try again later, or save their text alone as new files",
            {"Retry-After": "30"},
        )
