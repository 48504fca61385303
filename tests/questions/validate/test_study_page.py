"""The page of a validation study: self-contained, and with every number where it belongs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adhominem.evaluation.study import (
    MEASURES,
    StudyCase,
    StudyConditions,
    StudyText,
    ValidationStudy,
)
from adhominem.questions.validate.page import PAGE, rows_of, study_facts

if TYPE_CHECKING:
    from playwright.sync_api import Browser


BAD = "<script>alert(1)</script>"


def study(**conditions: object) -> ValidationStudy:
    """Ten authors, one of them with a bad name; the worst cases are by them."""
    rng = np.random.default_rng(0)
    texts = tuple(
        StudyText(
            id=f"{BAD}/{at}" if at < 2 else f"{at}",
            author=BAD if at < 2 else f"author {at // 2}",
            words=100 + at,
            sha256=f"{at:064x}",
        )
        for at in range(20)
    )
    cases = []
    for at in range(20):
        for known, same in ((at ^ 1, True), ((at + 2) % 20, False)):
            value = float(rng.normal(0.6 if same else -0.6)) if at else -3.0 if same else 2.5
            cases.append(
                StudyCase(
                    questioned=at,
                    known=(known,),
                    same_author=same,
                    population_texts=20 + at % 2,
                    log10_bayes_factor=value,
                )
            )
    return ValidationStudy.of(
        texts,
        tuple(cases),
        StudyConditions(**{"population": "input", "resamples": 50, **conditions}),  # type: ignore[arg-type]
        material=BAD,
        model="m",
        model_sha256="ab" * 32,
        version="1.2.3",
    )


def test_every_measure_is_shown_with_its_interval_and_its_counts() -> None:
    made = study()
    rows = rows_of(made)
    assert [row.measure for row in rows] == list(MEASURES.values())
    shown = dict(zip(MEASURES, rows, strict=True))
    assert shown["auc"].value == f"{made.measures['auc']:.3f}"
    assert shown["cllr_min"].interval == ""
    wrong = [case for case in made.cases if case.same_author and case.log10_bayes_factor < 0]
    assert shown["misleading_same"].value == f"{len(wrong) / 20:.1%} ({len(wrong)} of 20)"
    assert re.fullmatch(r"\d+\.\d% to \d+\.\d%", shown["misleading_same"].interval)
    assert re.fullmatch(r"[+−]\d\.\d\d to [+−]\d\.\d\d", shown["median_same"].interval)
    page = PAGE.whole(made)
    for row in rows:
        assert f"<td>{row.value}</td><td>{row.interval or '–'}</td>" in page


def test_the_conditions_are_told_in_words() -> None:
    facts = study_facts(study())
    assert facts["Words"] == "whole texts (100 to 119 words, the median is 110)"
    assert facts["Population"].startswith("20 to 21 texts, for each case, all those of the")
    assert facts["Each case"] == "1 questioned text against 1 known text by one author"
    assert "drawn for each case" in study_facts(study(population_size=20))["Population"]
    given = study(population="given", population_source="others")
    assert study_facts(given)["Population"] == "the same for all cases, 21 texts: others"
    assert study_facts(study(population="none"))["Population"] == "none"
    assert study_facts(study(words=119))["Words"].startswith("the first 119 words (100 to")


def test_the_page_asks_for_nothing_and_escapes_what_is_in_it() -> None:
    page = PAGE.whole(study())
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert not re.search(r"\b(src|href|style|onload)=|url\(|@import", page)


def test_the_cases_that_mislead_most_come_first_and_are_right_cases() -> None:
    page = PAGE.whole(study())
    listed = page[page.index("Cases that mislead most") :]
    assert listed.index("−3.00") < listed.index("+2.50")
    assert listed.count("<tr>") == 11
    right = tuple(
        replace(case, log10_bayes_factor=1.0 if case.same_author else -1.0)
        for case in study().cases
    )
    assert "None of the cases misleads" in PAGE.whole(replace(study(), cases=right))


def test_a_browser_has_nothing_to_complain_of(browser: Browser, tmp_path: Path) -> None:
    (path := tmp_path / "study.html").write_text(PAGE.whole(study()), "utf-8")
    for width in (1280, 360):
        page = browser.new_page(viewport={"width": width, "height": 800})
        asked: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.on("console", lambda message, told=complaints: told.append(message.text))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        shown = "getComputedStyle(document.querySelector('.facts')).display"
        assert page.evaluate(shown) == "grid"  # the policy lets the page have its style
        assert asked == [path.as_uri()]
        assert complaints == []
