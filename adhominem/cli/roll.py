"""The command roll: which part of a text is by whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adhominem.cli import options as opt

if TYPE_CHECKING:
    from adhominem.questions.roll.roll import Rolled

_MARKS = "123456789"
_BLOCKS_A_LINE = 70


@click.command()
@click.argument("text", type=opt.PATH)
@click.option(
    "--against",
    multiple=True,
    type=opt.PATH,
    help="A candidate: a file, or a folder of one person's texts; may be given several times.",
)
@opt.output("A page with curves, passages and the text in colours, an .html file.", required=False)
@opt.model
@opt.population()
@opt.number("--words", 500, "Words of a window.", of=click.IntRange(min=20))
@opt.number("--step", 100, "Words from one window to the next.")
@opt.number("--passage", 2_000, "Words from one change of author to the next, on average: a prior.")
@opt.flag("--closed", "One of the candidates wrote every part: there is no “neither”.")
@opt.device
@opt.runs_job
def roll(job: opt.Job, /, output: Path | None, as_json: bool, **options: Any) -> None:
    """Which part of a text is by whom?

    Each window of TEXT is compared with each candidate, and neighbouring windows are weighed
    together: passages by a candidate or by neither, and where one ends. Without candidates: where
    does the style of the text change?

    \b
        adhominem roll novel.txt --against austen/ --against lady/ --population novels/ -o roll.html
        adhominem roll novel.txt --words 1000 --step 200
    """
    from adhominem.cli.terminal import complain, print_result, say
    from adhominem.questions.roll.files import roll_files
    from adhominem.questions.roll.page import summary_of

    result = roll_files(output=output, **options, **job)
    complain(*(f"warning: {remark}" for remark in result.remarks))
    if as_json:
        print_result(result, job["skipped"])
        return
    if not result.obstacle:
        _print_parts(result)
    say(summary_of(result))
    say(
        f"Prior  a change of author every {result.options.passage:,} words on average; "
        f"population {result.population or 'none'}"
    )
    if output is not None:
        say(f"Written  {output}")


def _print_parts(result: Rolled) -> None:
    """Passages as a table, blocks as marks, and changes."""
    from adhominem.cli.terminal import print_table, say
    from adhominem.questions.roll.page import change_in_words, shown_probability
    from adhominem.render.summary import signed

    names = [] if result.are_styles else [candidate.name for candidate in result.candidates]
    print_table(
        f"{result.name}, {result.words:,} words",
        ["words", "most probable", "probability", *(f"log10 BF {name}" for name in names)],
        [
            [
                f"{passage.word + 1:,}-{passage.word + passage.words:,}",
                result.states[passage.state],
                shown_probability(passage.probability),
                *(signed(factor) for factor in passage.log10_bayes_factors),
            ]
            for passage in result.passages
        ],
    )
    marks = [_MARKS[at % len(_MARKS)] for at in range(len(result.states))]
    if len(result.states) > len(result.candidates):
        marks[-1] = "-"
    keys = zip(marks, result.states, strict=True)
    drawn = "".join(marks[block.state] for block in result.blocks)
    for at in range(0, len(drawn), _BLOCKS_A_LINE):
        say(drawn[at : at + _BLOCKS_A_LINE])
    say(f"A mark for each block: {', '.join(f'{mark} {state}' for mark, state in keys)}")
    for at in range(len(result.changes)):
        say(f"Change  {change_in_words(result, at)}")
