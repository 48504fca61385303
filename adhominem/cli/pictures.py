"""The command that draws a corpus: map."""

from __future__ import annotations

from pathlib import Path

import click

from adhominem.cli.shared import (
    finish,
    jobs_option,
    json_option,
    model_option,
    seed_option,
    skip_list,
)


@click.command("map")
@click.argument("corpus", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The page to write, an .html file.",
)
@model_option
@click.option(
    "--population",
    metavar="PATH|input|none",
    help="Texts of the same genre by anybody.  [default: input, the corpus itself]",
)
@click.option(
    "--linkage",
    type=click.Choice(["average", "complete", "single"]),
    default="average",
    show_default=True,
    help="How alike two groups are: their mean, least or greatest Bayes factor.",
)
@click.option(
    "--limit",
    default=1_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Most documents; of more, so many are drawn at random.",
)
@seed_option
@jobs_option
@json_option
def map_command(
    corpus: Path,
    output: Path,
    model: str,
    population: str | None,
    linkage: str,
    limit: int,
    seed: int,
    jobs: int,
    as_json: bool,
) -> None:
    """Draw a corpus: which texts are alike, as a map and as a tree.

    The page is one file for a browser and needs nothing else. CORPUS is a folder of texts, a
    folder with one folder an author, or a .jsonl file; authors need not be known. The tree joins
    texts by their Bayes factors. The map is by principal components, and by t-SNE and UMAP where
    scikit-learn and umap-learn are installed.

    \b
        adhominem map novels/ -o map.html
        adhominem map novels/ -o map.html --population other-novels/ --linkage complete
    """
    from adhominem.cli.terminal import complain, counting, print_json, print_table
    from adhominem.jobs.map import map_corpus

    skipped = skip_list()
    drawn = map_corpus(
        model,
        corpus,
        output,
        population=population,
        linkage=linkage,
        limit=limit,
        seed=seed,
        jobs=jobs,
        skipped=skipped,
        watch=counting,
    )
    for remark in drawn.remarks:
        complain(f"note: {remark}")
    if as_json:
        print_json(
            {
                "output": str(output),
                **drawn.to_json(),
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        authors = len({document.author for document in drawn.documents} - {""})
        pictures = ", ".join([each.name for each in drawn.projections] + ["tree"])
        print_table(
            str(output),
            ["", "documents", "authors", "population", "pictures"],
            [["", len(drawn.documents), authors, drawn.population_texts, pictures]],
        )
    finish(skipped)
