"""The page in a real browser: pasted, dropped, by keyboard, on a phone, without a script.

With ADHOMINEM_SCREENSHOTS set to a folder, pictures of the page's states are left there.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from serving import BICYCLE, FERRY, GARDEN, POPULATION, RAILWAY, docx, open_service, running

from adhominem.web.guard import Access
from adhominem.web.service import Service

playwright_api = pytest.importorskip("playwright.sync_api")
Browser, Page, expect = playwright_api.Browser, playwright_api.Page, playwright_api.expect


PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}
LONG = 60_000  # milliseconds, on a busy machine
_DROP = """([side, files]) => {
  const transfer = new DataTransfer();
  for (const [name, data] of files) {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([bytes], name));
  }
  for (const kind of ["dragover", "drop"]) {
    document.querySelector(side).dispatchEvent(
      new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }
}"""
_UNLABELLED = """() => [...document.querySelectorAll("input, textarea, progress")].filter((field) =>
  !field.labels?.length && !field.ariaLabel && !field.getAttribute("aria-labelledby")
).map((field) => field.outerHTML)"""


@pytest.fixture(scope="module")
def service() -> Service:
    return open_service()


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    with running(service) as address:
        yield address


class Watched:
    """Pages whose every complaint and every request is noted."""

    def __init__(self, browser: Any, stack: ExitStack) -> None:
        self._browser, self._stack = browser, stack
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def open(self, address: str, **options: Any) -> Any:
        context = self._browser.new_context(viewport=DESKTOP, **options)
        self._stack.callback(context.close)
        page = context.new_page()
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("pageerror", lambda error: self._note("error", str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.set_default_timeout(LONG)
        page.goto(address)
        return page

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and "the server responded with a status of 4" not in text:
            self.complaints.append(text)


@pytest.fixture
def watched(browser: Any, url: str) -> Iterator[Watched]:
    with ExitStack() as stack:
        pages = Watched(browser, stack)
        yield pages
    assert pages.complaints == []
    ours = (url, "data:", "blob:", "http://127.0.0.1")
    assert [address for address in pages.requests if not address.startswith(ours)] == []


@pytest.fixture
def page(watched: Watched, url: str) -> Any:
    return watched.open(url)


def shoot(page: Any, name: str) -> None:
    if folder := os.environ.get("ADHOMINEM_SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def drop(page: Any, side: str, *files: tuple[str, bytes]) -> None:
    packed = [[name, base64.b64encode(data).decode()] for name, data in files]
    page.evaluate(_DROP, [side, packed])


def done(page: Any) -> None:
    expect(page.locator("#status")).to_have_text("Done.", timeout=LONG)


def fits(page: Any) -> bool:
    """Nothing makes the page scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_pasted_texts_are_compared_and_explained(page: Any) -> None:
    page.fill("#first-text", RAILWAY)
    page.fill("#second-text", GARDEN)
    expect(page.locator("#first-count")).to_have_text(f"{len(RAILWAY.split())} words")
    page.fill("#prior", "0.1")
    assert page.input_value("#prior-slider") == "0.1"
    page.click("#submit")
    done(page)
    shoot(page, "result")
    expect(page.locator(".verdict .verbal")).to_contain_text("The texts give")
    expect(page.locator(".verdict")).to_contain_text("the probability of one author from 0.1 to")
    expect(page.locator(".verdict")).to_contain_text("A Bayes factor is not a verdict")
    number = page.locator(".verdict .number strong").inner_text()
    assert number[0] in "+−0"
    assert number in page.locator("svg.gauge").get_attribute("aria-label")
    assert page.title() == "Result – AdHominem"
    assert focused(page) == "result"
    assert page.locator(".heat").count() == 2
    assert page.locator(".heat").first.inner_text().strip()[:40] == RAILWAY[:40]
    page.check("input[value=contributions]")
    shoot(page, "contributions")
    expect(page.locator("#submit")).to_be_enabled()


