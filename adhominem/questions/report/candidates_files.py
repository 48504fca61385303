"""The report for a case with several candidates, from files: `adhominem report --candidate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from adhominem.errors import OptionError
from adhominem.jobs.inputs import unwatched
from adhominem.questions.report.candidates import CandidatesReport, make_candidates_report
from adhominem.questions.report.candidates_check import check_candidates_report, of_candidates
from adhominem.questions.report.check import named_model
from adhominem.questions.report.files import (
    ReportCheck,
    ReportFileOptions,
    case_options,
    report_options,
)
from adhominem.questions.report.formats import form_of, read_report, write_report
from adhominem.questions.verify.files import CaseOptions, read_case
from adhominem.score.decision import VerbalScale
from adhominem.text.exhibits import Exhibit, read_exhibits
from adhominem.text.files import name_of, noting_inputs


def report_candidates(
    disputed: str | Path,
    candidates: Sequence[str | Path],
    outputs: Sequence[str | Path],
    *,
    prior_none: float | None = None,
    **options: Unpack[ReportFileOptions],
) -> CandidatesReport:
    """Write the report on a disputed text and several candidates as .html, .pdf or .docx.

    Each candidate is a file, or a folder of one person's texts, and is called by its name. The
    `prior_none` is the court's: without it the report states no probabilities. Everything else is
    as in `report_files`.
    """
    for output in outputs:
        form_of(output)
    with noting_inputs():
        sides = _read_candidates(candidates)
        case = read_case(disputed, candidates[0], **case_options(options))
        known = [exhibit for side in sides.values() for exhibit in side]
        settings = report_options(options, [*case.first, *known], case.population, outputs)
        with options.get("watch", unwatched)("report", unit="share") as on_progress:
            report = make_candidates_report(
                case.verifier,
                case.first,
                sides,
                prior_none=prior_none,
                on_progress=on_progress,
                **settings,
            )
        for output in outputs:
            write_report(report, output)
    return report


def check_candidates_files(
    page: str | Path,
    disputed: str | Path,
    candidates: Sequence[str | Path],
    *,
    scale: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> ReportCheck:
    """Compute the report in a file anew from the files of its texts, and say what differs."""
    reported = of_candidates(read_report(page))
    verbal_scale = VerbalScale.read(scale) if scale else None
    options["model"] = options.get("model") or named_model(reported.first, page)
    sides = _read_candidates(candidates)
    texts = read_case(disputed, candidates[0], **options)
    with options.get("watch", unwatched)("checking", unit="share") as on_progress:
        differences = check_candidates_report(
            page,
            texts.first,
            sides,
            population=texts.population,
            verifier=texts.verifier,
            model=options["model"],
            scale=verbal_scale,
            on_progress=on_progress,
        )
    return ReportCheck(
        tuple(differences),
        own_scale=reported.settings.scale != VerbalScale().rungs,
        has_population=reported.first.population is not None,
        has_study=False,
    )


def _read_candidates(paths: Sequence[str | Path]) -> Mapping[str, list[Exhibit]]:
    """The texts of each candidate, by the name of the file or folder."""
    sides: dict[str, list[Exhibit]] = {}
    for path in paths:
        name = name_of(path)
        if name in sides:
            raise OptionError(f"two candidates are named '{name}'; rename one")
        sides[name] = read_exhibits([path])
    if not sides:
        raise OptionError("no candidates; expected two or more")
    return sides
