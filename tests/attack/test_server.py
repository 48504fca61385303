"""A server under attack: whatever it is sent, it goes on, answers the honest, and tells nothing."""

from __future__ import annotations

import asyncio
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
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from attack.conftest import Attack

psutil = pytest.importorskip("psutil")
pytest.importorskip("fastapi")
jsonschema = pytest.importorskip("jsonschema")
sys.path += [str(Path(__file__).parents[1] / "web"), str(Path(__file__).parents[2] / "benchmarks")]
from attackers import endless_pdf, upload  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402
from made_maps import made as made_map  # noqa: E402
from serving import BICYCLE, GARDEN, RAILWAY, SECRET, docx, open_service, running  # noqa: E402
from starlette.datastructures import Headers  # noqa: E402

from adhominem.questions.contrast.ask import WhatDiffers  # noqa: E402
from adhominem.questions.map.page import map_page  # noqa: E402
from adhominem.questions.question import Side  # noqa: E402
from adhominem.questions.search.ask import WhoElse  # noqa: E402
from adhominem.render.templates import environment  # noqa: E402
from adhominem.text.exhibits import exhibits_of  # noqa: E402
from adhominem.verify.verifier import Verifier  # noqa: E402
from adhominem.web.asking import ask as ask_question  # noqa: E402
from adhominem.web.failures import (  # noqa: E402
    Limits,
    RequestError,
    busy,
)
from adhominem.web.guard import Access  # noqa: E402
from adhominem.web.lines import LINES  # noqa: E402
from adhominem.web.server import create_app  # noqa: E402
from adhominem.web.service import Service  # noqa: E402

TOKEN = "t0ken"
HONEST = json.dumps({"first": GARDEN, "second": BICYCLE}).encode()
PANIC = "Panicplease"  # a word that makes the encoder end as a panic in Rust does
LIMITS = Limits(bytes=1 << 20, header_seconds=1, stall_seconds=1, requests=64, seconds=20)
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


def test_a_search_is_not_refused_for_what_takes_longer(
    mixed_folder: Path, made_index: Path
) -> None:
    service = Service.open(mixed_folder, limits=Limits(waiting=4), index=made_index)
    begun, go_on = threading.Event(), threading.Event()
    named = [((text * 9)[:3_500], name) for text, name in ((GARDEN, "first"), (BICYCLE, "second"))]

    def hold(*_: Any) -> None:
        begun.set()
        go_on.wait(60)

    async def ask_all() -> list[Any]:
        holding = asyncio.create_task(service.work([], hold, work=1))
        await asyncio.to_thread(begun.wait, 60)
        first, second = (Side(tuple(exhibits_of(text, name)), name) for text, name in named)
        sought = WhoElse(texts=first, index=service.current_index)
        search = asyncio.create_task(ask_question(service, sought))
        await asyncio.sleep(0.01)
        contrast = WhatDiffers(first=first, second=second)
        others = [asyncio.create_task(ask_question(service, contrast)) for _ in range(8)]
        await asyncio.wait(others, timeout=0.5)
        go_on.set()
        return await asyncio.gather(holding, search, *others, return_exceptions=True)

    try:
        _, found, *others = asyncio.run(ask_all())
    finally:
        go_on.set()
        service.close()
    assert not isinstance(found, BaseException), found
    refused = [told for told in others if isinstance(told, RequestError)]
    assert len(refused) == 6
    assert {told.status for told in refused} == {503}


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/api/cluster", {"json": {"texts": [GARDEN, BICYCLE]}}),
        ("/api/contrast", {"json": {"first": GARDEN, "second": BICYCLE}}),
        ("/contrast", {"data": {"first_text": GARDEN, "second_text": BICYCLE}}),
    ],
)
@pytest.mark.parametrize("waited", [0.0, 0.2])  # seconds: refused at once, or out of the queue
def test_who_is_refused_before_any_work_sees_it_by_the_status_even_of_lines(
    model: Service, monkeypatch: pytest.MonkeyPatch, path: str, sent: Any, waited: float
) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        await asyncio.sleep(waited)
        raise busy()

    monkeypatch.setattr(Service, "work", refuse)
    app = create_app(model)
    if "data" in sent:  # as a browser sends a form
        sent = {"files": {name: (None, text) for name, text in sent["data"].items()}}
    answer = TestClient(app).post(path, headers={"Accept": LINES}, **sent)
    assert answer.status_code == 503, answer.text
    assert answer.headers["retry-after"] == "5"
    assert answer.json()["error"]["type"] == "Busy"


