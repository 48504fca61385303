"""A report as one page: a single HTML file that fetches nothing, and prints well on A4.

Its words, which `report_sections.html` has, are on the page and in a PDF alike. Its data stand in
it for machines, too: `check_report` reads them there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar
from xml.etree.ElementTree import Element, TreeBuilder

from markupsafe import Markup

from adhominem.errors import InputError, OptionError
from adhominem.explain.resampling import WIDENED
from adhominem.records import parsed_json
from adhominem.render.html import SCRIPT, STYLE, explanation_fragment
from adhominem.render.study_page import StudyRow, study_rows
from adhominem.render.summary import EVEN, how_far, in_numbers, signed, times
from adhominem.render.templates import asset, embedded_json, markup, render_page
from adhominem.render.tippett import tippett
from adhominem.report.own_material import StudyFacts
from adhominem.report.report import Report, ReportedText
from adhominem.scoring.decision import VerbalScale, show_probability
from adhominem.text.files import read_text
from adhominem.verify.cautions import UNCALIBRATED
from adhominem.verify.verification import Likeness

AnyReport = TypeVar("AnyReport")
TITLE = "Report on a comparison of texts"
_NAMED = 4  # texts of a side that a sentence can hold
_UNSEEN = 0.05  # the chance that something of the share named was not seen once
_DATA = re.compile(
    '<script type="application/json" id="adhominem-report">(.*?)</script>', re.DOTALL
)


def report_page(report: Report) -> str:
    """A report as an HTML page; the same report gives the same page."""
    explained = report.explanation
    shown = "" if explained is None else explanation_fragment(explained)
    return render_page(
        "report.html",
        (asset("report.css"), STYLE),
        SCRIPT,
        title=headline(report),
        report=report,
        sections=sections(report, shown),
        data=embedded_json(report.to_json(), indent=1),
    )


def report_in_page(path: Path) -> tuple[Report, str]:
    """The report on two sides whose data a page holds, and the page."""

    def read(data: Any) -> Report:
        report = Report.from_json(data)
        VerbalScale(report.settings.scale)
        return report

    return data_in_page(path, read)


def data_in_page(path: Path, read: Callable[[Any], AnyReport]) -> tuple[AnyReport, str]:
    """What `read` makes of the data that a page of a report holds, and the page."""
    if path.suffix.lower() == ".pdf":
        raise InputError("a PDF has no data to check; expected the .html of the same report", path)
    page = read_text(path)
    matches = _DATA.findall(page)
    if len(matches) != 1:
        raise InputError(
            "this is no report by AdHominem, or it is damaged: its data are not in it; expected "
            "the .html that `adhominem report` wrote",
            path,
        )
    try:
        return read(parsed_json(matches[0])), page
    except (ValueError, RecursionError, OptionError) as error:
        raise InputError(
            f"the data of this report are damaged, or of another version ({str(error)[:300]}); "
            "fetch the report again, or check it with the version that wrote it",
            path,
        ) from None


def headline(report: Report) -> str:
    """The title of the whole report."""
    return f"{TITLE}: {report.case}" if report.case else TITLE


def sections(report: Report, explanation: str = "") -> Markup:
    """The head and all sections of a report as HTML.

    The texts with their heat maps are the annex, if the report has an explanation; `explanation` is
    the markup of the heat maps.
    """
    sides = (("first", report.first), ("second", report.second))
    texts = [(side, text) for side, of_side in sides for text in of_side]
    return markup(
        "report_sections.html",
        report=report,
        heading=TITLE,
        first=listed(report.first),
        second=listed(report.second),
        material=[text_row(side, text) for side, text in texts],
        hashes=[text.sha256 for _, text in texts],
        population_texts=population_rows(report),
        likely_genre=_likely_genre(report.likeness),
        misleading=_misleading(report),
        study=_study(report),
        measures=_measures(report),
        to_one=_to_one(report.log10_bayes_factor),
        scale=scale_rows(report.settings.scale),
        usual_scale=report.settings.scale == VerbalScale().rungs,
        widened=f"{WIDENED:g}",
        uncalibrated=UNCALIBRATED,
        signed=signed,
        in_numbers=in_numbers,
        how_far=how_far,
        show_probability=show_probability,
        drawing=_drawing(report),
        explanation=explanation,
    )


def elements(html: str) -> list[Element]:
    """The elements of one of our pages, or of a part of it, for a PDF."""
    reader = _Reader()
    reader.feed(f"<main>{html}</main>")
    reader.close()
    return list(reader.tree.close())


class _Reader(HTMLParser):
    """Parses HTML into a tree of elements."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = TreeBuilder()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tree.start(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        self.tree.end(tag)

    def handle_data(self, data: str) -> None:
        self.tree.data(data)


