"""Connections on a real socket: headers, bodies and answers that take their time, and too many."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from serving import BICYCLE, GARDEN, open_service, running

from adhominem.verify.verifier import Verifier
from adhominem.web.batching import Job
from adhominem.web.failures import SECURITY_HEADERS, Limits
from adhominem.web.guard import Access
from adhominem.web.service import Service

PAYLOAD = json.dumps({"first": GARDEN, "second": BICYCLE}).encode()
HOST = b"Host: 127.0.0.1\r\n"
SHORT = Limits(header_seconds=0.5, stall_seconds=0.5)


@pytest.fixture(scope="module")
def model() -> Iterator[Service]:
    opened = open_service()
    yield opened
    opened.close()


@contextmanager
def serving(model: Service, limits: Limits, token: str = "") -> Iterator[tuple[str, int]]:
    opened = Service(model.verifier, model.verifier, limits=limits)
    with running(opened, Access.of("127.0.0.1", token=token)) as url:
        yield address_of(url)


def address_of(url: str) -> tuple[str, int]:
    host, port = url.removeprefix("http://").split(":")
    return host, int(port)


def connect(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, timeout=30)


def post(body: bytes = PAYLOAD, path: str = "/api/verify", more: bytes = b"") -> bytes:
    head = b"POST %b HTTP/1.1\r\n%bContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n"
    return head % (path.encode(), HOST, more, len(body)) + body


def answer(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """The next answer of a connection."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += (chunk := connection.recv(1 << 16))
        assert chunk, "the connection ended without an answer"
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    while len(body) < int(headers["content-length"]):
        body += connection.recv(1 << 16)
    return int(first.split()[1]), headers, body


def refused(connection: socket.socket, status: int) -> dict[str, Any]:
    got, headers, body = answer(connection)
    assert got == status, body
    for name, value in SECURITY_HEADERS.items():
        assert headers[name.lower()] == value.lower()
    problem: dict[str, Any] = json.loads(body)["error"]
    assert set(problem) == {"type", "message"}
    return problem


def is_healthy(address: tuple[str, int]) -> bool:
    with connect(address) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")
        return answer(connection)[0] == 200


def verifies(address: tuple[str, int]) -> bool:
    with connect(address) as connection:
        connection.sendall(post())
        return answer(connection)[0] == 200


