"""The commands for a court: report, check-report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adhominem.cli.case import (
    Case,
    also_first_option,
    also_second_option,
    case_options,
    check_sides,
    population_at,
    scale_option,
)
from adhominem.cli.shared import (
    device_option,
    finish,
    json_option,
    population_option,
    seed_option,
    skip_list,
)


def _known_endings(
    context: click.Context, parameter: click.Parameter, outputs: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Refuse what cannot be written before anything is computed."""
    from adhominem.report.pdf import check_pdf

    for output in outputs:
        if output.suffix.lower() not in (".html", ".htm", ".pdf"):
            raise click.BadParameter(f"{output} is no .html and no .pdf; expected one of these")
        if output.suffix.lower() == ".pdf":
            check_pdf()
    return outputs


@click.command()
@case_options
@click.option(
    "-o",
    "--output",
    "outputs",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    callback=_known_endings,
    help="The .html or .pdf to write; may be given twice.",
)
@click.option(
    "--population-source",
    default="",
    metavar="TEXT",
    help="What the population is, in words.  [default: its path]",
)
@click.option(
    "--prior",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The court's prior probability of one author; without it no probability is given.",
)
@click.option(
    "--draws",
    default=200,
    show_default=True,
    type=click.IntRange(20, 10_000),
    help="Draws of passages for the interval.",
)
@seed_option
@scale_option
@click.option("--case", "title", default="", metavar="TEXT", help="The case's title or number.")
@click.option("--examiner", default="", metavar="NAME", help="Who answers for the report.")
@click.option(
    "--date", metavar="DATE", help="The date of the report, like 2026-05-31.  [default: now]"
)
@json_option
def report(
    case: Case,
    outputs: tuple[Path, ...],
    population_source: str,
    prior: float | None,
    draws: int,
    seed: int,
    scale: Path | None,
    title: str,
    examiner: str,
    date: str | None,
    as_json: bool,
) -> None:
    """Write the report for a case: the evidence, what it rests on, and where it ends.

    FIRST and SECOND are as for `verify`. The .html is one file for a browser that needs nothing
    else; the .pdf needs the extra `report`. The same texts, settings and date give the same bytes.

    \b
        adhominem report letter.txt known-letters/ -o report.html
        adhominem report letter.txt known-letters/ -o report.pdf --population other-letters/
    """
    from adhominem.cli.terminal import complain, percent, print_json, say
    from adhominem.render.summary import signed
    from adhominem.report.html import report_page
    from adhominem.report.pdf import write_report_pdf
    from adhominem.report.report import file_dates, make_report, report_date
    from adhominem.scoring.verbal import VerbalScale
    from adhominem.text.files import check_not_read
    from adhominem.text.writing import write_whole

    verbal_scale = VerbalScale.read(scale) if scale else None
    for output in outputs:
        check_not_read(output)  # before minutes of work
    date = report_date(date)
    given = click.get_current_context().params
    with percent("report") as on_progress:
        made = make_report(
            case.verifier,
            case.first,
            case.second,
            population=case.population,
            population_source=population_source or given["population"] or "",
            prior_same_author=prior,
            seed=seed,
            draws=draws,
            case=title,
            examiner=examiner,
            date=date,
            scale=verbal_scale,
            model=given["model"],
            modified=file_dates([*case.first, *case.second]),
            on_progress=on_progress,
        )
    for output in outputs:
        if output.suffix.lower() == ".pdf":
            write_report_pdf(made, output)
        else:
            with write_whole(output) as file:
                file.write(report_page(made))
    written = [str(output) for output in outputs]
    if as_json:
        print_json({"outputs": written, **made.to_json()})
    else:
        say(f"log10 Bayes factor  {signed(made.log10_bayes_factor)}")
        say(made.verbal)
        say(f"Written  {', '.join(written)}")
        for warning in made.warnings:
            complain(f"warning: {warning.message}")
    finish(case.skipped)


@click.command("check-report")
@click.argument("page", metavar="REPORT", type=click.Path(path_type=Path))
@click.argument("first")
@click.argument("second")
@also_first_option
@also_second_option
@population_option
@click.option("--model", help="Where the model lies.  [default: the one that the report names]")
@click.option(
    "--scale",
    type=click.Path(path_type=Path),
    help="The verbal scale that the report was made with, if it was not AdHominem's.",
)
@device_option
@json_option
def check_report_command(
    page: Path,
    first: str,
    second: str,
    also_first: tuple[str, ...],
    also_second: tuple[str, ...],
    population: str | None,
    model: str | None,
    scale: Path | None,
    device: str,
    as_json: bool,
) -> None:
    """Compute a report anew from its texts, and say what differs.

    REPORT is the .html that `report` wrote. Topics, seed, draws and prior are those of the report;
    its population, and a verbal scale of its own, must be given again. Exit status: 0 if
    all is the same, 1 if not.

    \b
        adhominem check-report report.html letter.txt known-letters/
    """
    from adhominem.cli.terminal import percent, print_json, say
    from adhominem.report.check import check_report
    from adhominem.report.html import report_in_page
    from adhominem.scoring.verbal import VerbalScale
    from adhominem.text.exhibits import read_exhibits
    from adhominem.verify.verifier import load

    check_sides(first, second)
    verbal_scale = VerbalScale.read(scale) if scale else None
    reported, _ = report_in_page(page)
    named = model or reported.model
    verifier = load(named, device=device)
    skipped = skip_list()
    relevant = None
    if population is not None:
        relevant = population_at(population, named, verifier, skipped)
    with percent("checking") as on_progress:
        differences = check_report(
            page,
            read_exhibits([first, *also_first]),
            read_exhibits([second, *also_second]),
            population=relevant,
            verifier=verifier,
            model=named,
            scale=verbal_scale,
            on_progress=on_progress,
        )
    own_scale = reported.settings.scale != VerbalScale().rungs
    if as_json:
        told = [vars(each) for each in differences]
        print_json({"same": not differences, "differences": told, "own_scale": own_scale})
    elif differences:
        for each in differences:
            say(str(each))
        if population is None and reported.population is not None:
            say("The report has a population: give its texts, too, by --population.")
        if scale is None and own_scale:
            say(
                "The report has a verbal scale of its own, not the one of AdHominem: if that is "
                "as it should be, give the scale's file by --scale."
            )
    else:
        say("The same: texts, population, model, version, numbers and page.")
        if own_scale:
            say("The verbal scale is the one given, not the one of AdHominem.")
        say("As the report has them: names, topics, prior, case, examiner, date.")
    if differences:
        sys.exit(1)
    finish(skipped)
