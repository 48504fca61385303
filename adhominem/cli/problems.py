"""The command attribute: PAN's attribution problems."""

from __future__ import annotations

from typing import Any

import click

from adhominem.cli import options as opt


@click.command()
@click.argument("collection", type=opt.PATH)
@opt.output_folder
@opt.model
@opt.population(
    help="Texts of the same genre by other people.  [default: the other candidates' texts]"
)
@opt.number(
    "--none prior_none",
    0.5,
    "How probable it is, before the texts are read, that none of the candidates wrote it; 0 if one "
    "of them must have.",
    of=click.FloatRange(0, 1, max_open=True),
)
@opt.seed
@opt.device
@opt.jobs
@opt.runs_job
def attribute(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Answer PAN's attribution problems of 2018 or 2019: who wrote each unknown text, if anybody?

    COLLECTION holds folders like problem00001/, each with candidates and unknown texts. The output
    gets an answers-problem00001.json for each. Where there is a ground-truth.json, the answers are
    scored with PAN's macro-F1.

    \b
        adhominem attribute pan19/ -o answers/
        adhominem attribute pan18/ -o answers/ --none 0
    """
    from adhominem.cli.terminal import complain, print_result, print_table, say
    from adhominem.questions.rank.attribute import attribute_problems

    answered = attribute_problems(**options, **job)
    for problem in answered.problems:
        complain(*(f"warning: {problem.name}: {told.message}" for told in problem.warnings))
    if as_json:
        print_result(answered, job["skipped"])
        return

    def shown(score: float | None) -> str:
        return "–" if score is None else f"{score:.3f}"

    rows = [
        [one.name, one.candidates, one.texts, one.none, shown(one.macro_f1), shown(one.accuracy)]
        for one in answered.problems
    ]
    print_table(
        f"{len(rows):,} problems, prior of none {answered.prior_none:g}",
        ["problem", "candidates", "texts", "none", "macro-F1", "accuracy"],
        rows,
    )
    if answered.macro_f1 is not None:
        say(f"Mean macro-F1  {answered.macro_f1:.3f}")
    say(f"Written  {answered.output}")
