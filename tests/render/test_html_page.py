"""The page in a browser: the switch, the tip, the places of n-grams, and a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from made_up import FIRST, SECOND, explanation

from adhominem.render import html as module
from adhominem.render.html import SCRIPT, STYLE, explanation_fragment, explanation_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TIP = ".explanation-tip"
STRICT = "default-src 'none'; style-src 'self'; script-src 'self'"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(explanation_page(explanation(FIRST * 8, SECOND * 8)), "utf-8")
    return path


class Watched:
    """A page, with all that it asks for and complains of."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))


@pytest.fixture
def watched(browser: Browser, file: Path) -> Iterator[Watched]:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    result = Watched(page)
    page.goto(file.as_uri())
    yield result
    assert result.complaints == []
    assert [
        url for url in result.asked if not url.endswith(("/report.html", "/style", "/script"))
    ] == []
    page.close()


def background(page: Page, selector: str) -> str:
    result: Any = page.eval_on_selector(selector, "each => getComputedStyle(each).backgroundColor")
    return str(result)


def view(page: Page) -> str:
    return page.locator("fieldset :checked").input_value()


def test_the_page_asks_for_nothing_but_itself(watched: Watched, file: Path) -> None:
    assert watched.asked == [file.as_uri()]


def test_the_views_are_switched_by_the_keyboard(watched: Watched) -> None:
    page = watched.page
    token, passage, mark = ".heat .t5", '.heat [class*="same"]', 'mark[class="same5"]'
    none = "rgba(0, 0, 0, 0)"
    assert background(page, token) == "rgb(252, 172, 147)"
    page.keyboard.press("Tab")
    assert view(page) == "attention"
    page.keyboard.press("ArrowRight")
    assert view(page) == "contributions"
    assert background(page, token) == none
    assert background(page, passage) != none
    assert background(page, mark) == none
    page.keyboard.press("ArrowRight")
    assert view(page) == "ngrams"
    assert background(page, passage) == none
    assert background(page, mark) == "rgb(63, 170, 157)"
    assert page.locator(".ngrams table").is_visible()
    page.keyboard.press("ArrowRight")
    assert view(page) == "plain"
    assert {background(page, selector) for selector in (token, passage, mark)} == {none}
    assert not page.locator(".ngrams table").is_visible()


def test_the_signs_of_contributions_differ_in_more_than_colour(watched: Watched) -> None:
    page = watched.page
    page.locator("input[value=contributions]").check()
    for side, stroke, sign in (("same", "solid", '"+"'), ("diff", "dotted", '"−"')):
        result = page.eval_on_selector(
            f'.heat .passage[class*="{side}"]',
            "each => [getComputedStyle(each).borderBottomStyle,"
            " getComputedStyle(each, '::before').content]",
        )
        assert result == [stroke, sign]


def test_the_weights_are_told_where_the_pointer_is(watched: Watched) -> None:
    page = watched.page
    tip = page.locator(TIP)
    token = page.locator(".heat .passage span").first
    token.scroll_into_view_if_needed()
    page.wait_for_timeout(100)  # what scrolls under the pointer hides the tip
    token.hover()
    assert "Token: " in tip.inner_text()
    assert "Passage 1 of " in tip.inner_text()
    assert token.get_attribute("title") is None  # or there would be two tips
    page.locator("h1").hover()
    assert tip.is_hidden()


def test_the_arrow_keys_go_from_passage_to_passage_and_tell_the_weights(watched: Watched) -> None:
    page = watched.page
    page.locator("input[value=plain]").focus()
    page.locator("input[value=attention]").check()
    page.keyboard.press("Tab")  # what folds the text
    page.keyboard.press("Tab")
    tip = page.locator(TIP)
    assert tip.inner_text().startswith("Passage 1 of ")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("Passage 2 of ")
    page.keyboard.press("End")
    page.wait_for_timeout(100)
    assert tip.is_visible()
    page.keyboard.press("Home")
    assert tip.inner_text().startswith("Passage 1 of ")
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    page.keyboard.press("Tab")  # to the other text, not through all passages
    assert page.evaluate("document.activeElement.closest('.side').previousElementSibling !== null")


def test_the_places_of_an_ngram_are_shown_one_after_the_other(watched: Watched) -> None:
    page = watched.page
    page.locator("input[value=ngrams]").check()
    page.get_by_role("button", name="old mill").press("Enter")
    bar = page.locator(".places")
    assert bar.locator("output").inner_text() == "“old mill”: place 1 of 24"
    assert page.locator("mark.current").all_inner_texts() == ["old", " ", "m", "ill"]
    page.get_by_role("button", name="Previous").click()
    assert "place 24 of 24" in bar.inner_text()
    assert page.locator("mark.current").first.is_visible()
    page.get_by_role("button", name="Close").click()
    assert bar.is_hidden()
    assert page.locator(".chosen").count() == 0
    page.locator("tr[data-ngram='0'] td").first.click()  # anywhere in the row
    assert "“the”: place 1 of " in bar.inner_text()


