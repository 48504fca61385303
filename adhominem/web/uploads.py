"""Files of a form, read by processes with bounds; what they are called is only shown."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from adhominem.text.exhibits import Exhibit
from adhominem.text.files import READABLE_SUFFIXES, Document
from adhominem.web.failures import RequestError, too_large
from adhominem.web.limits import FairQueue, Limits, client_asking
from adhominem.web.reading import TABLE_SUFFIX, suffix_of

_AT_ONCE = 3  # processes that read office documents, and as many again for plain texts
_WAITING = 32  # requests whose files wait to be read; of a client half as many
_SECONDS = 30
_SECONDS_OTHERS_WAIT = 4  # as long as that anybody may take
_PLAIN = (".txt", ".md", TABLE_SUFFIX)  # nothing can be hidden in these that takes long
_BYTES_A_CHARACTER = 12  # at most, as the process writes them


@dataclass(frozen=True)
class Upload:
    """A file as it came."""

    name: str
    data: bytes


class FileReader:
    """Reads the files of all requests, those of few at a time, each client in its turn."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._plain, self._office = (
            FairQueue(_AT_ONCE, _WAITING, _SECONDS_OTHERS_WAIT) for _ in range(2)
        )

    async def read(
        self, files: Sequence[Upload], *, tables: bool = False
    ) -> tuple[list[Exhibit], list[str]]:
        """The texts of files in order, of tables all of theirs; and notes on what was odd."""
        if not files:
            return [], []
        expected = (*READABLE_SUFFIXES, TABLE_SUFFIX) if tables else READABLE_SUFFIXES
        suffixes = {file.name: suffix_of(file.name) for file in files}
        for name, suffix in suffixes.items():
            if suffix not in expected:
                raise RequestError(
                    422, "WrongFile", f"{name} is not read; expected {', '.join(expected)}"
                )
        characters = self._limits.characters + self._limits.population_characters
        header = {
            "names": [file.name for file in files],
            "sizes": [len(file.data) for file in files],
            "most_bytes": _BYTES_A_CHARACTER * characters,
        }
        sent = b"".join([json.dumps(header).encode(), b"\n", *(file.data for file in files)])
        queue = self._plain if {*suffixes.values()} <= {*_PLAIN} else self._office
        async with queue.turn(client_asking.get()):
            answer = await self._ask_process(sent, queue)
        if "error" in answer:
            problem = answer["error"]
            status = {"TooLarge": 413, "MissingExtraError": 501}.get(problem["type"], 422)
            raise RequestError(status, problem["type"], problem["message"])
        texts = [
            Exhibit(Document(text=row["text"], id=row["name"], topic=row["topic"]), row["sha256"])
            for row in answer["texts"]
        ]
        return texts, answer["notes"]

    async def _ask_process(self, sent: bytes, queue: FairQueue) -> dict[str, Any]:
        seconds = math.ceil(min(self._limits.seconds, _SECONDS))
        process = await _start_process(seconds)
        talking = asyncio.ensure_future(process.communicate(sent))
        wanted: asyncio.Future[Any] = asyncio.Future()
        try:
            await asyncio.wait({talking}, timeout=min(_SECONDS_OTHERS_WAIT, seconds))
            if not talking.done():
                wanted = asyncio.ensure_future(queue.wanted.wait())
                await asyncio.wait(
                    {talking, wanted},
                    timeout=seconds + 1 - _SECONDS_OTHERS_WAIT,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            output = talking.result()[0] if talking.done() else b""
        finally:
            others_wait = wanted.done() and not talking.done()
            wanted.cancel()
            talking.cancel()
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if others_wait:
            raise RequestError(
                503,
                "Busy",
                f"the files take longer than {_SECONDS_OTHERS_WAIT} s to read, and others wait; "
                "try again later, or save their text alone as new files",
                {"Retry-After": "30"},
            )
        try:
            answer: dict[str, Any] = await asyncio.to_thread(json.loads, output)
        except ValueError:  # it was ended: by us, or by its own bounds
            raise too_large(
                f"the files could not be read within {seconds} s and 1 GB of memory, or hold more "
                "text than is compared; save their text alone as new files, or excerpts of it"
            ) from None
        return answer


async def _start_process(seconds: int) -> asyncio.subprocess.Process:
    # Safe path: what lies in the folder where the server was started is not taken for a module.
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "adhominem.web.reading", str(seconds)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # what goes wrong there may quote a text
        env={
            **os.environ,
            "ADHOMINEM_TOKEN": "",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(path for path in paths if os.path.isabs(path)),
        },
    )