def ended(connection: socket.socket) -> bool:
    """Whether the other side hangs up."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", b"POST /api/ver", b"GET / HTTP/1.1\r\n" + HOST + b"X: y"])
def test_headers_that_do_not_come_are_waited_for_so_long(model: Service, sent: bytes) -> None:
    with serving(model, SHORT) as address, connect(address) as connection:
        connection.sendall(sent)
        assert ended(connection)


def test_headers_that_come_bit_by_bit_gain_no_time(model: Service) -> None:
    with serving(model, SHORT) as address, connect(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + HOST)
        began = time.monotonic()
        try:
            while time.monotonic() - began < 20:
                connection.sendall(b"X: y\r\n")
                time.sleep(0.05)
        except ConnectionError:
            pass
        assert time.monotonic() - began < 20


def test_a_connection_that_asks_nothing_more_is_ended(model: Service) -> None:
    with serving(model, SHORT) as address, connect(address) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")
        assert answer(connection)[0] == 200
        assert ended(connection)


def test_several_requests_may_come_at_once_and_one_after_another(model: Service) -> None:
    get = b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n"
    with serving(model, Limits()) as address, connect(address) as connection:
        for request in (get, post(), get):
            connection.sendall(request)
            assert answer(connection)[0] == 200
        last = get.replace(HOST, HOST + b"Connection: close\r\n")
        connection.sendall(get + get + last)
        got = b""
        while chunk := connection.recv(1 << 16):
            got += chunk
        assert got.count(b"200 OK") == 3


def test_a_body_may_not_pause_for_long(model: Service) -> None:
    head = post(b"x" * 100_000)[:-100_000]
    with serving(model, SHORT) as address, connect(address) as stalled:
        stalled.sendall(head + b"x" * 50)
        assert refused(stalled, 408)["type"] == "SlowRequest"


def test_a_body_that_trickles_in_has_as_long_as_a_request_may_take(model: Service) -> None:
    limits = Limits(stall_seconds=0.5, seconds=1)
    with serving(model, limits) as address, connect(address) as slow:
        began = time.monotonic()
        slow.sendall(post(b"x" * 100_000)[:-100_000])
        slow.settimeout(0.02)
        got = b""
        while not got and time.monotonic() - began < 20:
            slow.sendall(b"x")
            try:
                got = slow.recv(100)
            except TimeoutError:
                continue
        assert b" 408 " in got


def test_a_body_without_long_pauses_may_take_longer(model: Service) -> None:
    request = post()
    with serving(model, Limits(stall_seconds=0.5)) as address, connect(address) as connection:
        piece = len(request) // 15
        for at in range(0, len(request), piece):
            connection.sendall(request[at : at + piece])
            time.sleep(0.1)
        assert answer(connection)[0] == 200


def test_what_is_refused_is_told_at_once_and_the_rest_is_thrown_away(model: Service) -> None:
    """A browser hears the answer only after it has sent all."""
    body = b"x" * 3_000_000
    with (
        serving(model, Limits(bytes=1_000_000), token="s3cret") as address,
        connect(address) as connection,
    ):
        connection.sendall(post(body)[:-2_000_000])
        assert refused(connection, 401)["type"] == "WrongToken"
        connection.sendall(body[:2_000_000])
        token = b"Authorization: Bearer s3cret\r\n"
        connection.sendall(post(body, more=token))
        assert refused(connection, 413)["type"] == "TooLarge"
        connection.sendall(post(more=token))  # the same connection can go on
        assert answer(connection)[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
        b"POST /api/verify HTTP/1.1\r\n" + HOST + b"Content-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(model: Service, sent: bytes) -> None:
    with serving(model, Limits()) as address:
        with connect(address) as connection:
            connection.sendall(sent)
            assert connection.recv(12) == b"HTTP/1.1 400"
            assert ended(connection)
        assert is_healthy(address)


def test_a_packed_body_is_refused(model: Service) -> None:
    with serving(model, Limits()) as address, connect(address) as connection:
        connection.sendall(post(more=b"Content-Encoding: gzip\r\n"))
        assert refused(connection, 415)["type"] == "WrongEncoding"


def test_a_body_of_two_lengths_is_refused_and_nothing_behind_it_is_heard(model: Service) -> None:
    with serving(model, Limits()) as address, connect(address) as connection:
        both = post(b"0\r\n\r\n", more=b"Transfer-Encoding: chunked\r\n")
        connection.sendall(both + post(path="/health"))
        assert refused(connection, 400)["type"] == "WrongRequest"
        assert ended(connection)


def test_a_client_that_does_not_listen_is_hung_up_on(model: Service) -> None:
    body = json.dumps({"texts": [f"{GARDEN} {at}" for at in range(20)]}).encode()
    limits = Limits(seconds=2, requests=4)
    with serving(model, limits) as address, ExitStack() as stack:
        for _ in range(8):
            connection = stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(address)
            connection.sendall(post(body, "/api/encode"))  # megabytes, which are not read
            time.sleep(0.3)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not verifies(address):
            time.sleep(0.1)
        assert verifies(address)


class TestTooMany:
    """More than there are places for, from the address of an honest client."""

    def test_half_sent_headers_and_slow_bodies_keep_nobody_out(self, model: Service) -> None:
        limits = Limits(requests=8)
        with serving(model, limits) as address, ExitStack() as stack:
            for opening in (b"POST / HTT", post()[:-100]):
                for _ in range(60):
                    stack.enter_context(connect(address)).sendall(opening)
            for _ in range(5):
                assert is_healthy(address)
                with connect(address) as honest:  # its body comes after its headers
                    honest.sendall(post()[: -len(PAYLOAD)])
                    time.sleep(0.05)
                    honest.sendall(PAYLOAD)
                    assert answer(honest)[0] == 200

    def test_no_more_are_answered_than_connections_may_be_open(
        self, model: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("adhominem.web.server.CONNECTIONS", 20)
        with serving(model, SHORT) as address, ExitStack() as stack:
            held = [stack.enter_context(connect(address)) for _ in range(30)]
            with connect(address) as late:
                late.sendall(post())
                assert late.recv(12) == b"HTTP/1.1 503"
            assert ended(held[0])  # they send nothing
            time.sleep(0.5)
            assert verifies(address)

    def test_large_slow_bodies_leave_memory_for_small_ones(self, model: Service) -> None:
        limits = Limits(bytes=200_000)
        with serving(model, limits) as address, ExitStack() as stack:
            for _ in range(12):
                stack.enter_context(connect(address)).sendall(post(b"x" * 199_000)[:-9])
            for _ in range(3):
                assert verifies(address)
            with connect(address) as large:
                large.sendall(post(b" " * 150_000 + PAYLOAD))
                assert refused(large, 503)["type"] == "Busy"

    def test_health_is_answered_where_every_place_is_taken(self, model: Service) -> None:
        begun, go_on = threading.Event(), threading.Event()

        def wait(verifier: Verifier, *_: Any) -> None:
            begun.set()
            assert go_on.wait(30)

        opened = Service(model.verifier, model.verifier, limits=Limits(requests=2))
        with running(opened) as url, ExitStack() as stack:
            address = address_of(url)
            held = opened._quick.submit(Job([], wait))
            assert begun.wait(20)
            for _ in range(2):
                stack.enter_context(connect(address)).sendall(post())
                time.sleep(0.2)
            for _ in range(10):
                assert is_healthy(address)
            with connect(address) as late:
                late.sendall(post())
                assert refused(late, 503)["type"] == "Busy"
            go_on.set()
            held.result(20)

    def test_health_waits_for_no_body(self, model: Service) -> None:
        with serving(model, Limits()) as address, connect(address) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n")
            assert answer(connection)[0] == 200
