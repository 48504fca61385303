"""The commands on a case: verify, explain, report, check-report."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from adhominem.cli import options as opt


def _one_standard_input(context: click.Context, parameter: click.Parameter, second: str) -> str:
    if second == "-" == context.params.get("first"):  # which can be read but once
        raise click.UsageError("both sides are standard input; expected at most one")
    return second


def _options(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Several arguments and options as one decorator, in the order of the help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_sides = _options(click.argument("first"), click.argument("second", callback=_one_standard_input))
_more_texts = _options(
    click.option(
        "--also-first", multiple=True, metavar="FILE", help="One more text of the first side."
    ),
    click.option(
        "--also-second", multiple=True, metavar="FILE", help="One more of the second side."
    ),
)
_case_options = _options(
    _sides,
    opt.model,
    _more_texts,
    opt.text("--topic-first", "What the first side is about."),
    opt.text("--topic-second", "What the second is about."),
    opt.population(),
    opt.device,
)
_scale_option = click.option("--scale", type=opt.PATH, help="A verbal scale of your own, as JSON.")
_evidence_options = _options(
    opt.prior,
    opt.number("--delta", 0.125, "Undecided within 0.5 +- delta.", of=opt.DELTA),
    _scale_option,
)


@click.command()
@_case_options
@_evidence_options
@opt.runs_job
def verify(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Were two texts written by the same person, and how strong is the evidence?

    FIRST and SECOND are files (.txt, .docx, .pdf, .odt), folders with several texts by one
    author, or - for standard input.

    \b
        adhominem verify letter.txt email.txt
        adhominem verify letter.txt known-letters/ --population other-letters/ --prior 0.1
    """
    from adhominem.cli.terminal import print_json, print_verification
    from adhominem.jobs.compare import verify_files

    verification = verify_files(**options, **job)
    if as_json:
        print_json(verification.to_json())
    else:
        print_verification(verification)


@click.command()
@_case_options
@opt.output("The file to write: .html, .png or .tex.  [default: the terminal]", required=False)
@opt.choice(
    "--format",
    ["html", "terminal", "png", "latex"],
    "What to write.  [default: by the ending of the output]",
)
@_evidence_options
@opt.runs_job
def explain(
    job: opt.Job, /, output: Path | None, format: str | None, as_json: bool, **options: Any
) -> None:
    """Show where the model looked, and what speaks for or against one author.

    FIRST and SECOND are as for `verify`. In the texts, blue is the attention that a passage got,
    red that of a token in it; beside that, what each passage and the strongest n-grams contribute.

    \b
        adhominem explain letter.txt email.txt -o report.html
        adhominem explain letter.txt email.txt
    """
    from adhominem.cli.terminal import print_json, say, show, warn
    from adhominem.jobs.compare import explain_files
    from adhominem.render.output import explanation_text

    explanation = explain_files(**options, **job, output=output, format=format)
    if as_json:
        print_json(explanation.to_json())
        return
    if output is not None:
        say(f"Written  {output}")
    else:
        environment = os.environ if sys.stdout.isatty() else None
        columns = shutil.get_terminal_size().columns
        show(explanation_text(explanation, format or "terminal", environment, columns))
    warn(explanation.verification.warnings)


def _known_endings(
    context: click.Context, parameter: click.Parameter, outputs: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Refuse what cannot be written before anything is computed."""
    from adhominem.errors import OptionError
    from adhominem.jobs.report import check_report_name

    for output in outputs:
        try:
            check_report_name(output)
        except OptionError as error:
            raise click.BadParameter(str(error)) from None
    return outputs


@click.command()
@_case_options
@click.option(
    "-o",
    "--output",
    "outputs",
    required=True,
    multiple=True,
    type=opt.PATH,
    callback=_known_endings,
    help="The .html or .pdf to write; may be given twice.",
)
@opt.text("--population-source", "What the population is, in words.  [default: its path]")
@click.option(
    "--prior",
    "prior_same_author",
    type=opt.PRIOR,
    help="The court's prior probability of one author; without it no probability is given.",
)
@opt.number("--draws", 200, "Draws of passages for the interval.", of=click.IntRange(20, 10_000))
@opt.seed
@_scale_option
@opt.path("--validation", "The .json of `validate`: its cases instead of the model's own.")
@opt.text("--case", "The case's title or number.")
@opt.text("--examiner", "Who answers for the report.", "NAME")
@click.option(
    "--date", metavar="DATE", help="The date of the report, like 2026-05-31.  [default: now]"
)
@opt.runs_job
def report(job: opt.Job, /, outputs: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Write the report for a case: the evidence, what it rests on, and where it ends.

    FIRST and SECOND are as for `verify`. The .html is one file for a browser that needs nothing
    else; the .pdf needs the extra `report`. The same texts, settings and date give the same bytes.

    \b
        adhominem report letter.txt known-letters/ -o report.html
        adhominem report letter.txt known-letters/ -o report.pdf --population other-letters/
        adhominem report letter.txt known-letters/ -o report.html --validation study.json
    """
    from adhominem.cli.terminal import print_json, say, warn
    from adhominem.jobs.report import report_files
    from adhominem.render.summary import signed

    made = report_files(**options, **job, outputs=outputs)
    written = [str(output) for output in outputs]
    if as_json:
        print_json({"outputs": written, **made.to_json()})
        return
    say(f"log10 Bayes factor  {signed(made.log10_bayes_factor)}")
    say(made.verbal)
    say(f"Written  {', '.join(written)}")
    warn(made.warnings)


@click.command("check-report")
@click.argument("page", metavar="REPORT", type=opt.PATH)
@_sides
@_more_texts
@opt.population()
@click.option("--model", help="Where the model lies.  [default: the one that the report names]")
@opt.path("--scale", "The verbal scale that the report was made with, if it was not AdHominem's.")
@opt.path("--validation", "The validation study that the report was made with, if it was.")
@opt.device
@opt.runs_job
def check_report(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Compute a report anew from its texts, and say what differs.

    REPORT is the .html that `report` wrote. Topics, seed, draws and prior are those of the report;
    its population, a verbal scale of its own, and a validation study must be given again. Exit
    status: 0 if all is the same, 1 if not.

    \b
        adhominem check-report report.html letter.txt known-letters/
    """
    from adhominem.cli.terminal import print_json, say
    from adhominem.jobs.report import check_report_files

    check = check_report_files(**options, **job)
    if as_json:
        print_json(check.to_json())
    elif check.differences:
        for difference in check.differences:
            say(str(difference))
        if options["population"] is None and check.has_population:
            say("The report has a population: give its texts, too, by --population.")
        if options["validation"] is None and check.has_study:
            say("The report has a validation study: give its .json, too, by --validation.")
        if options["scale"] is None and check.own_scale:
            say(
                "The report has a verbal scale of its own, not the one of AdHominem: if that is "
                "as it should be, give the scale's file by --scale."
            )
    else:
        say("The same: texts, population, model, version, numbers and page.")
        if check.own_scale:
            say("The verbal scale is the one given, not the one of AdHominem.")
        say("As the report has them: names, topics, prior, case, examiner, date.")
    if check.differences:
        sys.exit(1)