def test_the_result_can_be_taken_home(page: Any, tmp_path: Path) -> None:
    page.fill("#first-text", GARDEN)
    page.fill("#second-text", BICYCLE)
    page.click("#submit")
    done(page)
    saved = {}
    page.get_by_text("Write a report").click()
    page.fill("#case", "Case 7 <b>")
    page.fill("#first-text", "What was compared is reported, not what stands here by now.")
    with page.expect_download():
        page.click("#make-report")
    done(page)
    shoot(page, "report")
    for name in ("result as JSON", "explanation as JSON", "report"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name, exact=True).click()
        target = tmp_path / download.value.suggested_filename
        download.value.save_as(target)
        saved[target.name] = target.read_text("utf-8")
    assert set(saved) == {
        *("adhominem-verification.json", "adhominem-explanation.json", "adhominem-report.html")
    }
    assert json.loads(saved["adhominem-verification.json"])["prior_same_author"] == 0.5
    assert json.loads(saved["adhominem-explanation.json"])["texts"][1]["text"] == BICYCLE
    assert "vegetables" in saved["adhominem-report.html"]
    assert "Case 7 &lt;b&gt;" in saved["adhominem-report.html"]
    assert "stands here" not in saved["adhominem-report.html"]


def test_files_are_dropped_listed_and_removed(page: Any) -> None:
    drop(page, "#first-side", ("garden.txt", GARDEN.encode()), ("wrong.txt", b"wrong"))
    drop(page, "#second-side", ("bicycle.docx", docx(BICYCLE)))
    expect(page.locator("#first-side .files li")).to_have_count(2)
    expect(page.locator("#status")).to_contain_text("bicycle.docx added to the second side")
    page.get_by_role("button", name="Remove wrong.txt").click()
    shoot(page, "files")
    page.uncheck("#explain")
    page.click("#submit")
    done(page)
    material = page.locator(".material").text_content()
    assert "garden.txt" in material
    assert "bicycle.docx" in material
    assert "wrong.txt" not in material
    assert page.locator(".heat").count() == 0


def test_files_can_be_chosen_too_and_several_texts_pasted(page: Any, tmp_path: Path) -> None:
    (tmp_path / "railway.txt").write_text(RAILWAY, "utf-8")
    page.set_input_files("#first-files", tmp_path / "railway.txt")
    page.fill("#first-text", GARDEN)
    page.locator("#second-side").get_by_role("button", name="Add a text").click()
    assert focused(page) == "second-text-2"
    page.keyboard.type("A text that is taken away again.")
    page.get_by_role("button", name="Remove this text").click()
    page.locator("#second-side").get_by_role("button", name="Add a text").click()
    page.fill("#second-text", BICYCLE)
    page.fill("#second-text-2", BICYCLE[:1500].upper())
    page.uncheck("#explain")
    page.click("#submit")
    done(page)
    names = page.locator(".material dd div").all_text_contents()
    shown = [name.partition(",")[0] for name in names]
    assert shown[:4] == ["first-1", "railway.txt", "second-1", "second-2"]
    expect(page.locator(".beware")).to_contain_text("share a good part of their words")


def test_a_population_changes_what_the_texts_are_compared_with(page: Any, tmp_path: Path) -> None:
    table = tmp_path / "others.jsonl"
    table.write_text("".join(json.dumps({"text": text}) + "\n" for text in POPULATION), "utf-8")
    page.fill("#first-text", GARDEN)
    page.fill("#second-text", BICYCLE)
    page.set_input_files("#population", table)
    page.uncheck("#explain")
    page.click("#submit")
    done(page)
    expect(page.locator(".verdict")).to_contain_text("Population of 6 texts")


def test_what_is_missing_is_said_where_it_is_missing(page: Any) -> None:
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("The first side has no text.")
    assert focused(page) == "problem"
    assert page.get_attribute("#first-text", "aria-invalid") == "true"
    shoot(page, "error")
    page.get_by_role("link", name="Go to the field").press("Enter")
    assert focused(page) == "first-text"
    page.fill("#first-text", GARDEN)
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("The second side has no text.")
    page.fill("#second-text", BICYCLE)
    page.fill("#prior", "1.5")
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("between 0 and 1")
    page.fill("#prior", "0.5")
    page.uncheck("#explain")
    page.click("#submit")
    done(page)
    expect(page.locator("#problem")).to_be_empty()


def test_what_the_server_refuses_is_shown(page: Any) -> None:
    drop(page, "#first-side", ("letter.docx", b"no such thing"))
    page.fill("#second-text", BICYCLE)
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("letter.docx: the file is damaged")
    assert focused(page) == "problem"
    expect(page.locator("#submit")).to_be_enabled()


