"""The page of a contrast: the habits of each group, with rates and intervals drawn side by side.

It is a single HTML file that fetches nothing from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from adhominem.questions.contrast.contrast import Contrast, GroupContrast, Habit
from adhominem.questions.question import Page, Table
from adhominem.render.summary import signed
from adhominem.render.templates import asset

_GROUP_TITLES = {
    "words": "common words",
    "marks": "punctuation",
    "phrases": "two words in a row (… is any other word, ‹Aa…ly› one of this shape)",
    "letters": "letters within words (· is the edge of a word)",
    "content": "content words: what the texts are about, not how they are written",
}
_WIDE = 200.0  # units of a drawing from 0 to the end of its axis


def _of_chance(group: GroupContrast) -> str:
    """How many of the habits looked at would lie beyond their 95% interval by chance."""
    return f"{group.features * 0.05:,.0f}"


def _about(habit: Habit) -> str:
    """Where letters occur, and what else stands in the same places."""
    about = [f"as in {', '.join(habit.words)}"] if habit.words else []
    if habit.with_it:
        about.append(f"with {', '.join(habit.with_it[:3])} in the same places")
    return "; ".join(about)


def _values(contrast: Contrast) -> dict[str, Any]:
    return {
        "sides": (contrast.first, contrast.second),
        "titles": _GROUP_TITLES,
        "chance": _of_chance,
        "about": _about,
        "signed": signed,
        "wide": _WIDE,
    }


def _lines(contrast: Contrast, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """The habits of each group as tables, and what the numbers mean."""
    sides = (contrast.first, contrast.second)
    for side in sides:
        texts = "1 text" if side.texts == 1 else f"{side.texts:,} texts"
        yield f"{side.name}  {texts}, {side.tokens:,} words and marks, {side.slices:,} slices"
    usual = ["usual"] if contrast.population else []
    for group in contrast.groups:
        for side, habits in zip(sides, (group.first, group.second), strict=True):
            if habits:
                yield Table(
                    f"{side.name}, more: {_GROUP_TITLES[group.group]}",
                    ["", sides[0].name, sides[1].name, *usual, "ratio", "z", "Zeta"],
                    [_row(habit) for habit in habits],
                )
        yield (
            f"Of {group.features:,} looked at, {group.apart:,} differ by more than their 95% "
            f"interval; chance alone could account for {_of_chance(group)} of them."
        )
    for side in sides:
        if side.names:
            yield f"Names left out, {side.name}  {', '.join(side.names)}"
    yield (
        "Rates are for every 1,000 words and marks, with 95% intervals over "
        f"{contrast.intervals_over}. z is the difference in standard deviations; Zeta is the share "
        f"of slices of {contrast.first.name} with it, less that of {contrast.second.name}."
    )


def _row(habit: Habit) -> list[str]:
    return [
        habit.ngram + (f"  ({', '.join(habit.words)})" if habit.words else ""),
        _with_interval(habit.first_rate, habit.first_interval),
        _with_interval(habit.second_rate, habit.second_interval),
        *([] if habit.usual_rate is None else [f"{habit.usual_rate:.2f}"]),
        f"{habit.ratio:.2f}",
        f"{habit.z:+.1f}",
        f"{habit.zeta:+.2f}",
    ]


def _with_interval(rate: float, interval: tuple[float, float]) -> str:
    return f"{rate:.2f} ({interval[0]:.2f}–{interval[1]:.2f})"


PAGE: Page[Contrast] = Page(
    name="contrast",
    styles=(asset("evaluation.css"), asset("study.css"), asset("contrast.css")),
    title=lambda contrast: f"What sets {contrast.first.name} and {contrast.second.name} apart?",
    values=_values,
    lines=_lines,
    remarks=lambda contrast: contrast.remarks,
)
