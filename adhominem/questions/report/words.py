"""The wording of reports: what all reports say, and what a report on two sides says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from adhominem.questions.report.candidates import AnyReport
from adhominem.questions.report.details import CaseDetails
from adhominem.questions.report.evidence import StudyFacts
from adhominem.questions.report.report import FULL_ANNEX, NO_ANNEX, Report, ReportedText
from adhominem.questions.validate.page import StudyRow, study_rows
from adhominem.render import summary
from adhominem.render.summary import EVEN, in_numbers, signed, times
from adhominem.render.templates import markup, sentence
from adhominem.render.tippett import tippett
from adhominem.score.decision import VerbalScale, say_probability
from adhominem.verify.cautions import UNCALIBRATED
from adhominem.verify.explanation import ExplainedPassage, ExplainedText, Explanation, at_sentences
from adhominem.verify.sensitivity import WIDENED
from adhominem.verify.verification import Likeness

TITLE = "Report on a comparison of texts"
_UNSEEN = 0.05  # probability that an event at the rate given was never observed
_PASSAGES = 4  # that are shown for either side in a short annex
_LONGEST = 400  # characters of a passage there
_HABITS = 10
_ILLUSTRATED = (
    "This annex illustrates what the number rests on, and is not evidence of its own. What all "
    "passages contribute adds up to the log10 Bayes factor, before the bounds of the calibration."
)
_NAMED = 4  # texts of a side that a sentence can hold
_MOST_LISTED = 10  # texts in the table of the first pages; with more, there is a row for a side


def common_values(
    report: AnyReport, common: Report, sides: Sequence[tuple[str, Sequence[ReportedText]]]
) -> dict[str, Any]:
    """The template values of every report; `common` holds what is the same for all its sides."""
    details = report.details
    texts = [(side, text) for side, of_side in sides for text in of_side]
    numbered = [(_item(details, text, at), side, text) for at, (side, text) in enumerate(texts, 1)]
    return {
        "report": report,
        "common": common,
        "details": details,
        "population": common.population,
        "calibration": common.calibration,
        "has_annex": report.settings.annex != NO_ANNEX,
        "material": [
            (item, side, text.name, _received(details, text), f"{text.words:,}")
            for item, side, text in numbered
        ],
        "most_listed": _MOST_LISTED,
        "by_side": [
            (side, f"{len(of_side):,}", f"{sum(text.words for text in of_side):,}")
            for side, of_side in sides
        ],
        "files": [
            (item, _with_topic(text), text.modified or "–", f"{text.words:,}", f"{text.tokens:,}")
            for item, _, text in numbered
        ],
        "hashes": [text.sha256 for _, text in texts],
        "origins": [
            (named, known.origin)
            for named, _, text in numbered
            if (known := details.item(text.name)) is not None and known.origin
        ],
        "population_texts": _population_rows(common),
        "likely_genre": _likely_genre(common.likeness),
        "scale": scale_rows(report.settings.scale),
        "usual_scale": report.settings.scale == VerbalScale().rungs,
        "widened": f"{WIDENED:g}",
        "uncalibrated": UNCALIBRATED,
        "signed": signed,
    }


def _item(details: CaseDetails, text: ReportedText, number: int) -> str:
    """The label of an item: its reference, or its number."""
    known = details.item(text.name)
    return known.reference if known is not None and known.reference else str(number)


def _received(details: CaseDetails, text: ReportedText) -> str:
    known = details.item(text.name)
    return known.received if known is not None and known.received else "–"


def _with_topic(text: ReportedText) -> str:
    return f"{text.name} (topic: {text.topic})" if text.topic else text.name


def listed(texts: Sequence[ReportedText], details: CaseDetails) -> str:
    """The texts of a side for a list in a sentence: by their references, or by their names."""
    items = [details.item(text.name) for text in texts]
    names = [
        item.reference if item is not None and item.reference else f"“{text.name}”"
        for item, text in zip(items, texts, strict=True)
    ]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1:,} more texts"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _population_rows(report: Report) -> list[tuple[str, ...]]:
    material = () if report.population is None else report.population.material
    return [
        (f"{at:,}", text.name, f"{text.words:,}", text.sha256)
        for at, text in enumerate(material, start=1)
    ]


def _likely_genre(likeness: Likeness | None) -> dict[str, Any] | None:
    """The genre that the texts are most like, and its probability."""
    if likeness is None or not likeness.genres:
        return None
    genre, share = likeness.likest
    return {"name": likeness.name(genre), "share": share}


def scale_rows(rungs: Sequence[tuple[float, str]]) -> list[tuple[str, str]]:
    """The verbal scale: the range of each rung, and its words."""
    ends = [f"{start:g} to below {end:g}" for (start, _), (end, _) in pairwise(rungs)]
    ends.append(f"{rungs[-1][0]:g} or more")
    return [(end, words) for end, (_, words) in zip(ends, rungs, strict=True)]


def two_sides_sections(report: Report, heat_maps: str = "") -> Markup:
    """The head and all sections of a report on two sides as HTML.

    `heat_maps` is the markup of those on a page; without it, a placeholder marks where paper
    formats insert theirs.
    """
    sides = (("first", report.first), ("second", report.second))
    explained = report.explanation
    full = report.settings.annex == FULL_ANNEX
    return markup(
        "report_two_sides.html",
        **common_values(report, report, sides),
        heading=TITLE,
        the_texts="the texts",
        somebody="one person",
        other_person="different person of H_different",
        first=listed(report.first, report.details),
        second=listed(report.second, report.details),
        warned=[sentence(warning.message) for warning in report.warnings],
        misleading=_misleading(report),
        study=_study(report),
        measures=_measures(report),
        to_one=_to_one(report.log10_bayes_factor),
        outweighed=_outweighed(report.log10_bayes_factor),
        **_by_population(report),
        in_numbers=in_numbers,
        say_probability=say_probability,
        drawing=_drawing(report),
        illustrated=_ILLUSTRATED,
        explanation=heat_maps,
        passages=[] if explained is None or full else _strongest(at_sentences(explained)),
        habits=[] if explained is None else _habits(explained, None if full else _HABITS),
        balance=[] if explained is None else _balance(explained),
        influences=_influences(report),
        rates=f"{summary.NGRAM_CONTRIBUTION} {summary.RATES}",
        passage_contribution=summary.PASSAGE_CONTRIBUTION,
        not_why=_not_why(explained),
    )


def _not_why(explanation: Explanation | None) -> str:
    has_attention = explanation is not None and explanation.has_attention
    return summary.NOT_WHY if has_attention else summary.NO_ATTENTION


def _strongest(explanation: Explanation) -> list[tuple[str, ...]]:
    """The passages that contribute most to either side, those for one author first."""
    ranked: list[tuple[ExplainedText, ExplainedPassage]] = sorted(
        ((text, passage) for text in explanation.texts for passage in text.passages),
        key=lambda row: -row[1].contribution,
    )
    for_one = [row for row in ranked[:_PASSAGES] if summary.sign(row[1].contribution) > 0]
    for_two = [row for row in ranked[-_PASSAGES:] if summary.sign(row[1].contribution) < 0]
    return [
        (text.side, _quoted(text, passage), summary.contributed(passage.contribution))
        for text, passage in (*for_one, *for_two)
    ]


def _quoted(text: ExplainedText, passage: ExplainedPassage) -> str:
    words = " ".join(text.text[passage.start : passage.end].split())
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST].rpartition(' ')[0] or words[:_LONGEST]} …"
    return f"{words} ({text.name})"


def _habits(explanation: Explanation, most: int | None) -> list[tuple[str, ...]]:
    return [
        (
            ngram.ngram,
            summary.described(ngram),
            summary.contributed(ngram.contribution),
            f"{ngram.first:,} ({summary.rate(ngram.first_rate)})",
            f"{ngram.second:,} ({summary.rate(ngram.second_rate)})",
            summary.rate(ngram.usual_rate),
        )
        for ngram in explanation.ngrams[:most]
    ]


def _balance(explanation: Explanation) -> list[tuple[str, ...]]:
    return [(name, said, amount) for name, amount, said in summary.balance(explanation)]


def _influences(report: Report) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for influence in report.influences:
        change = "–" if influence.change is None else signed(influence.change)
        rows.append((influence.name, influence.value, influence.instead_of or "–", change))
    return rows


def _drawing(report: Report) -> str:
    """The Tippett plot with the result; empty if there are no pairs like the case."""
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


def _misleading(report: Report) -> dict[str, Any] | None:
    """How many cases of known authors have evidence as strong as this case, but misleading."""
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


def _by_population(report: Report) -> dict[str, float]:
    """The range of the number with parts of the population, and without it."""
    numbers = [report.log10_bayes_factor]
    if (population := report.population) is not None:
        numbers.append(population.log10_bayes_factor_without)
        if (parts := population.sensitivity) is not None:
            numbers += [parts.lowest, parts.highest]
    return {"lowest_by_population": min(numbers), "highest_by_population": max(numbers)}


def _study(report: Report) -> StudyFacts | None:
    """The study of the examiner's own material, if the report has one."""
    return None if report.validation is None else report.validation.study


def _measures(report: Report) -> list[StudyRow]:
    """The measures of the study, as they are shown."""
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
    likely, less_likely = _ordered(log10)
    return f"{times(log10).removesuffix(' times')} to 1 for {likely} over {less_likely}"


def _outweighed(log10: float) -> dict[str, str] | None:
    """The odds of all other evidence at which the result no longer decides which is likelier."""
    if times(log10) == EVEN:
        return None
    less_likely, likely = _ordered(log10)
    odds = times(log10).removesuffix(" times")
    return {"odds": odds, "less_likely": less_likely, "likely": likely}


def _ordered(log10: float) -> tuple[str, str]:
    """The proposition that the evidence supports, followed by the other one."""
    return ("H_same", "H_different") if log10 > 0 else ("H_different", "H_same")
