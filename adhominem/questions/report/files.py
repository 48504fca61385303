"""The report for a case given as files, and its check: `adhominem report` and `check-report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack, cast

from adhominem.evaluation.study import read_study
from adhominem.jobs.inputs import unwatched
from adhominem.model.folder import DEFAULT_MODEL
from adhominem.questions.report.check import Difference, check_report, named_model, of_two_sides
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
from adhominem.text.exhibits import Exhibit
from adhominem.text.files import check_not_read, noting_inputs


class ReportFileOptions(CaseOptions, total=False):
    """What a report from files can be made with, beside what its case consists of."""

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
    """What a report computed anew from its texts came to."""

    differences: tuple[Difference, ...]
    own_scale: bool  # the report has a verbal scale other than AdHominem's
    has_population: bool  # the report rests on a population
    has_study: bool  # its cases of known authors are the examiner's own

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

    The `prior_same_author` is the court's: without it the report states no probability.
    `validation` is the file of a study of the examiner's own material, as `validate` writes it.
    """
    for output in outputs:
        form_of(output)
    with noting_inputs():
        study = read_study(validation) if validation else None
        case = read_case(first, second, **case_options(options))
        texts = [*case.first, *case.second]
        settings = report_options(options, texts, case.population, outputs)
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


def case_options(options: ReportFileOptions) -> CaseOptions:
    """Those of the options that say what the case consists of."""
    named = {name: value for name, value in options.items() if name in CaseOptions.__annotations__}
    return cast(CaseOptions, named)


def report_options(
    options: ReportFileOptions,
    texts: Sequence[Exhibit],
    population: Population | None,
    outputs: Sequence[str | Path],
) -> ReportOptions:
    """What `make_report` takes for these options; whatever is wrong is said before the work."""
    model, scale = options.get("model", DEFAULT_MODEL), options.get("scale")
    note_model(model)
    settings: ReportOptions = {
        "population": population,
        "population_source": options.get("population_source")
        or str(options.get("population") or ""),
        "details": _details(options, texts),
        "date": report_date(options.get("date")),
        "scale": VerbalScale.read(scale) if scale else None,
        "model": model,
        "modified": file_dates(texts),
    }
    if "draws" in options:
        settings["draws"] = options["draws"]
    if "seed" in options:
        settings["seed"] = options["seed"]
    if "annex" in options:
        settings["annex"] = options["annex"]
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


def check_report_files(
    page: str | Path,
    first: str | Path,
    second: str | Path,
    *,
    scale: str | Path | None = None,
    validation: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> ReportCheck:
    """Compute the report in a file anew from the files of its texts, and say what differs.

    The model is the one that the report names, unless it is given; its population, a verbal scale
    of its own, and a validation study must be given again.
    """
    reported = of_two_sides(read_report(page))
    verbal_scale = VerbalScale.read(scale) if scale else None
    study = read_study(validation) if validation else None
    options["model"] = options.get("model") or named_model(reported, page)
    texts = read_case(first, second, **options)
    with options.get("watch", unwatched)("checking", unit="share") as on_progress:
        differences = check_report(
            page,
            **vars(texts),
            model=options["model"],
            scale=verbal_scale,
            validation=study,
            on_progress=on_progress,
        )
    return ReportCheck(
        tuple(differences),
        own_scale=reported.settings.scale != VerbalScale().rungs,
        has_population=reported.population is not None,
        has_study=reported.validation is not None and reported.validation.study is not None,
    )
