"""Clients that mean harm to `adhominem serve`, for `benchmarks/serve.py --attack`.

    python benchmarks/attackers.py KIND HOST PORT

Each goes on until it is ended, and starts again whenever the server cuts it off.
"""

from __future__ import annotations

import json
import random
import socket
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

Address = tuple[str, int]
_CONNECTIONS = 600
_PDFS = 12
_POPULATIONS = 8
_MARKED = 4


def post(body: bytes, path: str = "/api/verify", kind: str = "application/json") -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {kind}", "")
    return "\r\n".join(lines).encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def slow_bodies(address: Address) -> None:
    """Send bodies slowly, a byte now and then."""
    _hold(address, post(b"x" * 100_000)[:200], b"x")


def half_headers(address: Address) -> None:
    """Send headers that never end."""
    _hold(address, b"POST /api/verify HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"y")


def slow_pdfs(address: Address) -> None:
    """Send small files that take very long to read."""
    _ask_again(address, post(*upload("a.pdf", endless_pdf())), _PDFS)


def populations(address: Address) -> None:
    """Send as many texts of other people as the server accepts."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghij", k=6)) for _ in range(5_000)]
    texts = [" ".join(rng.choices(words, k=1_000)) for _ in range(1_000)]
    body = {"first": texts[0], "second": texts[1], "population": texts}
    _ask_again(address, post(json.dumps(body).encode()), _POPULATIONS)


def marks(address: Address) -> None:
    """Send a text of one letter with a million combining marks."""
    body = {"first": "a" + "\u0301\u0316" * 500_000, "second": "a text"}
    _ask_again(address, post(json.dumps(body, ensure_ascii=False).encode()), _MARKED)


KINDS: dict[str, Callable[[Address], None]] = {
    f"{_CONNECTIONS} slow bodies": slow_bodies,
    f"{_CONNECTIONS} half-sent headers": half_headers,
    f"{_PDFS} PDFs that take long": slow_pdfs,
    f"{_POPULATIONS} big populations": populations,
    f"{_MARKED} texts with a million marks": marks,
}


def upload(name: str, data: bytes) -> tuple[bytes, str, str]:
    """A form with a file, in the form that `post` takes."""
    part = b"--b\r\nContent-Disposition: form-data; name="
    body = part + b'"first_file"; filename="%b"\r\n\r\n%b\r\n' % (name.encode(), data)
    body += (
        part + b'"second_text"\r\n\r\n' + b"some words that somebody wrote " * 99 + b"\r\n--b--\r\n"
    )
    return body, "/", "multipart/form-data; boundary=b"


def endless_pdf(operations: int = 3_000_000) -> bytes:
    """A small, well-packed file with a page of `operations` operations."""
    content = zlib.compress(b"BT /F1 12 Tf " + b"(a) Tj 1 0 0 1 0 0 cm " * operations + b"ET", 9)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    start = len(made)
    made += b"xref\n0 6\n0000000000 65535 f \n"
    made += b"".join(b"%010d 00000 n \n" % at for at in places)
    return made + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start


def _hold(address: Address, opening: bytes, more: bytes) -> None:
    held: list[socket.socket] = []
    while True:
        with suppress(OSError):
            while len(held) < _CONNECTIONS:
                connection = socket.create_connection(address, 5)
                connection.sendall(opening)
                connection.setblocking(False)
                held.append(connection)
        for connection in list(held):
            try:
                connection.send(more)
                with suppress(BlockingIOError):
                    if not connection.recv(1 << 12):
                        raise ConnectionResetError
            except BlockingIOError:
                pass
            except OSError:
                connection.close()
                held.remove(connection)
        time.sleep(0.5)


def _ask_again(address: Address, request: bytes, clients: int) -> None:
    def ask(number: int) -> None:
        while True:
            with suppress(OSError), socket.create_connection(address, 150) as connection:
                connection.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
                while connection.recv(1 << 16):
                    pass
            time.sleep(0.05)

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(clients)))


if __name__ == "__main__":
    KINDS[sys.argv[1]]((sys.argv[2], int(sys.argv[3])))
