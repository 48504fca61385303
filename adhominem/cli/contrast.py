"""The command contrast: what sets one person's texts apart from another's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from adhominem.cli import options as opt

if TYPE_CHECKING:
    from adhominem.questions.contrast.contrast import Habit


@click.command()
@click.argument("first", type=opt.PATH)
@click.argument("second", type=opt.PATH, required=False)
@opt.model
@opt.population("PATH", "Texts of the same genre by anybody: the other side, or the usual rates.")
@opt.output("An .html page to write.", required=False)
@opt.number("--top", 10, "Habits of each group that are shown for each side.")
@opt.number("--slice", 1_000, "Words and marks of a slice, for Zeta.", of=click.IntRange(min=50))
@opt.seed
@opt.runs_job
def contrast(job: opt.Job, /, as_json: bool, **options: Any) -> None:
    """What sets one person's texts apart from another's?

    FIRST and SECOND are files, or folders of one person's texts; without SECOND, FIRST is
    contrasted with the population. Shown are common words, punctuation, phrases and letters that
    one side has more of, and content words apart from them, with rates for every 1,000 words and
    marks, 95% intervals over texts, and Craig's Zeta. Names are left out.

    \b
        adhominem contrast austen/ burney/
        adhominem contrast austen/ burney/ -o contrast.html
        adhominem contrast austen/ --population novels/
    """
    from adhominem.cli.terminal import complain, print_result, print_table, say
    from adhominem.questions.contrast.files import contrast_files
    from adhominem.questions.contrast.page import GROUP_TITLES, of_chance

    if options["second"] is None and options["population"] is None:
        raise click.UsageError("give SECOND, or a --population that FIRST is contrasted with")
    result = contrast_files(**options, **job)
    complain(*(f"warning: {remark}" for remark in result.remarks))
    if as_json:
        print_result(result, job["skipped"])
        return
    sides = (result.first, result.second)
    for side in sides:
        texts = "1 text" if side.texts == 1 else f"{side.texts:,} texts"
        say(f"{side.name}  {texts}, {side.tokens:,} words and marks, {side.slices:,} slices")
    usual = ["usual"] if result.population else []
    for group in result.groups:
        for side, habits in zip(sides, (group.first, group.second), strict=True):
            if habits:
                print_table(
                    f"{side.name}, more: {GROUP_TITLES[group.group]}",
                    ["", sides[0].name, sides[1].name, *usual, "ratio", "z", "Zeta"],
                    [_row(habit) for habit in habits],
                )
        say(
            f"Of {group.features:,} looked at, {group.apart:,} differ by more than their 95% "
            f"interval; chance alone could account for {of_chance(group)} of them."
        )
    for side in sides:
        if side.names:
            say(f"Names left out, {side.name}  {', '.join(side.names)}")
    say(
        "Rates are for every 1,000 words and marks, with 95% intervals over "
        f"{result.intervals_over}. z is the difference in standard deviations; Zeta is the share "
        f"of slices of {result.first.name} with it, less that of {result.second.name}."
    )
    if options["output"] is not None:
        say(f"Written  {options['output']}")


def _row(habit: Habit) -> list[str]:
    named = habit.ngram + (f"  ({', '.join(habit.words)})" if habit.words else "")
    usual = [] if habit.usual_rate is None else [f"{habit.usual_rate:.2f}"]
    return [
        named,
        _rate(habit.first_rate, habit.first_interval),
        _rate(habit.second_rate, habit.second_interval),
        *usual,
        f"{habit.ratio:.2f}",
        f"{habit.z:+.1f}",
        f"{habit.zeta:+.2f}",
    ]


def _rate(rate: float, interval: tuple[float, float]) -> str:
    return f"{rate:.2f} ({interval[0]:.2f}–{interval[1]:.2f})"
