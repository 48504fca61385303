"""Candidates without texts, copies, other languages: said alike by command, REST and page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import made_up_rows
from fastapi.testclient import TestClient

from adhominem.cli import main
from adhominem.score.population import Population
from adhominem.web.guard import LINES
from adhominem.web.server import create_app
from adhominem.web.service import Service

ROWS = made_up_rows(3, 3, "b")
NAMES = sorted({row["author"] for row in ROWS})
KNOWN = {name: [row["text"] for row in ROWS if row["author"] == name] for name in NAMES}
DISPUTED = " ".join(row["text"] for row in made_up_rows(1, 4, "q"))
SHARED = made_up_rows(1, 1, "shared")[0]["text"] * 3


@pytest.fixture(scope="module")
def service(mixed_folder: Path) -> Iterator[Service]:
    opened = Service.open(mixed_folder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(service: Service) -> TestClient:
    return TestClient(create_app(service), raise_server_exceptions=False)


def by_rest(client: TestClient, text: str, known: dict[str, list[str]], path: str) -> Any:
    if path == "rank":
        body: dict[str, Any] = {"disputed": text, "candidates": known, "trials": 0}
    else:
        body = {"text": text, "candidates": known, "words": 40, "step": 20}
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def by_page(client: TestClient, text: str, known: dict[str, list[str]], path: str) -> Any:
    fields: dict[str, Any] = {"disputed_text": text}
    for number, (name, texts) in enumerate(known.items(), start=1):
        fields |= {f"candidate{number}_name": name, f"candidate{number}_text": texts}
    if path == "roll":
        fields |= {"words": "40", "step": "20"}
    files = [("population", ("", b""))]
    answer = client.post(f"/{path}", data=fields, files=files, headers={"Accept": LINES})
    told: dict[str, Any] = {}
    for line in answer.text.splitlines():
        told |= json.loads(line)
    result: Any = told["ranking" if path == "rank" else "rolled"]
    said = [row["message"] for row in result["warnings"]] if path == "rank" else result["remarks"]
    for message in said:  # on the page, too, as HTML
        assert message[1:20].replace("'", "&#39;") in told["verdict"]
        assert "--population" not in told["verdict"]
    return result


def by_command(folder: Path, model: Path, text: str, known: dict[str, list[str]], path: str) -> Any:
    folder.mkdir()
    (folder / "text.txt").write_text(text, "utf-8")
    for name, texts in known.items():
        (folder / "all" / name).mkdir(parents=True)
        for number, one in enumerate(texts):
            (folder / "all" / name / f"{number}.txt").write_text(one, "utf-8")
    options: list[object] = ["--model", model, "--json"]
    if path == "rank":
        call = ["rank", folder / "text.txt", folder / "all", "--trials", 0, *options]
    else:
        against = [part for name in known for part in ("--against", folder / "all" / name)]
        call = ["roll", folder / "text.txt", *against, "--words", 40, "--step", 20, *options]
    done = CliRunner().invoke(main, [str(argument) for argument in call])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", ["rank", "roll"])
@pytest.mark.parametrize(
    ("change", "said", "left"),
    [
        ({"copy": [DISPUTED], NAMES[0]: [*KNOWN[NAMES[0]], DISPUTED]}, "among the known ones", 3),
        (
            {
                NAMES[0]: [*KNOWN[NAMES[0]], SHARED],
                NAMES[1]: [*KNOWN[NAMES[1]], SHARED],
            },
            "one text under the names of two candidates",
            3,
        ),
    ],
)
def test_copies_are_left_out_and_said_wherever_one_asks(
    client: TestClient,
    mixed_folder: Path,
    tmp_path: Path,
    path: str,
    change: dict[str, list[str]],
    said: str,
    left: int,
) -> None:
    known = {**KNOWN, **change}
    for told in (
        by_rest(client, DISPUTED, known, path),
        by_page(client, DISPUTED, known, path),
        by_command(tmp_path / "case", mixed_folder, DISPUTED, known, path),
    ):
        if path == "rank":
            messages = [row["message"] for row in told["warnings"]]
            candidates = told["cases"][0]["candidates"]
        else:
            messages, candidates = told["remarks"], told["candidates"]
        assert any(said in message for message in messages), messages
        texts = {row["name"]: row["texts"] for row in candidates}
        assert texts[NAMES[0]] == left
        if "copy" in known:  # who has nothing but a copy is left out, and named
            assert "copy" not in texts
            assert any("without a text that can be used: copy" in text for text in messages)


@pytest.mark.parametrize("path", ["rank", "roll"])
def test_a_candidate_without_texts_is_left_out_and_said(client: TestClient, path: str) -> None:
    known: dict[str, list[str]] = {**KNOWN, "nobody": []}
    for told in (by_rest(client, DISPUTED, known, path), by_page(client, DISPUTED, known, path)):
        said = told.get("remarks") or [row["message"] for row in told["warnings"]]
        (message,) = [text for text in said if "without a text" in text]
        assert "nobody" in message
        assert "no candidate is the right answer" in message


def test_if_copies_leave_nobody_it_is_said_why(client: TestClient) -> None:
    known = {"a": [DISPUTED], "b": [DISPUTED]}
    answer = client.post("/api/rank", json={"disputed": DISPUTED, "candidates": known})
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert "texts of 0 candidates" in message
    assert "stands among the known ones" in message


def test_other_languages_and_genres_are_said(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adhominem.questions.rank import ask as rank
    from adhominem.questions.roll import ask as roll
    from adhominem.verify.cautions import Caution

    told = Caution("other_genre_of_candidate", "texts of another genre: those of b1")
    for module in (rank, roll):
        monkeypatch.setattr(module, "other_genres", lambda *arguments: [told])
    monkeypatch.setattr(rank, "mostly_foreign", lambda *arguments: [NAMES[2]])
    for ask in (by_rest, by_page):
        messages = [row["message"] for row in ask(client, DISPUTED, KNOWN, "rank")["warnings"]]
        assert told.message in messages
        assert told.message in ask(client, DISPUTED, KNOWN, "roll")["remarks"]


def test_that_there_is_no_population_is_said_once(client: TestClient) -> None:
    remarks = by_rest(client, DISPUTED, KNOWN, "roll")["remarks"]
    assert sum("no population was given" in remark for remark in remarks) <= 1


def test_the_servers_population_is_used_if_a_request_has_none(
    service: Service, client: TestClient
) -> None:
    others = [row["text"] for row in made_up_rows(7, 1, "own")]
    population: Population = service.verifier.population(others)
    with_one = Service(service.verifier, service.verifier, population=population)
    asking = TestClient(create_app(with_one), raise_server_exceptions=False)
    body = {"disputed": DISPUTED, "candidates": KNOWN, "trials": 6}
    try:
        told = asking.post("/api/rank", json=body).json()
        assert told["population"]["told"] == "the server’s own (7 texts)"
        given = asking.post("/api/rank", json={**body, "population": others}).json()
        assert given["population"]["source"] == "given"
        factors, same = (
            {row["name"]: row["log10_bayes_factor"] for row in answer["cases"][0]["candidates"]}
            for answer in (told, given)
        )
        assert factors == pytest.approx(same, abs=1e-4)
        assert told["trust"]["population"] == 7
        none = asking.post("/api/rank", json={**body, "population": []}).json()
        assert none["population"]["source"] == "other candidates"
        page = asking.get("/rank").text
        assert "Compare with this server’s 7 texts" in page
        files = [("population", ("", b""))]
        fields: dict[str, Any] = {"disputed_text": DISPUTED, "server_population": "yes"}
        for number, (name, texts) in enumerate(KNOWN.items(), start=1):
            fields |= {f"candidate{number}_name": name, f"candidate{number}_text": texts}
        answer = asking.post("/rank", data=fields, files=files, headers={"Accept": LINES}).text
        assert "the server’s own (7 texts)" in answer
    finally:
        with_one.close()
