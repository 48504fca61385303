"""Long requests tell how far they are, line by line; whoever goes away ends the work."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from conftest import made_up_rows
from fastapi.testclient import TestClient
from serving import running

from adhominem.jobs.run import Run
from adhominem.questions.rank.ask import WhichCandidate
from adhominem.web.guard import LINES
from adhominem.web.server import create_app
from adhominem.web.service import Service

ROWS = made_up_rows(4, 3, "p")
CANDIDATES: dict[str, list[str]] = {}
for row in ROWS:
    CANDIDATES.setdefault(row["author"], []).append(row["text"])
DISPUTED = " ".join(row["text"] for row in made_up_rows(1, 3, "z"))
TEXTS = [row["text"] for row in ROWS]
REQUESTS: dict[str, dict[str, Any]] = {
    "rank": {"disputed": DISPUTED, "candidates": CANDIDATES},
    "roll": {"text": DISPUTED, "candidates": CANDIDATES, "words": 40, "step": 20},
    "cluster": {"texts": TEXTS},
    "contrast": {"first": TEXTS[:3], "second": TEXTS[3:6]},
}
WAIT = 30  # seconds, on a busy machine


@pytest.fixture(scope="module")
def service(mixed_folder: Path) -> Service:
    return Service.open(mixed_folder)


@pytest.fixture(scope="module")
def client(mixed_folder: Path) -> Iterator[TestClient]:
    opened = Service.open(mixed_folder)
    yield TestClient(create_app(opened), raise_server_exceptions=False)
    opened.close()


@pytest.mark.parametrize("path", sorted(REQUESTS))
def test_lines_tell_of_progress_and_the_last_one_has_the_result(
    client: TestClient, path: str
) -> None:
    answer = client.post(f"/api/{path}", json=REQUESTS[path], headers={"Accept": LINES})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(LINES)
    *events, last = [json.loads(line) for line in answer.text.splitlines()]
    assert {event["doing"] for event in events} == {path}
    shares = [event["progress"] for event in events]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1
    assert len(shares) > 2
    assert last == {"result": client.post(f"/api/{path}", json=REQUESTS[path]).json()}


def test_what_goes_wrong_on_the_way_is_the_last_line(client: TestClient) -> None:
    headers = {"Accept": LINES}
    body = {**REQUESTS["roll"], "text": "Short."}
    lines = client.post("/api/roll", json=body, headers=headers).text.splitlines()
    assert "fewer than one window" in json.loads(lines[-1])["error"]["message"]
    wrong = client.post("/api/rank", json={"disputed": 1}, headers=headers)
    assert wrong.status_code == 422  # before the work: by the status, as ever
    assert "disputed" in wrong.json()["error"]["message"]


def test_whoever_goes_away_ends_the_work(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = Event(), Event()

    def endless(question: WhichCandidate, verifier: Any, run: Run) -> Any:
        share = 0.0
        try:
            with run.watch("ranking", unit="share") as on_progress:
                while True:
                    on_progress(share := share + 0.01)
                    begun.set()
                    time.sleep(0.02)
        finally:
            ended.set()

    monkeypatch.setattr(WhichCandidate, "answer", endless)
    with running(service) as url:
        asking = HTTPConnection(url.removeprefix("http://"), timeout=WAIT)
        headers = {"Accept": LINES, "Content-Type": "application/json"}
        asking.request("POST", "/api/rank", json.dumps(REQUESTS["rank"]), headers)
        answer = asking.getresponse()
        assert json.loads(answer.readline()) == {"doing": "rank", "progress": 0}
        assert begun.wait(WAIT)
        assert not ended.is_set()
        answer.close()
        asking.close()
        assert ended.wait(WAIT)
