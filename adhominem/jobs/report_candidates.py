"""The report for a case with several candidates, from files: `adhominem report --candidate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from adhominem.errors import OptionError
from adhominem.explain.resampling import DRAWS
from adhominem.jobs.compare import CaseOptions, note_model, read_case
from adhominem.jobs.inputs import unwatched
from adhominem.jobs.report import ReportCheck, check_report_name, write_report
from adhominem.models.folder import DEFAULT_MODEL
from adhominem.report.candidates import CandidatesReport, make_candidates_report
from adhominem.report.candidates_check import check_candidates_report
from adhominem.report.candidates_html import candidates_in_page, candidates_page, check_kind
from adhominem.report.report import file_dates, report_date
from adhominem.scoring.decision import VerbalScale
from adhominem.text.exhibits import Exhibit, read_exhibits
from adhominem.text.files import bare_stem, check_not_read, noting_inputs


def report_candidates(
    disputed: str | Path,
    candidates: Sequence[str | Path],
    outputs: Sequence[str | Path],
    *,
    population_source: str = "",
    prior_none: float | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    scale: str | Path | None = None,
    case: str = "",
    examiner: str = "",
    date: str | None = None,
    **options: Unpack[CaseOptions],
) -> CandidatesReport:
    """Write the report on a disputed text and several candidates as .html or .pdf.

    Each candidate is a file, or a folder of one person's texts, and is called by its name. The
    `prior_none` is the court's: without it the report states no probabilities. Everything else is
    as in `report_files`.
    """
    for output in outputs:
        check_report_name(output)
    with noting_inputs():
        sides = _read_candidates(candidates)
        texts = read_case(disputed, candidates[0], **options)
        model = options.get("model", DEFAULT_MODEL)
        note_model(model)
        verbal_scale = VerbalScale.read(scale) if scale else None
        for output in outputs:
            check_not_read(output)  # before minutes of work
        date = report_date(date)
        known = [exhibit for side in sides.values() for exhibit in side]
        with options.get("watch", unwatched)("report", unit="share") as on_progress:
            report = make_candidates_report(
                texts.verifier,
                texts.first,
                sides,
                population=texts.population,
                population_source=population_source or str(options.get("population") or ""),
                prior_none=prior_none,
                seed=seed,
                draws=draws,
                case=case,
                examiner=examiner,
                date=date,
                scale=verbal_scale,
                model=model,
                modified=file_dates([*texts.first, *known]),
                on_progress=on_progress,
            )
        write_report(report, outputs, candidates_page)
    return report


def check_candidates_files(
    page: str | Path,
    disputed: str | Path,
    candidates: Sequence[str | Path],
    *,
    scale: str | Path | None = None,
    **options: Unpack[CaseOptions],
) -> ReportCheck:
    """Compute the report in a page anew from the files of its texts, and say what differs."""
    check_kind(Path(page), of_candidates=True)
    verbal_scale = VerbalScale.read(scale) if scale else None
    reported, _ = candidates_in_page(Path(page))
    options["model"] = options.get("model") or reported.first.model
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
    for path in map(Path, paths):
        name = bare_stem(path) if path.is_file() else path.resolve().name
        if name in sides:
            raise OptionError(f"two candidates are named '{name}'; rename one")
        sides[name] = read_exhibits([path])
    if not sides:
        raise OptionError("no candidates; expected two or more")
    return sides