def _drawing(report: Report) -> str:
    """Where the result falls on the Tippett plot; empty where there are no pairs like the case."""
    if report.like is None:
        return ""
    interval = report.interval
    ends = None if interval is None else (interval.low, interval.high)
    return tippett(
        report.like.log_bayes_factor,
        report.like.same_author,
        report.log10_bayes_factor,
        ends,
        things="cases",
    )


def listed(texts: Sequence[ReportedText]) -> str:
    """The names of the texts of a side, as a sentence can list them."""
    names = [f"“{text.name}”" for text in texts]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1:,} more texts"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def text_row(side: str, text: ReportedText) -> tuple[str, ...]:
    """A text in the table of the material."""
    name = f"{text.name} (topic: {text.topic})" if text.topic else text.name
    return side, name, text.modified or "–", f"{text.words:,}", f"{text.tokens:,}"


def population_rows(report: Report) -> list[tuple[str, ...]]:
    """The texts of the population in their table."""
    material = () if report.population is None else report.population.material
    return [(f"{at:,}", text.name, f"{text.words:,}") for at, text in enumerate(material, start=1)]


def _likely_genre(likeness: Likeness | None) -> dict[str, Any] | None:
    """The genre that the texts are most like, and its share of the guess."""
    if likeness is None or not likeness.genres:
        return None
    genre, share = max(likeness.genres.items(), key=lambda item: item[1])
    return {"name": likeness.name(genre), "share": share}


def _misleading(report: Report) -> dict[str, Any] | None:
    """How many cases of known authors point as strongly as this case, but the wrong way."""
    facts = report.validation
    if facts is None:
        return None
    name, of, written_by, way = (
        ("different_at_least", facts.different_authors, "two known authors", "at least")
        if report.log10_bayes_factor > 0
        else ("same_at_most", facts.same_author, "one known author", "at most")
    )
    return {
        "count": getattr(facts, name),
        "of": of,
        "interval": facts.intervals[name],
        "written_by": written_by,
        "way": way,
        "unseen": 1 - _UNSEEN ** (1 / of),
    }


def _study(report: Report) -> StudyFacts | None:
    """The study of the examiner's own material, if the report has one."""
    return None if report.validation is None else report.validation.study


def _measures(report: Report) -> list[StudyRow]:
    """Those of the study, as they are shown."""
    facts = report.validation
    if facts is None or facts.study is None:
        return []
    measured = facts.study
    return study_rows(
        measured.measures, measured.intervals, facts.same_author, facts.different_authors
    )


def _to_one(log10: float) -> str:
    if times(log10) == EVEN:
        return "about 1 to 1"
    favoured = "H_same over H_different" if log10 > 0 else "H_different over H_same"
    return f"{times(log10).removesuffix(' times')} to 1 for {favoured}"


def scale_rows(rungs: Sequence[tuple[float, str]]) -> list[tuple[str, str]]:
    """The verbal scale: where each rung begins and ends, and its words."""
    ends = [f"{start:g} to below {end:g}" for (start, _), (end, _) in pairwise(rungs)]
    ends.append(f"{rungs[-1][0]:g} or more")
    return [(end, words) for end, (_, words) in zip(ends, rungs, strict=True)]
