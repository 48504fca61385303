"""The command validate: a model tried on one's own texts of known authors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from adhominem.cli import options as opt


def _known_endings(
    context: click.Context, parameter: click.Parameter, outputs: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Refuse what cannot be written before anything is computed."""
    from adhominem.errors import OptionError
    from adhominem.questions.validate.files import check_study_name

    for output in outputs:
        try:
            check_study_name(output)
        except OptionError as error:
            raise click.BadParameter(str(error)) from None
    return outputs


@click.command()
@click.argument("material", type=opt.PATH)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    type=opt.PATH,
    callback=_known_endings,
    help="A .json, for `report --validation`, or an .html page; may be given twice.",
)
@opt.model
@opt.number("--known", 1, "How many known texts the questioned one is compared with.")
@click.option(
    "--words",
    type=opt.ONE_OR_MORE,
    help="Words to cut each text to.  [default: whole texts]",
)
@opt.population(
    "PATH|input",
    "Texts of the same genre by other people; `input`: those of the material by neither author "
    "of a case.  [default: none]",
)
@click.option(
    "--population-size",
    type=opt.ONE_OR_MORE,
    help="With `--population input`, how many texts are drawn for each case.  [default: all]",
)
@click.option(
    "--cases",
    type=opt.ONE_OR_MORE,
    help="Most cases of each class.  [default: a case a text]",
)
@opt.number(
    "--bootstrap resamples",
    1000,
    "Resamples of authors for the 95% intervals; 0 leaves them out.",
    of=click.IntRange(min=0),
)
@opt.seed
@opt.device
@opt.jobs
@opt.runs_job
def validate(job: opt.Job, /, outputs: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """How does the model do on your own texts, under the conditions of your case?

    MATERIAL holds texts of known authors: a folder with one folder an author, or any other
    corpus. Each text is compared once with other texts by its author, and as many texts are
    compared with those of another author. Choose the number of known texts, the words and the
    population as in your case.

    \b
        adhominem validate letters-by-author/ --known 5 --words 500 -o study.json -o study.html
        adhominem validate letters-by-author/ --population input --population-size 50
    """
    from adhominem.cli.terminal import complain, print_result, print_table, say
    from adhominem.questions.validate.files import validate
    from adhominem.questions.validate.page import rows_of, study_facts

    if options["population_size"] is not None and options["population"] != "input":
        raise click.UsageError("--population-size is for `--population input`")
    study = validate(outputs=outputs, **options, **job)
    complain(*(f"warning: {remark}" for remark in study.remarks))
    if as_json:
        print_result(study, job["skipped"])
        return
    print_table(
        f"{study.same_author:,} same-author and {study.different_authors:,} different-author cases",
        ["", study.model, "95% interval"],
        [[row.measure.title, row.value, row.interval] for row in rows_of(study)],
    )
    for name, fact in study_facts(study).items():
        say(f"{name}  {fact}")
    if study.intervals:
        say(
            f"The intervals are over authors, by resampling them {study.conditions.resamples:,} "
            "times."
        )
    if outputs:
        say(f"Written  {', '.join(map(str, outputs))}")