def test_who_is_refused_after_some_work_sees_it_by_the_last_line(
    model: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(self: Service, texts: Any, finish: Any, tell: Any, **_: Any) -> Any:
        tell(0.5)
        raise busy()

    monkeypatch.setattr(Service, "work", refuse)
    texts = {"texts": [GARDEN, BICYCLE]}
    answer = TestClient(create_app(model)).post(
        "/api/cluster", json=texts, headers={"Accept": LINES}
    )
    assert answer.status_code == 200
    first, *_, last = map(json.loads, answer.text.splitlines())
    assert first == {"doing": "cluster", "progress": 0}
    assert last["error"]["type"] == "Busy"


@pytest.mark.parametrize(
    ("host", "origin", "let_in"),
    [
        ("localhost:8000", "http://localhost:8000", True),
        ("LOCALHOST:8000", "http://localhost:8000", True),
        ("localhost", "http://localhost", True),
        ("localhost:80", "http://localhost", True),
        ("localhost", "https://localhost", True),  # a proxy with HTTPS
        ("localhost", "https://localhost:443", True),
        ("[::1]:8000", "http://[::1]:8000", True),
        ("localhost:8000", "http://localhost:9999", False),
        ("localhost:8000", "http://localhost", False),
        ("localhost", "http://localhost:8000", False),
        ("localhost:8000", "http://127.0.0.1:8000", False),
        ("localhost:8000", "http://localhost:99999", False),
        ("localhost:8000", "ftp://localhost:8000", False),
        ("localhost:8000", "localhost:8000", False),
        ("localhost:8000", "null", False),
        ("localhost:8000", "", False),
    ],
)
def test_pages_of_another_port_or_scheme_are_other_sites(
    host: str, origin: str, let_in: bool
) -> None:
    headers = Headers({"host": host, "origin": origin})
    if let_in:
        Access.of("127.0.0.1").check_host(headers, "POST")
        return
    with pytest.raises(RequestError, match="other sites"):
        Access.of("127.0.0.1").check_host(headers, "POST")


ASKED: dict[str, dict[str, Any]] = {
    "verify": {"first": GARDEN, "second": BICYCLE},
    "explain": {"first": "Some words.", "second": "Other words."},
    "report": {"first": "Some words.", "second": "Other words.", "form": "html", "annex": "none"},
    "encode": {"texts": [GARDEN, BICYCLE]},
    "rank": {"disputed": GARDEN, "candidates": {"a": BICYCLE, "b": RAILWAY}, "trials": 0},
    "roll": {"text": GARDEN, "words": 50, "step": 25},
    "cluster": {"texts": [GARDEN, BICYCLE]},
    "contrast": {"first": GARDEN, "second": BICYCLE},
}


@pytest.fixture(scope="module")
def client(model: Service) -> TestClient:
    return TestClient(create_app(model), raise_server_exceptions=False)


@pytest.mark.parametrize("path", ASKED)
def test_the_schema_allows_what_the_server_takes_and_no_text_without_words(
    client: TestClient, path: str
) -> None:
    described = client.get("/openapi.json").json()
    posted = described["paths"][f"/api/{path}"]["post"]["requestBody"]["content"]
    schema = {**posted["application/json"]["schema"], "components": described["components"]}
    allows = jsonschema.Draft202012Validator(schema).is_valid
    asked = ASKED[path]
    text = "text" if path == "roll" else next(name for name in asked if name != "candidates")
    taken = [asked]
    if path != "encode":
        taken.append({**asked, "population": None})
    for body in taken:
        assert client.post(f"/api/{path}", json=body).status_code == 200, body
        assert allows(body), body
    for empty in ("", " ", "\n\t\u3000", {"text": ""}, {"text": " ", "name": "a"}):
        shapes = [[GARDEN, empty]] if text == "texts" else [empty]
        for body in ({**asked, text: shape} for shape in shapes):
            assert client.post(f"/api/{path}", json=body).status_code == 422, body
            assert not allows(body), body


@pytest.mark.parametrize("mark", ["\u202e", "\u2067", "\u200f", "\x9b", "\u2028", "\x1b"])
def test_no_name_on_a_page_turns_the_direction_of_writing(mark: str) -> None:
    name = f"{mark}exe.txt"
    drawn = made_map()
    documents = [replace(document, name=name, author=name) for document in drawn.documents]
    assert mark not in map_page(replace(drawn, documents=tuple(documents)))
    shown = environment().from_string('<b title="{{ name }}">{{ name }}</b>').render(name=name)
    assert mark not in shown
    assert "exe.txt" in shown


def _still_well(
    service: Service, address: Address, expected: float, threads: set[threading.Thread]
) -> None:
    status, told = ask(address, "POST", "/api/verify", HONEST)
    assert (status, told["log_bayes_factor"]) == (200, pytest.approx(expected, abs=1e-3))
    assert ask(address, "GET", "/health") == (200, {"schema": 1, "status": "ok"})
    assert {worker._thread for worker in (service._quick, service._slow)} == threads
    assert all(thread.is_alive() for thread in threads)
