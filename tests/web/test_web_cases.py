"""The forms with candidates: in a browser, without a script, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import made_up_rows
from fastapi.testclient import TestClient
from serving import running

from adhominem.questions.rank.ask import WhichCandidate
from adhominem.web.guard import LINES, Access
from adhominem.web.question_form import QuestionAnswerer
from adhominem.web.server import create_app
from adhominem.web.service import Service
from adhominem.web.uploads import FileReader, Part

ROWS = made_up_rows(3, 3, "c")
NAMES = sorted({row["author"] for row in ROWS})
KNOWN = {name: [row["text"] for row in ROWS if row["author"] == name] for name in NAMES}
DISPUTED = made_up_rows(1, 1, "d")[0]["text"]
LONG = 60_000  # milliseconds, on a busy machine


@pytest.fixture(scope="module")
def service(mixed_folder: Path) -> Service:
    return Service.open(mixed_folder)


@pytest.fixture(scope="module")
def client(mixed_folder: Path) -> Iterator[TestClient]:
    opened = Service.open(mixed_folder)
    yield TestClient(create_app(opened), raise_server_exceptions=False)
    opened.close()


def form(**fields: Any) -> dict[str, Any]:
    """Three candidates, the second by files; always sent in parts."""
    data = {
        "disputed_text": DISPUTED,
        "candidate1_name": "Anne",
        "candidate1_text": KNOWN[NAMES[0]],
        "candidate2_name": "Ben",
        "candidate3_name": "",
        "candidate3_text": KNOWN[NAMES[2]],
        **fields,
    }
    files = [
        ("candidate2_file", (f"{number}.txt", text.encode()))
        for number, text in enumerate(KNOWN[NAMES[1]])
    ]
    kept = {name: value for name, value in data.items() if value is not None}
    return {"data": kept, "files": [*files, ("population", ("", b""))]}


def events(client: TestClient, path: str, **fields: Any) -> dict[str, Any]:
    answer = client.post(path, **form(**fields), headers={"Accept": LINES})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = {}
    for line in answer.text.splitlines():
        told |= json.loads(line)
    return told


def test_the_form_ranks_candidates_by_pasted_texts_and_files(client: TestClient) -> None:
    told = events(client, "/rank", prior_none="0,2")
    ranking = told["ranking"]
    assert {row["name"]: row["texts"] for row in ranking["cases"][0]["candidates"]} == {
        "Anne": 3,
        "Ben": 3,
        "Candidate 3": 3,
    }
    assert ranking["prior_none"] == 0.2
    assert ranking["trust"] is not None
    assert "Who wrote the disputed text?" in told["verdict"]
    assert "How far to trust it" in told["verdict"]
    assert told["page"].startswith("<!DOCTYPE html>")


def test_the_form_says_which_part_is_by_whom(client: TestClient) -> None:
    settings = {"words": "40", "step": "20", "disputed_text": " ".join(KNOWN[NAMES[0]])}
    told = events(client, "/roll", **settings)
    assert told["rolled"]["states"] == ["Anne", "Ben", "Candidate 3", "neither"]
    assert "<mark" in told["verdict"]
    assert "style=" not in told["verdict"]  # which the policy of the page forbids


@pytest.mark.parametrize(
    ("path", "fields", "said"),
    [
        ("/rank", {"disputed_text": None}, "no disputed text"),
        ("/rank", {"candidate1_name": "Ben"}, "two candidates are named"),
        ("/rank", {"prior_none": "1"}, "expected a number, 0 to below 1"),
        ("/rank", {"words": "500"}, "is not known"),
        ("/rank", {"candidate99999_text": "a"}, "is not known"),
        ("/roll", {"words": "many"}, "words: expected a whole number, 20 to 100,000"),
        ("/roll", {"words": "30", "step": "40"}, "step"),
        ("/roll", {"disputed_text": ["One text.", "And another."]}, "2 texts"),
    ],
)
def test_what_is_wrong_with_a_form_is_said(
    client: TestClient, path: str, fields: dict[str, Any], said: str
) -> None:
    answer = client.post(path, **form(**fields), headers={"Accept": "text/html"})
    assert answer.status_code in (400, 422)
    assert said in answer.text


def test_candidates_who_are_left_empty_are_left_out() -> None:
    parts = [
        Part("candidate7_name", b"Zoe"),
        Part("candidate7_text", b"A text.\r\nOf two lines."),
        Part("candidate1_name", b" "),
        Part("candidate1_text", b""),
        Part("candidate1_file", b"", is_file=True),
    ]
    service = Service.open("general-en")
    answerer = QuestionAnswerer(service, Access(), FileReader(service.limits), WhichCandidate)
    service.close()
    fields = answerer.read(parts)
    assert [(one.called, one.pasted) for one in fields.candidates] == [
        ("Zoe", ["A text.\nOf two lines."])
    ]
    assert len(fields.shown) == 3
    assert len({one.number for one in fields.shown}) == 3
    assert answerer.read([]).settings == {
        "language": "",
        "prior_none": "0.5",
        "one_by_one": "",
        "explain": "",
    }


@pytest.mark.parametrize("path", ["/rank", "/roll"])
def test_an_example_stands_in_the_form(client: TestClient, path: str) -> None:
    page = client.get(f"{path}?example=two-writers").text
    assert 'value="Margery"' in page
    assert 'value="Dez"' in page
    assert client.get(f"{path}?example=../../etc/passwd").text == client.get(path).text


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    with running(service) as address:
        yield address


def opened(browser: Any, address: str, complaints: list[str], **options: Any) -> Any:
    page = browser.new_page(viewport={"width": 360, "height": 740}, **options)
    page.set_default_timeout(LONG)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    page.goto(address)
    return page


def fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_candidates_are_added_removed_and_ranked_on_a_phone(
    browser: Any, url: str, tmp_path: Path
) -> None:
    complaints: list[str] = []
    page = opened(browser, url, complaints)
    page.get_by_role("link", name="Which candidate?").click()
    assert page.locator("[aria-current=page]").inner_text() == "Which candidate?"
    page.click("#submit")
    assert "The disputed text has no text" in page.inner_text("#problem")
    page.fill("#disputed-text", DISPUTED)
    page.click("#submit")
    assert "fewer than two candidates" in page.inner_text("#problem")
    for name in NAMES:
        (tmp_path / "all" / name).mkdir(parents=True)
        for number, text in enumerate(KNOWN[name]):
            (tmp_path / "all" / name / f"{number}.txt").write_text(text, "utf-8")
    page.set_input_files("#candidate-folder", tmp_path / "all")
    assert page.input_value("#candidate3-name") == NAMES[2]
    assert page.locator("#candidate3-side .files li").count() == 3
    page.focus("#add-candidate")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "candidate4-name"
    page.keyboard.type("Dora")
    page.click("#submit")
    assert "Candidate 4 has no text" in page.inner_text("#problem")
    page.locator("#candidate4-side [data-remove-candidate]").click()
    assert page.evaluate("document.activeElement.id") == "add-candidate"
    assert page.evaluate(
        "[...document.querySelectorAll('input, textarea')].filter((field) => "
        "!field.labels?.length && !field.ariaLabel).length === 0"
    )
    page.click("#submit")
    page.locator("#result").wait_for()
    page.get_by_role("link", name="result as a page").wait_for()
    assert page.evaluate("document.activeElement.id") == "result"
    assert page.locator(".bars tbody tr").count() == 4  # and none of them
    assert page.get_by_role("link", name="result as JSON").count() == 1
    assert fits(page)
    assert complaints == []


def test_a_text_is_rolled_on_a_phone_in_colours(browser: Any, url: str) -> None:
    complaints: list[str] = []
    page = opened(browser, f"{url}/roll", complaints)
    page.fill("#disputed-text", " ".join([*KNOWN[NAMES[0]], *KNOWN[NAMES[1]]]))
    for number, name in enumerate(NAMES[:2], start=1):
        page.fill(f"#candidate{number}-name", name)
        page.fill(f"#candidate{number}-text", KNOWN[name][2])
    page.fill("#words", "40")
    page.fill("#step", "20")
    page.click("#submit")
    page.locator("#result").wait_for()
    page.get_by_role("link", name="result as a page").wait_for()
    colours = page.evaluate(
        "[...document.querySelectorAll('.rolled mark')].map((e) => "
        "getComputedStyle(e).backgroundColor)"
    )
    assert colours
    assert "rgba(0, 0, 0, 0)" not in colours
    assert "rgb(255, 255, 0)" not in colours  # what browsers give to a mark
    assert fits(page)
    assert complaints == []


def test_without_a_script_candidates_are_ranked_and_one_more_can_be_filled_in(
    browser: Any, url: str
) -> None:
    page = opened(browser, f"{url}/rank", [], java_script_enabled=False)
    page.fill("#disputed-text", DISPUTED)
    for number, name in enumerate(NAMES, start=1):
        page.fill(f"#candidate{number}-name", name)
        page.fill(f"#candidate{number}-text", KNOWN[name][0])
    page.click("#submit")
    page.locator("#result").wait_for()
    assert page.locator(".bars tbody tr").count() == 4
    assert page.locator(".downloads a").count() == 2
    assert page.input_value("#candidate2-text") == KNOWN[NAMES[1]][0]
    assert page.input_value("#candidate4-name") == ""
