"""The page of a ranking: candidates with bars, trust, and what speaks for one over another.

It is a single HTML file that fetches nothing from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

from adhominem.questions.question import Page, Table
from adhominem.questions.rank import rows as rank_rows
from adhominem.questions.rank.ranking import (
    NONE_OF_THEM,
    UNDECIDED,
    RankedCandidate,
    RankedCase,
    Ranking,
)
from adhominem.questions.rank.trust import Trust
from adhominem.questions.rank.versus import Versus, VersusPassage
from adhominem.render.summary import CHANNELS, rate, signed
from adhominem.render.templates import asset
from adhominem.score.decision import show_probability

_MOST_SHOWN = 30  # candidates of a case
_MOST_IN_TABLE = 12  # candidates, up to which the confusion table is a square
_MOST_CONFUSIONS = 15
_LEAST_REACH = 1.0  # of the axis of log10 Bayes factors, on either side
_LEVELS = 4  # of a colour
_BAR = 200.0  # units that a bar has from end to end
_LOG_10 = log(10)


@dataclass(frozen=True)
class BarRow:
    """A candidate in a table of bars; lengths are in units of a bar, 0 without a statement."""

    candidate: RankedCandidate
    factor: str
    posterior: str
    start: float
    width: float
    share: float  # of the bar that the posterior takes


@dataclass(frozen=True)
class ShownCase:
    """A case as the page has it."""

    case: RankedCase
    rows: list[BarRow]
    more: int  # candidates that are not shown
    more_posterior: str
    none: str
    none_share: float
    reach: str  # the end of the axis
    said: dict[str, str]


@dataclass(frozen=True)
class Cell:
    """Of a confusion table."""

    trials: int
    level: int
    right: bool


@dataclass(frozen=True)
class ShownNgram:
    """An n-gram that speaks for one of two candidates."""

    ngram: str
    about: str
    amount: str
    level: int  # of its colour; below 0 for the second candidate
    disputed: str
    first: str
    second: str


@dataclass(frozen=True)
class Piece:
    """A stretch of a disputed text in one colour."""

    words: str
    level: int
    told: str


@dataclass(frozen=True)
class ShownVersus:
    """Two candidates as the page has them."""

    first: str
    second: str
    ngrams: list[ShownNgram]
    texts: list[list[Piece]]  # of each disputed text


def rank_title(ranking: Ranking) -> str:
    """What was asked."""
    names = [case.name for case in ranking.cases]
    return f"Who wrote {names[0]}?" if len(names) == 1 else "Who wrote these texts?"


def _values(ranking: Ranking) -> dict[str, Any]:
    trust = ranking.trust
    return {
        "ranking": ranking,
        "cases": [_shown(ranking, case) for case in ranking.cases],
        "priors": rank_rows.priors(ranking),
        "not_a_verdict": rank_rows.NOT_A_VERDICT,
        "answer": rank_rows.answer,
        "bar": _BAR,
        "trust": trust,
        "trust_rows": [] if trust is None else rank_rows.trust_rows(trust),
        "trust_facts": "" if trust is None else rank_rows.trust_facts(trust),
        "table": None if trust is None else _table(trust),
        "confusions": [] if trust is None else _wrong(trust),
        "versus": [_versus(pair) for pair in ranking.versus],
        "none_of_them": NONE_OF_THEM,
        "undecided": UNDECIDED,
        "show_posterior": show_probability,
    }


def _shown(ranking: Ranking, case: RankedCase) -> ShownCase:
    candidates = case.candidates[:_MOST_SHOWN]
    rest = case.candidates[_MOST_SHOWN:]
    reach = max(_LEAST_REACH, *(abs(row.log10_bayes_factor) for row in candidates))
    rows = []
    for row in candidates:
        length = _BAR / 2 * abs(row.log10_bayes_factor) / reach if row.posterior is not None else 0
        rows.append(
            BarRow(
                row,
                signed(row.log10_bayes_factor),
                show_probability(row.posterior),
                _BAR / 2 - (length if row.log10_bayes_factor < 0 else 0),
                length,
                _BAR * (row.posterior or 0),
            )
        )
    return ShownCase(
        case,
        rows,
        len(rest),
        show_probability(rank_rows.together(rest)),
        show_probability(case.posterior_none),
        _BAR * (case.posterior_none or 0),
        f"{reach:.1f}",
        rank_rows.sentences(ranking, case),
    )


def _table(trust: Trust) -> dict[str, dict[str, dict[str, Cell]]] | None:
    """Of trials with the author and without: authors, and how often whom each was taken for."""
    names = sorted({row.author for row in trust.confusions})
    if len(names) > _MOST_IN_TABLE:
        return None
    parts: dict[str, dict[str, dict[str, Cell]]] = {}
    for title, left_out in (("among the candidates", False), ("left out of them", True)):
        chosen = [row for row in trust.confusions if row.left_out == left_out]
        rows: dict[str, dict[str, Cell]] = {}
        for author in names:
            counts = {row.answer: row.trials for row in chosen if row.author == author}
            total = max(1, sum(counts.values()))
            rows[author] = {
                NONE_OF_THEM if answer is None else answer: Cell(
                    counts.get(answer, 0),
                    -(-_LEVELS * counts.get(answer, 0) // total),
                    answer is None if left_out else answer == author,
                )
                for answer in (*names, None)
            }
        if chosen:
            parts[title] = rows
    return parts


def _wrong(trust: Trust) -> list[tuple[str, str, int]]:
    """Who was most often taken for whom, where there are too many for a table."""
    return [
        (
            f"{row.author} (left out)" if row.left_out else row.author,
            NONE_OF_THEM if row.answer is None else row.answer,
            row.trials,
        )
        for row in trust.confusions
        if row.answer != (None if row.left_out else row.author)
    ][:_MOST_CONFUSIONS]


def _versus(pair: Versus) -> ShownVersus:
    most = max((abs(row.contribution) for row in pair.ngrams), default=1.0)
    ngrams = [
        ShownNgram(
            row.ngram,
            _about(row.channel, row.words, row.with_it),
            signed(row.contribution / _LOG_10, 3),
            _level(row.contribution, most),
            rate(row.disputed_rate),
            rate(row.first_rate),
            rate(row.second_rate),
        )
        for row in pair.ngrams
    ]
    strongest = max((abs(row.contribution) for row in pair.passages), default=1.0)
    texts: dict[int, list[Piece]] = {}
    for row in pair.passages:
        texts.setdefault(row.text, []).append(_piece(pair, row, strongest))
    return ShownVersus(pair.first, pair.second, ngrams, list(texts.values()))


def _about(channel: str, words: tuple[str, ...], with_it: int) -> str:
    said = CHANNELS.get(channel, channel)
    if words:
        said += f", as in {', '.join(words)}"
    return f"{said} (with {with_it} more in the same places)" if with_it else said


def _piece(pair: Versus, passage: VersusPassage, strongest: float) -> Piece:
    level = _level(passage.contribution, strongest)
    name = pair.first if passage.contribution > 0 else pair.second
    amount = signed(abs(passage.contribution) / _LOG_10, 3)
    return Piece(passage.words, level, f"{amount} for {name}" if level else "for neither")


def _level(contribution: float, strongest: float) -> int:
    """How deep a colour is, with its sign; 0 for next to nothing."""
    level = round(_LEVELS * abs(contribution) / max(strongest, 1e-12))
    return level if contribution > 0 else -level


def _lines(ranking: Ranking, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """The candidates of each case, and how far to trust it."""
    for case in ranking.cases:
        rows = rank_rows.candidate_rows(case, values["top"])
        yield Table(case.name, rank_rows.CANDIDATE_COLUMNS, rows)
        for name, fact in rank_rows.sentences(ranking, case).items():
            yield f"{name}  {fact}"
    if ranking.trust is not None:
        yield Table(
            "How far to trust it",
            ["known texts, ranked in turn", "", "95% interval"],
            [[row.name, row.value, row.interval] for row in rank_rows.trust_rows(ranking.trust)],
        )
        yield f"Trials  {rank_rows.trust_facts(ranking.trust)}"


PAGE: Page[Ranking] = Page(
    name="rank",
    styles=(asset("evaluation.css"), asset("study.css"), asset("rank.css")),
    title=rank_title,
    values=_values,
    lines=_lines,
    warnings=lambda ranking: ranking.warnings,
)
