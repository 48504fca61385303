"""The commands on corpora: prepare, split, pairs, encode, attention, index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from adhominem.cli import options as opt


@click.command()
@click.argument("corpora", metavar="[SOURCES]...", nargs=-1, type=opt.PATH)
@opt.output("The folder of the index: a new one, or one to change.")
@opt.model
@opt.language
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
@opt.corpora
@opt.output_folder
@opt.all_cores
@click.option("--preset", help="Normalise as this preset of `train` does; pan20, for example.")
@click.option("--without", multiple=True, metavar="STEP", help="Leave out a normalisation step.")
@opt.runs_job
def prepare(
    job: opt.Job,
    /,
    output: Path,
    preset: str | None,
    without: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Tokenize texts once, into a packed corpus for training.

    SOURCES are folders author/document.txt or author_title.txt, .jsonl files (or
    folders of them) with the fields author, topic, work, id, text, PAN folders, all
    of them packed as .gz, .xz or .zst if you like; .docx, .pdf and .odt count as texts.

    \b
        adhominem prepare novels/ letters.jsonl.xz -o corpus
        adhominem prepare pan/train -o pan-corpus --preset pan20
    """
    from adhominem.cli.terminal import print_json, print_table
    from adhominem.text.normalisation import Normaliser
    from adhominem.text.prepare import prepare
    from adhominem.training.train import any_preset

    normaliser = any_preset(preset).normaliser if preset else Normaliser()
    normaliser = normaliser.leave_out(without)
    corpus = prepare(output=output, normaliser=normaliser, **options, **job)
    description = corpus.description
    if as_json:
        print_json({**description, "skipped": [str(error) for error in job["skipped"]]})
        return
    names = ("name", "authors", "documents", "tokens")
    rows = [[part[name] for name in names] for part in description["corpora"]]
    if len(rows) > 1:
        rows.append(["all", *(description[name] for name in names[1:])])
    print_table(f"{output}: {description['types']:,} token types", names, rows)


@click.command()
@opt.corpora
@opt.output_folder
@click.option(
    "--shares",
    nargs=3,
    type=float,
    default=(0.8, 0.1, 0.1),
    show_default=True,
    metavar="TRAIN DEV TEST",
)
@opt.choice(
    "--by",
    ["author", "pairs"],
    "What a part gets: whole authors, or pairs of a PAN set (as in the paper).",
    default="author",
)
@opt.flag("--topic-disjoint", "No topic in two parts (as in PAN 2021).")
@opt.seed
@opt.runs_job
def split(
    job: opt.Job, /, corpora: tuple[str, ...], output: Path, as_json: bool, **options: Any
) -> None:
    """Split texts, or pairs, into train, dev and test.

    Every author is in one part alone, whatever the order of the files. Texts that
    stand in two parts under two names, whole or for the most part, are taken out of
    the earlier part. OUTPUT gets train/, dev/, test/ and manifest.json.

    With `--by pairs`, SOURCES is one set of PAN 2020 or 2021, whose truth names the
    authors. The pairs of dev and test stay as they are; train gets the texts of all
    other pairs, each once, without those of dev and test.

    \b
        adhominem split letters.jsonl -o split --shares 0.9 0.1 0
        adhominem split pan20-small.jsonl -o split --by pairs --shares 0.9 0.1 0
    """
    from adhominem.cli.terminal import print_result, print_table, say
    from adhominem.pairs.split import SplitOptions, split

    report = split(corpora, output, SplitOptions(**options), **job)
    if as_json:
        print_result(report)
        return
    pairs = "pairs" if report.options.by == "pairs" else "pairs of one epoch"
    print_table(f"{output}: {pairs}", *report.table())
    for line in report.remarks():
        say(line)


@click.command()
@opt.corpora
@opt.output_folder
@click.option("--count", type=click.IntRange(min=1), help="Write at most this many pairs.")
@opt.flag("--balanced", "As many same-author as different-author pairs.")
@opt.choice(
    "--same-author-across", ["work", "topic"], "Same-author pairs only from two different ones."
)
@opt.choice(
    "--different-authors-within",
    ["topic", "corpus"],
    "Different-author pairs only from one and the same.",
)
@opt.seed
@opt.runs_job
def pairs(job: opt.Job, /, output: Path, as_json: bool, **options: Any) -> None:
    """Draw a fixed set of pairs and write it in PAN's format.

    The pairs are drawn by the paper's algorithms, each text at most once. The leak
    check tells how well a pair's topics or lengths alone give its label away.

    \b
        adhominem pairs split/dev -o dev --balanced --same-author-across work
    """
    from adhominem.cli.terminal import print_result, print_table
    from adhominem.jobs.corpora import pair_files

    drawn = pair_files(output=output, **options, **job)
    if as_json:
        print_result(drawn, job["skipped"])
        return
    balance = [[drawn.same_author, drawn.different_authors, drawn.pairs]]
    print_table(f"{output}: pairs", ["same author", "different authors", "all"], balance)
    print_table(
        "Leak check: AUC of the label from this alone (0.5 = chance)",
        ["property", "AUC", ""],
        [[leak.name, f"{leak.auc:.3f}", leak.verdict] for leak in drawn.leaks],
    )


@click.command()
@opt.corpora
@opt.output("A .parquet or .npz file.")
@opt.fixed_model
@opt.device
@opt.engine
@opt.jobs
@opt.force
@opt.runs_job
def encode(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """Turn every text into its linguistic embedding vector (LEV).

    The table has a row a text: corpus, author, topic, work, id and lev. Where no text can be
    read, that is an error, and a table that was there stays.

    \b
        adhominem encode novels/ -o levs.parquet
    """
    from adhominem.cli.terminal import print_result, print_table
    from adhominem.jobs.corpora import encode

    done = encode(**options, **job)
    if as_json:
        print_result(done, job["skipped"])
        return
    rows = [["", done.documents, done.lev_size]]
    print_table(str(done.output), ["", "documents", "LEV size"], rows)


@click.command()
@opt.corpora
@opt.fixed_model
@opt.number("--fewest fewest_documents", 5, "Documents that a word must stand in.")
@opt.number("--top", 20, "Words to show.")
@opt.runs_job
def attention(job: opt.Job, /, top: int, as_json: bool, **options: Any) -> None:
    """Which words of a corpus get more or less attention than their frequency explains?

    \b
        adhominem attention novels/
    """
    from adhominem.cli.terminal import complain, print_result, print_table
    from adhominem.jobs.corpora import attention_of

    result = attention_of(**options, **job)
    if as_json:
        print_result(result, job["skipped"])
        return
    columns = ["word", "attention / frequency", "95 % interval", "tokens", "documents"]
    rows = [
        [
            word.word,
            f"{word.ratio:.2f}",
            f"{word.low:.2f} - {word.high:.2f}",
            word.tokens,
            word.documents,
        ]
        for word in result.words
    ]
    if not rows:
        complain(
            f"note: no word stands in {options['fewest_documents']:,} documents or more (there are "
            f"{result.documents:,}); give more texts, or a smaller --fewest"
        )
    print_table("more attention than their frequency explains", columns, rows[:top])
    print_table("less attention than their frequency explains", columns, rows[top:][-top:][::-1])
