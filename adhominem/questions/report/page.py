"""How a report and its check are shown on a terminal; files are written by `report.formats`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adhominem.questions.question import Page, Table
from adhominem.questions.report.ask import ReportCheck
from adhominem.questions.report.candidates import AnyReport, by_candidate
from adhominem.questions.report.report import Report
from adhominem.render.summary import signed
from adhominem.score.decision import show_probability
from adhominem.verify.cautions import Caution


def _lines(report: AnyReport, values: Mapping[str, Any]) -> Iterator[str | Table]:
    if isinstance(report, Report):
        yield f"log10 Bayes factor  {signed(report.log10_bayes_factor)}"
        yield report.verbal
        return
    rows = [
        [
            f"H_{number}",
            one.name,
            signed(one.report.log10_bayes_factor),
            show_probability(one.posterior),
        ]
        for number, one in enumerate(report.propositions, start=1)
    ]
    none = ["H_0", "none of them", signed(0.0), show_probability(report.posterior_none)]
    yield Table(
        "Each candidate against H_0: somebody else",
        ["", "candidate", "log10 Bayes factor", "posterior"],
        [*rows, none],
    )


def _warnings(report: AnyReport) -> list[Caution]:
    """Those of the candidates, each once, and of the report itself."""
    of_all = (caution for of_one in by_candidate(report).values() for caution in of_one.warnings)
    return [*dict.fromkeys(of_all), *report.warnings]


def _checked(check: ReportCheck, values: Mapping[str, Any]) -> Iterator[str]:
    if not check.differences:
        yield "The same: texts, population, model, version, numbers, and what the file shows."
        if check.own_scale:
            yield "The verbal scale is the one given, not the one of AdHominem."
        yield "Taken from the report: names, topics, prior, date, and the details of the case."
        return
    yield from map(str, check.differences)
    if values["population"] is None and check.has_population:
        yield "The report has a population: give its texts, too, by --population."
    if values["validation"] is None and check.has_study:
        yield "The report has a validation study: give its .json, too, by --validation."
    if values["scale"] is None and check.own_scale:
        yield (
            "The report has a verbal scale of its own, not the one of AdHominem: if that is as it "
            "should be, give the scale's file by --scale."
        )


PAGE: Page[AnyReport] = Page(lines=_lines, warnings=_warnings)
CHECKED: Page[ReportCheck] = Page(lines=_checked, status=lambda check: int(bool(check.differences)))