def test_what_is_too_large_is_not_sent(page: Any, service: Service) -> None:
    drop(page, "#first-side", ("novel.txt", b"x"))
    page.evaluate("document.getElementById('compare').dataset.mostBytes = 3000000")
    page.fill("#second-text", "a word " * 500_000)
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("more than 3 MB")


def test_a_short_text_gets_no_number_to_rely_on(page: Any) -> None:
    page.fill("#first-text", "Too short.")
    page.fill("#second-text", BICYCLE)
    page.uncheck("#explain")
    page.click("#submit")
    done(page)
    shoot(page, "short")
    expect(page.locator(".verbal")).to_contain_text("No statement is made")
    assert page.locator("svg.gauge").count() == 0
    assert "the probability of one author" not in page.locator(".verdict").inner_text()


def test_work_can_be_stopped(page: Any) -> None:
    def never_answered(route: Any) -> None:
        if route.request.method == "GET":
            route.continue_()

    page.route("**/*", never_answered)
    page.fill("#first-text", GARDEN)
    page.fill("#second-text", BICYCLE)
    page.click("#submit")
    expect(page.locator("#progress")).to_be_visible()
    shoot(page, "working")
    page.click("#cancel")
    expect(page.locator("#status")).to_have_text("Stopped.")
    expect(page.locator("#progress")).to_be_hidden()
    assert focused(page) == "submit"


def test_a_server_that_has_gone_is_named_as_the_cause(watched: Watched, url: str) -> None:
    page = watched.open(url)
    page.fill("#first-text", GARDEN)
    page.fill("#second-text", BICYCLE)
    page.route("**/*", lambda route: route.abort())
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("The server cannot be reached")
    watched.complaints.clear()  # the browser notes it, too


