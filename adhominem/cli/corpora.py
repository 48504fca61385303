"""The commands that make data: prepare, split, pairs."""

from __future__ import annotations

from pathlib import Path

import click

from adhominem.cli.shared import (
    all_cores_option,
    find_all,
    finish,
    json_option,
    output_folder,
    seed_option,
    skip_list,
    sources_argument,
)


@click.command()
@sources_argument
@output_folder
@all_cores_option
@click.option("--without", multiple=True, metavar="STEP", help="Leave out a normalisation step.")
@json_option
def prepare(
    sources: tuple[Path, ...], output: Path, jobs: int, without: tuple[str, ...], as_json: bool
) -> None:
    """Tokenize texts once, into a packed corpus for training.

    SOURCES are folders author/document.txt or author_title.txt, .jsonl files (or
    folders of them) with the fields author, topic, work, id, text, PAN folders, all
    of them packed as .gz, .xz or .zst if you like; .docx, .pdf and .odt count as texts.

    \b
        adhominem prepare novels/ letters.jsonl.xz -o corpus
    """
    from adhominem.cli.terminal import print_json, print_table, progress
    from adhominem.text.normalisation import STEPS, Normaliser
    from adhominem.text.prepare import prepare

    chosen, size = find_all(sources)
    skipped = skip_list()
    normaliser = Normaliser((*(step for step in STEPS if step not in without),))
    Normaliser(without)  # complains of a step that does not exist
    with progress("preparing", size) as on_bytes:
        corpus = prepare(
            chosen, output, normaliser=normaliser, jobs=jobs, skipped=skipped, on_bytes=on_bytes
        )
    description = corpus.description
    if as_json:
        print_json({**description, "skipped": [str(error) for error in skipped]})
    else:
        names = ("name", "authors", "documents", "tokens")
        rows = [[corpus[name] for name in names] for corpus in description["corpora"]]
        if len(rows) > 1:
            rows.append(["all", *(description[name] for name in names[1:])])
        print_table(f"{output}: {description['types']:,} token types", names, rows)
    finish(skipped)


@click.command()
@sources_argument
@output_folder
@click.option(
    "--shares",
    nargs=3,
    type=float,
    default=(0.8, 0.1, 0.1),
    show_default=True,
    metavar="TRAIN DEV TEST",
)
@click.option("--topic-disjoint", is_flag=True, help="No topic in two parts (as in PAN 2021).")
@seed_option
@json_option
def split(
    sources: tuple[Path, ...],
    output: Path,
    shares: tuple[float, float, float],
    topic_disjoint: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Split texts by author into train, dev and test.

    Every author is in one part alone, whatever the order of the files. Texts that
    stand in two parts under two names, whole or for the most part, are taken out of
    the earlier part. OUTPUT gets train/, dev/, test/ and manifest.json.

    \b
        adhominem split letters.jsonl -o split --shares 0.9 0.1 0
    """
    from dataclasses import asdict

    from adhominem.cli.terminal import print_json, print_table, progress, say
    from adhominem.pairs.split import SplitOptions, split

    chosen, size = find_all(sources)
    skipped = skip_list()
    options = SplitOptions(shares=shares, topic_disjoint=topic_disjoint, seed=seed)
    with progress("splitting", 2 * size) as on_bytes:
        report = split(chosen, output, options, skipped=skipped, on_bytes=on_bytes)
    if as_json:
        print_json(asdict(report))
    else:
        print_table(f"{output}: pairs of one epoch", *report.table())
        for line in report.remarks():
            say(line)
    finish(skipped)


@click.command()
@sources_argument
@output_folder
@click.option("--count", type=click.IntRange(min=1), help="Write at most so many pairs.")
@click.option("--balanced", is_flag=True, help="As many same-author as different-author pairs.")
@click.option(
    "--same-author-across",
    type=click.Choice(["work", "topic"]),
    default=None,
    help="Same-author pairs only from two different ones.",
)
@click.option(
    "--different-authors-within",
    type=click.Choice(["topic", "corpus"]),
    default=None,
    help="Different-author pairs only from one and the same.",
)
@seed_option
@json_option
def pairs(
    sources: tuple[Path, ...],
    output: Path,
    count: int | None,
    balanced: bool,
    same_author_across: str | None,
    different_authors_within: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Draw a fixed set of pairs and write it in PAN's format.

    The pairs are drawn by the paper's algorithms, each text at most once. The leak
    check tells how well a pair's topics or lengths alone give its label away.

    \b
        adhominem pairs split/dev -o dev --balanced --same-author-across work
    """
    from adhominem.cli.terminal import print_json, print_table, progress
    from adhominem.evaluation.leaks import check_leaks
    from adhominem.pairs.pair_set import write_pair_set
    from adhominem.pairs.sampling import PairOptions

    chosen, size = find_all(sources)
    skipped = skip_list()
    options = PairOptions(
        balanced=balanced,
        same_author_across=same_author_across or "",
        different_authors_within=different_authors_within or "",
    )
    with progress("reading", size) as on_bytes:
        written = write_pair_set(
            chosen, output, options, seed=seed, count=count, skipped=skipped, on_bytes=on_bytes
        )
    drawn = written.pairs
    leaks = check_leaks(
        same_author=drawn.same_author,
        same_topic=written.same_topic,
        first_length=written.words[drawn.first],
        second_length=written.words[drawn.second],
    )
    if as_json:
        print_json(
            {
                "pairs": len(drawn),
                "same_author": drawn.same_author_count,
                "different_authors": drawn.different_author_count,
                "leaks": {leak.name: {"auc": leak.auc, "leaks": leak.leaks} for leak in leaks},
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        balance = [[drawn.same_author_count, drawn.different_author_count, len(drawn)]]
        print_table(f"{output}: pairs", ["same author", "different authors", "all"], balance)
        print_table(
            "Leak check: AUC of the label from this alone (0.5 = chance)",
            ["property", "AUC", ""],
            [[leak.name, f"{leak.auc:.3f}", leak.verdict] for leak in leaks],
        )
    finish(skipped)
