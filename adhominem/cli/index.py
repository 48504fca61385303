"""The command index: many texts, for `search` and `link`."""

from __future__ import annotations

from typing import Any

import click

from adhominem.cli import options as opt


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
