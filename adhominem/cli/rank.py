"""The commands rank and attribute: which of these candidates, if any?"""

from __future__ import annotations

from typing import Any

import click

from adhominem.cli import options as opt

_none = opt.number(
    "--none prior_none",
    0.5,
    "How probable it is, before the texts are read, that none of the candidates wrote it; 0 if one "
    "of them must have.",
    of=click.FloatRange(0, 1, max_open=True),
)
_population = opt.population(
    help="Texts of the same genre by other people.  [default: the other candidates' texts]"
)


@click.command()
@click.argument("disputed", nargs=-1, required=True)
@click.argument("candidates", type=opt.PATH)
@opt.model
@_population
@_none
@click.option(
    "--each",
    "one_by_one",
    is_flag=True,
    help="Rank each disputed text by itself.  [default: all are by one author]",
)
@click.option(
    "-o",
    "--output",
    type=opt.PATH,
    callback=opt.page_name,
    help="An .html page to write, which also shows what speaks for whom.",
)
@click.option("--scale", type=opt.PATH, help="A verbal scale of your own, as JSON.")
@opt.number(
    "--trials",
    200,
    "Most trials with the candidates' known texts, by which you see how far to trust the answer; 0 "
    "leaves them out.",
    of=click.IntRange(min=0),
)
@opt.number("--top", 20, "Most candidates to print.")
@opt.seed
@opt.device
@opt.jobs
@opt.runs_job
def rank(job: opt.Job, /, as_json: bool, top: int, **options: Any) -> None:
    """Which of these candidates wrote it, if any, and how strong is the evidence?

    DISPUTED are files, folders of texts, or - for standard input. CANDIDATES holds the known texts
    of the candidates: a folder with one folder for each, files named author_title.txt, or a .jsonl
    with authors.

    The Bayes factor of a candidate compares “this candidate wrote it” with “somebody else of this
    population did”. The posterior also depends on the priors, which are yours to state.

    \b
        adhominem rank letter.txt candidates/
        adhominem rank letter.txt candidates/ --none 0.2 -o ranking.html
        adhominem rank chapter-1.txt chapter-2.txt novelists/ --each
    """
    from adhominem.cli.terminal import print_result, print_table, say, warn
    from adhominem.questions.rank.files import rank
    from adhominem.questions.rank.rows import (
        CANDIDATE_COLUMNS,
        candidate_rows,
        sentences,
        trust_facts,
        trust_rows,
    )

    ranking = rank(**options, **job)
    if as_json:
        print_result(ranking, job["skipped"])
        return
    for case in ranking.cases:
        print_table(case.name, CANDIDATE_COLUMNS, candidate_rows(case, top))
        for name, fact in sentences(ranking, case).items():
            say(f"{name}  {fact}")
    if ranking.trust is not None:
        print_table(
            "How far to trust it",
            ["known texts, ranked in turn", "", "95% interval"],
            [[row.name, row.value, row.interval] for row in trust_rows(ranking.trust)],
        )
        say(f"Trials  {trust_facts(ranking.trust)}")
    if options["output"] is not None:
        say(f"Written  {options['output']}")
    warn(ranking.warnings)


@click.command()
@click.argument("collection", type=opt.PATH)
@opt.output_folder
@opt.model
@_population
@_none
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
