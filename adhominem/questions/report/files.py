"""The report for a case given as files, and its check: `adhominem report` and `check-report`.

A report is on two sides, or on a disputed text and several candidates, each a file or a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, cast

from adhominem.errors import OptionError
from adhominem.evaluation.study import read_study
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.report.candidates import CandidatesReport, make_candidates_report
from adhominem.questions.report.check import (
    Difference,
    check_candidates_report,
    check_report,
    named_model,
    of_candidates,
    of_two_sides,
)
from adhominem.questions.report.details import CaseDetails, read_details
from adhominem.questions.report.formats import form_of, read_report, write_report
from adhominem.questions.report.report import (
    Report,
    ReportOptions,
    file_dates,
    make_report,
    report_date,
)
from adhominem.questions.verify.files import CaseOptions, note_model, read_case
from adhominem.score.decision import VerbalScale
from adhominem.score.population import Population
from adhominem.text.exhibits import Exhibit, read_exhibits
from adhominem.text.files import check_not_read, name_of, noting_inputs
from adhominem.text.readers import unwatched


class ReportFileOptions(CaseOptions, total=False):
    """The options of a report from files, besides those of its case."""

    population_source: str  # what the population is; by default its path
    draws: int
    seed: int
    scale: str | Path | None  # the file of a verbal scale
    case_file: str | Path | None  # with the details of the case: see `report.details`
    case: str  # these three come before what the case file says
    examiner: str
    qualification: str
    date: str | None
    annex: str  # none, short or full


@dataclass(frozen=True)
class ReportCheck:
    """The differences that a check of a report found."""

    differences: tuple[Difference, ...]
    own_scale: bool  # whether the report has a verbal scale other than AdHominem's
    has_population: bool  # whether the report rests on a population
    has_study: bool  # whether its cases of known authors are the examiner's own

    def to_json(self) -> dict[str, Any]:
        """The check as plain lists and strings."""
        return {
            "same": not self.differences,
            "differences": [vars(difference) for difference in self.differences],
            "own_scale": self.own_scale,
        }


def report_files(
    first: str | Path,
    second: str | Path,
    outputs: Sequence[str | Path],
    *,
    prior_same_author: float | None = None,
    validation: str | Path | None = None,
    **options: Unpack[ReportFileOptions],
) -> Report:
    """Write the report on two files or folders as .html, .pdf or .docx; see `make_report`.

    The `prior_same_author` is for the court to state: without it the report states no probability.
    `validation` is the file of a study of the examiner's own material, as `validate` writes it.
    """
    for output in outputs:
        form_of(output)
    with noting_inputs():
        study = read_study(validation) if validation else None
        case = read_case(first, second, **_case_options(options))
        settings = _report_options(options, [*case.first, *case.second], case.population, outputs)
        with options.get("watch", unwatched)("report", unit="share") as on_progress:
            report = make_report(
                case.verifier,
                case.first,
                case.second,
                prior_same_author=prior_same_author,
                validation=study,
                on_progress=on_progress,
                **settings,
            )
        for output in outputs:
            write_report(report, output)
    return report


def report_candidates(
    disputed: str | Path,
    candidates: Sequence[str | Path],
    outputs: Sequence[str | Path],
    *,
    prior_none: float | None = None,
    **options: Unpack[ReportFileOptions],
) -> CandidatesReport:
    """Write the report on a disputed text and several candidates as .html, .pdf or .docx.

    Each candidate is a file, or a folder of one person's texts, and is named after it. The
    `prior_none` is for the court to state: without it the report states no probabilities. All else
    is as in `report_files`.
    """
    for output in outputs:
        form_of(output)
    with noting_inputs():
        sides = _read_candidates(candidates)
        case = read_case(disputed, None, **_case_options(options))
        known = [exhibit for side in sides.values() for exhibit in side]
        settings = _report_options(options, [*case.first, *known], case.population, outputs)
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


def _case_options(options: ReportFileOptions) -> CaseOptions:
    """The options that belong to the case."""
    return cast(CaseOptions, _chosen(options, *CaseOptions.__annotations__))


def _chosen(options: ReportFileOptions, *names: str) -> dict[str, Any]:
    """The options with these names that were given."""
    return {name: value for name, value in options.items() if name in names}


def _report_options(
    options: ReportFileOptions,
    texts: Sequence[Exhibit],
    population: Population | None,
    outputs: Sequence[str | Path],
) -> ReportOptions:
    """The keyword arguments of `make_report` for these options, checked before the work starts."""
    scale = options.get("scale")
    note_model(options.get("model", DEFAULT_MODEL))
    settings: ReportOptions = {
        "population": population,
        "population_source": options.get("population_source")
        or str(options.get("population") or ""),
        "details": _details(options, texts),
        "date": report_date(options.get("date")),
        "scale": VerbalScale.read(scale) if scale else None,
        "modified": file_dates(texts),
    }
    settings |= cast(ReportOptions, _chosen(options, "draws", "seed", "annex"))
    for output in outputs:
        check_not_read(output)
    return settings


def _details(options: ReportFileOptions, texts: Sequence[Exhibit]) -> CaseDetails:
    details = CaseDetails()
    if (path := options.get("case_file")) is not None:
        details = read_details(path)
        details.check_items([text.document.id for text in texts], path)
    return details.with_options(
        case=options.get("case", ""),
        examiner=options.get("examiner", ""),
        qualification=options.get("qualification", ""),
    )


def _read_candidates(paths: Sequence[str | Path]) -> dict[str, list[Exhibit]]:
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


def check_report_files(
    page: str | Path,
    first: str | Path,
    second: str | Path,
    *,
    scale: str | Path | None = None,
    validation: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> ReportCheck:
    """Recompute the report in a file from the files of its texts, and list all differences.

    The model is the one that the report names, unless it is given; its population, a verbal scale
    of its own, and a validation study must be given again.
    """
    stored = read_report(page)
    reported = of_two_sides(stored)
    verbal_scale = VerbalScale.read(scale) if scale else None
    study = read_study(validation) if validation else None
    options["model"] = options.get("model") or named_model(reported, page)
    case = read_case(first, second, **options)
    with options.get("watch", unwatched)("checking", unit="share") as on_progress:
        differences = check_report(
            stored, **vars(case), scale=verbal_scale, validation=study, on_progress=on_progress
        )
    return _report_check(reported, differences)


def check_candidates_files(
    page: str | Path,
    disputed: str | Path,
    candidates: Sequence[str | Path],
    *,
    scale: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> ReportCheck:
    """Recompute a report with several candidates from its files, and list all differences."""
    stored = read_report(page)
    reported = of_candidates(stored)
    verbal_scale = VerbalScale.read(scale) if scale else None
    options["model"] = options.get("model") or named_model(reported.first, page)
    sides = _read_candidates(candidates)
    case = read_case(disputed, None, **options)
    with options.get("watch", unwatched)("checking", unit="share") as on_progress:
        differences = check_candidates_report(
            stored,
            case.first,
            sides,
            population=case.population,
            verifier=case.verifier,
            scale=verbal_scale,
            on_progress=on_progress,
        )
    return _report_check(reported.first, differences)


def _report_check(reported: Report, differences: Sequence[Difference]) -> ReportCheck:
    return ReportCheck(
        tuple(differences),
        own_scale=reported.settings.scale != VerbalScale().rungs,
        has_population=reported.population is not None,
        has_study=reported.validation is not None and reported.validation.study is not None,
    )
