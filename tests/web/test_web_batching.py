"""Many clients at once: the same numbers as alone, a bounded queue, no work for nobody."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from itertools import product
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from serving import BICYCLE, GARDEN, POPULATION, RAILWAY, open_service, running

from adhominem.arrays import Levs
from adhominem.errors import EmptyTextError
from adhominem.questions.question import cost
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import Document
from adhominem.verify.verification import ComparedSides, Verification
from adhominem.verify.verifier import Verifier
from adhominem.web import batching
from adhominem.web.batching import Job, Worker
from adhominem.web.failures import Limits, RequestError
from adhominem.web.server import create_app
from adhominem.web.service import Service, _answer


class SlowVerifier(Verifier):
    """Encodes a text as its length; waits where it is told to, and remembers its batches."""

    def __init__(self) -> None:
        self.main_language = self.language_given = ""
        self.batches: list[int] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.started = threading.Event()

    def encode(
        self,
        documents: Sequence[str | Document],
        *,
        on_documents: Callable[[int], None] = lambda count: None,
    ) -> Levs:
        self.started.set()
        assert self.go_on.wait(20)
        self.batches.append(len(documents))
        texts = [document.text for document in documents if isinstance(document, Document)]
        if "" in (text.strip("-") for text in texts):
            raise EmptyTextError("no word")
        if any("!" in text for text in texts):
            raise ValueError("a text that the encoder cannot bear")
        return Levs((np.array([[len(text)] for text in texts], dtype=np.float32),))


def documents(*texts: str) -> list[Document]:
    return [Document(text=text, id=str(at)) for at, text in enumerate(texts)]


def lengths(texts: Sequence[Document]) -> Callable[..., list[float]]:
    return lambda verifier, *_: [
        float(np.asarray(lev)[0, 0]) for lev in verifier.kept.levs_of(texts)
    ]


@pytest.fixture
def verifier() -> SlowVerifier:
    return SlowVerifier()


@pytest.fixture
def worker(verifier: SlowVerifier) -> Iterator[Worker]:
    started = Worker(verifier, Limits(waiting=5, jobs_at_once=3), "test")
    yield started
    verifier.go_on.set()
    started.stop()


def submit(worker: Worker, *texts: str) -> Future[list[float]]:
    encoded = documents(*texts)
    return worker.submit(Job(encoded, lengths(encoded)))


def hold(worker: Worker, verifier: SlowVerifier) -> Future[list[float]]:
    """A job that the worker is busy with until it is let go."""
    verifier.go_on.clear()
    verifier.started.clear()
    first = submit(worker, "held")
    assert verifier.started.wait(20)
    return first


def test_what_waits_is_encoded_together(worker: Worker, verifier: SlowVerifier) -> None:
    first = hold(worker, verifier)
    rest = [submit(worker, "a" * size, "b") for size in (1, 2, 3)]
    verifier.go_on.set()
    assert first.result(20) == [4]
    assert [answer.result(20) for answer in rest] == [[1, 1], [2, 1], [3, 1]]
    assert verifier.batches == [1, 6]  # and each job's own look finds them known


def test_no_more_jobs_at_once_than_allowed(worker: Worker, verifier: SlowVerifier) -> None:
    hold(worker, verifier)
    rest = [submit(worker, "a", "b") for _ in range(4)]
    verifier.go_on.set()
    for answer in rest:
        answer.result(20)
    assert verifier.batches == [1, 6, 2]


def test_a_full_queue_refuses_and_then_takes_again(worker: Worker, verifier: SlowVerifier) -> None:
    held = [hold(worker, verifier), *(submit(worker, "a") for _ in range(4))]
    with pytest.raises(RequestError, match="too many requests") as refused:
        submit(worker, "a")
    assert refused.value.status == 503
    assert refused.value.headers == {"Retry-After": "5"}
    verifier.go_on.set()
    for answer in held:
        answer.result(20)
    assert submit(worker, "again").result(20) == [5]


def test_a_text_without_a_word_is_the_fault_of_its_own_request(
    worker: Worker, verifier: SlowVerifier
) -> None:
    hold(worker, verifier)
    good, bad = submit(worker, "good"), submit(worker, "fine", "-")
    verifier.go_on.set()
    assert good.result(20) == [4]
    with pytest.raises(EmptyTextError):
        bad.result(20)


def test_a_text_that_breaks_the_encoder_does_not_hurt_the_others(
    worker: Worker, verifier: SlowVerifier
) -> None:
    hold(worker, verifier)
    bad, good = submit(worker, "bad!"), submit(worker, "good")
    verifier.go_on.set()
    assert good.result(20) == [4]
    with pytest.raises(ValueError, match="cannot bear"):
        bad.result(20)
    assert worker.alive


def test_an_error_at_the_end_is_that_requests_alone(worker: Worker) -> None:
    def fail(verifier: Verifier, *_: Any) -> None:
        raise OSError("at the end")

    with pytest.raises(OSError, match="at the end"):
        worker.submit(Job(documents("a"), fail)).result(20)
    assert submit(worker, "abc").result(20) == [3]


class PanicException(BaseException):
    """What a panic in Rust looks like from Python."""


ENDINGS = [
    PanicException,
    SystemExit,
    KeyboardInterrupt,
    GeneratorExit,
    StopIteration,
    asyncio.CancelledError,
    CancelledError,
    MemoryError,
    RecursionError,
]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("where", ["encode", "finish", "on_progress"])
def test_nothing_that_a_request_does_ends_the_thread(
    worker: Worker,
    verifier: SlowVerifier,
    monkeypatch: pytest.MonkeyPatch,
    ending: type[BaseException],
    where: str,
) -> None:
    def end(*arguments: object, **options: object) -> Any:
        raise ending

    thread = worker._thread
    texts = documents("a text")
    if where == "encode":
        monkeypatch.setattr(verifier, "encode", end)
    finish = end if where == "finish" else lengths(texts)
    progress = end if where == "on_progress" else lambda share: None
    answer = worker.submit(Job(texts, finish, progress))
    error = answer.exception(20)
    assert isinstance(error, Exception)  # no bare ending, which would go on ending things
    assert not isinstance(error, StopIteration | CancelledError)
    monkeypatch.undo()
    assert submit(worker, "again").result(20) == [5]
    assert worker._thread is thread
    assert worker.alive


def test_who_asks_for_little_is_due_before_who_asks_for_much(
    worker: Worker, verifier: SlowVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_AT_ONCE", 5_000)
    ended: list[str] = []
    hold(worker, verifier)
    for name, texts in (("much", ["x" * 90_000] * 4), ("little", ["x"]), ("some", ["x"] * 5)):
        sent = documents(*texts)
        answer = worker.submit(Job(sent, lengths(sent)))
        answer.add_done_callback(lambda _, name=name: ended.append(name))  # type: ignore[misc]
    verifier.go_on.set()
    deadline = time.monotonic() + 20
    while len(ended) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == ["little", "some", "much"]


def test_who_asks_for_much_does_not_hold_up_the_others_when_it_is_due(
    worker: Worker, verifier: SlowVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_AT_ONCE", 10_000)
    monkeypatch.setattr(batching, "_A_SECOND", 1e12)  # all of them were due long ago
    hold(worker, verifier)
    ended: list[str] = []
    for texts in (["x" * 9_000] * 50, ["x" * 9_000] * 50, ["a"]):
        sent = documents(*texts)
        answer = worker.submit(Job(sent, lengths(sent)))
        answer.add_done_callback(lambda done: ended.append(f"{len(done.result())} texts"))
    verifier.go_on.set()
    deadline = time.monotonic() + 20
    while len(ended) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == ["1 texts", "50 texts", "50 texts"]


def test_where_the_queue_is_full_who_asks_for_most_gives_way(
    worker: Worker, verifier: SlowVerifier
) -> None:
    hold(worker, verifier)
    much = submit(worker, "x" * 50_000_000)
    rest = [submit(worker, "a") for _ in range(3)]
    little = submit(worker, "b")
    with pytest.raises(RequestError, match="too many requests"):
        much.result(20)
    verifier.go_on.set()
    assert [answer.result(20) for answer in (*rest, little)] == [[1]] * 4


def test_whoever_gives_up_is_not_worked_for(worker: Worker, verifier: SlowVerifier) -> None:
    hold(worker, verifier)
    given_up, other = submit(worker, "aaaa"), submit(worker, "b")
    given_up.cancel()
    verifier.go_on.set()
    assert other.result(20) == [1]
    assert verifier.batches == [1, 1]


def test_long_work_stops_where_it_shows_its_progress(worker: Worker) -> None:
    begun, steps = threading.Event(), []

    def work(verifier: Verifier, on_progress: Callable[[float], None], _: Any) -> None:
        begun.set()
        for step in range(10_000):
            steps.append(step)
            on_progress(step / 10_000)
            time.sleep(0.001)

    answer = worker.submit(Job([], work))
    assert begun.wait(20)
    answer.cancel()
    assert submit(worker, "next").result(20) == [4]
    assert len(steps) < 10_000


def test_a_request_of_many_texts_goes_on_by_and_by(
    worker: Worker, verifier: SlowVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_AT_ONCE", 40)
    monkeypatch.setattr("adhominem.questions.question._PER_TEXT", 0)
    hold(worker, verifier)
    shares: list[float] = []
    many = documents(*("x" * 10 for _ in range(8)))
    long = worker.submit(Job(many, lengths(many), shares.append))
    short = submit(worker, "a")
    verifier.go_on.set()
    assert short.result(20) == [1]
    assert long.result(20) == [10] * 8
    assert verifier.batches == [1, 2, 2, 2, 2, 1]  # one of the long beside the short, then two
    assert shares == [0.125, 0.375, 0.625, 0.875, 1.0]


def test_a_text_longer_than_a_round_is_taken_whole() -> None:
    job: Job[None] = Job(documents("x" * 100, "y", "z"), lambda *_: None)
    assert len(job.take(10, at_least=1)) == 1
    assert len(job.take(10, at_least=0)) == 0
    assert len(job.take(2 * cost(job.documents[:1]), at_least=1)) == 2
    assert len(job.take(10_000, at_least=1)) == 3


def test_stopping_tells_those_who_wait(verifier: SlowVerifier) -> None:
    worker = Worker(verifier, Limits(), "test")
    hold(worker, verifier)
    waiting = submit(worker, "a")
    threading.Timer(0.05, verifier.go_on.set).start()
    worker.stop()
    assert not worker.alive
    with pytest.raises(RequestError, match="too many"):
        waiting.result(20)
    with pytest.raises(RequestError):
        submit(worker, "b")


def test_no_text_stays_in_memory_while_nobody_asks(worker: Worker) -> None:
    class Watched(list[Document]):
        """A list that can be watched."""

    texts = Watched(documents("a text"))
    watched = weakref.ref(texts)
    answer = worker.submit(Job(texts, lambda *_: None))
    answer.result(20)
    del texts
    deadline = time.monotonic() + 20
    while watched() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert watched() is None


def test_progress_comes_in_steps_that_are_worth_it(worker: Worker) -> None:
    told: list[float] = []

    def work(verifier: Verifier, on_progress: Callable[[float], None], _: Any) -> int:
        for step in range(1, 10_001):
            on_progress(step / 10_000)
        return 7

    async def ask() -> int:
        result = await _answer(worker, Job([], work, told.append))
        await asyncio.sleep(0)
        return result

    assert asyncio.run(ask()) == 7
    assert 50 <= len(told) <= 101
    assert told == sorted(told)
    assert told[-1] == 1


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    opened = open_service()
    yield opened
    opened.close()


def test_concurrent_clients_get_the_numbers_they_would_get_alone(service: Service) -> None:
    texts = [GARDEN, RAILWAY * 3, BICYCLE[:1200]]
    payload: list[dict[str, Any]] = [
        {"first": first, "second": [second, first[:700]], "population": population}
        for first in texts
        for second in texts
        for population in ([], POPULATION)
    ]
    with running(service) as url:
        import httpx2

        def ask(body: dict[str, Any]) -> float:
            with httpx2.Client() as client:
                response = client.post(f"{url}/api/verify", json=body, timeout=60)
            assert response.status_code == 200
            return float(response.json()["log_bayes_factor"])

        alone = [
            service.verifier.verify(
                body["first"],
                body["second"],
                population=service.verifier.population(POPULATION) if body["population"] else None,
            ).log_bayes_factor
            for body in payload
        ]
        with ThreadPoolExecutor(16) as pool:
            together = list(pool.map(ask, payload))
    assert together == pytest.approx(alone, abs=1e-3)


def compared_together(
    verifier: Verifier, asked: Sequence[tuple[str, str, Population | None]]
) -> list[Future[Verification]]:
    """The answers to comparisons that have all waited for the same round."""
    worker = Worker(verifier, Limits(), "test")
    begun, go_on = threading.Event(), threading.Event()

    def wait(verifier: Verifier, *_: Any) -> None:
        begun.set()
        assert go_on.wait(20)

    held = worker.submit(Job([], wait))
    assert begun.wait(20)
    answers = []
    for first, second, population in asked:
        sides = ([Exhibit.of(first, "first")], [Exhibit.of(second, "second")], population)

        def judge(verifier: Verifier, _: Any, comparison: ComparedSides | None) -> Verification:
            assert comparison is not None
            return verifier.judge(comparison)

        texts = [exhibit.document for side in sides[:2] for exhibit in side]
        answers.append(worker.submit(Job(texts, judge, sides=sides)))
    go_on.set()
    held.result(20)
    wait_for(answers, 60)
    assert worker.alive
    worker.stop()
    return answers


def test_sides_that_wait_are_compared_together_and_come_to_the_same(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    population = service.verifier.population(POPULATION)
    texts = [GARDEN, RAILWAY * 2, BICYCLE[:1200]]
    asked = list(product(texts, texts, (None, population)))
    alone = [service.verifier.verify(one, other, population=of) for one, other, of in asked]
    sizes, compare_all = [], Verifier.compare_all

    def counted(self: Verifier, pairs: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        sizes.append(len(pairs))
        return compare_all(self, pairs, *arguments, **options)

    monkeypatch.setattr(Verifier, "compare_all", counted)
    together = [answer.result() for answer in compared_together(service.verifier, asked)]
    assert sizes == [9, 9]  # each population by itself
    for one, other in zip(together, alone, strict=True):
        assert one.log_bayes_factor == pytest.approx(other.log_bayes_factor, rel=1e-9)
        assert (one.decision, one.first, one.second) == (other.decision, other.first, other.second)
        assert [told.code for told in one.warnings] == [told.code for told in other.warnings]


def test_sides_that_cannot_be_compared_do_not_hurt_the_others(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_all = Verifier.compare_all

    def broken(self: Verifier, pairs: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        if any(first[0].document.text == RAILWAY for first, _ in pairs):
            raise PanicException
        return compare_all(self, pairs, *arguments, **options)

    monkeypatch.setattr(Verifier, "compare_all", broken)
    asked = [(first, BICYCLE, None) for first in (GARDEN, RAILWAY, GARDEN)]
    good, bad, also_good = compared_together(service.verifier, asked)
    assert good.result() == also_good.result()
    assert type(bad.exception()).__name__ == "BrokenOffError"


def test_a_full_server_answers_503_and_goes_on(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Service(service.verifier, service.verifier, limits=Limits(waiting=1))
    client = TestClient(create_app(opened))
    begun, go_on = threading.Event(), threading.Event()

    def wait(verifier: Verifier, *_: Any) -> None:
        begun.set()
        assert go_on.wait(20)

    held = opened._quick.submit(Job([], wait))
    assert begun.wait(20)
    payload = {"first": GARDEN, "second": BICYCLE}
    refused = client.post("/api/verify", json=payload)
    go_on.set()
    held.result(20)
    assert refused.status_code == 503
    assert refused.headers["Retry-After"] == "5"
    assert refused.json()["error"]["type"] == "Busy"
    while client.post("/api/verify", json=payload).status_code != 200:  # the place is free soon
        time.sleep(0.01)
    opened.close()


def test_a_client_that_has_gone_is_not_worked_for(service: Service) -> None:
    """Its job leaves the queue, though the worker never came to it."""
    opened = Service(service.verifier, service.verifier, limits=Limits(waiting=2))
    begun, go_on = threading.Event(), threading.Event()

    def wait(verifier: Verifier, *_: Any) -> None:
        begun.set()
        assert go_on.wait(30)

    def until(true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20
        while not true() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert true()

    with running(opened) as url:
        held = opened._quick.submit(Job([], wait))
        assert begun.wait(20)
        body = json.dumps({"first": GARDEN, "second": BICYCLE}).encode()
        address = url.removeprefix("http://")
        host, _, port = address.partition(":")
        head = f"POST /api/verify HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}\r\n"
        with socket.create_connection((host, int(port))) as client:
            client.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
            until(lambda: len(opened._quick._jobs) == 2)
            job = opened._quick._jobs[-1]
        until(job.answer.cancelled)
        go_on.set()
        held.result(20)


def test_a_page_that_is_closed_is_not_worked_for(service: Service) -> None:
    import httpx2

    opened = Service(service.verifier, service.verifier)
    begun, go_on = threading.Event(), threading.Event()

    def wait(verifier: Verifier, *_: Any) -> None:
        begun.set()
        assert go_on.wait(30)

    with running(opened) as url:
        held = opened._slow.submit(Job([], wait))
        assert begun.wait(20)
        data = {"first_text": GARDEN, "second_text": BICYCLE, "explain": "yes"}
        headers = {"Accept": "application/x-ndjson"}
        files = [("first_file", ("", b""))]
        with (
            httpx2.Client(timeout=30) as client,
            client.stream("POST", url, data=data, files=files, headers=headers) as answer,
        ):
            for line in answer.iter_lines():
                if "Looking at each passage" in line:
                    break
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            waiting = [job for job in opened._slow._jobs if job.answer is not held]
            if waiting and waiting[0].answer.cancelled():
                break
            time.sleep(0.01)
        assert waiting[0].answer.cancelled()
        go_on.set()
        held.result(20)
