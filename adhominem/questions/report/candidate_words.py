"""The words of a report with several candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from adhominem.questions.report.candidates import CandidatesReport, Proposition
from adhominem.questions.report.report import Report
from adhominem.questions.report.words import common_values, listed
from adhominem.render.summary import signed, times
from adhominem.render.templates import markup, sentence
from adhominem.score.decision import NONE, VerbalScale, show_probability

CANDIDATES_TITLE = "Report on a disputed text and several candidates"
_OTHER_PRIORS = (0.01, 0.1, 0.5, 0.9, 0.99)  # of H_0
_OF_ONE = "none of them wrote it (H_0)"


@dataclass(frozen=True)
class CandidateRow:
    """A candidate as the page shows them, with the report on their texts and the disputed ones."""

    label: str  # H_1
    name: str
    listed: str  # the texts
    verbal: str
    in_numbers: str
    report: Report

    @property
    def factor(self) -> str:
        """The log10 Bayes factor as it is shown."""
        return signed(self.report.log10_bayes_factor)


def candidates_sections(report: CandidatesReport) -> Markup:
    """The head and all sections of a report as HTML."""
    rows = [_row(report, at, proposition) for at, proposition in enumerate(report.propositions, 1)]
    texts_word = "text" if len(report.disputed) == 1 else "texts"
    sides = [("disputed", report.disputed)]
    sides += [(proposition.name, proposition.report.second) for proposition in report.propositions]
    others = [prior for prior in _OTHER_PRIORS if prior != report.prior_none]
    of_population = report.first.population is not None
    return markup(
        "report_candidates.html",
        **common_values(report, report.first, sides),
        heading=CANDIDATES_TITLE,
        the_texts=f"the disputed {texts_word}",
        somebody="a candidate",
        other_person="somebody else of H_0",
        H0="somebody else of the relevant population"
        if of_population
        else "somebody else who writes such texts",
        rows=rows,
        disputed=listed(report.disputed, report.details),
        texts_word=texts_word,
        summary=[(row.label, row.name, row.verbal, row.factor) for row in rows],
        result=_result(rows),
        versus=_versus(report),
        posterior=_posterior(report, rows),
        posterior_sentence=_posterior_sentence(report),
        other_heads=("proposition", *(f"H_0 {prior:g}" for prior in others)),
        other_priors=_other_priors(report, rows, others),
        validated=_validated(rows),
        warned=_warned(report),
    )


def _row(report: CandidatesReport, number: int, proposition: Proposition) -> CandidateRow:
    label = f"H_{number}"
    return CandidateRow(
        label=label,
        name=proposition.name,
        listed=listed(proposition.report.second, proposition.report.details),
        verbal=_verbal(report, proposition.report, label),
        in_numbers=_in_numbers(proposition.report, label),
        report=proposition.report,
    )


def _verbal(report: CandidatesReport, of_one: Report, label: str) -> str:
    if not of_one.states:
        return "no statement is made"
    words = VerbalScale(report.settings.scale).words(of_one.log10_bayes_factor)
    if words == NONE:
        return words
    over = f"{label} over H_0" if of_one.log10_bayes_factor > 0 else f"H_0 over {label}"
    return f"{words} for {over}"


def _in_numbers(of_one: Report, label: str) -> str:
    log10 = of_one.log10_bayes_factor
    likelier, other = (label, "H_0") if log10 > 0 else ("H_0", label)
    return f"The texts are {times(log10)} as probable if {likelier} is true as if {other} is."


def _result(rows: Sequence[CandidateRow]) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = []
    for row in rows:
        interval = row.report.interval
        ends = "–" if interval is None else f"{signed(interval.low)} to {signed(interval.high)}"
        table.append((row.label, row.name, f"{len(row.report.second):,}", row.factor, ends))
    return table


def _versus(report: CandidatesReport) -> list[str]:
    """The candidate with the greatest Bayes factor compared with each of the others."""
    numbered = list(enumerate(report.propositions, start=1))
    best = max(numbered, key=lambda row: row[1].report.log10_bayes_factor)
    sentences = []
    for number, proposition in numbered:
        if number != best[0]:
            log10 = best[1].report.log10_bayes_factor - proposition.report.log10_bayes_factor
            sentences.append(
                f"For H_{best[0]} ({best[1].name}) over H_{number} ({proposition.name}) it is "
                f"{signed(log10)}: the texts are {times(log10)} as probable if H_{best[0]} is true "
                f"as if H_{number} is."
            )
    return sentences


def _posterior(report: CandidatesReport, rows: Sequence[CandidateRow]) -> list[tuple[str, ...]]:
    if report.posterior_none is None:
        return []
    prior = f"{report.prior_candidate:.3g}"
    table = [
        (f"{row.label}: {row.name}", prior, show_probability(proposition.posterior))
        for row, proposition in zip(rows, report.propositions, strict=True)
    ]
    return [*table, (_OF_ONE, f"{report.prior_none:g}", show_probability(report.posterior_none))]


def _posterior_sentence(report: CandidatesReport) -> str:
    if report.posterior_none is None:
        return ""
    parts = [
        f"{show_probability(proposition.posterior)} for {proposition.name}"
        for proposition in report.propositions
    ]
    return f"{', '.join(parts)}, and {show_probability(report.posterior_none)} for none of them"


def _other_priors(
    report: CandidatesReport, rows: Sequence[CandidateRow], priors: Sequence[float]
) -> list[tuple[str, ...]]:
    columns = [report.posterior(prior) for prior in priors]
    table = [
        (f"{row.label}: {row.name}", *(show_probability(shares[at]) for shares, _ in columns))
        for at, row in enumerate(rows)
    ]
    return [*table, (_OF_ONE, *(show_probability(none) for _, none in columns))]


def _validated(rows: Sequence[CandidateRow]) -> list[tuple[str, ...]]:
    """How often cases of known authors have as great a misleading Bayes factor."""
    table: list[tuple[str, ...]] = []
    for row in rows:
        facts = row.report.validation
        if facts is None:
            table.append((f"{row.label}: {row.name}", "not known", "not known", "–"))
            continue
        cells = []
        for name, of in (
            ("different_at_least", facts.different_authors),
            ("same_at_most", facts.same_author),
        ):
            low, high = facts.intervals[name]
            cells.append(f"{getattr(facts, name):,} of {of:,} ({low:.1%} to {high:.1%})")
        table.append((f"{row.label}: {row.name}", *cells, f"{facts.cllr:.2f}"))
    return table if any(row.report.validation for row in rows) else []


def _warned(report: CandidatesReport) -> list[str]:
    """Warnings of the case and of its candidates; those in common are listed once."""
    said: dict[str, list[str]] = {}
    for proposition in report.propositions:
        for caution in proposition.report.warnings:
            said.setdefault(caution.message, []).append(proposition.name)
    messages = [sentence(caution.message) for caution in report.warnings]
    for message, names in said.items():
        of_all = len(names) == len(report.propositions)
        messages.append(sentence(message) if of_all else f"{', '.join(names)}: {message}.")
    return messages
