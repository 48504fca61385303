"""A ranking for people, in rows and sentences: the terminal and the page show the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adhominem.questions.rank.ranking import (
    NO_STATEMENT,
    NONE_OF_THEM,
    UNDECIDED,
    RankedCandidate,
    RankedCase,
    Ranking,
)
from adhominem.questions.rank.trust import Share, Trust
from adhominem.render.summary import signed
from adhominem.score.decision import show_probability

CANDIDATE_COLUMNS = ("candidate", "texts", "words", "log10 Bayes factor", "posterior")
NOT_A_VERDICT = (
    "A Bayes factor is not a verdict: it says how much more probable the disputed text is if this "
    "candidate wrote it than if somebody else of this population did."
)


@dataclass(frozen=True)
class TrustRow:
    """A measure of trust as it is shown."""

    name: str
    value: str
    interval: str
    meaning: str


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
                show_probability(together(rest)),
            ]
        )
    rows.append([NONE_OF_THEM, "", "", signed(0.0), show_probability(case.posterior_none)])
    return rows


def together(candidates: Sequence[RankedCandidate]) -> float | None:
    """The posterior of several candidates; None if no statement is made on any."""
    stated = [row.posterior for row in candidates if row.posterior is not None]
    return sum(stated) if stated else None


def answer(case: RankedCase) -> str:
    """What to answer if an answer is asked for, and why."""
    if case.posterior_none is None:
        return NO_STATEMENT
    share = show_probability(1 - case.posterior_none)
    candidates = f"all candidates together have a posterior of {share}"
    best = case.candidates[0]
    if case.answer is None:
        return f"{NONE_OF_THEM}: {candidates}, and {best.name} is the first of them"
    return f"{case.answer}, with a posterior of {show_probability(best.posterior)}; {candidates}"


def priors(ranking: Ranking) -> str:
    """The stated priors, in words."""
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
        "Answer, if one must be given": answer(case),
        "Priors": priors(ranking),
        "Population": ranking.population.told,
    }
    if any(row.at_bound for row in case.candidates):
        said["*"] = "a bound: the score lies beyond what the calibration supports"
    return said


def trust_rows(trust: Trust) -> list[TrustRow]:
    """How the trials came out."""
    rows = [
        _share(
            "author ranked first",
            trust.first,
            "texts whose author has the strongest evidence of all candidates",
        ),
        _share(
            "right where somebody is named",
            trust.named_right,
            "answers that name somebody, and rightly, with the author left out half of the time",
        ),
        _share(
            "“none” though it was one of them",
            trust.missed,
            "texts of a candidate that were given to none of them",
        ),
        _share(
            "“none” where the author was left out",
            trust.none_right,
            "texts by somebody who was no candidate for once, given to none of them",
        ),
        TrustRow(
            "macro-F1",
            f"{trust.macro_f1:.3f}",
            _between(trust.macro_f1_interval, 3),
            "the measure of PAN 2019: the mean over candidates, with every author left out once",
        ),
        TrustRow(
            "Cllr",
            f"{trust.cllr:.3f}",
            _between(trust.cllr_interval, 3),
            "cost of the Bayes factors in bits; saying nothing costs 1",
        ),
    ]
    return [row for row in rows if row is not None]


def trust_facts(trust: Trust) -> str:
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


def _share(name: str, share: Share, meaning: str) -> TrustRow | None:
    if not share.of:
        return None
    return TrustRow(
        name,
        f"{share.value:.0%} ({share.count:,} of {share.of:,})",
        f"{share.low:.0%} to {share.high:.0%}",
        meaning,
    )


def _between(ends: tuple[float, float], digits: int) -> str:
    return f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"
