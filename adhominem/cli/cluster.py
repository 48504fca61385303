"""The command cluster: how many people wrote these texts, and who wrote what."""

from __future__ import annotations

from typing import Any

import click

from adhominem.cli import options as opt


@click.command()
@click.argument("corpus", type=opt.PATH)
@opt.model
@opt.number(
    "--prior prior_same_author",
    0.25,
    "How probable it is that two texts are by one person, before they are read.",
    of=opt.PRIOR,
)
@opt.population_of_corpus
@opt.output("An .html page to write.", required=False)
@opt.number("--limit", 1_000, "Most documents; of more, so many are drawn at random.")
@opt.seed
@opt.jobs
@opt.runs_job
def cluster(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """How many people wrote these texts, and who wrote what?

    CORPUS is a folder of texts, a folder with one folder an author, or a .jsonl file. Authors need
    not be known; where they are, the clusters are measured by them. Texts are put together as long
    as that is more probable than not, by their Bayes factors and the prior that you state: there is
    no number of clusters and no threshold to choose.

    \b
        adhominem cluster reviews/
        adhominem cluster reviews/ -o clusters.html
        adhominem cluster reviews/ --prior 0.05 --population other-reviews/
    """
    from adhominem.cli.terminal import complain, print_result, say
    from adhominem.questions.cluster.files import cluster_corpus
    from adhominem.questions.cluster.page import headline, measured, odds

    result = cluster_corpus(**options, **job)
    complain(*(f"warning: {remark}" for remark in result.remarks))
    if as_json:
        print_result(result, job["skipped"])
        return
    say(headline(result))
    for group in result.clusters:
        told = "1 text" if len(group.texts) == 1 else f"{len(group.texts):,} texts"
        if group.log10_odds is not None:
            told += f", whose two halves are by one person with odds of {odds(group.log10_odds)}"
        if group.nearest is not None and group.nearest_log10_odds is not None:
            nearest = odds(group.nearest_log10_odds)
            told += f"; nearest is {group.nearest}, the same person with odds of {nearest}"
        say("")
        say(f"{group.number}  {told}")
        for at in group.texts:
            text = result.texts[at]
            by = f", by {text.author}" if text.author else ""
            beside, other = text.log10_bayes_factor, text.nearest_log10_bayes_factor
            doubt = ""
            if beside is not None and other is not None and other > beside:
                doubt = f"  (nearer to {text.nearest}: {other:+.2f} beside {beside:+.2f})"
            say(f"     {text.name}{by}{doubt}")
    say("")
    if told := measured(result):
        say(told)
    say(
        f"Prior  {result.prior_same_author:g} that two texts, or two clusters, are by one person; "
        f"population {result.population} ({result.population_texts:,} texts)"
    )
    if options["output"] is not None:
        say(f"Written  {options['output']}")
