"""Files of a form: only their bytes are used, and what they are called is only shown."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from adhominem.text.document import Document
from adhominem.text.exhibits import Exhibit
from adhominem.text.readers import READABLE_SUFFIXES
from adhominem.web.failures import RequestError, too_large
from adhominem.web.limits import Limits
from adhominem.web.reading import TABLE_SUFFIX, suffix_of

_AT_ONCE = 2  # processes that read files
_SECONDS = 30
_LONGEST_NAME = 200  # characters of a name that are shown


@dataclass(frozen=True)
class Upload:
    """A file as it came."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Read:
    """The texts of some files, and what was odd about them."""

    texts: list[Exhibit]
    notes: list[str]


class _InMemory(MultiPartParser):
    spool_max_size = sys.maxsize  # no file of a request on the disk; the request itself is bounded


async def read_form(request: Request, limits: Limits) -> FormData:
    """A form with files."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise RequestError(415, "WrongForm", "expected a form as multipart/form-data")
    parser = _InMemory(
        request.headers,
        request.stream(),
        max_files=limits.population_texts + 2 * limits.texts,
        max_fields=4 * limits.texts,
        max_part_size=limits.bytes,
    )
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise RequestError(400, "WrongForm", f"the form cannot be read: {error.message}") from None
    except ValueError:  # of a codec: a form may name any as its charset
        raise RequestError(400, "WrongForm", "the form cannot be read: expected UTF-8") from None


async def uploads_of(form: FormData, field: str) -> list[Upload]:
    """The files of a field; one that was left empty has none."""
    found = []
    for each in form.getlist(field):
        if isinstance(each, UploadFile) and each.filename:
            name = each.filename.encode("utf-8", "replace").decode()[-_LONGEST_NAME:]
            found.append(Upload(name, await each.read()))
    return found


class FileReader:
    """Reads the files of all requests, those of few at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def read(self, files: Sequence[Upload], *, tables: bool = False) -> Read:
        """The texts of files, plain or office documents, in order; of tables all of theirs."""
        if not files:
            return Read([], [])
        expected = (*READABLE_SUFFIXES, TABLE_SUFFIX) if tables else READABLE_SUFFIXES
        for file in files:
            if suffix_of(file.name) not in expected:
                raise RequestError(
                    422, "WrongFile", f"{file.name} is not read; expected {', '.join(expected)}"
                )
        header = {
            "names": [file.name for file in files],
            "sizes": [len(file.data) for file in files],
        }
        sent = b"".join([json.dumps(header).encode(), b"\n", *(file.data for file in files)])
        async with self._at_once:
            found = await _ask_process(sent, math.ceil(min(self._limits.seconds, _SECONDS)))
        if "error" in found:
            problem = found["error"]
            status = {"TooLarge": 413, "MissingExtraError": 501}.get(problem["type"], 422)
            raise RequestError(status, problem["type"], problem["message"])
        texts = [
            Exhibit(Document(text=row["text"], id=row["name"], topic=row["topic"]), row["sha256"])
            for row in found["texts"]
        ]
        return Read(texts, found["notes"])


async def _ask_process(sent: bytes, seconds: int) -> dict[str, Any]:
    # The folder is ours: a process that is ended cleans up nothing.
    with TemporaryDirectory(prefix="adhominem-") as folder:
        output = await _output_of_process(sent, seconds, folder)
    try:
        found: dict[str, Any] = json.loads(output)
    except ValueError:  # it was ended: by us, or by its own bounds
        raise too_large(
            f"the files could not be read within {seconds} s and 1 GB of memory; save their text "
            "alone as new files"
        ) from None
    return found


async def _output_of_process(sent: bytes, seconds: int, folder: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "adhominem.web.reading", str(seconds), folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # what goes wrong there may quote a text
        env={
            **os.environ,
            "ADHOMINEM_TOKEN": "",
            "OPENBLAS_NUM_THREADS": "1",
            "TMPDIR": folder,  # for what a library may put aside
        },
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(sent), seconds + 1)
    except TimeoutError:
        output = b""
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return output
