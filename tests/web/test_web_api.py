"""The REST interface and the form without a browser: answers, refusals, headers, logs."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from serving import BICYCLE, GARDEN, POPULATION, RAILWAY, SECRET, docx, open_service
from starlette.datastructures import Headers

from adhominem.cli import main
from adhominem.errors import EmptyTextError, MissingExtraError, OptionError
from adhominem.text.bounded import BoundedReader
from adhominem.web import api, failures
from adhominem.web.failures import (
    SECURITY_HEADERS,
    Limits,
    RequestError,
    as_request_error,
    json_bytes,
    place_of,
)
from adhominem.web.guard import Access, Guard, is_loopback
from adhominem.web.server import create_app
from adhominem.web.service import Service
from adhominem.web.uploads import FileReader, Part

PAYLOAD = {"first": GARDEN, "second": BICYCLE}
SMALL = Limits(
    bytes=200_000, texts=3, population_texts=8, characters=50_000, population_characters=90_000
)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    opened = open_service()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(service: Service) -> TestClient:
    return TestClient(create_app(service), raise_server_exceptions=False)


@pytest.fixture(scope="module")
def strict(service: Service) -> Iterator[TestClient]:
    """With small limits and a token, on loopback."""
    opened = Service(service.verifier, service.verifier, limits=SMALL)
    access = Access.of("127.0.0.1", token="s3cret")
    yield TestClient(
        create_app(opened, access),
        base_url="http://127.0.0.1",
        headers={"Authorization": "Bearer s3cret"},
        raise_server_exceptions=False,
    )
    opened.close()


def refusal(response: Any, status: int) -> tuple[str, str]:
    """The type and message of an error."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    for name, value in SECURITY_HEADERS.items():
        assert response.headers[name] == value
    error = response.json()
    assert set(error) == {"error"}
    assert set(error["error"]) == {"type", "message"}
    assert error["error"]["message"]
    return error["error"]["type"], error["error"]["message"]


