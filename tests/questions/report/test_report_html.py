"""The page of a report: one file that asks for nothing, whatever the texts are called."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import made_up
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_reports import ALL, bare, report, report_in_page, text

from adhominem.errors import InputError
from adhominem.harmless import spelt_out
from adhominem.questions.report.details import CaseDetails
from adhominem.questions.report.document import report_page
from adhominem.questions.report.report import Report, ReportedPopulation
from adhominem.verify.cautions import Caution

if TYPE_CHECKING:
    from playwright.sync_api import Browser

anything = st.text(max_size=40) | st.sampled_from(
    ["</script><script>alert(1)</script>", "<!--", "]]>", "&lt;&#0;", "\0\r\n\u2028", "<b>\"'"]
)


class Reader(HTMLParser):
    """The elements and the words of a page; the data apart."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.data = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self._inside = tag
        if dict(attrs).get("id") == "adhominem-report":
            self._inside = "data"

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self._inside not in ("script", "style"):
            self.words += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_the_page_asks_for_nothing_and_lets_only_its_own_script_run(made: Report) -> None:
    page = report_page(made)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert "default-src 'none'" in policy
    for name, inline in (
        ("style", re.findall(r"<style>(.*?)</style>", page, re.DOTALL)),
        ("script", re.findall(r"<script>(.*?)</script>", page, re.DOTALL)),
    ):
        if name == "script" and made.settings.annex != "full":
            assert inline == []  # there are no heat maps to choose views of
            continue
        (inner,) = inline
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    result = read(page)
    names = {name for name, _ in result.attributes}
    assert not names & {"src", "href", "style", "srcset", "action", "data", "background"}
    assert not any(name.startswith("on") for name in names)
    assert not re.search(r"@import|url\(", page)


@pytest.mark.parametrize("made", ALL.values(), ids=ALL)
def test_the_page_holds_its_data(made: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_page(made), "utf-8")
    result, page = report_in_page(path)
    assert result.to_json() == made.to_json()
    assert page == path.read_text("utf-8")
    assert json.loads(read(page).data) == made.to_json()


@cache
def usual_tags() -> list[str]:
    return read(report_page(report(explanation=None))).tags


@given(anything, anything, anything, anything, anything)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_things_are_called_the_page_keeps_its_shape_and_says_it(
    case: str, name: str, topic: str, source: str, message: str
) -> None:
    usual = report(explanation=None)
    assert usual.population is not None
    given = report(
        details=replace(usual.details, case=f"x{case}", examiner=f"x{case}"),
        first=(text(f"x{name}"),),
        second=(text("a", topic=f"x{topic}"), text("second.txt")),
        population=as_population(usual, source),
        warnings=(Caution("short", f"x{message}"),),
        explanation=None,
    )
    page = report_page(given)
    result = read(page)
    assert result.tags == usual_tags()
    assert spelt_out(given.details.case) in result.words
    assert json.loads(result.data) == given.to_json()
    assert page.count("</script>") == 1  # that of the data


def as_population(usual: Report, source: str) -> ReportedPopulation:
    assert usual.population is not None
    return replace(usual.population, source=f"x{source}")


@given(made_up.any_explanations())
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_stands_in_the_page_as_it_is(explanation: object) -> None:
    result = read(report_page(report(explanation=explanation)))
    assert result.tags.count("script") == 2
    assert result.tags.count("section") >= 11


def test_the_data_of_a_page_hold_no_character_of_markup() -> None:
    page = report_page(report(details=CaseDetails(case="</script><!--&amp;")))
    data = page.partition('id="adhominem-report">')[2].partition("</script>")[0]
    assert not set(data) & set("<>&")
    assert json.loads(data)["details"]["case"] == "</script><!--&amp;"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda page: "<p>Hello</p>", "not a report by AdHominem"),
        (lambda page: page.replace('id="adhominem-report"', 'id="other"'), "not a report"),
        (lambda page: page + page, "not a report by AdHominem, or it is damaged"),
        (lambda page: page[: page.index("log10_bayes_factor")], "not a report"),
        (lambda page: page.replace('"schema": 1', '"schema": 9'), "of another version"),
        (lambda page: page.replace('"states": true', '"states": tru'), "damaged"),
        (lambda page: page.replace('"case": ', '"case": [], "x": '), "damaged"),
        (lambda page: page.replace('"draws": 200', '"draws": 20000000'), "damaged"),
    ],
)
def test_a_damaged_or_foreign_page_is_refused(change: object, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(change(report_page(report())), "utf-8")
    with pytest.raises(InputError, match=problem):
        report_in_page(path)


def test_a_page_needs_neither_torch_nor_matplotlib_nor_reportlab() -> None:
    code = (
        "import sys, adhominem.questions.report.ask, adhominem.questions.verify.page; "
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "numpy" in loaded
    assert not loaded & {"torch", "matplotlib", "reportlab", "scipy", "sklearn", "fastapi"}


# in a browser


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("made", [report(), bare()], ids=["full", "bare"])
def test_a_browser_has_nothing_to_ask_for_or_to_complain_of(
    browser: Browser, made: Report, width: int, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text(report_page(made), "utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800})
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    assert page.title().startswith("Report on a comparison of texts")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    shown = "getComputedStyle(document.querySelector('#summary')).borderTopWidth"
    assert page.evaluate(shown) == "2px"  # the policy lets the page have its style
    page.locator('input[value="contributions"]').check()
    page.close()
    assert asked == [path.as_uri()]
    assert complaints == []


def test_it_prints_on_a4_with_page_numbers_and_without_the_switch(
    browser: Browser, tmp_path: Path
) -> None:
    pypdf = pytest.importorskip("pypdf")
    path = tmp_path / "report.html"
    path.write_text(report_page(report()), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    page.pdf(path=tmp_path / "printed.pdf", prefer_css_page_size=True)
    page.emulate_media(media="print")
    for name, shown in (("contributions", "block"), ("attention", "none"), ("ngrams", "none")):
        result = f"getComputedStyle(document.querySelector('.how.{name}')).display"
        assert page.evaluate(result) == shown  # on paper, whatever is chosen on the screen
    page.close()
    printed = pypdf.PdfReader(tmp_path / "printed.pdf")
    assert [round(float(length)) for length in printed.pages[0].mediabox[2:]] == [595, 842]
    texts = [page_.extract_text() for page_ in printed.pages]
    assert f"Page 1 of {len(texts)}" in texts[0]
    assert f"Page {len(texts)} of {len(texts)}" in texts[-1]
    assert "Plain" not in " ".join(texts)
    hashes = "".join("".join(texts).split())
    assert "cd" * 32 in hashes
    assert "01" * 32 in hashes