def test_the_keyboard_is_enough(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    visited = []
    for _ in range(30):
        page.keyboard.press("Tab")
        visited.append(page.evaluate("document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
        if visited[-1] == "texts by two writers":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#second-text")).to_have_value(FERRY)
    assert focused(page) == "submit"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    assert not page.is_checked("#explain")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    done(page)
    assert focused(page) == "result"


def test_everything_has_a_name_for_a_screen_reader(page: Any) -> None:
    assert page.evaluate(_UNLABELLED) == []
    assert page.get_attribute("#status", "aria-live") == "polite"
    assert page.get_attribute("#problem", "role") == "alert"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((e) => e.tagName)")
    assert levels[0] == "H1"


def test_on_a_phone_the_tab_that_is_open_is_seen_and_the_keyboard_begins_at_the_top(
    page: Any, url: str
) -> None:
    page.set_viewport_size({"width": 320, "height": 600})
    for address in ("/contrast", "/"):
        page.goto(url + address)
        inside = page.evaluate(
            """() => { const tab = document.querySelector(".tabs [aria-current]");
              const box = tab.getBoundingClientRect();
              return box.left >= 0 && box.right <= innerWidth; }"""
        )
        assert inside
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"


def test_a_phone_shows_all_of_it_without_scrolling_sideways(page: Any) -> None:
    page.set_viewport_size(PHONE)
    assert fits(page)
    shoot(page, "phone-form")
    page.click("#submit")
    expect(page.locator("#problem")).to_be_visible()
    assert fits(page)
    page.get_by_role("link", name="two texts by one writer").click()
    expect(page.locator("#second-text")).to_have_value(RAILWAY)
    long_name = f"{'a-very-long-name' * 10}.txt"
    drop(page, "#first-side", (long_name, (GARDEN + "W" * 300).encode()))
    assert fits(page)
    page.click("#submit")
    done(page)
    assert fits(page)
    for summary in page.locator("summary").all():
        summary.click()
    page.check("input[value=ngrams]")
    assert fits(page)
    shoot(page, "phone-result")
    page.set_viewport_size({"width": 320, "height": 600})
    assert fits(page)


def test_without_a_script_the_form_works(watched: Watched, url: str) -> None:
    page = watched.open(f"{url}/?example=one-writer", java_script_enabled=False)
    page.fill("#prior", "0.3")
    page.click("#submit")
    expect(page.locator(".verdict")).to_contain_text("the probability of one author from 0.3 to")
    assert page.input_value("#first-text") == GARDEN
    assert page.locator(".heat").count() == 2
    assert page.locator(".downloads a").count() == 3
    shoot(page, "without-script")
    page.fill("#first-text", "")
    page.click("#submit")
    expect(page.locator("#problem")).to_contain_text("there is no first text")


def test_without_a_script_the_browser_asks_for_the_token(
    watched: Watched, service: Service
) -> None:
    opened = Service(service.verifier, service.verifier)
    with running(opened, Access.of("127.0.0.1", token="s3cret")) as url:
        given = {"username": "anybody", "password": "s3cret", "send": "unauthorized"}
        page = watched.open(
            f"{url}/?example=one-writer", java_script_enabled=False, http_credentials=given
        )
        assert not page.is_visible("#token")
        expect(page.locator("#token-password")).to_be_visible()
        page.uncheck("#explain")
        page.click("#submit")
        expect(page.locator(".verdict")).to_contain_text("With your prior of 0.5")
        page.context.close()
        wrong = {**given, "password": "wrong"}
        page = watched.open(
            f"{url}/?example=one-writer", java_script_enabled=False, http_credentials=wrong
        )
        page.fill("#first-text", "a word " * 400_000)  # heard to its end, though not read
        page.click("#submit")
        expect(page.locator(".problem")).to_contain_text("The server wants a token")
        page.context.close()


@pytest.mark.parametrize("with_script", [True, False])
def test_the_page_works_under_another_name_by_plain_http(
    service: Service, chromium: str, with_script: bool
) -> None:
    """There a browser tells less of where a request comes from."""
    opened = Service(service.verifier, service.verifier)
    rule = "--host-resolver-rules=MAP texts.example 127.0.0.1"
    with (
        running(opened, Access.of("127.0.0.1", names=["texts.example"])) as url,
        # Another thread: the module's browser has a loop in this one.
        ThreadPoolExecutor(1) as pool,
    ):

        def compare() -> str:
            with playwright_api.sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox", rule]
                )
                page = browser.new_context(java_script_enabled=with_script).new_page()
                page.set_default_timeout(LONG)
                page.goto(f"http://texts.example:{url.rpartition(':')[2]}/?example=one-writer")
                page.uncheck("#explain")
                page.click("#submit")
                page.locator(".verdict").wait_for()
                return str(page.locator(".verdict").inner_text())

        assert "With your prior of 0.5" in pool.submit(compare).result(2 * LONG / 1000)


def test_the_token_is_asked_for_and_kept_nowhere(watched: Watched, service: Service) -> None:
    opened = Service(service.verifier, service.verifier)
    with running(opened, Access.of("127.0.0.1", token="s3crét €")) as url:
        page = watched.open(url)
        page.get_by_role("link", name="two texts by one writer").click()
        expect(page.locator("#second-text")).to_have_value(RAILWAY)
        page.uncheck("#explain")
        page.click("#submit")
        expect(page.locator("#problem")).to_contain_text("Enter this server's token")
        expect(page.locator("#token-password")).to_be_hidden()
        page.fill("#token", "wrong")
        page.click("#submit")
        expect(page.locator("#problem")).to_contain_text("This is not the token of this server")
        expect(page.locator("#problem")).not_to_contain_text("Bearer")
        page.fill("#token", "s3crét €")
        page.click("#submit")
        done(page)
        kept = page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
        assert kept == [0, 0, ""]
        assert not any("s3cr" in address for address in watched.requests)
        page.context.close()


def test_the_pages_for_programs_can_be_read_on_a_phone(watched: Watched, url: str) -> None:
    page = watched.open(f"{url}/docs")
    page.set_viewport_size(PHONE)
    assert fits(page)
    expect(page.get_by_role("heading", name="POST /api/explain")).to_be_visible()
    shoot(page, "docs")


def test_a_hostile_text_is_shown_and_not_obeyed(page: Any) -> None:
    page.fill("#first-text", f"<img src=x onerror=alert(1)><script>alert(2)</script> {GARDEN}")
    page.fill("#second-text", BICYCLE)
    page.on("dialog", lambda dialog: pytest.fail("a text was obeyed"))
    page.click("#submit")
    done(page)
    assert page.locator("#answer img, #answer script").count() == 0
    assert "<img src=x" in page.locator(".heat").first.inner_text()