@pytest.mark.parametrize("chosen", ["attention", "contributions", "ngrams", "plain"])
def test_a_phone_need_not_scroll_sideways(watched: Watched, chosen: str) -> None:
    page = watched.page
    page.set_viewport_size({"width": 340, "height": 700})
    page.locator(f"input[value={chosen}]").check()
    assert page.evaluate("document.documentElement.scrollWidth") <= 340


def test_without_scripts_attention_is_shown_and_the_switch_works(
    browser: Browser, file: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator(".how.attention").is_visible()
    assert (page.locator(".heat .passage").first.get_attribute("title") or "").startswith(
        "Passage 1"
    )
    page.locator("input[value=ngrams]").check()
    assert page.locator(".ngrams table").is_visible()
    context.close()


def test_a_fragment_works_under_a_policy_without_anything_inline(browser: Browser) -> None:
    page = browser.new_page()
    result = Watched(page)
    body = (
        '<!DOCTYPE html><html lang="en"><head><title>x</title><link rel="stylesheet" href="/style">'
        f'<script src="/script" defer></script></head><body>{explanation_fragment(explanation())}'
        "</body></html>"
    )
    served = {
        "/": (body, "text/html"),
        "/style": (STYLE, "text/css"),
        "/script": (SCRIPT, "text/javascript"),
    }

    def serve(route: Any) -> None:
        path = "/" + route.request.url.split("/", 3)[3]
        if path not in served:
            route.fulfill(status=204)
            return
        text, kind = served[path]
        headers = {"Content-Security-Policy": STRICT, "Content-Type": f"{kind}; charset=utf-8"}
        route.fulfill(body=text, headers=headers)

    page.route("**/*", serve)
    page.goto("http://example.test/")
    assert background(page, ".heat .t5") == "rgb(252, 172, 147)"
    page.locator(".heat .passage span").first.hover()
    assert "Passage 1 of " in page.locator(TIP).inner_text()
    page.locator("input[value=ngrams]").check()
    page.get_by_role("button", name="old mill").click()
    assert page.locator(".places").is_visible()
    assert result.complaints == []
    page.close()


def test_it_prints_the_chosen_view_and_the_table_without_the_switch(
    watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    page.emulate_media(media="print")
    assert page.locator("fieldset").is_hidden()
    assert page.locator(".ngrams table").is_visible()
    assert page.locator(".how.attention").is_visible()
    assert (
        page.eval_on_selector(".heat", "each => getComputedStyle(each).printColorAdjust") == "exact"
    )
    page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    assert (tmp_path / "page.pdf").stat().st_size > 5000


def test_a_long_text_is_drawn_where_it_is_looked_at_and_has_its_height(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [(text + "\n\n") * 60 for text in (FIRST, SECOND)]
    heights = []
    for name, patched in (("whole", {}), ("parts", {"_LONG": 0, "_PART": 300})):
        for constant, value in patched.items():
            monkeypatch.setattr(module, constant, value)
        path = tmp_path / f"{name}.html"
        path.write_text(explanation_page(explanation(*texts)), "utf-8")
        page = browser.new_page(viewport={"width": 1200, "height": 900}, bypass_csp=True)
        page.goto(path.as_uri())
        if patched:
            page.locator("input[value=plain]").focus()
            page.locator("input[value=attention]").check()
            page.keyboard.press("Tab")  # what folds the text
            page.keyboard.press("Tab")
            page.keyboard.press("End")
            last = page.locator(".heat").first.locator(".passage:not(.more)").last
            assert last.evaluate("passage => passage === document.activeElement")
            place = page.locator("mark.current").first
            page.locator("input[value=ngrams]").check()
            page.locator("button.gram").first.click()
            page.locator(".places button[value='-1']").click()
            page.wait_for_timeout(100)
            top = place.evaluate("mark => mark.getBoundingClientRect().top")
            assert 0 <= top < 900
            page.locator("input[value=attention]").check()
            page.add_style_tag(content=".part { content-visibility: visible !important; }")
        heights.append(page.locator(".heat").first.evaluate("heat => heat.offsetHeight"))
        page.close()
    assert heights[0] == heights[1] > 1_500
