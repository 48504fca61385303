"""The report for a case given as files, and its check: `adhominem report` and `check-report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Unpack

from adhominem.errors import OptionError
from adhominem.evaluation.study import read_study
from adhominem.explain.resampling import DRAWS
from adhominem.jobs.compare import CaseOptions, note_model, read_case
from adhominem.jobs.inputs import unwatched
from adhominem.models.folder import DEFAULT_MODEL
from adhominem.report.candidates import CandidatesReport
from adhominem.report.candidates_html import check_kind
from adhominem.report.check import Difference, check_report
from adhominem.report.html import report_in_page, report_page
from adhominem.report.pdf import check_pdf, write_report_pdf
from adhominem.report.report import Report, file_dates, make_report, report_date
from adhominem.scoring.decision import VerbalScale
from adhominem.text.files import check_not_read, noting_inputs
from adhominem.text.writing import write_whole

AnyReport = TypeVar("AnyReport", Report, CandidatesReport)


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


def check_report_name(output: str | Path) -> None:
    """Refuse a report whose file is no .html and no .pdf, or a PDF that cannot be made here."""
    suffix = Path(output).suffix.lower()
    if suffix not in (".html", ".htm", ".pdf"):
        raise OptionError(f"{output} is no .html and no .pdf; expected one of these")
    if suffix == ".pdf":
        check_pdf()


def report_files(
    first: str | Path,
    second: str | Path,
    outputs: Sequence[str | Path],
    *,
    population_source: str = "",
    prior_same_author: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    scale: str | Path | None = None,
    case: str = "",
    examiner: str = "",
    date: str | None = None,
    validation: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> Report:
    """Write the report on two files or folders as .html or .pdf; see `make_report`.

    The `prior_same_author` is the court's: without it the report states no probability.
    `population_source` says what the population is; by default it is its path. `validation` is the
    file of a study of the examiner's own material, as `validate` writes it.
    """
    for output in outputs:
        check_report_name(output)
    with noting_inputs():
        study = read_study(validation) if validation else None
        texts = read_case(first, second, **options)
        model = options.get("model", DEFAULT_MODEL)
        note_model(model)
        verbal_scale = VerbalScale.read(scale) if scale else None
        for output in outputs:
            check_not_read(output)  # before minutes of work
        date = report_date(date)
        with options.get("watch", unwatched)("report", unit="share") as on_progress:
            report = make_report(
                **vars(texts),
                population_source=population_source or str(options.get("population") or ""),
                prior_same_author=prior_same_author,
                seed=seed,
                draws=draws,
                case=case,
                examiner=examiner,
                date=date,
                scale=verbal_scale,
                model=model,
                modified=file_dates([*texts.first, *texts.second]),
                validation=study,
                on_progress=on_progress,
            )
        write_report(report, outputs, report_page)
    return report


def write_report(
    report: AnyReport, outputs: Sequence[str | Path], page: Callable[[AnyReport], str]
) -> None:
    """As PDF, or as the HTML that `page` makes of it, by the name of each output."""
    for output in map(Path, outputs):
        if output.suffix.lower() == ".pdf":
            write_report_pdf(report, output)
        else:
            with write_whole(output) as file:
                file.write(page(report))


def check_report_files(
    page: str | Path,
    first: str | Path,
    second: str | Path,
    *,
    scale: str | Path | None = None,
    validation: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> ReportCheck:
    """Compute the report in a page anew from the files of its texts, and say what differs.

    The model is the one that the report names, unless it is given; its population, a verbal scale
    of its own, and a validation study must be given again.
    """
    check_kind(Path(page), of_candidates=False)
    verbal_scale = VerbalScale.read(scale) if scale else None
    study = read_study(validation) if validation else None
    reported, _ = report_in_page(Path(page))
    options["model"] = options.get("model") or reported.model
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
