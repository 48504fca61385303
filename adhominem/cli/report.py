"""The commands report and check-report: on two sides, or on several candidates."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from adhominem.cli import options as opt
from adhominem.cli.compare import more_texts, of_case, one_standard_input, scale_option, together

_sides_or_candidates = together(
    click.argument("first"),
    click.argument("second", required=False, callback=one_standard_input),
    opt.path(
        "--candidate candidates",
        "Instead of SECOND: a candidate's text, or a folder of them; several times.",
        multiple=True,
    ),
)


def _known_endings(
    context: click.Context, parameter: click.Parameter, outputs: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Refuse what cannot be written before anything is computed."""
    from adhominem.errors import OptionError
    from adhominem.questions.report.formats import form_of

    for output in outputs:
        try:
            form_of(output)
        except OptionError as error:
            raise click.BadParameter(str(error)) from None
    return outputs


def _several(options: dict[str, Any]) -> bool:
    """Whether there are several candidates; refuse what does not go with them, or without."""
    several = bool(options["candidates"])
    if several == (options["second"] is not None):
        raise click.UsageError("give either SECOND, or each candidate by --candidate")
    wrong = {
        "--also-second": several and options["also_second"],
        "--topic-second": several and options.get("topic_second"),
        "--prior": several and options.get("prior_same_author"),
        "--validation": several and options["validation"],
        "--none": not several and options.get("prior_none") is not None,
    }
    for name, is_given in wrong.items():
        if is_given:
            kind = "on two sides" if several else "with --candidate"
            raise click.UsageError(f"{name} is for a report {kind}")
    of_two_sides = ("second", "also_second", "topic_second", "prior_same_author", "validation")
    for name in of_two_sides if several else ("candidates", "prior_none"):
        options.pop(name, None)
    return several


