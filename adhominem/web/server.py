"""The server: sockets, logs, and a clean end."""

from __future__ import annotations

import logging
import socket
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any

import uvicorn

from adhominem.errors import OptionError
from adhominem.web.access import Access, is_loopback
from adhominem.web.app import create_app
from adhominem.web.connections import Connection, Connections
from adhominem.web.service import Service

_NEW_CONNECTIONS = 16  # that are taken in one go
_WAITING_CONNECTIONS = 2_048  # that the system keeps until then


class _Terse(logging.Formatter):
    """A line for a record; of an exception its type alone, since its message may quote a text."""

    def formatException(self, info: object) -> str:  # noqa: N802
        error = info[0] if isinstance(info, tuple) else None
        return getattr(error, "__name__", "error")

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # what another formatter made of it
        return super().format(record)


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens on a host and a port; port 0 is any that is free."""
    try:
        addresses = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
    except OSError as error:
        raise OptionError(f"the host '{host}' is not known ({error.strerror})") from None
    family, type_, protocol, _, address = addresses[0]
    # By name, or asyncio does not take it for TCP, and answers in two parts wait for each other.
    listening = socket.socket(family, type_, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen()  # from now on clients wait, and are not refused
    except OSError as error:
        listening.close()
        raise OptionError(
            f"cannot listen on {host}, port {port} ({error.strerror}); choose another --port"
        ) from None
    return listening


def url_of(listening: socket.socket) -> str:
    """The address of a listening socket for a browser."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """A server that takes few new connections at a time, and lets many wait for it.

    Whoever has just come is heard before so many others have come that it would have to make room.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and let more connections wait: asyncio has one number for both."""
        await super().startup(sockets)
        for listening in sockets or []:
            listening.listen(_WAITING_CONNECTIONS)


def make_server(service: Service, access: Access) -> uvicorn.Server:
    """A server that logs neither queries nor bodies."""
    protocol: Any = partial(Connection, open_connections=Connections(service.limits))
    config = uvicorn.Config(
        create_app(service, access),
        loop="asyncio",  # by name: what the connections do is tested with these two
        http=protocol,
        log_config=None,
        access_log=False,  # it has queries in it; the guard writes one without
        server_header=False,
        proxy_headers=False,
        backlog=_NEW_CONNECTIONS,
        timeout_graceful_shutdown=5,
        ws="none",
    )
    return Server(config)


def serve(
    service: Service,
    *,
    host: str,
    port: int,
    token: str = "",
    names: Sequence[str] = (),
    say: Callable[[str], None],
    open_page: bool = False,
) -> None:
    """Serve until an interrupt; `say` is called with the address and with warnings."""
    _log_tersely()
    with open_socket(host, port) as listening:
        if (names or not is_loopback(host)) and not token:
            say(
                "warning: other machines can reach this server, and it asks for no token; set "
                "--token or ADHOMINEM_TOKEN, and put a proxy with HTTPS before it"
            )
        say(f"AdHominem with {service.verifier.name} at {url_of(listening)} (end it with Ctrl-C)")
        if open_page:  # beside it, since a browser in a terminal ends when it is closed
            Thread(target=_open_page, args=(url_of(listening), say), daemon=True).start()
        with suppress(KeyboardInterrupt):  # that is how it ends
            make_server(service, Access.of(host, token, names)).run(sockets=[listening])


def _open_page(url: str, say: Callable[[str], None]) -> None:
    # A server that listens everywhere is reached at the loopback address, too.
    url = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    if not webbrowser.open(url):
        say(f"no browser can be opened here; open {url} in one")


def _log_tersely() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Terse("%(asctime)s %(message)s"))
    for name, level in (
        ("adhominem.web", logging.INFO),
        ("uvicorn.error", logging.WARNING),
        ("asyncio", logging.CRITICAL),  # it quotes exceptions
    ):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
