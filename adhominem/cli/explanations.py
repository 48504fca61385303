"""The commands that show what a model looked at: explain, attention."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from adhominem.cli.case import Case, case_options, delta_option, scale_option
from adhominem.cli.shared import (
    find_all,
    finish,
    json_option,
    model_option,
    prior_option,
    skip_list,
    sources_argument,
)


def _known_ending(
    context: click.Context, parameter: click.Parameter, output: Path | None
) -> Path | None:
    """Refuse what cannot be written before anything is computed."""
    from adhominem.render.output import format_of

    if output is not None:
        format_of(output, context.params.get("chosen"))
    return output


@click.command()
@case_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    callback=_known_ending,
    help="The file to write: .html, .png or .tex.  [default: the terminal]",
)
@click.option(
    "--format",
    "chosen",
    is_eager=True,  # before the output is looked at
    type=click.Choice(["html", "terminal", "png", "latex"]),
    help="What to write.  [default: by the ending of the output]",
)
@prior_option
@delta_option
@scale_option
@json_option
def explain(
    case: Case,
    output: Path | None,
    chosen: str | None,
    prior: float,
    delta: float,
    scale: Path | None,
    as_json: bool,
) -> None:
    """Show where the model looked, and what speaks for or against one author.

    FIRST and SECOND are as for `verify`. In the texts, blue is the attention that a passage got,
    red that of a token in it; beside that, what each passage and the strongest n-grams contribute.

    \b
        adhominem explain letter.txt email.txt -o report.html
        adhominem explain letter.txt email.txt
    """
    from adhominem.cli.terminal import complain, percent, print_json, say, show
    from adhominem.explain.texts import explain_texts
    from adhominem.render.output import explanation_text, write_explanation
    from adhominem.scoring.verbal import VerbalScale
    from adhominem.text.files import check_not_read

    verbal_scale = VerbalScale.read(scale) if scale else None
    if output is not None:
        check_not_read(output)  # before minutes of work
    with percent("explaining") as on_progress:
        explanation = explain_texts(
            case.verifier,
            case.first,
            case.second,
            population=case.population,
            prior_same_author=prior,
            delta=delta,
            scale=verbal_scale,
            on_progress=on_progress,
        )
    if as_json:
        print_json(explanation.to_json())
    if output is not None:
        write_explanation(explanation, output, chosen)
        if not as_json:
            say(f"Written  {output}")
    elif not as_json:
        environment = os.environ if sys.stdout.isatty() else None
        columns = shutil.get_terminal_size().columns
        show(explanation_text(explanation, chosen or "terminal", environment, columns))
    if not as_json:
        for warning in explanation.verification.warnings:
            complain(f"warning: {warning.message}")
    finish(case.skipped)


@click.command()
@sources_argument
@model_option
@click.option(
    "--fewest",
    default=5,
    show_default=True,
    type=click.IntRange(min=1),
    help="Documents that a word must stand in.",
)
@click.option(
    "--top", default=20, show_default=True, type=click.IntRange(min=1), help="Words to show."
)
@json_option
def attention(sources: tuple[Path, ...], model: str, fewest: int, top: int, as_json: bool) -> None:
    """Which words of a corpus get more or less attention than their frequency explains?

    \b
        adhominem attention novels/
    """
    from adhominem.cli.terminal import complain, print_json, print_table, progress
    from adhominem.jobs.attention import attention_of

    found, size = find_all(sources)
    skipped = skip_list()
    with progress("reading", size) as on_bytes:
        result = attention_of(
            model, found, fewest_documents=fewest, skipped=skipped, on_bytes=on_bytes
        )
    if as_json:
        print_json({**result.to_json(), "skipped": [str(error) for error in skipped]})
    else:
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
                f"note: no word stands in {fewest:,} documents or more (there are "
                f"{result.documents:,}); give more texts, or a smaller --fewest"
            )
        print_table("looked at more than they occur", columns, rows[:top])
        print_table("looked at less than they occur", columns, rows[top:][-top:][::-1])
    finish(skipped)
