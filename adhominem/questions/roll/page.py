"""A rolled text for people: one HTML file with curves, passages and the text in colours.

The page fetches nothing and has no script. Where colours cannot be told apart, each passage also
begins with the name of its state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

from markupsafe import Markup

from adhominem.evaluation.palette import INKS
from adhominem.questions.question import Page, Table
from adhominem.questions.roll.roll import Block, Rolled
from adhominem.render.summary import signed
from adhominem.render.templates import asset, markup
from adhominem.score.decision import show_probability

# Okabe and Ito's colours, dark enough for lines and small text on white; grey is for neither.
_COLOURS = tuple(sorted(INKS.values(), key=lambda ink: ink == "#000000"))  # black last
_GREY = "#666666"
_LEVELS = (0.5, 0.8, 0.95)  # probabilities at which a colour becomes stronger
_TINTS = (0.06, 0.13, 0.2, 0.3)  # of white, that a colour takes: below .5, .8, .95, and above
_MARKS, _BLOCKS_A_LINE = "123456789", 70  # of a terminal
_LEFT, _RIGHT = 54.0, 948.0  # of the drawing's panels
_STRIP = (24.0, 94.0)  # top and bottom: of the probabilities
_CURVES = (128.0, 318.0)  # of the Bayes factors
_MOST_TICKS = 10
_WORD_STEPS = tuple(size * 10**power for power in range(1, 7) for size in (1, 2, 5))


@dataclass(frozen=True)
class _Part:
    """A stretch of the text as it is shown."""

    text: str  # its words, and the white space up to the next
    state: int
    level: int
    told: str  # the probabilities, for whoever points at it
    passage: int | None  # the number of the passage that begins here


def roll_page(rolled: Rolled) -> str:
    """The page of a rolled text."""
    return PAGE.whole(rolled)


def _values(rolled: Rolled) -> dict[str, Any]:
    return {
        "rolled": rolled,
        "summary": summary_of(rolled),
        "facts": facts_of(rolled),
        "colour_classes": [_class(colour(rolled, at)) for at in range(len(rolled.states))],
        "drawing": "" if rolled.obstacle else _drawing(rolled),
        "passages": list(zip(rolled.passages, map(_between, rolled.passages), strict=True)),
        "changes": [change_in_words(rolled, at) for at in range(len(rolled.changes))],
        "parts": _parts(rolled),
        "before": rolled.text[: rolled.blocks[0].start] if rolled.blocks else rolled.text,
        "shown": shown_probability,
        "signed": signed,
    }


def page_title(rolled: Rolled) -> str:
    """What the page is about."""
    what = "Where does the style change" if rolled.are_styles else "Which part is by whom"
    return f"{what}? {rolled.name}"


def summary_of(rolled: Rolled) -> str:
    """What came out, in a sentence or two."""
    if rolled.obstacle:
        return f"No statement is made: {rolled.obstacle}."
    if rolled.are_styles and len(rolled.states) == 1:
        return "No change of style was found: one person may have written the whole text."
    words = [0] * len(rolled.states)
    for passage in rolled.passages:
        words[passage.state] += passage.words
    order = sorted((at for at in range(len(words)) if words[at]), key=lambda at: -words[at])
    shares = ", ".join(f"{rolled.states[at]} {words[at] / rolled.words:.0%}" for at in order)
    count = len(rolled.changes)
    changes = {0: "no change was found", 1: "1 change was found"}
    return (
        f"Most probable, by words: {shares}; {changes.get(count, f'{count:,} changes were found')}."
    )


def facts_of(rolled: Rolled) -> dict[str, str]:
    """How it was done, in words."""
    options, facts = rolled.options, {"Text": f"{rolled.name}, {rolled.words:,} words"}
    if rolled.obstacle:
        return facts
    facts["Windows"] = (
        f"{len(rolled.windows):,} of about {options.words:,} words, one every {options.step:,}; "
        "they begin where sentences do, if they can"
    )
    for candidate in rolled.candidates:
        texts = "1 text" if candidate.texts == 1 else f"{candidate.texts:,} texts"
        told = f"{texts}, {candidate.words:,} words"
        if candidate.log10_bayes_factor is not None:
            factor = signed(candidate.log10_bayes_factor)
            told += f"; log10 Bayes factor of the whole text {factor}"
        else:
            windows = "1 window" if candidate.texts == 1 else f"{candidate.texts:,} windows"
            told = f"{windows} that do not overlap, about {candidate.words:,} words"
        facts[candidate.name] = told
    facts["Prior"] = (
        f"the author changes every {options.passage:,} words on average; all "
        f"{len(rolled.states)} states ({', '.join(rolled.states)}) are equally probable"
        if len(rolled.states) > 1
        else f"the author changes every {options.passage:,} words on average"
    )
    facts["Population"] = (
        f"{rolled.population_texts:,} texts: {rolled.population}" if rolled.population else "none"
    )
    return facts


def change_in_words(rolled: Rolled, number: int) -> str:
    """Where a change is, between what, and how sure."""
    change = rolled.changes[number]
    within = ""
    if change.earliest < change.latest:
        within = f" (between {change.earliest:,} and {change.latest:,})"
    return (
        f"about word {change.word:,}{within}, from {rolled.states[change.before]} to "
        f"{rolled.states[change.after]}; probability of a change there "
        f"{shown_probability(change.probability)}"
    )


def shown_probability(value: float | None) -> str:
    """A probability to a hundredth."""
    return show_probability(value, 2)


def colour(rolled: Rolled, state: int) -> str:
    """The colour of a state."""
    if not rolled.are_styles and state == len(rolled.candidates):
        return _GREY
    return _COLOURS[state % len(_COLOURS)]


def _between(passage: Any) -> str:
    return f"{passage.word + 1:,}–{passage.word + passage.words:,}"


def _class(ink: str) -> str:
    return f"ink-{ink[1:].lower()}"


def _tints() -> str:
    """The style of each colour at each level: a page's policy allows no style in an element."""
    rules = []
    for ink in (*_COLOURS, _GREY):
        name = _class(ink)
        pale = f"light-dark({ink}, color-mix(in oklab, {ink}, white 45%))"
        rules.append(f".{name} .who, .key .{name} {{ color: {pale}; }}")
        rules.append(f"mark.{name} {{ border-color: {pale}; }}")
        for level, share in enumerate(_TINTS):
            dark = f"color-mix(in oklab, var(--paper), {ink} {2 * share:.0%})"
            rules.append(
                f"mark.{name}.l{level} {{ background: light-dark({_mixed(ink, share)}, {dark}); }}"
            )
    return "\n".join(rules)


