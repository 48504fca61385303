"""The map's page in a browser: what it draws, and what pointer and keys do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
from made_maps import AUTHORS, NASTY, made

from adhominem.questions.cluster.cluster import Cluster
from adhominem.questions.map.corpus_map import CorpusMap, Projection
from adhominem.questions.map.page import draw_documents, map_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


class Shown:
    """An open page, and all that it asked for and complained of."""

    def __init__(self, browser: Browser, path: Path, width: int, height: int, **options: Any):
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(".leaf")

    def at(self, document: int) -> tuple[float, float]:
        """Where the point of a document is in the window."""
        box = self.page.locator(f'.point[data-document="{document}"] path').bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def lit(self, kind: str) -> set[int]:
        """The documents whose points or leaves are not dimmed."""
        result = self.page.eval_on_selector_all(
            f".{kind}", "all => all.map(e => [+e.dataset.document, +e.getAttribute('opacity')])"
        )
        return {document for document, opacity in result if opacity == 1}

    def until(self, condition: str) -> None:
        """Wait for it; the page's policy forbids Playwright's own way of waiting."""
        for _ in range(100):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(condition)

    @property
    def card(self) -> str:
        """What the card says; empty if it is not there."""
        card = self.page.locator("#card")
        return card.inner_text() if card.is_visible() else ""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "map.html"
    path.write_text(map_page(made()), "utf-8")
    return path


@pytest.fixture
def shown(browser: Browser, path: Path) -> Iterator[Shown]:
    shown = Shown(browser, path, 1300, 900)
    yield shown
    assert shown.complaints == []
    assert shown.asked == [path.as_uri()]  # and nothing else, from anywhere
    shown.context.close()


def test_every_document_is_a_point_a_leaf_and_a_row(shown: Shown) -> None:
    page = shown.page
    for kind in (".point", ".leaf", "tbody tr"):
        assert page.locator(kind).count() == 24
    assert page.locator("#unscripted").count() == 0
    assert page.locator(".branch").count() == 23
    assert page.locator("#bad").count() == 0
    first = page.locator('.point[data-document="2"]')
    assert first.get_attribute("aria-label") == f"{NASTY}/text 2, {NASTY}"
    assert "component 1 (50.0% of the variance)" in page.locator("#map").inner_html()
    assert page.locator("details").get_attribute("open") is None
    page.locator("summary").click()
    assert page.locator("tbody tr").first.is_visible()


def test_points_are_where_their_places_are(shown: Shown) -> None:
    places = made().projections[0].places
    result = np.array([shown.at(document) for document in range(24)])
    # Of one scale for both axes; upwards in the map is downwards on the screen.
    scale = np.ptp(result[:, 0]) / np.ptp(places[:, 0])
    expected = (places - places[0]) * [scale, -scale] + result[0]
    np.testing.assert_allclose(result, expected, atol=1.5)


def test_pointing_at_a_point_shows_it_in_both_pictures(shown: Shown) -> None:
    drawn = made()
    shown.page.mouse.move(*shown.at(5))
    name, nearest = drawn.documents[5].name, drawn.nearest[5][0]
    assert name in shown.card
    assert "1,005 words" in shown.card
    assert drawn.documents[nearest].name in shown.card
    assert f"{drawn.log10_bayes_factors[5, nearest]:+.2f}".replace("-", "−") in shown.card
    leaf = shown.page.locator('.leaf[data-document="5"]')
    assert leaf.locator("text").get_attribute("font-weight") == "700"
    assert shown.page.locator("#map circle[visibility=visible]").count() == 1
    shown.page.mouse.move(3, 3)
    assert shown.card == ""
    assert leaf.locator("text").get_attribute("font-weight") == "400"


def test_pointing_at_a_leaf_shows_its_point(shown: Shown) -> None:
    shown.page.locator('.leaf[data-document="7"] rect').hover()
    assert "/text 7" in shown.card
    assert "author not named" in shown.card
    ring = shown.page.locator("#map circle").bounding_box()
    x, y = shown.at(7)
    assert ring is not None
    assert ring["x"] < x < ring["x"] + ring["width"]
    assert ring["y"] < y < ring["y"] + ring["height"]


def test_a_click_holds_a_document_and_its_neighbours_can_be_followed(shown: Shown) -> None:
    page = shown.page
    page.mouse.click(*shown.at(5))
    page.mouse.move(3, 3)
    assert made().documents[5].name in shown.card
    assert page.locator('.point[data-document="5"]').get_attribute("aria-pressed") == "true"
    nearest = made().nearest[5][0]
    page.locator("#card td button").first.click()
    page.mouse.move(3, 3)
    assert page.locator("#card .name").inner_text() == made().documents[nearest].name
    page.locator("#card .close").click()
    page.mouse.move(3, 3)
    assert shown.card == ""


def test_the_keyboard_reaches_every_document(shown: Shown) -> None:
    page = shown.page
    page.locator("#save-map-png").focus()
    page.keyboard.press("Tab")
    assert "/text 0" in shown.card
    start = shown.at(0)
    page.keyboard.press("ArrowRight")
    focused = page.evaluate("+document.activeElement.dataset.document")
    assert shown.at(focused)[0] > start[0]
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")  # one stop for all points
    assert page.evaluate("document.activeElement.classList.contains('point')") is False
    assert made().documents[focused].name in shown.card
    page.keyboard.press("Escape")
    assert shown.card == ""

    order = made().order
    page.locator(f'.leaf[data-document="{order[0]}"]').focus()
    for key, expected in (("ArrowDown", 1), ("ArrowDown", 2), ("End", 23), ("Home", 0)):
        page.keyboard.press(key)
        assert page.evaluate("+document.activeElement.dataset.document") == order[expected]
    assert made().documents[order[0]].name in shown.card


def test_the_legend_lights_up_authors(shown: Shown) -> None:
    page = shown.page
    everything = set(range(24))
    assert shown.lit("point") == shown.lit("leaf") == everything
    legend = page.locator("[data-marker]")
    assert [text.split()[0] for text in legend.all_inner_texts()][1:3] == ["Ann", "Bob"]
    legend.filter(has_text="Bob").click()
    bob = {number for number in everything if number % 4 == 1}
    assert shown.lit("point") == shown.lit("leaf") == bob
    assert page.locator("#found").inner_text() == "6 of 24 documents"
    legend.filter(has_text="not named").click()
    assert shown.lit("point") == bob | {number for number in everything if number % 4 == 3}
    page.locator("#clear").click()
    assert shown.lit("point") == everything
    assert page.locator("#clear").is_hidden()
    assert page.locator("[data-marker][aria-pressed=true]").count() == 0


def test_the_search_finds_names_and_authors(shown: Shown) -> None:
    page = shown.page
    page.locator("#search").fill("TEXT 1")
    assert shown.lit("point") == {1, *range(10, 20)}
    page.locator("#search").fill("</SCRIPT>")
    assert shown.lit("leaf") == {number for number in range(24) if number % 4 == 2}
    page.locator("#search").fill("nobody")
    assert page.locator("#found").inner_text() == "0 of 24 documents"
    page.locator("#search").fill("")
    assert page.locator("#found").inner_text() == ""


def test_another_projection_moves_the_points(shown: Shown) -> None:
    page = shown.page
    before = [shown.at(document) for document in range(24)]
    page.get_by_role("button", name="t-SNE").click()
    after = [shown.at(document) for document in range(24)]
    assert before != after
    assert page.locator("[data-projection][aria-pressed=true]").inner_text() == "t-SNE"
    assert page.locator("#caption").inner_text().startswith("t-SNE keeps neighbours")
    assert "variance" not in page.locator("#map").inner_html()
    page.get_by_role("button", name="PCA").click()
    np.testing.assert_allclose([shown.at(document) for document in range(24)], before)


def test_the_map_is_zoomed_and_pulled_and_found_again(shown: Shown) -> None:
    page = shown.page
    before = np.array([shown.at(document) for document in range(24)])
    page.locator("#closer").click()
    zoomed = np.array([shown.at(document) for document in range(24)])
    np.testing.assert_allclose(np.ptp(zoomed, axis=0), 1.5 * np.ptp(before, axis=0), atol=1)
    box = page.locator("#map").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y + 20, steps=4)
    page.mouse.up()
    pulled = np.array([shown.at(document) for document in range(24)])
    np.testing.assert_allclose(pulled - zoomed, np.broadcast_to([40, 20], (24, 2)), atol=1)
    assert page.locator("[aria-pressed=true].point").count() == 0  # a pull is no click
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    shown.until("document.querySelector('#map').classList.contains('zoomed')")
    page.locator("#whole").click()
    np.testing.assert_allclose([shown.at(document) for document in range(24)], before, atol=0.5)
    page.mouse.move(x, y)
    page.mouse.wheel(0, 200)  # without the key, the page scrolls and the map stays as it is
    shown.until("window.scrollY > 0")
    assert page.locator("#map.zoomed").count() == 0


def test_pointing_at_a_branch_lights_up_what_is_below_it(shown: Shown) -> None:
    drawn = made()
    join = drawn.joins[0]
    page = shown.page
    page.locator('.branch[data-join="0"]').dispatch_event("pointerover", {"bubbles": True})
    assert shown.lit("point") == shown.lit("leaf") == {join.first, join.second}
    assert "2 documents" in shown.card
    assert f"{join.likeness:+.2f}" in shown.card
    page.locator('.branch[data-join="0"]').dispatch_event("pointerout", {"bubbles": True})
    assert len(shown.lit("point")) == 24
    assert shown.card == ""


def test_a_join_stands_at_its_bayes_factor_on_the_axis(shown: Shown) -> None:
    """The axis falls to the right, and lines of the tree stand where its ticks say."""
    ticks = shown.page.eval_on_selector_all(
        "#axis text[text-anchor=middle]",
        "all => all.map(e => [parseFloat(e.textContent.replace('−', '-')), +e.getAttribute('x')])",
    )
    values, xs = np.array(ticks).T
    slope, start = np.polyfit(values, xs, 1)
    assert slope < 0
    paths = shown.page.eval_on_selector_all(".branch", "all => all.map(e => e.getAttribute('d'))")
    for join, path in zip(made().joins, paths, strict=True):
        where = float(path.split("H")[1].split("V")[0])
        assert where == pytest.approx(start + slope * join.likeness, abs=0.5)


def test_pictures_can_be_saved_as_svg(shown: Shown) -> None:
    for button, name, leaves in (
        ("#save-map-svg", "pca.svg", 0),
        ("#save-tree-svg", "tree.svg", 24),
    ):
        with shown.page.expect_download() as download:
            shown.page.locator(button).click()
        assert download.value.suggested_filename == name
        tree = ElementTree.parse(download.value.path()).getroot()
        assert tree.tag == "{http://www.w3.org/2000/svg}svg"
        classes = [node.get("class") for node in tree.iter()]
        assert classes.count("leaf") == leaves
        assert classes.count("point") == 24 - leaves
    shown.asked = shown.asked[:1]  # what was saved came out of the page itself


def test_pictures_can_be_saved_as_png(shown: Shown) -> None:
    for button, name in (("#save-map-png", "pca.png"), ("#save-tree-png", "tree.png")):
        with shown.page.expect_download() as download:
            shown.page.locator(button).click()
        assert download.value.suggested_filename == name
        data = download.value.path().read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000  # it is not empty
    shown.asked = shown.asked[:1]


def test_names_are_written_where_they_hide_nothing(shown: Shown) -> None:
    page = shown.page
    names = page.locator("#map g[font-size='11'] text")
    assert page.locator("#names").is_checked()
    boxes = names.evaluate_all(
        "all => all.map(e => e.getBBox()).map(b => [b.x, b.y, b.x + b.width, b.y + b.height])"
    )
    assert 5 < len(boxes) <= 24
    for at, one in enumerate(boxes):
        for other in boxes[:at]:
            overlap = [min(one[2 + k], other[2 + k]) - max(one[k], other[k]) for k in (0, 1)]
            assert min(overlap) < 1
    page.locator("#names").uncheck()
    assert names.count() == 0


def test_nothing_runs_over_the_edge_of_a_phone(browser: Browser, path: Path) -> None:
    shown = Shown(browser, path, 360, 740, is_mobile=True, has_touch=True)
    page = shown.page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for picture in ("#map", "#tree"):
        box = page.locator(picture).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    page.locator("#map").scroll_into_view_if_needed()
    page.touchscreen.tap(*shown.at(6))
    assert "/text 6" in shown.card
    card = page.locator("#card").bounding_box()
    assert card is not None
    assert card["width"] > 300
    assert card["x"] + card["width"] <= 360
    assert shown.complaints == []
    shown.context.close()


def test_it_is_drawn_again_when_the_window_changes(shown: Shown) -> None:
    page = shown.page
    page.mouse.click(*shown.at(5))
    page.set_viewport_size({"width": 800, "height": 700})
    shown.until("document.querySelector('#map').viewBox.baseVal.width > 700")
    assert page.locator(".point").count() == 24
    page.mouse.move(3, 3)
    assert made().documents[5].name in shown.card


def test_it_prints_without_its_controls(shown: Shown) -> None:
    shown.page.emulate_media(media="print")
    for control in ("#search", "#closer", "#save-tree-svg", "#names"):
        assert shown.page.locator(control).is_hidden()
    for kept in ("#map", "#tree", ".legend"):
        assert shown.page.locator(kept).is_visible()


@pytest.mark.parametrize("documents", [1, 2, 3])
def test_few_documents_are_drawn_too(documents: int, browser: Browser, tmp_path: Path) -> None:
    drawn = made(documents)
    if documents == 2:  # copies of one text
        places = np.zeros((2, 2))
        drawn = replace(drawn, projections=(Projection("PCA", places, (0.0, 0.0)),))
    (tmp_path / "map.html").write_text(map_page(drawn), "utf-8")
    shown = Shown(browser, tmp_path / "map.html", 1000, 800)
    assert shown.page.locator(".point").count() == documents
    assert shown.page.locator(".branch").count() == documents - 1
    for document in range(documents):
        x, y = shown.at(document)
        assert 0 < x < 1000
        assert y > 0
    shown.page.mouse.move(*shown.at(0))
    assert "/text" in shown.card
    assert "NaN" not in shown.page.content()
    assert shown.complaints == []
    shown.context.close()


def test_without_scripts_there_is_the_table(browser: Browser, path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert "does not run" in page.locator("#unscripted").inner_text()
    page.locator("summary").click()
    assert page.locator("tbody tr").count() == 24
    context.close()


def in_groups(documents: int = 24) -> CorpusMap:
    """The same in two groups by evidence, and six texts alone."""
    drawn = made(documents)
    groups = [tuple(range(10)), tuple(range(10, 18)), *((at,) for at in range(18, documents))]
    return replace(
        drawn,
        clusters=tuple(
            Cluster(
                number=number,
                texts=texts,
                log10_odds=1.0 if len(texts) > 1 else None,
                nearest=1 if number > 1 else 2,
                nearest_log10_odds=-1.0,
            )
            for number, texts in enumerate(groups, start=1)
        ),
        prior_same_author=0.25,
    )


def test_groups_have_colours_and_authors_shapes() -> None:
    drawn = draw_documents(in_groups())
    assert [entry.name for entry in drawn.legend] == ["group 1", "group 2", "alone"]
    assert [entry.about for entry in drawn.legend] == ["10 texts, 0.91", "8 texts, 0.91", "6"]
    markers = [drawn.markers[at] for at in drawn.marker_of]
    assert len({marker.color for marker in markers[:10]}) == 1
    assert markers[0].color != markers[10].color
    assert markers[0].path == markers[4].path  # of one author
    assert markers[0].path != markers[1].path
    assert len(drawn.shapes) == len(AUTHORS)
    assert "odds of 10:1" in drawn.group_of[0]
    assert drawn.group_of[-1] == "in no group"


def test_groups_are_outlined_and_lit_up_by_the_legend(browser: Browser, tmp_path: Path) -> None:
    for width in (1200, 360):
        path = tmp_path / f"groups-{width}.html"
        path.write_text(map_page(in_groups()), "utf-8")
        shown = Shown(browser, path, width, 900)
        outlines = shown.page.locator("#map path[stroke-width='22']")
        assert outlines.count() == 2
        shown.page.click("[data-marker='1']")
        assert shown.lit("point") == set(range(10, 18))
        assert outlines.count() == 1
        shown.page.click("#clear")
        assert outlines.count() == 2
        shown.page.focus(".point[data-document='0']")
        assert "Group 1: 10 texts, by one person with odds of 10:1." in shown.page.inner_text(
            "#card"
        )
        assert "Shapes are the authors" in shown.page.inner_text("main")
        assert shown.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert shown.complaints == []
        shown.context.close()