@click.command()
@together(_sides_or_candidates, *of_case)
@click.option(
    "-o",
    "--output",
    "outputs",
    required=True,
    multiple=True,
    type=opt.PATH,
    callback=_known_endings,
    help="The .html, .pdf or .docx to write; may be given several times.",
)
@opt.text("--population-source", "What the population is, in words.  [default: its path]")
@click.option(
    "--prior",
    "prior_same_author",
    type=opt.PRIOR,
    help="The court's prior probability of one author; without it no probability is given.",
)
@click.option(
    "--none",
    "prior_none",
    type=click.FloatRange(0, 1, max_open=True),
    help="The court's prior probability that none of the candidates wrote it; they share the rest "
    "evenly. Without it no probability is given.",
)
@opt.number("--draws", 200, "Draws of passages for the interval.", of=click.IntRange(20, 10_000))
@opt.seed
@scale_option
@opt.path("--validation", "The .json of `validate`: its cases instead of the model's own.")
@opt.choice(
    "--annex",
    ("none", "short", "full"),
    "What follows the first pages: nothing; lists, figures and the strongest passages; or whole "
    "texts with heat maps, too.",
    default="short",
)
@opt.path("--case-file", "The details of the case, as TOML or JSON: see docs/report.md.")
@opt.text("--case", "The case's title or number.")
@opt.text("--examiner", "Who answers for the report.", "NAME")
@opt.text("--qualification", "The examiner's qualification.")
@click.option(
    "--date", metavar="DATE", help="The date of the report, like 2026-05-31.  [default: now]"
)
@opt.runs_job
def report(job: opt.Job, /, outputs: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Write the report for a case: the evidence, what it rests on, and where it ends.

    FIRST and SECOND are as for `verify`. If there are several candidates, FIRST is the disputed
    text, and each of them is given by --candidate: the report then has a proposition and a Bayes
    factor for each. The .html is one file for a browser that needs nothing else; .pdf and .docx
    need the extra `report`. The same texts, settings and date give the same bytes.

    \b
        adhominem report letter.txt known-letters/ -o report.html
        adhominem report letter.txt known-letters/ -o report.pdf --population other-letters/
        adhominem report letter.txt known-letters/ -o report.docx --case-file case.toml
        adhominem report letter.txt known-letters/ -o report.html --validation study.json
        adhominem report letter.txt --candidate anne/ --candidate ben/ -o report.html --none 0.5
    """
    from adhominem.cli.terminal import print_json, say, warn
    from adhominem.render.summary import signed

    if _several(options):
        _report_candidates(job, outputs, as_json, options)
        return
    from adhominem.questions.report.files import report_files

    made = report_files(**options, **job, outputs=outputs)
    written = [str(output) for output in outputs]
    if as_json:
        print_json({"outputs": written, **made.to_json()})
        return
    say(f"log10 Bayes factor  {signed(made.log10_bayes_factor)}")
    say(made.verbal)
    say(f"Written  {', '.join(written)}")
    warn(made.warnings)


def _report_candidates(
    job: opt.Job, outputs: tuple[Path, ...], as_json: bool, options: dict[str, Any]
) -> None:
    from adhominem.cli.terminal import print_json, print_table, say, warn
    from adhominem.questions.report.files import report_candidates
    from adhominem.render.summary import signed
    from adhominem.score.decision import show_probability

    made = report_candidates(options.pop("first"), outputs=outputs, **options, **job)
    written = [str(output) for output in outputs]
    if as_json:
        print_json({"outputs": written, **made.to_json()})
        return
    rows = [
        [
            f"H_{number}",
            one.name,
            signed(one.report.log10_bayes_factor),
            show_probability(one.posterior),
        ]
        for number, one in enumerate(made.propositions, start=1)
    ]
    print_table(
        "Each candidate against H_0: somebody else",
        ["", "candidate", "log10 Bayes factor", "posterior"],
        [*rows, ["H_0", "none of them", signed(0.0), show_probability(made.posterior_none)]],
    )
    say(f"Written  {', '.join(written)}")
    warn(dict.fromkeys(caution for one in made.propositions for caution in one.report.warnings))
    warn(made.warnings)


@click.command("check-report")
@click.argument("page", metavar="REPORT", type=opt.PATH)
@_sides_or_candidates
@more_texts
@opt.population()
@click.option("--model", help="Where the model lies.  [default: the one that the report names]")
@opt.path("--scale", "The verbal scale that the report was made with, if it was not AdHominem's.")
@opt.path("--validation", "The validation study that the report was made with, if it was.")
@opt.device
@opt.runs_job
def check_report(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Compute a report again from its texts, and say what differs.

    REPORT is the .html, .pdf or .docx that `report` wrote. Topics, seed, draws and prior are those
    of the report; its population, a verbal scale of its own, and a validation study must be given
    again, and all candidates, if it has several. Of a .docx that was edited, every paragraph that
    was changed is listed. Exit status: 0 if all is the same, 1 if not.

    \b
        adhominem check-report report.html letter.txt known-letters/
        adhominem check-report report.html letter.txt --candidate anne/ --candidate ben/
    """
    from adhominem.cli.terminal import print_json, say

    given = dict(options)
    if _several(options):
        from adhominem.questions.report.files import check_candidates_files

        check = check_candidates_files(disputed=options.pop("first"), **options, **job)
    else:
        from adhominem.questions.report.files import check_report_files

        check = check_report_files(**options, **job)
    if as_json:
        print_json(check.to_json())
    elif check.differences:
        for difference in check.differences:
            say(str(difference))
        if given["population"] is None and check.has_population:
            say("The report has a population: give its texts, too, by --population.")
        if given["validation"] is None and check.has_study:
            say("The report has a validation study: give its .json, too, by --validation.")
        if given["scale"] is None and check.own_scale:
            say(
                "The report has a verbal scale of its own, not the one of AdHominem: if that is "
                "as it should be, give the scale's file by --scale."
            )
    else:
        say("The same: texts, population, model, version, numbers, and what the file shows.")
        if check.own_scale:
            say("The verbal scale is the one given, not the one of AdHominem.")
        say("Taken from the report: names, topics, prior, date, and the details of the case.")
    if check.differences:
        sys.exit(1)
