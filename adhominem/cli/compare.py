"""The commands on two sides: verify and explain; and the options of every case."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from adhominem.cli import options as opt


def one_standard_input(
    context: click.Context, parameter: click.Parameter, second: str | None
) -> str | None:
    if second == "-" == context.params.get("first"):  # which can be read but once
        raise click.UsageError("both sides are standard input; expected at most one")
    return second


def together(*options: Callable[..., Any]) -> Callable[..., Any]:
    """Several arguments and options as one decorator, in the order of the help."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


_sides = together(click.argument("first"), click.argument("second", callback=one_standard_input))
more_texts = together(
    click.option(
        "--also-first", multiple=True, metavar="FILE", help="One more text of the first side."
    ),
    click.option(
        "--also-second", multiple=True, metavar="FILE", help="One more of the second side."
    ),
)
of_case = (
    opt.model,
    more_texts,
    opt.text("--topic-first", "What the first side is about."),
    opt.text("--topic-second", "What the second is about."),
    opt.population(),
    opt.device,
)
_case_options = together(_sides, *of_case)
scale_option = click.option("--scale", type=opt.PATH, help="A verbal scale of your own, as JSON.")
_evidence_options = together(
    opt.prior,
    opt.number("--delta", 0.125, "Undecided within 0.5 +- delta.", of=opt.DELTA),
    scale_option,
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
    from adhominem.questions.verify.files import verify_files

    verification = verify_files(**options, **job)
    if as_json:
        print_json(verification.to_json())
    else:
        print_verification(verification)


@click.command()
@_case_options
@opt.output("The file to write: .html or .txt.  [default: the terminal]", required=False)
@opt.choice(
    "--format",
    ["html", "terminal"],
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
    from adhominem.questions.verify.files import explain_files, explanation_text

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
