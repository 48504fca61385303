"""Files of a form, read by processes with bounds; what they are called is only shown."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from adhominem.errors import TooLargeError
from adhominem.text.bounded import TABLE_SUFFIX, BoundedReader, suffix_of
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import READABLE_SUFFIXES, Document
from adhominem.web.failures import RequestError, busy, too_large
from adhominem.web.limits import Limits

_AT_ONCE = 3  # processes that read office documents, and as many again for plain texts
_WAITING = 32  # requests whose files wait to be read
_SECONDS = 30
_SECONDS_OTHERS_WAIT = 4  # as long as that anybody may take
_BETWEEN_LOOKS = 0.2  # seconds
_PLAIN = (".txt", ".md", TABLE_SUFFIX)  # nothing can be hidden in these that takes long
_BYTES_A_CHARACTER = 6  # at most, as the process writes them
_NICENESS = 10  # the server goes first


@dataclass(frozen=True)
class Upload:
    """A file as it came."""

    name: str
    data: bytes


class _Queue:
    """A few places. Of those who wait, the last to come is the next: some are then served in time.

    First come, first served, a letter beside a dozen files that take long waited for all of them.
    """

    def __init__(self) -> None:
        self._free = _AT_ONCE
        self.waiting: list[asyncio.Future[None]] = []

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """A place, when there is one."""
        if self._free:
            self._free -= 1
        elif len(self.waiting) >= _WAITING:
            raise busy()
        else:
            await self._wait()
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self.waiting.remove(place)
            else:  # it came at the last moment
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        if self.waiting:
            self.waiting.pop().set_result(None)
        else:
            self._free += 1


class FileReader:
    """Reads the files of all requests, those of few at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._plain, self._office = _Queue(), _Queue()
        self._threads = ThreadPoolExecutor(2 * _AT_ONCE, "adhominem-files")

    async def read(
        self, files: Sequence[Upload], *, tables: bool = False
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

    async def _answer(self, files: Sequence[Upload], queue: _Queue) -> dict[str, Any]:
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
