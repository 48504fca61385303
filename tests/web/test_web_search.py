"""Searching an index by REST and on a page, where the server has one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import rich_rows
from fastapi.testclient import TestClient
from serving import running
from test_web_look import assert_accessible_in_both
from test_web_page import done, expect

from adhominem import answer
from adhominem.arrays import Levs
from adhominem.verify.encoding import EnsembleEncoder
from adhominem.web.guard import LINES
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
    told = (
        answer("search", texts=letter, index=made_index, model=mixed_folder, k=5).searched[0].hits
    )
    got = client.post("/api/search", json={"texts": TEXT, "k": 5})
    assert got.status_code == 200
    hits = got.json()["searched"][0]["hits"]
    assert [hit["id"] for hit in hits] == [hit.id for hit in told]
    assert "not an answer" in got.json()["note"]


def test_results_of_both_say_their_schema_and_each_text_is_encoded_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, encoded = EnsembleEncoder._encode, []

    def counting(self: EnsembleEncoder, documents: Sequence[Any], *others: Any) -> Levs:
        encoded.extend(documents)
        return encode(self, documents, *others)

    monkeypatch.setattr(EnsembleEncoder, "_encode", counting)
    told = client.post("/api/search", json={"texts": TEXT, "k": 5}).json()
    assert told["schema"] == 1
    assert len(encoded) == 1
    form = {"data": {"texts_text": TEXT, "k": "5"}, "files": [("texts_file", ("", b""))]}
    answer = client.post("/search", **form, headers={"Accept": LINES})
    (shown,) = (line for line in map(json.loads, answer.text.splitlines()) if "verdict" in line)
    assert shown["search_result"]["schema"] == 1
    assert shown["search_result"]["searched"][0]["hits"] == told["searched"][0]["hits"]
    assert len(encoded) == 2


def test_wrong_questions_are_refused(client: TestClient) -> None:
    assert client.post("/api/search", json={"texts": TEXT, "k": 0}).status_code == 422
    assert client.post("/api/search", json={"texts": TEXT, "prior": 0.1}).status_code == 422


def test_without_an_index_there_is_nothing_to_ask(mixed_folder: Path) -> None:
    service = Service.open(mixed_folder)
    client = TestClient(create_app(service), raise_server_exceptions=False)
    assert client.post("/api/search", json={"texts": TEXT}).status_code == 404
    service.close()


def test_a_server_with_an_index_has_a_tab_for_searching_it(
    mixed_folder: Path, made_index: Path, browser: Any
) -> None:
    with running(Service.open(mixed_folder, index=made_index)) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        page.get_by_role("link", name="Who else?").click()
        page.fill("#texts-text", TEXT)
        page.fill("#most-hits", "3")
        page.click("#submit")
        done(page)
        expect(page.locator("#result")).to_have_text("Texts like the text")
        expect(page.locator("#answer table").first.locator("tbody tr")).to_have_count(3)
        assert_accessible_in_both(page)
        still = browser.new_context(java_script_enabled=False)
        page = still.new_page()
        page.goto(f"{address}/search")
        page.fill("#most-hits", "1000")
        page.fill("#texts-text", TEXT)
        page.click("#submit")
        expect(page.locator("#problem")).to_contain_text("1 to 100")
        for opened in (context, still):
            opened.close()
