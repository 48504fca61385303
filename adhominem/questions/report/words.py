"""The wording of reports: what their templates are filled with."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from adhominem.questions.report.candidates import (
    AnyReport,
    CandidatesReport,
    Proposition,
    by_candidate,
    common_part,
)
from adhominem.questions.report.details import CaseDetails
from adhominem.questions.report.report import FULL_ANNEX, NO_ANNEX, Report, ReportedText
from adhominem.questions.validate.page import study_rows
from adhominem.render import summary
from adhominem.render.drawings import tippett
from adhominem.render.summary import EVEN, in_numbers, signed, times
from adhominem.render.templates import markup, sentence
from adhominem.score.decision import NONE, VerbalScale, say_probability, show_probability
from adhominem.verify.cautions import UNCALIBRATED
from adhominem.verify.explanation import ExplainedPassage, ExplainedText, Explanation, at_sentences
from adhominem.verify.sensitivity import WIDENED

TITLE = "Report on a comparison of texts"
CANDIDATES_TITLE = "Report on a disputed text and several candidates"
_UNSEEN = 0.05  # probability that an event at the rate given was never observed
_PASSAGES = 4  # that are shown for either side in a short annex
_LONGEST = 400  # characters of a passage there
_HABITS = 10
_NAMED = 4  # texts of a side that a sentence can hold
_MOST_LISTED = 10  # texts in the table of the first pages; with more, there is a row for a side
_OTHER_PRIORS = (0.01, 0.1, 0.5, 0.9, 0.99)  # of H_0
_OF_NONE = "none of them wrote it (H_0)"
Row = tuple[str, ...]


def sections_of(report: AnyReport, heat_maps: str = "") -> Markup:
    """The head and all sections of a report as HTML.

    `heat_maps` is the markup of those on a page; without it, a placeholder marks where paper
    formats insert theirs.
    """
    if isinstance(report, CandidatesReport):
        return markup("report_candidates.html", **_common(report), **_of_candidates(report))
    return markup(
        "report_two_sides.html", **_common(report), **_of_two_sides(report), explanation=heat_maps
    )


def _common(report: AnyReport) -> dict[str, Any]:
    """The template values of every report."""
    common, details = common_part(report), common_part(report).details
    others = by_candidate(report) or {"second": common}
    sides = [("first" if isinstance(report, Report) else "disputed", common.first)]
    sides += [(name, of_one.second) for name, of_one in others.items()]
    texts = [(side, text) for side, of_side in sides for text in of_side]
    items = [details.item(text.name) for _, text in texts]
    labels = [item.reference or str(number) for number, item in enumerate(items, start=1)]
    population = common.population
    return {
        "report": report,
        "common": common,
        "details": details,
        "population": population,
        "calibration": common.calibration,
        "has_annex": report.settings.annex != NO_ANNEX,
        "material": [
            (label, side, text.name, item.received or "–", f"{text.words:,}")
            for label, item, (side, text) in zip(labels, items, texts, strict=True)
        ],
        "most_listed": _MOST_LISTED,
        "by_side": [
            (side, f"{len(of_side):,}", f"{sum(text.words for text in of_side):,}")
            for side, of_side in sides
        ],
        "files": [
            (label, _with_topic(text), text.modified or "–", f"{text.words:,}", f"{text.tokens:,}")
            for label, (_, text) in zip(labels, texts, strict=True)
        ],
        "hashes": [text.sha256 for _, text in texts],
        "origins": [
            (label, item.origin) for label, item in zip(labels, items, strict=True) if item.origin
        ],
        "population_texts": [
            (f"{at:,}", text.name, f"{text.words:,}", text.sha256)
            for at, text in enumerate(() if population is None else population.material, start=1)
        ],
        "likeness": common.likeness if common.likeness and common.likeness.genres else None,
        "scale": scale_rows(report.settings.scale),
        "usual_scale": report.settings.scale == VerbalScale().rungs,
        "widened": f"{WIDENED:g}",
        "uncalibrated": UNCALIBRATED,
        "signed": signed,
    }


def _with_topic(text: ReportedText) -> str:
    return f"{text.name} (topic: {text.topic})" if text.topic else text.name


def listed(texts: Sequence[ReportedText], details: CaseDetails) -> str:
    """The texts of a side for a list in a sentence: by their references, or by their names."""
    names = [details.item(text.name).reference or f"“{text.name}”" for text in texts]
    if len(names) > _NAMED:
        return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1:,} more texts"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def scale_rows(rungs: Sequence[tuple[float, str]]) -> list[tuple[str, str]]:
    """The verbal scale: the range of each rung, and its words."""
    ends = [f"{start:g} to below {end:g}" for (start, _), (end, _) in pairwise(rungs)]
    ends.append(f"{rungs[-1][0]:g} or more")
    return [(end, words) for end, (_, words) in zip(ends, rungs, strict=True)]


def _of_two_sides(report: Report) -> dict[str, Any]:
    """The template values of a report on two sides."""
    explained, facts = report.explanation, report.validation
    full = report.settings.annex == FULL_ANNEX
    study = None if facts is None else facts.study
    by_population = [report.log10_bayes_factor]
    if (population := report.population) is not None:
        by_population.append(population.log10_bayes_factor_without)
        if (parts := population.sensitivity) is not None:
            by_population += [parts.lowest, parts.highest]
    has_attention = explained is not None and explained.has_attention
    return {
        "heading": TITLE,
        "the_texts": "the texts",
        "somebody": "one person",
        "other_person": "different person of H_different",
        "first": listed(report.first, report.details),
        "second": listed(report.second, report.details),
        "warned": [sentence(warning.message) for warning in report.warnings],
        "misleading": _misleading(report),
        "study": study,
        "measures": []
        if facts is None or study is None
        else study_rows(
            study.measures, study.intervals, facts.same_author, facts.different_authors
        ),
        "odds": _odds(report.log10_bayes_factor),
        "lowest_by_population": min(by_population),
        "highest_by_population": max(by_population),
        "in_numbers": in_numbers,
        "say_probability": say_probability,
        "drawing": _drawing(report),
        "passages": [] if explained is None or full else _strongest(at_sentences(explained)),
        "habits": [] if explained is None else _habits(explained, None if full else _HABITS),
        "balance": []
        if explained is None
        else [(name, said, amount) for name, amount, said in summary.balance(explained)],
        "influences": [
            (
                one.name,
                one.value,
                one.instead_of or "–",
                "–" if one.change is None else signed(one.change),
            )
            for one in report.influences
        ],
        "rates": f"{summary.NGRAM_CONTRIBUTION} {summary.RATES}",
        "passage_contribution": summary.PASSAGE_CONTRIBUTION,
        "not_why": summary.NOT_WHY if has_attention else summary.NO_ATTENTION,
    }


def _strongest(explanation: Explanation) -> list[Row]:
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


def _habits(explanation: Explanation, most: int | None) -> list[Row]:
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


def _odds(log10: float) -> dict[str, str] | None:
    """The odds for the proposition that the evidence supports over the other; None if even."""
    if times(log10) == EVEN:
        return None
    likely, less_likely = ("H_same", "H_different") if log10 > 0 else ("H_different", "H_same")
    odds = times(log10).removesuffix(" times")
    return {"odds": odds, "likely": likely, "less_likely": less_likely}


def _of_candidates(report: CandidatesReport) -> dict[str, Any]:
    """The template values of a report on several candidates."""
    common = common_part(report)
    rows = [_candidate(report, at, one) for at, one in enumerate(report.propositions, 1)]
    texts_word = "text" if len(common.first) == 1 else "texts"
    others = [prior for prior in _OTHER_PRIORS if prior != report.prior_none]
    somebody_else = (
        "somebody else who writes such texts"
        if common.population is None
        else "somebody else of the relevant population"
    )
    return {
        "heading": CANDIDATES_TITLE,
        "the_texts": f"the disputed {texts_word}",
        "somebody": "a candidate",
        "other_person": "somebody else of H_0",
        "H0": somebody_else,
        "rows": rows,
        "disputed": listed(common.first, common.details),
        "texts_word": texts_word,
        "summary": [(row["label"], row["name"], row["verbal"], row["factor"]) for row in rows],
        "result": [
            (row["label"], row["name"], row["texts"], row["factor"], row["interval"])
            for row in rows
        ],
        "versus": _versus(report),
        "posterior": _posterior(report, rows),
        "probability": show_probability,
        "other_heads": ("proposition", *(f"H_0 {prior:g}" for prior in others)),
        "other_priors": _other_priors(report, rows, others),
        "validated": [_validated(row) for row in rows]
        if any(one.report.validation for one in report.propositions)
        else [],
        "warned": _warned(report),
    }


def _candidate(report: CandidatesReport, number: int, one: Proposition) -> dict[str, Any]:
    """A candidate as the page shows them, with the report on their texts and the disputed ones."""
    label, of_one, log10 = f"H_{number}", one.report, one.report.log10_bayes_factor
    likelier, other = (label, "H_0") if log10 > 0 else ("H_0", label)
    verbal = "no statement is made"
    if of_one.states:
        verbal = VerbalScale(report.settings.scale).words(log10)
        if verbal != NONE:
            verbal = f"{verbal} for {likelier} over {other}"
    ends = of_one.interval
    return {
        "label": label,
        "name": one.name,
        "title": f"{label}: {one.name}",
        "listed": listed(of_one.second, of_one.details),
        "texts": f"{len(of_one.second):,}",
        "verbal": verbal,
        "in_numbers": f"The texts are {times(log10)} as probable if {likelier} is true as if "
        f"{other} is.",
        "factor": signed(log10),
        "interval": "–" if ends is None else f"{signed(ends.low)} to {signed(ends.high)}",
        "report": of_one,
    }


def _versus(report: CandidatesReport) -> list[str]:
    """The candidate with the greatest Bayes factor compared with each of the others."""
    numbered = list(enumerate(report.propositions, start=1))
    first, best = max(numbered, key=lambda row: row[1].report.log10_bayes_factor)
    sentences = []
    for number, other in numbered:
        if number != first:
            log10 = best.report.log10_bayes_factor - other.report.log10_bayes_factor
            sentences.append(
                f"For H_{first} ({best.name}) over H_{number} ({other.name}) it is "
                f"{signed(log10)}: the texts are {times(log10)} as probable if H_{first} is true "
                f"as if H_{number} is."
            )
    return sentences


def _posterior(report: CandidatesReport, rows: Sequence[dict[str, Any]]) -> list[Row]:
    if report.posterior_none is None:
        return []
    prior = f"{report.prior_candidate:.3g}"
    table = [
        (row["title"], prior, show_probability(one.posterior))
        for row, one in zip(rows, report.propositions, strict=True)
    ]
    return [*table, (_OF_NONE, f"{report.prior_none:g}", show_probability(report.posterior_none))]


def _other_priors(
    report: CandidatesReport, rows: Sequence[dict[str, Any]], priors: Sequence[float]
) -> list[Row]:
    columns = [report.posterior(prior) for prior in priors]
    table = [
        (row["title"], *(show_probability(shares[at]) for shares, _ in columns))
        for at, row in enumerate(rows)
    ]
    return [*table, (_OF_NONE, *(show_probability(none) for _, none in columns))]


def _validated(row: dict[str, Any]) -> Row:
    """How often cases of known authors have a misleading Bayes factor as great as a candidate's."""
    facts = row["report"].validation
    if facts is None:
        return row["title"], "not known", "not known", "–"
    cells = []
    for name, of in (
        ("different_at_least", facts.different_authors),
        ("same_at_most", facts.same_author),
    ):
        low, high = facts.intervals[name]
        cells.append(f"{getattr(facts, name):,} of {of:,} ({low:.1%} to {high:.1%})")
    return row["title"], *cells, f"{facts.cllr:.2f}"


def _warned(report: CandidatesReport) -> list[str]:
    """Warnings of the case and of its candidates; those in common are listed once."""
    said: dict[str, list[str]] = {}
    for one in report.propositions:
        for caution in one.report.warnings:
            said.setdefault(caution.message, []).append(one.name)
    messages = [sentence(caution.message) for caution in report.warnings]
    for message, names in said.items():
        of_all = len(names) == len(report.propositions)
        messages.append(sentence(message) if of_all else f"{', '.join(names)}: {message}.")
    return messages
