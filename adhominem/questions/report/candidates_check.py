"""Compute a report with several candidates anew, and say in what it differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from adhominem.errors import InputError
from adhominem.harmless import harmless
from adhominem.questions.report.candidates import CandidatesReport, make_candidates_report
from adhominem.questions.report.check import (
    Difference,
    as_reported,
    compare_files,
    compare_reports,
    compare_values,
    named_model,
)
from adhominem.questions.report.formats import StoredReport, read_report
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import SideTexts, exhibits_of
from adhominem.verify.verifier import Verifier, load


def check_candidates_report(
    path: str | Path,
    disputed: SideTexts,
    candidates: Mapping[str, SideTexts],
    *,
    population: Population | None = None,
    verifier: Verifier | None = None,
    model: str | Path | None = None,
    scale: VerbalScale | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> list[Difference]:
    """All differences between the report in a file and what the texts give now.

    Seed, draws and priors are those of the report, and so is the order of candidates; everything
    else is as in `check_report`.
    """
    stored = read_report(path)
    reported = of_candidates(stored)
    names = [one.name for one in reported.propositions]
    if differing := _compare_names(names, candidates):
        return [differing]
    sides = {
        one.name: as_reported(exhibits_of(candidates[one.name], one.name), one.report.second)
        for one in reported.propositions
    }
    # Whoever has nothing but copies is in no report, and is left out again.
    more = {name: side for name, side in candidates.items() if name not in sides}
    population_told = reported.first.population
    computed = make_candidates_report(
        verifier or load(model or named_model(reported.first, path)),
        as_reported(exhibits_of(disputed, "disputed"), reported.disputed),
        {**sides, **more},
        population=population,
        population_source="" if population_told is None else population_told.source,
        prior_none=reported.prior_none,
        seed=reported.settings.seed,
        draws=reported.settings.draws,
        details=reported.details,
        date=reported.date,
        annex=reported.settings.annex,
        scale=scale,
        model=model,
        on_progress=on_progress,
    )
    differences = _compare_all(reported, computed)
    if not differences:
        differences += compare_files(stored, reported)
    return differences


def of_candidates(stored: StoredReport) -> CandidatesReport:
    """The report of a file, which must be one with several candidates."""
    if not isinstance(stored.report, CandidatesReport):
        raise InputError(
            "this is a report on two sides; give FIRST and SECOND, and no --candidate", stored.path
        )
    return stored.report


def _compare_names(names: list[str], candidates: Mapping[str, SideTexts]) -> Difference | None:
    """Candidates of the report of whom no texts were given now."""
    if missing := [name for name in names if name not in candidates]:
        given = [name for name in candidates if name not in names]
        return Difference(
            "candidates",
            harmless(", ".join(missing)),
            harmless(", ".join(given)) or "none of this name",
        )
    return None


def _compare_all(reported: CandidatesReport, computed: CandidatesReport) -> list[Difference]:
    before, now = ([one.name for one in side.propositions] for side in (reported, computed))
    differences = list(compare_values(before, now, "candidates"))
    told: set[Difference] = set()
    for one, other in zip(reported.propositions, computed.propositions, strict=False):
        for difference in compare_reports(one.report, other.report):
            if difference not in told:  # what all have in common is told once
                told.add(difference)
                what = f"{harmless(one.name)}: {difference.what}"
                differences.append(replace(difference, what=what))
        named = f"{harmless(one.name)}: posterior"
        differences += compare_values(one.posterior, other.posterior, named)
    differences += compare_values(
        reported.posterior_none, computed.posterior_none, "posterior of none of them"
    )
    differences += compare_values(
        [caution.message for caution in reported.warnings],
        [caution.message for caution in computed.warnings],
        "warnings of the case",
    )
    differences += compare_values(reported.states, computed.states, "whether anything is stated")
    return differences
