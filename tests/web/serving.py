"""A server for tests: the shipped model, texts that it can compare, and a real socket if wanted."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from adhominem.web.failures import Limits
from adhominem.web.guard import Access
from adhominem.web.pages import EXAMPLES, example_text
from adhominem.web.server import make_server, open_socket, url_of
from adhominem.web.service import Service

(GARDEN,), (RAILWAY,) = (map(example_text, of) for of in EXAMPLES["one-writer"])
BICYCLE = example_text("dez-bicycle")  # of another genre than the first two: no statement
FERRY = example_text(EXAMPLES["two-writers"][1][0])
SECRET = "Xylophonequartz"  # a word that no log may hold
POPULATION = [f"{text} {number}" for number in range(3) for text in (RAILWAY, BICYCLE)]


def open_service(model: str = "general-en", **limits: Any) -> Service:
    return Service.open(model, limits=Limits(**limits))


@contextmanager
def running(service: Service, access: Access | None = None) -> Iterator[str]:
    """The address of a server in a thread of its own."""
    listening = open_socket("127.0.0.1", 0)
    server = make_server(service, access or Access.of("127.0.0.1"))
    thread = Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield url_of(listening)
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
        assert not thread.is_alive()


def docx(text: str) -> bytes:
    import docx as library

    document = library.Document()
    for paragraph in text.split("\n"):
        document.add_paragraph(paragraph)
    packed = io.BytesIO()
    document.save(packed)
    return packed.getvalue()
