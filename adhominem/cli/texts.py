"""The commands that compare texts: verify, predict, encode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhominem.cli.case import Case, case_options, delta_option, scale_option
from adhominem.cli.shared import (
    answering,
    check_companions,
    device_option,
    find_all,
    finish,
    force_option,
    jobs_option,
    json_option,
    model_option,
    no_companions_option,
    prior_option,
    skip_list,
    sources_argument,
    told_of_companions,
)

if TYPE_CHECKING:
    from adhominem.errors import InputError
    from adhominem.text.pan import Pair, Problem


@click.command()
@case_options
@prior_option
@delta_option
@scale_option
@json_option
def verify(case: Case, prior: float, delta: float, scale: Path | None, as_json: bool) -> None:
    """Were two texts written by the same person, and how strong is the evidence?

    FIRST and SECOND are files (.txt, .docx, .pdf, .odt), folders with several texts by one
    author, or - for standard input.

    \b
        adhominem verify letter.txt email.txt
        adhominem verify letter.txt known-letters/ --population other-letters/ --prior 0.1
    """
    from adhominem.cli.terminal import print_json, print_verification
    from adhominem.scoring.decision import VerbalScale

    result = case.verifier.verify(
        case.first,
        case.second,
        population=case.population,
        prior_same_author=prior,
        delta=delta,
        scale=VerbalScale.read(scale) if scale else None,
    )
    if as_json:
        print_json(result.to_json())
    else:
        print_verification(result.to_json())
    finish(case.skipped)


@click.command()
@click.argument("source", required=False, type=click.Path(path_type=Path))
@click.option("-i", "--input", "given", type=click.Path(path_type=Path), help="The same as SOURCE.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The answers.jsonl, or a folder for it.",
)
@model_option
@click.option(
    "--input-format",
    type=click.Choice(["pan20", "pan15"]),
    default="pan20",
    show_default=True,
    help="pairs.jsonl, or problem folders.",
)
@click.option(
    "--population",
    metavar="PATH|input",
    help="Texts of the same genre by anybody; `input`: those of the pairs, all of one genre.",
)
@no_companions_option
@device_option
@prior_option
@click.option(
    "--delta",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 0.5, max_open=True),
    help="Answer 0.5 within 0.5 +- delta.",
)
@jobs_option
@json_option
def predict(
    source: Path | None,
    given: Path | None,
    output: Path,
    model: str,
    input_format: str,
    population: str | None,
    no_companions: bool,
    device: str,
    prior: float,
    delta: float,
    jobs: int,
    as_json: bool,
) -> None:
    """Answer all pairs of a file: PAN's pairs.jsonl to answers.jsonl.

    A run that was stopped goes on where it was when it is started again: pairs that have been
    changed or added since are answered anew, the others not. An id that is there twice is
    answered once, and listed. Each answer has the fields id, value and log_bayes_factor.

    \b
        adhominem predict pairs.jsonl -o answers.jsonl --population input --jobs 2
        adhominem predict -i INPUT_FOLDER -o OUTPUT_FOLDER
    """
    from dataclasses import asdict

    from adhominem.cli.terminal import complain, print_json, print_table, say
    from adhominem.jobs.predict import predict as answer_all
    from adhominem.text.pan import pair_rows, problem_rows

    if (source is None) == (given is None):
        raise click.UsageError("give the input once, as SOURCE or by -i")
    check_companions(population, no_companions)
    path = source or given
    assert path is not None
    if output.is_dir() or not output.suffix:
        output = output / "answers.jsonl"
    skipped = skip_list()
    _, size = find_all((path,))

    def read(on_bytes: Callable[[int], None]) -> Iterator[Pair | Problem | InputError]:
        if input_format == "pan20":
            return pair_rows(path, on_bytes=on_bytes, labelled=False)
        return problem_rows(path, on_bytes, labelled=False)

    with answering(read, size, population=population is not None) as (cases, on_population):
        done = answer_all(
            model,
            cases,
            output,
            population=path if population == "input" else population,
            companions=population == "input" and not no_companions,
            prior_same_author=prior,
            delta=delta,
            jobs=jobs,
            device=device,
            skipped=skipped,
            on_population=on_population,
        )
    for caution in done.warnings:
        complain(f"warning: {caution.message}")
    if as_json:
        print_json(
            {
                "output": str(done.output),
                "calibrated": done.calibrated,
                "population_texts": done.population_texts,
                "companions": done.companions,
                "warnings": [asdict(caution) for caution in done.warnings],
                "answers": done.answers,
                "scored_now": done.scored,
                "texts_encoded": done.encoded,
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        print_table(
            str(done.output),
            ["", "answers", "scored now", "texts encoded", "skipped"],
            [["", done.answers, done.scored, done.encoded, len(skipped)]],
        )
        if population == "input" and not no_companions:
            say(told_of_companions(done.companions, done.population_texts))
    finish(skipped)


@click.command()
@sources_argument
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="A .parquet or .npz file.",
)
@model_option
@jobs_option
@force_option
@json_option
def encode(
    sources: tuple[Path, ...], output: Path, model: str, jobs: int, force: bool, as_json: bool
) -> None:
    """Turn every text into its linguistic embedding vector (LEV).

    The table has a row a text: corpus, author, topic, work, id and lev. Where no text can be
    read, that is an error, and a table that was there stays.

    \b
        adhominem encode novels/ -o levs.parquet
    """
    from adhominem.cli.terminal import print_json, print_table, progress
    from adhominem.jobs.encode import encode as encode_all

    chosen, size = find_all(sources)
    skipped = skip_list()
    with progress("encoding", size) as on_bytes:
        done = encode_all(
            model, chosen, output, jobs=jobs, force=force, skipped=skipped, on_bytes=on_bytes
        )
    if as_json:
        print_json(
            {
                "output": str(output),
                "documents": done.documents,
                "lev_size": done.lev_size,
                "skipped": [str(error) for error in skipped],
            }
        )
    else:
        print_table(
            str(output), ["", "documents", "LEV size"], [["", done.documents, done.lev_size]]
        )
    finish(skipped)
