"""Reports over REST: the file that the command writes, in each form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import current_thread
from typing import Any

import pytest
from fastapi.testclient import TestClient
from serving import GARDEN, POPULATION, RAILWAY, open_service

from adhominem.questions.report.candidates import AnyReport
from adhominem.questions.report.check import check_report
from adhominem.questions.report.formats import FORMS, read_report
from adhominem.questions.report.report import Report
from adhominem.text.exhibits import exhibits_of
from adhominem.web.server import create_app
from adhominem.web.service import Service

TEXTS: dict[str, Any] = {
    "first": {"text": GARDEN, "name": "garden.txt"},
    "second": {"text": RAILWAY, "name": "railway.txt"},
    "draws": 20,
}
DETAILS = {
    "case": "17 C",
    "examiner": "A. Example",
    "items": [{"file": "garden.txt", "reference": "Q1"}],
}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    opened = open_service()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(service: Service) -> TestClient:
    return TestClient(create_app(service), raise_server_exceptions=False)


@pytest.mark.parametrize("form", ["html", "pdf", "docx"])
def test_each_form_is_a_report_that_can_be_checked(
    client: TestClient, service: Service, form: str, tmp_path: Path
) -> None:
    payload = {**TEXTS, "form": form, "annex": "none", "details": DETAILS}
    answer = client.post("/api/report", json=payload)
    assert answer.status_code == 200, answer.text
    media_type = FORMS[f".{form}"].media_type
    assert answer.headers["content-type"].startswith(media_type)
    assert answer.headers["content-disposition"] == f"attachment; filename=report.{form}"
    (path := tmp_path / f"report.{form}").write_bytes(answer.content)
    made = read_report(path).report
    assert isinstance(made, Report)
    assert (made.details.case, made.details.examiner, made.settings.annex) == (
        "17 C",
        "A. Example",
        "none",
    )
    assert made.details.items[0].reference == "Q1"
    assert made.probability_same_author is None
    sides = (exhibits_of(GARDEN, "first"), exhibits_of(RAILWAY, "second"))
    assert check_report(path, *sides, verifier=service.verifier) == []


def test_population_and_prior_are_those_of_the_request(client: TestClient, tmp_path: Path) -> None:
    payload = {
        **TEXTS,
        "annex": "none",
        "population": POPULATION,
        "population_source": "six notes",
        "prior_same_author": 0.2,
    }
    answer = client.post("/api/report", json=payload)
    (path := tmp_path / "report.html").write_bytes(answer.content)
    made = read_report(path).report
    assert isinstance(made, Report)
    assert made.population is not None
    assert (made.population.source, made.prior_same_author) == ("six notes", 0.2)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"form": "odt"}, "form"),
        ({"annex": "long"}, "annex"),
        ({"details": {"judge": "x"}}, "unknown keys: 'judge'"),
        ({"details": {"case": 7}}, "details.case is 7"),
        ({"details": {"items": [{"file": "a.txt"}]}}, "is none of the texts compared"),
        ({"details": {"not_examined": ["x"] * 201}}, "a length of 200 at most"),
        ({"details": {"items": [{"file": "garden.txt"}] * 201}}, "a length of 200 at most"),
        ({"draws": 1}, "draws"),
    ],
)
def test_what_cannot_be_reported_is_refused_with_a_reason(
    client: TestClient, change: dict[str, Any], problem: str
) -> None:
    answer = client.post("/api/report", json={**TEXTS, **change})
    assert answer.status_code == 422
    assert problem in answer.json()["error"]["message"]


def test_what_the_population_is_takes_no_more_than_a_heading(client: TestClient) -> None:
    answer = client.post("/api/report", json={**TEXTS, "population_source": "x" * 501})
    assert answer.status_code == 413
    assert "heading of 501 characters" in answer.json()["error"]["message"]


def test_a_file_is_written_in_the_thread_for_slow_work(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def write(report: AnyReport) -> bytes:
        threads.append(current_thread().name)
        return b"a page"

    form = replace(FORMS[".html"], write=write)
    monkeypatch.setattr("adhominem.web.api.form_of", lambda path: form)
    assert client.post("/api/report", json={**TEXTS, "annex": "none"}).content == b"a page"
    assert threads == ["adhominem-explain"]
