"""A ranking for people: candidates, how far to trust it, and what speaks for one over another.

The terminal and the page, a single HTML file that fetches nothing, show the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from adhominem.questions.question import Page, Table
from adhominem.questions.rank.ask import (
    NONE_OF_THEM,
    UNDECIDED,
    RankedCandidate,
    RankedCase,
    Ranking,
)
from adhominem.questions.rank.evidence import NO_STATEMENT
from adhominem.questions.rank.trials import Trust
from adhominem.render.summary import CHANNELS, contributed, rate, signed
from adhominem.render.templates import asset
from adhominem.score.decision import show_probability

CANDIDATE_COLUMNS = ("candidate", "texts", "words", "log10 Bayes factor", "posterior")
_NOT_A_VERDICT = (
    "A Bayes factor is not a verdict: it says how much more probable the disputed text is if this "
    "candidate wrote it than if somebody else of this population did."
)
_MOST_SHOWN = 30  # candidates of a case
_MOST_IN_TABLE = 12  # candidates, up to which the confusion table is a square
_MOST_CONFUSIONS = 15
_LEVELS = 4  # of a colour
_BAR = 200.0  # units that a bar has from end to end

ConfusionTable = dict[str, dict[str, tuple[int, str]]]  # trials and colour, by author and answer


# Sentences and rows


def candidate_rows(case: RankedCase, most: int) -> list[list[object]]:
    """Rows of the first candidates, one row of the rest, and one of "none of them"."""
    rows: list[list[object]] = [
        [
            row.name,
            row.texts,
            row.words,
            signed(row.log10_bayes_factor) + ("*" if row.at_bound else ""),
            show_probability(row.posterior),
        ]
        for row in case.candidates[:most]
    ]
    if rest := case.candidates[most:]:
        rows.append(
            [
                f"{len(rest):,} more candidates",
                sum(row.texts for row in rest),
                sum(row.words for row in rest),
                f"≤ {signed(max(row.log10_bayes_factor for row in rest))}",
                show_probability(_together(rest)),
            ]
        )
    rows.append([NONE_OF_THEM, "", "", signed(0.0), show_probability(case.posterior_none)])
    return rows


def _together(candidates: Sequence[RankedCandidate]) -> float | None:
    """The posterior of several candidates; None if no statement is made on any."""
    stated = [row.posterior for row in candidates if row.posterior is not None]
    return sum(stated) if stated else None


def _answer(case: RankedCase) -> str:
    """What to answer if an answer is asked for, and why."""
    if case.posterior_none is None:
        return NO_STATEMENT
    share = show_probability(1 - case.posterior_none)
    candidates = f"all candidates together have a posterior of {share}"
    best = case.candidates[0]
    if case.answer is None:
        return f"{NONE_OF_THEM}: {candidates}, and {best.name} is the first of them"
    return f"{case.answer}, with a posterior of {show_probability(best.posterior)}; {candidates}"


def _priors(ranking: Ranking) -> str:
    count = len(ranking.cases[0].candidates)
    share = f"{ranking.prior_candidate:.3g} for each of {count:,} candidates"
    if ranking.prior_none == 0:
        return f"{share}, and none of them is ruled out"
    return f"{ranking.prior_none:g} for none of them, {share}"


def sentences(ranking: Ranking, case: RankedCase) -> dict[str, str]:
    """What is said of a case beside its table."""
    if case.decision == UNDECIDED:
        return {
            "Evidence": case.verbal,
            "Bayes factors": "computed all the same; they mean nothing here",
            "Population": ranking.population.told,
        }
    said = {
        "Evidence": case.verbal,
        "Answer, if one must be given": _answer(case),
        "Priors": _priors(ranking),
        "Population": ranking.population.told,
    }
    if any(row.at_bound for row in case.candidates):
        said["*"] = "a bound: the score lies beyond what the calibration supports"
    return said


def trust_rows(trust: Trust) -> list[tuple[str, str, str, str]]:
    """How the trials came out: the name of a measure, its value, its interval, and its meaning."""
    shares = (
        (
            "author ranked first",
            trust.first,
            "texts whose author has the strongest evidence of all candidates",
        ),
        (
            "right where somebody is named",
            trust.named_right,
            "answers that name somebody, and rightly, with the author left out half of the time",
        ),
        (
            "“none” though it was one of them",
            trust.missed,
            "texts of a candidate that were given to none of them",
        ),
        (
            "“none” where the author was left out",
            trust.none_right,
            "texts by somebody who was not a candidate in that trial, given to none of them",
        ),
    )
    measures = (
        (
            "macro-F1",
            trust.macro_f1,
            trust.macro_f1_interval,
            "the measure of PAN 2019: the mean over candidates, with every author left out once",
        ),
        (
            "Cllr",
            trust.cllr,
            trust.cllr_interval,
            "cost of the Bayes factors in bits; saying nothing costs 1",
        ),
    )
    return [
        (
            name,
            f"{share.count / share.of:.0%} ({share.count:,} of {share.of:,})",
            f"{share.low:.0%} to {share.high:.0%}",
            meaning,
        )
        for name, share, meaning in shares
        if share.of
    ] + [
        (name, f"{value:.3f}", f"{low:.3f} to {high:.3f}", meaning)
        for name, value, (low, high), meaning in measures
    ]


def _trust_facts(trust: Trust) -> str:
    """What was tried, in a sentence."""
    disputed = "1 known text" if trust.texts == 1 else f"{trust.texts:,} known texts"
    among = f"{trust.candidates:,} candidates"
    if trust.candidates < trust.of_candidates:
        among += f", drawn from {trust.of_candidates:,} with seed {trust.seed}"
    facts = (
        f"in each of {trust.first.of:,} trials, {disputed} of a candidate, cut to {trust.words:,} "
        f"words if longer, took the place of the disputed text and was ranked among {among}"
    )
    if trust.none_right.of:
        facts += f"; in {trust.none_right.of:,} more, the author was left out of the candidates"
    return facts


# The page


def _title(ranking: Ranking) -> str:
    names = [case.name for case in ranking.cases]
    return f"Who wrote {names[0]}?" if len(names) == 1 else "Who wrote these texts?"


def _values(ranking: Ranking) -> dict[str, Any]:
    trust = ranking.trust
    return {
        "priors": _priors(ranking),
        "not_a_verdict": _NOT_A_VERDICT,
        "none_of_them": NONE_OF_THEM,
        "undecided": UNDECIDED,
        "most_shown": _MOST_SHOWN,
        "bar": _BAR,
        "sentences": partial(sentences, ranking),
        "together": _together,
        "trust_rows": [] if trust is None else trust_rows(trust),
        "trust_facts": "" if trust is None else _trust_facts(trust),
        "confusion_tables": {} if trust is None else _confusion_tables(trust),
        "confusions": [] if trust is None else _wrong_answers(trust),
        "about": _about,
        "level": _level,
        "probability": show_probability,
        "signed": signed,
        "contributed": contributed,
        "rate": rate,
    }


def _confusion_tables(trust: Trust) -> dict[str, ConfusionTable]:
    """Who was taken for whom, with the author among the candidates and without; {} of too many."""
    names = sorted({row.author for row in trust.confusions})
    if len(names) > _MOST_IN_TABLE:
        return {}
    tables: dict[str, ConfusionTable] = {}
    for title, left_out in (("among the candidates", False), ("left out of them", True)):
        rows = [row for row in trust.confusions if row.left_out == left_out]
        table: ConfusionTable = {}
        for author in names:
            counts = {row.answer: row.trials for row in rows if row.author == author}
            total = max(1, sum(counts.values()))
            table[author] = {}
            for answer in (*names, None):
                trials = counts.get(answer, 0)
                colour = "right" if answer == (None if left_out else author) else "wrong"
                colour += str(-(-_LEVELS * trials // total))
                table[author][answer or NONE_OF_THEM] = trials, colour
        if rows:
            tables[title] = table
    return tables


def _wrong_answers(trust: Trust) -> list[tuple[str, str, int]]:
    """Who was most often taken for whom, where there are too many for a table."""
    return [
        (
            f"{row.author} (left out)" if row.left_out else row.author,
            row.answer or NONE_OF_THEM,
            row.trials,
        )
        for row in trust.confusions
        if row.answer != (None if row.left_out else row.author)
    ][:_MOST_CONFUSIONS]


def _about(channel: str, words: tuple[str, ...], with_it: int) -> str:
    said = CHANNELS.get(channel, channel)
    if words:
        said += f", as in {', '.join(words)}"
    return f"{said} (with {with_it} more in the same places)" if with_it else said


def _level(contribution: float, strongest: float) -> int:
    """How deep a colour is, with its sign; 0 for next to nothing."""
    level = round(_LEVELS * abs(contribution) / max(strongest, 1e-12))
    return level if contribution > 0 else -level


def _lines(ranking: Ranking, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """The candidates of each case, and how far to trust it."""
    for case in ranking.cases:
        yield Table(case.name, CANDIDATE_COLUMNS, candidate_rows(case, values["top"]))
        for name, fact in sentences(ranking, case).items():
            yield f"{name}  {fact}"
    if ranking.trust is not None:
        yield Table(
            "How far to trust it",
            ["known texts, ranked in turn", "", "95% interval"],
            [row[:3] for row in trust_rows(ranking.trust)],
        )
        yield f"Trials  {_trust_facts(ranking.trust)}"


PAGE: Page[Ranking] = Page(
    name="rank",
    styles=(asset("evaluation.css"), asset("study.css"), asset("rank.css")),
    title=_title,
    values=_values,
    lines=_lines,
    warnings=lambda ranking: ranking.warnings,
)
