"""Which of these, which part, how many: by REST what the commands print, within the limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import made_up_rows, write_rows
from fastapi.testclient import TestClient

from adhominem.cli import main
from adhominem.questions.rank.ask import WhichCandidate
from adhominem.web.failures import Limits
from adhominem.web.server import create_app
from adhominem.web.service import Service

ROWS = made_up_rows(4, 3, "m")
NAMES = sorted({row["author"] for row in ROWS})
CANDIDATES = {
    name: [row["text"] for row in ROWS if row["author"] == name] for name in NAMES
}  # the texts of each, in order
DISPUTED = made_up_rows(1, 1, "u")[0]["text"]
OTHERS = [row["text"] for row in made_up_rows(6, 1, "o")]
WHO = {"disputed": DISPUTED, "candidates": CANDIDATES}
LONG = " ".join(row["text"] for row in made_up_rows(2, 4, "l"))
PARTS = {"text": LONG, "candidates": CANDIDATES, "words": 40, "step": 20}


@pytest.fixture(scope="module")
def service(mixed_folder: Path) -> Iterator[Service]:
    opened = Service.open(mixed_folder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(service: Service) -> TestClient:
    return TestClient(create_app(service), raise_server_exceptions=False)


def printed(*arguments: object) -> Any:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told.pop("skipped") == []
    return told


def close(got: Any, told: Any) -> None:
    """The same, but for the last bits of numbers, and for names of files, in messages, too."""
    if isinstance(told, dict):
        assert set(got) == set(told)
        for name in set(told) - {"name", "corpus", "sha256", "message", "remarks"}:
            close(got[name], told[name])
    elif isinstance(told, list):
        assert len(got) == len(told)
        for one, other in zip(got, told, strict=True):
            close(one, other)
    elif isinstance(told, float):
        assert got == pytest.approx(told, abs=1e-3)
    else:
        assert got == told


def test_ranking_is_what_the_command_prints(
    client: TestClient, tmp_path: Path, mixed_folder: Path
) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(DISPUTED, "utf-8")
    rows = [{**row, "id": "", "topic": ""} for row in ROWS]
    known = write_rows(tmp_path / "known.jsonl", rows)
    options = ("--model", mixed_folder, "--none", "0.2", "--json")
    told = printed("rank", letter, known, *options)
    answer = client.post("/api/rank", json={**WHO, "prior_none": 0.2})
    assert answer.status_code == 200, answer.text
    close(answer.json(), told)


def test_a_population_several_texts_and_reasons_can_be_asked_for(client: TestClient) -> None:
    payload = {
        **WHO,
        "disputed": [DISPUTED, {"text": OTHERS[0], "name": "note"}],
        "population": OTHERS[1:],
        "one_by_one": True,
        "trials": 0,
        "explain": True,
    }
    told = client.post("/api/rank", json=payload).json()
    assert [case["disputed"][0]["name"] for case in told["cases"]] == ["disputed-1", "note"]
    assert told["population"]["source"] == "given"
    assert told["trust"] is None
    assert told["versus"]


def test_parts_are_what_the_command_prints(
    client: TestClient, tmp_path: Path, mixed_folder: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text(LONG, "utf-8")
    against: list[object] = []
    for name, texts in CANDIDATES.items():
        (tmp_path / name).mkdir()
        for number, known in enumerate(texts):
            (tmp_path / name / f"{number}.txt").write_text(known, "utf-8")
        against += ["--against", tmp_path / name]
    options = ("--model", mixed_folder, "--words", 40, "--step", 20, "--json")
    told = printed("roll", text, *against, *options)
    answer = client.post("/api/roll", json=PARTS)
    assert answer.status_code == 200, answer.text
    got = answer.json()
    assert [row["name"] for row in got["candidates"]] == NAMES
    close(got, told)
    alone = client.post("/api/roll", json={**PARTS, "candidates": {}}).json()
    assert alone["are_styles"]


def test_clusters_are_what_the_command_prints(
    client: TestClient, tmp_path: Path, mixed_folder: Path
) -> None:
    # The request has no topics, which the network of this model would know.
    rows = made_up_rows(5, 3, "m")
    texts = write_rows(tmp_path / "texts.jsonl", [{**row, "topic": ""} for row in rows])
    told = printed("cluster", texts, "--model", mixed_folder, "--json")
    payload = [{"text": row["text"], "author": row["author"]} for row in rows]
    answer = client.post("/api/cluster", json={"texts": payload})
    assert answer.status_code == 200, answer.text
    close(answer.json(), told)
    alone = client.post("/api/cluster", json={"texts": payload, "population": []}).json()
    assert (told["population"], alone["population"]) == ("input", "none")


def test_contrasts_are_what_the_command_prints(
    client: TestClient, tmp_path: Path, mixed_folder: Path
) -> None:
    first, second = NAMES[:2]
    for name in (first, second):
        (tmp_path / name).mkdir()
        for number, known in enumerate(CANDIDATES[name]):
            (tmp_path / name / f"{number}.txt").write_text(known, "utf-8")
    told = printed(
        "contrast", tmp_path / first, tmp_path / second, "--model", mixed_folder, "--json"
    )
    answer = client.post(
        "/api/contrast",
        json={
            "first": CANDIDATES[first],
            "second": CANDIDATES[second],
            "first_name": first,
            "second_name": second,
        },
    )
    assert answer.status_code == 200, answer.text
    close(answer.json(), told)


@pytest.mark.parametrize(
    ("path", "payload", "status", "said"),
    [
        ("rank", {"disputed": DISPUTED, "candidates": {}}, 422, "texts of 0 candidates"),
        ("rank", {**WHO, "disputed": []}, 422, "no disputed text"),
        ("rank", {**WHO, "candidates": {**CANDIDATES, "x": "!"}}, 200, ""),
        ("rank", {**WHO, "candidates": {**CANDIDATES, "x": []}}, 200, ""),
        ("rank", {**WHO, "candidates": {**CANDIDATES, "x": " "}}, 422, "x/1"),
        ("rank", {**WHO, "population": OTHERS[:2]}, 422, "expected 5 or more"),
        ("rank", {**WHO, "prior_none": 1}, 422, "prior_none"),
        ("rank", {**WHO, "trials": 201}, 422, "trials"),
        ("rank", {**WHO, "model": "/etc"}, 422, "model"),
        ("roll", {**PARTS, "text": "Short."}, 422, ""),
        ("roll", {**PARTS, "step": 50}, 422, "step"),
        ("roll", {**PARTS, "candidates": {"neither": DISPUTED}}, 422, "neither"),
        ("roll", {**PARTS, "closed": True, "candidates": {}}, 422, "two or more"),
        ("cluster", {"texts": [DISPUTED]}, 422, "several"),
        ("contrast", {"first": [], "second": DISPUTED}, 422, "first"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_reason(
    client: TestClient, path: str, payload: dict[str, Any], status: int, said: str
) -> None:
    answer = client.post(f"/api/{path}", json=payload)
    assert answer.status_code == status, answer.text
    if status != 200:
        assert said in answer.json()["error"]["message"]


def test_more_than_the_limits_is_refused(service: Service) -> None:
    limits = Limits(
        texts=3, population_texts=14, characters=30_000, label_characters=20, seconds=60
    )
    small = Service(service.verifier, service.verifier, limits=limits)
    client = TestClient(create_app(small), raise_server_exceptions=False)
    many = ["A few words of a text."] * 15
    try:
        for path, payload, said in (
            ("rank", {**WHO, "disputed": many[:4]}, "the disputed texts: 4 texts"),
            ("rank", {**WHO, "candidates": {"a": many[:8], "b": many[:8]}}, "the candidates: 16"),
            ("rank", {**WHO, "disputed": "word " * 6_001}, "characters in all"),
            ("rank", {**WHO, "population": many}, "the population: 15 texts"),
            ("rank", {**WHO, "candidates": {**CANDIDATES, "a" * 21: "b"}}, "21 characters"),
            ("roll", PARTS, "the candidates: 12 texts; expected at most 3"),
            ("roll", {**PARTS, "candidates": {}, "step": 1}, "windows; expected at most 14"),
            ("cluster", {"texts": many}, "the texts: 15 texts"),
            ("contrast", {"first": many, "second": "a"}, "the first side: 15 texts"),
        ):
            answer = client.post(f"/api/{path}", json=payload)
            assert answer.status_code == 413, (path, answer.text)
            assert said in answer.json()["error"]["message"]
    finally:
        small.close()


def test_long_work_does_not_keep_others_waiting(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()
    really = WhichCandidate.answer

    def slow(*arguments: Any, **options: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return really(*arguments, **options)

    monkeypatch.setattr(WhichCandidate, "answer", slow)
    with ThreadPoolExecutor() as pool:
        ranking = pool.submit(client.post, "/api/rank", json=WHO)
        assert begun.wait(60)
        other = client.post("/api/verify", json={"first": DISPUTED, "second": OTHERS[0]})
        assert other.status_code == 200
        assert not ranking.done()
        go_on.set()
        assert ranking.result().status_code == 200
