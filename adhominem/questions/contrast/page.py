"""The page of a contrast: the habits of each group, with rates and intervals drawn side by side.

It is a single HTML file that fetches nothing from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adhominem.questions.contrast.contrast import Contrast, GroupContrast, Habit
from adhominem.questions.question import Page, Table
from adhominem.render.summary import signed
from adhominem.render.templates import asset

GROUP_TITLES = {
    "words": "common words",
    "marks": "punctuation",
    "phrases": "two words in a row (… is any other word, ‹Aa…ly› one of this shape)",
    "letters": "letters within words (· is the edge of a word)",
    "content": "content words: what the texts are about, not how they are written",
}
_WIDE = 200.0  # units of a drawing from 0 to the end of its axis


@dataclass(frozen=True)
class Span:
    """A rate with its interval, in units of the drawing."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class ShownHabit:
    """A habit as the page has it."""

    habit: Habit
    about: str
    first: Span
    second: Span
    rates: tuple[str, str]
    usual: str
    ratio: str
    z: str
    zeta: str


@dataclass(frozen=True)
class ShownGroup:
    """The habits of a group, by the side that has more of them."""

    group: GroupContrast
    title: str
    chance: str  # habits that would differ by chance alone
    sides: list[tuple[str, list[ShownHabit]]]


def contrast_title(contrast: Contrast) -> str:
    """What was asked."""
    return f"What sets {contrast.first.name} and {contrast.second.name} apart?"


def of_chance(group: GroupContrast) -> str:
    """How many of the habits looked at would lie beyond their 95% interval by chance."""
    return f"{group.features * 0.05:,.0f}"


def _values(contrast: Contrast) -> dict[str, Any]:
    return {
        "contrast": contrast,
        "sides": (contrast.first, contrast.second),
        "groups": [_group(contrast, group) for group in contrast.groups],
        "wide": _WIDE,
    }


def _group(contrast: Contrast, group: GroupContrast) -> ShownGroup:
    sides = [
        (side.name, [_habit(habit) for habit in habits])
        for side, habits in (
            (contrast.first, group.first),
            (contrast.second, group.second),
        )
        if habits
    ]
    return ShownGroup(group, GROUP_TITLES[group.group], of_chance(group), sides)


def _habit(habit: Habit) -> ShownHabit:
    """With both intervals on one axis, which begins at 0 and ends where the longer one does."""
    end = max(habit.first_interval[1], habit.second_interval[1], 1e-9)

    def span(rate: float, interval: tuple[float, float]) -> Span:
        low, middle, high = (
            _WIDE * min(max(value, 0.0), end) / end for value in (interval[0], rate, interval[1])
        )
        return Span(low, middle, high)

    about = [f"as in {', '.join(habit.words)}"] if habit.words else []
    if habit.with_it:
        about.append(f"with {', '.join(habit.with_it[:3])} in the same places")
    return ShownHabit(
        habit,
        "; ".join(about),
        span(habit.first_rate, habit.first_interval),
        span(habit.second_rate, habit.second_interval),
        (_rate(habit.first_rate), _rate(habit.second_rate)),
        "" if habit.usual_rate is None else _rate(habit.usual_rate),
        f"{habit.ratio:.2f}",
        signed(habit.z, 1),
        signed(habit.zeta),
    )


def _rate(value: float) -> str:
    return f"{value:.2f}"


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
                    f"{side.name}, more: {GROUP_TITLES[group.group]}",
                    ["", sides[0].name, sides[1].name, *usual, "ratio", "z", "Zeta"],
                    [_row(habit) for habit in habits],
                )
        yield (
            f"Of {group.features:,} looked at, {group.apart:,} differ by more than their 95% "
            f"interval; chance alone could account for {of_chance(group)} of them."
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
        *([] if habit.usual_rate is None else [_rate(habit.usual_rate)]),
        f"{habit.ratio:.2f}",
        f"{habit.z:+.1f}",
        f"{habit.zeta:+.2f}",
    ]


def _with_interval(rate: float, interval: tuple[float, float]) -> str:
    return f"{rate:.2f} ({interval[0]:.2f}–{interval[1]:.2f})"


PAGE: Page[Contrast] = Page(
    name="contrast",
    styles=(asset("evaluation.css"), asset("study.css"), asset("contrast.css")),
    title=contrast_title,
    values=_values,
    lines=_lines,
    remarks=lambda contrast: contrast.remarks,
)