def _mixed(ink: str, share: float) -> str:
    """A colour on white."""
    parts = (int(ink[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02x}" for part in parts)


def _level(probability: float) -> int:
    return sum(probability >= level for level in _LEVELS)


def _parts(rolled: Rolled) -> list[_Part]:
    begins = {passage.start: at for at, passage in enumerate(rolled.passages, start=1)}
    ends = [*(block.start for block in rolled.blocks), len(rolled.text)][1:]
    parts = []
    for block, end in zip(rolled.blocks, ends, strict=True):
        parts.append(
            _Part(
                text=rolled.text[block.start : end],
                state=block.state,
                level=_level(block.probabilities[block.state]) if len(rolled.states) > 1 else 0,
                told=_told(rolled, block),
                passage=begins.get(block.start),
            )
        )
    return parts


def _told(rolled: Rolled, block: Block) -> str:
    if len(rolled.states) == 1:
        return rolled.states[0]
    states = zip(rolled.states, block.probabilities, strict=True)
    return ", ".join(f"{state} {shown_probability(value)}" for state, value in states)


def _drawing(rolled: Rolled) -> Markup:
    """The probabilities as a strip, and the windows' Bayes factors as curves."""
    values = [factor for window in rolled.windows for factor in window.log10_bayes_factors]
    low, high = min(-1.0, *values), max(1.0, *values)
    margin = 0.06 * (high - low)
    low, high = low - margin, high + margin

    def x(word: float) -> float:
        return _LEFT + word / rolled.words * (_RIGHT - _LEFT)

    def y(value: float) -> float:
        top, bottom = _CURVES
        return bottom - (value - low) / (high - low) * (bottom - top)

    curves = [
        {
            "colour": colour(rolled, at),
            "points": [
                (x(window.word + window.words / 2), y(window.log10_bayes_factors[at]))
                for window in rolled.windows
            ],
        }
        for at in range(len(rolled.candidates))
    ]
    return markup(
        "roll.svg",
        name=rolled.name,
        left=_LEFT,
        right=_RIGHT,
        strip=_STRIP,
        curves_top=_CURVES[0],
        bottom=_CURVES[1],
        boxes=_strip_boxes(rolled, x),
        curves=curves,
        zero=y(0),
        levels=[(y(tick), signed(tick, 0)) for tick in _whole(low, high)],
        ticks=[(x(word), f"{word:,}") for word in _word_ticks(rolled.words)],
        changes=[x(change.word) for change in rolled.changes],
        keys=_keys(rolled),
    )


def _strip_boxes(rolled: Rolled, x: Any) -> list[tuple[float, float, float, float, str]]:
    """A box for each state of each block, one upon the other: x, y, width, height, colour."""
    top, bottom = _STRIP
    boxes: list[tuple[float, float, float, float, str]] = []
    if len(rolled.states) == 1:  # there is nothing else that could be probable
        return boxes
    for block in rolled.blocks:
        left, right, at = x(block.word), x(block.word + block.words), bottom
        # Below the others: what is too small to be drawn leaves no gap.
        boxes.append((left, top, right - left + 0.5, bottom - top, colour(rolled, block.state)))
        for state, value in enumerate(block.probabilities):
            height = value * (bottom - top)
            at -= height
            if height >= 0.1:  # less could not be seen
                boxes.append((left, at, right - left + 0.5, height, colour(rolled, state)))
    return boxes


def _keys(rolled: Rolled) -> list[tuple[float, float, str, str]]:
    """The key of colours below the drawing: x, y, colour and name; as many a row as fit."""
    widest = max(len(state) for state in rolled.states)
    width = min(40 + 6.5 * min(widest, 40), _RIGHT - _LEFT)
    across = max(1, int((_RIGHT - _LEFT) // width))
    return [
        (
            _LEFT + width * (at % across),
            _CURVES[1] + 56 + 18 * (at // across),
            colour(rolled, at),
            name if len(name) <= 40 else f"{name[:39]}…",
        )
        for at, name in enumerate(rolled.states)
    ]


def _whole(low: float, high: float) -> list[float]:
    step = max(1, ceil((high - low) / 8))
    return [float(tick) for tick in range(floor(low) + 1, ceil(high)) if tick % step == 0]


def _word_ticks(words: int) -> list[int]:
    step = next((size for size in _WORD_STEPS if words / size <= _MOST_TICKS), words)
    return list(range(0, words + 1, step))


def _lines(rolled: Rolled, values: Mapping[str, Any]) -> Iterator[str | Table]:
    """Passages as a table, blocks as marks, changes, and what it rests on."""
    if not rolled.obstacle:
        yield from _parts_in_lines(rolled)
    yield summary_of(rolled)
    yield (
        f"Prior  a change of author every {rolled.options.passage:,} words on average; "
        f"population {rolled.population or 'none'}"
    )


def _parts_in_lines(rolled: Rolled) -> Iterator[str | Table]:
    names = [] if rolled.are_styles else [candidate.name for candidate in rolled.candidates]
    yield Table(
        f"{rolled.name}, {rolled.words:,} words",
        ["words", "most probable", "probability", *(f"log10 BF {name}" for name in names)],
        [
            [
                f"{passage.word + 1:,}-{passage.word + passage.words:,}",
                rolled.states[passage.state],
                shown_probability(passage.probability),
                *(signed(factor) for factor in passage.log10_bayes_factors),
            ]
            for passage in rolled.passages
        ],
    )
    marks = [_MARKS[at % len(_MARKS)] for at in range(len(rolled.states))]
    if len(rolled.states) > len(rolled.candidates):
        marks[-1] = "-"
    drawn = "".join(marks[block.state] for block in rolled.blocks)
    for at in range(0, len(drawn), _BLOCKS_A_LINE):
        yield drawn[at : at + _BLOCKS_A_LINE]
    keys = zip(marks, rolled.states, strict=True)
    yield f"A mark for each block: {', '.join(f'{mark} {state}' for mark, state in keys)}"
    for at in range(len(rolled.changes)):
        yield f"Change  {change_in_words(rolled, at)}"


PAGE: Page[Rolled] = Page(
    name="roll",
    styles=(asset("evaluation.css"), asset("study.css"), asset("roll.css"), _tints()),
    title=page_title,
    values=_values,
    lines=_lines,
    remarks=lambda rolled: rolled.remarks,
)
