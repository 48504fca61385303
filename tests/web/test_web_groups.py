"""The forms “How many writers?” and “What differs?”, in a browser and without a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import made_up_rows
from fastapi.testclient import TestClient
from serving import running

from adhominem.web.guard import LINES
from adhominem.web.server import create_app
from adhominem.web.service import Service

ROWS = made_up_rows(3, 3, "g")
NAMES = sorted({row["author"] for row in ROWS})
KNOWN = {name: [row["text"] for row in ROWS if row["author"] == name] for name in NAMES}
TEXTS = [row["text"] for row in ROWS]
LONG = 60_000  # milliseconds, on a busy machine
NO_FILE = ("population", ("", b""))


@pytest.fixture(scope="module")
def client(mixed_folder: Path) -> Iterator[TestClient]:
    opened = Service.open(mixed_folder)
    yield TestClient(create_app(opened), raise_server_exceptions=False)
    opened.close()


def events(client: TestClient, path: str, data: Any, files: Any = ()) -> dict[str, Any]:
    answer = client.post(path, data=data, files=[NO_FILE, *files], headers={"Accept": LINES})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = {}
    for line in answer.text.splitlines():
        told |= json.loads(line)
    return told


def test_texts_in_folders_are_clustered_and_held_against_the_folders(client: TestClient) -> None:
    files = [
        ("texts_file", (f"{row['author']}/{number}.txt", row["text"].encode()))
        for number, row in enumerate(ROWS)
    ]
    told = events(client, "/cluster", {"prior": "0,1"}, files)
    clustering = told["clustering"]
    assert clustering["prior_same_author"] == 0.1
    assert [text["author"] for text in clustering["texts"]] == [row["author"] for row in ROWS]
    assert clustering["measures"]["authors"] == 3
    assert "How many people wrote these texts?" in told["verdict"]
    assert "BCubed" in told["verdict"]
    assert "style=" not in told["verdict"]  # which the policy of the page forbids
    assert told["page"].startswith("<!DOCTYPE html>")
    same = client.post(
        "/api/cluster",
        json={
            "texts": [{"text": row["text"], "author": row["author"]} for row in ROWS],
            "prior_same_author": 0.1,
        },
    ).json()
    assert [text["cluster"] for text in clustering["texts"]] == [
        text["cluster"] for text in same["texts"]
    ]


def test_pasted_texts_and_a_population_are_clustered(client: TestClient) -> None:
    others = "".join(json.dumps({"text": row["text"]}) + "\n" for row in made_up_rows(7, 1, "o"))
    files = [("population", ("others.jsonl", others.encode()))]
    told = events(client, "/cluster", {"texts_text": TEXTS[:4]}, files)
    assert told["clustering"]["population_texts"] == 7
    assert told["clustering"]["measures"] is None
    assert [text["name"] for text in told["clustering"]["texts"]][:2] == ["text (1)", "text (2)"]


def test_two_sides_are_contrasted(client: TestClient) -> None:
    data = {
        "first_name": "Anne",
        "first_text": KNOWN[NAMES[0]],
        "second_text": KNOWN[NAMES[1]],
        "top": "3",
        "slice": "50",
    }
    files = [("second_file", ("more.txt", KNOWN[NAMES[2]][0].encode()))]
    told = events(client, "/contrast", data, files)
    contrast = told["contrast"]
    assert (contrast["first"]["name"], contrast["second"]["name"]) == ("Anne", "Second side")
    assert contrast["second"]["texts"] == 4
    assert all(len(group["first"]) <= 3 for group in contrast["groups"])
    assert "What sets Anne and Second side apart?" in told["verdict"]
    assert "style=" not in told["verdict"]


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        ("/cluster", {"texts_text": TEXTS[0]}, "expected several"),
        ("/cluster", {"texts_text": TEXTS, "prior": "1"}, "expected a number, above 0 to below 1"),
        ("/cluster", {"texts_text": TEXTS, "words": "5"}, "is not known"),
        ("/contrast", {"first_text": TEXTS[0]}, "no texts"),
        ("/contrast", {"first_text": "a b", "second_text": "c d", "top": "many"}, "whole number"),
        ("/contrast", {"first_text": "a b", "second_text": "c d", "slice": "1"}, "slice"),
        ("/contrast", {"first_name": "x", "second_name": "x"}, "named &#39;x&#39;"),
    ],
)
def test_what_is_wrong_with_a_form_is_said(
    client: TestClient, path: str, data: dict[str, Any], said: str
) -> None:
    answer = client.post(path, data=data, files=[NO_FILE], headers={"Accept": "text/html"})
    assert answer.status_code in (400, 422)
    assert said in answer.text


@pytest.mark.parametrize("path", ["/cluster", "/contrast"])
def test_an_example_stands_in_the_form(client: TestClient, path: str) -> None:
    assert "strong opinions about beans" in client.get(f"{path}?example=two-writers").text
    assert client.get(f"{path}?example=../../etc/passwd").text == client.get(path).text


@pytest.fixture(scope="module")
def url(mixed_folder: Path) -> Iterator[str]:
    with running(Service.open(mixed_folder)) as address:
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


def finished(page: Any) -> None:
    page.locator("#result").wait_for()
    page.get_by_role("link", name="result as a page").wait_for()
    assert page.evaluate("document.activeElement.id") == "result"
    assert page.get_by_role("link", name="result as JSON").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(
        "[...document.querySelectorAll('input, textarea')].filter((field) => "
        "!field.labels?.length && !field.ariaLabel).length === 0"
    )


def test_a_folder_is_chosen_and_clustered_on_a_phone(
    browser: Any, url: str, tmp_path: Path
) -> None:
    complaints: list[str] = []
    page = opened(browser, url, complaints)
    page.get_by_role("link", name="How many writers?").click()
    page.click("#submit")
    assert "The collection has no text" in page.inner_text("#problem")
    for name in NAMES:
        (tmp_path / "all" / name).mkdir(parents=True)
        for number, text in enumerate(KNOWN[name]):
            (tmp_path / "all" / name / f"{number}.txt").write_text(text, "utf-8")
    (tmp_path / "all" / "picture.png").write_bytes(b"none of ours")
    page.set_input_files("#texts-folder", tmp_path / "all")
    assert page.locator(".files li").count() == 9
    assert f"{NAMES[0]}/0.txt" in page.inner_text(".files")
    page.locator(".files button").first.click()
    page.focus("#submit")
    page.keyboard.press("Enter")
    finished(page)
    assert "8 texts" in page.inner_text("#answer")
    assert complaints == []


def test_two_people_are_contrasted_on_a_phone(browser: Any, url: str) -> None:
    complaints: list[str] = []
    page = opened(browser, f"{url}/contrast", complaints)
    for side, name in zip(("first", "second"), NAMES, strict=False):
        page.fill(f"#{side}-name", name)
        page.fill(f"#{side}-text", KNOWN[name][0])
        page.locator(f"#{side}-side [data-add]").click()
        assert page.inner_text(f"label[for={side}-text-2]") == "Another text of this side"
        page.keyboard.type(KNOWN[name][1][:200])
    page.click("#submit")
    finished(page)
    assert f"What sets {NAMES[0]} and {NAMES[1]} apart?" in page.inner_text("#result")
    assert complaints == []


def test_without_a_script_both_forms_answer_with_a_page(browser: Any, url: str) -> None:
    page = opened(browser, f"{url}/cluster?example=two-writers", [], java_script_enabled=False)
    assert page.locator("textarea").count() == 6
    page.click("#submit")
    page.locator("#result").wait_for()
    assert "6 texts" in page.inner_text("#answer")
    assert page.locator(".downloads a").count() == 2
    page = opened(browser, f"{url}/contrast?example=two-writers", [], java_script_enabled=False)
    page.click("#submit")
    page.locator("#result").wait_for()
    assert page.input_value("#first-name") == "Margery"


@pytest.mark.parametrize(
    ("tab", "place"), [("cluster", "#texts-side .drop"), ("rank", "#more-candidates")]
)
def test_a_folder_can_be_dropped(
    browser: Any, url: str, tmp_path: Path, tab: str, place: str
) -> None:
    complaints: list[str] = []
    page = opened(browser, f"{url}/{tab}", complaints)
    for name in NAMES:
        (tmp_path / "all" / name).mkdir(parents=True)
        for number, text in enumerate(KNOWN[name]):
            (tmp_path / "all" / name / f"{number}.txt").write_text(text, "utf-8")
    page.wait_for_load_state("load")  # the script has run
    page.locator(place).scroll_into_view_if_needed()
    box = page.locator(place).bounding_box()
    devices = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        files = {"items": [], "files": [str(tmp_path / "all")], "dragOperationsMask": 1}
        where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        devices.send("Input.dispatchDragEvent", {"type": kind, **where, "data": files})
    page.locator(".files li").nth(8).wait_for()
    assert page.locator(".files li").count() == 9
    if tab == "rank":
        assert [page.input_value(f"#candidate{at}-name") for at in (1, 2, 3)] == NAMES
    assert complaints == []
