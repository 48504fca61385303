"""The page: valid, self-contained, and with every number where it belongs."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest

from adhominem.errors import InputError
from adhominem.evaluation.answers import Answers, answers_from
from adhominem.evaluation.figures import FIGURES, Entropies, Picture, pictures
from adhominem.evaluation.measures import MEASURES, Evaluation, evaluate
from adhominem.questions.evaluate.page import tippett_plots, write_evaluation, write_page
from adhominem.render.templates import asset

if TYPE_CHECKING:
    from playwright.sync_api import Browser


pytest.importorskip("matplotlib")

VOID = {"meta", "img", "br", "wbr", "link", "input", "hr"}
BAD = "<script>alert(1)</script>"


class Page(HTMLParser):
    """What is on a page: its tags, its text, and its tables as rows of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = self.kind = ""
        self.rows: list[list[str]] = []
        self.bold: list[str] = []
        self.feed(text)
        self.close()

    def handle_decl(self, decl: str) -> None:
        assert not self.tags
        self.kind = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        if tag == "small":
            self.rows[-1][-1] += "|"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.text += data
        if {"th", "td"} & set(self.open):
            self.rows[-1][-1] += data
        if self.open and self.open[-1] == "b":
            self.bold.append(data)

    def row(self, head: str) -> list[str]:
        """The cells of the row whose first cell begins so."""
        (result,) = [row[1:] for row in self.rows if row and row[0].split("|")[0].strip() == head]
        return result


def systems_of(names: list[str], pairs: int = 80) -> list[Answers]:
    rng = np.random.default_rng(0)
    same = rng.random(pairs) < 0.5
    return [
        answers_from(
            name,
            1 / (1 + np.exp(-rng.normal(size=pairs) - at * np.where(same, 1, -1))),
            None,
            same,
        )
        for at, name in enumerate(names)
    ]


SYSTEMS = systems_of([BAD, 'A "quoted" & long_name-' + "x" * 60, "third"])
PARTS = {
    "same topic": np.arange(80) < 30,
    "cross <topic>": np.arange(80) >= 30,
    "one class": SYSTEMS[0].same_author & (np.arange(80) < 40),
}
EVALUATIONS = [evaluate(answers, groups=PARTS, resamples=20) for answers in SYSTEMS]


