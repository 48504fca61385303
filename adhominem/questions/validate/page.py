"""A validation study as a page for people: what its cases were like, and its measures.

The page is a single HTML file that fetches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from adhominem.evaluation.measures import Measure
from adhominem.evaluation.study import MEASURES, StudyCase, ValidationStudy
from adhominem.questions.question import Page, Table
from adhominem.render.drawings import tippett
from adhominem.render.summary import signed
from adhominem.render.templates import asset

_MOST_LISTED = 10  # cases that mislead


@dataclass(frozen=True)
class StudyRow:
    """A measure as it is shown."""

    measure: Measure
    value: str
    interval: str  # empty where there is none


def study_facts(study: ValidationStudy) -> dict[str, str]:
    """A description of the cases of a study."""
    conditions = study.conditions
    known = "1 known text" if conditions.known == 1 else f"{conditions.known:,} known texts"
    return {
        "Material": f"{study.material}: {len(study.texts):,} texts by "
        f"{len({text.author for text in study.texts}):,} authors",
        "Cases": f"{study.same_author:,} same-author and {study.different_authors:,} "
        f"different-author cases, with texts by {study.authors:,} authors",
        "Each case": f"1 questioned text against {known} by one author",
        "Words": words_of(study),
        "Population": population_of(study),
    }


def words_of(study: ValidationStudy) -> str:
    """A description of the lengths of a study's texts."""
    words = sorted(text.words for text in study.texts)
    if words[0] == words[-1]:
        lengths = f"{words[0]:,} words each"
    else:
        lengths = f"{words[0]:,} to {words[-1]:,} words, the median is {median(words):,.0f}"
    cut = study.conditions.words
    return f"whole texts ({lengths})" if cut is None else f"the first {cut:,} words ({lengths})"


def population_of(study: ValidationStudy) -> str:
    """A description of the populations in a study's cases."""
    conditions, (fewest, most) = study.conditions, study.population_texts
    if conditions.population == "none":
        return "none"
    if conditions.population == "given":
        return f"the same for all cases, {most:,} texts: {conditions.population_source}"
    count = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    drawn = "drawn for each case from" if conditions.population_size else "for each case, all"
    return f"{count} texts, {drawn} those of the material by neither author of the case"


def rows_of(study: ValidationStudy) -> list[StudyRow]:
    """The measures of a study with their intervals, as they are shown."""
    return study_rows(study.measures, study.intervals, study.same_author, study.different_authors)


def study_rows(
    measures: Mapping[str, float],
    intervals: Mapping[str, tuple[float, float]],
    same_author: int,
    different_authors: int,
) -> list[StudyRow]:
    """Measures with these numbers of cases, as they are shown."""
    counts = {"same": same_author, "different": different_authors}
    rows = []
    for name, measure in MEASURES.items():
        show = _shown(name)
        value, ends = measures[name], intervals.get(name)
        text = show(value)
        if name.startswith("misleading"):
            of = counts[name.split("_")[1]]
            text += f" ({round(value * of):,} of {of:,})"
        between = "" if ends is None else f"{show(ends[0])} to {show(ends[1])}"
        rows.append(StudyRow(measure, text, between))
    return rows


def _shown(name: str) -> Callable[[float], str]:
    if name.startswith("median"):
        return signed
    return "{:.1%}".format if name.startswith(("misleading", "eer")) else "{:.3f}".format


def _misleading(study: ValidationStudy) -> list[dict[str, Any]]:
    """The cases whose Bayes factor points farthest the wrong way."""

    def wrong(case: StudyCase) -> float:
        return -case.log10_bayes_factor if case.same_author else case.log10_bayes_factor

    cases = sorted((case for case in study.cases if wrong(case) > 0), key=wrong, reverse=True)
    return [
        {
            "questioned": study.texts[case.questioned].id,
            "known": len(case.known),
            "author": study.texts[case.known[0]].author,
            "same_author": case.same_author,
            "log10_bayes_factor": case.log10_bayes_factor,
        }
        for case in cases[:_MOST_LISTED]
    ]


def _values(study: ValidationStudy) -> dict[str, Any]:
    return {
        "study": study,
        "facts": study_facts(study),
        "rows": rows_of(study),
        "drawing": tippett(study.log_bayes_factor, study.truth, things="cases"),
        "misleading": _misleading(study),
        "signed": signed,
    }


def _lines(study: ValidationStudy, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """Measures, conditions, and what the intervals are."""
    yield Table(
        f"{study.same_author:,} same-author and {study.different_authors:,} different-author cases",
        ["", study.model, "95% interval"],
        [[row.measure.title, row.value, row.interval] for row in rows_of(study)],
    )
    for name, fact in study_facts(study).items():
        yield f"{name}  {fact}"
    if study.intervals:
        times = f"{study.conditions.resamples:,} times"
        yield f"The intervals are over authors, by resampling them {times}."


PAGE: Page[ValidationStudy] = Page(
    name="study",
    template="study.html",
    styles=(asset("evaluation.css"), asset("study.css")),
    title=lambda study: f"Validation on texts of known authors: {study.material}",
    values=_values,
    lines=_lines,
    remarks=lambda study: study.remarks,
)
