"""A server under attack: whatever it is sent, it goes on, answers the honest, and tells nothing."""

from __future__ import annotations

import gc
import json
import logging
import random
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from attack.conftest import Attack

psutil = pytest.importorskip("psutil")
pytest.importorskip("fastapi")
sys.path += [str(Path(__file__).parents[1] / "web"), str(Path(__file__).parents[2] / "benchmarks")]
from attackers import endless_pdf, upload  # noqa: E402
from serving import BICYCLE, GARDEN, RAILWAY, SECRET, docx, open_service, running  # noqa: E402

from adhominem.verify.verifier import Verifier  # noqa: E402
from adhominem.web.guard import Access  # noqa: E402
from adhominem.web.limits import Limits  # noqa: E402
from adhominem.web.service import Service  # noqa: E402

TOKEN = "t0ken"
HONEST = json.dumps({"first": GARDEN, "second": BICYCLE}).encode()
PANIC = "Panicplease"  # a word that makes the encoder end as a panic in Rust does
LIMITS = Limits(
    bytes=1 << 20, header_seconds=1, stall_seconds=1, requests=64, per_client=32, seconds=20
)
Address = tuple[str, int]
# 0 is no answer, which who hangs up gets. No 502, no 504, and 500 only where the encoder panicked.
EXPECTED = {
    *(0, 100, 200, 400, 401, 403, 404, 405, 408, 413, 415, 422, 431, 500, 501, 503),
}


class PanicException(BaseException):
    """What a panic in Rust looks like from Python."""


ENDINGS: tuple[type[BaseException], ...] = (
    *(PanicException, SystemExit, MemoryError, RecursionError, StopIteration, GeneratorExit),
    *(KeyboardInterrupt, ValueError),
)


@pytest.fixture(scope="module")
def model() -> Iterator[Service]:
    opened = open_service()
    yield opened
    opened.close()


