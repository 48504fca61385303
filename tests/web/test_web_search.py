"""Searching an index by REST: what the command prints, where the server has an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import rich_rows
from fastapi.testclient import TestClient

from adhominem.jobs.search import search_files
from adhominem.web.server import create_app
from adhominem.web.service import Service

TEXT = rich_rows("letters", 30, 6, "-index-")[4]["text"]


@pytest.fixture(scope="module")
def client(mixed_folder: Path, made_index: Path) -> Iterator[TestClient]:
    service = Service.open(mixed_folder, index=made_index)
    yield TestClient(create_app(service), raise_server_exceptions=False)
    service.close()


def test_hits_are_those_of_the_command(
    client: TestClient, mixed_folder: Path, made_index: Path, tmp_path: Path
) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text(TEXT, "utf-8")
    told = search_files(letter, made_index, model=mixed_folder, k=5).searched[0].hits
    answer = client.post("/api/search", json={"texts": TEXT, "k": 5})
    assert answer.status_code == 200
    hits = answer.json()["searched"][0]["hits"]
    assert [hit["id"] for hit in hits] == [hit.id for hit in told]
    assert "not an answer" in answer.json()["note"]


def test_wrong_questions_are_refused(client: TestClient) -> None:
    assert client.post("/api/search", json={"texts": TEXT, "k": 0}).status_code == 422
    assert client.post("/api/search", json={"texts": TEXT, "prior": 0.1}).status_code == 422


def test_without_an_index_there_is_nothing_to_ask(mixed_folder: Path) -> None:
    service = Service.open(mixed_folder)
    client = TestClient(create_app(service), raise_server_exceptions=False)
    assert client.post("/api/search", json={"texts": TEXT}).status_code == 404
    service.close()
