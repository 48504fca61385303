"""The report for a case with several candidates: a proposition for each, and one for none.

    H_1, H_2, …  the first candidate wrote the disputed texts, the second did, …
    H_0          somebody else of the population did

Each candidate has a Bayes factor against the same H_0: it is that of a report on the disputed texts
and this candidate's. So the Bayes factor of one candidate over another is the quotient of both, and
stated priors make a posterior of all. Without a prior there is none: priors are for the court.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from adhominem.errors import OptionError
from adhominem.jobs.run import part
from adhominem.questions.candidates import sort_out
from adhominem.questions.question import Answer
from adhominem.questions.rank.evidence import check_prior, posteriors
from adhominem.questions.report.report import (
    Report,
    ReportOptions,
    Settings,
    make_report,
    report_date,
)
from adhominem.score.decision import LOG_10
from adhominem.text.exhibits import SideTexts, exhibits_of
from adhominem.verify.cautions import Caution, caution, listed
from adhominem.verify.verifier import Verifier

FEWEST, MOST = 2, 30  # candidates: with more, rank them first


@dataclass(frozen=True, kw_only=True)
class Proposition:
    """The proposition that a candidate wrote the disputed texts."""

    name: str  # of the candidate
    report: Report  # of the disputed texts, on the first side, and the candidate's
    posterior: float | None  # only together with the priors


@dataclass(frozen=True, kw_only=True)
class CandidatesReport(Answer):
    """All contents of a report on a case with several candidates."""

    propositions: tuple[Proposition, ...]  # in the order in which they were given
    prior_none: float | None  # of H_0, stated by the court; the candidates share the rest evenly
    posterior_none: float | None
    states: bool  # whether a statement is made on all candidates
    warnings: tuple[Caution, ...]  # of the case as a whole
    settings: Settings

    def __post_init__(self) -> None:
        if not self.propositions:
            raise OptionError("a report without a proposition; expected one for each candidate")
        stated = [self.posterior_none, *(one.posterior for one in self.propositions)]
        if self.prior_none is None and any(value is not None for value in stated):
            raise OptionError("a posterior without its priors; expected both, or the priors alone")
        if self.prior_none is not None:
            check_prior(self.prior_none)

    @property
    def prior_candidate(self) -> float | None:
        """The prior of each candidate, if the priors are stated."""
        return None if self.prior_none is None else (1 - self.prior_none) / len(self.propositions)

    def posterior(self, prior_none: float) -> tuple[list[float], float]:
        """The posteriors of the candidates in order, and of H_0, for any prior of H_0."""
        factors = [one.report.log10_bayes_factor * LOG_10 for one in self.propositions]
        shares, none = posteriors(np.array([factors]), prior_none)
        return shares[0].tolist(), float(none[0])


AnyReport = Report | CandidatesReport


def common_part(report: AnyReport) -> Report:
    """The report on two sides, or that on the first candidate, with what all have in common."""
    return report if isinstance(report, Report) else report.propositions[0].report


def by_candidate(report: AnyReport) -> dict[str, Report]:
    """The report on each candidate, by name; empty for a report on two sides."""
    if isinstance(report, Report):
        return {}
    return {one.name: one.report for one in report.propositions}


def make_candidates_report(
    verifier: Verifier,
    disputed: SideTexts,
    candidates: Mapping[str, SideTexts],
    *,
    prior_none: float | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
    **options: Unpack[ReportOptions],
) -> CandidatesReport:
    """Compare disputed texts with those of each candidate, and report on all of them.

    All other parameters are those of `make_report`. With a `prior_none`, which is for the court to
    state, there is a posterior: the candidates share the rest of the prior evenly.
    """
    if not FEWEST <= len(candidates) <= MOST:
        raise OptionError(
            f"{len(candidates)} candidates; expected {FEWEST} to {MOST}: for one, write a report "
            "on two sides, and of more, find the few that matter with `adhominem rank`"
        )
    if prior_none is not None:
        check_prior(prior_none)
    texts = {name: exhibits_of(side, name) for name, side in candidates.items()}
    documents = {name: [text.document for text in side] for name, side in texts.items()}
    material = sort_out(exhibits_of(disputed, "disputed"), documents)  # no copies, as in `rank`
    options["date"] = report_date(options.get("date"))
    reports: dict[str, Report] = {}
    count = len(material.candidates)
    for at, name in enumerate(material.candidates):
        reports[name] = make_report(
            verifier,
            list(material.disputed),
            material.exhibits(name, texts[name]),
            **options,
            explained=False,
            on_progress=part(on_progress, at / count, (at + 1) / count),
        )
    cautions = [*material.cautions, *_population_of_some(reports)]
    first = next(iter(reports.values()))
    states = all(report.states for report in reports.values())
    states &= not any(caution.blocks_decision for caution in cautions)
    made = CandidatesReport(
        propositions=tuple(
            Proposition(name=name, report=report, posterior=None)
            for name, report in reports.items()
        ),
        prior_none=prior_none,
        posterior_none=None,
        states=states,
        warnings=tuple(cautions),
        settings=first.settings,
        language=first.language,
        language_given=first.language_given,
    )
    if prior_none is None or not states:
        return made
    shares, none = made.posterior(prior_none)
    stated = zip(made.propositions, shares, strict=True)
    propositions = tuple(replace(one, posterior=share) for one, share in stated)
    return replace(made, propositions=propositions, posterior_none=none)


def _population_of_some(reports: Mapping[str, Report]) -> list[Caution]:
    """A caution if only some of the candidates were compared against the population."""
    used = {
        name: report.population is not None and report.population.used
        for name, report in reports.items()
    }
    if len(set(used.values())) < 2:
        return []
    without = [name for name, is_used in used.items() if not is_used]
    return [
        caution(
            "population_of_some",
            "the population seems to be of another genre than the texts of "
            f"{listed(without)}, and was not used for them",
            "their Bayes factors are against another H_0 than those of the others, and cannot be "
            "set beside them",
            "give a population, or texts by these candidates, so that all are of one genre",
            blocks_decision=True,
        )
    ]