def written(tmp_path: Path, evaluations: list[Evaluation], drawn: Sequence[Picture] = ()) -> Page:
    write_page(evaluations, drawn, tmp_path / "page.html", "1.2.3")
    return Page((tmp_path / "page.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def drawn() -> list[Picture]:
    return [*tippett_plots(SYSTEMS), *pictures(SYSTEMS)]


@pytest.fixture(scope="module")
def whole(drawn: list[Picture], tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A page with all figures; the other tests make do without."""
    return written(tmp_path_factory.mktemp("page"), EVALUATIONS, drawn)


def test_all_tags_are_closed_in_order_and_the_document_is_html5(whole: Page) -> None:
    assert whole.open == []
    assert whole.kind == "DOCTYPE html"
    names = [tag for tag, _ in whole.tags]
    assert names[:2] == ["html", "head"]
    for once in ("html", "head", "title", "body", "main", "h1"):
        assert names.count(once) == 1
    assert ("meta", {"charset": "utf-8"}) in whole.tags
    assert ("html", {"lang": "en"}) in whole.tags
    assert not [attributes for _, attributes in whole.tags if "id" in attributes]


def test_nothing_is_fetched_from_anywhere(whole: Page) -> None:
    for tag, attributes in whole.tags:
        assert tag not in ("script", "link", "iframe", "object", "base")
        for name in ("src", "href", "srcset", "action", "style"):
            assert (attributes.get(name) or "data:").startswith("data:")
    for name in ("base.css", "evaluation.css"):
        assert "url(" not in asset(name)
        assert "@import" not in asset(name)


def test_names_are_shown_and_never_become_tags(whole: Page) -> None:
    for evaluation in EVALUATIONS:
        assert evaluation.name in whole.text
    head = next(row for row in whole.rows if row[0] == "measure")
    assert head[1:] == [evaluation.name for evaluation in EVALUATIONS]
    assert any(row[0].startswith("cross <topic>|") for row in whole.rows)


def test_each_measure_has_its_meaning_its_numbers_and_their_intervals(whole: Page) -> None:
    arrows = {True: "\N{NO-BREAK SPACE}↑", False: "\N{NO-BREAK SPACE}↓", None: ""}
    for name, measure in MEASURES.items():
        cells = whole.row(measure.title + arrows[measure.higher_is_better])
        assert measure.meaning in whole.text
        for evaluation, cell in zip(EVALUATIONS, cells, strict=True):
            shown = f"{evaluation.measures[name]:.3f}"
            if name in evaluation.intervals:
                low, high = evaluation.intervals[name]
                shown += f"|{low:.3f}–{high:.3f}"
            assert cell == shown


def test_the_best_number_is_bold_ties_and_all(tmp_path: Path) -> None:
    first = replace(EVALUATIONS[0], intervals={}, groups={}, measures=dict.fromkeys(MEASURES, 0.5))
    second = replace(
        first, name="second", measures={**first.measures, "auc": 0.9, "eer": 0.2, "f1": 0.50001}
    )
    bold = written(tmp_path, [first, second]).bold
    rated = [name for name, measure in MEASURES.items() if measure.higher_is_better is not None]
    # Where both show the same number, both are bold, and the word itself is an example.
    assert sorted(bold) == sorted(["bold", "0.900", "0.200", *["0.500"] * 2 * (len(rated) - 2)])
    assert written(tmp_path, [first]).bold == []


def test_infinite_and_unknown_numbers_are_signs_and_minus_nothing_is_nothing(
    tmp_path: Path,
) -> None:
    measures = {**EVALUATIONS[0].measures, "cllr": math.inf, "mce": math.nan, "cllr_cal": -1e-9}
    intervals = {"cllr": (0.5, math.inf), "mce": (math.nan, math.nan)}
    odd = replace(EVALUATIONS[0], measures=measures, intervals=intervals, groups={})
    page = written(tmp_path, [odd])
    assert page.row("Cllr\N{NO-BREAK SPACE}↓") == ["∞|0.500–∞"]
    assert page.row("largest calibration error\N{NO-BREAK SPACE}↓") == ["–"]
    assert page.row("Cllr_cal\N{NO-BREAK SPACE}↓") == ["0.000"]


def test_the_parts_have_their_pairs_and_measures_and_a_part_of_one_class_has_few(
    whole: Page,
) -> None:
    heads = [row[0] for row in whole.rows if len(row) == 1]
    sizes = [
        (int(mask.sum()), int((mask & SYSTEMS[0].same_author).sum())) for mask in PARTS.values()
    ]
    assert heads == [
        f"{name}|{pairs} pairs, {same} by one author{more}"
        for (name, (pairs, same)), more in zip(
            zip(PARTS, sizes, strict=True),
            ["", "", "|all are of one class"],
            strict=True,
        )
    ]
    rows = [row[1:] for row in whole.rows if row[0] == "third"]
    columns = ("auc", "c@1", "overall_2021", "cllr", "eer")
    assert rows == [
        [
            "–" if math.isnan(number) else f"{number:.3f}"
            for number in (EVALUATIONS[2].groups[part].measures[name] for name in columns)
        ]
        for part in PARTS
    ]
    assert rows[2].count("–") == 4  # only c@1 can be told of one class


def test_one_system_has_a_row_a_part(tmp_path: Path) -> None:
    page = written(tmp_path, EVALUATIONS[2:])
    result = EVALUATIONS[2].groups["same topic"].measures
    assert page.row("same topic")[0] == f"{result['auc']:.3f}"
    assert "Evaluation of third" in page.text


def test_it_says_what_was_evaluated_and_what_the_bootstrap_drew(tmp_path: Path) -> None:
    same = int(SYSTEMS[0].same_author.sum())
    page = written(tmp_path, EVALUATIONS)
    assert f"80 pairs of texts: {same} by one author, and {80 - same} by two" in page.text
    assert "The bootstrap drew pairs" in page.text
    assert "AdHominem 1.2.3" in page.text
    by_author = [replace(evaluation, resampled="authors") for evaluation in EVALUATIONS]
    assert "The bootstrap drew authors" in written(tmp_path, by_author).text
    plain = [replace(evaluation, resampled="", intervals={}) for evaluation in EVALUATIONS]
    text = written(tmp_path, plain).text
    assert "bootstrap" not in text
    assert "interval" not in text


def test_it_says_what_a_bayes_factor_is_not_and_what_cllr_1_is(whole: Page) -> None:
    text = " ".join(whole.text.split())
    assert "A Bayes factor is not a verdict." in text
    assert "1 is what it costs to say of every pair that the evidence speaks for neither" in text


def test_remarks_of_several_systems_come_once(tmp_path: Path) -> None:
    evaluations = [
        replace(EVALUATIONS[0], name="a", remarks=("all have it", "5 values are odd")),
        replace(EVALUATIONS[1], name="b", remarks=("all have it", "5 values are odd")),
        replace(EVALUATIONS[2], name="c", remarks=("all have it",)),
    ]
    page = written(tmp_path, evaluations)
    assert "all systems: all have it." in page.text
    assert "a, b: 5 values are odd." in page.text
    assert "b: 5" not in written(tmp_path, evaluations[1:2]).text


def test_every_figure_is_there_with_caption_and_description(
    whole: Page, drawn: list[Picture]
) -> None:
    images = [attributes for tag, attributes in whole.tags if tag == "img"]
    assert len(images) == len(drawn) == len(SYSTEMS) + len(FIGURES)
    for image, (at, picture) in zip(images, enumerate(drawn, 1), strict=True):
        assert (image["alt"] or "").startswith(picture.title)
        assert f"Figure {at}: {picture.title}. {picture.caption}" in whole.text
        data = base64.b64decode((image["src"] or "").removeprefix("data:image/svg+xml;base64,"))
        root = ElementTree.fromstring(data)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        links = re.findall(rb'(?:href|src)="(.)', data)
        assert set(links) <= {b"#"}  # to parts of itself


def test_a_system_has_its_tippett_plot_however_certain_it_is() -> None:
    (plot,) = tippett_plots(SYSTEMS[:1])
    assert (plot.stem, plot.title) == ("tippett", "Tippett plot")
    assert plot.png.startswith(b"\x89PNG")
    first, second = tippett_plots(SYSTEMS[1:])
    assert (first.stem, second.stem) == ("tippett-1", "tippett-2")
    assert second.title == "Tippett plot of third"
    same = np.array([True, False])
    for certain in (same, ~same, np.array([True, True])):  # all infinite
        (plot,) = tippett_plots([answers_from("", certain.astype(float), None, same)])
        assert b"nan" not in plot.svg
        assert b"inf" not in plot.svg
    (plot,) = tippett_plots([SYSTEMS[0].of(SYSTEMS[0].same_author)])
    assert b"different-author pairs (0)" in plot.svg


def test_every_head_of_a_table_says_what_it_is_the_head_of(whole: Page) -> None:
    heads = [attributes for tag, attributes in whole.tags if tag == "th"]
    assert heads
    assert all(head.get("scope") in ("col", "row", "rowgroup") for head in heads)


def test_a_set_of_one_class_gives_a_page_without_numbers(tmp_path: Path) -> None:
    answers = SYSTEMS[2].of(SYSTEMS[2].same_author)
    page = written(tmp_path, [evaluate(answers)])
    assert page.row("AUC\N{NO-BREAK SPACE}↑") == ["–"]


def test_a_name_that_is_no_text_and_a_page_written_twice_are_no_trouble(tmp_path: Path) -> None:
    name = b"caf\xe9.jsonl".decode("utf-8", "surrogateescape")  # as Linux gives it
    evaluation = replace(EVALUATIONS[2], name=name)
    assert r"caf\udce9.jsonl" in written(tmp_path, [evaluation]).text
    first = (tmp_path / "page.html").read_bytes()
    written(tmp_path, [evaluation])
    assert (tmp_path / "page.html").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_entropy_curves_of_a_training_come_last(tmp_path: Path) -> None:
    log = tmp_path / "training.jsonl"
    rows = [{"between_author_entropy": -5.0 + at, "within_author_entropy": -at} for at in range(3)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    entropies = Entropies.read(log)
    assert entropies == Entropies([-5.0, -4.0, -3.0], [0.0, -1.0, -2.0])
    drawn = pictures(SYSTEMS[:1], entropies)
    assert [picture.stem for picture in drawn] == [*FIGURES, "entropy"]
    write_evaluation(EVALUATIONS[:1], SYSTEMS[:1], tmp_path / "folder", "1.2.3", entropies)
    names = {path.name for path in (tmp_path / "folder").iterdir()}
    assert {"entropy.png", "entropy.svg", "tippett.png", "tippett.svg", "index.html"} <= names
    log.write_text('{"epoch": 1}\n', "utf-8")
    with pytest.raises(InputError, match=r"expected the training\.jsonl"):
        Entropies.read(log)


def test_the_policy_forbids_scripts_and_the_page_looks_as_without_it(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    systems = systems_of(["a system"])
    drawn = [*tippett_plots(systems), *pictures(systems)]
    write_page([evaluate(system) for system in systems], drawn, path, "0")
    written = path.read_text("utf-8")
    policy = re.search('<meta http-equiv="Content-Security-Policy" content="[^>]+">\n', written)
    assert policy is not None
    hostile = written.replace("<main>", "<main><script>document.title = 'run'</script>")
    shown = []
    for text in (written, written.replace(policy[0], ""), hostile):
        path.write_text(text, "utf-8")
        page = browser.new_page(viewport={"width": 900, "height": 700})
        page.goto(path.as_uri())
        figures = page.evaluate("[...document.images].map((each) => each.naturalWidth)")
        assert len(figures) >= 3
        assert all(figures)
        shown.append((page.title(), page.screenshot(full_page=True)))
    assert shown[0] == shown[1]
    assert shown[2][0] == shown[0][0]
