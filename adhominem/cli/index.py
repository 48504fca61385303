"""The commands index, search and link: many texts, and which of them may be by one person."""

from __future__ import annotations

from typing import Any

import click

from adhominem.cli import options as opt

_index = click.option(
    "--index",
    required=True,
    metavar="INDEX",
    help="A folder that `adhominem index` has made, or milvus://HOST:PORT/COLLECTION.",
)
_scale = click.option("--scale", type=opt.PATH, help="A verbal scale of your own, as JSON.")


@click.command()
@click.argument("corpora", metavar="[SOURCES]...", nargs=-1, type=opt.PATH)
@opt.output("The folder of the index: a new one, or one to change.")
@opt.model
@opt.flag("--join-authors", "Take all texts of an author as one.")
@opt.flag("--keep-texts", "Keep the texts themselves in the index.")
@opt.path("--hash-ids", "A file with a key; ids and authors are hashed with it.")
@click.option("--remove", multiple=True, metavar="ID", help="Remove a text, or all by an author.")
@opt.flag("--compact", "Write all shards again, without texts that were removed.")
@opt.flag("--check", "First compare all files of the index with their hashes.")
@opt.number(
    "--trials",
    50,
    "Searches that show what chance brings up; 0 leaves them out.",
    of=click.IntRange(min=0),
)
@click.option(
    "--milvus",
    metavar="ADDRESS",
    help="Also bring a collection in Milvus up to date: milvus://HOST:PORT/COLLECTION.",
)
@opt.device
@opt.engine
@opt.jobs
@opt.runs_job
def index(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Build an index of many texts, add texts to one, or remove some.

    SOURCES are folders of texts, folders with one folder an author, or .jsonl files. Texts that are
    in the index already are passed over, so a run that was stopped goes on where it was. The index
    holds what searches need, not the texts.

    \b
        adhominem index forum.jsonl -o forum-index
        adhominem index new-posts.jsonl -o forum-index
        adhominem index -o forum-index --remove user-17 --compact
    """
    from adhominem.cli.terminal import print_result, say
    from adhominem.questions.search.index_files import index_files

    result = index_files(**options, **job)
    if as_json:
        print_result(result, job["skipped"])
        return
    changes = [f"{result.added:,} added"]
    if result.already_there:
        changes.append(f"{result.already_there:,} were there already")
    if result.removed:
        changes.append(f"{result.removed:,} removed")
    say(f"{result.index}  {result.texts:,} texts: {', '.join(changes)}")
    say(
        f"Size  {result.bytes / 1e6:,.1f} MB in {result.shards:,} shards, "
        f"{result.bytes_a_text / 1e3:,.1f} kB a text"
    )
    say(f"Model  {result.model}, SHA-256 {result.model_sha256}")


@click.command()
@click.argument("texts", nargs=-1, required=True)
@_index
@opt.model
@opt.number("-k", 20, "Most hits for each text.")
@click.option(
    "--prior",
    "prior_same_author",
    type=opt.PRIOR,
    help="How probable it is, before anything is read, that one certain text of the index is by "
    "the same author.  [default: 1 in as many as there are texts]",
)
@click.option(
    "-o", "--output", type=opt.PATH, callback=opt.page_name, help="An .html page to write."
)
@_scale
@opt.device
@opt.runs_job
def search(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Which texts of an index may be by the author of a text, and how strong is the evidence?

    TEXTS are files, folders of texts, or - for standard input; each is searched for by itself.

    The Bayes factor of a hit compares “the same author” with “somebody else of this collection”.
    Among a million texts, a Bayes factor of 1,000 leaves a thousand others who fit as well: the
    table of false hits says how many to expect.

    \b
        adhominem search letter.txt --index forum-index
        adhominem search letter.txt --index forum-index -k 50 -o hits.html
    """
    from adhominem.cli.terminal import print_result, print_table, say, warn
    from adhominem.questions.search.files import search_files
    from adhominem.questions.search.rows import (
        FALSE_HIT_COLUMNS,
        HIT_COLUMNS,
        false_hit_rows,
        hit_rows,
        search_facts,
    )

    result = search_files(**options, watch=job["watch"])
    if as_json:
        print_result(result)
        return
    for one in result.searched:
        print_table(one.name, HIT_COLUMNS, hit_rows(one))
        if one.copies:
            say(f"Left out, as the same text  {', '.join(one.copies)}")
    print_table(
        f"False hits to expect among {result.texts:,} texts",
        FALSE_HIT_COLUMNS,
        false_hit_rows(result),
    )
    for name, fact in search_facts(result).items():
        say(f"{name}  {fact}")
    if options["output"] is not None:
        say(f"Written  {options['output']}")
    warn(caution for one in result.searched for caution in one.warnings)


@click.command()
@_index
@opt.model
@opt.number(
    "--rate",
    0.1,
    "Expected share of false links, up to which links are listed.",
    of=click.FloatRange(0, 1, min_open=True),
)
@click.option(
    "--limit",
    type=opt.ONE_OR_MORE,
    help="Most texts to search for; if there are more, some are drawn.",
)
@click.option(
    "-o",
    "--output",
    type=opt.PATH,
    help="A .csv or .jsonl with a row for each link and room for a decision, or an .html page.",
)
@_scale
@opt.seed
@opt.runs_job
def link(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Which accounts of an index may be one person? A list for people to decide by.

    An account is an author, or a text whose author is not known. A link is not a verdict, and a
    wrong one can harm people: see docs/scale.md before you use it.

    \b
        adhominem link --index forum-index -o links.csv
        adhominem link --index forum-index --rate 0.01
    """
    from adhominem.cli.terminal import print_result, print_table, say, warn
    from adhominem.questions.search.link import link_index
    from adhominem.questions.search.rows import LINK_COLUMNS, link_facts, link_rows

    result = link_index(**options, watch=job["watch"])
    if as_json:
        print_result(result)
        return
    print_table(f"{len(result.links):,} links", LINK_COLUMNS, link_rows(result))
    for name, fact in link_facts(result).items():
        say(f"{name}  {fact}")
    if options["output"] is not None:
        say(f"Written  {options['output']}")
    warn(result.warnings)