def basic(token: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{token}".encode()).decode()


def form(**fields: Any) -> dict[str, Any]:
    """A form of texts; always with a file field, so that it is sent in parts."""
    return {"data": fields, "files": [("first_file", ("", b""))]}


class TestVerify:
    def test_the_answer_is_what_the_command_prints(
        self, client: TestClient, tmp_path: Path
    ) -> None:
        for name, text in (("first", GARDEN), ("second", BICYCLE)):
            (tmp_path / name).write_text(text, "utf-8")
        paths = [str(tmp_path / "first"), str(tmp_path / "second")]
        printed = CliRunner().invoke(main, ["verify", *paths, "--json", "--prior", "0.2"])
        told = json.loads(printed.stdout)
        first = {"text": GARDEN, "name": str(tmp_path / "first")}
        second = {"text": BICYCLE, "name": str(tmp_path / "second")}
        payload = {"first": first, "second": second, "prior_same_author": 0.2}
        answer = client.post("/api/verify", json=payload)
        assert answer.status_code == 200
        got = answer.json()
        numbers = ("log_bayes_factor", "log10_bayes_factor", "probability_same_author")
        for name in numbers:  # encoded together or one by one: the last bits may differ
            assert got.pop(name) == pytest.approx(told.pop(name), abs=1e-4)
        assert got["likeness"].pop("atypicality") == pytest.approx(
            told["likeness"].pop("atypicality"), abs=1e-4
        )
        assert got == told

    def test_a_side_may_be_a_text_an_object_or_a_list_of_both(self, client: TestClient) -> None:
        sides: list[Any] = [
            GARDEN,
            {"text": GARDEN},
            [GARDEN],
            [{"text": GARDEN, "name": "first"}],
        ]
        answers = [
            client.post("/api/verify", json={"first": side, "second": BICYCLE}).json()
            for side in sides
        ]
        assert all(answer == answers[0] for answer in answers)
        assert answers[0]["first"]["documents"][0]["name"] == "first"

    def test_several_texts_of_a_side_are_weighed_together(self, client: TestClient) -> None:
        payload = {"first": [GARDEN, {"text": RAILWAY, "name": "railway"}], "second": BICYCLE}
        answer = client.post("/api/verify", json=payload).json()
        assert [document["name"] for document in answer["first"]["documents"]] == [
            "first-1",
            "railway",
        ]

    def test_a_probability_comes_with_its_prior(self, client: TestClient) -> None:
        for prior in (0.1, 0.9):
            payload = {"first": GARDEN, "second": BICYCLE, "prior_same_author": prior}
            answer = client.post("/api/verify", json=payload).json()
            odds = math.exp(answer["log_bayes_factor"]) * prior / (1 - prior)
            assert answer["prior_same_author"] == prior
            assert answer["probability_same_author"] == pytest.approx(odds / (1 + odds))

    def test_a_population_is_used_and_named(self, client: TestClient) -> None:
        payload = {"first": GARDEN, "second": BICYCLE, "population": POPULATION}
        answer = client.post("/api/verify", json=payload).json()
        alone = client.post("/api/verify", json={**payload, "population": []}).json()
        assert answer["population"]["texts"] == len(POPULATION)
        assert alone["population"] is None
        assert answer["population"]["log10_bayes_factor_without"] == pytest.approx(
            alone["log10_bayes_factor"], abs=1e-4
        )

    def test_the_servers_population_is_used_unless_another_is_given(self, service: Service) -> None:
        population = service.verifier.population(POPULATION)
        opened = Service(service.verifier, service.verifier, population=population)
        client = TestClient(create_app(opened))
        payload: dict[str, Any] = {"first": GARDEN, "second": BICYCLE}
        assert client.post("/api/verify", json=payload).json()["population"]["texts"] == 6
        payload["population"] = [*POPULATION, GARDEN]
        assert client.post("/api/verify", json=payload).json()["population"]["texts"] == 7
        payload["population"] = []
        assert client.post("/api/verify", json=payload).json()["population"] is None
        (model,) = client.get("/api/models").json()["models"]
        assert model["population_texts"] == 6
        assert "this server’s 6 texts" in client.get("/").text
        opened.close()

    @pytest.mark.parametrize(
        ("payload", "said"),
        [
            ({"first": GARDEN}, "second: Field required"),
            ({"first": GARDEN, "second": []}, "there is no second text"),
            ({"first": " ", "second": GARDEN}, "the text is empty"),
            ({"first": "\u00ad", "second": GARDEN}, "first: the text has no word in it"),
            ({"first": GARDEN, "second": 5}, "second.0"),
            ({"first": GARDEN, "second": {"txt": "x"}}, "second.0.text: Field required"),
            ({"first": GARDEN, "second": GARDEN, "prior_same_author": 1}, "prior_same_author"),
            ({"first": GARDEN, "second": GARDEN, "prior_same_author": "0.5"}, "prior_same_author"),
            ({"first": GARDEN, "second": GARDEN, "delta": 0.5}, "delta"),
            ({"first": GARDEN, "second": GARDEN, "model": "/etc/passwd"}, "model: Extra inputs"),
            ({"first": GARDEN, "second": GARDEN, "population": [GARDEN] * 2}, "expected 5"),
            ({"first": "half \ud800 a character", "second": GARDEN}, "half a character"),
            ([], "the body"),
        ],
    )
    def test_a_wrong_request_is_refused_with_what_is_wrong(
        self, client: TestClient, payload: Any, said: str
    ) -> None:
        _, message = refusal(
            client.post(
                "/api/verify",
                content=json.dumps(payload),
                headers={"Content-Type": "application/json"},
            ),
            422,
        )
        assert said in message
        assert GARDEN[:50] not in message

    def test_what_is_not_json_is_refused(self, client: TestClient) -> None:
        for body in ("{broken", '{"first": "\\', "[" * 9_000, "9" * 9_000):
            headers = {"Content-Type": "application/json"}
            kind, _ = refusal(client.post("/api/verify", content=body, headers=headers), 400)
            assert kind in ("BrokenJson", "WrongRequest")
        headers = {"Content-Type": "application/json"}
        deep = "[" * 100_000
        refusal(client.post("/api/verify", content=deep, headers=headers), 413)

    @pytest.mark.parametrize("path", ["/api/verify", "/api/explain", "/api/encode"])
    @pytest.mark.parametrize(
        "kind",
        [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"],
    )
    def test_what_is_not_said_to_be_json_is_refused_in_our_own_words(
        self, client: TestClient, path: str, kind: str | None
    ) -> None:
        headers = {} if kind is None else {"Content-Type": kind}
        payload = json.dumps({"first": GARDEN, "second": RAILWAY})
        assert refusal(client.post(path, content=payload, headers=headers), 415) == (
            "WrongKind",
            f"the body {'is not said to be JSON' if kind else 'does not say what it is'}; "
            "send it with Content-Type: application/json",
        )

    def test_json_may_have_a_format_of_its_own_and_a_charset(self, client: TestClient) -> None:
        for kind in ("Application/JSON; charset=utf-8", "application/problem+json"):
            payload = json.dumps({"texts": [GARDEN]})
            headers = {"Content-Type": kind}
            assert client.post("/api/encode", content=payload, headers=headers).status_code == 200

    def test_a_path_that_is_not_there_and_a_wrong_method(self, client: TestClient) -> None:
        assert refusal(client.get("/api/nothing"), 404)[0] == "NotFound"
        assert refusal(client.get("/api/verify"), 405)[0] == "MethodNotAllowed"
        assert refusal(client.get("/static/..%2fapp.py"), 404)[0] == "NotFound"
        assert refusal(client.get("/static/examples/dez-bicycle.txt"), 404)


class TestOthers:
    def test_encode_gives_the_levs_of_the_verifier(
        self, client: TestClient, service: Service
    ) -> None:
        answer = client.post(
            "/api/encode", json={"texts": [GARDEN, {"text": BICYCLE, "name": "b"}]}
        )
        told = answer.json()
        assert told["lev_size"] == service.verifier.lev_size == len(told["texts"][0]["lev"])
        assert [text["name"] for text in told["texts"]] == ["text-1", "b"]
        levs = service.verifier.encode([GARDEN, BICYCLE])
        for lev, text in zip(levs, told["texts"], strict=True):
            assert text["lev"] == pytest.approx(lev.tolist(), abs=1e-5)

    def test_levs_are_written_text_by_text(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written: list[int] = []

        def json_bytes(result: object) -> bytes:
            data = failures.json_bytes(result)
            written.append(len(data))
            return data

        monkeypatch.setattr(api, "json_bytes", json_bytes)
        answer = client.post("/api/encode", json={"texts": [GARDEN, BICYCLE] * 5})
        assert len(answer.json()["texts"]) == 10
        assert max(written) < len(answer.content) / 5  # nobody else runs meanwhile

    def test_explain_holds_the_answer_of_verify(self, client: TestClient) -> None:
        payload = {"first": GARDEN, "second": BICYCLE}
        told = client.post("/api/explain", json=payload).json()
        verified = client.post("/api/verify", json=payload).json()
        assert told["verification"]["log10_bayes_factor"] == pytest.approx(
            verified["log10_bayes_factor"], abs=1e-4
        )
        assert [text["text"] for text in told["texts"]] == [GARDEN, BICYCLE]
        assert told["texts"][0]["passages"]

    def test_models_and_health(self, client: TestClient, service: Service) -> None:
        (model,) = client.get("/api/models").json()["models"]
        assert model["name"] == "general-en"
        assert model["sha256"] == service.verifier.sha256
        assert model["lev_size"] == service.verifier.lev_size
        assert not model["knows_topics"]
        assert client.get("/health").json() == {"schema": 1, "status": "ok"}
        assert client.get("/api/models").json()["schema"] == 1

    def test_health_says_when_the_worker_has_ended(self, service: Service) -> None:
        opened = Service(service.verifier, service.verifier)
        client = TestClient(create_app(opened))
        opened.close()
        assert refusal(client.get("/health"), 503)[0] == "NotWorking"
        payload = {"first": GARDEN, "second": BICYCLE}
        response = client.post("/api/verify", json=payload)
        assert refusal(response, 503)[0] == "Busy"
        assert response.headers["Retry-After"]

    def test_the_description_for_machines_has_examples_that_work(self, client: TestClient) -> None:
        told = client.get("/openapi.json").json()
        asked = {f"/api/{name}" for name in ("verify", "encode", "rank", "roll", "cluster")}
        asked |= {"/api/contrast", "/api/report"}
        assert set(told["paths"]) == {*asked, "/api/explain", "/api/models", "/health"}
        for path in asked:
            body = told["paths"][path]["post"]["requestBody"]["content"]["application/json"]
            schema = told["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
            for example in schema["examples"]:
                assert client.post(path, json=example).status_code == 200

    def test_the_page_for_people_who_program_loads_nothing_from_elsewhere(
        self, client: TestClient
    ) -> None:
        page = client.get("/docs")
        assert page.status_code == 200
        assert "POST /api/verify" in page.text
        assert 'src="http' not in page.text
        assert "https://" not in page.text

    def test_the_page_for_people_who_program_shows_the_address_that_it_was_found_at(
        self, client: TestClient
    ) -> None:
        for host in ("127.0.0.1:8123", "localhost:9", "[::1]:8000", "127.0.0.1"):
            page = client.get("/docs", headers={"Host": host})
            assert f"curl -s http://{host}/api/verify" in page.text
            assert host == "[::1]:8000" or ":8000" not in page.text
        behind = {"Host": "localhost", "X-Forwarded-Proto": "https"}
        page = client.get("/docs", headers=behind)
        assert "curl -s https://localhost/api/verify" in page.text


class TestLimits:
    def test_too_many_bytes(self, strict: TestClient) -> None:
        kind, message = refusal(strict.post("/api/verify", json={"first": "x" * 200_000}), 413)
        assert kind == "TooLarge"
        assert "200,000 bytes" in message

    def test_too_many_bytes_that_come_bit_by_bit(self, strict: TestClient) -> None:
        body = (b"x" * 50_000 for _ in range(5))
        refusal(strict.post("/api/verify", content=body), 413)

    def test_too_many_texts_and_characters(self, strict: TestClient) -> None:
        long_label = {"text": GARDEN, "topic": GARDEN}
        for payload in (
            {**PAYLOAD, "population": [*POPULATION, "a word " * 13_000]},
            {**PAYLOAD, "population": [*POPULATION, long_label]},
            {**PAYLOAD, "first": {"text": GARDEN, "name": GARDEN}},
            {**PAYLOAD, "second": [long_label]},
            {**PAYLOAD, "first": [GARDEN] * 4},
            {**PAYLOAD, "population": ["a text"] * 9},
            {**PAYLOAD, "first": "a word " * 8_000},
        ):
            assert refusal(strict.post("/api/verify", json=payload), 413)[0] == "TooLarge"
        assert refusal(strict.post("/api/encode", json={"texts": ["a"] * 4}), 413)

    @pytest.mark.parametrize("entry", [1, "a"])
    def test_a_million_entries_are_refused_before_each_is_looked_at(
        self, client: TestClient, entry: object
    ) -> None:
        many = [entry] * 1_000_000
        fields = {str(number): entry for number in range(1_000_000)}
        for payload in (
            {**PAYLOAD, "first": many},
            {**PAYLOAD, "population": many},
            {**PAYLOAD, "first": {"text": GARDEN, **fields}},
            {**PAYLOAD, **fields},
        ):
            kind, message = refusal(client.post("/api/verify", json=payload), 413)
            assert (kind, "expected at most 10,000" in message) == ("TooLarge", True)
        assert refusal(client.post("/api/encode", json={"texts": many}), 413)[0] == "TooLarge"

    def test_a_text_in_place_of_a_field_is_not_sent_back(self, client: TestClient) -> None:
        _, message = refusal(client.post("/api/verify", json={**PAYLOAD, GARDEN: 1}), 422)
        assert GARDEN[:50] not in message

    def test_a_request_that_comes_too_slowly_is_told_so(self, service: Service) -> None:
        async def receive() -> dict[str, Any]:
            await asyncio.sleep(60)
            raise AssertionError

        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        for limits in (Limits(seconds=0.01), Limits(stall_seconds=0.01)):
            sent.clear()
            guard = Guard(create_app(service), access=Access(), limits=limits)
            headers = [(b"content-length", b"9")]
            scope = {"type": "http", "method": "POST", "path": "/api/verify", "headers": headers}
            asyncio.run(guard(scope, receive, send))
            assert sent[0]["status"] == 408

    def test_an_explanation_has_a_limit_of_its_own(self, service: Service) -> None:
        limits = Limits(explained_characters=100)
        opened = Service(service.verifier, service.verifier, limits=limits)
        client = TestClient(create_app(opened))
        _, message = refusal(client.post("/api/explain", json=PAYLOAD), 413)
        assert "texts to explain" in message
        opened.close()

    def test_what_takes_too_long_is_given_up(self, service: Service) -> None:
        opened = Service(service.verifier, service.verifier, limits=Limits(seconds=0.001))
        client = TestClient(create_app(opened))
        kind, message = refusal(client.post("/api/verify", json=PAYLOAD), 504)
        assert kind == "TimeLimit"
        assert "0.001 s" in message
        opened.close()

    def test_a_limit_of_nothing_is_no_limit(self) -> None:
        with pytest.raises(Exception, match="the limit 'seconds' is 0"):
            Limits(seconds=0)


class TestAccess:
    def test_a_token_may_have_any_letters(self, service: Service) -> None:
        client = TestClient(create_app(service, Access(token="schlüssel")))
        for token, status in (("schlüssel", 200), ("schlussel", 401)):
            headers = {"Authorization": f"Bearer {token}".encode()}
            assert client.get("/api/models", headers=headers).status_code == status

    def test_without_the_token_nothing_is_answered(self, strict: TestClient) -> None:
        for path in ("/api/verify", "/api/encode", "/api/explain"):
            for header in ("", "Bearer wrong", "Basic s3cret", "Bearer s3cret2", "Bearer ÿ"):
                headers = {"Authorization": header.encode("latin-1")}
                response = strict.post(path, json=PAYLOAD, headers=headers)
                assert refusal(response, 401)[0] == "WrongToken"
                assert response.headers["WWW-Authenticate"] == "Bearer"
        assert refusal(strict.get("/api/models", headers={"Authorization": ""}), 401)
        assert strict.post("/api/verify", json=PAYLOAD).status_code == 200

    def test_the_page_itself_can_be_seen_and_asks_for_the_token(self, strict: TestClient) -> None:
        page = strict.get("/", headers={"Authorization": ""})
        assert page.status_code == 200
        assert 'type="password"' in page.text
        assert strict.get("/health", headers={"Authorization": ""}).status_code == 200

    def test_a_browser_asks_for_the_token_as_a_password(self, strict: TestClient) -> None:
        fields = {"first_text": GARDEN, "second_text": BICYCLE}
        for given, status in (
            ("", 401),
            ("Basic !", 401),
            (basic("wrong"), 401),
            (basic("s3cret"), 200),
        ):
            headers = {"Authorization": given, "Accept": "text/html"}
            answer = strict.post("/", headers=headers, **form(**fields))
            assert answer.status_code == status
            assert ("log10 Bayes factor" in answer.text) is (status == 200)
            assert "s3cret" not in answer.text
            challenge = answer.headers.get("WWW-Authenticate", "")
            assert challenge.startswith("Basic realm=") is (status == 401)

    def test_the_pages_script_gets_no_dialog(self, strict: TestClient) -> None:
        headers = {"Authorization": "", "Accept": "application/x-ndjson"}
        answer = strict.post("/", headers=headers, **form(first_text=GARDEN))
        assert refusal(answer, 401)[0] == "WrongToken"
        assert answer.headers["WWW-Authenticate"] == "Bearer"

    def test_people_are_not_told_what_is_meant_for_programs(self, strict: TestClient) -> None:
        for accept, for_programs in (("text/html", 0), ("application/x-ndjson", 0), ("*/*", 1)):
            headers = {"Authorization": "Bearer wrong", "Accept": accept}
            answer = strict.post("/", headers=headers, **form(first_text=GARDEN))
            assert answer.status_code == 401
            assert answer.text.count("Authorization: Bearer TOKEN") == for_programs
            assert "token" in answer.text

    def test_a_token_may_come_as_a_password_everywhere(self, strict: TestClient) -> None:
        headers = {"Authorization": basic("s3cret")}
        assert strict.get("/api/models", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "headers",
        [
            {"Authorization": "Bearer wrong"},
            {"Host": "evil.example"},
            {"Origin": "https://evil.example"},
        ],
    )
    @pytest.mark.parametrize("path", ["/", "/api/verify", "/nothing"])
    def test_nothing_of_a_body_is_read_before_it_is_clear_who_asks(
        self, service: Service, headers: dict[str, str], path: str
    ) -> None:
        async def receive() -> dict[str, Any]:
            raise AssertionError("the body was read")

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        given = {"Host": "127.0.0.1", "Content-Length": "9", **headers}
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        }
        access = Access.of("127.0.0.1", token="s3cret")
        guard = Guard(create_app(service), access=access, limits=Limits())
        asyncio.run(guard(scope, receive, send))
        assert sent[0]["status"] in (401, 403)

    @pytest.mark.parametrize(
        "host",
        [
            *("evil.example", "127.0.0.1.evil.example", "", "a b", "[::2]", "a@127.0.0.1"),
            *("127.0.0.1#.evil.example", "127.0.0.1/x", "127.0.0.1?", "127.0.0.1:8a"),
        ],
    )
    def test_another_name_for_this_machine_is_refused(self, strict: TestClient, host: str) -> None:
        response = strict.post("/api/verify", json=PAYLOAD, headers={"Host": host})
        assert refusal(response, 403)[0] == "WrongHost"

    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000"])
    def test_loopback_has_several_names(self, strict: TestClient, host: str) -> None:
        assert strict.get("/health", headers={"Host": host}).status_code == 200

    @pytest.mark.parametrize("token", [" t0ken", "t0ken\n", "t0k\0en", "\udce9"])
    def test_a_token_that_no_request_can_send_is_refused_at_the_start(self, token: str) -> None:
        with pytest.raises(OptionError, match="choose another"):
            Access.of("127.0.0.1", token=token)

    def test_further_names_can_be_allowed_and_elsewhere_all_are(self) -> None:
        assert Access.of("127.0.0.1", names=["Example.org"]).hosts >= {"example.org", "localhost"}
        assert Access.of("0.0.0.0").hosts == frozenset()
        assert Access.of("0.0.0.0", names=["example.org"]).hosts == {"example.org"}
        assert is_loopback("127.0.0.53")
        assert is_loopback("localhost")
        assert is_loopback("::1")
        assert not is_loopback("0.0.0.0")
        assert not is_loopback("example.org")

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1"},
        ],
    )
    def test_pages_of_other_sites_may_not_ask(
        self, strict: TestClient, headers: dict[str, str]
    ) -> None:
        response = strict.post("/api/verify", json=PAYLOAD, headers=headers)
        assert refusal(response, 403)[0] == "OtherSite"

    def test_a_link_of_another_site_may_lead_to_the_page(self, strict: TestClient) -> None:
        opened = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        headers = {"Sec-Fetch-Site": "cross-site", **opened}
        assert strict.get("/", headers=headers).status_code == 200
        for other in ({"Sec-Fetch-Mode": "no-cors"}, {"Sec-Fetch-Dest": "iframe"}):
            response = strict.get("/", headers={**headers, **other})
            assert refusal(response, 403)[0] == "OtherSite"
        response = strict.post("/", headers=headers, **form(first_text=GARDEN))
        assert refusal(response, 403)[0] == "OtherSite"

    def test_our_own_pages_may_ask(self, strict: TestClient) -> None:
        for headers in (
            {"Origin": "http://127.0.0.1"},
            {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        ):
            response = strict.post("/api/verify", json=PAYLOAD, headers=headers)
            assert response.status_code == 200


class TestForm:
    def lines(
        self, client: TestClient, statuses: tuple[int, ...] = (200,), **payload: Any
    ) -> list[dict[str, Any]]:
        headers = {"Accept": "application/x-ndjson"}
        answer = client.post("/", headers=headers, **payload)
        assert answer.status_code in statuses, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def test_without_a_script_the_answer_is_a_page(self, client: TestClient) -> None:
        fields = {"first_text": GARDEN, "second_text": RAILWAY, "prior": "0.25", "explain": "yes"}
        page = client.post("/", headers={"Accept": "text/html"}, **form(**fields))
        assert page.status_code == 200
        assert "log10 Bayes factor." in page.text
        assert "the probability of one author from 0.25 to" in page.text
        assert "A Bayes factor is not a verdict" in page.text
        assert page.text.count("data:application/json;base64,") == 2
        assert 'class="explanation"' in page.text
        assert GARDEN[:60] in page.text
        assert " style=" not in page.text.partition('id="answer"')[2]
        assert "<script>" not in page.text

    def test_with_one_it_comes_in_lines(self, client: TestClient) -> None:
        fields = {"first_text": GARDEN, "second_text": BICYCLE, "explain": "yes"}
        told = self.lines(client, **form(**fields))
        assert next(event["doing"] for event in told if "doing" in event) == "Reading the texts"
        (verdict,) = [event for event in told if "verdict" in event]
        assert verdict["verification"]["prior_same_author"] == 0.5
        (explained,) = [event for event in told if "shown" in event]
        assert explained["explanation"]["texts"][0]["text"] == GARDEN
        assert told[-1] is explained

    def test_a_report_is_written_when_it_is_asked_for(self, client: TestClient) -> None:
        fields = {"first_text": GARDEN, "second_text": RAILWAY, "prior": "0.2", "report": "yes"}
        told = self.lines(client, **form(**fields, case="Case 7", examiner="N. N."))
        assert not any("verdict" in event for event in told)
        assert any(event.get("doing") == "Writing the report" for event in told)
        assert told[-1]["report"].startswith("<!DOCTYPE html>")
        assert "Case 7" in told[-1]["report"]
        assert "With a prior probability of 0.2" in told[-1]["report"]

    def test_a_report_has_no_probability_by_a_prior_that_nobody_stated(
        self, client: TestClient
    ) -> None:
        for given in ({}, {"prior": ""}, {"prior": "0.5"}):
            fields = {"first_text": GARDEN, "second_text": BICYCLE, "report": "yes", **given}
            page = self.lines(client, **form(**fields))[-1]["report"]
            assert "No probability that one person wrote both sides is given" in page

    def test_files_are_read_whatever_they_are_called(self, client: TestClient) -> None:
        files = [
            ("first_file", ("../../etc/<b>garden.txt", GARDEN.encode())),
            ("second_file", ("C:\\letters\\bicycle.DOCX", docx(BICYCLE))),
        ]
        told = self.lines(client, data={}, files=files)
        (verdict,) = [event for event in told if "verdict" in event]
        names = [verdict["verification"][side]["documents"][0] for side in ("first", "second")]
        assert names[0]["name"].endswith("<b>garden.txt")
        assert names[1]["name"].endswith("bicycle.DOCX")
        assert "<b>garden" not in verdict["verdict"]
        pasted = client.post("/api/verify", json={"first": GARDEN, "second": BICYCLE}).json()
        assert names[0]["sha256"] == pasted["first"]["documents"][0]["sha256"]
        assert names[0]["tokens"] == pasted["first"]["documents"][0]["tokens"]
        assert names[1]["tokens"] == pasted["second"]["documents"][0]["tokens"]

    def test_what_is_odd_about_a_file_is_said(self, client: TestClient) -> None:
        files = [("first_file", ("old.txt", (GARDEN + " café").encode("cp1252")))]
        told = self.lines(client, data={"second_text": BICYCLE}, files=files)
        (verdict,) = [event for event in told if "verdict" in event]
        assert "old.txt" in verdict["verdict"]
        assert "CP1252" in verdict["verdict"]
        assert "/tmp" not in verdict["verdict"]

    def test_pasted_text_is_the_same_text_whatever_its_line_ends(self, client: TestClient) -> None:
        sent = form(first_text=GARDEN.replace("\n", "\r\n"), second_text=BICYCLE)
        (verdict,) = [event for event in self.lines(client, **sent) if "verdict" in event]
        pasted = client.post("/api/verify", json={"first": GARDEN, "second": BICYCLE}).json()
        assert verdict["verification"]["first"] == pasted["first"]

    def test_a_population_of_files_and_tables(self, client: TestClient) -> None:
        rows = "".join(json.dumps({"text": text}) + "\n" for text in POPULATION) + "{broken\n"
        files = [
            ("population", ("more.txt", RAILWAY.encode())),
            ("population", ("table.jsonl", rows.encode())),
        ]
        told = self.lines(client, data={"first_text": GARDEN, "second_text": BICYCLE}, files=files)
        (verdict,) = [event for event in told if "verdict" in event]
        assert verdict["verification"]["population"]["texts"] == len(POPULATION) + 1
        assert "table.jsonl:7" in verdict["verdict"]

    @pytest.mark.parametrize(
        ("file", "said"),
        [
            (("letter.rtf", b"{\\rtf1}"), "letter.rtf is not read"),
            (("letter.docx", b"no zip"), "letter.docx: the file is damaged"),
            (("letter.txt", b"\x00\x01\x02\xff" * 100), "letter.txt: "),
            (("letter.txt", b"   "), "letter.txt: the text is empty"),
            (("letter.txt.gz", b"x"), "is not read"),
            (("/etc/passwd", b"x"), "is not read"),
        ],
    )
    def test_files_that_cannot_be_read(
        self, client: TestClient, file: tuple[str, bytes], said: str
    ) -> None:
        sent = {"data": {"second_text": BICYCLE}, "files": [("first_file", file)]}
        (last,) = self.lines(client, (422,), **sent)  # nothing was compared before
        assert said in last["error"]["message"]
        assert "/tmp" not in last["error"]["message"]
        page = client.post("/", headers={"Accept": "text/html"}, **sent)
        assert page.status_code == 422
        assert "This cannot be answered yet" in page.text
        assert BICYCLE[:60].replace("'", "&#39;") in page.text  # what was pasted is not lost

    def test_a_file_that_unpacks_to_very_much_falls_alone(self, client: TestClient) -> None:
        bomb = docx("word " * 100 + "\n" * 20)
        inside = _swollen(bomb, 60 << 20)
        sent = {"data": {"second_text": BICYCLE}, "files": [("first_file", ("b.docx", inside))]}
        assert len(inside) < 2 << 20
        (last,) = self.lines(client, (413, 422), **sent)
        assert last["error"]["type"] in ("TooLarge", "DamagedFileError")
        assert client.get("/health").status_code == 200

    def test_the_process_that_reads_files_ends_by_itself(self) -> None:
        reader = BoundedReader()
        process = reader.start()
        assert process.stdin is not None
        process.stdin.write(json.dumps({"sizes": [9], "seconds": 1}).encode() + b"\n")
        process.stdin.flush()  # and no file
        assert process.wait(20) != 0
        reader.stop()
        code = "from adhominem.text.bounded import bound; bound(9); bytearray(1 << 30)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert done.returncode == 1
        assert b"MemoryError" in done.stderr

    def test_files_with_more_text_than_is_compared_are_refused(self) -> None:
        limits = Limits(characters=10, population_characters=10)
        with pytest.raises(RequestError, match="hold more text than is compared") as refused:
            asyncio.run(FileReader(limits).read([Part("", GARDEN.encode(), "long.txt")]))
        assert refused.value.status == 413

    def test_nothing_of_an_upload_touches_the_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr(tempfile, "tempdir", None)  # found anew
        files = [Part("", docx(GARDEN), f"{number}.docx") for number in range(50)]

        async def files_while_it_reads() -> set[Path]:
            seen: set[Path] = set()
            reading = asyncio.ensure_future(FileReader(Limits()).read(files))
            while not reading.done():
                seen |= {path for path in tmp_path.rglob("*") if path.is_file()}
                await asyncio.sleep(0.001)
            assert len((await reading)[0]) == 50
            return seen

        assert asyncio.run(files_while_it_reads()) == set()
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("charset", ["undefined", "punycode", "utf-7", "utf-16", "idna", '"'])
    def test_a_form_is_utf8_whatever_it_says(self, client: TestClient, charset: str) -> None:
        text = "Žluťoučký kůň +AHg- " * 40_000
        fields = {"first_text": text, "second_text": BICYCLE}
        body = b"".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in fields.items()
        )
        kind = f"multipart/form-data; boundary=b; charset={charset}"
        headers = {"Content-Type": kind, "Accept": "application/x-ndjson"}
        response = client.post("/", content=body + b"--b--\r\n", headers=headers)
        assert response.status_code == 200
        told = [json.loads(row) for row in response.text.splitlines()]
        (verdict,) = [event for event in told if "verdict" in event]
        first = verdict["verification"]["first"]["documents"][0]
        assert first["sha256"] == hashlib.sha256(text.encode()).hexdigest()

    def test_a_form_that_is_not_utf8_is_refused(self, client: TestClient) -> None:
        part = b'--b\r\nContent-Disposition: form-data; name="first_text"\r\n\r\n'
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        answer = client.post("/", content=part + b"\xff\r\n--b--\r\n", headers=headers)
        assert "UTF-8" in refusal(answer, 400)[1]

    def test_what_is_missing_or_wrong_in_the_form(self, client: TestClient) -> None:
        html = {"Accept": "text/html"}
        for fields, said in (
            ({"first_text": GARDEN}, "there is no second text"),
            ({"first_text": GARDEN, "second_text": BICYCLE, "prior": "2"}, "above 0 to below 1"),
            ({"first_text": GARDEN, "second_text": BICYCLE, "prior": "nan"}, "above 0 to below 1"),
        ):
            page = client.post("/", headers=html, **form(**fields))
            assert page.status_code == 422
            assert said in page.text
        response = client.post("/", headers=html, data={"first_text": GARDEN})
        assert refusal(response, 415)[0] == "WrongForm"
        headers = {"Content-Type": "multipart/form-data; boundary=x", **html}
        assert refusal(client.post("/", content=b"nothing", headers=headers), 400)

    def test_a_hostile_text_is_shown_and_not_obeyed(self, client: TestClient) -> None:
        hostile = f"<script>alert(1)</script> </textarea><img src=x onerror=alert(2)> {GARDEN}"
        fields = {"first_text": hostile, "second_text": BICYCLE, "explain": "yes"}
        page = client.post("/", headers={"Accept": "text/html"}, **form(**fields)).text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "&lt;script&gt;" in page

    def test_examples_stand_in_the_form(self, client: TestClient) -> None:
        page = client.get("/?example=one-writer").text
        assert GARDEN[:60] in page
        assert RAILWAY[:60] in page
        assert len(GARDEN.split()) > 300
        assert len(BICYCLE.split()) > 300
        assert client.get("/?example=../../secret").status_code == 200

    def test_a_verdict_stands_without_its_explanation(self, service: Service) -> None:
        limits = Limits(explained_characters=100)
        opened = Service(service.verifier, service.verifier, limits=limits)
        client = TestClient(create_app(opened))
        sent = form(first_text=GARDEN, second_text=RAILWAY, explain="yes")
        (*_, verdict, _, last) = self.lines(client, **sent)
        assert "verdict" in verdict
        assert "There is no explanation: texts to explain: " in last["unexplained"]
        page = client.post("/", headers={"Accept": "text/html"}, **sent)
        assert page.status_code == 200
        assert "log10 Bayes factor." in page.text
        assert "There is no explanation" in page.text
        opened.close()

    def test_topics_are_asked_for_only_if_the_model_knows_them(
        self, client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "first_topic" not in client.get("/").text
        monkeypatch.setattr(service.verifier.members[0], "knows_topics", True)
        assert 'name="first_topic"' in client.get("/").text

    def test_topics_reach_the_model(self, client: TestClient) -> None:
        payload = {"first": {"text": GARDEN, "topic": "gardens"}, "second": BICYCLE}
        sent = form(first_text=GARDEN, second_text=BICYCLE, first_topic="gardens")
        (verdict,) = [event for event in self.lines(client, **sent) if "verdict" in event]
        for told in (client.post("/api/verify", json=payload).json(), verdict["verification"]):
            assert "topic_unused" in [warning["code"] for warning in told["warnings"]]


class TestSecrecy:
    def test_every_answer_has_the_headers(self, client: TestClient) -> None:
        for path in ("/", "/docs", "/openapi.json", "/static/page.css", "/static/heat_map.js"):
            response = client.get(path)
            assert response.status_code == 200
            for name, value in SECURITY_HEADERS.items():
                assert response.headers[name] == value
        assert "unsafe" not in SECURITY_HEADERS["Content-Security-Policy"]

    def test_no_text_is_logged(
        self,
        client: TestClient,
        caplog: pytest.LogCaptureFixture,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        caplog.set_level(logging.DEBUG)
        text = f"{SECRET} {GARDEN}"
        payload = {"first": text, "second": BICYCLE}
        client.post("/api/verify", json=payload)
        client.post(f"/api/verify?{SECRET}", json={**payload, SECRET: SECRET})
        client.post("/api/verify", content=SECRET, headers={"Content-Type": "application/json"})
        client.get(f"/{SECRET}?text={SECRET}")
        client.post("/", headers={"Accept": "text/html"}, **form(first_text=text))
        files = [("first_file", (f"{SECRET}.docx", SECRET.encode()))]
        client.post("/", headers={"Accept": "application/x-ndjson"}, data={}, files=files)
        of_the_client = "httpx"
        logged = [
            record.getMessage()
            for record in caplog.records
            if not record.name.startswith(of_the_client)
        ]
        assert any(line.startswith("POST /api/verify 200") for line in logged)
        assert any(line.startswith("GET - 404") for line in logged)
        captured = capfd.readouterr()
        everything = "\n".join([*logged, captured.out, captured.err])
        for secret in (SECRET, GARDEN[:30], BICYCLE[:30]):
            assert secret not in everything

    def test_a_fault_of_ours_is_logged_by_its_type_alone(
        self,
        client: TestClient,
        service: Service,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.set_level(logging.DEBUG)

        async def fail(*arguments: object, **more: object) -> None:
            raise KeyError(f"{SECRET} in a message")

        monkeypatch.setattr(service, "work", fail)
        payload = {"first": GARDEN, "second": BICYCLE}
        kind, message = refusal(client.post("/api/verify", json=payload), 500)
        assert kind == "InternalError"
        sent = form(first_text=GARDEN, second_text=BICYCLE)
        answer = client.post("/", headers={"Accept": "application/x-ndjson"}, **sent)
        assert answer.text.splitlines()[-1].startswith('{"error"')
        page = client.post("/", headers={"Accept": "text/html"}, **sent)
        assert page.status_code == 500
        assert page.headers["content-type"].startswith("text/html")
        said = "\n".join(
            [message, answer.text, page.text, *(record.getMessage() for record in caplog.records)]
        )
        assert SECRET not in said
        assert "KeyError" in said
        assert all(record.exc_info is None for record in caplog.records)

    def test_the_place_of_an_error_is_a_line_of_ours(self) -> None:
        with pytest.raises(RequestError) as raised:
            Access(token="a").check_token(Headers({"authorization": "Bearer b"}))
        assert re.fullmatch(r"RequestError at guard.py:\d+", place_of(raised.value))
        assert place_of(KeyError("x")) == "KeyError"

    def test_errors_as_answers(self) -> None:
        assert as_request_error(EmptyTextError("no word")).status == 422
        assert as_request_error(MissingExtraError("pypdf", "documents", "PDF")).status == 501
        assert as_request_error(ValueError("secret")).status == 500
        assert "secret" not in str(as_request_error(ValueError("secret")))

    def test_json_has_null_where_there_is_no_number(self) -> None:
        told = json.loads(json_bytes({"a": math.nan, "b": math.inf, "c": "NaN", "d": -math.inf}))
        assert told == {"a": None, "b": "inf", "c": "NaN", "d": "-inf"}


def _swollen(packed: bytes, size: int) -> bytes:
    """A .docx whose text is blown up to so many bytes."""
    import io
    from zipfile import ZIP_DEFLATED, ZipFile

    out = io.BytesIO()
    with ZipFile(io.BytesIO(packed)) as old, ZipFile(out, "w", ZIP_DEFLATED) as new:
        for member in old.infolist():
            data = old.read(member)
            if member.filename == "word/document.xml":
                begin, _, end = data.partition(b"word word")
                with new.open(member.filename, "w") as file:
                    file.write(begin)
                    for _ in range(size >> 20):
                        file.write(b"word " * (1 << 18))
                    file.write(end)
            else:
                new.writestr(member.filename, data)
    return out.getvalue()