@pytest.fixture
def service(model: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """One whose encoder breaks off at a word."""
    real, rng = Verifier.encode, random.Random(0)

    def encode(self: Verifier, documents: Sequence[Any], **options: Any) -> Any:
        if any(PANIC in getattr(document, "text", document) for document in documents):
            raise rng.choice(ENDINGS)
        return real(self, documents, **options)

    monkeypatch.setattr(Verifier, "encode", encode)
    return Service(model.verifier, model.verifier, limits=LIMITS)


@pytest.fixture
def address(service: Service) -> Iterator[Address]:
    with running(service, Access.of("127.0.0.1", token=TOKEN)) as url:
        host, port = url.removeprefix("http://").split(":")
        yield host, int(port)


def request(
    body: bytes,
    path: str = "/api/verify",
    kind: str = "application/json",
    token: str = TOKEN,
    more: Sequence[tuple[str, str]] = (),
) -> bytes:
    headers = {
        "Host": "127.0.0.1",
        "Authorization": f"Bearer {token}",
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Accept": "application/x-ndjson",
        **dict(more),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode("utf-8", "replace") + body


def ask(address: Address, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
    connection = HTTPConnection(*address, timeout=60)
    try:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def throw(address: Address, sent: bytes, listen: bool = True) -> int:
    """The status of what comes back; 0 for nothing."""
    with suppress(OSError), socket.create_connection(address, timeout=40) as connection:
        connection.sendall(sent)
        if listen:
            got = b""
            while b"\r\n" not in got and (chunk := connection.recv(1 << 16)):
                got += chunk
            if got.startswith(b"HTTP/1.1 "):
                return int(got[9:12])
    return 0


# --- what is thrown -------------------------------------------------------------------------------


def noise(rng: random.Random, most: int = 3_000) -> bytes:
    alphabet = rng.choice(
        [bytes(range(256)), b'{}[]",:\\u0de"', b'\r\n-=;"ab', b"\xff\xfe\x00 9e."]
    )
    return bytes(rng.choices(alphabet, k=rng.randrange(most)))


def any_json(rng: random.Random) -> bytes:
    texts: list[Any] = [
        *(
            f"{SECRET} {GARDEN}",
            f"{PANIC} {RAILWAY}",
            "",
            " ",
            "\ud800",
            "a\u0301" * 99,
            "o" + "_" * 999,
        ),
        *(
            None,
            5,
            -1e999,
            [],
            {},
            {"text": GARDEN, "topic": "x" * 999},
            {"text": SECRET, SECRET: 1},
        ),
        *([GARDEN] * 101, [[[[]]]], {"text": BICYCLE, "name": "\x1b[31m"}),
    ]
    fields: dict[str, Any] = {"first": rng.choice(texts), "second": rng.choice(texts)}
    if rng.random() < 0.3:
        fields["population"] = rng.choices(texts, k=rng.randrange(9))
    if rng.random() < 0.2:
        fields[rng.choice(["prior_same_author", "delta", SECRET])] = rng.choice(texts)
    told = json.dumps(fields)
    encoding = rng.choice(["utf-8"] * 5 + ["utf-16", "utf-32", "utf-7", "utf-8-sig", "cp037"])
    made = told.encode(encoding, "replace")
    if rng.random() < 0.4:
        at = rng.randrange(len(made))
        made = made[:at] + noise(rng, 30) + made[at + rng.randrange(30) :]
    return rng.choice(
        [made, made, made, b"[" * 30_000, b'{"a":' * 9_000, b"9" * 99_999, b"1e" + b"9" * 9999]
    )


def any_form(rng: random.Random) -> tuple[bytes, str]:
    boundary = rng.choice(["b", "-" * 70, "x" * 71, "", "a b", "ü", '"q"', "\\", "=" * 9])
    between = b"\r\n--" + boundary.encode()
    parts = []
    for _ in range(rng.choice([0, 1, 2, 5, 9, 2_000] if rng.random() < 0.1 else [1, 2, 4])):
        name = rng.choice(
            ["first_text", "second_text", "prior", "first_topic", "report", "\x00", "é" * 99]
        )
        head = f'Content-Disposition: form-data; name="{name}"'
        data = rng.choice([GARDEN, BICYCLE, f"{SECRET} {PANIC}", "0.5", "yes"]).encode()
        if rng.random() < 0.15:
            name = rng.choice(
                ["a.txt", "../../x.md", "b.jsonl", "c.exe", "\u202etxt.", "n" * 999 + ".txt"]
            )
            field = rng.choice(["first_file", "second_file", "population"])
            head = f'Content-Disposition: form-data; name="{field}"; filename="{name}"'
        if rng.random() < 0.2:
            head += rng.choice(
                ["\r\nX: " + "y" * 9_000, "\r\n" * 5, "; name=x", '"', "\\", "\r\nA" * 99]
            )
        if rng.random() < 0.2:
            data = noise(rng)
        parts.append(b"\r\n" + head.encode("utf-8", "replace") + b"\r\n\r\n" + data)
    body = between.join([b"", *parts]) + between + rng.choice([b"--\r\n", b"--", b"", b"\r\n"])
    if rng.random() < 0.3 and body:
        at = rng.randrange(len(body))
        body = body[:at] + noise(rng, 40) + body[at + rng.randrange(40) :]
    charset = rng.choice(
        ["", "; charset=punycode", "; charset=utf-7", "; charset=undefined", ';charset="']
    )
    return body[2:], f"multipart/form-data; boundary={boundary}{charset}"


def any_headers(rng: random.Random) -> list[tuple[str, str]]:
    return [
        rng.choice(
            [
                ("Content-Encoding", "gzip"),
                ("Transfer-Encoding", "chunked"),
                ("Content-Length", rng.choice(["-1", "1e9", "9" * 30, "0", "+5"])),
                ("Expect", "100-continue"),
                ("Host", rng.choice(["evil.example", "[", "127.0.0.1:x", ""])),
                ("Origin", rng.choice(["null", "http://127.0.0.1", "http://[", SECRET])),
                (
                    "Authorization",
                    rng.choice(["Basic ====", "Basic Og==", "Bearer", "Bearer \u0436", "x"]),
                ),
                (
                    "Content-Type",
                    rng.choice(["a" * 9_000, "application/json; charset=utf-7", ";;;=", "text"]),
                ),
                ("Upgrade", "websocket"),
                ("Connection", rng.choice(["close", "upgrade", "keep-alive, " * 99])),
                ("X" * rng.randrange(1, 20_000), "y"),
                (SECRET, "\x00\x01"),
            ]
        )
        for _ in range(rng.randrange(3))
    ]


def shots(rng: random.Random, tried: Counter[str]) -> bytes:
    """A request that nobody honest sends."""
    tried["requests"] += 1
    kind = rng.randrange(9)
    if kind < 3:
        path = rng.choice(["/api/verify", "/api/verify", "/api/encode", "/api/explain"])
        return request(any_json(rng), path, more=any_headers(rng) if rng.random() < 0.3 else ())
    if kind < 6:
        body, content_type = any_form(rng)
        tried["multipart bodies"] += 1
        return request(body, "/", content_type, more=any_headers(rng) if rng.random() < 0.1 else ())
    if kind == 6:
        token = rng.choice(["", "wrong", TOKEN + "x", TOKEN])
        return request(noise(rng), f"/{SECRET}", token=token, more=any_headers(rng))
    if kind == 7:
        return noise(rng) + rng.choice([b"", b"\r\n\r\n"])
    body = {"first": f"{PANIC} {SECRET}", "second": GARDEN}
    return request(json.dumps(body).encode(), rng.choice(["/api/verify", "/api/explain"]))


# --- what must hold -------------------------------------------------------------------------------


def log_of(service: Service) -> float:
    return service.verifier.verify(GARDEN, BICYCLE).log_bayes_factor


def test_it_goes_on_answers_the_honest_and_tells_nothing(
    attack: Attack,
    service: Service,
    address: Address,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    expected = log_of(service)
    threads = {worker._thread for worker in (service._quick, service._slow)}
    tried: Counter[str] = Counter()
    rounds = attack.rounds(320, 6_000)
    statuses: Counter[int] = Counter()
    process = psutil.Process()

    def one(seed: int) -> int:
        rng = random.Random(seed)
        sent = shots(rng, tried)
        fate = rng.random()
        if fate < 0.1:  # hung up in the middle
            return throw(address, sent[: rng.randrange(len(sent) + 1)], listen=False)
        if fate < 0.15:
            return throw(address, sent[: rng.randrange(len(sent) + 1)])  # never ends
        return throw(address, sent)

    def honest(number: int) -> float:
        status, told = ask(address, "POST", "/api/verify", HONEST)
        assert status == 200, told
        if number % 5 == 0:
            assert ask(address, "GET", "/health")[0] == 200
        return float(told["log_bayes_factor"])

    with ThreadPoolExecutor(8) as attackers, ThreadPoolExecutor(2) as others:
        thrown = attackers.map(one, range(rounds // 2))
        answers = list(others.map(honest, range(rounds // 8)))
        statuses.update(thrown)
        gc.collect()
        before = process.memory_info().rss
        statuses.update(attackers.map(one, range(rounds // 2, rounds)))
    gc.collect()
    grown = process.memory_info().rss - before
    assert answers == pytest.approx([expected] * len(answers), abs=1e-3)
    assert statuses[200]
    assert statuses[413]
    assert statuses[500] > 0  # the panics
    assert set(statuses) <= EXPECTED
    _still_well(service, address, expected, threads)
    assert grown < 200e6
    captured = capfd.readouterr()
    logged = [
        record.getMessage()
        for record in caplog.records
        if record.name.startswith(("adhominem", "uvicorn", "asyncio"))
    ]
    everything = "\n".join([*logged, captured.out, captured.err])
    for secret in (SECRET, PANIC, GARDEN[:30], BICYCLE[:30], TOKEN):
        assert secret not in everything
    attack.tried("requests", tried["requests"] + len(answers))
    attack.tried("multipart bodies", tried["multipart bodies"])


def test_who_sends_slowly_or_half_keeps_nobody_out(
    attack: Attack, service: Service, address: Address
) -> None:
    expected = log_of(service)
    threads = {worker._thread for worker in (service._quick, service._slow)}
    whole = request(HONEST)
    stop = threading.Event()
    openings: list[Callable[[], bytes]] = [
        lambda: whole[:-20],  # a body that stops
        lambda: whole[:40],  # headers that stop
        lambda: b"",
        lambda: whole[: -len(HONEST)].replace(
            b"Content-Length", b"Transfer-Encoding: chunked\r\nX"
        ),
        lambda: request(b"x" * (1 << 20))[:-9],
    ]
    opened: Counter[str] = Counter()

    def hold(seed: int) -> None:
        rng = random.Random(seed)
        while not stop.is_set():
            with ExitStack() as stack:
                for _ in range(40):
                    with suppress(OSError):
                        connection = stack.enter_context(socket.create_connection(address, 5))
                        connection.sendall(rng.choice(openings)())
                        opened["requests"] += 1
                stop.wait(0.5)

    with ThreadPoolExecutor(4) as pool:
        holding = [pool.submit(hold, seed) for seed in range(4)]
        try:
            time.sleep(0.5)
            for _ in range(attack.rounds(12, 200)):
                assert ask(address, "GET", "/health")[0] == 200
                status, told = ask(address, "POST", "/api/verify", HONEST)
                assert status == 200, told
                assert told["log_bayes_factor"] == pytest.approx(expected, abs=1e-3)
        finally:
            stop.set()
        for future in holding:
            future.result(60)
    _still_well(service, address, expected, threads)
    attack.tried("requests", opened["requests"])


def test_files_that_take_long_keep_nobody_out_for_long(
    attack: Attack, service: Service, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adhominem.web import uploads

    monkeypatch.setattr(uploads, "_SECONDS_OTHERS_WAIT", 1)
    monkeypatch.setattr(uploads, "_SECONDS", 4)
    expected = log_of(service)
    threads = {worker._thread for worker in (service._quick, service._slow)}

    def send(name: str, data: bytes) -> bytes:
        with socket.create_connection(address, timeout=60) as connection:
            connection.sendall(request(*upload(name, data), more=[("Connection", "close")]))
            got = b""
            while chunk := connection.recv(1 << 16):
                got += chunk
            return got

    many = attack.rounds(6, 14)
    with ThreadPoolExecutor(many) as attackers:
        hostile = [attackers.submit(send, "a.pdf", endless_pdf(2_000_000)) for _ in range(many)]
        time.sleep(0.3)
        assert b'"verdict"' in send("letter.txt", GARDEN.encode())  # these have places of their own
        assert b'"verdict"' in send("letter.docx", docx(GARDEN))
        for answer in hostile:
            assert b'"verdict"' not in answer.result(120)
    _still_well(service, address, expected, threads)
    attack.tried("multipart bodies", many + 2)
    attack.tried("requests", many + 2)


def _still_well(
    service: Service, address: Address, expected: float, threads: set[threading.Thread]
) -> None:
    status, told = ask(address, "POST", "/api/verify", HONEST)
    assert (status, told["log_bayes_factor"]) == (200, pytest.approx(expected, abs=1e-3))
    assert ask(address, "GET", "/health") == (200, {"schema": 1, "status": "ok"})
    assert {worker._thread for worker in (service._quick, service._slow)} == threads
    assert all(thread.is_alive() for thread in threads)
